//! Tables: prune → load → filter → collect, on top of `read`. One file per stage.
//!
//! Rows are processed in windows of bounded size. For each window, the columns of the where-clause are read first, and
//! of the other columns only the chunks with matching rows.

mod arrow;
mod batch;
mod collect;
mod column;
mod filter;
mod identity;
mod load;
mod options;
mod prune;
mod stream;
mod summarise;
mod table;
mod values;
mod window;
mod zones;

pub use arrow::{ArrowColumn, arrows};
pub use batch::{Batch, Elements};
pub use column::Column;
pub use identity::{check_sources, digest};
pub use options::{ScanOptions, ScanReport};
pub use stream::Scan;
pub use summarise::{ColumnSummary, summarise};
pub use table::Table;
pub use values::values;

pub use icecore_where::Expression;
