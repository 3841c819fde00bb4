// LZ4 blocks, LZF, DEFLATE through the platform.
import { corrupt, part } from './bytes.js';

/** Decode a block of LZ4 whose decoded length is known. */
export function lz4(data: Uint8Array, size: number): Uint8Array {
  const out = new Uint8Array(size);
  let [at, to] = [0, 0];
  const long = (start: number): number => {
    let length = start;
    if (start === 15)
      for (let byte = 255; byte === 255; length += byte) {
        if (at >= data.length) corrupt('a block of LZ4 is cut off');
        byte = data[at++];
      }
    return length;
  };
  while (at < data.length) {
    const token = data[at++];
    const literals = long(token >> 4);
    if (to + literals > size) corrupt('a block of LZ4 is longer than stated');
    out.set(part(data, at, literals), to);
    at += literals;
    to += literals;
    if (at >= data.length) break;
    const distance = data[at] | (data[at + 1] << 8);
    at += 2;
    const length = long(token & 15) + 4;
    if (!distance || distance > to || to + length > size) corrupt('a match of LZ4 is out of range');
    for (const end = to + length; to < end; to++) out[to] = out[to - distance];
  }
  if (to !== size) corrupt(`a block of LZ4 has ${to} bytes, expected ${size}`);
  return out;
}

/** Decode LibLZF's stream, whose length is not stored. */
export function lzf(data: Uint8Array): Uint8Array {
  let out = new Uint8Array(4 * data.length + 16);
  let [at, to] = [0, 0];
  while (at < data.length) {
    const control = data[at++];
    if (to + 300 > out.length) {
      const grown = new Uint8Array(2 * out.length);
      grown.set(out);
      out = grown;
    }
    if (control < 32) {
      out.set(part(data, at, control + 1), to);
      at += control + 1;
      to += control + 1;
      continue;
    }
    let length = (control >> 5) + 2;
    if (length === 9) length += data[at++];
    const distance = ((control & 31) << 8) + data[at++] + 1;
    if (!(distance <= to)) corrupt('a match of LZF is out of range');
    for (const end = to + length; to < end; to++) out[to] = out[to - distance];
  }
  return out.slice(0, to);
}

/** Decode zlib or gzip with the platform's own decoder. */
export async function deflate(data: Uint8Array, format: 'deflate' | 'gzip'): Promise<Uint8Array> {
  const stream = new Blob([data as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new DecompressionStream(format));
  try {
    return new Uint8Array(await new Response(stream).arrayBuffer());
  } catch (error) {
    return corrupt(`${format}: ${(error as Error).message}`);
  }
}
