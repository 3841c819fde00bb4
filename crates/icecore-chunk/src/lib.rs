//! Everything inside a chunk: data types, codec chains, shard indexes, array metadata. Pure CPU: bytes in, bytes out.

mod buffer;
mod chain;
mod chain_parse;
mod codecs;
mod contexts;
mod decode;
mod defaults;
mod dtype;
mod encode;
mod extension;
mod fill;
mod foreign;
mod grid_meta;
mod meta;
mod refuse;
mod scratch;
mod shard;
mod vlen;

pub use chain::Chain;
pub use codecs::Planes;
pub use defaults::default_codecs;
pub use dtype::{DType, VIEW};
pub use meta::ArrayMeta;
pub use scratch::Scratch;
pub use shard::Shard;
pub use vlen::Places;
