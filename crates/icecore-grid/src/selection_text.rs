//! Selections as text, for the command line: `0:10, :, ::4` as in NumPy, or `time=0:10, lat=3` by dimension name.

use crate::error::{Error, Result};
use crate::index::Index;
use crate::resolve_index::selection_error;

const EXAMPLES: &str = "examples: 3, -1, 0:10, ::4, [1,5,9], ..., or by name: time=0:10, places counted from 0; \
                        what coordinates say (lat=52.5, a date) is selected in xarray: .sel() of engine=\"icecore\"";

/// Parses a selection. Entries are separated by commas: an integer, a slice `start:stop:step`, a list `[1, 5, 9]`, a
/// mask `[true, false]`, or `...`. With names (`dims` are the array's, `None` if an axis has none) the order is free,
/// and unnamed axes are selected whole. An empty text selects everything.
///
/// # Errors
/// `selection`: the message names the invalid entry, its position (in characters, from 1) and the known dimensions.
pub fn parse_selection(text: &str, dims: &[Option<String>]) -> Result<Vec<Index>> {
    let entries = entries(text)?;
    let named = entries.iter().filter(|entry| entry.name.is_some()).count();
    if named == 0 {
        return entries.iter().map(Entry::index).collect();
    }
    if let Some(bare) = entries.iter().find(|entry| entry.name.is_none()) {
        return Err(bare.error("has no dimension name, but other entries do", "name every entry, or none"));
    }
    let mut indexes = vec![Index::ALL; dims.len()];
    let mut seen = vec![false; dims.len()];
    for entry in &entries {
        let axis = entry.axis(dims)?;
        if seen[axis] {
            return Err(entry.error("names a dimension a second time", "give each dimension one entry"));
        }
        seen[axis] = true;
        indexes[axis] = match entry.index()? {
            Index::Ellipsis => {
                return Err(entry.error("is not a selection of one dimension", "write ':' for all of it"));
            }
            index => index,
        };
    }
    Ok(indexes)
}

/// One entry between commas.
struct Entry<'a> {
    /// The entry without surrounding blanks.
    text: &'a str,
    /// In characters, from 1.
    position: usize,
    name: Option<&'a str>,
    value: &'a str,
}

/// Splits at the commas outside brackets. A comma at the end is allowed, as in Python.
fn entries(text: &str) -> Result<Vec<Entry<'_>>> {
    let mut out = Vec::new();
    if text.trim().is_empty() {
        return Ok(out);
    }
    let (mut depth, mut from) = (0_usize, 0);
    for (at, char) in text.char_indices() {
        match char {
            '[' => depth += 1,
            ']' if depth == 0 => {
                return Err(entry(text, at, at + 1).error("closes a list that was not opened", "remove it, or add '['"));
            }
            ']' => depth -= 1,
            ',' if depth == 0 => {
                out.push(entry(text, from, at));
                from = at + 1;
            }
            _ => {}
        }
    }
    if !text[from..].trim().is_empty() {
        out.push(entry(text, from, text.len()));
    }
    match out.iter().find(|entry| entry.text.is_empty()) {
        Some(empty) => Err(empty.error("is empty between two commas", "write ':' for a whole axis")),
        None => Ok(out),
    }
}

fn entry(text: &str, from: usize, to: usize) -> Entry<'_> {
    let piece = &text[from..to];
    let start = from + (piece.len() - piece.trim_start().len());
    let piece = piece.trim();
    let (name, value) = match piece.split_once('=') {
        Some((name, value)) => (Some(name.trim()), value.trim()),
        None => (None, piece),
    };
    Entry { text: piece, position: text[..start].chars().count() + 1, name, value }
}

impl Entry<'_> {
    fn error(&self, what: &str, hint: impl Into<String>) -> Error {
        selection_error(format!("'{}' at position {} {what}", self.text, self.position), hint)
    }

    fn axis(&self, dims: &[Option<String>]) -> Result<usize> {
        let mut matches = (0..dims.len()).filter(|&axis| dims[axis].as_deref() == self.name);
        match (matches.next(), matches.next()) {
            (Some(axis), None) => Ok(axis),
            (Some(_), Some(_)) => {
                Err(self.error("names several axes", "these share a name: select by position instead"))
            }
            (None, _) => {
                let known: Vec<&str> = dims.iter().flatten().map(String::as_str).collect();
                let hint = match known.is_empty() {
                    true => "the array's axes have no names: select by position".to_string(),
                    false => format!("the dimensions are {}", known.join(", ")),
                };
                Err(self.error("names no dimension of this array", hint))
            }
        }
    }

    fn index(&self) -> Result<Index> {
        let value = self.value;
        if value == "..." || value == "…" {
            Ok(Index::Ellipsis)
        } else if let Some(inner) = value.strip_prefix('[') {
            let inner =
                inner.strip_suffix(']').ok_or_else(|| self.error("opens a list and does not close it", "add ']'"))?;
            self.list(inner)
        } else if value.contains(':') {
            self.slice()
        } else if ["None", "newaxis", "np.newaxis"].contains(&value) {
            Err(self.error("would add an axis, which a read cannot", "select first, then add the axis to the result"))
        } else {
            Ok(Index::At(self.integer(value)?))
        }
    }

    fn slice(&self) -> Result<Index> {
        let mut parts = self.value.split(':').map(str::trim);
        let mut next = || match parts.next() {
            None | Some("") => Ok(None),
            Some(part) => self.integer(part).map(Some),
        };
        let (start, stop, step) = (next()?, next()?, next()?);
        if parts.next().is_some() {
            return Err(self.error("has more than two colons", "write start:stop:step"));
        }
        if step == Some(0) {
            return Err(self.error("has step 0", "use a step of 1 or more, or a negative one to run backwards"));
        }
        Ok(Index::Slice { start, stop, step })
    }

    fn list(&self, inner: &str) -> Result<Index> {
        let inner = inner.trim();
        let inner = inner.strip_suffix(',').unwrap_or(inner);
        if inner.trim().is_empty() {
            return Ok(Index::list(vec![]));
        }
        let parts: Vec<&str> = inner.split(',').map(str::trim).collect();
        let truth = |part: &&str| match *part {
            "True" | "true" => Some(true),
            "False" | "false" => Some(false),
            _ => None,
        };
        if let Some(mask) = parts.iter().map(truth).collect::<Option<Vec<bool>>>() {
            return Ok(Index::mask(mask));
        }
        parts.iter().map(|part| self.integer(part)).collect::<Result<Vec<i64>>>().map(Index::list)
    }

    fn integer(&self, text: &str) -> Result<i64> {
        text.parse().map_err(|_| {
            let what = format!("has '{text}' where an integer is expected");
            self.error(&what, EXAMPLES)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn dims() -> Vec<Option<String>> {
        ["time", "lat", "lon"].map(|name| Some(name.to_string())).to_vec()
    }

    fn slice(start: Option<i64>, stop: Option<i64>, step: Option<i64>) -> Index {
        Index::Slice { start, stop, step }
    }

    #[test]
    fn reads_numpy_text() {
        let read = |text| parse_selection(text, &dims()).unwrap();
        assert_eq!(read("0:10, :, ::4"), [slice(Some(0), Some(10), None), Index::ALL, slice(None, None, Some(4))]);
        assert_eq!(read("-1"), [Index::At(-1)]);
        assert_eq!(read("[1,5, -9],"), [Index::list(vec![1, 5, -9])]);
        assert_eq!(read("..., [True, false]"), [Index::Ellipsis, Index::mask(vec![true, false])]);
        assert_eq!(read(" 5 : : -2 , [ ]"), [slice(Some(5), None, Some(-2)), Index::list(vec![])]);
        assert_eq!(read("  "), []);
    }

    #[test]
    fn reads_names_in_any_order() {
        let read = |text| parse_selection(text, &dims()).unwrap();
        assert_eq!(read("lat=3, time = 0:10"), [slice(Some(0), Some(10), None), Index::At(3), Index::ALL]);
        assert_eq!(read("lon=[1,2]"), [Index::ALL, Index::ALL, Index::list(vec![1, 2])]);
    }

    #[test]
    fn names_the_offending_text_and_where_it_is() {
        for (text, message, hint) in [
            ("0:10, x", "'x' at position 7 has 'x' where an integer", "examples"),
            ("time=0, depth=3", "'depth=3' at position 9 names no dimension", "the dimensions are time, lat, lon"),
            ("time=0, 3", "'3' at position 9 has no dimension name", "name every entry"),
            ("time=0, time=1", "'time=1' at position 9 names a dimension a second time", "one entry"),
            ("lat=...", "'lat=...' at position 1 is not a selection", "':'"),
            ("é, ,3", "'' at position 4 is empty", "':'"),
            ("[1,2", "'[1,2' at position 1 opens a list", "']'"),
            ("1],2", "']' at position 2 closes a list", "'['"),
            ("1:2:3:4", "has more than two colons", "start:stop:step"),
            ("::0", "has step 0", "step"),
            ("np.newaxis, 0", "would add an axis", "select first"),
            ("[1, 2.5]", "has '2.5' where an integer", "examples"),
            ("lat=52.5", "has '52.5' where an integer", "in xarray: .sel()"),
            ("[[1]]", "has '[1]' where an integer", "examples"),
            ("99999999999999999999", "where an integer", "examples"),
            ("[1, True]", "has 'True' where", "examples"),
        ] {
            let error = parse_selection(text, &dims()).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Selection);
            assert!(error.message.contains(message), "{text}: {error}");
            assert!(error.hint.contains(hint), "{text}: {}", error.hint);
        }
        let same = vec![Some("x".to_string()), Some("x".to_string())];
        assert!(parse_selection("x=1", &same).unwrap_err().message.contains("several axes"));
        assert!(parse_selection("x=1", &[None]).unwrap_err().hint.contains("no names"));
    }
}
