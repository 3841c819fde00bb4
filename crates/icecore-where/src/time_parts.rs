//! Year, month, day, hour, minute and second of times.

use icecore_chunk::Number as Element;
use icecore_grid::date_of_days;

use crate::time;

/// Nanoseconds.
const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;
/// Nanoseconds to which floats are rounded: a float64 of days since 1900 resolves less than a microsecond.
const FINEST: f64 = 1000.0;

/// How a column counts time since 1970.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Clock {
    /// Ticks of `scale` units, as NumPy names units.
    Ticks(String, u64),
    /// Length of a unit, and its zero since 1970, both in ns.
    Units(f64, f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

/// The parts by name.
pub(crate) const PARTS: [(&str, Part); 6] = [
    ("year", Part::Year),
    ("month", Part::Month),
    ("day", Part::Day),
    ("hour", Part::Hour),
    ("minute", Part::Minute),
    ("second", Part::Second),
];

impl Clock {
    /// The part of a stored time; NaN if it is not a time.
    pub fn part<T: Element>(&self, part: Part, value: T) -> f64 {
        self.nanoseconds(value).map_or(f64::NAN, |ns| part.of(ns))
    }

    fn nanoseconds<T: Element>(&self, value: T) -> Option<i128> {
        match self {
            Self::Ticks(unit, scale) => time::nanoseconds(value.int(), unit, *scale),
            Self::Units(unit, zero) => {
                let whole = |x: f64| x.fract() == 0.0 && x.abs() < 2f64.powi(96);
                if !T::FLOAT && whole(*unit) && whole(*zero) {
                    return value.int().checked_mul(*unit as i128)?.checked_add(*zero as i128);
                }
                let (since, zero) = if whole(*zero) { (0.0, *zero as i128) } else { (*zero, 0) };
                let ns = ((value.float() * unit + since) / FINEST).round() * FINEST;
                (ns.abs() < 2f64.powi(96)).then(|| (ns as i128).checked_add(zero))?
            }
        }
    }
}

impl Part {
    fn of(self, nanoseconds: i128) -> f64 {
        let Ok(days) = i64::try_from(nanoseconds.div_euclid(DAY)) else { return f64::NAN };
        let clock = nanoseconds.rem_euclid(DAY);
        let date = || date_of_days(days);
        match self {
            Self::Year => date().0 as f64,
            Self::Month => date().1 as f64,
            Self::Day => date().2 as f64,
            Self::Hour => (clock / (3600 * SECOND)) as f64,
            Self::Minute => (clock / (60 * SECOND) % 60) as f64,
            Self::Second => (clock / SECOND % 60) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> Vec<f64> {
        PARTS.iter().map(|(_, part)| part.of(time::parse(text).unwrap())).collect()
    }

    #[test]
    fn parts_of_dates() {
        assert_eq!(parts("1970-01-01"), [1970.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
        assert_eq!(parts("2000-02-29T23:59:58.9"), [2000.0, 2.0, 29.0, 23.0, 59.0, 58.0]);
        assert_eq!(parts("1899-12-31T06:30"), [1899.0, 12.0, 31.0, 6.0, 30.0, 0.0]);
        assert_eq!(parts("-0001-03-01"), [-1.0, 3.0, 1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn clocks() {
        assert_eq!(Clock::Ticks("h".into(), 1).part(Part::Hour, -1_i64), 23.0);
        assert_eq!(Clock::Ticks("M".into(), 1).part(Part::Month, 14_i64), 3.0);
        let days = Clock::Units(86_400e9, -2_208_988_800e9); // since 1900
        for hour in 0..24 * 45_000 {
            assert_eq!(days.part(Part::Hour, f64::from(hour) / 24.0), f64::from(hour % 24), "{hour}");
        }
        assert_eq!(days.part(Part::Year, 25_567_i32), 1970.0);
        assert!(days.part(Part::Year, f64::NAN).is_nan() && days.part(Part::Year, f64::INFINITY).is_nan());
    }
}
