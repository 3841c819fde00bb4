//! Conditions on strings: sets, order, patterns. Strings are compared as UTF-8, which is the order of code points.

use std::borrow::Cow;

use crate::ast::Op;

/// Decodes a stored string: UTF-8, or Latin-1 (used by older files) if it is not valid UTF-8.
#[must_use]
pub fn decoded(text: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(text) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(text.iter().map(|byte| char::from(*byte)).collect()),
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TextTest {
    /// Equal to one of these encoded strings; sorted.
    In(Vec<Vec<u8>>),
    Compare(Op, String),
    Prefix(String),
    /// `%` matches any characters, `_` one character.
    Like(Vec<char>),
}

impl TextTest {
    pub fn like(pattern: &str) -> Self {
        match pattern.strip_suffix('%') {
            Some(prefix) if !prefix.contains(['%', '_']) => Self::Prefix(prefix.to_owned()),
            _ if !pattern.contains(['%', '_']) => Self::any(&[pattern]),
            _ => Self::Like(pattern.chars().collect()),
        }
    }

    pub fn any(texts: &[&str]) -> Self {
        let mut stored: Vec<Vec<u8>> = texts.iter().map(|text| text.as_bytes().to_vec()).collect();
        stored.extend(texts.iter().filter_map(|text| latin1(text)));
        stored.sort();
        stored.dedup();
        Self::In(stored)
    }

    pub fn holds(&self, text: &[u8]) -> bool {
        match self {
            Self::In(texts) => match texts.as_slice() {
                [only] => only == text,
                _ => texts.binary_search_by(|t| t.as_slice().cmp(text)).is_ok(),
            },
            // ASCII is the same bytes in UTF-8 and Latin-1.
            Self::Prefix(prefix) if prefix.is_ascii() => text.starts_with(prefix.as_bytes()),
            Self::Prefix(prefix) => decoded(text).starts_with(prefix.as_str()),
            Self::Compare(op, other) => op.holds(decoded(text).as_bytes(), other.as_bytes()),
            Self::Like(pattern) if text.is_ascii() => like(pattern, |i| text.get(i).map(|byte| char::from(*byte))),
            Self::Like(pattern) => {
                let text: Vec<char> = decoded(text).chars().collect();
                like(pattern, |i| text.get(i).copied())
            }
        }
    }
}

/// The Latin-1 encoding of a string, if `decoded` would decode it as Latin-1.
fn latin1(text: &str) -> Option<Vec<u8>> {
    let bytes: Vec<u8> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect::<Option<_>>()?;
    std::str::from_utf8(&bytes).is_err().then_some(bytes)
}

/// Greedy matching that backtracks to the last `%`; quadratic at worst.
fn like(pattern: &[char], text: impl Fn(usize) -> Option<char>) -> bool {
    let (mut p, mut t, mut back) = (0, 0, None);
    while let Some(character) = text(t) {
        match pattern.get(p) {
            Some('%') => {
                back = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '_' || *c == character => {
                p += 1;
                t += 1;
            }
            _ => match back {
                Some((at, from)) => {
                    (p, t) = (at + 1, from + 1);
                    back = Some((at, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern.get(p..).is_some_and(|rest| rest.iter().all(|c| *c == '%'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let holds = |pattern: &str, text: &str| TextTest::like(pattern).holds(text.as_bytes());
        assert!(holds("abc%", "abcdef") && !holds("abc%", "xabc") && holds("%", ""));
        assert!(holds("%b%d", "abcd") && holds("a_c", "aéc") && !holds("a_c", "ac"));
        assert!(holds("abc", "abc") && !holds("abc", "abcd") && !holds("%x", "abc"));
        assert!(holds("%ab%ab", "abxabab") && !holds("_", ""));
    }

    #[test]
    fn other_bytes_are_latin_1() {
        let stored = b"caf\xe9";
        assert_eq!(decoded(stored), "café");
        assert!(TextTest::any(&["café"]).holds(stored));
        assert!(TextTest::like("caf_").holds(stored) && TextTest::like("café%").holds(stored));
        assert!(TextTest::Compare(Op::Greater, "cafz".to_owned()).holds(stored));
        assert!(TextTest::any(&["café"]).holds("café".as_bytes()));
        // Bytes that are UTF-8 are nothing else: "Ã©" in Latin-1 is "é" in UTF-8.
        assert!(!TextTest::any(&["Ã©"]).holds("é".as_bytes()) && TextTest::any(&["Ã©"]).holds("Ã©".as_bytes()));
        assert!(TextTest::like("caf%").holds(stored) && TextTest::any(&["x", "café", "y"]).holds(stored));
    }
}
