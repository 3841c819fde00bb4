// Every test vector of spec/codecs, decoded by this package; damaged ones are errors or other values, never endless.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';

import { dataType, decodeChunk } from '../dist/index.js';

const SPEC = new URL('../../spec/codecs/', import.meta.url);
const BYTES = { name: 'bytes', configuration: { endian: 'little' } };

function chain(name, configuration) {
  const own = { name, configuration };
  if (name === 'icecore.offset' || name === 'icecore.decimal') return [own, BYTES];
  return name.startsWith('icecore.h5') ? [BYTES, own] : [own];
}

for (const name of readdirSync(SPEC).filter((each) => existsSync(new URL(`${each}/vectors.json`, SPEC)))) {
  for (const vector of JSON.parse(readFileSync(new URL(`${name}/vectors.json`, SPEC)))) {
    const encoded = new Uint8Array(Buffer.from(vector.encoded, 'base64'));
    const decode = (data) => decodeChunk(chain(name, vector.configuration), data, dataType(vector.data_type), vector.shape);
    test(`${name} ${vector.name}`, async () => {
      assert.deepEqual(Buffer.from(await decode(encoded)).toString('base64'), vector.decoded);
    });
    test(`${name} ${vector.name}, cut off`, async () => {
      const want = Buffer.from(vector.decoded, 'base64');
      for (const length of [0, 1, encoded.length >> 1, encoded.length - 1]) {
        const found = await decode(encoded.slice(0, length)).catch((error) => error);
        assert.ok(found instanceof Error || found.length === want.length, `${length} bytes: ${found}`);
      }
    });
  }
}
