//! Occupied columns of the lines of a text, and their lengths.

use std::collections::BTreeMap;

use crate::characters::lengths;

/// Maximum length of a line that is analysed.
const WIDEST: usize = 1 << 16;

/// Lengths and occupied columns of lines that are neither blank nor comments.
#[derive(Clone, Debug, Default)]
pub struct LineShape {
    /// Number of lines by length, without line ends.
    pub lengths: BTreeMap<usize, u64>,
    /// For each column, number of lines with anything but a space or tab there.
    pub occupied: Vec<u64>,
    /// Number of lines by the number of words in them.
    pub words: BTreeMap<usize, u64>,
    /// For each column, the most bytes that a character takes there, without the first; of ASCII text, none.
    pub wide: Vec<u8>,
}

impl LineShape {
    /// Analyses the lines of `text`; with `like` only lines with nothing but spaces in these columns. `characters`: columns
    /// are characters, not bytes.
    #[must_use]
    pub fn of(text: &[u8], like: &[usize], characters: bool) -> LineShape {
        let mut shape = LineShape::default();
        let mut line_of = Vec::new();
        for line in text.split(|b| *b == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let comment = matches!(line.first(), Some(b'#' | b'!' | b'%'));
            let line = if characters && !line.is_ascii() { shape.flattened(line, &mut line_of) } else { line };
            let other = like.iter().any(|at| line.get(*at).is_some_and(|b| !is_space(*b)));
            // Lines of end-of-file signs and zeros aren't rows.
            if comment || other || line.iter().all(|b| is_space(*b) || matches!(b, 0x1a | 0)) {
                continue;
            }
            *shape.lengths.entry(line.len()).or_default() += 1;
            let words = line.split(|b| is_space(*b)).filter(|word| !word.is_empty()).count();
            *shape.words.entry(words).or_default() += 1;
            let seen = line.get(..line.len().min(WIDEST)).unwrap_or_default();
            if shape.occupied.len() < seen.len() {
                shape.occupied.resize(seen.len(), 0);
            }
            shape.occupied.iter_mut().zip(seen).for_each(|(count, b)| *count += u64::from(!is_space(*b)));
        }
        shape
    }
}

impl LineShape {
    /// The line with one byte for each character; notes how many bytes those take.
    fn flattened<'a>(&mut self, line: &[u8], into: &'a mut Vec<u8>) -> &'a [u8] {
        into.clear();
        let mut at = 0;
        for length in lengths(line) {
            into.push(line.get(at).copied().unwrap_or_default());
            at += length;
            if length > 1 && into.len() <= WIDEST {
                if self.wide.len() < into.len() {
                    self.wide.resize(into.len(), 0);
                }
                if let Some(most) = self.wide.get_mut(into.len() - 1) {
                    *most = (*most).max(length as u8 - 1);
                }
            }
        }
        into
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
