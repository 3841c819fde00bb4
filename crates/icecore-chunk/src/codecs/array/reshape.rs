//! `reshape` and `zarrs.squeeze`: a chunk with another shape and the same order of elements. The codecs that follow
//! form an inner chain for chunks of that shape.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::chain::Chain;
use crate::codecs::array_codec::ArrayCodec;
use crate::dtype::DType;
use crate::errors::bad_config;
use crate::extension::{Extension, only_keys, u64_list, unsupported};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["reshape", "zarrs.squeeze"];

/// Maximum number of dimensions of an array.
const MAX_DIMS: usize = 64;
const ALLOWED: &str = "a list of lengths, lists of input dimensions in ascending order, and at most one -1";

/// One axis of the encoded chunk.
#[derive(Debug, Clone, PartialEq)]
enum Length {
    Fixed(u64),
    /// The product of these axes of the decoded chunk.
    Product(Vec<usize>),
    /// The length that keeps the number of elements equal (-1).
    Rest,
}

#[derive(Debug)]
enum Form {
    Lengths(Vec<Length>),
    /// Removes the axes of length 1.
    Squeezed,
}

#[derive(Debug)]
pub(crate) struct Reshape {
    name: String,
    form: Form,
    inner: Chain,
}

impl Reshape {
    /// `rest` is the list of the codecs that follow.
    pub fn parse(ext: &Extension, dtype: &DType, fill: &[u8], rest: &[Value]) -> Result<Reshape> {
        if dtype.is_vlen() {
            let mut error = unsupported("codec", ext.name);
            error.message = format!("codec {} of {}", ext.name, dtype.to_json());
            return Err(error.hint("it supports elements of fixed length"));
        }
        let form = match ext.name {
            "reshape" => {
                only_keys(ext, &["shape"])?;
                Form::Lengths(parse_lengths(ext)?)
            }
            _ => {
                only_keys(ext, &[])?;
                Form::Squeezed
            }
        };
        let inner = Chain::parse(&Value::Array(rest.to_vec()), dtype, fill)?;
        Ok(Reshape { name: ext.name.to_string(), form, inner })
    }

    pub fn names(&self) -> Vec<String> {
        self.inner.names()
    }

    /// The shape of the encoded chunk.
    fn encoded_shape(&self, shape: &[u64]) -> Result<Vec<u64>> {
        let lengths = match &self.form {
            Form::Lengths(lengths) => lengths,
            Form::Squeezed => {
                let longer: Vec<u64> = shape.iter().copied().filter(|n| *n > 1).collect();
                return Ok(if longer.is_empty() { vec![1] } else { longer });
            }
        };
        let encoded = resolve(lengths, shape).filter(|encoded| agrees(lengths, encoded, shape));
        encoded.ok_or_else(|| {
            let what = format!("codec {}: a chunk of {shape:?} elements does not fit {}", self.name, text(lengths));
            Error::new(ErrorKind::Format, what).hint("the codec's shape must have as many elements as each chunk")
        })
    }
}

fn parse_lengths(ext: &Extension) -> Result<Vec<Length>> {
    let wrong = || bad_config(ext, "shape", ALLOWED);
    let list = ext.get("shape").and_then(Value::as_array).filter(|list| list.len() <= MAX_DIMS).ok_or_else(wrong)?;
    let lengths: Option<Vec<Length>> = list.iter().map(parse_length).collect();
    let lengths = lengths.ok_or_else(wrong)?;
    let dims: Vec<usize> = lengths.iter().flat_map(input_dims).copied().collect();
    let ascending = dims.windows(2).all(|pair| pair[0] < pair[1]);
    let rests = lengths.iter().filter(|length| **length == Length::Rest).count();
    if ascending && rests <= 1 { Ok(lengths) } else { Err(wrong()) }
}

fn parse_length(value: &Value) -> Option<Length> {
    if value.as_i64() == Some(-1) {
        return Some(Length::Rest);
    }
    match value.as_u64() {
        Some(length) => (length > 0).then_some(Length::Fixed(length)),
        None => {
            let dims = u64_list(value)?.into_iter().map(|axis| usize::try_from(axis).ok()).collect::<Option<_>>()?;
            Some(Length::Product(dims))
        }
    }
}

fn input_dims(length: &Length) -> &[usize] {
    match length {
        Length::Product(dims) => dims,
        _ => &[],
    }
}

fn product(lengths: &[u64]) -> Option<u64> {
    lengths.iter().try_fold(1u64, |n, length| n.checked_mul(*length))
}

/// The resolved lengths; None if they cannot keep the number of elements.
fn resolve(lengths: &[Length], shape: &[u64]) -> Option<Vec<u64>> {
    let known = |length: &Length| match length {
        Length::Fixed(n) => Some(*n),
        Length::Product(dims) => dims.iter().try_fold(1u64, |n, axis| n.checked_mul(*shape.get(*axis)?)),
        Length::Rest => Some(1),
    };
    let mut encoded = lengths.iter().map(known).collect::<Option<Vec<u64>>>()?;
    let (total, found) = (product(shape)?, product(&encoded)?);
    if let Some(rest) = lengths.iter().position(|length| *length == Length::Rest) {
        encoded[rest] = total.checked_div(found)?;
    }
    (product(&encoded) == Some(total)).then_some(encoded)
}

/// Whether each axis that names input dimensions covers exactly these: equal numbers of elements precede and follow
/// both.
fn agrees(lengths: &[Length], encoded: &[u64], shape: &[u64]) -> bool {
    lengths.iter().enumerate().all(|(axis, length)| match input_dims(length) {
        [] => true,
        [first, .., last] | [first @ last] => {
            let before = product(&encoded[..axis]) == product(&shape[..*first]);
            before && product(&encoded[axis + 1..]) == product(&shape[*last + 1..])
        }
    })
}

fn text(lengths: &[Length]) -> String {
    let one = |length: &Length| match length {
        Length::Fixed(n) => n.to_string(),
        Length::Product(dims) => format!("{dims:?}"),
        Length::Rest => "-1".to_string(),
    };
    format!("the shape [{}]", lengths.iter().map(one).collect::<Vec<_>>().join(", "))
}

impl ArrayCodec for Reshape {
    fn decode(
        &self,
        stored: &[u8],
        shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        if out.is_empty() {
            return Ok(());
        }
        let wanted = (wanted.start as u64, wanted.end as u64);
        self.inner.decode(stored, &self.encoded_shape(shape)?, wanted, out, scratch)
    }

    fn encode(&self, raw: &[u8], shape: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        if raw.is_empty() {
            return Ok(());
        }
        self.inner.append(raw, &self.encoded_shape(shape)?, out, scratch)
    }
}
