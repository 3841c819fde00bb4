//! Dates and times as ticks since 1970, times of day as ticks since midnight.

use serde::{Deserialize, Serialize};

const MONTHS: [&[u8; 3]; 12] =
    [b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec"];
const HALVES: [&[u8; 2]; 2] = [b"AM", b"PM"];

/// A time's pattern: `%Y` year, `%m` month, `%d` day, `%j` day of the year, `%b` month's name (`Jan`), `%B` the same in
/// capitals, `%H` `%M` `%S`, `%I` hour of a 12-hour clock (`12`, `01` … `11`), `%p` its marker (`AM`), `%P` the marker
/// in small letters, `%1` … `%9` this many digits of a fraction of a second, all of fixed width; `%n` month, `%e` day,
/// `%k` hour and `%l` hour of a 12-hour clock without a leading zero. All other characters are literal. An offset from
/// UTC at the end (`+02:00`) is subtracted, so that ticks are in UTC. Names match in any case.
///
/// A second of 60 is read as the last second of a day: a time of day keeps it; a date with time prints differently and
/// becomes an escape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeStyle {
    pub pattern: String,
}

#[derive(Default)]
struct Parts {
    year: i64,
    month: i64,
    day: i64,
    of_year: i64,
    hour: i64,
    minute: i64,
    second: i64,
    fraction: i64,
    /// 0 in the morning, 1 after noon.
    half: i64,
}

/// Days since 1970-01-01 of a date of the Gregorian calendar (Hinnant's algorithm, "chrono-compatible low-level date
/// algorithms").
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// (year, month, day): the inverse of [`days`].
fn date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Number of characters of a pattern's field; `None` for one or two.
fn width(field: u8) -> Option<usize> {
    match field {
        b'n' | b'e' | b'k' | b'l' => None,
        b'Y' => Some(4),
        b'j' | b'b' | b'B' => Some(3),
        b'1'..=b'9' => Some(usize::from(field - b'0')),
        _ => Some(2),
    }
}

/// Number of leading digits of `text`, one or two.
fn short(text: &[u8]) -> usize {
    1 + usize::from(text.get(1).is_some_and(u8::is_ascii_digit))
}

fn number(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0i64, |sum, b| b.is_ascii_digit().then(|| sum * 10 + i64::from(b - b'0')))
}

/// The index of the name in `names`.
fn which<const N: usize>(names: &[&[u8; N]], text: &[u8]) -> Option<i64> {
    names.iter().position(|name| name.eq_ignore_ascii_case(text)).map(|at| at as i64)
}

/// The hour of a 12-hour clock.
fn on_clock(hour: i64) -> i64 {
    (hour + 11) % 12 + 1
}

fn put(value: i64, width: usize, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + width, b'0');
    let mut rest = value;
    for digit in out[start..].iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
}

/// Offset of local time from UTC in seconds, from `+02:00`, `-0330` or `+02`.
pub(crate) fn offset(zone: &[u8]) -> Option<i64> {
    let (sign, hours, minutes) = match zone {
        [sign, a, b] => (sign, [*a, *b], [b'0'; 2]),
        [sign, a, b, c, d] | [sign, a, b, b':', c, d] => (sign, [*a, *b], [*c, *d]),
        _ => return None,
    };
    let (hours, minutes) = (number(&hours)?, number(&minutes)?);
    let seconds = (hours < 24 && minutes < 60).then_some(hours * 3600 + minutes * 60)?;
    match sign {
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

/// The offset from UTC at the end of a date and time.
pub(crate) fn zone(body: &[u8]) -> Option<&[u8]> {
    let at = body.iter().rposition(|b| matches!(b, b'+' | b'-'))?;
    let (time, zone) = body.split_at(at);
    (time.contains(&b':') && offset(zone).is_some()).then_some(zone)
}

impl TimeStyle {
    /// The text after the last field.
    pub(crate) fn tail(&self) -> &str {
        let behind = self.pattern.rfind('%').map_or(0, |at| at + 2);
        self.pattern.get(behind..).unwrap_or_default()
    }

    /// Offset of its times from UTC in seconds.
    fn ahead(&self) -> i64 {
        if self.dated() && self.clocked() { offset(self.tail().as_bytes()).unwrap_or(0) } else { 0 }
    }

    fn has(&self, what: &str) -> bool {
        self.pattern.contains(what)
    }

    /// Whether it has a time of day.
    fn clocked(&self) -> bool {
        self.has("%H") || self.has("%k") || self.halved()
    }

    /// Whether its hours are those of a 12-hour clock.
    fn halved(&self) -> bool {
        self.has("%I") || self.has("%l")
    }

    /// The pattern with day and month exchanged, if it begins with both as numbers.
    pub(crate) fn exchanged(&self) -> Option<Self> {
        let (first, rest) = self.pattern.split_at_checked(2)?;
        let (joint, rest) = rest.split_at_checked(1)?;
        let (second, rest) = rest.split_at_checked(2)?;
        let pair = [("%d", "%m"), ("%m", "%d"), ("%e", "%n"), ("%n", "%e")].contains(&(first, second));
        (pair && joint != ".").then(|| Self { pattern: format!("{second}{joint}{first}{rest}") })
    }

    /// Number of printed digits of the fraction of a second.
    pub(crate) fn fraction(&self) -> u32 {
        let fields = self.pattern.as_bytes().array_windows().filter(|[mark, _]| *mark == b'%');
        fields.filter_map(|[_, field]| char::from(*field).to_digit(10)).filter(|n| *n > 0).min().unwrap_or(0)
    }

    /// Whether the pattern has a complete date, or none.
    pub fn sound(&self) -> bool {
        let any = |fields: &[&str]| fields.iter().any(|field| self.has(field));
        let day = self.has("%j") || (any(&["%m", "%b", "%B", "%n"]) && any(&["%d", "%e"]));
        let halves = self.halved() == any(&["%p", "%P"]) && !(self.halved() && any(&["%H", "%k"]));
        self.pattern.is_ascii() && self.has("%Y") == day && (day || self.clocked()) && halves
    }

    pub fn dated(&self) -> bool {
        self.has("%Y")
    }

    /// Length of every value in it, if it is constant.
    pub fn length(&self) -> Option<usize> {
        let mut pattern = self.pattern.bytes();
        let mut length = 0;
        while let Some(byte) = pattern.next() {
            length += if byte == b'%' { width(pattern.next().unwrap_or(0))? } else { 1 };
        }
        Some(length)
    }

    /// NumPy's name of a tick.
    pub fn unit(&self) -> &'static str {
        match self.fraction() {
            0 if !self.clocked() => "D",
            0 => "s",
            1..=3 => "ms",
            4..=6 => "us",
            _ => "ns",
        }
    }

    /// Decimal places of a second in a tick; `None` for days.
    pub fn digits(&self) -> Option<u32> {
        match self.unit() {
            "D" => None,
            "ms" => Some(3),
            "us" => Some(6),
            "ns" => Some(9),
            _ => Some(0),
        }
    }

    fn ticks(&self) -> i64 {
        10i64.pow(self.digits().unwrap_or(0))
    }

    /// The ticks of `body`.
    pub fn parse(&self, body: &[u8]) -> Option<i64> {
        let (parts, rest) = self.parts(body)?;
        if rest.is_empty() { self.join(&parts) } else { None }
    }

    /// Whether `body` begins with a match of the pattern.
    pub(crate) fn begins(&self, body: &[u8]) -> bool {
        self.parts(body).is_some()
    }

    /// The values of the pattern's fields, and the rest of the text.
    fn parts<'a>(&self, body: &'a [u8]) -> Option<(Parts, &'a [u8])> {
        let mut parts = Parts { month: 1, day: 1, ..Parts::default() };
        let mut rest = body;
        let mut pattern = self.pattern.bytes();
        while let Some(wanted) = pattern.next() {
            let field = if wanted == b'%' { pattern.next()? } else { 0 };
            let bytes = if field == 0 { 1 } else { width(field).unwrap_or_else(|| short(rest)) };
            let (text, after) = rest.split_at_checked(bytes)?;
            rest = after;
            match field {
                0 if text != [wanted] => return None,
                0 => {}
                b'b' | b'B' => parts.month = which(&MONTHS, text)? + 1,
                b'p' | b'P' => parts.half = which(&HALVES, text)?,
                _ => parts.set(field, number(text)?, self.ticks()),
            }
        }
        Some((parts, rest))
    }

    fn join(&self, parts: &Parts) -> Option<i64> {
        let hour = match parts.hour {
            hour if !self.halved() => hour,
            hour @ 1..=12 => hour % 12 + 12 * parts.half,
            _ => return None,
        };
        let in_range = hour < 24 && parts.minute < 60 && parts.second <= 60;
        let leap = parts.second == 60 && (hour, parts.minute) != (23, 59);
        if !in_range || leap {
            return None;
        }
        let second = hour * 3600 + parts.minute * 60 + parts.second;
        if !self.dated() {
            return Some(second * self.ticks() + parts.fraction);
        }
        let day = if self.has("%j") {
            days(parts.year, 1, 1) + parts.of_year - 1
        } else {
            let day = days(parts.year, parts.month, parts.day);
            (date(day) == (parts.year, parts.month, parts.day)).then_some(day)?
        };
        if self.has("%j") && date(day).0 != parts.year {
            return None;
        }
        if self.unit() == "D" {
            return Some(day);
        }
        (day * 86_400 + second - self.ahead()).checked_mul(self.ticks())?.checked_add(parts.fraction)
    }

    /// Writes `value`; false if the pattern can't represent it.
    pub fn print(&self, value: i64, out: &mut Vec<u8>) -> bool {
        let Some(parts) = self.split(value) else { return false };
        let mut pattern = self.pattern.bytes();
        while let Some(byte) = pattern.next() {
            let field = if byte == b'%' { pattern.next().unwrap_or(0) } else { 0 };
            match field {
                0 => out.push(byte),
                b'Y' => put(parts.year, 4, out),
                b'm' => put(parts.month, 2, out),
                b'd' => put(parts.day, 2, out),
                b'n' => put(parts.month, 1 + usize::from(parts.month > 9), out),
                b'e' => put(parts.day, 1 + usize::from(parts.day > 9), out),
                b'k' => put(parts.hour, 1 + usize::from(parts.hour > 9), out),
                b'j' => put(parts.of_year, 3, out),
                b'b' => out.extend_from_slice(parts.named()),
                b'B' => out.extend(parts.named().to_ascii_uppercase()),
                b'H' => put(parts.hour, 2, out),
                b'I' => put(on_clock(parts.hour), 2, out),
                b'l' => put(on_clock(parts.hour), 1 + usize::from(on_clock(parts.hour) > 9), out),
                b'p' => out.extend_from_slice(HALVES[usize::from(parts.hour > 11)]),
                b'P' => out.extend(HALVES[usize::from(parts.hour > 11)].to_ascii_lowercase()),
                b'M' => put(parts.minute, 2, out),
                b'S' => put(parts.second, 2, out),
                digits => {
                    let width = usize::from(digits.wrapping_sub(b'0').min(9));
                    let shift = self.ticks().ilog10() as usize;
                    put(parts.fraction / 10i64.pow(shift.saturating_sub(width) as u32), width, out);
                }
            }
        }
        true
    }

    fn split(&self, value: i64) -> Option<Parts> {
        let mut parts = Parts::default();
        let value = value.checked_add(self.ahead() * self.ticks())?;
        let (day, of_day) = match (self.dated(), self.unit()) {
            (true, "D") => (value, 0),
            (true, _) => (value.div_euclid(86_400 * self.ticks()), value.rem_euclid(86_400 * self.ticks())),
            (false, _) => (0, value),
        };
        let second = of_day / self.ticks();
        if of_day < 0 || second > 86_400 || !(-719_528..=2_932_896).contains(&day) {
            return None; // years 0 to 9999
        }
        (parts.year, parts.month, parts.day) = date(day);
        parts.of_year = day - days(parts.year, 1, 1) + 1;
        parts.fraction = of_day % self.ticks();
        let leap = i64::from(second == 86_400);
        (parts.hour, parts.minute) = ((second - leap) / 3600, (second - leap) / 60 % 60);
        parts.second = (second - leap) % 60 + leap;
        Some(parts)
    }
}

impl Parts {
    fn named(&self) -> &'static [u8] {
        MONTHS.get(self.month as usize - 1).map_or(b"???", |name| *name)
    }

    fn set(&mut self, field: u8, value: i64, ticks: i64) {
        match field {
            b'Y' => self.year = value,
            b'm' | b'n' => self.month = value,
            b'd' | b'e' => self.day = value,
            b'j' => self.of_year = value,
            b'H' | b'k' | b'I' | b'l' => self.hour = value,
            b'M' => self.minute = value,
            b'S' => self.second = value,
            digits => {
                let width = u32::from(digits.wrapping_sub(b'0').min(9));
                self.fraction = value * 10i64.pow(ticks.ilog10().saturating_sub(width));
            }
        }
    }
}
