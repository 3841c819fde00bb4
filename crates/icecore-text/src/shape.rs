//! Occupied columns of the lines of a text, and their lengths.

use std::collections::BTreeMap;

/// Maximum length of a line that is analysed.
const WIDEST: usize = 1 << 16;

/// Lengths and occupied columns of lines that are neither blank nor comments.
#[derive(Clone, Debug, Default)]
pub struct LineShape {
    /// Number of lines by length, without line ends.
    pub lengths: BTreeMap<usize, u64>,
    /// For each column, number of lines with anything but a space or tab there.
    pub occupied: Vec<u64>,
}

impl LineShape {
    /// Analyses the lines of `text`; with `like` only lines with nothing but spaces in these columns.
    #[must_use]
    pub fn of(text: &[u8], like: &[usize]) -> LineShape {
        let mut shape = LineShape::default();
        for line in text.split(|b| *b == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let comment = matches!(line.first(), Some(b'#' | b'!' | b'%'));
            let other = like.iter().any(|at| line.get(*at).is_some_and(|b| !is_space(*b)));
            if comment || other || line.iter().all(|b| is_space(*b)) {
                continue;
            }
            *shape.lengths.entry(line.len()).or_default() += 1;
            let seen = line.get(..line.len().min(WIDEST)).unwrap_or_default();
            if shape.occupied.len() < seen.len() {
                shape.occupied.resize(seen.len(), 0);
            }
            shape.occupied.iter_mut().zip(seen).for_each(|(count, b)| *count += u64::from(!is_space(*b)));
        }
        shape
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
