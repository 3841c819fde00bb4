// Answers of the service for the page of `icecore view --static`, from a repository on a plain web server.
import { type DataType, UnsupportedError, product, view } from './bytes.js';
import { Icechunk } from './icechunk.js';
import { type Box, read } from './read.js';

const SENT = 64 << 20; // bytes of a slice
const POINTS = 1000; // windows of a trend
const DOTS = 20_000; // points of a map

interface Decode {
  unsigned: string; // 'u' or 'i' where stored numbers have another sign than their type
  scale: number;
  offset: number;
  missing: string[]; // elements as bytes in hexadecimal digits
}

interface Axis {
  units: string | null;
  is_date: boolean;
  is_down: boolean;
  values: number[];
}

interface Entry {
  path: string;
  kind: 'group' | 'array';
  wire?: string;
  dtype?: string;
  shape?: number[];
  units?: string | null;
  is_physical?: boolean;
  decode?: Decode | null;
  along?: (string | null)[];
  coordinates?: { x: string; y: string } | null;
}

interface Manifest {
  name: string;
  repository: string;
  snapshot: string;
  versions: unknown;
  nodes: Record<string, Entry>;
  axes: Record<string, Axis>;
}

const original = globalThis.fetch.bind(globalThis);
const manifest: Promise<Manifest> = original('icecore.json').then((reply) => {
  if (!reply.ok) throw new Error(`icecore.json: ${reply.status} ${reply.statusText}`);
  return reply.json();
});
let opened: Promise<Icechunk> | undefined;

function repository(found: Manifest): Promise<Icechunk> {
  opened ??= Icechunk.open(new URL(found.repository, document.baseURI).href, { version: found.snapshot });
  return opened;
}

type Params = Record<string, string>;
type Answer = (found: Manifest, params: Params) => unknown;

function entry(found: Manifest, path: string): Entry {
  const node = found.nodes[path];
  if (!node) throw new Error(`there is no ${path}`);
  return node;
}

function children(found: Manifest, { path }: Params): unknown {
  const start = path === '/' ? '/' : `${path}/`;
  const inside = Object.values(found.nodes).filter((each) => each.path !== '/' && each.path.startsWith(start) && !each.path.slice(start.length).includes('/'));
  return { path, children: inside };
}

type Span = { start: number; stop: number; step: number; isOne: boolean };

function parsed(node: Entry, selection: string): Span[] {
  const shape = node.shape ?? [];
  const parts = selection ? selection.split(',') : shape.map(() => ':');
  if (parts.length !== shape.length) throw new Error(`selection ${selection} has ${parts.length} axes, ${node.path} has ${shape.length}`);
  return parts.map((part, axis) => {
    if (!part.includes(':')) return { start: Number(part), stop: Number(part) + 1, step: 1, isOne: true };
    const [start, stop, step] = part.split(':').map((each) => (each.trim() ? Number(each) : undefined));
    const end = Math.min(stop ?? shape[axis], shape[axis]);
    return { start: Math.min(start ?? 0, end), stop: end, step: step ?? 1, isOne: false };
  });
}

/** Read a box and keep every step-th element. */
async function selected(found: Manifest, node: Entry, spans: Span[]): Promise<Box> {
  const size = product(spans.map(({ start, stop }) => stop - start)) * 8;
  if (size > SENT) throw new Error(`${node.path}: this slice needs ${Math.round(size / 1e6)} MB (limit ${SENT >> 20} MiB). Choose a smaller range`);
  const box = await read(await repository(found), node.path, spans.map(({ start, stop }) => [start, stop]));
  if (spans.every(({ step }) => step === 1)) return box;
  const shape = spans.map(({ start, stop, step }) => Math.ceil((stop - start) / step));
  const out = new Uint8Array(product(shape) * box.dtype.size);
  for (let i = 0; i < product(shape); i++) {
    let [rest, from, stride] = [i, 0, 1];
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += (rest % shape[axis]) * spans[axis].step * stride;
      rest = Math.floor(rest / shape[axis]);
      stride *= box.shape[axis];
    }
    out.set(box.bytes.subarray(from * box.dtype.size, (from + 1) * box.dtype.size), i * box.dtype.size);
  }
  return { dtype: box.dtype, shape, bytes: out };
}

function reader({ kind, size }: DataType, bytes: Uint8Array): (i: number) => number {
  const found = view(bytes);
  if (kind === 'f' && size === 2) return (i) => half(found.getUint16(2 * i, true));
  if (kind === 'f') return size === 8 ? (i) => found.getFloat64(8 * i, true) : (i) => found.getFloat32(4 * i, true);
  if (kind === 'c') {
    const part = reader({ kind: 'f', size: size / 2 }, bytes);
    return (i) => Math.hypot(part(2 * i), part(2 * i + 1));
  }
  const isSigned = kind === 'i' || kind === 'm' || kind === 'M';
  if (size === 8) return (i) => Number(isSigned ? found.getBigInt64(8 * i, true) : found.getBigUint64(8 * i, true));
  if (size === 4) return (i) => (isSigned ? found.getInt32(4 * i, true) : found.getUint32(4 * i, true));
  if (size === 2) return (i) => (isSigned ? found.getInt16(2 * i, true) : found.getUint16(2 * i, true));
  return (i) => (isSigned ? found.getInt8(i) : found.getUint8(i));
}

function half(bits: number): number {
  const [sign, exponent, rest] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
  if (exponent === 31) return rest ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + rest / 1024) : 2 ** -14 * (rest / 1024));
}

function isMissing(node: Entry, { dtype, bytes }: Box): (i: number) => boolean {
  const marks = (node.decode?.missing ?? []).map((digits) => Uint8Array.from(digits.match(/../g) ?? [], (two) => parseInt(two, 16)));
  return (i) => marks.some((mark) => mark.every((byte, b) => bytes[i * dtype.size + b] === byte));
}

/** Physical values: NaN for missing ones. */
function physical(node: Entry, box: Box): Float64Array {
  const { unsigned, scale, offset } = node.decode ?? { unsigned: '', scale: 1, offset: 0 };
  const number = reader(unsigned ? { kind: unsigned, size: box.dtype.size } : box.dtype, box.bytes);
  const gone = isMissing(node, box);
  return Float64Array.from({ length: product(box.shape) }, (_, i) => (gone(i) ? NaN : number(i) * scale + offset));
}

const MADE: Record<string, (values: Float64Array) => { buffer: ArrayBufferLike }> = {
  f4: (values) => new Float32Array(values),
  f8: (values) => values,
};

async function values(found: Manifest, { path, selection, field }: Params): Promise<unknown> {
  const node = entry(found, path);
  if (field) throw new UnsupportedError('fields of records are shown by `icecore serve`');
  const box = await selected(found, node, parsed(node, selection));
  const { kind, size } = box.dtype;
  const wire = node.wire ?? 'json';
  if (wire === 'f4' || wire === 'f8') return MADE[wire](physical(node, box)).buffer;
  if (wire !== 'json') {
    const gone = isMissing(node, box);
    const places = Array.from({ length: product(box.shape) }, (_, i) => i);
    if (!places.some(gone)) return box.bytes.slice().buffer;
    const whole = view(box.bytes);
    return places.map((i) => (gone(i) ? null : String(kind === 'u' ? whole.getBigUint64(8 * i, true) : whole.getBigInt64(8 * i, true))));
  }
  const text = texts(node.dtype ?? '', kind);
  return Array.from({ length: product(box.shape) }, (_, i) => text(box.bytes.subarray(i * size, (i + 1) * size)));
}

const UNITS: Record<string, [number, number]> = { D: [86_400_000, 10], h: [3_600_000, 13], m: [60_000, 16], s: [1000, 19], ms: [1, 23] };

function texts(dtype: string, kind: string): (bytes: Uint8Array) => string {
  if (kind === 'S') return (bytes) => new TextDecoder().decode(bytes).replace(/\0+$/, '');
  if (kind === 'U') return (bytes) => String.fromCodePoint(...new Uint32Array(bytes.slice().buffer)).replace(/\0+$/, '');
  const unit = /^datetime64\[(\w+)\]$/.exec(dtype)?.[1] ?? '';
  if (kind !== 'M' || !(unit in UNITS)) throw new UnsupportedError(`values of ${dtype} are shown by \`icecore serve\``);
  const [scale, length] = UNITS[unit];
  return (bytes) => {
    const count = view(bytes).getBigInt64(0, true);
    return count === -(2n ** 63n) ? 'NaT' : new Date(Number(count) * scale).toISOString().slice(0, length);
  };
}

function axes(found: Manifest, { path, selection }: Params): unknown {
  const node = entry(found, path);
  const spans = parsed(node, selection);
  return {
    axes: spans.map(({ start, stop, step }, axis) => {
      const known = found.axes[node.along?.[axis] ?? ''];
      return known ? { ...known, values: known.values.slice(start, stop).filter((_, i) => i % step === 0) } : null;
    }),
  };
}

async function trend(found: Manifest, { path, start, stop }: Params): Promise<unknown> {
  const node = entry(found, path);
  if (node.shape?.length !== 1 || !node.wire || node.wire === 'json') throw new UnsupportedError(`${path}: a trend needs one axis of numbers`);
  const low = Math.max(Math.trunc(Number(start ?? 0)), 0);
  const high = Math.min(Math.ceil(Number(stop ?? node.shape[0])), node.shape[0]);
  if (high <= low) throw new Error(`${path}: ${low} to ${high} has no samples`);
  const numbers = physical(node, await selected(found, node, [{ start: low, stop: high, step: 1, isOne: false }]));
  const step = Math.ceil((high - low) / POINTS);
  const columns: Record<'min' | 'mean' | 'max', (number | null)[]> = { min: [], mean: [], max: [] };
  for (let at = 0; at < numbers.length; at += step) {
    const some = numbers.subarray(at, at + step).filter((value) => !Number.isNaN(value));
    const all = some.reduce(([least, sum, most], value) => [Math.min(least, value), sum + value, Math.max(most, value)], [Infinity, 0, -Infinity]);
    columns.min.push(plain(all[0]));
    columns.mean.push(plain(all[1] / some.length));
    columns.max.push(plain(all[2]));
  }
  return { axis: 'index', source: 'samples', bytes_read: 8 * numbers.length, span: [low, high], step, seen: step, t0: low, ...columns };
}

function plain(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

async function map(found: Manifest, { path, color }: Params): Promise<unknown> {
  const group = entry(found, path);
  const { x, y } = group.coordinates ?? { x: '', y: '' };
  const names = [x, y, color || y];
  const nodes = names.map((name) => entry(found, path === '/' ? `/${name}` : `${path}/${name}`));
  const rows = nodes[0].shape?.[0] ?? 0;
  const step = Math.max(Math.ceil(rows / DOTS), 1);
  const columns = await Promise.all(
    nodes.map(async (node) => Array.from(physical(node, await selected(found, node, [{ start: 0, stop: rows, step, isOne: false }])), plain)),
  );
  return { rows, step, names, units: nodes[2].units ?? null, x: columns[0], y: columns[1], z: columns[2] };
}

function elsewhere(what: string): Answer {
  return () => {
    throw new UnsupportedError(`this page has no service: \`icecore serve\` shows ${what}`);
  };
}

const ANSWERS: Record<string, Answer> = {
  children,
  node: (found, { path }) => entry(found, path),
  values,
  axes,
  trend,
  map,
  versions: (found) => found.versions,
  plan: elsewhere('read plans'),
  storage: elsewhere('how arrays are stored'),
};

async function answered(url: URL): Promise<Response> {
  const name = url.pathname.split('/').pop() ?? '';
  const params: Params = Object.fromEntries(url.searchParams);
  params.path = `/${(params.path ?? '').replace(/^\/+|\/+$/g, '')}`;
  try {
    const found = await ANSWERS[name](await manifest, params);
    const isBytes = found instanceof ArrayBuffer;
    return new Response(isBytes ? found : JSON.stringify(found), { headers: { 'content-type': isBytes ? 'application/octet-stream' : 'application/json' } });
  } catch (error) {
    return Response.json({ message: (error as Error).message }, { status: 400 });
  }
}

// The page asks `api/NAME?…`: without a service, the answers are made here.
globalThis.fetch = async (input, options) => {
  const url = new URL(input instanceof Request ? input.url : input, document.baseURI);
  const here = new URL('api/', document.baseURI);
  if (url.origin === here.origin && url.pathname.startsWith(here.pathname)) {
    const reply = await answered(url);
    options?.signal?.throwIfAborted();
    return reply;
  }
  return original(input, options);
};

// before the page reads its address: its script runs next and does not wait
const query = new URLSearchParams(location.search);
const name = document.querySelector<HTMLMetaElement>('meta[name="icecore-repository"]')?.content;
if (name && !query.get('repo')) {
  query.set('repo', name);
  history.replaceState(null, '', `?${query}`);
}
