//! Decimal numbers of up to 16 digits in cells of fixed width: all bytes of a cell are processed at once, as one word.
//!
//! A word holds text in memory order: its lowest byte is the first character, its highest the last one of the cell.

use crate::style::column::{Column, Style};
use crate::style::lenient_number::POW10;

const ZEROS: u128 = repeat(b'0');
const SPACES: u128 = repeat(b' ');
const ROOM: usize = 16;
/// Limits of numbers with 16 digits, and with 8 digits, which fit half a word.
const LIMIT: u64 = 10_000_000_000_000_000;
const SHORT: u64 = 100_000_000;
const HALF: usize = 8;

const fn repeat(byte: u8) -> u128 {
    u128::from_le_bytes([byte; ROOM])
}

/// Mask of the first `n` bytes.
#[inline]
const fn first(n: usize) -> u128 {
    if n >= ROOM { !0 } else { (1 << (8 * n)) - 1 }
}

/// A number column whose cells are `width` bytes, padded on the left.
#[derive(Debug)]
pub(crate) struct Digits {
    width: usize,
    /// Minimum number of digits, including those after the point.
    least: usize,
    /// Number of stored units per unit of the last printed place.
    unit: i64,
    /// Number of digits before the point.
    whole: u128,
    /// The point at its position, and a mask of that byte; zero without a point.
    point: (u128, u128),
    /// Mask of the cell's bytes after the point is removed.
    inside: u128,
}

/// A printed cell: its last 16 bytes, and the byte before them.
#[derive(Clone, Copy)]
pub(crate) struct Printed {
    before: u8,
    text: u128,
}

impl Digits {
    /// `None` for columns whose cells have another form.
    pub fn of(column: &Column) -> Option<Digits> {
        let Style::Number(style) = &column.style else { return None };
        let (width, places) = (column.frame.width as usize, style.places as usize);
        let least = places + style.digits as usize;
        if style.plus || style.trim || column.comma || column.frame.left || width == 0 || least > ROOM || places >= ROOM
        {
            return None;
        }
        let unit = *POW10.get(column.scale.checked_sub(style.places)? as usize)?;
        let pointed = places > 0;
        let at = 8 * (ROOM - 1 - places);
        let point = if pointed { (u128::from(b'.') << at, 0xff << at) } else { (0, 0) };
        let inside = !first(ROOM.saturating_sub(width - usize::from(pointed)));
        Some(Digits { width, least, unit, whole: first(ROOM - places), point, inside })
    }

    /// The digits (with sign and spaces) of a value, without the point, and the number of bytes left before the digits;
    /// `None` if it has more than 16 digits, or is not a multiple of the printed unit.
    #[inline]
    fn text(&self, value: i64) -> Option<(u128, usize)> {
        let mut size = value.unsigned_abs();
        if self.unit > 1 {
            if value % self.unit != 0 {
                return None;
            }
            size /= self.unit.unsigned_abs();
        }
        if size >= LIMIT {
            return None;
        }
        let short = if size < SHORT && self.least <= HALF { u64::text(size, self.least, value < 0) } else { None };
        match short {
            Some((text, blank)) => Some(((SPACES & first(HALF)) | (u128::from(text) << (8 * HALF)), blank + HALF)),
            None => u128::text(size, self.least, value < 0),
        }
    }

    /// `None` if the value does not fit the cell.
    #[inline]
    pub fn print(&self, value: i64) -> Option<Printed> {
        let (text, blank) = self.text(value)?;
        let pointed = self.point.0 != 0;
        let length = ROOM - blank + usize::from(value < 0) + usize::from(pointed);
        if length > self.width {
            return None;
        }
        if !pointed {
            return Some(Printed { before: b' ', text });
        }
        let moved = (text & !self.whole) | self.point.0 | ((text & self.whole) >> 8);
        Some(Printed { before: text as u8, text: moved })
    }

    /// The digits (with sign and spaces) of the cell whose body ends at `end`, without its point; `None` if the point
    /// is elsewhere, or if fewer than 17 bytes of `text` precede `end`.
    #[inline]
    pub fn load(&self, text: &[u8], end: usize) -> Option<u128> {
        let near: &[u8; ROOM + 1] = text.get(end.checked_sub(ROOM + 1)?..end)?.try_into().ok()?;
        let last = u128::from_le_bytes(*near.last_chunk()?);
        let mut digits = last;
        if self.point.0 != 0 {
            if last & self.point.1 != self.point.0 {
                return None;
            }
            digits = (last & !self.whole) | (u128::from_le_bytes(*near.first_chunk()?) & self.whole);
        }
        let outside = self.width.saturating_sub(ROOM + usize::from(self.point.0 != 0));
        if outside > 0 && text.get(end - self.width..end - self.width + outside)?.iter().any(|b| *b != b' ') {
            return None;
        }
        Some((digits & self.inside) | (SPACES & !self.inside))
    }

    /// The value of a word from [`Digits::load`], if printing it gives the same word; it is printed and compared.
    #[inline]
    pub fn exact(&self, digits: u128) -> Option<i64> {
        self.value(digits).filter(|value| self.text(*value).is_some_and(|(again, _)| again == digits))
    }

    /// The value of a word from [`Digits::load`], if [`Digits::print`] would give the same word.
    #[inline]
    fn value(&self, digits: u128) -> Option<i64> {
        let (front, back) = (digits as u64, (digits >> (8 * HALF)) as u64);
        let short = front == SPACES as u64;
        let (size, negative) = if short { back.number(self.least)? } else { digits.number(self.least)? };
        let size = size as i64;
        let size = if self.unit > 1 { size.checked_mul(self.unit)? } else { size };
        Some(if negative { -size } else { size })
    }
}

/// A word of text: spaces, a sign, and digits at its end.
trait Word: Sized {
    /// The digits of `size` (which fits), at least `least` of them, with a minus sign if `negative`, and the number of
    /// bytes left before the digits; `None` if the sign does not fit.
    fn text(size: u64, least: usize, negative: bool) -> Option<(Self, usize)>;

    /// The inverse: the number and whether it is negative, if it would be printed the same.
    fn number(self, least: usize) -> Option<(u64, bool)>;
}

macro_rules! word {
    ($word:ty, $spread:ident, $join:ident) => {
        impl Word for $word {
            #[inline]
            fn text(size: u64, least: usize, negative: bool) -> Option<(Self, usize)> {
                const BYTES: usize = size_of::<$word>();
                let digits = $spread(size);
                let blank = (digits.trailing_zeros() as usize / 8).min(BYTES - least);
                // Clearing one bit turns a zero into a space; clearing three bits turns a space into a minus sign.
                let before = if blank >= BYTES { !0 } else { (1 << (8 * blank)) - 1 };
                let text = (digits | ZEROS as $word) & !(before & (ZEROS ^ SPACES) as $word);
                let sign = (b' ' ^ b'-') as $word;
                match negative {
                    false => Some((text, blank)),
                    true if blank == 0 => None,
                    true => Some((text ^ (sign << (8 * (blank - 1))), blank)),
                }
            }

            #[inline]
            fn number(self, least: usize) -> Option<(u64, bool)> {
                const BYTES: usize = size_of::<$word>();
                let values = self ^ ZEROS as $word;
                let other =
                    (((values & repeat(0x7f) as $word) + repeat(0x76) as $word) | values) & repeat(0x80) as $word;
                let lead = BYTES - other.leading_zeros() as usize / 8;
                let count = BYTES - lead;
                if count < least.max(1) {
                    return None;
                }
                let before = ((1 as $word) << (8 * lead)) - 1;
                let sign = (self ^ SPACES as $word) & before;
                let negative = sign != 0;
                if negative && sign != ((b' ' ^ b'-') as $word) << (8 * (lead - 1)) {
                    return None;
                }
                if count > least && (values >> (8 * lead)) as u8 == 0 {
                    return None;
                }
                let size = $join(values & !before);
                // -0 is not an integer.
                (!negative || size > 0).then_some((size, negative))
            }
        }
    };
}

word!(u64, spread_half, join_half);
word!(u128, spread, join);

impl Printed {
    /// Writes the text to the end of `cell`; bytes before its last 17 are unchanged.
    #[inline]
    pub fn put(self, cell: &mut [u8]) {
        let text = self.text.to_le_bytes();
        let length = cell.len();
        if let Some((front, end)) = cell.split_last_chunk_mut::<ROOM>() {
            *end = text;
            if let Some(byte) = front.last_mut() {
                *byte = self.before;
            }
        } else if length >= 8 {
            // With 8 bytes both halves have the same position, and the second one counts.
            let start = (self.text >> ((8 * (ROOM - length)) & 63)) as u64;
            cell[..8].copy_from_slice(&start.to_le_bytes());
            cell[length - 8..].copy_from_slice(&((self.text >> 64) as u64).to_le_bytes());
        } else if length >= 4 {
            let start = (self.text >> (8 * (ROOM - length))) as u32;
            cell[..4].copy_from_slice(&start.to_le_bytes());
            cell[length - 4..].copy_from_slice(&((self.text >> 96) as u32).to_le_bytes());
        } else {
            cell.copy_from_slice(&text[ROOM - length..]);
        }
    }
}

/// The 16 digits of a number, one per byte, with leading zeros.
#[inline]
fn spread(n: u64) -> u128 {
    let low = u128::from(spread_half(n % 100_000_000)) << 64;
    if n < 100_000_000 { low } else { low | u128::from(spread_half(n / 100_000_000)) }
}

/// Eight digits by repeated halving, all parts in parallel. The divisions are products with rounded-up inverses, which
/// are exact for numbers of this size.
#[inline]
fn spread_half(n: u64) -> u64 {
    let fours = (n / 10_000) | ((n % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - tens * 10) << 8)
}

/// The inverse of [`spread`].
#[inline]
fn join(digits: u128) -> u64 {
    let (high, low) = (digits as u64, (digits >> 64) as u64);
    if high == 0 { join_half(low) } else { join_half(high) * 100_000_000 + join_half(low) }
}

#[inline]
fn join_half(digits: u64) -> u64 {
    let twos = (digits.wrapping_mul((10 << 8) | 1) >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = (twos.wrapping_mul((100 << 16) | 1) >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul((10_000 << 32) | 1) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Frame;
    use crate::style::number::{EMPTY, NumberStyle};

    fn column(width: u32, digits: u8, places: u8, scale: u8) -> Column {
        let style = Style::Number(NumberStyle { digits, places, plus: false, trim: false });
        let frame = Frame { width, ..Frame::default() };
        Column { name: "n".into(), frame, style, scale, size: 64, nearest: false, comma: false }
    }

    /// Reference: the generic code's result for a value in a cell of this column, if it fits.
    fn plain(column: &Column, value: i64) -> Option<Vec<u8>> {
        let Style::Number(style) = &column.style else { return None };
        let mut buffer = EMPTY;
        let at = style.print(value < 0, value.unsigned_abs(), column.scale, &mut buffer)?;
        let mut out = Vec::new();
        column.frame.put(&buffer[at..], &mut out);
        (out.len() == column.frame.width as usize).then_some(out)
    }

    #[test]
    fn both_ways_agree_with_the_plain_ones() {
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        for round in 0..200_000 {
            let (width, digits, places) = (1 + random() % 20, random() % 6, random() % 12);
            let scale = places + u64::from(round % 7 == 0);
            let column = column(width as u32, digits as u8, places as u8, scale as u8);
            let Some(kernel) = Digits::of(&column) else { continue };
            let size = (random() % 10u64.pow((random() % 16) as u32 + 1)) as i64;
            let value = if random() % 3 == 0 { -size } else { size };
            let Some(printed) = kernel.print(value) else {
                // A minus sign before 16 digits is left to the generic code.
                let refused = value < 0 && (size >= 10i64.pow(15) || digits + places >= 16);
                assert!(refused || plain(&column, value).is_none(), "{value} in {column:?}");
                continue;
            };
            let mut text = vec![b' '; width as usize];
            printed.put(&mut text);
            assert_eq!(Some(&text), plain(&column, value).as_ref(), "{value} in {column:?}");
            let framed = [b"##################".as_slice(), &text].concat();
            let back = kernel.load(&framed, framed.len()).and_then(|d| kernel.value(d));
            assert_eq!(kernel.load(&framed, framed.len()).and_then(|d| kernel.exact(d)), back);
            let empty = column.frame.body(&text) == Some(b"");
            assert_eq!(back, (!empty).then_some(value), "{:?}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn other_forms_are_refused() {
        let kernel = Digits::of(&column(6, 1, 2, 2)).unwrap();
        let value = |text: &[u8]| {
            let framed = [b"00000000000000000000".as_slice(), text].concat();
            kernel.load(&framed, framed.len()).and_then(|d| kernel.value(d))
        };
        assert_eq!(value(b"  1.25"), Some(125));
        assert_eq!(value(b"-10.25"), Some(-1025));
        for text in [
            b" 01.25",
            b" -0.00",
            b"- 1.25",
            b"  1,25",
            b" 1.250",
            b"   .25",
            b"+ 1.25",
            b" +1.25",
            b"  1.2 ",
            b"  1 .5",
            b"\x001.25\x00",
            b"\xff 1.25",
            b"1-1.25",
            b"--1.25",
            b"  ..25",
            b"      ",
        ] {
            assert_eq!(value(text), None, "{:?}", String::from_utf8_lossy(text));
        }
    }
}
