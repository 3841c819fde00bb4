// Bits of pco, its tables, and the latents of a page.
import { CorruptError, corrupt } from './bytes.js';

/** Little-endian bits from a start to the end. */
export class Bits {
  at = 0; // bits
  constructor(readonly data: Uint8Array, byte = 0) {
    this.at = 8 * byte;
  }

  /** Read up to 32 bits. */
  read(count: number): number {
    if (!count) return 0;
    const { data, at } = this;
    const i = at >> 3;
    const shift = at & 7;
    const word = data[i] | (data[i + 1] << 8) | (data[i + 2] << 16) | (data[i + 3] << 24);
    let found = word >>> shift;
    if (count + shift > 32) found |= data[i + 4] << (32 - shift);
    this.at += count;
    return (count < 32 ? found & ((1 << count) - 1) : found) >>> 0;
  }

  align(): number {
    this.at = (this.at + 7) & ~7;
    if (this.at > 8 * this.data.length) corrupt('data of pco are cut off');
    return this.at >> 3;
  }
}

/** Unsigned integers of up to 32 bits, or of 64 bits as pairs of a low and a high word. */
export class Latents {
  readonly low: Uint32Array;
  readonly high: Uint32Array | null;
  readonly mask: number;
  constructor(count: number, readonly bits: number) {
    this.low = new Uint32Array(count);
    this.high = bits === 64 ? new Uint32Array(count) : null;
    this.mask = bits < 32 ? 2 ** bits - 1 : 0xffffffff;
  }

  read(i: number, bits: Bits, count = this.bits): void {
    this.low[i] = bits.read(Math.min(count, 32));
    if (this.high) this.high[i] = count > 32 ? bits.read(count - 32) : 0;
  }

  /** Set element `to` to the sum of itself and element `i` of others. */
  add(to: number, other: Latents, i: number): void {
    const sum = this.low[to] + other.low[i];
    this.low[to] = sum & this.mask;
    if (this.high && other.high) this.high[to] += other.high[i] + (sum > 0xffffffff ? 1 : 0);
  }

  set(to: number, other: Latents, i: number): void {
    this.low[to] = other.low[i];
    if (this.high && other.high) this.high[to] = other.high[i];
  }

  toggle(count: number): void {
    const words = this.high ?? this.low;
    const top = 2 ** ((this.bits === 64 ? 32 : this.bits) - 1);
    for (let i = 0; i < count; i++) words[i] ^= top;
  }
}

/** Return element `i` as a whole number. */
export function whole(latents: Latents, i: number): bigint {
  return latents.high ? (BigInt(latents.high[i]) << 32n) | BigInt(latents.low[i]) : BigInt(latents.low[i]);
}

export interface Variable {
  bits: number; // of a latent
  log: number; // log2 of the states
  bins: number;
  lower: Latents; // of each state
  offset: Uint8Array; // bits of the offset of each state
  next: Uint16Array;
  read: Uint8Array;
}

/** Read the bins of a latent variable and build the decoder's table. */
export function variable(bits: Bits, width: number): Variable {
  const log = bits.read(4);
  const count = bits.read(15);
  if (log > 14 || count > 1 << log) corrupt('bins of pco do not fit their table');
  const weights = new Uint32Array(Math.max(count, 1)).fill(1);
  const lower = new Latents(Math.max(count, 1), width);
  const offset = new Uint8Array(Math.max(count, 1));
  const digits = 32 - Math.clz32(width);
  for (let i = 0; i < count; i++) {
    weights[i] = bits.read(log) + 1;
    lower.read(i, bits);
    offset[i] = bits.read(digits);
    if (offset[i] > width) corrupt('offsets of pco are too wide');
  }
  const size = 1 << log;
  if (weights.reduce((a, b) => a + b, 0) !== size) corrupt('weights of pco do not fill their table');
  const symbols = new Uint16Array(size);
  const stride = Math.floor((3 * size) / 5) | 1;
  let step = 0;
  weights.forEach((weight, symbol) => {
    for (let k = 0; k < weight; k++) symbols[(stride * step++) & (size - 1)] = symbol;
  });
  const made: Variable = {
    bits: width,
    log,
    bins: count,
    lower: new Latents(size, width),
    offset: new Uint8Array(size),
    next: new Uint16Array(size),
    read: new Uint8Array(size),
  };
  for (let state = 0; state < size; state++) {
    const symbol = symbols[state];
    const value = weights[symbol]++;
    made.read[state] = Math.clz32(value) - Math.clz32(size);
    made.next[state] = (value << made.read[state]) - size;
    made.lower.set(state, lower, symbol);
    made.offset[state] = offset[symbol];
  }
  return made;
}

/** The states of one variable in a page. */
export class Stream {
  readonly moments: Latents;
  private readonly states = [0, 0, 0, 0];
  private readonly widths = new Uint8Array(256);
  private readonly offset: Latents;
  constructor(readonly variable: Variable, bits: Bits, states: number) {
    this.moments = new Latents(states, variable.bits);
    for (let i = 0; i < states; i++) this.moments.read(i, bits);
    for (let i = 0; i < 4; i++) this.states[i] = bits.read(variable.log);
    this.offset = new Latents(1, variable.bits);
  }

  /** Read the latents of a batch, before deltas are undone. */
  batch(bits: Bits, count: number, out: Latents): void {
    const { variable: made, states, widths, offset } = this;
    for (let i = 0; i < count; i++) {
      const state = states[i & 3];
      out.set(i, made.lower, state);
      widths[i] = made.offset[state];
      if (made.bins > 1) states[i & 3] = made.next[state] + bits.read(made.read[state]);
    }
    for (let i = 0; i < count; i++) {
      if (!widths[i]) continue;
      offset.read(0, bits, widths[i]);
      out.add(i, offset, 0);
    }
    if (bits.at > 8 * bits.data.length) throw new CorruptError('data of pco are cut off');
  }
}
