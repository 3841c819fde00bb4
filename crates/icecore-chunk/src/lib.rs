//! Contents of a chunk: data types, codec chains, shard indexes, array metadata. No I/O: bytes in, bytes out.

#[cfg(not(unix))]
compile_error!("icecore needs Linux or macOS; on Windows it runs in WSL");

#[macro_use]
mod number;

mod analyzer;
mod buffer;
mod chain;
mod chain_parse;
mod codecs;
mod contexts;
mod cpu_features;
mod decode;
mod decode_pair;
mod defaults;
mod dtype;
mod encode;
mod errors;
mod extension;
mod fill_value;
// Without `own-deflate`, zstd frames and pairs of chunks still use parts of it.
#[cfg_attr(not(feature = "own-deflate"), allow(dead_code))]
mod inflate;
#[cfg(not(feature = "own-deflate"))]
mod inflate_by_library;
mod intervals;
mod meta;
mod min_match;
mod scratch;
mod shard;
mod summary;
mod unzstd;
mod vlen;

pub use analyzer::block::{Block, Elements};
pub use analyzer::candidates::{Candidate, candidates};
pub use analyzer::choose::{Choice, Goal, choose, frontier, leave_out_slower, rivals};
pub use analyzer::cost_class::CostClass;
pub use analyzer::finals::measure_in_turn;
pub use analyzer::measure::{Options, measure};
pub use analyzer::measurement::{Figure, Measurement, State};
pub use analyzer::sample::sample;
pub use chain::Chain;
pub use codecs::{Planes, codec_names, crc32, crc32c, swap_uniform};
pub use decode_pair::{Job, decode_pair};
pub use defaults::default_codecs;
pub use dtype::{DType, VIEW};
pub use fill_value::parse_fill;
#[cfg(feature = "own-deflate")]
pub use inflate::Inflate;
#[cfg(not(feature = "own-deflate"))]
pub use inflate_by_library::Inflate;
pub use intervals::INTERVALS;
pub use meta::ArrayMeta;
pub use min_match::MinMatch;
pub use number::{NOT_A_TIME, Number};
pub use scratch::Scratch;
pub use shard::Shard;
pub use summary::{Summary, summarise};
pub use vlen::Places;

#[doc(hidden)]
pub use half;
