//! A served file: its path and its HTTP identity.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use crate::request::Head;

pub struct Served {
    pub file: File,
    pub length: u64,
    pub etag: String,
    pub last_modified: String,
    modified_s: i64,
}

/// The file below `root` that a request's path names; `None` if it does not exist or the path leaves the directory.
pub fn find(root: &Path, path: &str) -> Option<Served> {
    let mut full = PathBuf::from(root);
    for part in Path::new(path.trim_start_matches('/')).components() {
        match part {
            Component::Normal(name) => full.push(name),
            Component::CurDir => {}
            _ => return None,
        }
    }
    let file = File::open(full).ok()?;
    let meta = file.metadata().ok()?;
    meta.is_file().then(|| Served {
        file,
        length: meta.len(),
        etag: format!(
            "\"{:x}-{:x}-{:x}\"",
            meta.ino(),
            meta.len(),
            meta.mtime().wrapping_mul(1_000_000_000).wrapping_add(meta.mtime_nsec())
        ),
        last_modified: http_date(meta.mtime()),
        modified_s: meta.mtime(),
    })
}

/// Result of the conditional headers for a file.
#[derive(Debug, PartialEq)]
pub enum Condition {
    Go,
    NotModified,
    Failed,
}

impl Served {
    pub fn condition(&self, head: &Head) -> Condition {
        let named =
            |tags: &str| tags.trim() == "*" || tags.split(',').any(|t| t.trim().trim_start_matches("W/") == self.etag);
        let date = |name| head.header(name).and_then(parse_http_date);
        if head.header("if-match").is_some_and(|tags| !named(tags)) {
            return Condition::Failed;
        }
        if head.header("if-match").is_none() && date("if-unmodified-since").is_some_and(|d| self.modified_s > d) {
            return Condition::Failed;
        }
        if let Some(tags) = head.header("if-none-match") {
            return if named(tags) { Condition::NotModified } else { Condition::Go };
        }
        if date("if-modified-since").is_some_and(|d| self.modified_s <= d) {
            return Condition::NotModified;
        }
        Condition::Go
    }

    /// `If-Range`: the range applies only if the file is still the one that the client knows.
    pub fn range_counts(&self, head: &Head) -> bool {
        head.header("if-range").is_none_or(|known| known == self.etag || known == self.last_modified)
    }
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
/// Days from 0000-03-01 to 1970-01-01 in the proleptic Gregorian calendar, and in each 400 years.
const EPOCH: i64 = 719_468;
const ERA: i64 = 146_097;

/// Seconds since 1970 as an IMF-fixdate (RFC 9110, section 5.6.7).
pub fn http_date(seconds: i64) -> String {
    let (days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // A year that begins in March has its leap day last, so months and years are plain divisions.
    let (era, of_era) = ((days + EPOCH).div_euclid(ERA), (days + EPOCH).rem_euclid(ERA));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153; // 0 is March
    let day = of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year_of_era + i64::from(month >= 10);
    format!(
        "{}, {day:02} {} {year:04} {:02}:{:02}:{:02} GMT",
        DAYS[days.rem_euclid(7) as usize],
        MONTHS[((month + 2) % 12) as usize],
        time / 3600,
        time / 60 % 60,
        time % 60
    )
}

fn parse_http_date(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split([' ', ':']).filter(|w| !w.is_empty()).collect();
    let [_, day, month, year, hour, minute, second, _] = words[..] else { return None };
    let number = |word: &str| word.parse::<i64>().ok().filter(|n| (0..10_000).contains(n));
    let month = MONTHS.iter().position(|m| *m == month)? as i64;
    let (march_month, march_year) = ((month + 10) % 12, number(year)? - i64::from(month < 2));
    let (era, of_era) = (march_year.div_euclid(400), march_year.rem_euclid(400));
    let days =
        era * ERA + of_era * 365 + of_era / 4 - of_era / 100 + (153 * march_month + 2) / 5 + number(day)? - 1 - EPOCH;
    Some(days * 86_400 + number(hour)? * 3600 + number(minute)? * 60 + number(second)?)
}
