// pco: its standalone and wrapped formats, up to format version 4.1.
import { UnsupportedError, type DataType, corrupt, part } from './bytes.js';
import { Bits, Latents, Stream, type Variable, variable, whole } from './pco-bits.js';

const TYPES = ['', 'u4', 'u8', 'i4', 'i8', 'f4', 'f8', 'u2', 'i2', 'f2', 'u1', 'i1'];

type Mode =
  | { name: 'classic' }
  | { name: 'int' | 'float'; base: bigint }
  | { name: 'quant'; k: number }
  | { name: 'dict'; values: Latents };

type Delta =
  | { name: 'none' }
  | { name: 'consecutive'; order: number; secondary: boolean }
  | { name: 'lookback'; window: number; order: number; secondary: boolean }
  | { name: 'convolution'; order: number; shift: bigint; bias: bigint; weights: bigint[] };

/** The metadata of a chunk, from which its pages are decoded. */
export interface Chunk {
  dtype: DataType;
  mode: Mode;
  delta: Delta;
  lookbacks: Variable | null;
  primary: Variable;
  secondary: Variable | null;
}

/** Read the header of the wrapped format; the major version and the bytes it takes. */
export function header(data: Uint8Array, at: number): { major: number; used: number } {
  const major = part(data, at, 1)[0];
  if (major > 4) throw new UnsupportedError(`pco's format version ${major} is not supported`);
  if (major === 0) throw new UnsupportedError("pco's format version 0 is not supported");
  return { major, used: major >= 4 ? 2 : 1 };
}

function word64(bits: Bits, width: number): bigint {
  const one = new Latents(1, width);
  one.read(0, bits);
  return whole(one, 0);
}

function readMode(bits: Bits, dtype: DataType): Mode {
  const width = 8 * dtype.size;
  const value = bits.read(4);
  if (value === 0) return { name: 'classic' };
  if (value === 1 || value === 2) return { name: value === 1 ? 'int' : 'float', base: word64(bits, width) };
  if (value === 3) return { name: 'quant', k: bits.read(8) };
  if (value !== 4) throw new UnsupportedError(`mode ${value} of pco is not supported`);
  const count = bits.read(25);
  bits.align();
  if (count * width > 8 * bits.data.length - bits.at) corrupt('a dictionary of pco is cut off');
  const values = new Latents(count, width);
  for (let i = 0; i < count; i++) values.read(i, bits);
  return { name: 'dict', values };
}

function readDelta(bits: Bits, major: number): Delta {
  const value = major < 3 ? 1 : bits.read(4);
  if (value === 0) return { name: 'none' };
  if (value === 1) {
    const order = bits.read(3);
    const secondary = major >= 3 && bits.read(1) === 1;
    return order ? { name: 'consecutive', order, secondary } : { name: 'none' };
  }
  if (value === 2) {
    const window = 2 ** (1 + bits.read(5));
    const order = 2 ** bits.read(4);
    return { name: 'lookback', window, order, secondary: bits.read(1) === 1 };
  }
  if (value !== 3) throw new UnsupportedError(`delta encoding ${value} of pco is not supported`);
  const shift = BigInt(bits.read(5));
  const bias = word64(bits, 64) - (1n << 63n);
  const order = 1 + bits.read(5);
  const weights = Array.from({ length: order }, () => BigInt(bits.read(32)) - (1n << 31n));
  return { name: 'convolution', order, shift, bias, weights };
}

/** Read the metadata of a chunk; the bytes they take are `used`. */
export function chunkMetadata(data: Uint8Array, at: number, dtype: DataType, major: number): { chunk: Chunk; used: number } {
  const bits = new Bits(data, at);
  const width = 8 * dtype.size;
  const mode = readMode(bits, dtype);
  const delta = readDelta(bits, major);
  const lookbacks = delta.name === 'lookback' ? variable(bits, 32) : null;
  const primary = variable(bits, mode.name === 'dict' ? 32 : width);
  const secondary = mode.name === 'classic' || mode.name === 'dict' ? null : variable(bits, width);
  return { chunk: { dtype, mode, delta, lookbacks, primary, secondary }, used: bits.align() - at };
}

/** Undoes the deltas of one variable, batch by batch. */
class Undo {
  private history: Latents | null = null; // of lookback and convolution: what was decoded, the state first
  private at = 0;
  constructor(private readonly delta: Delta, private readonly stream: Stream, count: number) {
    if (delta.name !== 'lookback' && delta.name !== 'convolution') return;
    this.history = new Latents(count + delta.order + 256, stream.variable.bits);
    for (let i = 0; i < delta.order; i++) this.history.set(i, stream.moments, i);
  }

  batch(values: Latents, count: number, lookbacks: Latents | null): void {
    const { delta, stream } = this;
    if (delta.name === 'none') return;
    values.toggle(count);
    if (delta.name === 'consecutive') {
      const kept = new Latents(1, values.bits);
      for (let order = delta.order - 1; order >= 0; order--)
        for (let i = 0; i < count; i++) {
          kept.set(0, values, i);
          values.set(i, stream.moments, order);
          stream.moments.add(order, kept, 0);
        }
      return;
    }
    const history = this.history as Latents;
    const first = this.at + delta.order;
    for (let i = 0; i < count; i++) {
      history.set(first + i, values, i);
      if (delta.name === 'convolution') this.convolve(history, first + i, delta);
      else {
        const back = (lookbacks as Latents).low[i]; // 0 behind the last one that is stored
        if (back > delta.window) corrupt('a lookback of pco is outside its window');
        if (back && first + i >= back) history.add(first + i, history, first + i - back);
      }
      values.set(i, history, this.at + i);
    }
    this.at += count;
  }

  private convolve(history: Latents, to: number, delta: Delta & { name: 'convolution' }): void {
    let sum = delta.bias;
    delta.weights.forEach((weight, k) => {
      sum += weight * BigInt(history.low[to - delta.order + k]);
    });
    const guess = sum > 0n ? sum >> delta.shift : 0n;
    history.low[to] = (history.low[to] + Number(guess & BigInt(history.mask))) & history.mask;
  }
}

/** Decode a page of `count` numbers that begins at a byte; returns the byte behind it. */
export function page(chunk: Chunk, data: Uint8Array, at: number, count: number, out: Uint8Array, to: number): number {
  const { delta } = chunk;
  const bits = new Bits(data, at);
  const none: Delta = { name: 'none' };
  const order = delta.name === 'none' ? 0 : delta.order;
  const ofSecond = (delta.name === 'consecutive' || delta.name === 'lookback') && delta.secondary ? delta : none;
  const lookbacks = chunk.lookbacks && new Stream(chunk.lookbacks, bits, 0);
  const first = new Stream(chunk.primary, bits, order);
  const second = chunk.secondary && new Stream(chunk.secondary, bits, ofSecond.name === 'none' ? 0 : order);
  bits.align();
  const undo = new Undo(delta, first, count);
  const undoSecond = second && new Undo(ofSecond, second, count);
  const back = lookbacks && new Latents(256, 32);
  const one = new Latents(256, chunk.primary.bits);
  const two = new Latents(256, chunk.secondary?.bits ?? 8);
  for (let done = 0; done < count; done += 256) {
    const size = Math.min(256, count - done);
    const stored = Math.max(0, Math.min(256, count - done - order));
    if (lookbacks && back) {
      back.low.fill(0);
      lookbacks.batch(bits, stored, back);
    }
    clear(one, stored);
    first.batch(bits, stored, one);
    undo.batch(one, size, back);
    if (second && undoSecond) {
      const some = ofSecond.name === 'none' ? size : stored;
      clear(two, some);
      second.batch(bits, some, two);
      undoSecond.batch(two, size, back);
    }
    join(chunk, one, two, size, out, to + done * chunk.dtype.size);
  }
  return bits.align();
}

function clear(latents: Latents, from: number): void {
  latents.low.fill(0, from);
  latents.high?.fill(0, from);
}

/** Write the numbers of latents. */
function join(chunk: Chunk, one: Latents, two: Latents, count: number, out: Uint8Array, to: number): void {
  const { mode, dtype } = chunk;
  let ordered = one;
  if (mode.name === 'dict') {
    ordered = new Latents(count, 8 * dtype.size);
    for (let i = 0; i < count; i++) {
      if (one.low[i] >= mode.values.low.length) corrupt('an index of pco is outside its dictionary');
      ordered.set(i, mode.values, one.low[i]);
    }
  } else if (mode.name !== 'classic') {
    ordered = new Latents(count, 8 * dtype.size);
    const formula = formulas(mode, dtype);
    for (let i = 0; i < count; i++) {
      const found = formula(whole(one, i), whole(two, i));
      ordered.low[i] = Number(found & 0xffffffffn);
      if (ordered.high) ordered.high[i] = Number((found >> 32n) & 0xffffffffn);
    }
  }
  const target = new DataView(out.buffer, out.byteOffset + to, count * dtype.size);
  const width = 8 * dtype.size;
  const top = (2 ** (Math.min(width, 32) - 1)) >>> 0;
  for (let i = 0; i < count; i++) {
    let low = ordered.low[i];
    let high = ordered.high ? ordered.high[i] : low;
    if (dtype.kind === 'f' && !(high & top)) [low, high] = [~low, ~high];
    else if (dtype.kind !== 'u') [low, high] = [ordered.high ? low : low ^ top, high ^ top];
    if (width === 64) {
      target.setUint32(8 * i, low, true);
      target.setUint32(8 * i + 4, high, true);
    } else if (width === 32) target.setUint32(4 * i, low, true);
    else if (width === 16) target.setUint16(2 * i, low, true);
    else target.setUint8(i, low);
  }
}

/** Return the formula of a mode with two latents: integers in the order of the numbers. */
function formulas(mode: Mode, dtype: DataType): (one: bigint, two: bigint) => bigint {
  const width = 8 * dtype.size;
  const [mid, all] = [1n << BigInt(width - 1), (1n << BigInt(width)) - 1n];
  if (mode.name === 'int') return (one, two) => (one * mode.base + two) & all;
  if (mode.name === 'quant') {
    const k = BigInt(mode.k);
    const most = (1n << k) - 1n;
    return (one, two) => {
      const shifted = (one << k) & all;
      return (shifted + (shifted >= mid ? two : most - two)) & all;
    };
  }
  if (mode.name !== 'float' || width === 16) throw new UnsupportedError('pco: products of float16 are not supported');
  const [words, floats] = width === 64 ? [new BigUint64Array(1), null] : [null, new Uint32Array(1)];
  const number = words ? new Float64Array(words.buffer) : new Float32Array((floats as Uint32Array).buffer);
  const fromBits = (value: bigint): number => {
    if (words) words[0] = value;
    else (floats as Uint32Array)[0] = Number(value);
    return number[0];
  };
  const toBits = (value: number): bigint => {
    number[0] = value;
    return words ? words[0] : BigInt((floats as Uint32Array)[0]);
  };
  const largest = 1n << (width === 64 ? 53n : 24n);
  const beyond = toBits(Number(largest)) - largest;
  const base = fromBits(mode.base & mid ? mode.base ^ mid : ~mode.base & all);
  return (one, two) => {
    const size = one >= mid ? one - mid : mid - 1n - one;
    const plain = size < largest ? Number(size) : fromBits((size + beyond) & all);
    const found = toBits((one >= mid ? plain : -plain) * base);
    const ordered = found & mid ? ~found & all : found ^ mid;
    return (ordered + two + mid) & all;
  };
}

/** Decode pco's standalone format; the type of its numbers comes with it. */
export function pco(data: Uint8Array): { values: Uint8Array; dtype: DataType } {
  if (String.fromCharCode(...part(data, 0, 4)) !== 'pco!') corrupt("no header of pco's standalone format");
  let [at, uniform] = [4, 0];
  const version = part(data, 4, 1)[0];
  if (version > 3) throw new UnsupportedError(`pco's standalone version ${version} is not supported`);
  if (version >= 2) {
    at = 5;
    if (version >= 3) uniform = part(data, at++, 1)[0];
    const bits = new Bits(data, at);
    const width = 1 + bits.read(6);
    bits.read(Math.min(width, 32));
    if (width > 32) bits.read(width - 32);
    at = bits.align();
  }
  const { major, used } = header(data, at);
  at += used;
  const parts: Uint8Array[] = [];
  let type = uniform;
  for (let byte = part(data, at++, 1)[0]; byte; byte = part(data, at++, 1)[0]) {
    if (!TYPES[byte] || (type && byte !== type)) corrupt(`number type ${byte} of pco is wrong`);
    type = byte;
    const dtype = typed(byte);
    const count = 1 + (data[at] | (data[at + 1] << 8) | (data[at + 2] << 16));
    const { chunk, used: length } = chunkMetadata(data, at + 3, dtype, major);
    const out = new Uint8Array(count * dtype.size);
    at = page(chunk, data, at + 3 + length, count, out, 0);
    parts.push(out);
  }
  const values = parts.length === 1 ? parts[0] : new Uint8Array(parts.reduce((n, each) => n + each.length, 0));
  if (parts.length > 1)
    parts.reduce((start, each) => {
      values.set(each, start);
      return start + each.length;
    }, 0);
  return { values, dtype: type ? typed(type) : { kind: 'u', size: 8 } };
}

function typed(byte: number): DataType {
  return { kind: TYPES[byte][0], size: Number(TYPES[byte][1]) };
}
