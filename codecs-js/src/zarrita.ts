// Codecs for zarrita.js: `register(registry)` adds each decoder under its names.
import { type CodecMetadata, dataType } from './bytes.js';
import { ARRAY_TO_ARRAY, ARRAY_TO_BYTES, BYTES_TO_BYTES, decodeChunk } from './chain.js';

/** What zarrita knows of an array, at a codec's place in the list. */
interface Meta {
  dataType: string;
  shape: number[];
  [more: string]: unknown;
}

interface Chunk {
  data: any;
  shape: number[];
  stride: number[];
}

type Registry = Map<string, () => any>;

const LITTLE = { endian: 'little' };
const REPLACED = ['crc32c', 'fletcher32', 'shuffle']; // zarrita's crc32c compares nothing

function refused(): never {
  throw new Error('this package only decodes');
}

function toBytes(registry: Registry, name: string): () => unknown {
  return () => ({
    fromConfig: (configuration: CodecMetadata['configuration'], meta: Meta) => ({
      kind: 'array_to_bytes',
      encode: refused,
      async decode(bytes: Uint8Array): Promise<Chunk> {
        const out = await decodeChunk([{ name, configuration }], bytes, dataType(meta.dataType), meta.shape);
        return (await registry.get('bytes')?.()).fromConfig(LITTLE, meta).decode(out);
      },
    }),
  });
}

function toArray(registry: Registry, name: string): () => unknown {
  const codec = ARRAY_TO_ARRAY[name];
  return () => ({
    fromConfig: (configuration: Record<string, any>, meta: Meta) => ({
      kind: 'array_to_array',
      encode: refused,
      getEncodedMeta: (before: Meta): Meta =>
        name === 'icecore.decimal' ? { ...before, dataType: configuration.dtype, fillValue: 0 } : before,
      async decode(chunk: Chunk): Promise<Chunk> {
        const { buffer, byteOffset, byteLength } = chunk.data;
        const bytes = new Uint8Array(buffer, byteOffset, byteLength);
        const out = await codec.decode(bytes, configuration, dataType(meta.dataType), chunk.shape);
        const { data } = (await registry.get('bytes')?.()).fromConfig(LITTLE, meta).decode(out);
        return { data, shape: chunk.shape, stride: chunk.stride };
      },
    }),
  });
}

function ofBytes(name: string): () => unknown {
  return () => ({
    fromConfig: (configuration: Record<string, any> | undefined) => ({
      kind: 'bytes_to_bytes',
      encode: refused,
      decode: async (bytes: Uint8Array) => BYTES_TO_BYTES[name](bytes, configuration ?? {}),
      computeEncodedSize: name === 'crc32c' ? (size: number) => size + 4 : undefined,
    }),
  });
}

/** Add the codecs of icecore, pco and a CRC-32C that is compared to `registry` of zarrita. */
export function register(registry: Registry): void {
  const own = (name: string): boolean => name.startsWith('icecore.') || name === 'pcodec';
  for (const name of Object.keys(ARRAY_TO_BYTES).filter(own)) registry.set(name, toBytes(registry, name));
  for (const name of Object.keys(ARRAY_TO_ARRAY).filter(own)) registry.set(name, toArray(registry, name));
  for (const name of Object.keys(BYTES_TO_BYTES).filter((each) => own(each) || REPLACED.includes(each))) {
    registry.set(name, ofBytes(name));
    if (!own(name)) registry.set(`numcodecs.${name}`, ofBytes(name));
  }
  registry.set('numcodecs.pcodec', toBytes(registry, 'pcodec'));
}
