//! Decode two DEFLATE streams together: one continues while the other waits for memory.

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

/// A chunk to be decoded, as [`Chain::decode_top`] takes it.
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

/// Decodes two chunks, of one array or of two, each as [`Chain::decode_top`] does.
///
/// # Errors
/// Those of each.
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
    /// Whether two chunks of this chain take less time at once.
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

/// A stream that is the first thing to be decoded of a chunk.
struct Lead<'a> {
    stream: DeflateStream<'a>,
    /// How many bytes it gives.
    len: usize,
    /// How many codecs come after it.
    left: usize,
}

impl<'a> Job<'a> {
    /// Decodes this one chunk.
    ///
    /// # Errors
    /// As [`Chain::decode_top`].
    pub fn alone(self, scratch: &mut Scratch) -> Result<()> {
        if !self.parts.is_empty() {
            return self.chain.decode_parts(self.stored, self.shape, &self.parts, self.out, scratch);
        }
        self.chain.decode_top(self.stored, self.planes, self.shape, self.wanted, self.out, scratch)
    }

    /// On failure, the caller decodes the chunk separately, which reports the error.
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

/// A chunk, and where its stream is decoded to: a buffer, or at once where the chunk belongs.
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

    /// `used`: how many bytes the stream had, where it is one.
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
