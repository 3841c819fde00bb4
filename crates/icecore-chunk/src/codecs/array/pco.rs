//! `numcodecs.pcodec`: pco's standalone format, numbers to bytes in one step.

use std::borrow::Cow;

use icecore_grid::{Error, ErrorKind, Result};
use pco::data_types::Number;
#[cfg(target_arch = "x86_64")]
use pco::data_types::{Latent, NumberType};
use pco::errors::PcoError;
#[cfg(target_arch = "x86_64")]
use pco::metadata::{ChunkMeta, DeltaEncoding, Mode};
use pco::standalone::{ChunkDecompressor, DecompressorItem, FileDecompressor};
use pco::{ChunkConfig, DeltaSpec, ModeSpec, PagingSpec};

#[cfg(target_arch = "x86_64")]
use super::pco_page::{Kind, Page};
#[cfg(target_arch = "x86_64")]
use super::pco_table::Table;
#[cfg(target_arch = "x86_64")]
use crate::codecs::word::Word;

use crate::dtype::DType;
use crate::errors::{bad_config, corrupt, wrong_length};
use crate::extension::{Extension, config_i64_or, config_str};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["pcodec", "numcodecs.pcodec"];

#[derive(Debug, Clone)]
pub(crate) struct Pco {
    dtype: DType,
    config: ChunkConfig,
}

/// Calls a generic function with pco's number type for the elements.
macro_rules! for_number {
    ($dtype:expr, $call:ident ( $($arg:expr),* )) => {
        match $dtype {
            DType::Int8 => $call::<i8>($($arg),*),
            DType::UInt8 => $call::<u8>($($arg),*),
            DType::Int16 => $call::<i16>($($arg),*),
            DType::UInt16 => $call::<u16>($($arg),*),
            DType::Float16 => $call::<half::f16>($($arg),*),
            DType::Int32 => $call::<i32>($($arg),*),
            DType::UInt32 => $call::<u32>($($arg),*),
            DType::Float32 => $call::<f32>($($arg),*),
            DType::UInt64 => $call::<u64>($($arg),*),
            DType::Float64 => $call::<f64>($($arg),*),
            // Only int64 and times remain, see `parse`.
            _ => $call::<i64>($($arg),*),
        }
    };
}
pub(in crate::codecs) use for_number;

impl Pco {
    pub fn parse(ext: &Extension, dtype: &DType) -> Result<Pco> {
        if !is_number(dtype) {
            return Err(Error::new(ErrorKind::Unsupported, format!("codec {} of {}", ext.name, dtype.to_json()))
                .hint("pco compresses real numbers only"));
        }
        let level = match config_i64_or(ext, "level", 8)? {
            level @ 0..=12 => level as usize,
            _ => return Err(bad_config(ext, "level", "0 to 12")),
        };
        let page = match config_i64_or(ext, "equal_pages_up_to", pco::DEFAULT_MAX_PAGE_N as i64)? {
            page @ 1..=0xff_ffff => page as usize,
            _ => return Err(bad_config(ext, "equal_pages_up_to", "1 to 16777215")),
        };
        let config = ChunkConfig::default()
            .with_compression_level(level)
            .with_mode_spec(mode_spec(ext)?)
            .with_delta_spec(delta_spec(ext)?)
            .with_paging_spec(PagingSpec::EqualPagesUpTo(page))
            .with_enable_8_bit(true);
        Ok(Pco { dtype: dtype.clone(), config })
    }

    /// Fills `out`, in native order.
    pub fn decode(&self, input: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
        for_number!(self.dtype, decode_typed(input, out, scratch))
    }

    /// Appends the encoded bytes to `out`.
    pub fn encode(&self, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        out.extend(for_number!(self.dtype, encode_typed(raw, &self.config))?);
        Ok(())
    }
}

/// Whether pco compresses elements of this type.
pub(in crate::codecs) fn is_number(dtype: &DType) -> bool {
    let is_text = matches!(dtype, DType::Bytes(_) | DType::Utf32(_) | DType::VlenUtf8 | DType::VlenBytes);
    let is_complex = matches!(dtype, DType::Complex64 | DType::Complex128);
    !(is_text || is_complex || matches!(dtype, DType::Bool | DType::Raw(_) | DType::Struct(_)))
}

fn optional<'a>(ext: &Extension<'a>, key: &str) -> Result<Option<&'a str>> {
    ext.get(key).map(|_| config_str(ext, key)).transpose()
}

fn mode_spec(ext: &Extension) -> Result<ModeSpec> {
    match optional(ext, "mode_spec")? {
        None | Some("auto") => Ok(ModeSpec::Auto),
        Some("classic") => Ok(ModeSpec::Classic),
        Some(_) => Err(bad_config(ext, "mode_spec", "auto, classic")),
    }
}

fn delta_spec(ext: &Extension) -> Result<DeltaSpec> {
    let order = match config_i64_or(ext, "delta_encoding_order", -1)? {
        -1 => None,
        order @ 0..=7 => Some(order as usize),
        _ => return Err(bad_config(ext, "delta_encoding_order", "0 to 7")),
    };
    match (optional(ext, "delta_spec")?, order) {
        (None | Some("auto"), None) => Ok(DeltaSpec::Auto),
        (None | Some("auto" | "try_consecutive"), Some(order)) => Ok(DeltaSpec::TryConsecutive(order)),
        (Some("none" | "no_op"), _) => Ok(DeltaSpec::NoOp),
        (Some("try_lookback"), _) => Ok(DeltaSpec::TryLookback),
        _ => Err(bad_config(ext, "delta_spec", "auto, no_op, try_consecutive with an order, try_lookback")),
    }
}

fn decode_typed<T: Number>(input: &[u8], out: &mut [u8], scratch: &mut Scratch) -> Result<()> {
    with_numbers(out, scratch, |numbers| read_numbers::<T>(input, numbers))
}

/// Lets `fill` write numbers to `out`, by way of an aligned buffer where its memory is askew.
pub(in crate::codecs) fn with_numbers<T: Number>(
    out: &mut [u8],
    scratch: &mut Scratch,
    fill: impl FnOnce(&mut [T]) -> Result<()>,
) -> Result<()> {
    // SAFETY: every bit pattern is a number of these types.
    let (head, numbers, tail) = unsafe { out.align_to_mut::<T>() };
    if head.is_empty() && tail.is_empty() {
        return fill(numbers);
    }
    let (mut buffer, len) = (scratch.take(), out.len());
    let room = buffer.sized(len + align_of::<T>())?;
    // SAFETY: as above.
    let (_, numbers, _) = unsafe { room.align_to_mut::<T>() };
    let numbers = &mut numbers[..len / size_of::<T>()];
    fill(numbers)?;
    // SAFETY: numbers are plain bytes.
    out.copy_from_slice(unsafe { numbers.align_to::<u8>() }.1);
    scratch.give(buffer);
    Ok(())
}

/// Fills `numbers` from a complete pco file.
pub(in crate::codecs) fn read_numbers<T: Number>(input: &[u8], numbers: &mut [T]) -> Result<()> {
    let refused = |e: PcoError| corrupt("pcodec", e.to_string());
    let (file, mut rest) = FileDecompressor::new(input).map_err(refused)?;
    let mut done = 0;
    while let DecompressorItem::Chunk(chunk) = file.chunk_decompressor::<T, _>(rest).map_err(refused)? {
        let end = done + chunk.n();
        let len = size_of_val(numbers);
        let part = numbers.get_mut(done..end).ok_or_else(|| wrong_length("pcodec", "more", len))?;
        rest = read_chunk(input, chunk, part)?;
        done = end;
    }
    match done == numbers.len() {
        true => Ok(()),
        false => Err(wrong_length("pcodec", done * size_of::<T>(), size_of_val(numbers))),
    }
}

/// Fills `numbers` from one chunk of `input`; returns the rest of the input.
#[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
fn read_chunk<'a, T: Number>(
    input: &'a [u8],
    mut chunk: ChunkDecompressor<T, &'a [u8]>,
    numbers: &mut [T],
) -> Result<&'a [u8]> {
    #[cfg(target_arch = "x86_64")]
    match size_of::<T>() {
        4 => {
            if let Some(page) = page::<T, u32>(chunk.meta()) {
                return read_page(input, &page, chunk.into_src(), numbers);
            }
        }
        8 => {
            if let Some(page) = page::<T, u64>(chunk.meta()) {
                return read_page(input, &page, chunk.into_src(), numbers);
            }
        }
        _ => {}
    }
    chunk.read(numbers).map_err(|e| corrupt("pcodec", e.to_string()))?;
    Ok(chunk.into_src())
}

/// The page of a chunk, if our own decoder supports it.
#[cfg(target_arch = "x86_64")]
pub(super) fn page<T: Number, W: Word + Latent>(meta: &ChunkMeta) -> Option<Page<W>> {
    let order = match (&meta.mode, &meta.delta_encoding) {
        (Mode::Classic, DeltaEncoding::NoOp) => 0,
        (Mode::Classic, DeltaEncoding::Consecutive { order, .. }) => *order,
        _ => return None,
    };
    let kind = match NumberType::new::<T>() {
        NumberType::F32 | NumberType::F64 => Kind::Float,
        NumberType::I32 | NumberType::I64 => Kind::Signed,
        _ => Kind::Unsigned,
    };
    let primary = &meta.per_latent_var.primary;
    let table = Table::new(primary.ans_size_log, primary.bins.downcast_ref::<W>()?)?;
    Some(Page { table, order, kind }).filter(Page::fits)
}

#[cfg(target_arch = "x86_64")]
fn read_page<'a, T: Number, W: Word>(
    input: &[u8],
    page: &Page<W>,
    body: &'a [u8],
    numbers: &mut [T],
) -> Result<&'a [u8]> {
    // The crate has read the page's header already but does not expose it.
    let start = input.len() - body.len();
    let head = start.checked_sub(page.head_len()).map(|from| &input[from..start]);
    let head = head.ok_or_else(|| corrupt("pcodec", "a page without its head"))?;
    // SAFETY: both are numbers of one size and alignment, and every bit pattern is one.
    let words = unsafe { numbers.align_to_mut::<W>() }.1;
    let taken = page.read(head, body, words)?;
    Ok(&body[taken..])
}

fn encode_typed<T: Number>(raw: &[u8], config: &ChunkConfig) -> Result<Vec<u8>> {
    let packed = pco::standalone::simple_compress(&numbers::<T>(raw), config);
    packed.map_err(|e| Error::new(ErrorKind::Codec, format!("pcodec: {e}")))
}

/// The numbers in `raw`, copied where its memory is askew.
pub(in crate::codecs) fn numbers<T: Number>(raw: &[u8]) -> Cow<'_, [T]> {
    // SAFETY: every bit pattern is a number of these types.
    let (head, numbers, _) = unsafe { raw.align_to::<T>() };
    if head.is_empty() && size_of_val(numbers) == raw.len() {
        return Cow::Borrowed(numbers);
    }
    // SAFETY: reading unaligned plain numbers within the slice.
    raw.chunks_exact(size_of::<T>()).map(|c| unsafe { c.as_ptr().cast::<T>().read_unaligned() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers with steps of every width, and constant ones: `bits` is the maximum width.
    fn made(count: usize, bits: u32) -> impl Iterator<Item = u64> {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        (0..count as u64).map(move |at| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            at.wrapping_mul(37).wrapping_add(state >> (64 - bits.max(1)) >> (state % 5))
        })
    }

    fn check<T: Number + Default + PartialEq + std::fmt::Debug>(numbers: &[T], delta: &DeltaSpec) -> Vec<u8> {
        let config = ChunkConfig::default()
            .with_mode_spec(ModeSpec::Classic)
            .with_delta_spec(delta.clone())
            .with_paging_spec(PagingSpec::EqualPagesUpTo(3000))
            .with_enable_8_bit(true);
        let packed = pco::standalone::simple_compress(numbers, &config).unwrap();
        let mut ours = vec![T::default(); numbers.len()];
        read_numbers(&packed, &mut ours).unwrap();
        assert_eq!(ours, numbers);
        packed
    }

    #[test]
    fn all_numbers_come_back() {
        for count in [1, 2, 5, 255, 256, 257, 600, 2999, 3000, 3001, 7000] {
            for bits in [1, 9, 13, 17, 25, 30, 50, 64] {
                for delta in &[DeltaSpec::NoOp, DeltaSpec::TryConsecutive(1), DeltaSpec::TryConsecutive(3)] {
                    check(&made(count, bits).map(|n| n as u32).collect::<Vec<_>>(), delta);
                    check(&made(count, bits).map(|n| n as i32 - 70_000).collect::<Vec<_>>(), delta);
                    check(&made(count, bits).map(|n| (n as i32) as f32 / 3.0 - 1e4).collect::<Vec<_>>(), delta);
                    check(&made(count, bits).collect::<Vec<u64>>(), delta);
                    check(&made(count, bits).map(|n| n as i64 - 70_000).collect::<Vec<_>>(), delta);
                    check(&made(count, bits).map(|n| (n as i64) as f64 / 3.0).collect::<Vec<_>>(), delta);
                    check(&made(count, bits).map(|n| n as u16).collect::<Vec<_>>(), delta);
                }
            }
        }
    }

    #[test]
    fn damage_is_an_error_or_other_numbers() {
        let numbers: Vec<i32> = made(2000, 20).map(|n| n as i32).collect();
        let packed = check(&numbers, &DeltaSpec::TryConsecutive(1));
        let mut out = vec![0; numbers.len()];
        for len in (0..packed.len()).step_by(7) {
            assert!(read_numbers(&packed[..len], &mut out).is_err(), "{len} of {} bytes", packed.len());
        }
        for at in 0..packed.len() {
            for bit in [1, 0x80] {
                let mut bad = packed.clone();
                bad[at] ^= bit;
                let _ = read_numbers(&bad, &mut out);
            }
        }
        assert!(read_numbers(&packed, &mut out[1..]).is_err());
        assert!(read_numbers(&packed, &mut vec![0i32; 2001]).is_err());
    }
}
