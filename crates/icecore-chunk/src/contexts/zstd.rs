//! Safe wrapper of zstd's contexts: whole frames, the beginning of a frame, and output of unknown length.

use std::ffi::c_void;
use std::ptr::NonNull;

use icecore_grid::{Error, ErrorKind, Result};
use zstd::zstd_safe::zstd_sys as sys;

use crate::buffer::{Buffer, append, first_guess, out_of_memory};
use crate::errors::{corrupt, wrong_length};
use crate::min_match::MinMatch;
use crate::unzstd::Desk;

/// A reusable decompression context.
pub(crate) struct Decompressor {
    context: NonNull<sys::ZSTD_DCtx>,
    /// Our own decoder, which handles nearly all frames.
    desk: Option<Box<Desk>>,
}

// SAFETY: the context holds no thread-bound state; `&mut self` keeps uses apart.
unsafe impl Send for Decompressor {}

impl Decompressor {
    pub fn new() -> Result<Decompressor> {
        // SAFETY: no preconditions; null means out of memory.
        let context = NonNull::new(unsafe { sys::ZSTD_createDCtx() }).ok_or_else(|| out_of_memory(0))?;
        Ok(Decompressor { context, desk: None })
    }

    /// Decodes all frames; they must fill `out` exactly. Only the first `enough` bytes must be correct on return, and
    /// the data after them may not have been verified.
    pub fn decompress(&mut self, input: &[u8], out: &mut [u8], enough: usize) -> Result<()> {
        if cfg!(feature = "own-zstd") && self.desk.get_or_insert_default().decode(input, out, enough) {
            return Ok(());
        }
        if enough < out.len() {
            return self.decompress_prefix(input, out, enough);
        }
        // SAFETY: pointers and lengths come from slices; zstd stays within both.
        let n = unsafe {
            sys::ZSTD_decompressDCtx(
                self.context.as_ptr(),
                out.as_mut_ptr().cast::<c_void>(),
                out.len(),
                input.as_ptr().cast::<c_void>(),
                input.len(),
            )
        };
        match error_name(n) {
            None if n == out.len() => Ok(()),
            None => Err(wrong_length("zstd", n, out.len())),
            Some(name) => Err(corrupt(
                "zstd",
                format!("{name} ({} stored bytes, {} expected after decoding)", input.len(), out.len()),
            )),
        }
    }

    /// Decodes one frame that was written over a dictionary of plain bytes, which may be empty.
    pub fn decompress_with(&mut self, input: &[u8], dictionary: &[u8], out: &mut [u8]) -> Result<()> {
        if dictionary.is_empty() {
            return self.decompress(input, out, out.len());
        }
        self.reset();
        let (context, place) = (self.context.as_ptr(), out.as_mut_ptr().cast::<c_void>());
        // SAFETY: pointers and lengths come from slices, which outlive both calls; the prefix is used by the second alone.
        let n = unsafe {
            match sys::ZSTD_DCtx_refPrefix(context, dictionary.as_ptr().cast(), dictionary.len()) {
                failed if error_name(failed).is_some() => failed,
                _ => sys::ZSTD_decompressDCtx(context, place, out.len(), input.as_ptr().cast(), input.len()),
            }
        };
        match error_name(n) {
            None if n == out.len() => Ok(()),
            None => Err(wrong_length("zstd", n, out.len())),
            Some(name) => Err(corrupt("zstd", format!("{name} ({} stored bytes over a dictionary)", input.len()))),
        }
    }

    /// Decodes until `enough` bytes are available.
    fn decompress_prefix(&mut self, input: &[u8], out: &mut [u8], enough: usize) -> Result<()> {
        self.reset();
        let mut source = sys::ZSTD_inBuffer_s { src: input.as_ptr().cast(), size: input.len(), pos: 0 };
        let mut target = sys::ZSTD_outBuffer_s { dst: out.as_mut_ptr().cast(), size: out.len(), pos: 0 };
        while target.pos < enough {
            let before = (source.pos, target.pos);
            // SAFETY: both buffers describe live slices.
            let code = unsafe { sys::ZSTD_decompressStream(self.context.as_ptr(), &mut target, &mut source) };
            if let Some(name) = error_name(code) {
                return Err(corrupt("zstd", name));
            }
            if (source.pos, target.pos) == before {
                return Err(wrong_length("zstd", target.pos, out.len()));
            }
        }
        Ok(())
    }

    pub fn decompress_unsized(&mut self, input: &[u8], out: &mut Buffer, cap: usize) -> Result<usize> {
        self.reset();
        let mut source = sys::ZSTD_inBuffer_s { src: input.as_ptr().cast(), size: input.len(), pos: 0 };
        let (mut room, mut done) = (first_guess(input.len(), cap), 0);
        loop {
            let slice = out.sized(room)?;
            let mut target = sys::ZSTD_outBuffer_s { dst: slice.as_mut_ptr().cast(), size: slice.len(), pos: done };
            // SAFETY: both buffers describe live slices.
            let code = unsafe { sys::ZSTD_decompressStream(self.context.as_ptr(), &mut target, &mut source) };
            done = target.pos;
            if let Some(name) = error_name(code) {
                return Err(corrupt("zstd", name));
            }
            match (code, source.pos == source.size, done == room) {
                (0, true, _) => return Ok(done),
                (_, _, true) if room == cap => {
                    return Err(corrupt("zstd", format!("decodes to more than {cap} bytes")));
                }
                (_, _, true) => room = room.saturating_mul(2).min(cap),
                (_, true, false) => return Err(corrupt("zstd", "the stream ends too early")),
                _ => {}
            }
        }
    }

    fn reset(&mut self) {
        // SAFETY: valid context; resetting both at once is always allowed.
        unsafe {
            sys::ZSTD_DCtx_reset(self.context.as_ptr(), sys::ZSTD_ResetDirective::ZSTD_reset_session_and_parameters)
        };
    }
}

impl Drop for Decompressor {
    fn drop(&mut self) {
        // SAFETY: created by `new`, freed once.
        unsafe { sys::ZSTD_freeDCtx(self.context.as_ptr()) };
    }
}

/// A reusable compression context.
pub(crate) struct Compressor(NonNull<sys::ZSTD_CCtx>);

// SAFETY: as for `Decompressor`.
unsafe impl Send for Compressor {}

impl Compressor {
    pub fn new() -> Result<Compressor> {
        // SAFETY: no preconditions; null means out of memory.
        NonNull::new(unsafe { sys::ZSTD_createCCtx() }).map(Compressor).ok_or_else(|| out_of_memory(0))
    }

    /// Appends a frame to `out`.
    pub fn compress(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
        level: i32,
        checksum: bool,
        min_match: MinMatch,
    ) -> Result<()> {
        self.frame(input, &[], out, level, checksum, min_match)
    }

    /// Appends a frame over a dictionary of plain bytes to `out`.
    pub fn compress_with(&mut self, input: &[u8], dictionary: &[u8], out: &mut Vec<u8>, level: i32) -> Result<()> {
        self.frame(input, dictionary, out, level, false, MinMatch::Usual)
    }

    fn frame(
        &mut self,
        input: &[u8],
        dictionary: &[u8],
        out: &mut Vec<u8>,
        level: i32,
        checksum: bool,
        min_match: MinMatch,
    ) -> Result<()> {
        let ctx = self.0.as_ptr();
        let compress = |start: *mut u8, room: usize| {
            // SAFETY: valid context; pointers and lengths come from slices, which outlive the calls, and from `append`.
            let code = unsafe {
                sys::ZSTD_CCtx_setParameter(ctx, sys::ZSTD_cParameter::ZSTD_c_compressionLevel, level);
                sys::ZSTD_CCtx_setParameter(ctx, sys::ZSTD_cParameter::ZSTD_c_checksumFlag, i32::from(checksum));
                sys::ZSTD_CCtx_setParameter(ctx, sys::ZSTD_cParameter::ZSTD_c_minMatch, min_match.value());
                if !dictionary.is_empty() {
                    sys::ZSTD_CCtx_refPrefix(ctx, dictionary.as_ptr().cast(), dictionary.len());
                }
                sys::ZSTD_compress2(ctx, start.cast(), room, input.as_ptr().cast(), input.len())
            };
            let failed = |name: &str| {
                let kind = if name.contains("not enough memory") { ErrorKind::Memory } else { ErrorKind::Codec };
                Error::new(kind, format!("zstd: {name} while compressing {} bytes", input.len()))
            };
            error_name(code).map_or(Ok(code), |name| Err(failed(name)))
        };
        // SAFETY: no preconditions of the first; zstd returns how many bytes it wrote.
        unsafe { append(out, sys::ZSTD_compressBound(input.len()), compress) }
    }
}

impl Drop for Compressor {
    fn drop(&mut self) {
        // SAFETY: created by `new`, freed once.
        unsafe { sys::ZSTD_freeCCtx(self.0.as_ptr()) };
    }
}

fn error_name(code: usize) -> Option<&'static str> {
    // SAFETY: both take any number; the name is a static string.
    unsafe {
        if sys::ZSTD_isError(code) == 0 {
            return None;
        }
        let name = std::ffi::CStr::from_ptr(sys::ZSTD_getErrorName(code));
        Some(name.to_str().unwrap_or("unknown error"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{Compressor, Decompressor, MinMatch};

    #[test]
    fn what_is_not_one_frame_is_libzstds() {
        let text: Vec<u8> = (0..9000u32).flat_map(|i| (i * i % 977).to_le_bytes()).collect();
        let (half, rest) = text.split_at(20_000);
        let mut stored = Vec::new();
        let mut compressor = Compressor::new().unwrap();
        compressor.compress(half, &mut stored, 3, true, MinMatch::Five).unwrap();
        let first = stored.len();
        compressor.compress(rest, &mut stored, 3, false, MinMatch::Usual).unwrap();
        let mut zstd = Decompressor::new().unwrap();
        let mut out = vec![0; text.len()];
        for enough in [text.len(), 5] {
            zstd.decompress(&stored, &mut out, enough).unwrap();
            assert!(out[..enough] == text[..enough]);
            out.fill(0);
        }
        zstd.decompress(&stored[..first], &mut out[..half.len()], half.len()).unwrap();
        assert!(out[..half.len()] == *half);
        // The last byte of the checksum; a wrong content size.
        stored[first - 1] ^= 1;
        let refused = zstd.decompress(&stored[..first], &mut out[..half.len()], half.len()).unwrap_err();
        assert!(refused.message.contains("checksum"), "{}", refused.message);
        assert!(zstd.decompress(&stored[first..], &mut out, text.len()).is_err());
    }
}
