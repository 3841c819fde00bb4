//! Between chunks: regions, selections, chunk grids, the layout planner, spans. Pure functions over plain values,
//! without input or output and without dependencies.
//!
//! A read begins here: indexes are [resolved](Selection::resolve) against an array's shape, the selection is
//! [cut](Cuts) along a [grid](ChunkGrid), and each [`Cut`] says which part of one chunk goes where in the output.

mod access;
mod boxes;
mod broadcast;
mod calendar;
mod chunk_grid;
mod copy;
mod cut;
mod edit_distance;
mod error;
mod gather;
mod hits;
mod index;
mod kernel;
mod layout;
mod local_search;
mod pick;
mod points;
mod read_at;
mod redact;
mod region;
mod resolve_index;
mod run;
mod selection;
mod selection_text;
mod span;

pub use access::{Pattern, touched};
pub use boxes::join_boxes;
pub use calendar::{date_of_days, days_of_date};
pub use chunk_grid::{Axis, ChunkGrid};
pub use copy::Copy;
pub use cut::{Cut, Cuts};
pub use edit_distance::edit_distance;
pub use error::{Error, ErrorKind, Result};
pub use gather::{Held, gather_regions};
pub use index::{Index, Mode};
pub use layout::{LayoutGoal, LayoutPlan, plan_layout};
pub use read_at::ReadAt;
pub use redact::redact;
pub use region::Region;
pub use selection::Selection;
pub use selection_text::parse_selection;
pub use span::{Merge, Request, Span, coalesce};
