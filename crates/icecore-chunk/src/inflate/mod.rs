//! DEFLATE decoder (RFC 1951): streaming with pieces of any length, and two whole streams together.
//!
//! libdeflate, which decodes single chunks, needs the whole stream and the whole output at once; zlib's descendants
//! accept pieces, but take nearly twice as long on tables of text.

mod bits;
mod call;
mod copy;
mod decoder_state;
mod header;
mod kernels;
mod pair;
mod stream;
mod symbol_source;
mod table;

pub(crate) use copy::exactly as repeat_exactly;
pub(crate) use pair::Pair;
#[cfg(feature = "own-deflate")]
pub use stream::Inflate;

#[cfg(test)]
mod libdeflate_tests;
