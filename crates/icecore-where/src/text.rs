//! Conditions on texts: sets, order, patterns. Texts are compared as UTF-8, which orders as code points do.

use std::borrow::Cow;

use crate::ast::Op;

/// A stored text: UTF-8, or else Latin-1, which older files are written in and which has a character for any byte.
#[must_use]
pub fn decoded(text: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(text) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(text.iter().map(|byte| char::from(*byte)).collect()),
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TextTest {
    /// One of these, sorted.
    In(Vec<String>),
    Compare(Op, String),
    Prefix(String),
    /// `%` stands for any characters, `_` for one.
    Like(Vec<char>),
}

impl TextTest {
    pub fn like(pattern: &str) -> Self {
        match pattern.strip_suffix('%') {
            Some(prefix) if !prefix.contains(['%', '_']) => Self::Prefix(prefix.to_owned()),
            _ if !pattern.contains(['%', '_']) => Self::In(vec![pattern.to_owned()]),
            _ => Self::Like(pattern.chars().collect()),
        }
    }

    pub fn any(mut texts: Vec<String>) -> Self {
        texts.sort();
        Self::In(texts)
    }

    pub fn holds(&self, text: &[u8]) -> bool {
        let text = decoded(text);
        match self {
            Self::In(texts) => texts.binary_search_by(|t| t.as_str().cmp(&text)).is_ok(),
            Self::Compare(op, other) => op.holds(text.as_bytes(), other.as_bytes()),
            Self::Prefix(prefix) => text.starts_with(prefix.as_str()),
            Self::Like(pattern) => like(pattern, &text.chars().collect::<Vec<char>>()),
        }
    }
}

/// Greedy matching with one point to return to: the last `%`. Quadratic at worst.
fn like(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t, mut back) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('%') => {
                back = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '_' || text.get(t) == Some(c) => {
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
        assert!(TextTest::any(vec!["café".to_owned()]).holds(stored));
        assert!(TextTest::like("caf_").holds(stored) && TextTest::like("café%").holds(stored));
        assert!(TextTest::Compare(Op::Greater, "cafz".to_owned()).holds(stored));
        assert!(TextTest::any(vec!["café".to_owned()]).holds("café".as_bytes()));
    }
}
