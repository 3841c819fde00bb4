//! Where bytes come from: local files read with `pread`, everything else through `object_store`.

mod body;
mod cost;
mod handles;
mod local;
mod remote;
mod source;
mod stores;
pub mod wrap;

pub use cost::Cost;
pub use local::LocalFile;
pub use remote::{Broken, Each, Parts, RangeGet};
pub use source::Source;
pub use stores::{Stores, Wrap, stores};
