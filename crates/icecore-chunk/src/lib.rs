//! Everything inside a chunk: data types, codec chains, shard indexes, array metadata. Pure CPU: bytes in, bytes out.

#[cfg(not(unix))]
compile_error!("icecore needs Linux or macOS; on Windows it runs in WSL");

mod block;
mod buffer;
mod candidates;
mod candidates_codecs;
mod candidates_predict;
mod chain;
mod chain_parse;
mod choose;
mod class;
mod clock;
mod codecs;
mod contexts;
mod decode;
mod decode_two;
mod defaults;
mod dtype;
mod encode;
mod extension;
mod fill;
mod foreign;
mod grid_meta;
mod inflate;
mod intervals;
mod measure;
mod measured;
mod meta;
mod narrow;
mod number;
mod processor;
mod refuse;
mod repeats;
mod sample;
mod scratch;
mod shard;
mod summary;
mod unzstd;
mod vlen;

pub use block::{Block, Elements};
pub use candidates::{Candidate, candidates};
pub use chain::Chain;
pub use choose::{Choice, Goal, choose, frontier, rivals};
pub use class::Class;
pub use codecs::{Planes, crc32, crc32c};
pub use decode_two::{Job, decode_two};
pub use defaults::default_codecs;
pub use dtype::{DType, VIEW};
pub use fill::parse_fill;
pub use inflate::Inflate;
pub use intervals::INTERVALS;
pub use measure::{Options, measure};
pub use measured::{Figure, Measured, State};
pub use meta::ArrayMeta;
pub use number::{NOT_A_TIME, Number};
pub use repeats::Repeats;
pub use sample::sample;
pub use scratch::Scratch;
pub use shard::Shard;
pub use summary::{Summary, summarise};
pub use vlen::Places;

#[doc(hidden)]
pub use half;
