// Where the objects of a repository are: a web server or bucket.

export type Range = { offset: number; length: number };

/** Gives the bytes of an object of a repository, or a part of them; undefined if there is none. */
export interface Source {
  get(path: string, range?: Range): Promise<Uint8Array | undefined>;
}

/** Objects below an address of HTTP. A server that ignores ranges answers with whole objects, which are cut here. */
export function http(address: string, options: RequestInit = {}): Source {
  const [base, query] = address.split('?');
  const root = base.replace(/\/+$/, '');
  return { get: (path, range) => fetched(`${root}/${path}${query ? `?${query}` : ''}`, range, options) };
}

export async function fetched(url: string, range?: Range, options: RequestInit = {}): Promise<Uint8Array | undefined> {
  if (range && !range.length) return new Uint8Array(0);
  const headers = new Headers(options.headers);
  if (range) headers.set('range', `bytes=${range.offset}-${range.offset + range.length - 1}`);
  const reply = await fetch(url, { ...options, headers });
  if (reply.status === 404 || reply.status === 403) {
    await reply.body?.cancel();
    return undefined;
  }
  if (!reply.ok) throw new Error(`${url}: ${reply.status} ${reply.statusText}`);
  const bytes = new Uint8Array(await reply.arrayBuffer());
  const found = range && reply.status === 200 ? bytes.subarray(range.offset, range.offset + range.length) : bytes;
  if (range && found.length !== range.length) throw new Error(`${url}: ${found.length} bytes, expected ${range.length}`);
  return found;
}
