// Reads a dataset over the HDF REST API: node read.ts ENDPOINT DOMAIN PATH [SELECT]
// `api.ts` has the types of the service, generated from its /openapi.json (`npm run types`). Node 22.18 and later, Deno and
// Bun run this file as it is; `npm run build` compiles it to read.js for other versions and browsers.

import type { components } from "./api.ts";

type HdfObject = components["schemas"]["Object"];
type Type = components["schemas"]["Type"];
type Objects = Record<string, HdfObject>;
type Numbers = Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array
  | BigInt64Array | BigUint64Array;

class Domain {
  constructor(readonly endpoint: string, readonly name: string, readonly root: string, readonly objects: Objects) {}

  /** Opens a domain with one request. */
  static async open(endpoint: string, name: string): Promise<Domain> {
    const answer = await ask(`${endpoint}/?domain=${encodeURIComponent(name)}&getobjs=1`, "application/json");
    const body = (await answer.json()) as components["schemas"]["Domain"];
    return new Domain(endpoint, name, body.root, body.domain_objs ?? {});
  }

  /** The object that hard and soft links lead to. */
  find(path: string): HdfObject {
    let id = this.root;
    for (const part of path.split("/").filter((part) => part !== "")) {
      const link = this.objects[id]?.links?.[part];
      if (link === undefined) throw new Error(`${this.name} has no ${path}: no link ${part}`);
      id = link.id ?? this.find(link.h5path ?? "").id;
    }
    const found = this.objects[id];
    if (found === undefined) throw new Error(`${this.name} has no object ${id}`);
    return found;
  }

  /** Elements of a dataset of numbers, and their shape. `select` is as in "[0:10, 3]". */
  async read(dataset: HdfObject, select?: string): Promise<{ values: Numbers; shape: number[] }> {
    const query = select === undefined ? "" : `&select=${encodeURIComponent(select)}`;
    const url = `${this.endpoint}/datasets/${dataset.id}/value?domain=${encodeURIComponent(this.name)}${query}`;
    const answer = await ask(url, "application/octet-stream");
    const values = numbers(dataset.type, await answer.arrayBuffer());
    return { values, shape: select === undefined ? (dataset.shape?.dims ?? []) : [values.length] };
  }
}

async function ask(url: string, accept: string): Promise<Response> {
  const answer = await fetch(url, { headers: { accept } });
  if (!answer.ok) {
    const error = (await answer.json()) as components["schemas"]["Error"];
    throw new Error(`${error.kind}: ${error.message}\n  ${error.hint}`);
  }
  return answer;
}

function numbers(type: Type | undefined, bytes: ArrayBuffer): Numbers {
  const base = typeof type?.base === "string" ? type.base : "";
  const match = /^H5T_(?:STD|IEEE)_([IUF])(\d+)(LE|BE)$/.exec(base);
  if (match === null) throw new Error(`only numbers are read here, not ${JSON.stringify(type)}`);
  const size = Number(match[2]) / 8;
  if (match[3] === "BE") {
    const all = new Uint8Array(bytes);
    for (let at = 0; at < all.length; at += size) all.subarray(at, at + size).reverse();
  }
  switch (`${match[1]}${match[2]}`) {
    case "F32": return new Float32Array(bytes);
    case "F64": return new Float64Array(bytes);
    case "I8": return new Int8Array(bytes);
    case "U8": return new Uint8Array(bytes);
    case "I16": return new Int16Array(bytes);
    case "U16": return new Uint16Array(bytes);
    case "I32": return new Int32Array(bytes);
    case "U32": return new Uint32Array(bytes);
    case "I64": return new BigInt64Array(bytes);
    case "U64": return new BigUint64Array(bytes);
    default: throw new Error(`JavaScript has no array of ${base}`);
  }
}

const [endpoint, name, path, select] = (globalThis as any).process.argv.slice(2) as string[];
const domain = await Domain.open(endpoint, name);
const dataset = domain.find(path);
const { values, shape } = await domain.read(dataset, select);
console.log(`${path} ${JSON.stringify(shape)} ${values.constructor.name}: ${values.slice(0, 8).join(" ")}`);
