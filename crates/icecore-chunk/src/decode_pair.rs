//! Decode two DEFLATE streams together: one advances while the other waits for memory.

use std::ops::Range;

use icecore_grid::Result;

use crate::buffer::Buffer;
use crate::chain::{Chain, Serializer};
use crate::codecs::ByteStep;
use crate::contexts::DeflateStream;
use crate::decode::Packed;
use crate::scratch::Scratch;

/// Shorter streams are decoded separately: most of their bytes are headers and trailers.
const LEAST: usize = 4096;

/// A chunk to decode, with the arguments of [`Chain::decode_top`].
pub struct Job<'a> {
    pub chain: &'a Chain,
    pub stored: &'a [u8],
    pub planes: usize,
    pub shape: &'a [u64],
    pub wanted: (u64, u64),
    /// Ranges of bytes in `wanted` that are enough, see [`Chain::decode_parts`]; all of it if there are none.
    pub parts: Vec<Range<usize>>,
    pub out: &'a mut [u8],
}

/// Decodes two chunks, of one or two arrays, like [`Chain::decode_top`] for each.
///
/// # Errors
/// The errors of each.
pub fn decode_pair(jobs: [Job<'_>; 2], scratch: &mut Scratch) -> [Result<()>; 2] {
    let [Some(first), Some(second)] = jobs.each_ref().map(Job::lead) else {
        return jobs.map(|job| job.alone(scratch));
    };
    let [one, other] = jobs;
    let mut one = Half::new(one, first, scratch);
    let mut other = Half::new(other, second, scratch);
    let used = match (one.room(), other.room()) {
        (Ok((bits, room)), Ok((more, space))) => scratch.pair().inflate([bits, more], [room, space]),
        _ => [None; 2],
    };
    [one.finish(used[0], scratch), other.finish(used[1], scratch)]
}

impl Chain {
    /// Whether decoding two chunks of this chain together saves time.
    pub fn goes_in_pairs(&self) -> bool {
        if cfg!(not(feature = "own-deflate")) {
            return false;
        }
        let last = self.bytes.iter().rev().find_map(|step| match step {
            ByteStep::Codec(codec) => Some(codec),
            ByteStep::Checksum(_) => None,
        });
        matches!(self.serializer, Serializer::Bytes(_)) && last.is_some_and(|codec| codec.is_deflate())
    }
}

/// A stream that is the first step in decoding a chunk.
struct Lead<'a> {
    stream: DeflateStream<'a>,
    /// Its decoded length in bytes.
    len: usize,
    /// Number of codecs still to undo after it.
    left: usize,
}

impl<'a> Job<'a> {
    /// Decodes this chunk alone.
    ///
    /// # Errors
    /// As [`Chain::decode_top`].
    pub fn alone(self, scratch: &mut Scratch) -> Result<()> {
        if !self.parts.is_empty() {
            return self.chain.decode_parts(self.stored, self.shape, &self.parts, self.out, scratch);
        }
        self.chain.decode_top(self.stored, self.planes, self.shape, self.wanted, self.out, scratch)
    }

    /// On failure the caller decodes the chunk alone, which reports the error.
    fn lead(&self) -> Option<Lead<'a>> {
        let raw = self.chain.raw_len(self.shape).ok().filter(|raw| *raw == self.out.len())?;
        if !self.chain.goes_in_pairs() {
            return None;
        }
        let mut stored = self.stored;
        for (left, step) in self.chain.bytes.iter().enumerate().rev() {
            match step {
                ByteStep::Checksum(checksum) => stored = &stored[checksum.verify(stored).ok()?],
                ByteStep::Codec(codec) => {
                    let (stream, len) = (codec.deflated(stored)?, self.chain.decoded_len(left, Some(raw))?);
                    return (len >= LEAST).then_some(Lead { stream, len, left });
                }
            }
        }
        None
    }
}

/// A chunk, and the target of its stream: a buffer, or directly the chunk's output.
struct Half<'a> {
    job: Job<'a>,
    lead: Lead<'a>,
    buffer: Option<Buffer>,
}

impl<'a> Half<'a> {
    fn new(job: Job<'a>, lead: Lead<'a>, scratch: &mut Scratch) -> Self {
        let at_once = lead.left == 0 && job.chain.moves().is_empty();
        Half { buffer: (!at_once).then(|| scratch.take()), job, lead }
    }

    fn room(&mut self) -> Result<(&'a [u8], &mut [u8])> {
        let room = match &mut self.buffer {
            Some(buffer) => buffer.sized(self.lead.len)?,
            None => &mut *self.job.out,
        };
        Ok((self.lead.stream.bits, room))
    }

    /// `used`: the length of the stream in bytes, if it is valid.
    fn finish(self, used: Option<usize>, scratch: &mut Scratch) -> Result<()> {
        let Half { job, lead, buffer } = self;
        let made = buffer.as_ref().map_or(&*job.out, |buffer| &buffer.bytes()[..lead.len.min(buffer.bytes().len())]);
        if !used.is_some_and(|used| lead.stream.is_whole(used, made)) {
            buffer.into_iter().for_each(|buffer| scratch.give(buffer));
            return job.alone(scratch);
        }
        let Some(buffer) = buffer else {
            job.chain.settle(job.out, job.wanted);
            return Ok(());
        };
        let packed = Packed { bytes: &buffer.bytes()[..lead.len], left: lead.left };
        let done = job.chain.decode_packed(packed, job.planes, job.shape, job.wanted, job.out, scratch);
        scratch.give(buffer);
        done
    }
}
