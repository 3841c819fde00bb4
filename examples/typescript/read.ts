// Reads a dataset over the HDF REST API: node --experimental-strip-types read.ts ENDPOINT DOMAIN PATH [SELECT]
// No packages; runs in Node 22.6 and later, Deno, Bun and browsers.

interface Shape {
  class: "H5S_SIMPLE" | "H5S_SCALAR" | "H5S_NULL";
  dims?: number[];
}

interface Type {
  class: string;
  base?: string | Type;
}

interface HdfObject {
  id: string;
  shape?: Shape;
  type?: Type;
  links?: Record<string, { class: string; id?: string; h5path?: string }>;
  attributes?: Record<string, { value: unknown }>;
}

type Objects = Record<string, HdfObject>;
type Numbers = Float32Array | Float64Array | Int8Array | Uint8Array | Int16Array | Uint16Array | Int32Array | Uint32Array
  | BigInt64Array | BigUint64Array;

class Domain {
  constructor(readonly endpoint: string, readonly name: string, readonly root: string, readonly objects: Objects) {}

  /** Opens a domain with one request. */
  static async open(endpoint: string, name: string): Promise<Domain> {
    const answer = await ask(`${endpoint}/?domain=${encodeURIComponent(name)}&getobjs=1`, "application/json");
    const body = (await answer.json()) as { root: string; domain_objs: Objects };
    return new Domain(endpoint, name, body.root, body.domain_objs);
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
    const error = (await answer.json()) as { kind: string; message: string; hint: string };
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
