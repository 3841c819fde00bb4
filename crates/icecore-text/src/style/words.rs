//! Cells of text.

use serde::{Deserialize, Serialize};

/// Condition for quoting a cell. Quotes inside are doubled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quote {
    Never,
    Always,
    /// If it contains a separator, a quote or a line end.
    Needed,
}

/// Notation of text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WordStyle {
    pub quote: Quote,
}

fn needs(text: &[u8], separator: u8) -> bool {
    text.iter().any(|b| *b == separator || matches!(b, b'"' | b'\n' | b'\r'))
}

/// The text between quotes, with doubled quotes inside.
pub(crate) fn single_quotes(inside: &[u8], into: &mut Vec<u8>) {
    let mut skip = false;
    for b in inside {
        if *b == b'"' && !skip {
            skip = true;
            continue;
        }
        if skip && *b != b'"' {
            into.push(b'"');
        }
        skip = false;
        into.push(*b);
    }
    if skip {
        into.push(b'"');
    }
}

impl WordStyle {
    /// The text of `body`; it may still be printed differently.
    pub fn read(&self, body: &[u8], into: &mut Vec<u8>) {
        let quoted =
            body.strip_prefix(b"\"").and_then(|b| b.strip_suffix(b"\"")).filter(|_| self.quote != Quote::Never);
        let Some(inside) = quoted else {
            into.extend_from_slice(body);
            return;
        };
        single_quotes(inside, into);
    }

    /// Writes `text`.
    pub fn print(&self, text: &[u8], separator: u8, out: &mut Vec<u8>) {
        if self.quote == Quote::Never || (self.quote == Quote::Needed && !needs(text, separator)) {
            out.extend_from_slice(text);
            return;
        }
        out.push(b'"');
        for b in text {
            if *b == b'"' {
                out.push(b'"');
            }
            out.push(*b);
        }
        out.push(b'"');
    }
}
