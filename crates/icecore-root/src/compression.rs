//! ROOT's compressed blocks: a 9-byte header (tag, method, two lengths of 24 bits) before each, at most 16 MiB decoded.

use icecore_grid::{Error, ErrorKind, Result};
use liblzma::stream::{Action, Status, Stream};
use twox_hash::XxHash64;

use crate::cursor::{Cursor, Within, corrupt};

/// Maximum size of a decoded object: ROOT's lengths have 31 bits.
const MAX_OBJECT: usize = i32::MAX as usize;
/// Memory limit of an xz stream: ROOT's strongest level needs 65 MiB.
const XZ_MEMORY: u64 = 256 << 20;

/// Decompresses ROOT's blocks; keeps the decoders' contexts between calls.
#[derive(Default)]
pub struct Expander {
    deflate: Option<libdeflater::Decompressor>,
    zstd: Option<zstd::bulk::Decompressor<'static>>,
}

impl std::fmt::Debug for Expander {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Expander")
    }
}

/// One block: its tag and its stored and decoded bytes.
struct Block<'a> {
    tag: [u8; 2],
    stored: &'a [u8],
    decoded: usize,
}

fn next_block<'a>(cursor: &mut Cursor<'a>) -> Result<Block<'a>> {
    let head: [u8; 9] = cursor.array()?;
    let [a, b, _, c0, c1, c2, u0, u1, u2] = head;
    let stored = u32::from_le_bytes([c0, c1, c2, 0]) as usize;
    let decoded = u32::from_le_bytes([u0, u1, u2, 0]) as usize;
    Ok(Block { tag: [a, b], stored: cursor.take(stored)?, decoded })
}

impl Expander {
    /// Decodes an object of `len` bytes from `stored`: blocks, or the bytes themselves if both lengths are equal.
    ///
    /// Memory is allocated block by block, so a false `len` costs no more than the blocks that decode.
    pub fn expand(&mut self, stored: &[u8], len: usize, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        if len > MAX_OBJECT {
            return Err(corrupt(format!("an object claims {len} bytes; ROOT's limit is {MAX_OBJECT}")));
        }
        if stored.len() == len {
            return reserve(out, len).map(|()| out.extend_from_slice(stored));
        }
        let mut cursor = Cursor::new(stored);
        while out.len() < len {
            let (at, start) = (cursor.position(), out.len());
            let block = next_block(&mut cursor).within(|| format!("compressed block at byte {at}"))?;
            if block.decoded == 0 || block.decoded > len - start {
                return Err(corrupt(format!(
                    "compressed block at byte {at} decodes to {} bytes, {} are missing",
                    block.decoded,
                    len - start
                )));
            }
            plausible(&block).within(|| format!("compressed block at byte {at}"))?;
            reserve(out, block.decoded)?;
            out.resize(start + block.decoded, 0);
            let room = out.get_mut(start..).unwrap_or_default();
            self.block(&block, room).within(|| format!("compressed block at byte {at}"))?;
        }
        Ok(())
    }

    /// As [`expand`](Self::expand), into a slice of exactly the decoded length.
    pub fn expand_into(&mut self, stored: &[u8], out: &mut [u8]) -> Result<()> {
        if stored.len() == out.len() {
            out.copy_from_slice(stored);
            return Ok(());
        }
        let (mut cursor, mut rest) = (Cursor::new(stored), out);
        while !rest.is_empty() {
            let at = cursor.position();
            let block = next_block(&mut cursor).within(|| format!("compressed block at byte {at}"))?;
            if block.decoded == 0 || block.decoded > rest.len() {
                return Err(corrupt(format!(
                    "compressed block at byte {at} decodes to {} bytes, {} are missing",
                    block.decoded,
                    rest.len()
                )));
            }
            let (room, behind) = rest.split_at_mut(block.decoded);
            self.block(&block, room).within(|| format!("compressed block at byte {at}"))?;
            rest = behind;
        }
        Ok(())
    }

    fn block(&mut self, block: &Block, out: &mut [u8]) -> Result<()> {
        let written = match &block.tag {
            b"ZL" => self.deflate().zlib_decompress(block.stored, out).map_err(|e| corrupt(format!("zlib: {e}")))?,
            b"CS" => {
                self.deflate().deflate_decompress(block.stored, out).map_err(|e| corrupt(format!("deflate: {e}")))?
            }
            b"L4" => lz4(block.stored, out)?,
            b"ZS" => self.zstd()?.decompress_to_buffer(block.stored, out).map_err(|e| corrupt(format!("zstd: {e}")))?,
            b"XZ" => xz(block.stored, out)?,
            [a, b] => {
                let tag = format!("{}{}", a.escape_ascii(), b.escape_ascii());
                return Err(Error::new(ErrorKind::Codec, format!("compression {tag:?} is not known"))
                    .hint("ROOT writes ZL (zlib), XZ (lzma), L4 (lz4), ZS (zstd) or CS (old deflate)"));
            }
        };
        if written != out.len() {
            return Err(corrupt(format!("decodes to {written} bytes, its header says {}", out.len())));
        }
        Ok(())
    }

    fn deflate(&mut self) -> &mut libdeflater::Decompressor {
        self.deflate.get_or_insert_with(libdeflater::Decompressor::new)
    }

    fn zstd(&mut self) -> Result<&mut zstd::bulk::Decompressor<'static>> {
        if self.zstd.is_none() {
            let made = zstd::bulk::Decompressor::new();
            self.zstd = Some(made.map_err(|e| Error::new(ErrorKind::Memory, format!("zstd: {e}")))?);
        }
        self.zstd.as_mut().ok_or_else(|| Error::new(ErrorKind::Internal, "no zstd context"))
    }
}

/// Rejects lengths that DEFLATE (1032-fold) and LZ4 (255-fold) cannot reach.
fn plausible(block: &Block) -> Result<()> {
    let most = match &block.tag {
        b"ZL" | b"CS" => 1032,
        b"L4" => 255,
        _ => return Ok(()),
    };
    if block.decoded / most > block.stored.len() {
        return Err(corrupt(format!("{} bytes cannot decode to {}", block.stored.len(), block.decoded)));
    }
    Ok(())
}

fn reserve(out: &mut Vec<u8>, more: usize) -> Result<()> {
    out.try_reserve(more).map_err(|_| Error::new(ErrorKind::Memory, format!("no memory for {more} decoded bytes")))
}

/// An LZ4 block after the big-endian XXH64 of its stored bytes.
fn lz4(stored: &[u8], out: &mut [u8]) -> Result<usize> {
    let (sum, block) = stored.split_first_chunk::<8>().ok_or_else(|| corrupt("lz4: no checksum"))?;
    let (found, expected) = (XxHash64::oneshot(0, block), u64::from_be_bytes(*sum));
    if found != expected {
        return Err(corrupt(format!("lz4: checksum is {found:016x}, expected {expected:016x}")));
    }
    let (Ok(source), Ok(room)) = (i32::try_from(block.len()), i32::try_from(out.len())) else {
        return Err(corrupt("lz4: a block longer than 2 GiB"));
    };
    // SAFETY: pointers and lengths come from slices; the safe decoder stays within both.
    let n = unsafe { lz4_sys::LZ4_decompress_safe(block.as_ptr().cast(), out.as_mut_ptr().cast(), source, room) };
    usize::try_from(n).map_err(|_| corrupt("lz4: the block does not decode"))
}

fn xz(stored: &[u8], out: &mut [u8]) -> Result<usize> {
    let failed = |e: liblzma::stream::Error| corrupt(format!("xz: {e}"));
    let mut stream = Stream::new_stream_decoder(XZ_MEMORY, 0).map_err(failed)?;
    loop {
        let (read, written) = (stream.total_in() as usize, stream.total_out() as usize);
        let source = stored.get(read..).unwrap_or_default();
        let room = out.get_mut(written..).unwrap_or_default();
        let status = stream.process(source, room, Action::Finish).map_err(failed)?;
        let stuck = stream.total_in() as usize == read && stream.total_out() as usize == written;
        if status == Status::StreamEnd || stuck {
            return Ok(stream.total_out() as usize);
        }
    }
}
