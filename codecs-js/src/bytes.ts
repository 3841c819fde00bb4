// Bytes, data types and checksums that all decoders share.

/** Stored bytes that contradict their format. */
export class CorruptError extends Error {
  override name = 'CorruptError';
}

/** A codec, type or option that this package does not decode. */
export class UnsupportedError extends Error {
  override name = 'UnsupportedError';
}

export function corrupt(what: string): never {
  throw new CorruptError(what);
}

/** A NumPy data type without byte order: `f4` is `{kind: 'f', size: 4}`. Elements are little-endian. */
export interface DataType {
  kind: string;
  size: number;
}

export interface CodecMetadata {
  name: string;
  configuration?: Record<string, any>;
}

/** Decode the bytes of a chunk with a list of codecs. */
export type Nested = (codecs: CodecMetadata[], data: Uint8Array, dtype: DataType, shape: number[]) => Promise<Uint8Array>;

const KINDS: Record<string, string> = { int: 'i', uint: 'u', float: 'f', complex: 'c' };

/** Return the type of a `data_type` of Zarr v3. */
export function dataType(stored: string | { name: string; configuration?: Record<string, any> }): DataType {
  const name = typeof stored === 'string' ? stored : stored.name;
  if (name === 'bool') return { kind: 'b', size: 1 };
  const number = /^(int|uint|float|complex)(8|16|32|64|128)$/.exec(name);
  if (number) return { kind: KINDS[number[1]], size: Number(number[2]) / 8 };
  const more = typeof stored === 'string' ? {} : (stored.configuration ?? {});
  if (name === 'numpy.datetime64') return { kind: 'M', size: 8 };
  if (name === 'numpy.timedelta64') return { kind: 'm', size: 8 };
  if (name === 'null_terminated_bytes') return { kind: 'S', size: more.length_bytes };
  if (name === 'fixed_length_utf32') return { kind: 'U', size: more.length_bytes };
  if (name === 'raw_bytes') return { kind: 'V', size: more.length_bytes };
  const raw = /^r(\d+)$/.exec(name);
  if (raw) return { kind: 'V', size: Number(raw[1]) / 8 };
  throw new UnsupportedError(`data type ${name} is not supported`);
}

export function product(shape: number[]): number {
  return shape.reduce((a, b) => a * b, 1);
}

/** Return bytes at an address that is a multiple of 8, so that any typed array can view them. */
export function aligned(data: Uint8Array): Uint8Array {
  return data.byteOffset % 8 === 0 ? data : data.slice();
}

export function u32s(data: Uint8Array): Uint32Array {
  const found = aligned(data);
  return new Uint32Array(found.buffer, found.byteOffset, found.length >> 2);
}

export function u64s(data: Uint8Array): BigUint64Array {
  const found = aligned(data);
  return new BigUint64Array(found.buffer, found.byteOffset, found.length >> 3);
}

export function view(data: Uint8Array): DataView {
  return new DataView(data.buffer, data.byteOffset, data.byteLength);
}

export function expectLength(data: Uint8Array, length: number, what: string): Uint8Array {
  if (data.length !== length) corrupt(`${what} has ${data.length} bytes, expected ${length}`);
  return data;
}

/** Part of stored bytes; it is an error if there are fewer. */
export function part(data: Uint8Array, at: number, length: number): Uint8Array {
  if (at < 0 || length < 0 || at + length > data.length) corrupt(`${data.length} bytes end before ${at + length}`);
  return data.subarray(at, at + length);
}

const CRC = new Uint32Array(256).map((_, n) => {
  let value = n;
  for (let k = 0; k < 8; k++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  return value;
});

export function crc32c(data: Uint8Array): number {
  let value = 0xffffffff;
  for (let i = 0; i < data.length; i++) value = CRC[(value ^ data[i]) & 255] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

/** Compare the CRC-32C that lies at `at` with that of the bytes. */
export function checkCrc(bytes: Uint8Array, stored: Uint8Array, at: number, what: string): void {
  const want = view(part(stored, at, 4)).getUint32(0, true);
  if (crc32c(bytes) !== want) corrupt(`the CRC-32C of ${what} is wrong`);
}
