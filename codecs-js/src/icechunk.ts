// Icechunk repositories (spec versions 1 and 2): versions, nodes, and where chunks are.
import { CorruptError, UnsupportedError, corrupt } from './bytes.js';
import { Table } from './flatbuffer.js';
import { type Range, type Source, fetched, http } from './source.js';
import { zstd } from './zstd.js';

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const MAGIC = [0x49, 0x43, 0x45, 0xf0, 0x9f, 0xa7, 0x8a, 0x43, 0x48, 0x55, 0x4e, 0x4b];
const HEADER = 39; // magic, writer, version, type of file, compression

function identifier(bytes: Uint8Array | null): string {
  let [found, value, bits] = ['', 0, 0];
  for (const byte of bytes ?? []) {
    value = ((value << 8) | byte) & 0xffff;
    for (bits += 8; bits >= 5; bits -= 5) found += DIGITS[(value >> (bits - 5)) & 31];
  }
  return bits ? found + DIGITS[(value << (5 - bits)) & 31] : found;
}

function document(bytes: Uint8Array, name: string): Table {
  if (bytes.length < HEADER || MAGIC.some((byte, i) => bytes[i] !== byte)) corrupt(`${name} is no file of Icechunk`);
  if (bytes[36] > 2) throw new UnsupportedError(`${name} has version ${bytes[36]} of Icechunk's format`);
  const body = bytes.subarray(HEADER);
  try {
    return Table.root(bytes[38] === 1 ? zstd(body) : body.slice());
  } catch (error) {
    throw error instanceof CorruptError ? error : new CorruptError(`${name}: ${(error as Error).message}`);
  }
}

export interface Node {
  path: string;
  kind: 'array' | 'group';
  id: string;
  metadata: Record<string, any>; // zarr.json
  manifests: { id: string; extents: number[] }[];
}

type Place = { bytes: Uint8Array } | { path: string; range: Range } | { url: string; range: Range };

export interface OpenOptions {
  /** A branch, a tag or the identifier of a version; `main` by default. */
  version?: string;
}

/** A version of a repository. It is a store of zarrita: `get` and `getRange` answer keys of Zarr v3. */
export class Icechunk {
  private readonly manifests = new Map<string, Promise<Map<string, Map<string, Place>>>>();
  private constructor(readonly source: Source, readonly snapshot: string, readonly nodes: Map<string, Node>) {}

  /** Open a repository at an address, or in any place that answers `get(path, range)`. */
  static async open(place: string | Source, options: OpenOptions = {}): Promise<Icechunk> {
    const source = typeof place === 'string' ? http(place) : place;
    const snapshot = await resolved(source, options.version ?? 'main');
    const bytes = await source.get(`snapshots/${snapshot}`);
    if (!bytes) throw new Error(`there is no version ${snapshot}`);
    const nodes = document(bytes, `snapshot ${snapshot}`).items(2).map(node);
    return new Icechunk(source, snapshot, new Map(nodes.map((each) => [each.path, each])));
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    const path = key.replace(/^\/+/, '');
    if (/(^|\/)zarr\.json$/.test(path)) {
      const found = this.nodes.get(`/${path.replace(/\/?zarr\.json$/, '')}`);
      return found && new TextEncoder().encode(JSON.stringify(found.metadata));
    }
    const place = await this.place(path);
    return place && this.bytes(place);
  }

  async getRange(key: string, range: { offset: number; length: number } | { suffixLength: number }): Promise<Uint8Array | undefined> {
    const place = await this.place(key.replace(/^\/+/, ''));
    if (!place) return undefined;
    const length = 'bytes' in place ? place.bytes.length : place.range.length;
    const wanted = 'suffixLength' in range ? { offset: Math.max(0, length - range.suffixLength), length: Math.min(length, range.suffixLength) } : range;
    if (wanted.offset + wanted.length > length) corrupt(`${key} has ${length} bytes`);
    return this.bytes(place, wanted);
  }

  private async bytes(place: Place, within?: Range): Promise<Uint8Array> {
    if ('bytes' in place) return within ? place.bytes.subarray(within.offset, within.offset + within.length) : place.bytes;
    const range = within ? { offset: place.range.offset + within.offset, length: within.length } : place.range;
    const found = await ('path' in place ? this.source.get(place.path, range) : fetched(place.url, range));
    return found ?? corrupt(`${'path' in place ? place.path : place.url} is missing`);
  }

  private async place(path: string): Promise<Place | undefined> {
    const found = /^(?:(.*)\/)?c((?:\/\d+)*)$/.exec(path) ?? /^(?:(.*)\/)?(\d+(?:\.\d+)*)$/.exec(path);
    const array = found && this.nodes.get(`/${found[1] ?? ''}`);
    if (!found || !array || array.kind !== 'array') return undefined;
    return this.chunk(array, found[2].split(/[/.]/).filter(Boolean).map(Number));
  }

  /** Where the chunk of these indices is; undefined if it was not written. */
  async chunk(array: Node, indices: number[]): Promise<Place | undefined> {
    for (const { id, extents } of array.manifests) {
      if (indices.some((n, axis) => n < extents[2 * axis] || n >= extents[2 * axis + 1])) continue;
      const place = (await this.manifest(id)).get(array.id)?.get(indices.join('/'));
      if (!place) continue;
      if ('url' in place && !/^https?:/.test(place.url)) {
        throw new UnsupportedError(`${array.path} is linked to ${place.url}, which is not on the web. Pack it: icecore pack`);
      }
      return place;
    }
    return undefined;
  }

  private manifest(id: string): Promise<Map<string, Map<string, Place>>> {
    let found = this.manifests.get(id);
    if (!found) {
      found = this.source.get(`manifests/${id}`).then((bytes) => places(bytes ?? corrupt(`manifest ${id} is missing`), id));
      this.manifests.set(id, found);
    }
    return found;
  }
}

async function resolved(source: Source, version: string): Promise<string> {
  const bytes = await source.get('repo');
  if (!bytes) return resolvedInOne(source, version);
  const repo = document(bytes, 'repo');
  for (const field of [2, 1]) {
    const ref = repo.items(field).find((each) => each.text(0) === version);
    if (ref) return identifier(repo.item(4, ref.u32(1)).struct(0, 12));
  }
  if (!/^[0-9A-HJKMNP-TV-Z]{20}$/.test(version)) throw new Error(`there is no branch or tag ${version}`);
  return version;
}

/** Versions are separate files in version 1 of the format. */
async function resolvedInOne(source: Source, version: string): Promise<string> {
  for (const kind of ['branch', 'tag']) {
    const bytes = await source.get(`refs/${kind}.${version}/ref.json`);
    if (bytes) return JSON.parse(new TextDecoder().decode(bytes)).snapshot;
  }
  if (!/^[0-9A-HJKMNP-TV-Z]{20}$/.test(version)) throw new Error(`there is no repository here, or no branch or tag ${version}`);
  return version;
}

function node(table: Table): Node {
  const kind = table.u8(3) === 1 ? 'array' : 'group';
  const data = kind === 'array' ? table.table(4) : null;
  return {
    path: table.text(1) ?? '/',
    kind,
    id: identifier(table.struct(0, 8)),
    metadata: JSON.parse(table.text(2) ?? '{}'),
    manifests: (data?.items(2) ?? []).map((ref) => ({ id: identifier(ref.struct(0, 12)), extents: ref.words(1, 2) })),
  };
}

function places(bytes: Uint8Array, id: string): Map<string, Map<string, Place>> {
  const manifest = document(bytes, `manifest ${id}`);
  const hasDictionary = manifest.length(2) > 0;
  return new Map(
    manifest.items(1).map((array) => [
      identifier(array.struct(0, 8)),
      new Map(array.items(1).map((ref) => [ref.words(0).join('/'), place(ref, hasDictionary)])),
    ]),
  );
}

function place(ref: Table, hasDictionary: boolean): Place {
  const inline = ref.bytes(1);
  if (inline) return { bytes: inline };
  const range = { offset: ref.u64(2), length: ref.u64(3) };
  const id = ref.struct(4, 12);
  if (id) return { path: `chunks/${identifier(id)}`, range };
  const packed = ref.bytes(8);
  const url = ref.text(5) ?? (packed && !hasDictionary ? new TextDecoder().decode(zstd(packed)) : 'a file elsewhere');
  return { url, range };
}
