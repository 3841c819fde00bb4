// icecore.byteplanes and icecore.pages.
import { type DataType, type Nested, checkCrc, corrupt, crc32c, expectLength, part, product, view } from './bytes.js';
import { type Chunk, chunkMetadata, header, page as pcoPage } from './pco.js';
import { zstd } from './zstd.js';

export async function byteplanes(data: Uint8Array, configuration: Record<string, any>, dtype: DataType, shape: number[], nested: Nested): Promise<Uint8Array> {
  const planes: { bytes: number; codecs: any[] }[] = configuration.planes;
  const size = planes.reduce((sum, plane) => sum + plane.bytes, 0);
  const many = dtype.size / size; // numbers of an element
  const inner = many > 1 ? [...shape, many] : shape;
  const count = product(inner);
  const entries = view(part(data, 0, 16 * (planes.length + 1)));
  checkCrc(part(data, 0, 16 * (planes.length + 1)), data, 16 * (planes.length + 1), 'the table of icecore.byteplanes');
  let at = 16 * (planes.length + 1) + 4 + Number(entries.getBigUint64(0, true)); // behind the escapes
  const out = new Uint8Array(count * size);
  let left = size;
  for (let i = 0; i < planes.length; i++) {
    const { bytes, codecs } = planes[i];
    const length = Number(entries.getBigUint64(16 * (i + 1), true));
    const stored = part(data, at, length);
    if (crc32c(stored) !== entries.getUint32(16 * (i + 1) + 8, true)) corrupt(`the CRC-32C of plane ${i} is wrong`);
    const raw = entries.getUint8(16 * (i + 1) + 12);
    const plane = raw ? stored : await nested(codecs, stored, { kind: 'u', size: bytes }, inner);
    expectLength(plane, count * bytes, `plane ${i} of icecore.byteplanes`);
    left -= bytes;
    for (let k = 0; k < count; k++)
      for (let b = 0; b < bytes; b++) out[k * size + left + b] = plane[k * bytes + b];
    at += length;
  }
  return out;
}

export function pages(data: Uint8Array, configuration: Record<string, any>, dtype: DataType, shape: number[]): Uint8Array {
  const count = product(shape);
  const page: number = configuration.page ?? 256;
  if (!count) return new Uint8Array(0);
  const kind = numbers(dtype);
  if (data[0]) return cut(data, page, kind, count);
  const head = view(part(data, 0, 9));
  const [runs, size] = [head.getUint32(1, true), head.getUint32(5, true)];
  const first = 9 + 4 * Math.ceil(runs / page);
  checkCrc(part(data, 0, first), data, first, 'the runs of icecore.pages');
  const lengths = view(cut(part(data, first + 4, size), page, { kind: 'u', size: 4 }, runs));
  const values = cut(data.subarray(first + 4 + size), page, kind, runs);
  const out = new Uint8Array(count * kind.size);
  let to = 0;
  for (let run = 0; run < runs; run++) {
    const value = values.subarray(run * kind.size, (run + 1) * kind.size);
    const end = to + lengths.getUint32(4 * run, true) * kind.size;
    if (end > out.length) corrupt('the runs of icecore.pages are too long');
    for (; to < end; to += kind.size) out.set(value, to);
  }
  if (to !== out.length) corrupt('the runs of icecore.pages are too short');
  return out;
}

function numbers(dtype: DataType): DataType {
  if ('SV'.includes(dtype.kind)) return dtype;
  const kind = { b: 'u', M: 'i', m: 'i' }[dtype.kind] ?? dtype.kind;
  return { kind, size: dtype.size };
}

function cut(data: Uint8Array, page: number, kind: DataType, count: number): Uint8Array {
  const head = view(part(data, 0, 9));
  const [width, statistics] = [data[0], head.getUint32(5, true)];
  const number = Math.ceil(count / page);
  const table = 9 + statistics;
  const lengths = part(data, table, width * number);
  checkCrc(part(data, 0, table + width * number), data, table + width * number, 'the table of icecore.pages');
  const decode = 'SV'.includes(kind.kind) ? ofBytes(part(data, 9, statistics)) : ofNumbers(part(data, 9, statistics), kind);
  const out = new Uint8Array(count * kind.size);
  let at = table + width * number + 4;
  for (let i = 0; i < number; i++) {
    let length = 0;
    for (let b = width - 1; b >= 0; b--) length = 256 * length + lengths[width * i + b];
    const stored = part(data, at, length);
    checkCrc(stored, data, at + length, `page ${i} of icecore.pages`);
    const elements = Math.min(page, count - i * page);
    decode(stored, elements, out.subarray(i * page * kind.size, (i * page + elements) * kind.size));
    at += length + 4;
  }
  return out;
}

type Decode = (stored: Uint8Array, elements: number, out: Uint8Array) => void;

function ofNumbers(statistics: Uint8Array, kind: DataType): Decode {
  const { major, used } = header(statistics, 0);
  const { chunk }: { chunk: Chunk } = chunkMetadata(statistics, used, kind, major);
  return (stored, elements, out) => void pcoPage(chunk, stored, 0, elements, out, 0);
}

function ofBytes(statistics: Uint8Array): Decode {
  const content = statistics.length ? zstd(statistics.subarray(4)) : new Uint8Array(0);
  const prefix: Uint8Array = content.length >= 8 ? content : new Uint8Array(0);
  return (stored, elements, out) => {
    const found = stored.length === out.length ? stored : zstd(stored, out.length, prefix);
    out.set(expectLength(found, out.length, 'a page of icecore.pages'));
  };
}
