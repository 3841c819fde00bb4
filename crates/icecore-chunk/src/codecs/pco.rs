//! `numcodecs.pcodec`: pco's standalone format, numbers to bytes in one step.

use half::f16;
use icecore_grid::{Error, ErrorKind, Result};
use pco::data_types::Number;
use pco::{ChunkConfig, DeltaSpec, ModeSpec, PagingSpec};

use crate::dtype::DType;
use crate::extension::{Extension, config_i64_or, config_str};
use crate::refuse::{bad_config, corrupt, wrong_length};
use crate::scratch::Scratch;

#[derive(Debug, Clone)]
pub(crate) struct Pco {
    dtype: DType,
    config: ChunkConfig,
}

/// Calls a generic function with the number type that an element is to pco.
macro_rules! for_number {
    ($dtype:expr, $call:ident ( $($arg:expr),* )) => {
        match $dtype {
            DType::Int8 => $call::<i8>($($arg),*),
            DType::UInt8 => $call::<u8>($($arg),*),
            DType::Int16 => $call::<i16>($($arg),*),
            DType::UInt16 => $call::<u16>($($arg),*),
            DType::Float16 => $call::<f16>($($arg),*),
            DType::Int32 => $call::<i32>($($arg),*),
            DType::UInt32 => $call::<u32>($($arg),*),
            DType::Float32 => $call::<f32>($($arg),*),
            DType::UInt64 => $call::<u64>($($arg),*),
            DType::Float64 => $call::<f64>($($arg),*),
            // Only these are left, see `parse`: int64 and times.
            _ => $call::<i64>($($arg),*),
        }
    };
}

impl Pco {
    pub fn parse(ext: &Extension, dtype: &DType) -> Result<Pco> {
        let number = match dtype {
            DType::DateTime64 { .. } | DType::TimeDelta64 { .. } => true,
            DType::Bool | DType::Complex64 | DType::Complex128 | DType::Bytes(_) | DType::Utf32(_) => false,
            DType::Raw(_) | DType::Struct(_) | DType::VlenUtf8 | DType::VlenBytes => false,
            _ => true,
        };
        if !number {
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

    /// Replaces `out` by the encoded bytes.
    pub fn encode(&self, raw: &[u8], out: &mut Vec<u8>) -> Result<()> {
        *out = for_number!(self.dtype, encode_typed(raw, &self.config))?;
        Ok(())
    }
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
    // SAFETY: every bit pattern is a number of these types.
    let (head, numbers, tail) = unsafe { out.align_to_mut::<T>() };
    if head.is_empty() && tail.is_empty() {
        return read_numbers(input, numbers);
    }
    // The output lies askew: by way of an aligned buffer.
    let (mut buffer, len) = (scratch.take(), out.len());
    let room = buffer.sized(len + align_of::<T>())?;
    // SAFETY: as above.
    let (_, numbers, _) = unsafe { room.align_to_mut::<T>() };
    let numbers = &mut numbers[..len / size_of::<T>()];
    read_numbers(input, numbers)?;
    // SAFETY: numbers are plain bytes.
    out.copy_from_slice(unsafe { numbers.align_to::<u8>() }.1);
    scratch.give(buffer);
    Ok(())
}

pub(super) fn read_numbers<T: Number>(input: &[u8], numbers: &mut [T]) -> Result<()> {
    let len = size_of_val(numbers);
    let progress =
        pco::standalone::simple_decompress_into(input, numbers).map_err(|e| corrupt("pcodec", e.to_string()))?;
    match (progress.n_processed == numbers.len(), progress.finished) {
        (true, true) => Ok(()),
        (true, false) => Err(wrong_length("pcodec", "more", len)),
        _ => Err(wrong_length("pcodec", progress.n_processed * size_of::<T>(), len)),
    }
}

fn encode_typed<T: Number>(raw: &[u8], config: &ChunkConfig) -> Result<Vec<u8>> {
    // SAFETY: every bit pattern is a number of these types.
    let (head, numbers, _) = unsafe { raw.align_to::<T>() };
    let copy: Vec<T>;
    let numbers = if head.is_empty() && size_of_val(numbers) == raw.len() {
        numbers
    } else {
        // SAFETY: reading unaligned plain numbers within the slice.
        copy = raw.chunks_exact(size_of::<T>()).map(|c| unsafe { c.as_ptr().cast::<T>().read_unaligned() }).collect();
        &copy
    };
    pco::standalone::simple_compress(numbers, config).map_err(|e| Error::new(ErrorKind::Codec, format!("pcodec: {e}")))
}
