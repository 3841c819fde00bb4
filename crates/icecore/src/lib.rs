//! icecore's engine: reads, scans, writes and verifies parts of arrays in repositories and linked files.
//!
//! `read` and `write` are the two flows; they share `store` and never use each other's stages. `scan` and `restore` are
//! built on `read`.

mod byte_cache;
pub mod cancel;
mod changes;
mod copies;
pub mod group;
pub mod memory;
mod pool;
pub mod read;
pub mod restore;
pub mod scan;
pub mod session;
mod settings;
pub mod store;
pub mod verify;
mod worker_pool;
pub mod write;

pub use changes::{Change, changes};
pub use copies::{read_links, repair};
pub use pool::pool;
pub use settings::check_environment;

pub use icecore_catalog as catalog;
pub use icecore_chunk as chunk;
pub use icecore_grid as grid;
pub use icecore_text as text;
