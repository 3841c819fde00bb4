// A list of codecs of Zarr v3 → the elements of a chunk.
import { decimal, decimalType, fpc, h5bitshuffle, h5lz4, h5lzf, offset, textPart } from './arrays.js';
import { blosc } from './blosc.js';
import { type CodecMetadata, type DataType, UnsupportedError, checkCrc, corrupt, expectLength, part, product, view } from './bytes.js';
import { deflate, lz4 } from './lz.js';
import { pco } from './pco.js';
import { byteplanes, pages } from './planes.js';
import { predict } from './predict.js';
import { zstd } from './zstd.js';

type Configuration = Record<string, any>;
type ToBytes = (data: Uint8Array, configuration: Configuration) => Uint8Array | Promise<Uint8Array>;
type ToArray = (data: Uint8Array, configuration: Configuration, dtype: DataType, shape: number[]) => Uint8Array | Promise<Uint8Array>;

/** Codecs of bytes; names of numcodecs have the prefix `numcodecs.` too. */
export const BYTES_TO_BYTES: Record<string, ToBytes> = {
  zstd: (data) => zstd(data),
  gzip: (data) => deflate(data, 'gzip'),
  zlib: (data) => deflate(data, 'deflate'),
  lz4: (data) => lz4(data.subarray(4), view(part(data, 0, 4)).getUint32(0, true)),
  blosc,
  shuffle,
  crc32c,
  fletcher32,
  'icecore.h5bitshuffle': h5bitshuffle,
  'icecore.h5lz4': h5lz4,
  'icecore.h5lzf': h5lzf,
};

export const ARRAY_TO_BYTES: Record<string, ToArray> = {
  bytes: nativeBytes,
  pcodec,
  'icecore.byteplanes': (data, configuration, dtype, shape) => byteplanes(data, configuration, dtype, shape, decodeChunk),
  'icecore.choice': (data, { choices }, dtype, shape) =>
    decodeChunk(choices[part(data, 0, 1)[0]] ?? corrupt('icecore.choice: no such list of codecs'), data.subarray(1), dtype, shape),
  'icecore.fpc': fpc,
  'icecore.pages': pages,
  'icecore.predict': (data, configuration, dtype, shape) => predict(data, configuration, dtype, shape, decodeChunk),
  'icecore.text_part': (data, configuration, dtype, shape) => textPart(data, configuration, dtype, shape, decodeChunk),
};

/** Codecs of arrays, and the type and shape that the codecs after them see. */
export const ARRAY_TO_ARRAY: Record<string, { decode: ToArray; stored: (configuration: Configuration, dtype: DataType, shape: number[]) => [DataType, number[]] }> = {
  'icecore.offset': { decode: offset, stored: (_, dtype, shape) => [dtype, shape] },
  'icecore.decimal': { decode: decimal, stored: (configuration, _, shape) => [decimalType(configuration), shape] },
  transpose: { decode: transposed, stored: ({ order }, dtype, shape) => [dtype, order.map((axis: number) => shape[axis])] },
};

function plainName(name: string): string {
  return name.replace(/^numcodecs\./, '');
}

/** Decode a chunk: elements in C order, little-endian. */
export async function decodeChunk(codecs: CodecMetadata[], data: Uint8Array, dtype: DataType, shape: number[]): Promise<Uint8Array> {
  const list = codecs.map(({ name, configuration }) => ({ name: plainName(name), configuration: configuration ?? {} }));
  const middle = list.findIndex(({ name }) => name in ARRAY_TO_BYTES);
  const unknown = list.find(({ name }) => !(name in BYTES_TO_BYTES || name in ARRAY_TO_ARRAY || name in ARRAY_TO_BYTES));
  if (unknown) throw new UnsupportedError(`the codec ${unknown.name} is not supported`);
  if (middle < 0) throw new UnsupportedError('a list of codecs has none that makes bytes of arrays');
  for (const { name, configuration } of list.slice(middle + 1).reverse()) data = await BYTES_TO_BYTES[name](data, configuration);
  const before: [DataType, number[]][] = [[dtype, shape]];
  for (const { name, configuration } of list.slice(0, middle)) {
    before.push(ARRAY_TO_ARRAY[name].stored(configuration, ...before[before.length - 1]));
  }
  const [storedType, storedShape] = before[middle];
  let out = await ARRAY_TO_BYTES[list[middle].name](data, list[middle].configuration, storedType, storedShape);
  expectLength(out, product(storedShape) * storedType.size, 'a decoded chunk');
  for (let i = middle - 1; i >= 0; i--) {
    out = await ARRAY_TO_ARRAY[list[i].name].decode(out, list[i].configuration, ...before[i]);
  }
  return out;
}

function crc32c(data: Uint8Array, configuration: Configuration): Uint8Array {
  if (data.length < 4) corrupt('a chunk is shorter than its CRC-32C');
  const isFirst = configuration.location === 'start';
  const bytes = isFirst ? data.subarray(4) : data.subarray(0, data.length - 4);
  checkCrc(bytes, data, isFirst ? 0 : data.length - 4, 'a chunk');
  return bytes;
}

/** HDF5's sum of 16-bit words, 4 bytes at the end. */
function fletcher32(data: Uint8Array): Uint8Array {
  const bytes = part(data, 0, data.length - 4);
  let [one, two] = [0, 0];
  for (let i = 0; i < bytes.length; i += 2) {
    one = (one + ((bytes[i] << 8) | (bytes[i + 1] ?? 0))) % 65535;
    two = (two + one) % 65535;
  }
  const stored = view(data).getUint32(data.length - 4, true);
  // HDF5 leaves 65535 where the remainder is 0
  if ((stored & 0xffff) % 65535 !== one || (stored >>> 16) % 65535 !== two) corrupt('the fletcher32 of a chunk is wrong');
  return bytes;
}

function shuffle(data: Uint8Array, configuration: Configuration): Uint8Array {
  const size: number = configuration.elementsize ?? 4;
  const count = Math.floor(data.length / size);
  const out = data.slice();
  for (let b = 0; b < size; b++) for (let i = 0; i < count; i++) out[i * size + b] = data[b * count + i];
  return out;
}

function pcodec(data: Uint8Array, _: Configuration, dtype: DataType, shape: number[]): Uint8Array {
  return expectLength(pco(data).values, product(shape) * dtype.size, 'a chunk of pco');
}

function nativeBytes(data: Uint8Array, configuration: Configuration, dtype: DataType): Uint8Array {
  if (configuration.endian !== 'big') return data;
  const size = dtype.kind === 'c' ? dtype.size / 2 : dtype.kind === 'U' ? 4 : 'SVb'.includes(dtype.kind) ? 1 : dtype.size;
  const out = data.slice();
  for (let at = 0; size > 1 && at + size <= out.length; at += size) out.subarray(at, at + size).reverse();
  return out;
}

/** Undo a transposition: axis `k` of what is stored is axis `order[k]` of the chunk. */
function transposed(data: Uint8Array, { order }: Configuration, dtype: DataType, shape: number[]): Uint8Array {
  const { size } = dtype;
  const out = new Uint8Array(data.length);
  const stored: number[] = order.map((axis: number) => shape[axis]);
  const strides = order.map((axis: number) => product(shape.slice(axis + 1)));
  const place = stored.map(() => 0);
  for (let at = 0; at < data.length; at += size) {
    const to = place.reduce((sum, n, k) => sum + n * strides[k], 0) * size;
    for (let b = 0; b < size; b++) out[to + b] = data[at + b];
    for (let k = place.length - 1; k >= 0; k--) {
      place[k] += 1;
      if (place[k] < stored[k]) break;
      place[k] = 0;
    }
  }
  return out;
}
