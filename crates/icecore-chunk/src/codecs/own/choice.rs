//! `icecore.choice`: several codec lists; the first byte of a chunk names the list that encoded it.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::chain::Chain;
use crate::codecs::array_codec::ArrayCodec;
use crate::dtype::DType;
use crate::errors::{bad_config, corrupt};
use crate::extension::{Extension, only_keys};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["icecore.choice"];

/// Largest number of lists, because the index is one byte.
const MAX_LISTS: usize = 256;

/// The list in the metadata may only grow at its end, so that older chunks keep their meaning.
#[derive(Debug)]
pub(crate) struct Choice {
    chains: Vec<Chain>,
}

impl Choice {
    pub fn parse(ext: &Extension, dtype: &DType) -> Result<Choice> {
        only_keys(ext, &["choices"])?;
        let lists = ext.get("choices").and_then(Value::as_array).filter(|l| (1..=MAX_LISTS).contains(&l.len()));
        let lists = lists.ok_or_else(|| bad_config(ext, "choices", "1 to 256 lists of codecs"))?;
        if lists.iter().any(|list| names(list, ext.name)) {
            return Err(bad_config(ext, "choices", "lists without another icecore.choice"));
        }
        let zero = vec![0; dtype.size()];
        let chains = lists.iter().map(|list| Chain::parse(list, dtype, &zero)).collect::<Result<_>>()?;
        Ok(Choice { chains })
    }
}

fn names(list: &Value, name: &str) -> bool {
    let parts = list.as_array().into_iter().flatten();
    parts.filter_map(|codec| Extension::parse(codec, "codec").ok()).any(|codec| codec.name == name)
}

impl ArrayCodec for Choice {
    fn decode(
        &self,
        stored: &[u8],
        shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (which, rest) = stored.split_first().ok_or_else(|| corrupt("icecore.choice", "no data"))?;
        let chain = self.chains.get(usize::from(*which)).ok_or_else(|| {
            corrupt("icecore.choice", format!("codec list {which} is used, the metadata has {}", self.chains.len()))
        })?;
        chain.decode(rest, shape, (wanted.start as u64, wanted.end as u64), out, scratch)
    }

    /// The shortest result of all lists. A list that can't encode this chunk (values that a codec rejects) is skipped.
    fn encode(&self, raw: &[u8], shape: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        let start = out.len();
        let (mut failed, mut any): (Option<Error>, _) = (None, false);
        let mut packed = scratch.spare();
        for (which, chain) in (0u8..=255).zip(&self.chains) {
            // The first result is encoded in place: often there is only one list.
            let next = if any { &mut packed } else { &mut *out };
            next.truncate(if any { 0 } else { start });
            next.push(which);
            match chain.append(raw, shape, next, scratch) {
                Ok(()) if !any => any = true,
                Ok(()) if packed.len() < out.len() - start => {
                    out.truncate(start);
                    out.extend_from_slice(&packed);
                }
                Ok(()) => {}
                Err(error) => failed = Some(error),
            }
        }
        scratch.keep(packed);
        match any {
            true => Ok(()),
            false => Err(failed.unwrap_or_else(|| Error::new(ErrorKind::Internal, "icecore.choice without choices"))),
        }
    }
}
