//! Decimal numbers without exponents, as integers in units of their last place.

use serde::{Deserialize, Serialize};

use crate::frame::is_false;
use crate::style::lenient_number::POW10;

/// Notation of a decimal number: at least `digits` digits before the point (0: none for numbers below one), `places`
/// after it (none: no point), optionally a plus sign; `trim`: without trailing zeros, and without a trailing point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NumberStyle {
    pub digits: u8,
    pub places: u8,
    #[serde(default, skip_serializing_if = "is_false")]
    pub plus: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub trim: bool,
}

impl NumberStyle {
    /// Whether the style can print any value.
    pub fn sound(&self, scale: u8) -> bool {
        self.digits <= 18 && self.places <= scale && scale <= 18
    }

    /// The value of `body` in units of 10^-`scale`, if this style would print it the same.
    #[inline]
    pub fn parse(&self, body: &[u8], scale: u8) -> Option<i64> {
        let (negative, rest) = match body.first()? {
            b'-' => (true, body.get(1..)?),
            b'+' if self.plus => (false, body.get(1..)?),
            _ if self.plus => return None,
            _ => (false, body),
        };
        let point = rest.iter().position(|b| *b == b'.').unwrap_or(rest.len());
        let (whole, part) = (rest.get(..point)?, rest.get(point + 1..).unwrap_or_default());
        let places = part.len();
        let pointed = point < rest.len();
        let wanted = if self.trim { places <= self.places as usize } else { places == self.places as usize };
        if !wanted || pointed == (places == 0) || (self.trim && part.last() == Some(&b'0')) {
            return None;
        }
        let least = self.digits as usize;
        if whole.len() < least || (whole.len() > least && whole.first() == Some(&b'0')) || whole.len() + places > 19 {
            return None;
        }
        let magnitude = i64::try_from(read(part, read(whole, 0)?)?).ok()?;
        if negative && magnitude == 0 {
            return None; // -0 is not an integer
        }
        let scaled = magnitude.checked_mul(*POW10.get((scale as usize).checked_sub(places)?)?)?;
        Some(if negative { -scaled } else { scaled })
    }

    /// Whether the style can print integers of up to 20 digits.
    pub fn sound_unsigned(&self) -> bool {
        self.digits <= 20 && self.places == 0
    }

    /// The integer of up to 64 bits in `body`, if this style would print it the same.
    pub fn parse_unsigned(&self, body: &[u8]) -> Option<u64> {
        let digits = if self.plus { body.strip_prefix(b"+")? } else { body };
        let least = self.digits as usize;
        let zeros = digits.len() > least && digits.first() == Some(&b'0');
        if zeros || digits.len() < least || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        std::str::from_utf8(digits).ok()?.parse().ok()
    }

    /// Writes a number (of `magnitude` units of 10^-`scale`) to the end of `buffer`; returns its start, or `None` if it
    /// has more decimal places than this style.
    #[inline]
    pub fn print(&self, negative: bool, mut magnitude: u64, scale: u8, buffer: &mut Buffer) -> Option<usize> {
        if scale > self.places {
            let drop = POW10.get((scale - self.places) as usize)?.unsigned_abs();
            if !magnitude.is_multiple_of(drop) {
                return None;
            }
            magnitude /= drop;
        }
        let mut places = self.places as usize;
        while self.trim && places > 0 && magnitude.is_multiple_of(10) {
            magnitude /= 10;
            places -= 1;
        }
        let mut at = digits(magnitude, places, self.digits as usize, buffer);
        if negative || self.plus {
            at = at.checked_sub(1)?;
            *buffer.get_mut(at)? = if negative { b'-' } else { b'+' };
        }
        Some(at)
    }
}

/// Large enough for any number.
pub type Buffer = [u8; 64];
pub const EMPTY: Buffer = [b' '; 64];

#[inline]
fn read(digits: &[u8], start: u64) -> Option<u64> {
    let mut sum = start;
    for b in digits {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum = sum * 10 + u64::from(digit); // at most 19 digits in total
    }
    Some(sum)
}

const PAIRS: [[u8; 2]; 100] = {
    let mut all = [[0; 2]; 100];
    let mut i = 0;
    while i < 100 {
        all[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    all
};

/// Writes `magnitude` with a point before its last `places` digits and at least `least` digits before the point to the
/// end of `buffer`; returns its start. Both are at most 20.
#[inline]
fn digits(mut magnitude: u64, places: usize, least: usize, buffer: &mut Buffer) -> usize {
    let end = buffer.len();
    let mut at = end;
    while magnitude >= 10 {
        at -= 2;
        buffer[at..at + 2].copy_from_slice(&PAIRS[(magnitude % 100) as usize]);
        magnitude /= 100;
    }
    if magnitude > 0 {
        at -= 1;
        buffer[at] = b'0' + magnitude as u8;
    }
    let wanted = end - (places + least);
    if at > wanted {
        buffer[wanted..at].fill(b'0');
        at = wanted;
    }
    if places > 0 {
        let point = end - places;
        buffer.copy_within(at..point, at - 1);
        buffer[point - 1] = b'.';
        at -= 1;
    }
    at
}

/// The double nearest to `value`·10^-`scale`, if it identifies the decimal number.
#[inline]
pub fn to_double(value: i64, scale: u8) -> Option<f64> {
    let power = *POW10.get(scale as usize)?;
    // Up to 2^53 both operands are exact, so the quotient is the nearest double.
    let double = (value.unsigned_abs() <= 1 << 53 && scale <= 15).then(|| value as f64 / power as f64);
    double.filter(|double| value.unsigned_abs() <= SURE || from_double(*double, scale) == Some(value))
}

/// Beyond this limit two decimal numbers may have the same nearest double.
const SURE: u64 = 1 << 52;

/// [`to_double`] of each of `wholes`, all at once; false if one of them has no result.
#[inline]
pub fn to_doubles(wholes: &[i64], scale: u8, values: &mut [f64]) -> bool {
    let Some(power) = POW10.get(scale as usize).filter(|_| scale <= 15).map(|power| *power as f64) else {
        return false;
    };
    let both = wholes.iter().zip(values);
    both.fold(true, |all, (whole, value)| {
        *value = *whole as f64 / power;
        all & (whole.unsigned_abs() <= SURE)
    })
}

/// The decimal number that a double is the nearest one to, in units of 10^-`scale`; `None` if there is none.
#[inline]
pub fn from_double(value: f64, scale: u8) -> Option<i64> {
    let power = *POW10.get(scale as usize)? as f64;
    let near = value * power;
    if near.is_nan() || near.abs() > 9_007_199_254_740_992.0 {
        return None;
    }
    let near = (near + 0.5f64.copysign(near)) as i64;
    // The product is off by at most one unit.
    [near, near - 1, near + 1].into_iter().find(|k| (*k as f64 / power).to_bits() == value.to_bits())
}

/// 1.5 · 2^52: adding it rounds to an integer, which is then in the low bits of the sum.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// Limit of that method.
const ROUNDED: f64 = 2_251_799_813_685_248.0;

/// [`from_double`] of each of `values`, all at once; false if the fast method fails for one of them.
#[inline]
pub fn from_doubles(values: &[f64], scale: u8, wholes: &mut [i64]) -> bool {
    let Some(power) = POW10.get(scale as usize).map(|power| *power as f64) else { return false };
    let both = values.iter().zip(wholes);
    both.fold(true, |all, (value, whole)| {
        let sum = value * power + ROUNDER;
        let near = sum - ROUNDER;
        *whole = sum.to_bits().wrapping_sub(ROUNDER.to_bits()) as i64;
        all & ((near / power).to_bits() == value.to_bits()) & (near.abs() < ROUNDED)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_doubles_are_what_each_is() {
        let mut state = 1u64;
        for round in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (scale, k) = ((round % 13) as u8, (state as i64) >> (11 + state % 50));
            let value = k as f64 / POW10[scale as usize] as f64;
            let value = if round % 5 == 0 { f64::from_bits(value.to_bits() ^ 1) } else { value };
            let mut whole = [0];
            let mut double = [0.0];
            let all = to_doubles(&[k], scale, &mut double);
            assert_eq!(all.then_some(double[0].to_bits()), to_double(k, scale).map(f64::to_bits), "{k} {scale}");
            if from_doubles(&[value], scale, &mut whole) {
                assert_eq!(Some(whole[0]), from_double(value, scale), "{value} {scale}");
            } else {
                assert!(k.abs() >= 1 << 51 || from_double(value, scale) != Some(k), "{value} {scale}");
            }
        }
        for odd in [f64::NAN, f64::INFINITY, -0.0, 1e300, 0.123_456] {
            assert!(!from_doubles(&[1.5, odd], 1, &mut [0; 2]));
        }
    }
}
