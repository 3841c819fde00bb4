// icecore.predict: residuals, predictors, values, mask and exceptions.
import { accumulate, integers, scaled } from './arrays.js';
import { type CodecMetadata, type DataType, type Nested, corrupt, expectLength, part, product, u32s, u64s, view } from './bytes.js';
import { pco } from './pco.js';

const PCO: CodecMetadata[] = [{ name: 'numcodecs.pcodec' }];

class Reader {
  at = 3;
  constructor(readonly data: Uint8Array) {}

  take(count: number): Uint8Array {
    this.at += count;
    return part(this.data, this.at - count, count);
  }

  number(): number {
    for (let [value, scale] = [0, 1]; ; scale *= 128) {
      const byte = this.take(1)[0];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      if (scale > 2 ** 49) corrupt('a number of icecore.predict is too long');
    }
  }

  folded(): number {
    const n = this.number();
    return n % 2 ? -(n + 1) / 2 : n / 2;
  }

  float(): number {
    return view(this.take(8)).getFloat64(0, true);
  }

  list(): BigUint64Array {
    const [count, length] = [this.number(), this.number()];
    const stored = this.take(length);
    if (!count) return new BigUint64Array(0);
    return u64s(expectLength(pco(stored).values, 8 * count, 'a list of icecore.predict'));
  }

  several<T>(one: () => T): T[] {
    const count = this.number();
    if (count > 128) corrupt('icecore.predict has too many parameters');
    return Array.from({ length: count }, one);
  }
}

type Term = { back: number[]; weight: number };
type Parameters = { steps: [number, number][]; axes: number[]; terms: Term[]; weights: number[] };

function parameters(predictor: number, read: Reader, rank: number): Parameters {
  const found: Parameters = { steps: [], axes: [], terms: [], weights: [] };
  if (predictor === 1 || predictor === 2) found.steps = read.several(() => [read.number(), read.number()]);
  if (predictor === 3) {
    found.axes = read.several(() => read.number());
    found.terms = read.several(() => ({ back: Array.from({ length: rank }, () => read.folded()), weight: read.float() }));
  }
  if (predictor === 4) found.weights = read.several(() => read.float());
  return found;
}

export async function predict(data: Uint8Array, configuration: Record<string, any>, dtype: DataType, shape: number[], nested: Nested): Promise<Uint8Array> {
  const count = product(shape);
  const { size } = dtype;
  if (!data.length) return new Uint8Array(count * size);
  const read = new Reader(data);
  const [index, flags, predictor] = part(data, 0, 3);
  const chosen = parameters(predictor, read, shape.length);
  const masked = flags & 1 ? read.take(size) : null;
  const runs = flags & 1 ? read.list() : null;
  const kind = read.take(1)[0];
  const power = kind === 2 || kind === 3 ? view(read.take(2)).getInt16(0, true) : 0;
  const ranks = kind === 4 ? read.list() : null;
  const [places, exact] = flags & 2 ? [read.list(), read.list()] : [[], []];
  const codecs: CodecMetadata[] = (configuration.codecs ?? [PCO])[index] ?? corrupt('icecore.predict: no such codecs');
  const isPco = codecs[0].name.endsWith('pcodec');
  const stored = predictor === 0 && kind === 0 ? dtype : { kind: isPco ? 'i' : 'u', size };
  const kept = keptPlaces(runs, count);
  const values = await nested(codecs, data.subarray(read.at), stored, [kept ? kept.length : count]);
  const words = kept ? spread(values, kept, count, size) : values.slice();
  if (predictor >= 2 && !isPco) unfold(words, size);
  for (const [axis, lag] of chosen.steps) accumulate(words, size, shape, axis, lag, predictor === 1);
  if (predictor >= 3) guessed(words, predictor, chosen, dtype, shape);
  const out = elements(words, predictor >= 3 ? 1 : kind, power, ranks, dtype);
  if (masked && kept) fillMasked(out, masked, kept, size);
  fillExact(out, places, exact, size);
  return out;
}

/** Places of elements that are not masked. */
function keptPlaces(runs: BigUint64Array | null, count: number): Uint32Array | null {
  if (!runs) return null;
  const found = new Uint32Array(count);
  let [at, used] = [0, 0];
  runs.forEach((length, i) => {
    const end = at + Number(length);
    if (end > count) corrupt('the mask of icecore.predict is too long');
    if (i % 2 === 0) for (let k = at; k < end; k++) found[used++] = k;
    at = end;
  });
  if (at !== count) corrupt('the mask of icecore.predict is too short');
  return found.slice(0, used);
}

function spread(values: Uint8Array, kept: Uint32Array, count: number, size: number): Uint8Array {
  const out = new Uint8Array(count * size);
  kept.forEach((place, i) => {
    for (let b = 0; b < size; b++) out[place * size + b] = values[i * size + b];
  });
  return out;
}

function fillMasked(out: Uint8Array, masked: Uint8Array, kept: Uint32Array, size: number): void {
  let next = 0;
  for (let i = 0; i < out.length / size; i++) {
    if (next < kept.length && kept[next] === i) next += 1;
    else out.set(masked, i * size);
  }
}

function fillExact(out: Uint8Array, places: ArrayLike<bigint>, exact: ArrayLike<bigint>, size: number): void {
  const target = view(out);
  let place = 0;
  for (let i = 0; i < places.length; i++) {
    place += Number(places[i]);
    for (let b = 0; b < size; b++) target.setUint8(place * size + b, Number((exact[i] >> BigInt(8 * b)) & 255n));
  }
}

/** 0, 1, 2, 3 are 0, -1, 1, -2. */
function unfold(words: Uint8Array, size: number): void {
  if (size === 8) {
    const all = u64s(words);
    for (let i = 0; i < all.length; i++) all[i] = (all[i] >> 1n) ^ -(all[i] & 1n);
    return;
  }
  const all = size === 4 ? u32s(words) : size === 2 ? new Uint16Array(words.buffer, words.byteOffset, words.length / 2) : words;
  for (let i = 0; i < all.length; i++) all[i] = (all[i] >>> 1) ^ -(all[i] & 1);
}

/** Change words between the bits of floats and integers in their order; both ways are given. */
function ordered(word: bigint, bits: bigint, isBits: boolean): bigint {
  const top = 1n << (bits - 1n);
  const isNegative = isBits ? (word & top) !== 0n : (word & top) === 0n;
  return isNegative ? ~word & ((1n << bits) - 1n) : word ^ top;
}

function bitsInPlace(words: Uint8Array, size: number): void {
  // the sign is in the top byte: a negative number has all bits inverted
  for (let at = 0; at < words.length; at += size) {
    if (words[at + size - 1] & 128) words[at + size - 1] ^= 128;
    else for (let b = 0; b < size; b++) words[at + b] ^= 255;
  }
}

function elements(words: Uint8Array, kind: number, power: number, ranks: BigUint64Array | null, dtype: DataType): Uint8Array {
  const { size } = dtype;
  const count = words.length / size;
  if (kind === 2 || kind === 3) {
    const target = view(words);
    const read = integers(words, size);
    for (let i = 0; i < count; i++) {
      const value = scaled(Number(read(i)), kind === 2 ? 2 : 10, power);
      if (size === 8) target.setFloat64(8 * i, value, true);
      else target.setFloat32(4 * i, value, true);
    }
    return words;
  }
  if (kind === 4 && ranks) {
    const target = view(words);
    const read = integers(words, size);
    const wrap = BigInt(8 * size);
    for (let i = 0; i < count; i++) {
      const value = ranks[Number(BigInt.asUintN(8 * size, BigInt(read(i))))];
      if (value === undefined) corrupt('a rank of icecore.predict is outside its list');
      for (let b = 0n; b < wrap; b += 8n) target.setUint8(i * size + Number(b / 8n), Number((value >> b) & 255n));
    }
  }
  if (kind === 1 || (kind === 4 && dtype.kind === 'f')) bitsInPlace(words, size);
  return words;
}

/** Replace residuals by sortable bits, each element predicted from those before it. */
function guessed(words: Uint8Array, predictor: number, chosen: Parameters, dtype: DataType, shape: number[]): void {
  const { size } = dtype;
  const count = product(shape);
  const known = new Float64Array(count);
  const width = BigInt(8 * size);
  const all = size === 8 ? u64s(words) : u32s(words);
  const one = new DataView(new ArrayBuffer(8));
  const guess = predictor === 3 ? stencil(known, chosen, shape) : linear(known, chosen.weights, shape);
  for (let i = 0; i < count; i++) {
    const value = guess(i);
    const near = Number.isFinite(value) ? value : 0;
    if (size === 8) one.setFloat64(0, near, true);
    else one.setFloat32(0, near, true);
    const bits = size === 8 ? one.getBigUint64(0, true) : BigInt(one.getUint32(0, true));
    const found = BigInt.asUintN(Number(width), ordered(bits, width, true) + BigInt(all[i]));
    if (size === 8) {
      (all as BigUint64Array)[i] = found;
      one.setBigUint64(0, ordered(found, width, false), true);
      known[i] = one.getFloat64(0, true);
    } else {
      (all as Uint32Array)[i] = Number(found);
      one.setUint32(0, Number(ordered(found, width, false)), true);
      known[i] = one.getFloat32(0, true);
    }
  }
}

function stencil(known: Float64Array, { axes, terms }: Parameters, shape: number[]): (i: number) => number {
  const strides = shape.map((_, axis) => product(shape.slice(axis + 1)));
  const steps = (back: number[]): number => back.reduce((sum, n, axis) => sum + n * strides[axis], 0);
  const inOrder = (some: Term[]): { step: number; weight: number }[] =>
    [some.filter(({ back }) => back.slice(0, -1).some((n) => n)), some.filter(({ back }) => !back.slice(0, -1).some((n) => n))]
      .flat()
      .map(({ back, weight }) => ({ step: steps(back), weight }));
  const whole = inOrder(terms);
  const partial = new Map<number, { step: number; weight: number }[]>();
  const place = shape.map(() => 0);
  const lorenzo = (free: number[]): Term[] =>
    Array.from({ length: (1 << free.length) - 1 }, (_, at) => {
      const back = shape.map(() => 0);
      let used = 0;
      free.forEach((axis, bit) => {
        if (((at + 1) >> bit) & 1) [back[axis], used] = [1, used + 1];
      });
      return { back, weight: used % 2 ? 1 : -1 };
    });
  return (i) => {
    shape.forEach((length, axis) => {
      place[axis] = Math.floor(i / strides[axis]) % length;
    });
    const inside = terms.length > 0 && terms.every(({ back }) => back.every((n, axis) => place[axis] - n >= 0 && place[axis] - n < shape[axis]));
    let used = whole;
    if (!inside) {
      const free = axes.filter((axis) => place[axis] > 0);
      const key = free.reduce((sum, axis) => sum + 2 ** axis, 0);
      used = partial.get(key) ?? inOrder(lorenzo(free));
      partial.set(key, used);
    }
    let sum = 0;
    for (const { step, weight } of used) sum += known[i - step] * weight;
    return sum;
  };
}

function linear(known: Float64Array, weights: number[], shape: number[]): (i: number) => number {
  const row = shape[shape.length - 1];
  const n = 8 * Math.ceil(weights.length / 8);
  return (i) => {
    const start = i - (i % row);
    const s = [0, 0, 0, 0, 0, 0, 0, 0];
    for (let p = 0; p < n; p++) {
      const back = n - p;
      const weight = back <= weights.length ? weights[back - 1] : 0;
      s[p & 7] += (i - back >= start ? known[i - back] : 0) * weight;
    }
    return s[0] + s[4] + (s[2] + s[6]) + (s[1] + s[5] + (s[3] + s[7]));
  };
}
