//! A column: its name, its print style, its values.

use icecore_grid::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use crate::frame::{Frame, is_false};
use crate::style::lenient_number::{Loose, POW10, loose};
use crate::style::number::{EMPTY, NumberStyle, from_double, to_double};
use crate::style::real::RealStyle;
use crate::style::time::TimeStyle;
use crate::style::words::{Quote, WordStyle, single_quotes};
use crate::values::{NO_UNSIGNED, Values, View};

/// Print style of a column's values inside their frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Style {
    Number(NumberStyle),
    /// Integers up to 2^64 - 1, stored as the `i64` with the same bits.
    Unsigned(NumberStyle),
    Real(RealStyle),
    /// An unsigned hexadecimal number in upper case, with at least this many digits.
    Hex(u8),
    /// The same in lower case.
    LowerHex(u8),
    Time(TimeStyle),
    Words(WordStyle),
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    pub name: String,
    pub frame: Frame,
    pub style: Style,
    /// For numbers: values are multiples of 10^-scale; 0 means integers. For times: ticks are 10^-scale seconds; 0
    /// means the pattern's unit.
    #[serde(default)]
    pub scale: u8,
    /// For integers: bits of the array's elements. For text: bytes, or `LONGEST` for strings of variable length.
    #[serde(default)]
    pub size: u32,
    /// For numbers with a scale: numbers that are not multiples of 10^-scale are stored as the nearest doubles.
    #[serde(default, skip_serializing_if = "is_false")]
    pub nearest: bool,
    /// The decimal mark is a comma: cells follow the style with commas and points exchanged.
    #[serde(default, skip_serializing_if = "is_false")]
    pub comma: bool,
}

/// Maximum length of text in a column, in bytes.
pub(crate) const LONGEST: u32 = 1 << 20;
/// Maximum length in bytes to which all texts of a column are padded; columns with longer texts are strings.
pub(crate) const PADDED: u32 = 256;

/// Bytes of text that are allocated at once.
const ROOM: usize = 1 << 26;

/// Result of reading a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// The style prints exactly the same bytes.
    Exact,
    /// It has a value, or is blank, but is printed differently.
    Escape,
    /// It has no value: text in a column of numbers.
    Junk,
    /// Its value does not fit the array: too long, too many decimal places, out of range.
    Lost,
}

/// Exchanges commas and points.
pub(crate) fn exchanged(text: &[u8]) -> Vec<u8> {
    let mut text = text.to_vec();
    exchange(&mut text);
    text
}

fn exchange(text: &mut [u8]) {
    for b in text {
        *b = match *b {
            b',' => b'.',
            b'.' => b',',
            other => other,
        };
    }
}

/// Classifies a cell whose value the column could not store.
fn misfit(cell: &[u8], valued: bool) -> Fit {
    if is_blank(cell) {
        Fit::Escape
    } else if valued {
        Fit::Lost
    } else {
        Fit::Junk
    }
}

impl Column {
    /// Whether all parts are valid and consistent.
    pub(crate) fn check(&self) -> Result<()> {
        let sound = match &self.style {
            Style::Number(style) => {
                style.sound(self.scale) && (self.scale > 0 || matches!(self.size, 8 | 16 | 32 | 64))
            }
            Style::Unsigned(style) => style.sound_unsigned() && (self.scale, self.size) == (0, 64),
            Style::Real(style) => style.sound(),
            Style::Hex(digits) | Style::LowerHex(digits) => *digits <= 15,
            Style::Time(style) => style.sound() && self.ticks(style).is_some(),
            Style::Words(_) => (1..=LONGEST).contains(&self.size) && !self.comma,
        };
        if sound && self.scale <= 15 && self.frame.width <= 1 << 20 {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Corrupt, format!("the print format of column {:?} makes no sense", self.name)))
    }

    /// A column without values.
    pub fn values(&self, capacity: usize) -> Values {
        match &self.style {
            Style::Number(_) if self.scale > 0 => Values::Real(Vec::with_capacity(capacity)),
            Style::Real(_) => Values::Real(Vec::with_capacity(capacity)),
            Style::Words(_) if self.size == LONGEST => {
                Values::Strings { ends: Vec::with_capacity(capacity), bytes: Vec::new() }
            }
            Style::Words(_) => {
                let width = self.size as usize;
                Values::Text { width, bytes: Vec::with_capacity((capacity * width).min(ROOM)) }
            }
            _ => Values::Int(Vec::with_capacity(capacity)),
        }
    }

    /// The value of a cell without one: the smallest integer (or the bits of [`NO_UNSIGNED`]), NaN, an empty string.
    pub fn blank(&self) -> i64 {
        match &self.style {
            Style::Number(_) if self.size < 64 => -(1i64 << (self.size.clamp(8, 63) - 1)),
            Style::Unsigned(_) => NO_UNSIGNED.cast_signed(),
            _ => i64::MIN,
        }
    }

    #[inline]
    pub(crate) fn holds(&self, value: i64) -> bool {
        let half = 1i64 << (self.size.clamp(8, 64) - 1).min(62);
        value > self.blank() && (self.size >= 64 || value < half)
    }

    /// Converts the array's ticks to the unit of a time's pattern, which may be coarser.
    fn ticks(&self, style: &TimeStyle) -> Option<i64> {
        if self.scale == 0 {
            return Some(1);
        }
        let finer = u32::from(self.scale).checked_sub(style.digits()?)?;
        10i64.checked_pow(finer)
    }

    /// Adds the value of `cell`.
    #[inline]
    pub(crate) fn read(&self, cell: &[u8], separator: u8, into: &mut Values) -> Fit {
        if self.comma {
            self.read_styled(&exchanged(cell), separator, into)
        } else {
            self.read_styled(cell, separator, into)
        }
    }

    #[inline]
    fn read_styled(&self, cell: &[u8], separator: u8, into: &mut Values) -> Fit {
        match (&self.style, into) {
            (Style::Number(style), Values::Int(v)) => {
                let exact = self.frame.body(cell).and_then(|body| style.parse(body, 0)).filter(|k| self.holds(*k));
                if let Some(value) = exact {
                    v.push(value);
                    return Fit::Exact;
                }
                self.read_int(cell, v)
            }
            (Style::Number(style), Values::Real(v)) => {
                let exact = self.frame.body(cell).and_then(|body| style.parse(body, self.scale));
                if let Some(value) = exact.and_then(|k| to_double(k, self.scale)) {
                    v.push(value);
                    return Fit::Exact;
                }
                self.read_decimal(cell, v)
            }
            (Style::Unsigned(style), Values::Int(v)) => self.read_unsigned(style, cell, v),
            (Style::Real(_), Values::Real(v)) => self.read_real(cell, v),
            (Style::Hex(_) | Style::LowerHex(_) | Style::Time(_), Values::Int(v)) => self.read_ticks(cell, v),
            (Style::Words(style), Values::Text { width, bytes }) => {
                self.read_words(style, cell, separator, *width, bytes)
            }
            (Style::Words(style), Values::Strings { ends, bytes }) => {
                self.read_string(style, cell, separator, ends, bytes)
            }
            _ => Fit::Lost,
        }
    }

    fn read_int(&self, cell: &[u8], v: &mut Vec<i64>) -> Fit {
        let number = loose_cell(&self.frame, cell);
        let value = number.and_then(|n| {
            let unit = *POW10.get(n.places as usize)?;
            n.digits.filter(|d| d % unit == 0).map(|d| d / unit)
        });
        let value = value.filter(|k| self.holds(*k));
        v.push(value.unwrap_or_else(|| self.blank()));
        if value.is_some() { Fit::Escape } else { misfit(cell, number.is_some()) }
    }

    fn read_unsigned(&self, style: &NumberStyle, cell: &[u8], v: &mut Vec<i64>) -> Fit {
        let exact = self.frame.body(cell).and_then(|body| style.parse_unsigned(body)).filter(|n| *n != NO_UNSIGNED);
        let number = exact.is_none().then(|| loose_cell(&self.frame, cell)).flatten();
        let value = exact.or_else(|| number?.unsigned()).filter(|n| *n != NO_UNSIGNED);
        v.push(value.unwrap_or(NO_UNSIGNED).cast_signed());
        match (exact, value) {
            (Some(_), _) => Fit::Exact,
            (None, Some(_)) => Fit::Escape,
            (None, None) => misfit(cell, number.is_some()),
        }
    }

    fn read_decimal(&self, cell: &[u8], v: &mut Vec<f64>) -> Fit {
        let number = loose_cell(&self.frame, cell);
        let exact = number.and_then(|n| {
            let more = self.scale.checked_sub(n.places);
            match more {
                Some(more) => n.digits?.checked_mul(*POW10.get(more as usize)?),
                None => {
                    let unit = *POW10.get((n.places - self.scale) as usize)?;
                    n.digits.filter(|d| d % unit == 0).map(|d| d / unit)
                }
            }
        });
        let near = || number.map(|n| n.value).filter(|_| self.nearest);
        let value = exact.and_then(|k| to_double(k, self.scale)).or_else(near);
        v.push(value.unwrap_or(f64::NAN));
        if value.is_some() { Fit::Escape } else { misfit(cell, number.is_some()) }
    }

    fn read_real(&self, cell: &[u8], v: &mut Vec<f64>) -> Fit {
        let value = loose_cell(&self.frame, cell).map(|n| n.value);
        v.push(value.unwrap_or(f64::NAN));
        let Some(value) = value else { return misfit(cell, false) };
        let mut again = Vec::with_capacity(cell.len());
        let printed = self.print_real(value, &mut again);
        if printed && again == cell { Fit::Exact } else { Fit::Escape }
    }

    fn read_ticks(&self, cell: &[u8], v: &mut Vec<i64>) -> Fit {
        // Without a frame, quotes would count as part of the body.
        let body = self.frame.body(cell).filter(|body| !body.starts_with(b"\""));
        let body = body.unwrap_or_else(|| cell.trim_ascii().trim_matches_quotes());
        let read = match &self.style {
            Style::Time(style) => style.read(body, self.scale),
            _ => std::str::from_utf8(body)
                .ok()
                .filter(|b| b.len() <= 15)
                .and_then(|b| i64::from_str_radix(b, 16).ok())
                .map(Some),
        };
        let value = read.flatten().filter(|k| *k != i64::MIN);
        v.push(value.unwrap_or(i64::MIN));
        let Some(value) = value else { return misfit(cell, read.is_some()) };
        let mut again = Vec::with_capacity(cell.len());
        if self.print_int(value, &mut again) && again == cell { Fit::Exact } else { Fit::Escape }
    }

    /// Adds the text of `cell`; returns whether it is printed the same.
    fn read_text(&self, style: &WordStyle, cell: &[u8], separator: u8, bytes: &mut Vec<u8>) -> bool {
        let start = bytes.len();
        let quoted = self.frame.lead.contains(&b'"');
        match self.frame.body(cell) {
            Some(body) if quoted && body.contains(&b'"') => single_quotes(body, bytes),
            // Padding on either side is not part of the value.
            Some(body) if separator == b' ' || (self.frame.width > 0 && !quoted) => {
                style.read(body.trim_ascii(), bytes)
            }
            Some(body) => style.read(body, bytes),
            None if quoted => {
                WordStyle { quote: Quote::Needed }.read(cell.trim_ascii(), bytes); // quotes are not part of the text
            }
            None => style.read(cell.trim_ascii(), bytes),
        }
        let text = bytes.get(start..).unwrap_or_default();
        let mut again = Vec::with_capacity(cell.len());
        self.print_words(style, text, separator, &mut again);
        again == cell && text.last() != Some(&0)
    }

    fn read_words(&self, style: &WordStyle, cell: &[u8], separator: u8, width: usize, bytes: &mut Vec<u8>) -> Fit {
        let start = bytes.len();
        let exact = self.read_text(style, cell, separator, bytes);
        let length = bytes.len() - start;
        if length > width {
            bytes.truncate(start); // a truncated text would be another text
        }
        bytes.resize(start + width, 0);
        match exact {
            _ if length > width => Fit::Lost,
            true => Fit::Exact,
            false => Fit::Escape,
        }
    }

    /// Strings are UTF-8; other text is read as Latin-1, which has a character for every byte.
    fn read_string(
        &self,
        style: &WordStyle,
        cell: &[u8],
        separator: u8,
        ends: &mut Vec<usize>,
        bytes: &mut Vec<u8>,
    ) -> Fit {
        let start = bytes.len();
        let mut exact = self.read_text(style, cell, separator, bytes);
        let mut text = bytes.split_off(start);
        let kept = text.iter().rposition(|b| *b != 0).map_or(0, |n| n + 1); // as in padded columns
        text.truncate(kept);
        let lost = text.len() > LONGEST as usize;
        match String::from_utf8(text) {
            _ if lost => {}
            Ok(text) => bytes.extend_from_slice(text.as_bytes()),
            Err(foreign) => {
                exact = false;
                let text: String = foreign.as_bytes().iter().map(|byte| char::from(*byte)).collect();
                bytes.extend_from_slice(text.as_bytes());
            }
        }
        ends.push(bytes.len());
        match exact {
            _ if lost => Fit::Lost,
            true => Fit::Exact,
            false => Fit::Escape,
        }
    }

    /// Appends the cell of element `i`; false if the value can't be printed.
    #[inline]
    pub(crate) fn print(&self, values: View<'_>, i: usize, separator: u8, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let printed = self.print_styled(values, i, separator, out);
        if self.comma {
            exchange(out.get_mut(start..).unwrap_or_default());
        }
        printed
    }

    #[inline]
    fn print_styled(&self, values: View<'_>, i: usize, separator: u8, out: &mut Vec<u8>) -> bool {
        match (&self.style, values) {
            (Style::Words(style), View::Text { .. } | View::Strings { .. }) => {
                self.print_words(style, values.text(i), separator, out);
                true
            }
            (Style::Number(_), View::Real(v)) => from_double(v[i], self.scale).is_some_and(|k| self.print_int(k, out)),
            (_, View::Real(v)) => self.print_real(v[i], out),
            (_, View::Int(v)) => self.print_int(v[i], out),
            _ => false,
        }
    }

    fn print_real(&self, value: f64, out: &mut Vec<u8>) -> bool {
        let Style::Real(style) = &self.style else { return false };
        let mut body = Vec::with_capacity(24);
        style.print(value, &mut body);
        self.frame.put(&body, out);
        !body.is_empty()
    }

    #[inline]
    fn print_int(&self, value: i64, out: &mut Vec<u8>) -> bool {
        let mut text = Vec::new();
        match &self.style {
            Style::Number(style) => return self.print_number(style, value < 0, value.unsigned_abs(), out),
            Style::Unsigned(style) => return self.print_number(style, false, value.cast_unsigned(), out),
            Style::Time(style) if self.print_time(style, value, &mut text) => {}
            Style::Hex(digits) if value >= 0 => {
                let width = *digits as usize;
                text.extend_from_slice(format!("{value:0width$X}").as_bytes());
            }
            Style::LowerHex(digits) if value >= 0 => {
                let width = *digits as usize;
                text.extend_from_slice(format!("{value:0width$x}").as_bytes());
            }
            _ => return false,
        }
        self.frame.put(&text, out);
        true
    }

    /// False if it is not a multiple of the pattern's resolution.
    fn print_time(&self, style: &TimeStyle, value: i64, out: &mut Vec<u8>) -> bool {
        let ticks = self.ticks(style).unwrap_or(1);
        value % ticks == 0 && style.print(value / ticks, out)
    }

    #[inline]
    fn print_number(&self, style: &NumberStyle, negative: bool, size: u64, out: &mut Vec<u8>) -> bool {
        let mut buffer = EMPTY;
        let Some(at) = style.print(negative, size, self.scale, &mut buffer) else { return false };
        let width = self.frame.width as usize;
        // The buffer before the number holds spaces already.
        match buffer.get(at.min(buffer.len().saturating_sub(width))..) {
            Some(padded) if !self.frame.left && width <= buffer.len() => {
                out.extend_from_slice(&self.frame.lead);
                out.extend_from_slice(padded);
                out.extend_from_slice(&self.frame.tail);
            }
            _ => self.frame.put(buffer.get(at..).unwrap_or_default(), out),
        }
        true
    }

    fn print_words(&self, style: &WordStyle, text: &[u8], separator: u8, out: &mut Vec<u8>) {
        if self.frame.width == 0 && self.frame.lead.is_empty() && self.frame.tail.is_empty() {
            style.print(text, separator, out);
            return;
        }
        let mut body = Vec::with_capacity(text.len() + 2);
        style.print(text, separator, &mut body);
        self.frame.put(&body, out);
    }
}

/// The number in a cell, with any frame.
pub(crate) fn loose_cell(frame: &Frame, cell: &[u8]) -> Option<Loose> {
    loose(frame.inner(cell).unwrap_or(cell)).or_else(|| loose(cell.trim_ascii().trim_matches_quotes()))
}

pub(crate) trait Quotes {
    fn trim_matches_quotes(&self) -> &[u8];
}

impl Quotes for [u8] {
    fn trim_matches_quotes(&self) -> &[u8] {
        let inner = self.strip_prefix(b"\"").and_then(|b| b.strip_suffix(b"\""));
        inner.unwrap_or(self).trim_ascii()
    }
}

/// Whether there are only spaces and quotes.
pub(crate) fn is_blank(cell: &[u8]) -> bool {
    cell.iter().all(|b| b.is_ascii_whitespace() || *b == b'"')
}
