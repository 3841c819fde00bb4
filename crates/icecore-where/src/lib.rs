//! where-clauses: text → tree → conditions bound to a table's columns → truth of each row, or of a zone of rows at once.
//!
//! Pure: a row's values come in as bytes, a zone's as intervals. Truth has three values, as in SQL: a comparison with null
//! (NaN, not-a-time, a fill value) is neither true nor false, and only rows that are true are kept.

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
mod token;
mod truth;
mod verdict;

pub use bind::ColumnType;
pub use clause::Filter;
pub use eval::{Rows, Values, text_of};
pub use ranges::Ranges;
pub use text::decoded;
pub use verdict::{Verdict, Zone};

/// Parses and binds a clause: what most callers want.
///
/// # Errors
/// `invalid` with the place of the mistake, `not-found` for a column that the table lacks, `dtype` where a text meets a
/// number, `unsupported`.
pub fn filter(clause: &str, columns: &[ColumnType]) -> icecore_grid::Result<Filter> {
    bind::bind(clause, &parse::parse(clause)?, columns)
}
