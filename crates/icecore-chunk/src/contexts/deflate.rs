//! Safe wrapper of libdeflate: the three framings, returning bytes read and written.

use std::ffi::c_void;
use std::ptr::NonNull;

use icecore_grid::Result;
use libdeflate_sys as sys;

use super::deflate_framing::{DeflateStream, Framing};
use crate::buffer::{append, out_of_memory};

/// Reason of a decoding failure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum InflateError {
    BadData,
    /// The stream is longer than the output.
    TooLong,
}

/// Any of libdeflate's three decompressing functions that report the number of bytes used.
type Decompress = unsafe extern "C" fn(
    *mut sys::libdeflate_decompressor,
    *const c_void,
    usize,
    *mut c_void,
    usize,
    *mut usize,
    *mut usize,
) -> sys::libdeflate_result;

/// A reusable decompressor.
pub(crate) struct Inflater(NonNull<sys::libdeflate_decompressor>);

// SAFETY: libdeflate's contexts hold no thread-bound state; `&mut self` keeps uses apart.
unsafe impl Send for Inflater {}

impl Inflater {
    pub fn new() -> Result<Inflater> {
        // SAFETY: no preconditions; null means out of memory.
        let raw = unsafe { sys::libdeflate_alloc_decompressor() };
        NonNull::new(raw).map(Inflater).ok_or_else(|| out_of_memory(0))
    }

    /// Decodes one stream at the start of `input`; returns (bytes used, bytes written).
    pub fn inflate(
        &mut self,
        framing: Framing,
        input: &[u8],
        out: &mut [u8],
    ) -> std::result::Result<(usize, usize), InflateError> {
        match framing {
            Framing::Zlib => self.zlib(input, out),
            Framing::Gzip => self.run(sys::libdeflate_gzip_decompress_ex, input, out),
        }
    }

    /// Decodes a stream and verifies its checksum (RFC 1950). libdeflate's own checksum uses 512-bit registers if
    /// available, which lowers the processor's clock for the decoding that follows: a tenth of the time of chunks of 50
    /// kB.
    fn zlib(&mut self, input: &[u8], out: &mut [u8]) -> std::result::Result<(usize, usize), InflateError> {
        let stream = DeflateStream::zlib(input).ok_or(InflateError::BadData)?;
        let (used, written) = self.run(sys::libdeflate_deflate_decompress_ex, stream.bits, out)?;
        if !stream.is_whole(used, &out[..written]) {
            return Err(InflateError::BadData);
        }
        Ok((2 + used + 4, written))
    }

    /// Decodes a stream without header and checksum, for differential tests.
    #[cfg(test)]
    pub fn inflate_bare(&mut self, input: &[u8], out: &mut [u8]) -> std::result::Result<(usize, usize), InflateError> {
        self.run(sys::libdeflate_deflate_decompress_ex, input, out)
    }

    fn run(
        &mut self,
        call: Decompress,
        input: &[u8],
        out: &mut [u8],
    ) -> std::result::Result<(usize, usize), InflateError> {
        let (mut used, mut written) = (0, 0);
        // SAFETY: pointers and lengths come from slices; libdeflate stays within both.
        let code = unsafe {
            call(
                self.0.as_ptr(),
                input.as_ptr().cast::<c_void>(),
                input.len(),
                out.as_mut_ptr().cast::<c_void>(),
                out.len(),
                &mut used,
                &mut written,
            )
        };
        match code {
            sys::libdeflate_result_LIBDEFLATE_SUCCESS => Ok((used, written)),
            sys::libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE => Err(InflateError::TooLong),
            _ => Err(InflateError::BadData),
        }
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, freed once.
        unsafe { sys::libdeflate_free_decompressor(self.0.as_ptr()) }
    }
}

/// A reusable compressor of one level (0 … 12).
pub(crate) struct Deflater {
    raw: NonNull<sys::libdeflate_compressor>,
    level: i32,
}

// SAFETY: as for `Inflater`.
unsafe impl Send for Deflater {}

impl Deflater {
    pub fn new(level: i32) -> Result<Deflater> {
        // SAFETY: no preconditions; null for a wrong level or no memory.
        let raw = unsafe { sys::libdeflate_alloc_compressor(level) };
        NonNull::new(raw).map(|raw| Deflater { raw, level }).ok_or_else(|| out_of_memory(0))
    }

    pub fn level(&self) -> i32 {
        self.level
    }

    /// Appends the compressed stream to `out`.
    pub fn deflate(&mut self, framing: Framing, input: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let (bound, call) = match framing {
            Framing::Zlib => (
                sys::libdeflate_zlib_compress_bound as unsafe extern "C" fn(_, _) -> _,
                sys::libdeflate_zlib_compress as unsafe extern "C" fn(_, _, _, _, _) -> usize,
            ),
            Framing::Gzip => (
                sys::libdeflate_gzip_compress_bound as unsafe extern "C" fn(_, _) -> _,
                sys::libdeflate_gzip_compress as unsafe extern "C" fn(_, _, _, _, _) -> usize,
            ),
        };
        let raw = self.raw.as_ptr();
        // SAFETY: the compressor is valid.
        let most = unsafe { bound(raw, input.len()) };
        // SAFETY: pointers and lengths come from a slice and from `append`.
        let compress = |start: *mut u8, room| unsafe {
            Ok(call(raw, input.as_ptr().cast::<c_void>(), input.len(), start.cast::<c_void>(), room))
        };
        // SAFETY: libdeflate returns how many bytes it wrote.
        unsafe { append(out, most, compress) }
    }
}

impl Drop for Deflater {
    fn drop(&mut self) {
        // SAFETY: allocated by `new`, freed once.
        unsafe { sys::libdeflate_free_compressor(self.raw.as_ptr()) }
    }
}
