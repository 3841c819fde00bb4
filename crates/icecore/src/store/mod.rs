//! Byte sources: local files read with `pread`, everything else through `object_store`.

mod bytes;
mod caps;
mod cost;
mod handles;
mod local;
pub mod objects;
mod remote;
mod response_buffers;
mod source;
mod stores;
mod stragglers;
pub mod wrap;

pub use bytes::ByteSource;
pub use cost::Cost;
pub use local::LocalFile;
pub use remote::{Broken, Each, Parts, RangeGet};
pub use source::Source;
pub use stores::{Stores, Wrap, stores};
