//! Decoding of one FrVect structure, which records its compression and byte order.

use icecore_grid::{Error, ErrorKind, Result};

use crate::cursor::Cursor;
use crate::format::{ByteOrder, Format};
use crate::head::Head;
use crate::problem::corrupt;
use crate::vect::VectHead;
use crate::vect_type::VectType;
use crate::zero_suppress::expand;

/// Content of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VectShape {
    pub dtype: VectType,
    pub n_data: u64,
    pub compress: u16,
}

/// Type, number of elements and compression of the FrVect structure in `bytes`.
pub fn vect_shape(bytes: &[u8]) -> Result<VectShape> {
    open(bytes).map(|(shape, ..)| shape)
}

/// Decodes a zlib stream (the first slice) that fills its output (the second) exactly.
pub type Inflate<'a> = dyn FnMut(&[u8], &mut [u8]) -> Result<()> + 'a;

/// Largest size in bytes of a compressed vector that is cut.
const MAX_CUT: usize = 1 << 30;

/// Decodes the FrVect structure in `bytes`, whose elements must be of type `dtype`, into `out`, in native byte order.
/// If `out` is shorter than the elements, it gets the last of them: the start of a vector that overlaps the one before is
/// cut. `inflate` decodes a zlib stream that fills its output exactly.
pub fn decode_vect(bytes: &[u8], dtype: VectType, out: &mut [u8], inflate: &mut Inflate<'_>) -> Result<()> {
    let (shape, data, file) = open(bytes)?;
    let n_bytes = usize::try_from(shape.n_data).ok().and_then(|n| n.checked_mul(shape.dtype.size()));
    let skipped = n_bytes.and_then(|n| n.checked_sub(out.len())).filter(|n| n % dtype.size() == 0);
    let (Some(n_bytes), Some(skipped), true) = (n_bytes, skipped, shape.dtype == dtype) else {
        let (found, n) = (shape.dtype.name(), shape.n_data);
        let message = format!("FrVect holds {n} elements of {found}, expected {} bytes of {}", out.len(), dtype.name());
        return Err(corrupt(message));
    };
    let packing = packing(shape.compress, dtype)?;
    if packing == Packing::Raw {
        let part = data.get(skipped..).filter(|_| data.len() == n_bytes);
        out.copy_from_slice(
            part.ok_or_else(|| corrupt(format!("FrVect: {} raw bytes, expected {n_bytes}", data.len())))?,
        );
        to_native(out, dtype.word(), file);
        return Ok(());
    }
    if skipped == 0 {
        return unpack(packing, shape, data, out, inflate);
    }
    if n_bytes > MAX_CUT {
        let message =
            format!("a compressed vector of {n_bytes} bytes overlaps another, which the limit of {MAX_CUT} forbids");
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let mut whole = vec![0; n_bytes];
    unpack(packing, shape, data, &mut whole, inflate)?;
    out.copy_from_slice(whole.get(skipped..).unwrap_or_default());
    Ok(())
}

/// Decodes a compressed vector, whose byte order its field `compress` states.
fn unpack(packing: Packing, shape: VectShape, data: &[u8], out: &mut [u8], inflate: &mut Inflate<'_>) -> Result<()> {
    let word = shape.dtype.word();
    let order = if shape.compress & 0x100 != 0 { ByteOrder::Little } else { ByteOrder::Big };
    match packing {
        Packing::ZeroSuppressed => {
            suppressed(data, word, order, out)?;
            if matches!(shape.dtype, VectType::Complex64 | VectType::Complex128) {
                interleave(out, word);
            }
        }
        _ => {
            fill(data, out, inflate)?;
            to_native(out, word, order);
            if packing == Packing::Differences {
                sum(out, word);
            }
        }
    }
    Ok(())
}

/// How the numbers of a vector are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Raw,
    Gzip,
    /// Differences of consecutive integers, then gzip.
    Differences,
    ZeroSuppressed,
}

/// The meaning of the field `compress` for numbers of type `dtype`; `unsupported` if it has none.
pub(crate) fn packing(compress: u16, dtype: VectType) -> Result<Packing> {
    let float = matches!(dtype, VectType::Float32 | VectType::Float64 | VectType::Complex64 | VectType::Complex128);
    Ok(match (compress & 0xff, dtype.word()) {
        (0, _) => Packing::Raw,
        (1, _) | (6, 1 | 4 | 8) => Packing::Gzip,
        (3, _) => {
            if float {
                Packing::Gzip
            } else {
                Packing::Differences
            }
        }
        (5 | 6, 2) | (8, 4) | (10, 8) => Packing::ZeroSuppressed,
        (code, _) => {
            let message = format!("FrVect compression {code} of {} is not supported", dtype.name());
            return Err(Error::new(ErrorKind::Unsupported, message)
                .hint("raw, gzip, differences with gzip and zero suppression are read"));
        }
    })
}

/// An empty vector may have no stream at all.
fn fill(data: &[u8], out: &mut [u8], inflate: &mut Inflate<'_>) -> Result<()> {
    if out.is_empty() { Ok(()) } else { inflate(data, out) }
}

fn suppressed(data: &[u8], word: usize, order: ByteOrder, out: &mut [u8]) -> Result<()> {
    match order {
        ByteOrder::Little => expand(data, word, out),
        ByteOrder::Big => {
            let mut swapped = data.to_vec();
            swapped.chunks_exact_mut(word).for_each(<[u8]>::reverse);
            expand(&swapped, word, out)
        }
    }
}

/// Zero-suppressed complex numbers are stored as all real parts, then all imaginary parts (frameCPP).
fn interleave(out: &mut [u8], word: usize) {
    let split = out.to_vec();
    let (real, imaginary) = split.split_at(split.len() / 2);
    let parts = real.chunks_exact(word).zip(imaginary.chunks_exact(word));
    for (element, (re, im)) in out.chunks_exact_mut(2 * word).zip(parts) {
        let (to_re, to_im) = element.split_at_mut(word);
        to_re.copy_from_slice(re);
        to_im.copy_from_slice(im);
    }
}

fn to_native(out: &mut [u8], word: usize, order: ByteOrder) {
    let native = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };
    if order != native && word > 1 {
        out.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
}

macro_rules! running_sum {
    ($out:expr, $type:ty, $n:literal) => {{
        let mut sum: $type = 0;
        for word in $out.as_chunks_mut::<$n>().0 {
            sum = sum.wrapping_add(<$type>::from_ne_bytes(*word));
            *word = sum.to_ne_bytes();
        }
    }};
}

fn sum(out: &mut [u8], word: usize) {
    match word {
        1 => running_sum!(out, u8, 1),
        2 => running_sum!(out, u16, 2),
        4 => running_sum!(out, u32, 4),
        _ => running_sum!(out, u64, 8),
    }
}

/// The file's version and byte order, which raw data have too (FrameL writes `compress` 0 in files of either order), follow
/// from the structure's length, which is the length of `bytes`.
fn open(bytes: &[u8]) -> Result<(VectShape, &[u8], ByteOrder)> {
    let mut last = Err(corrupt(format!("{} bytes are not one FrVect structure", bytes.len())));
    for version in [8, 4] {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let mut cursor = Cursor::new(bytes, Format { version, order });
            if !Head::parse(&mut cursor).is_ok_and(|head| head.len == bytes.len() as u64) {
                continue;
            }
            last = contents(cursor);
            if last.is_ok() {
                return last;
            }
        }
    }
    last
}

fn contents(mut cursor: Cursor<'_>) -> Result<(VectShape, &[u8], ByteOrder)> {
    let fields = VectHead::parse(&mut cursor)?;
    let dtype = VectType::parse(fields.code)?;
    let len = cursor.fits(fields.n_bytes, 1)?;
    let data = cursor.take(len)?;
    Ok((VectShape { dtype, n_data: fields.n_data, compress: fields.compress }, data, cursor.format.order))
}
