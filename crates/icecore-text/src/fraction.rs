//! Times that are written otherwise than a pattern says: with another fraction of a second or another offset.

use crate::lenient_number::POW10;
use crate::time::{TimeStyle, offset, zone};

/// The decimal mark of most times.
pub(crate) const POINT: u8 = b'.';
/// ISO 8601 allows both.
const MARKS: [u8; 2] = [POINT, b','];

impl TimeStyle {
    /// The value of `body` in ticks of an array, of `scale` decimal places of a second where those are more than the
    /// pattern's; `None` where it is no time, nothing in it where the array can't hold it.
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

    /// With so many digits of a fraction of a second behind such a mark; `None` where it has no seconds.
    pub(crate) fn with_fraction(&self, digits: usize, mark: u8) -> Option<Self> {
        let (time, rest) = self.pattern.split_at_checked(self.pattern.find("%S")? + 2)?;
        let behind = self.own_mark().and_then(|_| rest.get(3..)).unwrap_or(rest);
        Some(Self { pattern: format!("{time}{}{behind}", field(digits, mark)) })
    }

    /// The decimal mark of its seconds, where they have a fraction.
    pub(crate) fn own_mark(&self) -> Option<u8> {
        let rest = self.pattern.as_bytes().get(self.pattern.find("%S")? + 2..)?;
        rest.first().copied().filter(|mark| MARKS.contains(mark) && rest.get(1) == Some(&b'%'))
    }

    /// A time with the pattern's decimal mark in place of another one.
    fn remarked(&self, body: &[u8]) -> Option<Vec<u8>> {
        let (at, own) = (mark_at(body)?, self.own_mark()?);
        let mut body = body.to_vec();
        let mark = body.get_mut(at).filter(|mark| **mark != own)?;
        *mark = own;
        Some(body)
    }

    /// The ticks of a time with another offset than the pattern's, as in summer.
    pub fn parse_elsewhere(&self, body: &[u8]) -> Option<i64> {
        offset(self.tail().as_bytes())?;
        let there = std::str::from_utf8(zone(body)?).ok()?;
        let pattern = format!("{}{there}", self.pattern.strip_suffix(self.tail())?);
        let style = Self { pattern };
        style.parse(body).or_else(|| style.parse(&style.filled(body)?))
    }

    /// A time with fewer digits of a fraction than the pattern has, or none, with zeros for those that it lacks.
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

/// The field of a pattern for so many digits of a fraction of a second behind such a mark.
pub(crate) fn field(digits: usize, mark: u8) -> String {
    if (1..=9).contains(&digits) { format!("{}%{digits}", char::from(mark)) } else { String::new() }
}

/// Digits of the fraction of a second that a time is written with.
pub(crate) fn digits(body: &[u8]) -> usize {
    let behind = mark_at(body).and_then(|at| body.get(at + 1..));
    behind.map_or(0, |rest| rest.iter().take_while(|b| b.is_ascii_digit()).count())
}

/// The decimal mark that a time is written with.
pub(crate) fn mark(body: &[u8]) -> Option<u8> {
    mark_at(body).and_then(|at| body.get(at).copied())
}

/// Where a decimal mark stands behind seconds, and not one between day and month.
fn mark_at(body: &[u8]) -> Option<usize> {
    let at = body.iter().rposition(|b| MARKS.contains(b))?;
    let [.., before, tens, ones] = body.get(..at)? else { return None };
    let seconds = tens.is_ascii_digit() && ones.is_ascii_digit();
    (seconds && (*before == b':' || before.is_ascii_digit())).then_some(at)
}

/// Ticks of so many decimal places of a second as ticks of others; `None` where they don't say the same.
fn rescaled(ticks: i64, from: u32, to: u32) -> Option<i64> {
    let unit = *POW10.get(from.abs_diff(to) as usize)?;
    if to >= from { ticks.checked_mul(unit) } else { (ticks % unit == 0).then(|| ticks / unit) }
}
