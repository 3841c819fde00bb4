//! zstd decoder (RFC 8878): whole frames, or their beginning.
//!
//! Chunks of floats are little but sequences: a byte as it is, then a repetition of 5. Here what is short and has room around it
//! is done without a look at anything else, in two thirds to nine tenths of libzstd's time. Whatever is not one plain frame, or
//! is damaged, is left to libzstd and its judgement.

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
