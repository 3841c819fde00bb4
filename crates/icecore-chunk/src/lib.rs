//! Contents of a chunk: data types, codec chains, shard indexes, array metadata. No I/O: bytes in, bytes out.

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
mod clock;
mod codecs;
mod contexts;
mod cost_class;
mod cpu_features;
mod decode;
mod decode_pair;
mod defaults;
mod dtype;
mod encode;
mod errors;
mod extension;
mod fill_value;
mod finals;
mod grid_meta;
// Without `own-deflate`, zstd frames and pairs of chunks still use parts of it.
#[cfg_attr(not(feature = "own-deflate"), allow(dead_code))]
mod inflate;
#[cfg(not(feature = "own-deflate"))]
mod inflate_by_library;
mod intervals;
mod measure;
mod measurement;
mod meta;
mod min_match;
mod number;
mod sample;
mod scratch;
mod shard;
mod summary;
mod unused_lists;
mod unzstd;
mod vlen;

pub use block::{Block, Elements};
pub use candidates::{Candidate, candidates};
pub use chain::Chain;
pub use choose::{Choice, Goal, choose, frontier, leave_out_slower, rivals};
pub use codecs::{Planes, crc32, crc32c};
pub use cost_class::CostClass;
pub use decode_pair::{Job, decode_pair};
pub use defaults::default_codecs;
pub use dtype::{DType, VIEW};
pub use fill_value::parse_fill;
pub use finals::measure_in_turn;
#[cfg(feature = "own-deflate")]
pub use inflate::Inflate;
#[cfg(not(feature = "own-deflate"))]
pub use inflate_by_library::Inflate;
pub use intervals::INTERVALS;
pub use measure::{Options, measure};
pub use measurement::{Figure, Measurement, State};
pub use meta::ArrayMeta;
pub use min_match::MinMatch;
pub use number::{NOT_A_TIME, Number};
pub use sample::sample;
pub use scratch::Scratch;
pub use shard::Shard;
pub use summary::{Summary, summarise};
pub use vlen::Places;

#[doc(hidden)]
pub use half;
