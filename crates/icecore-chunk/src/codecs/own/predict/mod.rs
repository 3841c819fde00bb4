//! `icecore.predict`: predict elements from their neighbours and store the residuals.

mod codec_list;
mod difference_kernel;
mod differences;
mod encode;
mod fast_encode;
mod fit;
mod frame;
mod lattice;
mod lpc;
mod mask;
mod masked_kernel;
mod mode;
mod search;
mod side_data;
mod source;
mod stencil;
mod sums;
mod values;

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::json;

use crate::codecs::array_codec::ArrayCodec;
use crate::dtype::DType;
use crate::errors::{bad_config, corrupt};
use crate::extension::{Extension, config_bool_or, only_keys};
use crate::scratch::Scratch;
use codec_list::List;
use encode::encode;
use frame::decode;
use mode::{Mode, parse_modes};
use side_data::NAME;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["icecore.predict"];

/// Maximum number of lists, because the index is one byte.
const MAX_LISTS: usize = 256;

/// Each chunk records its own prediction; the configuration lists the modes to try.
#[derive(Debug)]
pub(crate) struct Predict {
    float: bool,
    size: usize,
    modes: Vec<Mode>,
    mask: bool,
    lists: Vec<List>,
}

impl Predict {
    pub fn parse(ext: &Extension, dtype: &DType) -> Result<Predict> {
        only_keys(ext, &["modes", "codecs", "mask"])?;
        let float = matches!(dtype, DType::Float16 | DType::Float32 | DType::Float64);
        let times = matches!(dtype, DType::DateTime64 { .. } | DType::TimeDelta64 { .. });
        let signed = matches!(dtype, DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64);
        let unsigned = matches!(dtype, DType::UInt8 | DType::UInt16 | DType::UInt32 | DType::UInt64);
        if !(float || signed || unsigned || times) {
            return Err(Error::new(ErrorKind::Unsupported, format!("{} of {}", ext.name, dtype.to_json()))
                .hint("it supports real numbers and times"));
        }
        let modes = parse_modes(ext, float)?;
        let mask = config_bool_or(ext, "mask", true)?;
        let default = json!([[{"name": "numcodecs.pcodec", "configuration": {"level": 8}}]]);
        let lists = ext.get("codecs").unwrap_or(&default).as_array().filter(|l| (1..=MAX_LISTS).contains(&l.len()));
        let lists = lists.ok_or_else(|| bad_config(ext, "codecs", "1 to 256 lists of codecs"))?;
        let lists = lists.iter().map(|list| List::parse(list, dtype)).collect::<Result<_>>()?;
        Ok(Predict { float, size: dtype.size(), modes, mask, lists })
    }
}

/// Calls a generic function with the word type of the elements.
macro_rules! for_size {
    ($size:expr, $call:ident ( $($arg:expr),* )) => {
        match $size {
            1 => $call::<u8>($($arg),*),
            2 => $call::<u16>($($arg),*),
            4 => $call::<u32>($($arg),*),
            _ => $call::<u64>($($arg),*),
        }
    };
}

impl ArrayCodec for Predict {
    fn decode(
        &self,
        stored: &[u8],
        shape: &[u64],
        _: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        if out.is_empty() {
            return if stored.is_empty() { Ok(()) } else { Err(corrupt(NAME, "data of a chunk without elements")) };
        }
        for_size!(self.size, decode(stored, shape, self.float, &self.lists, out, scratch))
    }

    fn encode(&self, raw: &[u8], shape: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        if raw.is_empty() {
            return Ok(());
        }
        let modes = (self.modes.as_slice(), self.mask);
        for_size!(self.size, encode(raw, shape, self.float, modes, &self.lists, (out, scratch)))
    }
}
