//! Compression of the samples of one vector.

use icecore_grid::{Error, ErrorKind, Result};
use libdeflater::{CompressionLvl, Compressor};

use super::suppress::suppress;
use crate::vect_type::VectType;

/// Level of libdeflate: streams are smaller than those of zlib at its default level, and are made in half of the time.
const LEVEL: i32 = 6;
/// Level for the smallest files.
const LEVEL_BEST: i32 = 9;

/// How vectors are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compress {
    Raw,
    Gzip,
    /// Differences of integers, then gzip; other types: gzip.
    DiffGzip,
    /// Zero suppression of numbers of 2, 4 and 8 bytes; other types: gzip.
    ZeroSuppress,
    /// The smallest of all modes, measured for each vector.
    Best,
}

impl Compress {
    /// The mode of a name on the command line.
    #[must_use]
    pub fn parse(name: &str) -> Option<Compress> {
        Some(match name {
            "raw" => Self::Raw,
            "gzip" => Self::Gzip,
            "diff-gzip" => Self::DiffGzip,
            "zero-suppress" => Self::ZeroSuppress,
            "best" => Self::Best,
            _ => return None,
        })
    }
}

/// A compressed vector: the contents of an FrVect structure.
#[derive(Debug, Clone, PartialEq)]
pub struct EncodedVect {
    pub dtype: VectType,
    pub compress: u16,
    pub n_data: u64,
    pub data: Vec<u8>,
    /// Seconds between samples.
    pub dx: f64,
    pub unit: String,
    pub name: String,
}

/// Bit of `compress`: the data are little-endian.
const LITTLE: u16 = 0x100;

/// Compresses `samples` (elements of `dtype` in native byte order). Raw if that is smaller than the mode.
pub fn encode_vect(
    name: &str,
    dtype: VectType,
    samples: &[u8],
    dx: f64,
    unit: &str,
    compress: Compress,
) -> Result<EncodedVect> {
    let n_data = samples.len() / dtype.size();
    if n_data * dtype.size() != samples.len() {
        let message = format!("{name}: {} bytes are not samples of {}", samples.len(), dtype.name());
        return Err(Error::new(ErrorKind::Invalid, message));
    }
    let little = little_endian(samples, dtype.word());
    let mut found: (u16, Vec<u8>) = (0, Vec::new());
    for mode in modes(compress, dtype) {
        let packed = pack(*mode, &little, dtype, compress)?;
        let least = if found.0 == 0 { little.len() } else { found.1.len() };
        if packed.1.len() < least {
            found = packed;
        }
    }
    let data = if found.0 == 0 { little } else { found.1 };
    Ok(EncodedVect {
        dtype,
        compress: LITTLE | found.0,
        n_data: n_data as u64,
        data,
        dx,
        unit: unit.to_string(),
        name: name.to_string(),
    })
}

fn modes(compress: Compress, dtype: VectType) -> &'static [Compress] {
    use Compress::{Best, DiffGzip, Gzip, Raw, ZeroSuppress};
    let words = is_suppressible(dtype);
    match compress {
        Raw => &[],
        Gzip => &[Gzip],
        DiffGzip if is_summable(dtype) => &[DiffGzip],
        ZeroSuppress if words => &[ZeroSuppress],
        DiffGzip | ZeroSuppress => &[Gzip],
        Best => match (words, is_summable(dtype)) {
            (true, true) => &[ZeroSuppress, Gzip, DiffGzip],
            (true, false) => &[ZeroSuppress, Gzip],
            (false, true) => &[Gzip, DiffGzip],
            (false, false) => &[Gzip],
        },
    }
}

/// The code and the stored bytes of one mode.
fn pack(mode: Compress, little: &[u8], dtype: VectType, goal: Compress) -> Result<(u16, Vec<u8>)> {
    let word = dtype.word();
    Ok(match mode {
        Compress::ZeroSuppress => (suppression_code(word), suppress(little, word)),
        Compress::DiffGzip => (3, smallest(&differences(little, word), goal)?),
        _ => (1, smallest(little, goal)?),
    })
}

/// For the goal `Best` two levels are tried: on sparse data the highest isn't always the smallest.
fn smallest(bytes: &[u8], goal: Compress) -> Result<Vec<u8>> {
    let usual = deflate(bytes, LEVEL)?;
    if goal != Compress::Best {
        return Ok(usual);
    }
    let best = deflate(bytes, LEVEL_BEST)?;
    Ok(if best.len() < usual.len() { best } else { usual })
}

fn suppression_code(word: usize) -> u16 {
    match word {
        2 => 5,
        4 => 8,
        _ => 10,
    }
}

fn deflate(bytes: &[u8], level: i32) -> Result<Vec<u8>> {
    let failed = |what: String| Error::new(ErrorKind::Internal, what);
    let level = CompressionLvl::new(level).map_err(|e| failed(format!("level of DEFLATE: {e:?}")))?;
    let mut compressor = Compressor::new(level);
    let mut out = vec![0; compressor.zlib_compress_bound(bytes.len())];
    let n = compressor.zlib_compress(bytes, &mut out).map_err(|e| failed(format!("DEFLATE: {e}")))?;
    out.truncate(n);
    Ok(out)
}

/// Integers whose differences all readers sum: FrameL does not sum uint64.
fn is_summable(dtype: VectType) -> bool {
    use VectType::{Complex64, Complex128, Float32, Float64, UInt64};
    !matches!(dtype, Float32 | Float64 | Complex64 | Complex128 | UInt64)
}

/// FrameL and frameCPP order the parts of complex numbers differently.
fn is_suppressible(dtype: VectType) -> bool {
    dtype.word() > 1 && !matches!(dtype, VectType::Complex64 | VectType::Complex128)
}

fn little_endian(samples: &[u8], word: usize) -> Vec<u8> {
    let mut bytes = samples.to_vec();
    if cfg!(target_endian = "big") && word > 1 {
        bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
    bytes
}

macro_rules! subtract {
    ($bytes:expr, $type:ty, $n:literal) => {{
        let mut before: $type = 0;
        for word in $bytes.as_chunks_mut::<$n>().0 {
            let value = <$type>::from_le_bytes(*word);
            *word = value.wrapping_sub(before).to_le_bytes();
            before = value;
        }
    }};
}

fn differences(little: &[u8], word: usize) -> Vec<u8> {
    let mut bytes = little.to_vec();
    match word {
        1 => subtract!(bytes, u8, 1),
        2 => subtract!(bytes, u16, 2),
        4 => subtract!(bytes, u32, 4),
        _ => subtract!(bytes, u64, 8),
    }
    bytes
}
