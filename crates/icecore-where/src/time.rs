//! Parse ISO times (`'2019-04-16'`, `'2019-04-16T09:39:11.25Z'`, `'2019-04-16 09:39+02:00'`) and durations
//! (`'09:39:11.25'`).

use icecore_grid::{date_of_days, days_of_date};

use crate::ranges::Fitted;

/// Nanoseconds.
const MINUTE: i128 = 60_000_000_000;

/// Nanoseconds since 1970 (UTC) of an ISO time in the proleptic Gregorian calendar; None for any other string.
pub(crate) fn parse(text: &str) -> Option<i128> {
    let text = text.trim();
    let (date, clock) = match text.find(['T', 't', ' ']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?),
        None => (text, ""),
    };
    let day = i128::from(parse_date(date)?);
    Some(day * 86_400_000_000_000 + if clock.is_empty() { 0 } else { parse_clock(clock)? })
}

fn digits(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<i64> {
    (length.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn parse_date(date: &str) -> Option<i64> {
    let (sign, rest) = date.strip_prefix('-').map_or((1, date), |rest| (-1, rest));
    let mut parts = rest.split('-');
    let year = sign * digits(parts.next()?, 4..=6)?;
    let month = parts.next().map_or(Some(1), |m| digits(m, 1..=2))?;
    let day = parts.next().map_or(Some(1), |d| digits(d, 1..=2))?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let longest = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (parts.next().is_none() && (1..=longest).contains(&day)).then(|| days_of_date(year, month, day))
}

fn parse_clock(clock: &str) -> Option<i128> {
    let (clock, offset) = if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        (clock, 0)
    } else if let Some(at) = clock.rfind(['+', '-']) {
        let zone = clock.get(at + 1..)?;
        let (hours, minutes) = zone.split_once(':').unwrap_or((zone, "0"));
        let minutes = digits(hours, 1..=2)? * 60 + digits(minutes, 1..=2)?;
        (clock.get(..at)?, if clock.get(at..=at) == Some("-") { -minutes } else { minutes })
    } else {
        (clock, 0)
    };
    let mut parts = clock.split(':');
    let hour = digits(parts.next()?, 1..=2).filter(|h| *h <= 24)?;
    let minute = digits(parts.next().unwrap_or("0"), 1..=2).filter(|m| *m < 60)?;
    let nanoseconds = parse_seconds(parts.next().unwrap_or("0"))?;
    parts.next().is_none().then_some(i128::from(hour * 60 + minute - offset) * MINUTE + nanoseconds)
}

/// `11.25` as nanoseconds; a minute may have 61 seconds.
fn parse_seconds(seconds: &str) -> Option<i128> {
    let (second, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let second = digits(second, 1..=2).filter(|s| *s <= 60)?;
    let nanoseconds = digits(&format!("{fraction:0<9}"), 9..=9)?;
    Some(i128::from(second) * 1_000_000_000 + i128::from(nanoseconds))
}

/// Nanoseconds of a time of day or duration: `'00:05:00'`, `'-1:30:00.25'`, `'49:00:00'`; None for any other string.
/// `'05:00'` is rejected because it could mean hours or minutes.
pub(crate) fn parse_duration(text: &str) -> Option<i128> {
    let text = text.trim();
    let (sign, clock) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = clock.split(':');
    let hours = digits(parts.next()?, 1..=9)?;
    let minute = digits(parts.next()?, 1..=2).filter(|m| *m < 60)?;
    let nanoseconds = parse_seconds(parts.next()?)?;
    parts.next().is_none().then_some(sign * (i128::from(hours * 60 + minute) * MINUTE + nanoseconds))
}

/// A duration as counts of `scale` × `unit`; None for months and years, which have no fixed length.
pub(crate) fn duration_ticks(nanoseconds: i128, unit: &str, scale: u64) -> Option<Fitted<i128>> {
    if matches!(unit, "Y" | "M") { None } else { ticks(nanoseconds, unit, scale) }
}

/// A time as counts of `scale` × `unit`, as NumPy names units.
pub(crate) fn ticks(nanoseconds: i128, unit: &str, scale: u64) -> Option<Fitted<i128>> {
    let scale = i128::from(scale.max(1));
    if let "Y" | "M" = unit {
        let (months, exact) = months(nanoseconds);
        let per = scale * if unit == "Y" { 12 } else { 1 };
        return Some(fitted(months.div_euclid(per), exact && months.rem_euclid(per) == 0));
    }
    let (factor, divisor) = length(unit)?;
    let (count, per) = (nanoseconds * factor, divisor * scale);
    Some(fitted(count.div_euclid(per), count.rem_euclid(per) == 0))
}

/// Nanoseconds since 1970 of a time that counts `scale` × `unit`; None for units that are not NumPy's.
pub(crate) fn nanoseconds(ticks: i128, unit: &str, scale: u64) -> Option<i128> {
    let count = ticks.checked_mul(i128::from(scale.max(1)))?;
    if let "Y" | "M" = unit {
        let month = i64::try_from(count.checked_mul(if unit == "Y" { 12 } else { 1 })?).ok()?;
        let day = days_of_date(month.div_euclid(12).checked_add(1970)?, month.rem_euclid(12) + 1, 1);
        return i128::from(day).checked_mul(86_400_000_000_000);
    }
    let (factor, divisor) = length(unit)?;
    Some(count.checked_mul(divisor)?.div_euclid(factor))
}

/// Nanoseconds of one tick of `scale` × `unit`; None if they are not an integer.
pub(crate) fn tick(unit: &str, scale: u64) -> Option<i128> {
    length(unit).filter(|(factor, _)| *factor == 1).map(|(_, divisor)| divisor * i128::from(scale.max(1)))
}

/// A unit in nanoseconds, as (denominator, numerator).
fn length(unit: &str) -> Option<(i128, i128)> {
    Some(match unit {
        "W" => (1, 7 * 86_400_000_000_000),
        "D" => (1, 86_400_000_000_000),
        "h" => (1, 3_600_000_000_000),
        "m" => (1, MINUTE),
        "s" => (1, 1_000_000_000),
        "ms" => (1, 1_000_000),
        "us" => (1, 1000),
        "ns" => (1, 1),
        "ps" => (1000, 1),
        "fs" => (1_000_000, 1),
        "as" => (1_000_000_000, 1),
        _ => return None,
    })
}

/// A time in units of `unit` ns since `zero`; None if these are not integers.
pub(crate) fn counts(nanoseconds: i128, (unit, zero): (f64, f64)) -> Option<Fitted<i128>> {
    let whole = |x: f64| (x.fract() == 0.0 && x.abs() < 2f64.powi(96)).then_some(x as i128);
    let (unit, zero) = (whole(unit).filter(|unit| *unit > 0)?, whole(zero)?);
    let since = nanoseconds - zero;
    Some(fitted(since.div_euclid(unit), since.rem_euclid(unit) == 0))
}

/// The same as a float.
pub(crate) fn since(nanoseconds: i128, (unit, zero): (f64, f64)) -> f64 {
    let exact = zero.fract() == 0.0 && zero.abs() < 2f64.powi(96);
    (if exact { (nanoseconds - zero as i128) as f64 } else { nanoseconds as f64 - zero }) / unit
}

fn fitted(floor: i128, exact: bool) -> Fitted<i128> {
    Fitted { floor, ceil: if exact { floor } else { floor + 1 } }
}

/// Complete months since 1970-01, and whether the time is exactly the start of a month.
fn months(nanoseconds: i128) -> (i128, bool) {
    let (year, month, day) = date_of_days(nanoseconds.div_euclid(86_400_000_000_000) as i64);
    let exact = day == 1 && nanoseconds.rem_euclid(86_400_000_000_000) == 0;
    (i128::from(year - 1970) * 12 + i128::from(month - 1), exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_times() {
        assert_eq!(parse("1970-01-01"), Some(0));
        assert_eq!(parse("2000-02-29T12:00:00.25Z"), Some(951_825_600_250_000_000));
        assert_eq!(parse("1970-01-01 02:00+02:00"), Some(0));
        assert_eq!(parse("1969-12-31T23:59:59"), Some(-1_000_000_000));
        assert_eq!(parse("2019"), parse("2019-01-01"));
        for bad in
            ["", "x", "2019-13-01", "2019-02-30", "2019-01-01T25", "2019-01-01T10:61", "19-01-01", "2019-01-01-01"]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("00:05:00"), Some(300_000_000_000));
        assert_eq!(parse_duration(" 0:05:00.123 "), Some(300_123_000_000));
        assert_eq!(parse_duration("-01:00:00.5"), Some(-3_600_500_000_000));
        assert_eq!(parse_duration("-00:00:00.000000001"), Some(-1));
        assert_eq!(parse_duration("+49:00:00"), Some(49 * 60 * MINUTE));
        assert_eq!(parse_duration("999999999:59:60"), Some((999_999_999 * 60 + 60) * MINUTE));
        for bad in [
            "",
            "5",
            "05:00",
            "00:60:00",
            "00:00:61",
            "0:0:0:0",
            "--1:00:00",
            "1:-2:00",
            "00:05:00Z",
            "00:05:00+01:00",
            "1234567890:00:00",
            "00:00:00.0000000001",
            "2019-01-01T00:05:00",
            "x:00:00",
        ] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_as_ticks() {
        let five = parse_duration("00:05:00.5").unwrap();
        assert_eq!(duration_ticks(five, "ms", 1), Some(Fitted { floor: 300_500, ceil: 300_500 }));
        assert_eq!(duration_ticks(five, "s", 1), Some(Fitted { floor: 300, ceil: 301 }));
        assert_eq!(duration_ticks(-five, "s", 10), Some(Fitted { floor: -31, ceil: -30 }));
        assert_eq!(duration_ticks(five, "M", 1), None);
    }

    #[test]
    fn units() {
        let noon = parse("2000-01-01T12:00").unwrap();
        assert_eq!(ticks(noon, "D", 1), Some(Fitted { floor: 10957, ceil: 10958 }));
        assert_eq!(ticks(noon, "h", 12), Some(Fitted { floor: 21915, ceil: 21915 }));
        assert_eq!(ticks(parse("2000-01-01").unwrap(), "Y", 1), Some(Fitted { floor: 30, ceil: 30 }));
        assert_eq!(ticks(parse("1969-12-31").unwrap(), "M", 1), Some(Fitted { floor: -1, ceil: 0 }));
    }
}
