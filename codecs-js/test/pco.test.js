// Chunks that pco's own library wrote (write_pco.py), in every mode and with every delta.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

import { CorruptError, UnsupportedError, pco } from '../dist/index.js';

const all = new URL('pco-all.json', import.meta.url);
const CASES = JSON.parse(readFileSync(existsSync(all) ? all : new URL('pco.json', import.meta.url)));

test('chunks of every mode and delta', () => {
  const wrong = [];
  for (const [name, encoded, want] of CASES) {
    let found;
    try {
      found = createHash('sha256').update(pco(new Uint8Array(Buffer.from(encoded, 'base64'))).values).digest('hex').slice(0, 16);
    } catch (error) {
      if (error instanceof UnsupportedError && name.startsWith('f2')) continue; // products of float16
      found = error;
    }
    if (found !== want) wrong.push(`${name}: ${found}`);
  }
  assert.deepEqual(wrong, []);
});

test('chunks that are cut off are errors', () => {
  for (const [name, encoded] of CASES) {
    const data = new Uint8Array(Buffer.from(encoded, 'base64'));
    for (const length of [0, 5, data.length >> 1, data.length - 1]) {
      assert.throws(() => pco(data.slice(0, length)), (error) => error instanceof CorruptError || error instanceof UnsupportedError, name);
    }
  }
});
