//! The fallback: array codecs that only the `zarrs` crate knows, run on bytes that we fetched.

use std::borrow::Cow;
use std::num::NonZeroU64;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;
use zarrs::array::codec::CodecChain;
use zarrs::array::{ArrayBytes, CodecOptions, DataType, FillValue};
use zarrs::metadata::v3::MetadataV3;
use zarrs_codec::ArrayToBytesCodecTraits;

use crate::dtype::DType;
use crate::errors::{corrupt, wrong_length};
use crate::extension::unsupported;

#[derive(Clone)]
pub(crate) struct Foreign {
    chain: Arc<CodecChain>,
    dtype: DataType,
    fill: FillValue,
    /// For errors.
    name: String,
}

impl std::fmt::Debug for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Foreign({})", self.name)
    }
}

impl Foreign {
    /// `strange` is the first codec that this crate does not know itself.
    pub fn parse(codecs: Vec<Value>, strange: &str, dtype: &DType, fill: &[u8]) -> Result<Foreign> {
        let refused = |why: String| {
            let mut error = unsupported("codec", strange);
            error.message = format!("{} ({why})", error.message);
            error
        };
        if dtype.is_vlen() {
            return Err(refused("for elements of variable length".into()));
        }
        let metas: Vec<MetadataV3> =
            serde_json::from_value(Value::Array(codecs)).map_err(|e| refused(e.to_string()))?;
        let meta: MetadataV3 = serde_json::from_value(dtype.to_json()).map_err(|e| refused(e.to_string()))?;
        guarded(strange, || {
            let chain = CodecChain::from_metadata(&metas).map_err(|e| refused(e.to_string()))?;
            let dtype = DataType::from_metadata(&meta).map_err(|e| refused(e.to_string()))?;
            Ok(Foreign {
                chain: Arc::new(chain),
                dtype,
                fill: FillValue::new(fill.to_vec()),
                name: strange.to_string(),
            })
        })
    }

    /// Fills `out`, in native order.
    pub fn decode(&self, input: &[u8], shape: &[u64], out: &mut [u8]) -> Result<()> {
        let Some(shape) = non_zero(shape) else { return Ok(()) };
        let decoded = guarded(&self.name, || {
            self.chain
                .decode(Cow::Borrowed(input), &shape, &self.dtype, &self.fill, &CodecOptions::default())
                .and_then(|bytes| bytes.into_fixed().map_err(Into::into))
                .map_err(|e| corrupt(&self.name, e.to_string()))
        })?;
        if decoded.len() != out.len() {
            return Err(wrong_length(&self.name, decoded.len(), out.len()));
        }
        out.copy_from_slice(&decoded);
        Ok(())
    }

    pub fn encode(&self, raw: &[u8], shape: &[u64]) -> Result<Vec<u8>> {
        let Some(shape) = non_zero(shape) else { return Ok(Vec::new()) };
        guarded(&self.name, || {
            self.chain
                .encode(ArrayBytes::new_flen(raw), &shape, &self.dtype, &self.fill, &CodecOptions::default())
                .map(Cow::into_owned)
                .map_err(|e| Error::new(ErrorKind::Codec, format!("{}: {e}", self.name)))
        })
    }
}

fn non_zero(shape: &[u64]) -> Option<Vec<NonZeroU64>> {
    shape.iter().map(|n| NonZeroU64::new(*n)).collect()
}

/// Code that we did not harden ourselves must not take the process down on damaged input.
fn guarded<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(corrupt(name, "the codec gave up on these bytes")))
}
