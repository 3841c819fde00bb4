// The golden repository from a plain web server: every packed array has the values that were written.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import * as zarr from 'zarrita';

import { Icechunk, UnsupportedError, read, register } from '../dist/index.js';
import { serve } from './serve.js';

const GOLDEN = new URL('../../tests/golden/1/', import.meta.url);
const VALUES = JSON.parse(readFileSync(new URL('values.json', GOLDEN))).arrays;
const PACKED = Object.keys(VALUES).filter((path) => /^\/(codecs|dtypes|grown|table)/.test(path));
// what browsers have no decoder for; text of any length is read by zarrita
const ELSEWHERE = ['/codecs/bz2', '/codecs/lzma', '/dtypes/text'];
// types that zarrita's Zarr v3 does not know
const NOT_IN_ZARRITA = ['/dtypes/M8_s_', '/dtypes/m8_ms_', '/dtypes/c8', '/table/name', ...('Float16Array' in globalThis ? [] : ['/dtypes/f2'])];

const digest = (bytes) => createHash('sha256').update(bytes).digest('hex');
let site;
let repo;
before(async () => {
  site = await serve(fileURLToPath(GOLDEN));
  repo = await Icechunk.open(`${site.address}/golden.icecore`);
  register(zarr.registry);
});
after(() => site.close());

for (const path of PACKED.filter((each) => !ELSEWHERE.includes(each))) {
  test(`read ${path}`, async () => {
    const { bytes, shape } = await read(repo, path);
    assert.deepEqual(shape, VALUES[path].shape);
    assert.equal(digest(bytes), VALUES[path].sha256);
  });
}

for (const path of PACKED.filter((each) => !ELSEWHERE.slice(0, 2).includes(each) && !NOT_IN_ZARRITA.includes(each))) {
  test(`zarrita ${path}`, async () => {
    const array = await zarr.open.v3(zarr.root(repo).resolve(path), { kind: 'array' });
    const { data, shape } = await zarr.get(array);
    assert.deepEqual(shape, VALUES[path].shape);
    const bytes = VALUES[path].dtype === 'text' ? [...data].join('\0') : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    assert.equal(digest(bytes), VALUES[path].sha256);
  });
}

test('what has no decoder is named', async () => {
  for (const path of ELSEWHERE) await assert.rejects(read(repo, path), UnsupportedError, path);
});

test('a linked array says what to do', async () => {
  await assert.rejects(read(repo, '/plain/plain'), /is linked to .* which is not on the web. Pack it/);
});

test('versions by branch, identifier and what there is none of', async () => {
  const place = `${site.address}/golden.icecore`;
  assert.equal((await Icechunk.open(place, { version: repo.snapshot })).snapshot, repo.snapshot);
  await assert.rejects(Icechunk.open(place, { version: 'nope' }), /no branch or tag nope/);
  await assert.rejects(Icechunk.open(`${site.address}/elsewhere`), /no repository here/);
});

test('a box of an array reads its chunks only, with ranges', async () => {
  const whole = await read(repo, '/codecs/zstd');
  site.asked.length = 0;
  const { bytes, shape } = await read(repo, '/codecs/zstd', [[3, 9], [4, 16]]);
  assert.deepEqual(shape, [6, 12]);
  const want = Buffer.concat([3, 4, 5, 6, 7, 8].map((row) => whole.bytes.subarray((row * 16 + 4) * 4, (row + 1) * 64)));
  assert.equal(digest(bytes), digest(want));
  assert.ok(site.asked.filter(({ path }) => path.includes('/chunks/')).every(({ range }) => range));
});

test('a server without ranges gives the same values', async () => {
  const plain = await serve(fileURLToPath(GOLDEN), false);
  try {
    const other = await Icechunk.open(`${plain.address}/golden.icecore`);
    for (const path of ['/codecs/predict', '/codecs/default', '/grown']) {
      assert.equal(digest((await read(other, path)).bytes), VALUES[path].sha256);
    }
  } finally {
    plain.close();
  }
});

test('a flipped bit of a chunk is an error', async () => {
  const damaged = await Icechunk.open({
    async get(path, range) {
      const bytes = await fetch(`${site.address}/golden.icecore/${path}`).then((reply) => (reply.ok ? reply.arrayBuffer() : undefined));
      if (!bytes) return undefined;
      const found = new Uint8Array(bytes);
      const part = range ? found.slice(range.offset, range.offset + range.length) : found;
      if (path.startsWith('chunks/')) part[part.length >> 1] ^= 16;
      return part;
    },
  });
  for (const path of ['/codecs/zstd', '/codecs/default', '/codecs/pages', '/codecs/planes']) {
    const found = await read(damaged, path).catch((error) => error);
    assert.ok(found instanceof Error || digest(found.bytes) === VALUES[path].sha256, path);
  }
});
