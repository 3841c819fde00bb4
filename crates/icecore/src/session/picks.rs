//! A selection that keeps every axis: a range or a list for each axis, all within the array.
//!
//! Services need strict rules where NumPy is lenient: an index out of range is an error, not an empty result, and an
//! integer keeps its axis (`reduced` lists the axes that a client may drop).

use icecore_grid::{Error, ErrorKind, Index, Mode, Result, Selection, parse_selection};

/// The selection along one axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Pick {
    /// `count` elements from `start` on, with distance `step` (at least 1).
    Range {
        start: u64,
        step: u64,
        count: u64,
    },
    List(Vec<u64>),
}

impl Pick {
    /// Number of elements.
    #[must_use]
    pub fn count(&self) -> u64 {
        match self {
            Self::Range { count, .. } => *count,
            Self::List(values) => values.len() as u64,
        }
    }

    /// A part: `count` elements from index `first` on.
    pub(super) fn part(&self, first: u64, count: u64) -> Self {
        match self {
            Self::Range { start, step, .. } => Self::Range { start: start + first * step, step: *step, count },
            Self::List(values) => {
                let skipped = values.iter().skip(first as usize);
                Self::List(skipped.take(count as usize).copied().collect())
            }
        }
    }

    fn index(&self) -> Index {
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        match self {
            Self::Range { start, step, count } => {
                let stop = if *count == 0 { *start } else { start + (count - 1) * step + 1 };
                Index::Slice { start: Some(signed(*start)), stop: Some(signed(stop)), step: Some(signed(*step)) }
            }
            Self::List(values) => Index::list(values.iter().map(|value| signed(*value)).collect()),
        }
    }
}

/// A selection of an array of shape `shape`.
#[derive(Clone, Debug, PartialEq)]
pub struct Picks {
    pub shape: Vec<u64>,
    pub axes: Vec<Pick>,
    /// Axes that were selected by a single integer.
    pub reduced: Vec<bool>,
}

impl Picks {
    /// The whole array.
    #[must_use]
    pub fn all(shape: &[u64]) -> Self {
        let axes = shape.iter().map(|&count| Pick::Range { start: 0, step: 1, count }).collect();
        Self { shape: shape.to_vec(), axes, reduced: vec![false; shape.len()] }
    }

    /// Parses a selection: `[0:10, 3, [1, 5], ...]`, with or without the outer brackets, or by dimension name.
    ///
    /// # Errors
    /// `selection`: text that cannot be parsed, a wrong number of axes, an index out of range, a step below 1.
    pub fn parse(text: &str, shape: &[u64], dims: &[Option<String>]) -> Result<Self> {
        let text = text.trim();
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).filter(|_| outer(text));
        let indexes = expanded(parse_selection(inner.unwrap_or(text), dims)?, shape)?;
        let mut picks = Self { shape: shape.to_vec(), axes: Vec::new(), reduced: Vec::new() };
        for (axis, (index, &len)) in indexes.iter().zip(shape).enumerate() {
            picks.reduced.push(matches!(index, Index::At(_)));
            picks.axes.push(pick(index, len, axis)?);
        }
        Ok(picks)
    }

    /// Shape of the result, with every axis of the array.
    #[must_use]
    pub fn out_shape(&self) -> Vec<u64> {
        self.axes.iter().map(Pick::count).collect()
    }

    /// Number of elements of the result; `u64::MAX` if it overflows.
    #[must_use]
    pub fn len(&self) -> u64 {
        let shape = self.out_shape();
        if shape.contains(&0) { 0 } else { shape.iter().fold(1, |all: u64, n| all.saturating_mul(*n)) }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The selection in the form of the read pipeline.
    ///
    /// # Errors
    /// `memory`: a result too large to address.
    pub fn selection(&self) -> Result<Selection> {
        let indexes: Vec<Index> = self.axes.iter().map(Pick::index).collect();
        Selection::resolve(&self.shape, &indexes, Mode::Orthogonal)
    }
}

/// Whether the first bracket closes at the very end.
fn outer(text: &str) -> bool {
    let mut depth = 0_i64;
    for (at, character) in text.char_indices() {
        depth += i64::from(character == '[') - i64::from(character == ']');
        if depth == 0 && at + character.len_utf8() < text.len() {
            return false;
        }
    }
    // `[1,5]` is read as the outer pair of brackets, as in the HDF REST API; a list is `[[1,5]]`.
    depth == 0
}

fn expanded(indexes: Vec<Index>, shape: &[u64]) -> Result<Vec<Index>> {
    let dots = indexes.iter().filter(|index| **index == Index::Ellipsis).count();
    let others = indexes.len() - dots;
    if dots > 1 || others > shape.len() || (dots == 0 && others != shape.len()) {
        return Err(error(
            format!("a selection of {others} axes for an array of {} axes", shape.len()),
            "give one entry an axis, separated by commas, or ... for the axes between",
        ));
    }
    let missing = shape.len() - others;
    let fill = |index: Index| match index {
        Index::Ellipsis => vec![Index::ALL; missing],
        index => vec![index],
    };
    Ok(indexes.into_iter().flat_map(fill).collect())
}

fn pick(index: &Index, len: u64, axis: usize) -> Result<Pick> {
    let outside = |what: String| {
        error(format!("{what} is out of range for axis {axis} of length {len}"), format!("use indexes from 0 to {len}"))
    };
    match index {
        Index::At(at) => match u64::try_from(*at) {
            Ok(at) if at < len => Ok(Pick::Range { start: at, step: 1, count: 1 }),
            _ => Err(outside(format!("index {at}"))),
        },
        Index::Slice { start, stop, step } => {
            let (Ok(start), Ok(step)) = (u64::try_from(start.unwrap_or(0)), u64::try_from(step.unwrap_or(1))) else {
                return Err(outside("a negative start or step".to_owned()));
            };
            let stop = stop.map_or(Ok(len), u64::try_from);
            match stop {
                Ok(stop) if start <= stop && stop <= len && step > 0 => {
                    Ok(Pick::Range { start, step, count: (stop - start).div_ceil(step) })
                }
                Ok(stop) => Err(outside(format!("the range {start}:{stop}"))),
                Err(_) => Err(outside("a negative stop".to_owned())),
            }
        }
        Index::List { values, .. } => {
            let inside = |value: &i64| u64::try_from(*value).ok().filter(|v| *v < len).ok_or(*value);
            let values: std::result::Result<Vec<u64>, i64> = values.iter().map(inside).collect();
            values.map(Pick::List).map_err(|value| outside(format!("index {value}")))
        }
        Index::Mask { values, .. } if values.len() as u64 == len => {
            let hits = values.iter().zip(0..).filter(|(hit, _)| **hit).map(|(_, at)| at);
            Ok(Pick::List(hits.collect()))
        }
        Index::Mask { values, .. } => Err(outside(format!("a mask of {} elements", values.len()))),
        Index::Ellipsis => Ok(Pick::Range { start: 0, step: 1, count: len }),
    }
}

fn error(message: String, hint: impl Into<String>) -> Error {
    Error::new(ErrorKind::Selection, message).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: fn(u64, u64, u64) -> Pick = |start, step, count| Pick::Range { start, step, count };

    fn parse(text: &str, shape: &[u64]) -> Result<Picks> {
        Picks::parse(text, shape, &vec![None; shape.len()])
    }

    #[test]
    fn reads_the_forms_of_the_rest_api() {
        let picks = parse("[0:10:3,3]", &[10, 5]).unwrap();
        assert_eq!(picks.axes, [RANGE(0, 3, 4), RANGE(3, 1, 1)]);
        assert_eq!((picks.out_shape(), picks.reduced), (vec![4, 1], vec![false, true]));
        assert_eq!(parse("[[1,3],0:4]", &[10, 5]).unwrap().axes, [Pick::List(vec![1, 3]), RANGE(0, 1, 4)]);
        assert_eq!(parse("[:]", &[7]).unwrap(), Picks::all(&[7]));
        assert_eq!(parse("[2:2]", &[7]).unwrap().len(), 0);
        assert_eq!(parse("[...]", &[7, 3]).unwrap(), Picks::all(&[7, 3]));
        assert_eq!(parse("[[0,2]]", &[7]).unwrap().axes, [Pick::List(vec![0, 2])]);
        assert_eq!(parse("[1,2],[0]", &[7, 3]).unwrap().axes, [Pick::List(vec![1, 2]), Pick::List(vec![0])]);
    }

    #[test]
    fn rejects_what_does_not_fit() {
        for (text, shape, message) in [
            ("[0:11]", &[10][..], "0:11 is out of range for axis 0 of length 10"),
            ("[10]", &[10], "index 10"),
            ("[-1]", &[10], "index -1"),
            ("[0:3,0:3]", &[10], "2 axes for an array of 1"),
            ("[0:3]", &[10, 10], "1 axes for an array of 2"),
            ("[5:3]", &[10], "5:3"),
            ("[0:3:-1]", &[10], "negative"),
            ("[[1,10]]", &[10], "index 10"),
            ("[0:", &[10], "opens a list and does not close it"),
            ("[a]", &[10], "integer"),
        ] {
            let error = parse(text, shape).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Selection, "{text}");
            assert!(error.message.contains(message), "{text}: {error}");
            assert!(!error.hint.is_empty());
        }
    }

    #[test]
    fn parts_of_a_pick() {
        assert_eq!(RANGE(4, 3, 10).part(2, 5), RANGE(10, 3, 5));
        assert_eq!(Pick::List(vec![5, 1, 7, 2]).part(1, 2), Pick::List(vec![1, 7]));
    }
}
