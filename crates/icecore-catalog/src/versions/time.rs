//! ISO 8601 times in the forms that users write.

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeDelta, Utc};

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
/// The forms without a time zone, and the length of the interval that each one denotes.
const FORMS: [(&str, i64); 4] = [
    ("%Y-%m-%dT%H:%M:%S%.f", SECOND),
    ("%Y-%m-%d %H:%M:%S%.f", SECOND),
    ("%Y-%m-%dT%H:%M", MINUTE),
    ("%Y-%m-%d %H:%M", MINUTE),
];

/// Parses a time with a zone, or in UTC. A date, minute or second means its last moment, so that the interval's commits
/// are included: `icecore log` prints times to the second. None: not a time.
pub(crate) fn parse(text: &str) -> Option<DateTime<Utc>> {
    let (first, length) = zoned(text).or_else(|| zoneless(text))?;
    let length = if text.contains('.') { 1 } else { length };
    first.checked_add_signed(TimeDelta::microseconds(length - 1))
}

fn zoned(text: &str) -> Option<(DateTime<Utc>, i64)> {
    let seconds = DateTime::parse_from_rfc3339(text).map(|time| (time, SECOND));
    let minutes = || DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M%:z").map(|time| (time, MINUTE));
    let (time, length) = seconds.or_else(|_| minutes()).ok()?;
    Some((time.with_timezone(&Utc), length))
}

fn zoneless(text: &str) -> Option<(DateTime<Utc>, i64)> {
    let bare = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    let time = |(form, length): &(&str, i64)| {
        NaiveDateTime::parse_from_str(bare, form).ok().map(|time| (time.and_utc(), *length))
    };
    let date = || NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0);
    FORMS.iter().find_map(time).or_else(|| Some((date()?.and_utc(), 24 * 60 * MINUTE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let time = |text| parse(text).map(|t| t.to_rfc3339());
        assert_eq!(time("2026-03-04T05:06:07Z").as_deref(), Some("2026-03-04T05:06:07.999999+00:00"));
        assert_eq!(time("2026-03-04T05:06:07+02:00").as_deref(), Some("2026-03-04T03:06:07.999999+00:00"));
        assert_eq!(time("2026-03-04T05:06:07.000001+02:00").as_deref(), Some("2026-03-04T03:06:07.000001+00:00"));
        assert_eq!(time("2026-03-04T05:06").as_deref(), Some("2026-03-04T05:06:59.999999+00:00"));
        assert_eq!(time("2026-03-04T05:06Z").as_deref(), Some("2026-03-04T05:06:59.999999+00:00"));
        assert_eq!(time("2026-03-04T05:06+02:00").as_deref(), Some("2026-03-04T03:06:59.999999+00:00"));
        assert_eq!(time("2026-03-04 05:06:07.5").as_deref(), Some("2026-03-04T05:06:07.500+00:00"));
        assert_eq!(time("2026-03-04").as_deref(), Some("2026-03-04T23:59:59.999999+00:00"));
        assert!(["main", "2026", "2026-13-01", "v1-2026-03-04", ""].iter().all(|text| parse(text).is_none()));
    }
}
