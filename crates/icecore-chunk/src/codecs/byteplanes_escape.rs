//! Numbers that would not survive the loss of their low planes are kept whole beside the planes.
//!
//! A number whose exponent is all zeros or all ones (zero, subnormal, infinity, NaN) is read with zeros for what is missing.
//! That is right for zeros, infinities and nearly every NaN. The others, subnormals above all, stand in this list: position
//! and bits. Whatever number of planes is read, they come back bit for bit.

use std::ops::Range;

use icecore_grid::Result;
use serde_json::json;

use super::byteplanes_merge::{Pattern, any_odd};
use crate::chain::Chain;
use crate::dtype::DType;
use crate::refuse::corrupt;
use crate::scratch::Scratch;

/// Bytes of a position and of the count.
const WORD: usize = 8;
/// Numbers that are looked through at a time.
const BLOCK: usize = 1024;

/// How the list is stored: zstd, in one go.
pub(crate) fn chain() -> Result<Chain> {
    let codecs = json!([{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 3, "checksum": false}}]);
    Chain::parse(&codecs, &DType::UInt8, &[0])
}

fn bits(number: &[u8]) -> u64 {
    let mut word = [0; 8];
    if cfg!(target_endian = "little") {
        word[..number.len()].copy_from_slice(number);
    } else {
        word[8 - number.len()..].copy_from_slice(number);
    }
    u64::from_ne_bytes(word)
}

/// The list of a chunk, encoded; nothing where no number needs it. The pattern's low bits are those below the first plane.
pub(crate) fn encode(
    numbers: &[u8],
    unit: usize,
    pattern: Pattern,
    chain: &Chain,
    scratch: &mut Scratch,
) -> Result<Vec<u8>> {
    let odd = |number: &&[u8]| {
        let bits = bits(number);
        let field = bits & pattern.exponent;
        (field == 0 || field == pattern.exponent) && bits & pattern.low != 0
    };
    let (mut positions, mut values, mut last) = (Vec::new(), Vec::<u8>::new(), 0);
    for (nth, block) in numbers.chunks(BLOCK * unit).enumerate() {
        if !any_odd(unit, pattern, block) {
            continue;
        }
        for (at, number) in block.chunks_exact(unit).enumerate().filter(|(_, number)| odd(number)) {
            let at = (nth * BLOCK + at) as u64;
            positions.extend((at - last).to_le_bytes());
            values.extend(&bits(number).to_le_bytes()[..unit]);
            last = at;
        }
    }
    if positions.is_empty() {
        return Ok(Vec::new());
    }
    let mut out = ((positions.len() / WORD) as u64).to_le_bytes().to_vec();
    positions.extend(values);
    out.extend(chain.encode(&positions, &[positions.len() as u64], scratch)?);
    Ok(out)
}

/// The list, decoded: position and bits of each number, in order of the positions.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Escapes(Vec<(u64, u64)>);

impl Escapes {
    /// `count` is the number of numbers of the chunk.
    pub fn decode(stored: &[u8], unit: usize, count: usize, chain: &Chain, scratch: &mut Scratch) -> Result<Escapes> {
        let flaw = |what: &str| corrupt("icecore.byteplanes", format!("the list of escapes {what}"));
        if stored.is_empty() {
            return Ok(Escapes::default());
        }
        let (head, rest) = stored.split_first_chunk::<WORD>().ok_or_else(|| flaw("is cut off"))?;
        let listed = usize::try_from(u64::from_le_bytes(*head)).ok().filter(|n| (1..=count).contains(n));
        let listed = listed.ok_or_else(|| flaw("is longer than the chunk"))?;
        let len = listed * (WORD + unit);
        let mut buffer = scratch.take();
        chain.decode(rest, &[len as u64], (0, len as u64), buffer.sized(len)?, scratch)?;
        let (positions, values) = buffer.bytes()[..len].split_at(listed * WORD);
        let mut next = 0u64; // the smallest position that may come
        let mut list = Vec::with_capacity(listed);
        for (step, value) in positions.as_chunks::<WORD>().0.iter().zip(values.chunks_exact(unit)) {
            let base = if list.is_empty() { 0 } else { next - 1 };
            let at = base.checked_add(u64::from_le_bytes(*step));
            let at = at.filter(|at| *at >= next && *at < count as u64).ok_or_else(|| flaw("is out of order"))?;
            let mut word = [0; 8];
            word[..unit].copy_from_slice(value);
            list.push((at, u64::from_le_bytes(word)));
            next = at + 1;
        }
        scratch.give(buffer);
        Ok(Escapes(list))
    }

    /// Puts the listed numbers of `range` into `out`, which holds all numbers.
    pub fn apply(&self, unit: usize, range: Range<usize>, out: &mut [u8]) {
        let within = |at: u64| usize::try_from(at).ok().filter(|at| range.contains(at));
        for (at, bits) in &self.0 {
            let Some(slot) = within(*at).and_then(|at| out.get_mut(at * unit..(at + 1) * unit)) else { continue };
            let word = bits.to_ne_bytes();
            slot.copy_from_slice(if cfg!(target_endian = "little") { &word[..unit] } else { &word[8 - unit..] });
        }
    }
}
