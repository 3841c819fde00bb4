//! Decimal numbers without exponents, as integers in units of their last place.

use serde::{Deserialize, Serialize};

use crate::frame::is_false;
use crate::loose::POW10;

/// How a decimal number is written: at least `digits` digits before the point (0: none for numbers below one), `places`
/// behind it (none: no point), a plus sign or none; `trim`: without the zeros at the end, and without a bare point.
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
    /// Whether the numbers in it can stand for printable values at all.
    pub fn sound(&self, scale: u8) -> bool {
        self.digits <= 18 && self.places <= scale && scale <= 18
    }

    /// The value of `body` in units of 10^-`scale`, where this style would print it as it is.
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
        if whole.len() < least || (whole.len() > least && whole.first() == Some(&b'0')) || whole.len() + places > 18 {
            return None;
        }
        let magnitude = read(part, read(whole, 0)?)?;
        if negative && magnitude == 0 {
            return None; // -0: an integer has no such thing
        }
        let scaled = magnitude.checked_mul(*POW10.get((scale as usize).checked_sub(places)?)?)?;
        Some(if negative { -scaled } else { scaled })
    }

    /// Writes `value` (in units of 10^-`scale`) to the end of `buffer`; where it begins, or `None` where it has more places
    /// than this style.
    #[inline]
    pub fn print(&self, value: i64, scale: u8, buffer: &mut Buffer) -> Option<usize> {
        let mut magnitude = value.unsigned_abs();
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
        if value < 0 || self.plus {
            at = at.checked_sub(1)?;
            *buffer.get_mut(at)? = if value < 0 { b'-' } else { b'+' };
        }
        Some(at)
    }
}

/// Room for any number.
pub type Buffer = [u8; 64];
pub const EMPTY: Buffer = [b' '; 64];

#[inline]
fn read(digits: &[u8], start: i64) -> Option<i64> {
    let mut sum = start;
    for b in digits {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum = sum * 10 + i64::from(digit); // at most 18 digits in all
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

/// `magnitude` with a point before its last `places` digits and at least `least` digits before that, written to the end of
/// `buffer`; where it begins. Both are 18 at most, and the magnitude has 19 digits at most.
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

/// The double nearest to `value`·10^-`scale`, where that says which decimal it was.
#[inline]
pub fn to_double(value: i64, scale: u8) -> Option<f64> {
    let power = *POW10.get(scale as usize)?;
    // Up to 2^53 both numbers are exact, so that the quotient is the nearest double.
    (value.unsigned_abs() <= 1 << 53 && scale <= 15).then(|| value as f64 / power as f64)
}

/// The decimal that a double stands for, in units of 10^-`scale`; `None` where it stands for none.
#[inline]
pub fn from_double(value: f64, scale: u8) -> Option<i64> {
    let power = *POW10.get(scale as usize)? as f64;
    let near = value * power;
    if near.is_nan() || near.abs() > 9_007_199_254_740_992.0 {
        return None;
    }
    let near = (near + 0.5f64.copysign(near)) as i64;
    // The product is off by one unit at most.
    [near, near - 1, near + 1].into_iter().find(|k| (*k as f64 / power).to_bits() == value.to_bits())
}
