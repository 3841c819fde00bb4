//! Styles of columns: how numbers, times and words are printed, and how cells are parsed.

pub(crate) mod column;
pub(crate) mod digits;
pub(crate) mod fraction;
pub(crate) mod lenient_number;
pub(crate) mod number;
pub(crate) mod real;
pub(crate) mod time;
pub(crate) mod words;
