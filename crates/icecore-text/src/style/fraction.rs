//! Times that differ from a pattern: another number of fractional digits, or another offset.

use crate::style::lenient_number::POW10;
use crate::style::time::{TimeStyle, offset, zone};

/// The usual decimal mark of times.
pub(crate) const POINT: u8 = b'.';
/// The other decimal mark of ISO 8601.
const MARKS: [u8; 2] = [POINT, b','];

impl TimeStyle {
    /// The value of `body` in ticks of an array, with `scale` decimal places of a second if those are more than the
    /// pattern's; `None` if it is not a time, `Some(None)` if it does not fit the array.
    pub(crate) fn read(&self, body: &[u8], scale: u8) -> Option<Option<i64>> {
        self.read_marked(body, scale).or_else(|| self.read_marked(&self.remarked(body)?, scale))
    }

    fn read_marked(&self, body: &[u8], scale: u8) -> Option<Option<i64>> {
        let own = self.parse(body).or_else(|| self.parse(&self.filled(body)?)).or_else(|| self.parse_elsewhere(body));
        match (own, u32::from(scale)) {
            (Some(ticks), 0) => Some(Some(ticks)),
            (Some(ticks), places) => Some(rescaled(ticks, self.digits()?, places)),
            (None, places) => {
                let (digits, mark) = (digits(body), mark(body).unwrap_or(POINT));
                let finer = self.with_fraction(digits, mark).filter(|style| style.fraction() > self.fraction())?;
                let ticks = finer.parse(body).or_else(|| finer.parse_elsewhere(body))?;
                Some(rescaled(ticks, finer.digits()?, places.max(self.digits()?)))
            }
        }
    }

    /// The pattern with this number of fractional digits and this mark; `None` if it has no seconds.
    pub(crate) fn with_fraction(&self, digits: usize, mark: u8) -> Option<Self> {
        let (time, rest) = self.pattern.split_at_checked(self.pattern.find("%S")? + 2)?;
        let behind = self.own_mark().and_then(|_| rest.get(3..)).unwrap_or(rest);
        Some(Self { pattern: format!("{time}{}{behind}", field(digits, mark)) })
    }

    /// The decimal mark of its seconds, if they have a fraction.
    pub(crate) fn own_mark(&self) -> Option<u8> {
        let rest = self.pattern.as_bytes().get(self.pattern.find("%S")? + 2..)?;
        rest.first().copied().filter(|mark| MARKS.contains(mark) && rest.get(1) == Some(&b'%'))
    }

    /// A time with another decimal mark, converted to the pattern's mark.
    fn remarked(&self, body: &[u8]) -> Option<Vec<u8>> {
        let (at, own) = (mark_at(body)?, self.own_mark()?);
        let mut body = body.to_vec();
        let mark = body.get_mut(at).filter(|mark| **mark != own)?;
        *mark = own;
        Some(body)
    }

    /// The ticks of a time with another offset than the pattern's, such as summer time.
    pub fn parse_elsewhere(&self, body: &[u8]) -> Option<i64> {
        offset(self.tail().as_bytes())?;
        let there = std::str::from_utf8(zone(body)?).ok()?;
        let pattern = format!("{}{there}", self.pattern.strip_suffix(self.tail())?);
        let style = Self { pattern };
        style.parse(body).or_else(|| style.parse(&style.filled(body)?))
    }

    /// A time with fewer fractional digits than the pattern, or none, padded with zeros.
    pub fn filled(&self, body: &[u8]) -> Option<Vec<u8>> {
        let digits = self.fraction() as usize;
        let lacking = self.length()?.checked_sub(body.len()).filter(|n| digits > 0 && (1..=digits + 1).contains(n))?;
        let tail = self.tail().as_bytes();
        let (time, zone) = match body.strip_suffix(b"Z") {
            Some(time) => (time, &b"Z"[..]),
            None => body.strip_suffix(tail).map_or((body, &b""[..]), |time| (time, tail)),
        };
        let own = [self.own_mark().unwrap_or(POINT)];
        let mark: &[u8] = if lacking > digits { &own } else { b"" };
        Some([time, mark, &b"000000000"[..lacking - mark.len()], zone].concat())
    }
}

/// The pattern's field for this number of fractional digits after this mark.
pub(crate) fn field(digits: usize, mark: u8) -> String {
    if (1..=9).contains(&digits) { format!("{}%{digits}", char::from(mark)) } else { String::new() }
}

/// Number of fractional digits of the seconds of a time.
pub(crate) fn digits(body: &[u8]) -> usize {
    let behind = mark_at(body).and_then(|at| body.get(at + 1..));
    behind.map_or(0, |rest| rest.iter().take_while(|b| b.is_ascii_digit()).count())
}

/// The decimal mark of a time.
pub(crate) fn mark(body: &[u8]) -> Option<u8> {
    mark_at(body).and_then(|at| body.get(at).copied())
}

/// The position of a decimal mark after seconds, not of one between day and month.
fn mark_at(body: &[u8]) -> Option<usize> {
    let at = body.iter().rposition(|b| MARKS.contains(b))?;
    let [.., before, tens, ones] = body.get(..at)? else { return None };
    let seconds = tens.is_ascii_digit() && ones.is_ascii_digit();
    (seconds && (*before == b':' || before.is_ascii_digit())).then_some(at)
}

/// Converts ticks between numbers of decimal places of a second; `None` if the result is not exact.
fn rescaled(ticks: i64, from: u32, to: u32) -> Option<i64> {
    let unit = *POW10.get(from.abs_diff(to) as usize)?;
    if to >= from { ticks.checked_mul(unit) } else { (ticks % unit == 0).then(|| ticks / unit) }
}
