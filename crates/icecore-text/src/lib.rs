//! Text tables as columns, and columns as the same text again, byte for byte. Pure computation.
//!
//! A text table consists of rows of cells. Each column has a [`Style`], which prints its values. A cell that the style
//! would print differently is an *escape*: its bytes are stored beside the column. Lines that are not rows (headers,
//! ragged or truncated rows, blank lines) are stored whole, with the number of the row that they precede. So
//! [`print`](print()) always reproduces the input of [`parse`](parse()).

mod bytes;
mod cells;
mod characters;
mod elements;
mod escapes;
mod fixed_width;
mod format;
mod frame;
mod grid;
mod infer;
mod lag;
mod parse;
mod parse_output;
mod part;
mod print;
mod rows;
mod shape;
mod style;
mod trimmed;
mod values;

pub use escapes::Escapes;
pub use format::{Format, Layout};
pub use frame::Frame;
pub use infer::{Hint, infer_style, valueless};
pub use lag::best_lag;
pub use parse::{parse, parse_apart, parse_checked};
pub use parse_output::{Misfits, Parsed};
pub use print::print;
pub use rows::cells_of;
pub use shape::LineShape;
pub use style::column::{Column, Style};
pub use style::number::NumberStyle;
pub use style::real::{RealForm, RealStyle};
pub use style::time::TimeStyle;
pub use style::words::{Quote, WordStyle};
pub use trimmed::pad_rows;
pub use values::{NO_UNSIGNED, Values, View};
