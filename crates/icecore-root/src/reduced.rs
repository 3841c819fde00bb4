//! `Double32_t` and `Float16_t`: ranges and mantissas in titles, and stored values.
//!
//! The rules are those of ROOT's `TStreamerElement::GetRange` and `TBufferFile::ReadFloat16`, `ReadDouble32`.

use std::f64::consts::PI;

use icecore_grid::Result;

use crate::cursor::Cursor;

/// Stored form of a reduced number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Encoding {
    /// A 4-byte float.
    Float,
    /// An integer of 4 bytes: `value / factor + low`.
    Range { low: f64, factor: f64 },
    /// An exponent of 1 byte, and a sign with the upper bits of the mantissa in 2 bytes.
    Mantissa(u32),
}

/// A number in memory (`double` for `Double32_t`, `float` for `Float16_t`) and in the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reduced {
    pub(crate) double: bool,
    pub(crate) encoding: Encoding,
}

/// Bits of the mantissa of a `Float16_t` without a range.
const FLOAT16_BITS: u32 = 12;

impl Reduced {
    /// The form of a `Double32_t` (`double`) or `Float16_t` with this title, the comment of a member or the name of a leaf.
    pub fn new(double: bool, title: &str) -> Self {
        let (low, factor) = range(title);
        // ROOT keeps a range only if the factor or the minimum is positive.
        let encoding = match low as i64 {
            _ if factor > 0.0 => Encoding::Range { low, factor },
            bits @ 1.. => Encoding::Mantissa(u32::try_from(bits).unwrap_or(u32::MAX).min(22)),
            _ if double => Encoding::Float,
            _ => Encoding::Mantissa(FLOAT16_BITS),
        };
        Self { double, encoding }
    }

    /// Appends the next value in native byte order.
    pub(crate) fn read(self, cursor: &mut Cursor, out: &mut Vec<u8>) -> Result<()> {
        let value = match self.encoding {
            Encoding::Float => f64::from(f32::from_bits(cursor.u32()?)),
            Encoding::Range { low, factor } => f64::from(cursor.u32()?) / factor + low,
            Encoding::Mantissa(bits) => f64::from(mantissa(bits, cursor.u8()?, cursor.u16()?)),
        };
        match self.double {
            true => out.extend_from_slice(&value.to_ne_bytes()),
            false => out.extend_from_slice(&(value as f32).to_ne_bytes()),
        }
        Ok(())
    }
}

fn mantissa(bits: u32, exponent: u8, stored: u16) -> f32 {
    let (sign, stored) = (1u32 << (bits + 1), u32::from(stored));
    let value = f32::from_bits(u32::from(exponent) << 23 | (stored & (sign - 1)) << (23 - bits));
    if stored & sign != 0 { -value } else { value }
}

/// The minimum and the factor of `[min,max,bits]` in a title; the minimum is a number of bits if there is no range.
fn range(title: &str) -> (f64, f64) {
    let Some(inside) = brackets(title) else { return (0.0, 0.0) };
    let mut parts = inside.splitn(3, ',');
    let low = limit(parts.next().unwrap_or_default());
    let high = limit(parts.next().unwrap_or_default());
    let bits = parts.next().and_then(integer).filter(|bits| (2..=32).contains(bits)).unwrap_or(32);
    let steps = if bits < 32 { (1u64 << bits) as f64 } else { f64::from(u32::MAX) };
    if low < high {
        (low, steps / (high - low))
    } else if bits < 15 {
        (bits as f64 + 0.1, 0.0)
    } else {
        (low, 0.0)
    }
}

/// The first brackets with a comma, or the second if the first are a dimension.
fn brackets(title: &str) -> Option<&str> {
    let mut rest = title;
    for _ in 0..2 {
        let inside = rest.split_once('[')?.1;
        let (inside, after) = inside.split_once(']')?;
        if inside.contains(',') {
            return Some(inside);
        }
        rest = after;
    }
    None
}

fn limit(text: &str) -> f64 {
    let text: String = text.to_lowercase().chars().filter(|c| *c != ' ').collect();
    if !text.contains("pi") {
        return leading(&text);
    }
    let size = match &text {
        t if t.contains("2pi") || t.contains("2*pi") || t.contains("twopi") => 2.0 * PI,
        t if t.contains("pi/2") => PI / 2.0,
        t if t.contains("pi/4") => PI / 4.0,
        _ => PI,
    };
    if text.contains('-') { -size } else { size }
}

/// The number at the beginning of a text, as `scanf` reads it; 0 if there is none.
fn leading(text: &str) -> f64 {
    let ends = (1..=text.len()).rev().filter(|end| text.is_char_boundary(*end));
    ends.filter_map(|end| text.get(..end)?.parse().ok()).next().unwrap_or(0.0)
}

fn integer(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
    let value: i64 = digits.parse().ok()?;
    Some(if text.starts_with('-') { -value } else { value })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn float(reduced: Reduced, bytes: &[u8]) -> f64 {
        let mut out = Vec::new();
        reduced.read(&mut Cursor::new(bytes), &mut out).unwrap();
        match reduced.double {
            true => f64::from_ne_bytes(out.try_into().unwrap()),
            false => f64::from(f32::from_ne_bytes(out.try_into().unwrap())),
        }
    }

    #[test]
    fn titles_give_the_encoding_that_root_uses() {
        let whole = Encoding::Float;
        let factor =
            |low: f64, high: f64, bits: u32| Encoding::Range { low, factor: 2f64.powi(bits as i32) / (high - low) };
        let all = Encoding::Range { low: 0.0, factor: f64::from(u32::MAX) / 10.0 };
        let cases = [
            (true, "", whole),
            (true, "energy", whole),
            (true, "[0,10]", all),
            (true, "[0,10,32]", all),
            (true, "[0,10,40]", all),
            (true, "[0,10,1]", all),
            (true, "[-10, 1000 , 20] momentum", factor(-10.0, 1000.0, 20)),
            (true, "[n][0,1,8]", factor(0.0, 1.0, 8)),
            (true, "[n] none", whole),
            (true, "[-pi,2*pi,12]", factor(-PI, 2.0 * PI, 12)),
            (true, "[-pi/4,pi/2,31]", factor(-PI / 4.0, PI / 2.0, 31)),
            (true, "[0,twopi,10]", factor(0.0, 2.0 * PI, 10)),
            (true, "[1e-3,2.5e2,16]", factor(1e-3, 250.0, 16)),
            (true, "[0,0,14]", Encoding::Mantissa(14)),
            (true, "[0,0,15]", whole),
            (true, "[0,0]", whole),
            (true, "[5,5,20]", Encoding::Mantissa(5)),
            (false, "", Encoding::Mantissa(12)),
            (false, "f[0,0,10]", Encoding::Mantissa(10)),
            (false, "f[0,0,16]", Encoding::Mantissa(12)),
            (false, "f[0,0,32]", Encoding::Mantissa(12)),
            (false, "f[0,1,16]", factor(0.0, 1.0, 16)),
            (false, "f[0,1,16", Encoding::Mantissa(12)),
        ];
        for (double, title, expected) in cases {
            assert_eq!(Reduced::new(double, title).encoding, expected, "{title}");
        }
    }

    #[test]
    fn values_are_those_of_root() {
        // WriteFloat16 of 5.0 with 12 bits: exponent 129, mantissa 0.25 of 2^13.
        assert_eq!(float(Reduced::new(false, "[0,0,16]"), &[129, 0x04, 0x00]), 5.0);
        assert_eq!(float(Reduced::new(false, ""), &[129, 0x24, 0x00]), -5.0);
        assert_eq!(float(Reduced::new(true, "[0,0,10]"), &[127, 0x02, 0x00]), 1.5);
        assert_eq!(float(Reduced::new(true, ""), &1.25f32.to_be_bytes()), 1.25);
        assert_eq!(float(Reduced::new(true, "[-1,1,8]"), &[0, 0, 0, 192]), 0.5);
        assert!(Reduced::new(true, "").read(&mut Cursor::new(&[0; 3]), &mut Vec::new()).is_err());
    }
}
