//! State of a decoding thread: buffers and codec contexts, so that decoding allocates nothing in steady state.

use icecore_grid::Result;

use crate::buffer::{Buffer, out_of_memory};
use crate::contexts::{Compressor, Decompressor, Deflater, Inflater};
use crate::inflate::Pair;
use crate::min_match::MinMatch;

/// Maximum size of an encoder's output that is kept: for larger outputs, fresh memory is cheap relative to the work.
const MAX_SPARE: usize = 32 << 20;

/// Per-thread working memory. Not shared; cheap to make, worth keeping.
#[derive(Default)]
pub struct Scratch {
    /// Sets the options of encoders from now on.
    pub min_match: MinMatch,
    buffers: Vec<Buffer>,
    spares: Vec<Vec<u8>>,
    inflater: Option<Inflater>,
    pair: Option<Box<Pair>>,
    deflater: Option<Deflater>,
    decompressor: Option<Decompressor>,
    compressor: Option<Compressor>,
}

impl Scratch {
    pub fn new() -> Scratch {
        Scratch::default()
    }

    /// Bytes held by the buffers between calls.
    pub fn held(&self) -> usize {
        let spares: usize = self.spares.iter().map(Vec::capacity).sum();
        spares + self.buffers.iter().map(|b| b.capacity()).sum::<usize>()
    }

    /// Frees memory if more than `max` bytes are held, for example after one unusually large chunk.
    pub fn trim(&mut self, max: usize) {
        while self.held() > max && (self.buffers.pop().is_some() || self.spares.pop().is_some()) {}
    }

    /// Takes a buffer from the pool; `give` returns it.
    pub(crate) fn take(&mut self) -> Buffer {
        self.buffers.pop().unwrap_or_default()
    }

    pub(crate) fn give(&mut self, buffer: Buffer) {
        self.buffers.push(buffer);
    }

    /// Takes a vector that an encoder may fill; `keep` returns it.
    pub(crate) fn spare(&mut self) -> Vec<u8> {
        self.spares.pop().unwrap_or_default()
    }

    pub(crate) fn keep(&mut self, spare: Vec<u8>) {
        if spare.capacity() <= MAX_SPARE {
            self.spares.push(spare);
        }
    }

    pub(crate) fn inflater(&mut self) -> Result<&mut Inflater> {
        if self.inflater.is_none() {
            self.inflater = Some(Inflater::new()?);
        }
        self.inflater.as_mut().ok_or_else(|| out_of_memory(0))
    }

    pub(crate) fn pair(&mut self) -> &mut Pair {
        self.pair.get_or_insert_default()
    }

    pub(crate) fn deflater(&mut self, level: i32) -> Result<&mut Deflater> {
        if self.deflater.as_ref().is_none_or(|d| d.level() != level) {
            self.deflater = Some(Deflater::new(level)?);
        }
        self.deflater.as_mut().ok_or_else(|| out_of_memory(0))
    }

    pub(crate) fn decompressor(&mut self) -> Result<&mut Decompressor> {
        if self.decompressor.is_none() {
            self.decompressor = Some(Decompressor::new()?);
        }
        self.decompressor.as_mut().ok_or_else(|| out_of_memory(0))
    }

    pub(crate) fn compressor(&mut self) -> Result<&mut Compressor> {
        if self.compressor.is_none() {
            self.compressor = Some(Compressor::new()?);
        }
        self.compressor.as_mut().ok_or_else(|| out_of_memory(0))
    }
}
