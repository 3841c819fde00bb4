//! Array→array codecs, and array→bytes codecs that other libraries define.

pub(super) mod bitround;
pub(super) mod byte_order;
mod cast_rules;
pub(super) mod cast_value;
pub(super) mod conversion;
pub(super) mod delta;
pub(super) mod fixed_scale_offset;
pub(super) mod nested_shard;
pub(super) mod numpy_cast;
pub(super) mod packbits;
pub(super) mod packed_bits;
pub(super) mod pco;
#[cfg(target_arch = "x86_64")]
mod pco_page;
#[cfg(target_arch = "x86_64")]
mod pco_table;
pub(super) mod pco_wrapped;
mod real;
pub(super) mod reshape;
pub(super) mod scale_offset;
pub(super) mod transpose;

pub(crate) use bitround::BitRound;
pub(crate) use byte_order::Swap;
pub use byte_order::swap_uniform;
pub(crate) use delta::Delta;
pub(crate) use pco::Pco;
pub(crate) use transpose::Transpose;
