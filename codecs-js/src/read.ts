// Values of an array of a repository, for any type and codec that this package decodes.
import { type CodecMetadata, type DataType, UnsupportedError, corrupt, dataType, part, product, u64s, view } from './bytes.js';
import { decodeChunk } from './chain.js';
import { type Icechunk, type Node } from './icechunk.js';

/** A dense box of an array: elements in C order, little-endian. */
export interface Box {
  dtype: DataType;
  shape: number[];
  bytes: Uint8Array;
}

interface Layout {
  dtype: DataType;
  shape: number[];
  chunk: number[];
  codecs: CodecMetadata[];
  shard: { shape: number[]; index: CodecMetadata[]; isLast: boolean } | null;
  fill: Uint8Array;
}

/** Read elements [start, stop) along each axis; the whole array by default. */
export async function read(repo: Icechunk, path: string, box?: [number, number][]): Promise<Box> {
  const node = repo.nodes.get(path);
  if (!node || node.kind !== 'array') throw new Error(`there is no array ${path}`);
  const layout = laidOut(node);
  const { dtype, shape, chunk } = layout;
  const spans = (box ?? shape.map((n) => [0, n] as [number, number])).map(([start, stop], axis): [number, number] => [start, Math.min(stop, shape[axis])]);
  if (spans.length !== shape.length || spans.some(([start, stop]) => start < 0 || start > stop)) {
    throw new RangeError(`${path} has ${shape.length} axes of ${shape}: got ${spans.join('; ')}`);
  }
  const sizes = spans.map(([start, stop]) => stop - start);
  const out = new Uint8Array(product(sizes) * dtype.size);
  for (let at = 0; at < out.length && layout.fill.some((byte) => byte); at += dtype.size) out.set(layout.fill, at);
  const shards = new Map<string, Promise<BigUint64Array | undefined>>();
  const jobs = product(sizes)
    ? boxes(spans.map(([start, stop], axis) => [Math.floor(start / chunk[axis]), Math.ceil(stop / chunk[axis])]))
    : [];
  // a few requests at a time: a browser has six connections to a host
  const next = jobs[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const place of { [Symbol.iterator]: () => next }) {
      const stored = await storedChunk(repo, node, layout, place, shards);
      if (stored) copied(await decodeChunk(layout.codecs, stored, dtype, chunk), layout, place, out, spans);
    }
  };
  await Promise.all(Array.from({ length: 6 }, worker));
  return { dtype, shape: sizes, bytes: out };
}

function laidOut(node: Node): Layout {
  const stored = node.metadata;
  if (stored.chunk_grid?.name !== 'regular') throw new UnsupportedError(`${node.path} has a grid that is not regular`);
  const dtype = dataType(stored.data_type);
  const outer: number[] = stored.chunk_grid.configuration.chunk_shape;
  const first: CodecMetadata = stored.codecs[0];
  const fill = fillValue(stored.fill_value, dtype);
  if (first.name !== 'sharding_indexed') return { dtype, shape: stored.shape, chunk: outer, codecs: stored.codecs, shard: null, fill };
  if (stored.codecs.length > 1) throw new UnsupportedError(`${node.path} has codecs behind its shards`);
  const inner = first.configuration ?? {};
  const shard = { shape: outer, index: inner.index_codecs, isLast: inner.index_location !== 'start' };
  return { dtype, shape: stored.shape, chunk: inner.chunk_shape, codecs: inner.codecs, shard, fill };
}

function fillValue(value: any, dtype: DataType): Uint8Array {
  const out = new Uint8Array(dtype.size);
  const target = view(out);
  if (value === null || value === undefined) return out;
  if (dtype.kind === 'c') {
    value.forEach((each: any, i: number) => out.set(fillValue(each, { kind: 'f', size: dtype.size / 2 }), (i * dtype.size) / 2));
  } else if (typeof value === 'string' && value.startsWith('0x')) {
    for (let i = 0, bits = BigInt(value); i < dtype.size; i++, bits >>= 8n) out[i] = Number(bits & 255n);
  } else if (dtype.kind === 'f' && dtype.size > 2) {
    if (dtype.size === 8) target.setFloat64(0, Number(value), true);
    else target.setFloat32(0, Number(value), true);
  } else if (dtype.kind === 'f') {
    const halves: Record<string, number> = { '0': 0, NaN: 0x7e00, Infinity: 0x7c00, '-Infinity': 0xfc00 };
    const bits = halves[String(value)] ?? corrupt(`the fill value ${value} of float16 is not supported`);
    target.setUint16(0, bits, true);
  } else if ('iuMmb'.includes(dtype.kind)) {
    const number = value === 'NaT' ? -(2n ** 63n) : BigInt(value);
    for (let i = 0; i < dtype.size; i++) out[i] = Number((number >> BigInt(8 * i)) & 255n);
  }
  return out;
}

function* boxes(spans: [number, number][]): Generator<number[]> {
  const place = spans.map(([start]) => start);
  for (;;) {
    yield [...place];
    let axis = place.length - 1;
    for (; axis >= 0; axis--) {
      place[axis] += 1;
      if (place[axis] < spans[axis][1]) break;
      place[axis] = spans[axis][0];
    }
    if (axis < 0) return;
  }
}

type Indices = Map<string, Promise<BigUint64Array | undefined>>;

async function storedChunk(repo: Icechunk, node: Node, layout: Layout, place: number[], shards: Indices): Promise<Uint8Array | undefined> {
  const key = (indices: number[]): string => `${node.path}/c${indices.map((n) => `/${n}`).join('')}`;
  if (!layout.shard) return repo.get(key(place));
  const { shape } = layout.shard;
  const many = shape.map((n, axis) => Math.floor(n / layout.chunk[axis]));
  const outer = key(place.map((n, axis) => Math.floor(n / many[axis])));
  let index = shards.get(outer);
  if (!index) {
    index = shardIndex(repo, outer, layout.shard, many);
    shards.set(outer, index);
  }
  const entries = await index;
  if (!entries) return undefined;
  const at = place.reduce((sum, n, axis) => sum * many[axis] + (n % many[axis]), 0);
  const [offset, length] = [entries[2 * at], entries[2 * at + 1]];
  if (offset === 2n ** 64n - 1n) return undefined;
  return repo.getRange(outer, { offset: Number(offset), length: Number(length) });
}

async function shardIndex(repo: Icechunk, key: string, shard: NonNullable<Layout['shard']>, many: number[]): Promise<BigUint64Array | undefined> {
  const size = 16 * product(many) + (shard.index.some(({ name }) => name.endsWith('crc32c')) ? 4 : 0);
  const bytes = await repo.getRange(key, shard.isLast ? { suffixLength: size } : { offset: 0, length: size });
  return bytes && u64s(await decodeChunk(shard.index, part(bytes, 0, size), { kind: 'u', size: 8 }, [...many, 2]));
}

/** Copy what a chunk and the box have in common, row by row. */
function copied(values: Uint8Array, layout: Layout, place: number[], out: Uint8Array, spans: [number, number][]): void {
  const { chunk, dtype } = layout;
  if (!chunk.length) return out.set(values);
  const common = spans.map(([start, stop], axis): [number, number] => {
    const first = place[axis] * chunk[axis];
    return [Math.max(start, first) - first, Math.min(stop, first + chunk[axis]) - first];
  });
  const last = chunk.length - 1;
  const rows = common.map((span, axis): [number, number] => (axis === last ? [span[0], span[0] + 1] : span));
  const length = (common[last][1] - common[last][0]) * dtype.size;
  for (const row of boxes(rows)) {
    const from = row.reduce((sum, n, axis) => sum * chunk[axis] + n, 0);
    const to = row.reduce((sum, n, axis) => sum * (spans[axis][1] - spans[axis][0]) + place[axis] * chunk[axis] + n - spans[axis][0], 0);
    out.set(values.subarray(from * dtype.size, from * dtype.size + length), to * dtype.size);
  }
}
