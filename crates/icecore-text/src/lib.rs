//! Tables of text as columns, and columns as the same text again, byte for byte. Pure computation.
//!
//! A table of text is rows of cells. Each column has a [`Style`]: how its values are printed. A cell that its style would
//! print otherwise is an *escape*: its bytes are kept beside the column. Lines that are no rows (headers, ragged or cut-off
//! rows, blank lines) are kept whole, with the row that they stand before. So [`print`](print()) always gives back what
//! [`parse`](parse()) was given.

mod bytes;
mod cells;
mod column;
mod digits;
mod elements;
mod escapes;
mod fixed_width;
mod format;
mod fraction;
mod frame;
mod grid;
mod grid_check;
mod grid_parse;
mod grid_print;
mod infer;
mod lag;
mod lenient_number;
mod number;
mod parse;
mod parse_output;
mod part;
mod print;
mod real;
mod rows;
mod shape;
mod time;
mod trimmed;
mod values;
mod words;

pub use column::{Column, Style};
pub use escapes::Escapes;
pub use format::{Format, Layout};
pub use frame::Frame;
pub use infer::{Hint, infer_style, valueless};
pub use lag::best_lag;
pub use number::NumberStyle;
pub use parse::{parse, parse_apart, parse_checked};
pub use parse_output::{Misfits, Parsed};
pub use print::print;
pub use real::{RealForm, RealStyle};
pub use rows::cells_of;
pub use shape::LineShape;
pub use time::TimeStyle;
pub use trimmed::pad_rows;
pub use values::{NO_UNSIGNED, Values, View};
pub use words::{Quote, WordStyle};
