// Zstandard (RFC 8878), with a prefix of plain content as the dictionary.
import { corrupt, part } from './bytes.js';

interface Table {
  log: number;
  symbol: Uint8Array;
  bits: Uint8Array;
  base: Uint16Array;
}

interface Huffman {
  log: number;
  symbol: Uint8Array;
  bits: Uint8Array;
}

const LITERALS = [4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1];
const OFFSETS = [...[1, 1, 1, 1, 1, 1, 2, 2, 2], ...new Array(15).fill(1), -1, -1, -1, -1, -1];
const MATCHES = [...[1, 4, 3, 2, 2, 2, 2, 2, 2], ...new Array(37).fill(1), -1, -1, -1, -1, -1, -1, -1];
const LITERAL_BITS = [...new Array(16).fill(0), 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const MATCH_BITS = [...new Array(32).fill(0), 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];

function baselines(bits: number[], first: number): number[] {
  let at = first;
  return bits.map((n) => {
    const found = at;
    at += 2 ** n;
    return found;
  });
}
const LITERAL_BASE = baselines(LITERAL_BITS, 0);
const MATCH_BASE = baselines(MATCH_BITS, 3);

/** Bits from the end of a stream to its start; bits before the start are zeros. */
class Backward {
  at: number; // bits that are left
  constructor(readonly data: Uint8Array) {
    const last = data[data.length - 1];
    if (!last) corrupt('a bit stream of zstd has no end mark');
    this.at = 8 * data.length - 1 - Math.clz32(last) + 24;
  }

  peek(count: number): number {
    const from = this.at - count;
    const first = Math.max(from, 0);
    const { data } = this;
    const i = first >> 3;
    const word = data[i] | (data[i + 1] << 8) | (data[i + 2] << 16) | (data[i + 3] << 24);
    const kept = count + Math.min(from, 0);
    if (kept <= 0) return 0;
    return ((word >>> (first & 7)) & ((1 << kept) - 1)) << (first - from);
  }

  read(count: number): number {
    if (count > 16) return this.read(count - 16) * 65536 + this.read(16);
    const found = count ? this.peek(count) : 0;
    this.at -= count;
    return found;
  }
}

function counts(data: Uint8Array, largestLog: number, symbols: number): { table: Table; used: number } {
  let at = 0;
  const bits = (n: number): number => {
    const i = at >> 3;
    return ((data[i] | (data[i + 1] << 8) | (data[i + 2] << 16) | (data[i + 3] << 24)) >>> (at & 7)) & ((1 << n) - 1);
  };
  const log = bits(4) + 5;
  if (log > largestLog) corrupt('a table of zstd is too large');
  at = 4;
  const found: number[] = [];
  let [left, threshold, width] = [(1 << log) + 1, 1 << log, log + 1];
  while (left > 1 && found.length < symbols) {
    const most = 2 * threshold - 1 - left;
    let count = bits(width - 1);
    if (count < most) at += width - 1;
    else {
      count = bits(width);
      if (count >= threshold) count -= most;
      at += width;
    }
    count -= 1;
    left -= Math.abs(count);
    found.push(count);
    for (let more = count === 0 ? 3 : 0; more === 3; ) {
      more = bits(2);
      at += 2;
      for (let k = 0; k < more; k++) found.push(0);
    }
    while (left < threshold) {
      width -= 1;
      threshold >>= 1;
    }
    if (at > 8 * data.length) corrupt('a table of zstd is cut off');
  }
  if (left !== 1 || found.length > symbols) corrupt('a table of zstd is inconsistent');
  return { table: built(found, log), used: (at + 7) >> 3 };
}

function built(norm: number[], log: number): Table {
  const size = 1 << log;
  const table = { log, symbol: new Uint8Array(size), bits: new Uint8Array(size), base: new Uint16Array(size) };
  const next = norm.map((n) => (n === -1 ? 1 : n));
  let high = size - 1;
  norm.forEach((n, symbol) => {
    if (n === -1) table.symbol[high--] = symbol;
  });
  const step = (size >> 1) + (size >> 3) + 3;
  let place = 0;
  norm.forEach((n, symbol) => {
    for (let k = 0; k < n; k++) {
      table.symbol[place] = symbol;
      do place = (place + step) & (size - 1);
      while (place > high);
    }
  });
  for (let state = 0; state < size; state++) {
    const value = next[table.symbol[state]]++;
    table.bits[state] = log - (31 - Math.clz32(value));
    table.base[state] = (value << table.bits[state]) - size;
  }
  return table;
}

function single(symbol: number): Table {
  return { log: 0, symbol: new Uint8Array([symbol]), bits: new Uint8Array(1), base: new Uint16Array(1) };
}

function huffmanWeights(data: Uint8Array): { weights: number[]; used: number } {
  const head = data[0];
  const weights: number[] = [];
  if (head >= 128) {
    const used = 1 + ((head - 126) >> 1);
    part(data, 0, used);
    for (let i = 0; i < head - 127; i++) weights.push(i & 1 ? data[1 + (i >> 1)] & 15 : data[1 + (i >> 1)] >> 4);
    return { weights, used };
  }
  const stored = part(data, 1, head);
  const { table, used } = counts(stored, 6, 256);
  const bits = new Backward(stored.subarray(used));
  const states = [bits.read(table.log), bits.read(table.log)];
  for (let turn = 0; ; turn ^= 1) {
    const state = states[turn];
    weights.push(table.symbol[state]);
    if (weights.length > 254) corrupt('weights of zstd have no end');
    if (bits.at < table.bits[state]) {
      weights.push(table.symbol[states[turn ^ 1]]);
      return { weights, used: 1 + head };
    }
    states[turn] = table.base[state] + bits.read(table.bits[state]);
  }
}

function huffman(weights: number[]): Huffman {
  const sum = weights.reduce((total, w) => total + (w ? 1 << (w - 1) : 0), 0);
  const log = sum ? 32 - Math.clz32(sum) : 0;
  const left = (1 << log) - sum;
  if (!sum || log > 11 || left & (left - 1)) corrupt('weights of zstd are inconsistent');
  const all = [...weights, 32 - Math.clz32(left)];
  const table = { log, symbol: new Uint8Array(1 << log), bits: new Uint8Array(1 << log) };
  let at = 0;
  for (let weight = 1; weight <= log; weight++) {
    all.forEach((w, symbol) => {
      if (w !== weight) return;
      table.symbol.fill(symbol, at, at + (1 << (weight - 1)));
      table.bits.fill(log + 1 - weight, at, at + (1 << (weight - 1)));
      at += 1 << (weight - 1);
    });
  }
  return table;
}

function huffmanStream(data: Uint8Array, table: Huffman, out: Uint8Array): void {
  const bits = new Backward(data);
  for (let i = 0; i < out.length; i++) {
    const entry = bits.peek(table.log);
    out[i] = table.symbol[entry];
    bits.at -= table.bits[entry];
  }
  if (bits.at !== 0) corrupt('literals of zstd do not end where their stream does');
}

/** What later blocks of a frame use again. */
class Frame {
  huffman?: Huffman;
  tables: (Table | undefined)[] = [];
  recent = [1, 4, 8];
}

class Output {
  at: number;
  constructor(public data: Uint8Array, start: number) {
    this.at = start;
  }

  room(more: number): void {
    if (this.at + more <= this.data.length) return;
    const grown = new Uint8Array(Math.max(2 * this.data.length, this.at + more));
    grown.set(this.data.subarray(0, this.at));
    this.data = grown;
  }

  add(bytes: Uint8Array): void {
    this.room(bytes.length);
    this.data.set(bytes, this.at);
    this.at += bytes.length;
  }

  copy(distance: number, length: number): void {
    if (distance > this.at || distance < 1) corrupt('a match of zstd begins before the data');
    this.room(length);
    const { data } = this;
    if (distance >= length) data.copyWithin(this.at, this.at - distance, this.at - distance + length);
    else for (let i = this.at; i < this.at + length; i++) data[i] = data[i - distance];
    this.at += length;
  }
}

function literals(data: Uint8Array, frame: Frame): { values: Uint8Array; used: number } {
  const type = data[0] & 3;
  const form = (data[0] >> 2) & 3;
  if (type < 2) {
    const head = form === 1 ? 2 : form === 3 ? 3 : 1;
    const all = data[0] | (data[1] << 8) | (data[2] << 16);
    const size = head === 1 ? data[0] >> 3 : head === 2 ? (all & 0xffff) >> 4 : all >> 4;
    if (type === 1) return { values: new Uint8Array(size).fill(part(data, head, 1)[0]), used: head + 1 };
    return { values: part(data, head, size), used: head + size };
  }
  const [head, width] = [[3, 10], [3, 10], [4, 14], [5, 18]][form];
  const low = (data[0] | (data[1] << 8) | (data[2] << 16)) + data[3] * 2 ** 24 + (form === 3 ? data[4] * 2 ** 32 : 0);
  const size = Math.floor(low / 16) % 2 ** width;
  const stored = Math.floor(low / 2 ** (4 + width)) % 2 ** width;
  let streams = part(data, head, stored);
  if (type === 2) {
    const { weights, used } = huffmanWeights(streams);
    frame.huffman = huffman(weights);
    streams = streams.subarray(used);
  }
  if (!frame.huffman) corrupt('literals of zstd have no table');
  if (size > 1 << 17) corrupt('literals of zstd are too long');
  const values = new Uint8Array(size);
  if (form === 0) huffmanStream(streams, frame.huffman, values);
  else {
    const each = (size + 3) >> 2;
    let at = 6;
    for (let i = 0; i < 4; i++) {
      const length = i < 3 ? streams[2 * i] | (streams[2 * i + 1] << 8) : streams.length - at;
      huffmanStream(part(streams, at, length), frame.huffman, values.subarray(i * each, i < 3 ? (i + 1) * each : size));
      at += length;
    }
  }
  return { values, used: head + stored };
}

const DEFAULTS = [built(LITERALS, 6), built(OFFSETS, 5), built(MATCHES, 6)];
const LOGS = [9, 8, 9];
const SYMBOLS = [36, 32, 53];

function sequences(data: Uint8Array, values: Uint8Array, frame: Frame, out: Output): void {
  let [count, at] = [data[0], 1];
  if (count === 255) [count, at] = [data[1] + (data[2] << 8) + 0x7f00, 3];
  else if (count >= 128) [count, at] = [((count - 128) << 8) + data[1], 2];
  if (!count) return out.add(values);
  const modes = data[at++];
  for (let i = 0; i < 3; i++) {
    const mode = (modes >> (6 - 2 * i)) & 3;
    if (mode === 0) frame.tables[i] = DEFAULTS[i];
    if (mode === 1) frame.tables[i] = single(part(data, at++, 1)[0]);
    if (mode === 2) {
      const { table, used } = counts(data.subarray(at), LOGS[i], SYMBOLS[i]);
      frame.tables[i] = table;
      at += used;
    }
  }
  const [ll, of, ml] = frame.tables;
  if (!ll || !of || !ml) corrupt('sequences of zstd have no table');
  const bits = new Backward(data.subarray(at));
  let [l, o, m] = [bits.read(ll.log), bits.read(of.log), bits.read(ml.log)];
  let from = 0;
  for (let i = 0; i < count; i++) {
    const [literal, code, match] = [ll.symbol[l], of.symbol[o], ml.symbol[m]];
    if (literal > 35 || code > 31 || match > 52) corrupt('a code of zstd is out of range');
    const value = 2 ** code + bits.read(code);
    const length = MATCH_BASE[match] + bits.read(MATCH_BITS[match]);
    const run = LITERAL_BASE[literal] + bits.read(LITERAL_BITS[literal]);
    if (from + run > values.length) corrupt('sequences of zstd need more literals');
    out.add(values.subarray(from, from + run));
    from += run;
    out.copy(distance(value, run, frame.recent), length);
    if (i + 1 < count) {
      l = ll.base[l] + bits.read(ll.bits[l]);
      m = ml.base[m] + bits.read(ml.bits[m]);
      o = of.base[o] + bits.read(of.bits[o]);
    }
  }
  if (bits.at !== 0) corrupt('sequences of zstd do not end where their stream does');
  out.add(values.subarray(from));
}

function distance(value: number, run: number, recent: number[]): number {
  if (value > 3) {
    recent.unshift(value - 3);
    recent.pop();
    return recent[0];
  }
  const place = value - 1 + (run === 0 ? 1 : 0);
  const found = place === 3 ? recent[0] - 1 : recent[place];
  if (place) {
    recent.splice(Math.min(place, 2), 1);
    recent.unshift(found);
  }
  return found;
}

function frameAt(data: Uint8Array, at: number, out: Output): number {
  const head = part(data, at + 4, 1)[0];
  at += 5 + (head & 32 ? 0 : 1) + [0, 1, 2, 4][head & 3];
  const width = [head & 32 ? 1 : 0, 2, 4, 8][head >> 6];
  part(data, at, width);
  at += width;
  const frame = new Frame();
  for (let last = 0; !last; ) {
    const block = part(data, at, 3);
    const word = block[0] | (block[1] << 8) | (block[2] << 16);
    const size = word >> 3;
    last = word & 1;
    at += 3;
    const type = (word >> 1) & 3;
    if (type === 3 || size > 1 << 17) corrupt('a block of zstd is invalid');
    if (type === 1) {
      out.room(size);
      out.data.fill(part(data, at++, 1)[0], out.at, out.at + size);
      out.at += size;
      continue;
    }
    const stored = part(data, at, size);
    at += size;
    if (type === 0) out.add(stored);
    else {
      const { values, used } = literals(stored, frame);
      if (used >= stored.length) corrupt('a block of zstd has no sequences');
      sequences(stored.subarray(used), values, frame, out);
    }
  }
  return at + (head & 4 ? 4 : 0);
}

/** Decode the frames of zstd; `size` is a guess at the length, `prefix` is what their matches may refer to. */
export function zstd(data: Uint8Array, size = 0, prefix: Uint8Array = new Uint8Array(0)): Uint8Array {
  const out = new Output(new Uint8Array(prefix.length + (size || 4 * data.length)), prefix.length);
  out.data.set(prefix);
  for (let at = 0; at < data.length; ) {
    const bytes = part(data, at, 4);
    const magic = (bytes[0] | (bytes[1] << 8) | (bytes[2] << 16) | (bytes[3] << 24)) >>> 0;
    if (magic >>> 4 === 0x184d2a5) {
      const length = part(data, at + 4, 4);
      at += 8 + (length[0] | (length[1] << 8) | (length[2] << 16)) + length[3] * 2 ** 24;
    } else if (magic === 0xfd2fb528) at = frameAt(data, at, out);
    else corrupt('no frame of zstd');
  }
  return out.data.slice(prefix.length, out.at);
}
