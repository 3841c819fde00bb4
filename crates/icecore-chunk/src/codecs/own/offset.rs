//! `icecore.offset`: integers and times minus a constant, so that columns that differ by a constant have the same
//! stored bytes.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::chain::Chain;
use crate::codecs::array_codec::ArrayCodec;
use crate::dtype::DType;
use crate::extension::{Extension, config_i64, only_keys};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["icecore.offset"];

/// An array→array codec that keeps the element type and holds the rest of the chain. Sums wrap, so that any offset is
/// reversible.
#[derive(Debug)]
pub(crate) struct Offset {
    offset: i64,
    size: usize,
    inner: Chain,
}

impl Offset {
    /// `rest` is the list of the codecs that follow.
    pub fn parse(ext: &Extension, dtype: &DType, rest: &[Value]) -> Result<Offset> {
        use DType::{DateTime64, Int8, Int16, Int32, Int64, TimeDelta64, UInt8, UInt16, UInt32, UInt64};
        let whole = matches!(dtype, Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64);
        if !whole && !matches!(dtype, DateTime64 { .. } | TimeDelta64 { .. }) {
            return Err(Error::new(ErrorKind::Unsupported, format!("{} of {}", ext.name, dtype.to_json()))
                .hint("it takes integers and times"));
        }
        only_keys(ext, &["offset"])?;
        let inner = Chain::parse(&Value::Array(rest.to_vec()), dtype, &vec![0; dtype.size()])?;
        Ok(Offset { offset: config_i64(ext, "offset")?, size: dtype.size(), inner })
    }

    pub fn names(&self) -> Vec<String> {
        self.inner.names()
    }

    /// Adds a number to all elements, in place.
    fn add(&self, bytes: &mut [u8], number: i64) {
        macro_rules! each {
            ($t:ty) => {
                for element in bytes.as_chunks_mut::<{ size_of::<$t>() }>().0 {
                    *element = <$t>::from_ne_bytes(*element).wrapping_add(number as $t).to_ne_bytes();
                }
            };
        }
        match self.size {
            1 => each!(u8),
            2 => each!(u16),
            4 => each!(u32),
            _ => each!(u64),
        }
    }
}

impl ArrayCodec for Offset {
    fn decode(
        &self,
        stored: &[u8],
        shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.inner.decode(stored, shape, (wanted.start as u64, wanted.end as u64), out, scratch)?;
        self.add(&mut out[wanted], self.offset);
        Ok(())
    }

    fn encode(&self, raw: &[u8], shape: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        let mut less = raw.to_vec();
        self.add(&mut less, self.offset.wrapping_neg());
        self.inner.append(&less, shape, out, scratch)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chain(dtype: &DType, offset: i64) -> Chain {
        let codecs = json!([{"name": "icecore.offset", "configuration": {"offset": offset}},
            {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]);
        Chain::parse(&codecs, dtype, &vec![0; dtype.size()]).unwrap()
    }

    #[test]
    fn a_constant_apart_is_stored_alike() {
        let numbers: Vec<u8> = [5i64, i64::MIN, i64::MAX, -7].iter().flat_map(|k| k.to_ne_bytes()).collect();
        let later: Vec<u8> =
            [5i64, i64::MIN, i64::MAX, -7].iter().flat_map(|k| k.wrapping_add(i64::MAX).to_ne_bytes()).collect();
        let scratch = &mut Scratch::new();
        let plain = chain(&DType::Int64, 0).encode(&numbers, &[4], scratch).unwrap();
        let moved = chain(&DType::Int64, i64::MAX);
        assert_eq!(moved.encode(&later, &[4], scratch).unwrap(), plain);
        let mut out = vec![0; 32];
        moved.decode(&plain, &[4], (0, 32), &mut out, scratch).unwrap();
        assert_eq!(out, later);
        // A partial read, and narrow elements, whose sums wrap too.
        let mut part = vec![0; 32];
        moved.decode(&plain, &[4], (8, 16), &mut part, scratch).unwrap();
        assert_eq!(part[8..16], later[8..16]);
        let narrow = chain(&DType::UInt8, 250);
        let stored = narrow.encode(&[3, 250, 255], &[3], scratch).unwrap();
        let mut out = vec![0; 3];
        narrow.decode(&stored, &[3], (0, 3), &mut out, scratch).unwrap();
        assert_eq!((out.as_slice(), &stored[..3]), (&[3, 250, 255][..], &[9, 0, 5][..]));
    }

    #[test]
    fn other_types_and_settings_are_refused() {
        let ext = |configuration: &Value, dtype: &DType| {
            let configuration = configuration.as_object();
            let ext = Extension { name: "icecore.offset", configuration, must_understand: true };
            Offset::parse(&ext, dtype, &[json!({"name": "bytes", "configuration": {"endian": "little"}})]).map(drop)
        };
        assert!(ext(&json!({"offset": 3}), &DType::Int16).is_ok());
        assert_eq!(ext(&json!({"offset": 3}), &DType::Float64).unwrap_err().kind, ErrorKind::Unsupported);
        for wrong in [json!({}), json!({"offset": 1.5}), json!({"offset": 1, "scale": 2})] {
            assert!(ext(&wrong, &DType::Int64).is_err(), "{wrong}");
        }
    }
}
