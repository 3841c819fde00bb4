// icecore.fpc, icecore.offset, icecore.decimal, icecore.text_part and the filters of HDF5.
import { type CodecMetadata, type DataType, type Nested, UnsupportedError, corrupt, part, product, u32s, u64s, view } from './bytes.js';
import { lz4, lzf } from './lz.js';
import { zstd } from './zstd.js';

type Configuration = Record<string, any>;

export function fpc(data: Uint8Array, configuration: Configuration, dtype: DataType, shape: number[]): Uint8Array {
  const { size } = dtype;
  const count = product(shape);
  const width = size === 8 ? 3 : 2; // bits of a code
  const out = new Uint8Array(count * size);
  let at = 0;
  for (let first = 0; first < count; first += 8) {
    const head = part(data, at, width);
    const codes = head[0] | (head[1] << 8) | ((head[2] ?? 0) << 16);
    at += width;
    for (let i = first; i < Math.min(first + 8, count); i++) {
      const kept = size - ((codes >> (width * (i - first))) & ((1 << width) - 1));
      out.set(part(data, at, kept), i * size);
      at += kept;
    }
  }
  const axis = configuration.axis ?? -1;
  accumulate(out, size, shape, axis < 0 ? axis + shape.length : axis, 1, true);
  return out;
}

/** Add to each element, or XOR, the one `lag` places back along an axis, in C order. */
export function accumulate(out: Uint8Array, size: number, shape: number[], axis: number, lag: number, xor: boolean): void {
  const inner = product(shape.slice(axis + 1));
  const block = shape[axis] * inner;
  const back = lag * inner;
  const total = product(shape);
  const run = (add: (to: number, from: number) => void): void => {
    for (let start = 0; start < total; start += block)
      for (let i = start + back; i < start + block; i++) add(i, i - back);
  };
  if (xor) {
    const step = back * size;
    run((to) => {
      for (let k = to * size; k < (to + 1) * size; k++) out[k] ^= out[k - step];
    });
  } else if (size === 8) {
    const words = u64s(out);
    run((to, from) => (words[to] += words[from]));
  } else {
    const words = size === 4 ? u32s(out) : size === 2 ? new Uint16Array(out.buffer, out.byteOffset, total) : out;
    run((to, from) => (words[to] += words[from]));
  }
}

export function offset(data: Uint8Array, configuration: Configuration, dtype: DataType): Uint8Array {
  const bits = 8 * dtype.size;
  // JSON.parse rounds integers above 2^53: wrong values must not be the result
  if (!Number.isSafeInteger(configuration.offset)) throw new UnsupportedError(`an offset of ${configuration.offset} is not exact in JavaScript`);
  const more = BigInt.asUintN(bits, BigInt(configuration.offset));
  const out = data.slice();
  const found = view(out);
  for (let at = 0; at < out.length; at += dtype.size) {
    if (bits === 64) found.setBigUint64(at, found.getBigUint64(at, true) + more, true);
    else if (bits === 32) found.setUint32(at, found.getUint32(at, true) + Number(more), true);
    else if (bits === 16) found.setUint16(at, found.getUint16(at, true) + Number(more), true);
    else found.setUint8(at, found.getUint8(at) + Number(more));
  }
  return out;
}

/** The type that the codecs after icecore.decimal see. */
export function decimalType(configuration: Configuration): DataType {
  return { kind: 'i', size: Number(/^int(8|16|32|64)$/.exec(configuration.dtype)?.[1] ?? corrupt('dtype of icecore.decimal')) / 8 };
}

/** The signed integers of a number of bytes each. */
export function integers(data: Uint8Array, size: number): (i: number) => number | bigint {
  const found = view(data);
  if (size === 8) return (i) => found.getBigInt64(8 * i, true);
  if (size === 4) return (i) => found.getInt32(4 * i, true);
  return size === 2 ? (i) => found.getInt16(2 * i, true) : (i) => found.getInt8(i);
}

/** The number nearest to k · base^-power, with one rounding. */
export function scaled(k: number, base: number, power: number): number {
  return power >= 0 ? k / tenths(base, power) : k * tenths(base, -power);
}

const TENS = Array.from({ length: 400 }, (_, power) => Number(`1e${power}`));
function tenths(base: number, power: number): number {
  return base === 10 ? TENS[power] : base ** power;
}

function fillBits(value: unknown, size: number, to: DataView, at: number): void {
  if (typeof value === 'string' && value.startsWith('0x')) {
    if (size === 8) to.setBigUint64(at, BigInt(value), true);
    else to.setUint32(at, Number(value), true);
  } else if (size === 8) to.setFloat64(at, Number(value), true);
  else to.setFloat32(at, Number(value), true);
}

export function decimal(data: Uint8Array, configuration: Configuration, dtype: DataType): Uint8Array {
  const escapes: unknown[] = configuration.escapes ?? [];
  const stored = decimalType(configuration);
  const first = -(2n ** BigInt(8 * stored.size - 1));
  const count = data.length / stored.size;
  const out = new Uint8Array(count * dtype.size);
  const target = view(out);
  const read = integers(data, stored.size);
  for (let i = 0; i < count; i++) {
    const k = read(i);
    const at = i * dtype.size;
    const place = escapes.length ? Number(BigInt(k) - first) : Infinity;
    if (place < escapes.length) {
      // JSON has no -0.0: JSON.parse keeps it
      fillBits(escapes[place], dtype.size, target, at);
      continue;
    }
    const value = scaled(Number(k), 10, configuration.scale);
    if (dtype.size === 8) target.setFloat64(at, value, true);
    else target.setFloat32(at, value, true);
  }
  return out;
}

export async function textPart(data: Uint8Array, configuration: Configuration, dtype: DataType, shape: number[], nested: Nested): Promise<Uint8Array> {
  const count = product(shape);
  const out = new Uint8Array(count * dtype.size);
  const ends = new Uint32Array(count);
  let at = 0;
  for (const codecs of [configuration.rest, configuration.codecs, configuration.rest] as CodecMetadata[][]) {
    const head = view(part(data, at, 8));
    const [width, length] = [head.getUint32(0, true), head.getUint32(4, true)];
    const stored = part(data, at + 8, length);
    at += 8 + length;
    if (!width) continue;
    const found = await nested(codecs, stored, { kind: 'S', size: width }, [count]);
    for (let i = 0; i < count; i++) {
      let end = (i + 1) * width;
      while (end > i * width && !found[end - 1]) end -= 1;
      const text = found.subarray(i * width, end);
      if (ends[i] + text.length > dtype.size) corrupt('a text of icecore.text_part is too long');
      out.set(text, i * dtype.size + ends[i]);
      ends[i] += text.length;
    }
  }
  return out;
}

export function h5lz4(data: Uint8Array): Uint8Array {
  const head = view(part(data, 0, 12));
  const [total, block] = [Number(head.getBigUint64(0)), head.getUint32(8)];
  if (total > 255 * data.length + 64) corrupt('icecore.h5lz4: the stated length is too large');
  const out = new Uint8Array(total);
  for (let [at, to] = [12, 0]; to < total; ) {
    const size = Math.min(block, total - to);
    const length = view(part(data, at, 4)).getUint32(0);
    const stored = part(data, at + 4, length);
    if (!size) corrupt('icecore.h5lz4: a block of no bytes');
    out.set(length === size ? stored : lz4(stored, size), to);
    at += 4 + length;
    to += size;
  }
  return out;
}

export const h5lzf = lzf;

export function h5bitshuffle(data: Uint8Array, configuration: Configuration): Uint8Array {
  const size: number = configuration.itemsize;
  const packed: string = configuration.compression ?? 'none';
  let block: number = configuration.block_size || Math.max(Math.floor(8192 / size / 8) * 8, 128);
  let [total, at] = [data.length, 0];
  if (packed !== 'none') {
    const head = view(part(data, 0, 12));
    [total, block, at] = [Number(head.getBigUint64(0)), Math.floor(head.getUint32(8) / size), 12];
    if (block < 8 || total > 2 ** 32) corrupt('icecore.h5bitshuffle: its header is wrong');
  }
  const out = new Uint8Array(total);
  let [elements, to] = [Math.floor(total / size), 0];
  while (elements >= 8) {
    const n = Math.min(block, Math.floor(elements / 8) * 8);
    elements -= n;
    let stored: Uint8Array;
    if (packed === 'none') {
      stored = part(data, at, n * size);
      at += n * size;
    } else {
      const length = view(part(data, at, 4)).getUint32(0);
      const coded = part(data, at + 4, length);
      stored = packed === 'lz4' ? lz4(coded, n * size) : zstd(coded, n * size);
      at += 4 + length;
    }
    unshuffleBits(stored, out, to, n, size);
    to += n * size;
  }
  out.set(part(data, at, total - to), to);
  return out;
}

/** Row 8k + b has bit b of byte k of all elements. */
export function unshuffleBits(stored: Uint8Array, out: Uint8Array, to: number, count: number, size: number): void {
  const row = count / 8;
  for (let r = 0; r < 8 * size; r++) {
    const [byte, bit] = [r >> 3, r & 7];
    for (let i = 0; i < count; i++)
      if ((stored[r * row + (i >> 3)] >> (i & 7)) & 1) out[to + i * size + byte] |= 1 << bit;
  }
}
