//! Where-clauses and expressions: text → syntax tree → conditions bound to a table's columns → truth of each row or zone of rows.
//!
//! This crate does no I/O: the values of rows are passed as bytes, those of zones as intervals. Truth has three values,
//! as in SQL. A comparison with null (NaN, not-a-time, a fill value) is unknown; rows are selected if the clause is true.

mod ast;
mod bind;
mod clause;
mod eval;
mod message;
mod numbers;
mod parse;
mod ranges;
mod suggestion;
mod text;
mod time;
mod time_parts;
mod token;
mod truth;
mod verdict;

pub use bind::ColumnType;
pub use clause::{Expression, Filter};
pub use eval::{Rows, Values, text_of};
pub use ranges::Ranges;
pub use text::decoded;
pub use verdict::{Verdict, Zone};

/// Parses a clause and binds it to columns.
///
/// # Errors
/// `invalid` with the position of the mistake; `not-found` for an unknown column; `dtype` for a comparison of a string
/// with a number; `unsupported`.
pub fn filter(clause: &str, columns: &[ColumnType]) -> icecore_grid::Result<Filter> {
    bind::bind(clause, &parse::parse(clause)?, columns)
}

/// Parses an expression, such as `floor(lat * 2) / 2`, and binds it to columns. Its values are float64.
///
/// # Errors
/// As [`filter`].
pub fn expression(text: &str, columns: &[ColumnType]) -> icecore_grid::Result<Expression> {
    bind::expression(text, &parse::expression(text)?, columns)
}
