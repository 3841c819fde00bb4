//! zstd decoder (RFC 8878): whole frames, or their beginning.
//!
//! Chunks of floats consist mostly of sequences of one literal and a match of 5 bytes. This decoder executes short
//! copies with room around them without further checks, in two thirds to nine tenths of libzstd's time. Anything but
//! one plain frame, and damaged input, is left to libzstd, whose verdict counts.

mod codes;
mod copy;
mod decoder_state;
mod frame;
mod fse;
mod huffman;
mod kernels;
mod literals;
mod reverse_bits;
mod sequences;
mod streams;
mod weights;

pub(crate) use frame::Desk;

#[cfg(test)]
mod portable_tests;
#[cfg(test)]
mod tests;
