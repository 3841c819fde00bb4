//! The list of chunks, and the decoding of one chunk to its position.

use std::io;

use libdeflater::Decompressor;

/// One chunk: zlib over an optional byte shuffle; `length` bytes from `skip` go to `target` of the output.
#[derive(Clone, Copy)]
pub struct Chunk {
    pub offset: u64,
    pub stored: u64,
    raw: usize,
    skip: usize,
    length: usize,
    target: usize,
    /// Element size of the shuffle in bytes; below 2 there is no shuffle.
    shuffle: usize,
}

/// Reads the list and sorts it by file position.
pub fn read_list(path: &str) -> io::Result<Vec<Chunk>> {
    let bytes = std::fs::read(path)?;
    let numbers: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b)).collect();
    let mut chunks: Vec<Chunk> = numbers
        .as_chunks::<7>()
        .0
        .iter()
        .map(|&[offset, stored, raw, skip, length, target, shuffle]| Chunk {
            offset,
            stored,
            raw: raw as usize,
            skip: skip as usize,
            length: length as usize,
            target: target as usize,
            shuffle: shuffle as usize,
        })
        .collect();
    let sound = |c: &Chunk| c.skip.checked_add(c.length).is_some_and(|end| end <= c.raw) && c.raw < 1 << 32;
    if chunks.is_empty() || !chunks.iter().all(sound) {
        return Err(io::Error::other("the chunk list is empty or broken"));
    }
    chunks.sort_unstable_by_key(|c| c.offset);
    Ok(chunks)
}

/// Runs of adjacent chunks, each at most `max_bytes` long or a single chunk.
pub fn runs(chunks: &[Chunk], max_bytes: u64) -> Vec<&[Chunk]> {
    let mut runs = Vec::new();
    let mut first = 0;
    for i in 1..=chunks.len() {
        let goes_on = i < chunks.len()
            && chunks[i].offset == chunks[i - 1].offset + chunks[i - 1].stored
            && chunks[i].offset + chunks[i].stored - chunks[first].offset <= max_bytes;
        if !goes_on {
            runs.push(&chunks[first..i]);
            first = i;
        }
    }
    runs
}

/// First byte and one past the last of a run.
pub fn span(run: &[Chunk]) -> (u64, u64) {
    let start = run.first().map_or(0, |c| c.offset);
    (start, run.last().map_or(start, |c| c.offset + c.stored))
}

/// The output, which many threads write to at disjoint positions.
pub struct Output {
    bytes: Vec<u8>,
    base: *mut u8,
}

// SAFETY: the list gives each chunk a place of its own, and the bytes are read only after all threads have ended.
unsafe impl Sync for Output {}

impl Output {
    pub fn new(chunks: &[Chunk], warm: bool) -> io::Result<Self> {
        let size = chunks.iter().map(|c| c.target + c.length).max().unwrap_or(0);
        if chunks.iter().map(|c| c.length).sum::<usize>() != size {
            return Err(io::Error::other("the chunks overlap in the output, or leave a gap"));
        }
        let mut bytes = vec![0u8; size]; // the kernel zeroes each page at its first access
        if warm {
            bytes.iter_mut().step_by(4096).for_each(|b| *b = 1);
        }
        let base = bytes.as_mut_ptr();
        Ok(Self { bytes, base })
    }

    pub fn crc(&self) -> u32 {
        let mut crc = libdeflater::Crc::new();
        crc.update(&self.bytes);
        crc.sum()
    }

    /// # Safety
    /// No other thread may write to the same range.
    #[allow(clippy::mut_from_ref)]
    unsafe fn place(&self, chunk: &Chunk) -> &mut [u8] {
        // SAFETY: `new` made the output as long as the furthest chunk's end; the rest is the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.base.add(chunk.target), chunk.length) }
    }
}

/// A thread's decompressor and scratch.
pub struct Inflater {
    zlib: Decompressor,
    inflated: Vec<u8>,
    unshuffled: Vec<u8>,
}

impl Default for Inflater {
    fn default() -> Self {
        Self { zlib: Decompressor::new(), inflated: Vec::new(), unshuffled: Vec::new() }
    }
}

impl Inflater {
    pub fn place(&mut self, chunk: &Chunk, stored: &[u8], output: &Output) -> io::Result<()> {
        // SAFETY: each chunk of the list is taken by one thread once.
        let place = unsafe { output.place(chunk) };
        let whole = chunk.length == chunk.raw;
        if chunk.shuffle < 2 && whole {
            return inflate(&mut self.zlib, stored, place);
        }
        self.inflated.resize(chunk.raw, 0);
        inflate(&mut self.zlib, stored, &mut self.inflated)?;
        let part = chunk.skip..chunk.skip + chunk.length;
        if chunk.shuffle < 2 {
            place.copy_from_slice(&self.inflated[part]);
        } else if whole {
            unshuffle(&self.inflated, place, chunk.shuffle);
        } else {
            self.unshuffled.resize(chunk.raw, 0);
            unshuffle(&self.inflated, &mut self.unshuffled, chunk.shuffle);
            place.copy_from_slice(&self.unshuffled[part]);
        }
        Ok(())
    }
}

fn inflate(zlib: &mut Decompressor, stored: &[u8], out: &mut [u8]) -> io::Result<()> {
    let size = zlib.zlib_decompress(stored, out).map_err(io::Error::other)?;
    if size != out.len() {
        return Err(io::Error::other(format!("a chunk of {} bytes inflates to {size}", out.len())));
    }
    Ok(())
}

fn unshuffle(planes: &[u8], out: &mut [u8], size: usize) {
    match size {
        2 => unshuffle_of::<2>(planes, out),
        4 => unshuffle_of::<4>(planes, out),
        8 => unshuffle_of::<8>(planes, out),
        _ => out.iter_mut().enumerate().for_each(|(i, b)| *b = planes[i % size * (planes.len() / size) + i / size]),
    }
}

/// The element size as a constant lets the compiler turn the gather into vector code.
fn unshuffle_of<const N: usize>(planes: &[u8], out: &mut [u8]) {
    let count = planes.len() / N;
    let plane: [&[u8]; N] = std::array::from_fn(|b| &planes[b * count..(b + 1) * count]);
    for (i, element) in out.as_chunks_mut::<N>().0.iter_mut().enumerate().take(count) {
        *element = std::array::from_fn(|b| plane[b][i]);
    }
}
