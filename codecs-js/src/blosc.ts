// Blosc 1: blocks of BloscLZ, LZ4, zlib or zstd, with shuffled bytes or bits.
import { unshuffleBits } from './arrays.js';
import { UnsupportedError, corrupt, part, view } from './bytes.js';
import { deflate, lz4 } from './lz.js';
import { zstd } from './zstd.js';

export async function blosc(data: Uint8Array): Promise<Uint8Array> {
  const head = view(part(data, 0, 16));
  const [flags, itemsize] = [head.getUint8(2), head.getUint8(3)];
  const [total, block, stored] = [head.getUint32(4, true), head.getUint32(8, true), head.getUint32(12, true)];
  if (stored > data.length || (total && !block)) corrupt('the header of blosc is wrong');
  if (flags & 2) return part(data, 16, total).slice();
  if (total > 2 ** 31) corrupt('the header of blosc states too many bytes');
  const out = new Uint8Array(total);
  const starts = view(part(data, 16, 4 * Math.ceil(total / block)));
  for (let i = 0; i * block < total; i++) {
    const size = Math.min(block, total - i * block);
    const isLast = size < block;
    const splits = !(flags & 16) && !isLast && itemsize <= 16 && size / itemsize >= 128 ? itemsize : 1;
    const plain = await streams(data, starts.getInt32(4 * i, true), size, splits, flags >> 5);
    unshuffled(plain, out.subarray(i * block, i * block + size), itemsize, flags);
  }
  return out;
}

async function streams(data: Uint8Array, at: number, size: number, splits: number, codec: number): Promise<Uint8Array> {
  const out = new Uint8Array(size);
  const each = size / splits;
  for (let k = 0; k < splits; k++) {
    const length = view(part(data, at, 4)).getInt32(0, true);
    const coded = part(data, at + 4, length);
    const found = length === each ? coded : await uncompressed(coded, each, codec);
    if (found.length !== each) corrupt('a block of blosc has a wrong length');
    out.set(found, k * each);
    at += 4 + length;
  }
  return out;
}

async function uncompressed(data: Uint8Array, size: number, codec: number): Promise<Uint8Array> {
  if (codec === 0) return blosclz(data, size);
  if (codec === 1) return lz4(data, size);
  if (codec === 3) return deflate(data, 'deflate');
  if (codec === 4) return zstd(data, size);
  throw new UnsupportedError('blosc with Snappy is not supported');
}

function blosclz(data: Uint8Array, size: number): Uint8Array {
  const out = new Uint8Array(size);
  let [at, to] = [0, 0];
  let control = data[at++] & 31;
  for (;;) {
    if (control >= 32) {
      let length = (control >> 5) - 1;
      let distance = (control & 31) << 8;
      if (length === 6)
        for (let byte = 255; byte === 255; length += byte) {
          if (at >= data.length) corrupt('a block of BloscLZ is cut off');
          byte = data[at++];
        }
      const low = data[at++];
      if (low === 255 && distance === 31 << 8) {
        distance = (data[at] << 8) + data[at + 1] + 8191;
        at += 2;
      } else distance += low;
      distance += 1;
      if (!(distance <= to) || to + length + 3 > size) corrupt('a match of BloscLZ is out of range');
      for (const end = to + length + 3; to < end; to++) out[to] = out[to - distance];
    } else {
      out.set(part(data, at, control + 1), to);
      at += control + 1;
      to += control + 1;
    }
    if (at >= data.length) break;
    control = data[at++];
  }
  return to === size ? out : corrupt('a block of BloscLZ has a wrong length');
}

function unshuffled(plain: Uint8Array, out: Uint8Array, itemsize: number, flags: number): void {
  const count = Math.floor(plain.length / itemsize);
  if (flags & 1 && itemsize > 1) {
    for (let b = 0; b < itemsize; b++) for (let i = 0; i < count; i++) out[i * itemsize + b] = plain[b * count + i];
    out.set(plain.subarray(count * itemsize), count * itemsize);
  } else if (flags & 4 && plain.length >= itemsize) {
    const whole = count - (count % 8);
    unshuffleBits(plain, out, 0, whole, itemsize);
    out.set(plain.subarray(whole * itemsize), whole * itemsize);
  } else out.set(plain);
}
