//! Floats that are integer multiples of 2⁻ᵉ or 10⁻ᵈ, represented by these integers.

use crate::codecs::own::decimal_number::Decimals;
use crate::codecs::word::Word;

/// Unit of the integers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Lattice {
    /// 2⁻ᵉ
    Dyadic(i32),
    /// 10⁻ᵈ
    Decimal(i64, Decimals),
}

/// Powers of two whose value and inverse are normal numbers.
pub(super) const MAX_EXPONENT: i32 = 1000;
/// At most one element of this many may be off the lattice.
const EXCEPTIONS: usize = 64;
/// Number of elements that are tried with each number of decimals before all of them are.
const SAMPLE: usize = 256;

/// 2^e for a normal result.
fn power_of_two(e: i32) -> f64 {
    f64::from_bits(((e + 1023) as u64) << 52)
}

/// The integers of a chunk, and the elements that have none.
pub(super) struct OnLattice<W> {
    pub lattice: Lattice,
    pub words: Vec<W>,
    pub exceptions: Vec<usize>,
}

impl Lattice {
    pub fn dyadic(e: i64) -> Option<Lattice> {
        i32::try_from(e).ok().filter(|e| e.abs() <= MAX_EXPONENT).map(Lattice::Dyadic)
    }

    pub fn decimal(d: i64) -> Option<Lattice> {
        Decimals::new(d).map(|decimals| Lattice::Decimal(d, decimals))
    }

    /// The integer of an element, given as bits, if the conversion back is exact bit for bit.
    fn index<W: Word>(self, bits: W) -> Option<W> {
        let value = bits.to_f64();
        let k = match self {
            Lattice::Dyadic(e) => {
                let scaled = value * power_of_two(e);
                let limit = power_of_two(W::BITS as i32 - 1);
                (scaled.abs() < limit).then_some(scaled as i64)?
            }
            Lattice::Decimal(_, decimals) if W::BITS == 32 => decimals.index32(value as f32)?,
            Lattice::Decimal(_, decimals) => decimals.index(value)?,
        };
        let word = W::from_u64(k as u64);
        (word.to_i64() == k && self.value(word) == bits).then_some(word)
    }

    /// The bits of the element with this integer.
    #[inline(always)]
    fn value<W: Word>(self, word: W) -> W {
        match self {
            Lattice::Dyadic(e) => W::from_f64(word.to_i64() as f64 * power_of_two(-e)),
            Lattice::Decimal(_, decimals) => W::from_f64(decimals.value(word.to_i64())),
        }
    }

    /// Converts integers to bits, in place.
    pub fn apply<W: Word>(self, words: &mut [W]) {
        match self {
            Lattice::Dyadic(e) => {
                let unit = power_of_two(-e);
                words.iter_mut().for_each(|w| *w = W::from_f64(w.to_i64() as f64 * unit));
            }
            Lattice::Decimal(_, decimals) => {
                words.iter_mut().for_each(|w| *w = W::from_f64(decimals.value(w.to_i64())));
            }
        }
    }

    /// Converts all elements that are not masked; `None` if too many are not multiples.
    fn take<W: Word>(self, raw: &[W], hole: &[bool]) -> Option<OnLattice<W>> {
        let mut words = Vec::with_capacity(raw.len());
        let mut exceptions = Vec::new();
        for (at, bits) in raw.iter().enumerate() {
            let index = if hole[at] { Some(W::default()) } else { self.index(*bits) };
            if index.is_none() {
                exceptions.push(at);
                if exceptions.len() * EXCEPTIONS > raw.len() {
                    return None;
                }
            }
            words.push(index.unwrap_or_default());
        }
        Some(OnLattice { lattice: self, words, exceptions })
    }
}

/// The binary and the decimal lattice that contain nearly all elements, if they exist.
pub(super) fn find<W: Word>(raw: &[W], hole: &[bool]) -> Vec<OnLattice<W>> {
    let dyadic = exponent(raw, hole).and_then(|e| Lattice::Dyadic(e).take(raw, hole));
    let decimal = decimals(raw, hole).and_then(|lattice| lattice.take(raw, hole));
    [dyadic, decimal].into_iter().flatten().collect()
}

/// The smallest e for which nearly all elements are multiples of 2⁻ᵉ.
fn exponent<W: Word>(raw: &[W], hole: &[bool]) -> Option<i32> {
    let mut counts = vec![0usize; 2 * MAX_EXPONENT as usize + 1];
    let mut total = 0;
    for (bits, _) in raw.iter().zip(hole).filter(|(_, hole)| !**hole) {
        let value = bits.to_f64();
        // Zero is on every lattice.
        if value == 0.0 || !value.is_finite() {
            continue;
        }
        total += 1;
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1) | 1 << 52;
        let lowest = (bits >> 52 & 0x7ff) as i32 - 1075 + fraction.trailing_zeros() as i32;
        if let Some(count) = usize::try_from(MAX_EXPONENT - lowest).ok().and_then(|at| counts.get_mut(at)) {
            *count += 1;
        }
    }
    let allowed = total / EXCEPTIONS;
    let mut covered = 0;
    let found = counts.iter().position(|count| {
        covered += count;
        covered + allowed >= total
    });
    found.filter(|_| total > 0).map(|at| at as i32 - MAX_EXPONENT)
}

/// The smallest number of decimals for nearly all elements of a sample.
fn decimals<W: Word>(raw: &[W], hole: &[bool]) -> Option<Lattice> {
    let valid = hole.iter().filter(|hole| !**hole).count();
    let candidates = raw.iter().zip(hole).filter(|(_, hole)| !**hole).map(|(bits, _)| *bits);
    let sample: Vec<W> = candidates.step_by((valid / SAMPLE).max(1)).collect();
    let most = if W::BITS == 32 { 7 } else { 16 };
    let fits = |lattice: &Lattice| {
        let off = sample.iter().filter(|bits| lattice.index(**bits).is_none()).count();
        off * EXCEPTIONS <= sample.len() * 2
    };
    (0..=most).filter_map(Lattice::decimal).find(fits).filter(|_| !sample.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lattices_are_found() {
        let none = vec![false; 1000];
        let eighths: Vec<u32> = (0..1000).map(|i| ((i * 37 % 800) as f32 / 8.0 - 20.0).to_bits()).collect();
        assert!(find(&eighths, &none).iter().any(|f| f.lattice == Lattice::Dyadic(3) && f.exceptions.is_empty()));
        let mut cents: Vec<u64> = (0..1000).map(|i| (f64::from(i * 37 % 800) / 100.0).to_bits()).collect();
        (cents[7], cents[500]) = ((-0.0f64).to_bits(), f64::NAN.to_bits());
        let found = find(&cents, &none);
        let decimal = found.iter().find(|f| matches!(f.lattice, Lattice::Decimal(2, _))).unwrap();
        assert_eq!(decimal.exceptions, [7, 500]);
        let mut back = decimal.words.clone();
        decimal.lattice.apply(&mut back);
        assert!((0..1000).all(|i| back[i] == cents[i] || i == 7 || i == 500));
        let noise: Vec<u64> = (0..1000u64).map(|i| (i as f64).sqrt().sin().to_bits()).collect();
        assert!(find(&noise, &none).iter().all(|f| f.lattice != Lattice::Dyadic(0)));
        assert!(find(&noise, &vec![true; 1000]).is_empty());
    }
}
