// Decoders of the `icecore.*` codecs and of pco, and a reader of Icechunk repositories.
export { CorruptError, UnsupportedError, crc32c, dataType } from './bytes.js';
export type { CodecMetadata, DataType } from './bytes.js';
export { decodeChunk } from './chain.js';
export { pco } from './pco.js';
export { zstd } from './zstd.js';
export { Icechunk } from './icechunk.js';
export type { Node, OpenOptions } from './icechunk.js';
export { read } from './read.js';
export type { Box } from './read.js';
export { http } from './source.js';
export type { Range, Source } from './source.js';
export { register } from './zarrita.js';
