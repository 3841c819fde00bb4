//! `icecore.decimal`: store floats that are k·10⁻ᵈ as integers k.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

use super::decimal_number::Decimals;
use crate::chain::Chain;
use crate::codecs::array_codec::ArrayCodec;
use crate::dtype::DType;
use crate::errors::bad_config;
use crate::extension::{Extension, config_i64, config_str, only_keys};
use crate::fill_value::parse_fill;
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["icecore.decimal"];

/// Maximum number of escapes, so that the smallest integer type has room for numbers.
const MAX_ESCAPES: usize = 100;

/// An array→array codec that changes the element type, so it holds the rest of the chain: the codecs that follow in the
/// metadata form a chain for integers.
#[derive(Debug)]
pub(crate) struct Decimal {
    decimals: Decimals,
    scale: i64,
    /// True for float64, false for float32.
    double: bool,
    /// Element values (bits of float64 or float32) stored as escapes: the i-th is encoded as the type's smallest
    /// integer + i.
    escapes: Vec<u64>,
    inner: Chain,
}

impl Decimal {
    /// `rest` is the list of the codecs that follow.
    pub fn parse(ext: &Extension, dtype: &DType, rest: &[Value]) -> Result<Decimal> {
        let double = match dtype {
            DType::Float64 => true,
            DType::Float32 => false,
            other => {
                return Err(Error::new(ErrorKind::Unsupported, format!("{} of {}", ext.name, other.to_json()))
                    .hint("it supports float64 and float32"));
            }
        };
        only_keys(ext, &["scale", "dtype", "escapes"])?;
        let scale = config_i64(ext, "scale")?;
        let range = format!("-{0} to {0}", Decimals::MAX);
        let decimals = Decimals::new(scale).ok_or_else(|| bad_config(ext, "scale", &range))?;
        let integers = match config_str(ext, "dtype")? {
            "int8" => DType::Int8,
            "int16" => DType::Int16,
            "int32" => DType::Int32,
            "int64" => DType::Int64,
            _ => return Err(bad_config(ext, "dtype", "int8, int16, int32, int64")),
        };
        let zero = vec![0; integers.size()];
        let inner = Chain::parse(&Value::Array(rest.to_vec()), &integers, &zero)?;
        Ok(Decimal { decimals, scale, double, escapes: parse_escapes(ext, dtype)?, inner })
    }

    pub fn names(&self) -> Vec<String> {
        self.inner.names()
    }

    fn misfit(&self, raw: &[u8], index: usize) -> Error {
        let value = match self.double {
            true => f64::from_bits(f64::read(&raw[index * 8..])),
            false => f64::from(f32::from_bits(f32::read(&raw[index * 4..]) as u32)),
        };
        let integers = self.inner.dtype().to_json();
        let what = format!(
            "icecore.decimal: element {index} of the chunk is {value:?}, no multiple of 10^{} that {integers} holds",
            -self.scale
        );
        Error::new(ErrorKind::Codec, what)
            .hint("choose another scale or a larger integer type, add the value to `escapes`, or remove the codec")
    }
}

fn parse_escapes(ext: &Extension, dtype: &DType) -> Result<Vec<u64>> {
    let Some(list) = ext.get("escapes") else { return Ok(Vec::new()) };
    let refused = || bad_config(ext, "escapes", "up to 100 different values of the array's type");
    let list = list.as_array().filter(|l| l.len() <= MAX_ESCAPES).ok_or_else(refused)?;
    let mut out: Vec<u64> = Vec::new();
    for value in list {
        let mut bytes = parse_fill(value, dtype).map_err(|_| refused())?;
        if cfg!(target_endian = "big") {
            bytes.reverse();
        }
        bytes.resize(8, 0);
        let bits = bytes.try_into().map_or(0, u64::from_le_bytes);
        if value.is_null() || out.contains(&bits) {
            return Err(refused());
        }
        out.push(bits);
    }
    Ok(out)
}

/// Runs `$body` with the number types of the float and the integer side.
macro_rules! for_types {
    ($self:expr, $call:ident ( $($arg:expr),* )) => {
        match ($self.double, $self.inner.dtype()) {
            (true, DType::Int8) => $call::<f64, i8>($($arg),*),
            (true, DType::Int16) => $call::<f64, i16>($($arg),*),
            (true, DType::Int32) => $call::<f64, i32>($($arg),*),
            (true, _) => $call::<f64, i64>($($arg),*),
            (false, DType::Int8) => $call::<f32, i8>($($arg),*),
            (false, DType::Int16) => $call::<f32, i16>($($arg),*),
            (false, DType::Int32) => $call::<f32, i32>($($arg),*),
            (false, _) => $call::<f32, i64>($($arg),*),
        }
    };
}

impl ArrayCodec for Decimal {
    fn decode(
        &self,
        stored: &[u8],
        shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (size, wide) = (self.inner.dtype().size(), if self.double { 8 } else { 4 });
        let elements = wanted.start / wide..wanted.end / wide;
        let inner_wanted = ((elements.start * size) as u64, (elements.end * size) as u64);
        let mut buffer = scratch.take();
        let integers = buffer.sized(out.len() / wide * size)?;
        self.inner.decode(stored, shape, inner_wanted, integers, scratch)?;
        let integers = &integers[elements.start * size..elements.end * size];
        for_types!(self, to_floats(self, integers, &mut out[wanted]));
        scratch.give(buffer);
        Ok(())
    }

    fn encode(&self, raw: &[u8], shape: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        let count = raw.len() / if self.double { 8 } else { 4 };
        let mut buffer = scratch.take();
        let integers = buffer.sized(count * self.inner.dtype().size())?;
        for_types!(self, to_integers(self, raw, &mut *integers)).map_err(|index| self.misfit(raw, index))?;
        let done = self.inner.append(integers, shape, out, scratch);
        scratch.give(buffer);
        done
    }
}

/// A float type of the array.
trait Float: Copy {
    fn of(decimals: Decimals, k: i64) -> Self;
    fn index(decimals: Decimals, bits: u64) -> Option<i64>;
    fn nearest(decimals: Decimals, bits: u64) -> i64;
    fn bits(self) -> u64;
    fn read(element: &[u8]) -> u64;
    fn write(self, element: &mut [u8]);
    fn from_bits64(bits: u64) -> Self;
}

/// An integer type of the inner chain.
trait Integer: Copy + TryFrom<i64> {
    const MIN: i64;
    fn read(element: &[u8]) -> i64;
    fn write(self, element: &mut [u8]);
    fn cut(k: i64) -> Self;
    fn long(self) -> i64;
}

macro_rules! float {
    ($float:ty, $bits:ty, $value:ident, $index:ident) => {
        impl Float for $float {
            #[inline(always)]
            fn of(decimals: Decimals, k: i64) -> Self {
                decimals.$value(k)
            }
            fn index(decimals: Decimals, bits: u64) -> Option<i64> {
                decimals.$index(<$float>::from_bits(bits as $bits))
            }
            #[inline(always)]
            fn nearest(decimals: Decimals, bits: u64) -> i64 {
                decimals.nearest(f64::from(<$float>::from_bits(bits as $bits)))
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
            #[inline(always)]
            fn read(element: &[u8]) -> u64 {
                element.as_chunks().0.first().map_or(0, |b| u64::from(<$bits>::from_ne_bytes(*b)))
            }
            #[inline(always)]
            fn write(self, element: &mut [u8]) {
                element.copy_from_slice(&self.to_ne_bytes());
            }
            #[inline(always)]
            fn from_bits64(bits: u64) -> Self {
                <$float>::from_bits(bits as $bits)
            }
        }
    };
}

float!(f64, u64, value, index);
float!(f32, u32, value32, index32);

macro_rules! integer {
    ($($t:ty)*) => { $(
        impl Integer for $t {
            const MIN: i64 = <$t>::MIN as i64;
            #[inline(always)]
            fn read(element: &[u8]) -> i64 {
                element.as_chunks().0.first().map_or(0, |b| i64::from(<$t>::from_ne_bytes(*b)))
            }
            #[inline(always)]
            fn write(self, element: &mut [u8]) {
                element.copy_from_slice(&self.to_ne_bytes());
            }
            #[inline(always)]
            fn cut(k: i64) -> Self {
                k as $t
            }
            #[inline(always)]
            fn long(self) -> i64 {
                i64::from(self)
            }
        }
    )* };
}

integer!(i8 i16 i32 i64);

/// Elements per block: each block is searched for escapes once.
const BLOCK: usize = 256;

fn to_floats<F: Float, I: Integer>(codec: &Decimal, integers: &[u8], out: &mut [u8]) {
    let (wide, size) = (size_of::<F>(), size_of::<I>());
    let first = I::MIN.wrapping_add(codec.escapes.len() as i64);
    for (ks, out) in integers.chunks(BLOCK * size).zip(out.chunks_mut(BLOCK * wide)) {
        let mut lowest = i64::MAX;
        for (k, out) in ks.chunks_exact(size).zip(out.chunks_exact_mut(wide)) {
            let k = I::read(k);
            lowest = lowest.min(k);
            F::of(codec.decimals, k).write(out);
        }
        if lowest < first {
            for (k, out) in ks.chunks_exact(size).zip(out.chunks_exact_mut(wide)) {
                let which = I::read(k).wrapping_sub(I::MIN) as u64;
                if let Some(bits) = usize::try_from(which).ok().and_then(|which| codec.escapes.get(which)) {
                    F::from_bits64(*bits).write(out);
                }
            }
        }
    }
}

/// Fails with the index of the first element that is not representable.
fn to_integers<F: Float, I: Integer>(codec: &Decimal, raw: &[u8], out: &mut [u8]) -> std::result::Result<(), usize> {
    let first = I::MIN.wrapping_add(codec.escapes.len() as i64);
    // If an escape is also a decimal number, each element must be compared with it.
    let apart = codec.escapes.iter().all(|bits| F::index(codec.decimals, *bits).is_none());
    let (wide, size) = (BLOCK * size_of::<F>(), BLOCK * size_of::<I>());
    for (number, (block, out)) in raw.chunks(wide).zip(out.chunks_mut(size)).enumerate() {
        if !apart || !all_decimals::<F, I>(codec, first, block, out) {
            escaped::<F, I>(codec, first, block, out).map_err(|index| number * BLOCK + index)?;
        }
    }
    Ok(())
}

/// Whether all elements are decimals and none is an escape; without a branch per element.
fn all_decimals<F: Float, I: Integer>(codec: &Decimal, first: i64, raw: &[u8], out: &mut [u8]) -> bool {
    let elements = raw.chunks_exact(size_of::<F>()).zip(out.chunks_exact_mut(size_of::<I>()));
    elements.fold(true, |all, (element, out)| {
        let bits = F::read(element);
        let k = F::nearest(codec.decimals, bits);
        let short = I::cut(k);
        short.write(out);
        all & (F::of(codec.decimals, k).bits() == bits) & (k >= first) & (I::long(short) == k)
    })
}

fn escaped<F: Float, I: Integer>(
    codec: &Decimal,
    first: i64,
    raw: &[u8],
    out: &mut [u8],
) -> std::result::Result<(), usize> {
    let elements = raw.chunks_exact(size_of::<F>()).zip(out.chunks_exact_mut(size_of::<I>()));
    for (index, (element, out)) in elements.enumerate() {
        let bits = F::read(element);
        let escape = codec.escapes.iter().position(|e| *e == bits);
        let k = match escape {
            Some(which) => Some(I::MIN.wrapping_add(which as i64)),
            None => F::index(codec.decimals, bits).filter(|k| *k >= first),
        };
        k.and_then(|k| I::try_from(k).ok()).ok_or(index)?.write(out);
    }
    Ok(())
}
