//! ISO 8601 times as people write them.

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};

const FORMS: [&str; 4] = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];

/// A time with a zone or in UTC; a date stands for its last moment, so that it includes the day's commits. None: no time.
pub(crate) fn parse(text: &str) -> Option<DateTime<Utc>> {
    if let Ok(time) =
        DateTime::parse_from_rfc3339(text).or_else(|_| DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M%:z"))
    {
        return Some(time.with_timezone(&Utc));
    }
    let zoneless = text.strip_suffix(['Z', 'z']).unwrap_or(text);
    if let Some(time) = FORMS.iter().find_map(|form| NaiveDateTime::parse_from_str(zoneless, form).ok()) {
        return Some(time.and_utc());
    }
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    date.and_hms_micro_opt(23, 59, 59, 999_999).map(|time| time.and_utc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let time = |text| parse(text).map(|t| t.to_rfc3339());
        assert_eq!(time("2026-03-04T05:06:07Z").as_deref(), Some("2026-03-04T05:06:07+00:00"));
        assert_eq!(time("2026-03-04T05:06:07+02:00").as_deref(), Some("2026-03-04T03:06:07+00:00"));
        assert_eq!(time("2026-03-04T05:06").as_deref(), Some("2026-03-04T05:06:00+00:00"));
        assert_eq!(time("2026-03-04T05:06Z").as_deref(), Some("2026-03-04T05:06:00+00:00"));
        assert_eq!(time("2026-03-04 05:06:07.5").as_deref(), Some("2026-03-04T05:06:07.500+00:00"));
        assert_eq!(time("2026-03-04").as_deref(), Some("2026-03-04T23:59:59.999999+00:00"));
        assert!(["main", "2026", "2026-13-01", "v1-2026-03-04", ""].iter().all(|text| parse(text).is_none()));
    }
}
