//! zstd frames (RFC 8878), whole or up to what is wanted.
//!
//! libzstd takes 75 instructions and more for each sequence, and chunks of floats are little else: a repetition of 5 bytes
//! after one that is as it is. Here it is two thirds of that: what is short and has room around it is done without a look at
//! anything else. Whatever is not one frame of known length, or is damaged, is left to libzstd and its judgement.

mod back;
mod codes;
mod copy;
mod fast;
mod frame;
mod fse;
mod huffman;
mod lane;
mod literals;
mod sequences;
mod streams;
mod weights;

pub(crate) use frame::Desk;

#[cfg(test)]
mod tests;
