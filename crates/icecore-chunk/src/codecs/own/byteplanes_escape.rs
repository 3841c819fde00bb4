//! Escapes: numbers that cannot be truncated are also stored completely beside the planes.
//!
//! A number whose exponent is all zeros or all ones (zero, subnormal, infinity, NaN) is read with zeros for its missing
//! bits. This is exact for zeros, infinities and nearly every NaN. The list stores the others, mainly subnormals:
//! position and bits. It also keeps the fill value exact, because users compare with `==`. If most numbers with the
//! fill value's first plane are the fill value, the fill value precedes the list and applies to all unlisted numbers
//! with that plane; the other numbers with that plane are listed. So all these values are exact for any number of
//! planes.

use std::ops::Range;

use icecore_grid::Result;
use serde_json::json;

use crate::chain::Chain;
use crate::codecs::plane_split::{Pattern, any_alike, any_odd};
use crate::dtype::DType;
use crate::errors::corrupt;
use crate::scratch::Scratch;

/// Bytes of a position and of the count.
const WORD: usize = 8;
/// Numbers per search step.
const BLOCK: usize = 1024;

/// The numbers that are stored completely.
#[derive(Debug)]
pub(crate) struct Rule {
    unit: usize,
    pattern: Pattern,
    /// Bits below the first plane.
    low: u32,
    /// The normal numbers of the fill value: usually one, two for some complex values.
    fills: Vec<u64>,
    /// Encoding of the list: one zstd frame.
    chain: Chain,
}

impl Rule {
    /// For numbers of `unit` bytes with these exponent bits and this number of bits below the first plane. `fill`: one
    /// element.
    pub fn new(unit: usize, exponent: u64, low: u32, fill: &[u8]) -> Result<Rule> {
        let codecs = json!([{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 3, "checksum": false}}]);
        let normal = |bits: &u64| ![0, exponent].contains(&(bits & exponent));
        let mut fills: Vec<u64> = fill.chunks_exact(unit).map(bits).filter(normal).collect();
        fills.sort_unstable();
        fills.dedup();
        let pattern = Pattern { exponent, low: (1 << low) - 1 };
        Ok(Rule { unit, pattern, low, fills, chain: Chain::parse(&codecs, &DType::UInt8, &[0])? })
    }

    /// The encoded list of a chunk, and whether the fill value precedes it; empty if no number needs it.
    pub fn encode(&self, numbers: &[u8], scratch: &mut Scratch) -> Result<(Vec<u8>, bool)> {
        let [mut same, mut near] = [0usize; 2];
        self.visit(numbers, |_, bits| {
            same += usize::from(self.fills.contains(&bits));
            near += usize::from(self.is_near(bits));
        });
        let stands = self.fills.first().filter(|_| self.fills.len() == 1 && near <= same && same > 0);
        let listed = |bits: u64| {
            let fill = if stands.is_some() { self.is_near(bits) } else { self.fills.contains(&bits) };
            fill || self.is_odd(bits)
        };
        let mut list = List::default();
        self.visit(numbers, |at, bits| {
            if listed(bits) {
                list.push(at, bits, self.unit);
            }
        });
        let mut out = stands.map_or_else(Vec::new, |fill| fill.to_le_bytes()[..self.unit].to_vec());
        if !list.positions.is_empty() {
            out.extend(((list.positions.len() / WORD) as u64).to_le_bytes());
            list.positions.extend(list.values);
            out.extend(self.chain.encode(&list.positions, &[list.positions.len() as u64], scratch)?);
        }
        Ok((out, stands.is_some()))
    }

    /// Calls back with the position of every number that may have to be listed, and of few others.
    fn visit(&self, numbers: &[u8], mut see: impl FnMut(u64, u64)) {
        for (nth, block) in numbers.chunks(BLOCK * self.unit).enumerate() {
            let alike = |fill: &u64| any_alike(self.unit, *fill, self.low, block);
            if !any_odd(self.unit, self.pattern, block) && !self.fills.iter().any(alike) {
                continue;
            }
            for (at, number) in block.chunks_exact(self.unit).enumerate() {
                see((nth * BLOCK + at) as u64, bits(number));
            }
        }
    }

    /// Whether a number is not normal and changes if the bits below its first plane become zeros.
    fn is_odd(&self, bits: u64) -> bool {
        let field = bits & self.pattern.exponent;
        (field == 0 || field == self.pattern.exponent) && bits & self.pattern.low != 0
    }

    /// Whether a number has the fill value's first plane but differs from it.
    fn is_near(&self, bits: u64) -> bool {
        !self.fills.contains(&bits) && self.fills.iter().any(|fill| fill >> self.low == bits >> self.low)
    }
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

/// The serialised list: differences of positions, and the numbers.
#[derive(Default)]
struct List {
    positions: Vec<u8>,
    values: Vec<u8>,
    last: u64,
}

impl List {
    fn push(&mut self, at: u64, bits: u64, unit: usize) {
        self.positions.extend((at - self.last).to_le_bytes());
        self.values.extend(&bits.to_le_bytes()[..unit]);
        self.last = at;
    }
}

/// The list, decoded.
#[derive(Debug, PartialEq)]
pub(crate) struct Escapes {
    unit: usize,
    /// The value of all unlisted numbers with its first plane.
    pub stands: Option<u64>,
    /// Position and bits of each number, in order of the positions.
    list: Vec<(u64, u64)>,
}

impl Escapes {
    /// `stands`: a number precedes the list; `count` is the number of numbers in the chunk.
    pub fn decode(stored: &[u8], stands: bool, rule: &Rule, count: usize, scratch: &mut Scratch) -> Result<Escapes> {
        let unit = rule.unit;
        let flaw = |what: &str| corrupt("icecore.byteplanes", format!("the list of escapes {what}"));
        let (front, stored) =
            stored.split_at_checked(if stands { unit } else { 0 }).ok_or_else(|| flaw("is cut off"))?;
        let stands = stands.then(|| word(front));
        if stored.is_empty() {
            return Ok(Escapes { unit, stands, list: Vec::new() });
        }
        let (head, rest) = stored.split_first_chunk::<WORD>().ok_or_else(|| flaw("is cut off"))?;
        let listed = usize::try_from(u64::from_le_bytes(*head)).ok().filter(|n| (1..=count).contains(n));
        let listed = listed.ok_or_else(|| flaw("is longer than the chunk"))?;
        let len = listed * (WORD + unit);
        let mut buffer = scratch.take();
        rule.chain.decode(rest, &[len as u64], (0, len as u64), buffer.sized(len)?, scratch)?;
        let (positions, values) = buffer.bytes()[..len].split_at(listed * WORD);
        let mut next = 0u64; // the smallest valid position
        let mut list = Vec::with_capacity(listed);
        for (step, value) in positions.as_chunks::<WORD>().0.iter().zip(values.chunks_exact(unit)) {
            let base = if list.is_empty() { 0 } else { next - 1 };
            let at = base.checked_add(u64::from_le_bytes(*step));
            let at = at.filter(|at| *at >= next && *at < count as u64).ok_or_else(|| flaw("is out of order"))?;
            list.push((at, word(value)));
            next = at + 1;
        }
        scratch.give(buffer);
        Ok(Escapes { unit, stands, list })
    }

    /// Restores the listed numbers in `range` of `out`, which holds all numbers.
    pub fn apply(&self, range: Range<usize>, out: &mut [u8]) {
        let unit = self.unit;
        let within = |at: u64| usize::try_from(at).ok().filter(|at| range.contains(at));
        for (at, bits) in &self.list {
            let Some(slot) = within(*at).and_then(|at| out.get_mut(at * unit..(at + 1) * unit)) else { continue };
            let word = bits.to_ne_bytes();
            slot.copy_from_slice(if cfg!(target_endian = "little") { &word[..unit] } else { &word[8 - unit..] });
        }
    }
}

/// Reads up to eight bytes, little-endian.
fn word(value: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..value.len()].copy_from_slice(value);
    u64::from_le_bytes(word)
}
