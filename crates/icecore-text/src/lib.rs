//! Text tables as columns, and columns as the same text again, byte for byte. Pure computation.
//!
//! A text table consists of rows of cells. Each column has a [`Style`], which prints its values. A cell that the style
//! would print differently is an *escape*: its bytes are stored beside the column. Lines that are not rows (headers,
//! ragged or truncated rows, blank lines) are stored whole, with the number of the row that they precede. So
//! [`print`](print()) always reproduces the input of [`parse`](parse()).

mod bytes;
mod cells;
mod characters;
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
