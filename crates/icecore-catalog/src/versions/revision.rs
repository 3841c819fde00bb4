//! Versions relative to others, in git's notation: `main~3`, `v1^`, `@{2026-11-01}`, `run@{2026-11-01}~1`.

/// A version some commits before another one, or the last one of a branch until a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Revision<'a> {
    /// A branch, tag, snapshot or time; empty: `main`.
    pub base: &'a str,
    /// The text between `@{` and `}`.
    pub time: Option<&'a str>,
    /// Number of commits to go back.
    pub steps: usize,
}

/// Parses `BASE~N`, `BASE~` and `BASE^` (one commit each), `BASE@{TIME}` and combinations. In `REPO@{TIME}` the `@` separates
/// the repository already, so `{TIME}` alone is accepted too. None: the text has no such suffix.
pub(crate) fn parse(text: &str) -> Option<Revision<'_>> {
    let (mut rest, mut steps) = (text, 0_usize);
    while let Some((before, count)) = step(rest) {
        steps = steps.checked_add(count)?;
        rest = before;
    }
    let is_stepped = rest.len() < text.len();
    if let Some((base, time)) = braces(rest) {
        return Some(Revision { base, time: Some(time), steps });
    }
    is_stepped.then_some(Revision { base: rest, time: None, steps })
}

/// The text before a last `~N`, `~` or `^`, and the number of commits that it means.
fn step(text: &str) -> Option<(&str, usize)> {
    if let Some(before) = text.strip_suffix('^') {
        return Some((before, 1));
    }
    let bare = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let before = bare.strip_suffix('~')?;
    let digits = text.strip_prefix(bare).unwrap_or_default();
    Some((before, if digits.is_empty() { 1 } else { digits.parse().ok()? }))
}

/// The base and the time of `BASE@{TIME}` or `{TIME}`.
fn braces(text: &str) -> Option<(&str, &str)> {
    let (before, time) = text.strip_suffix('}')?.split_once('{')?;
    let base = before.strip_suffix('@').or_else(|| before.is_empty().then_some(before))?;
    Some((base, time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notation() {
        let parsed = |text| parse(text).map(|found| (found.base, found.time, found.steps));
        assert_eq!(parsed("main~1"), Some(("main", None, 1)));
        assert_eq!(parsed("main~"), Some(("main", None, 1)));
        assert_eq!(parsed("v1^^~3"), Some(("v1", None, 5)));
        assert_eq!(parsed("main~0"), Some(("main", None, 0)));
        assert_eq!(parsed("2026-11-01~2"), Some(("2026-11-01", None, 2)));
        assert_eq!(parsed("@{2026-11-01}"), Some(("", Some("2026-11-01"), 0)));
        assert_eq!(parsed("{2026-11-01T10:00:00+02:00}~1"), Some(("", Some("2026-11-01T10:00:00+02:00"), 1)));
        assert_eq!(parsed("run@{2026-11-01 10:00}"), Some(("run", Some("2026-11-01 10:00"), 0)));
        assert_eq!(parsed("~2"), Some(("", None, 2)));
        for plain in ["main", "", "v1.0_x-y", "a~b", "a^2", "x{1}", "x@1}", "main~99999999999999999999999"] {
            assert_eq!(parsed(plain), None, "{plain}");
        }
    }
}
