//! The catalog: repositories, their versions, and where every chunk of every array lies.
//!
//! The only crate that names Icechunk. All functions block on one private runtime, and nothing generic crosses this
//! crate's face, so that a change above never rebuilds Icechunk's async code. Call them from ordinary or
//! `spawn_blocking` threads, not from inside an async task.

mod audit;
mod backups;
mod begun;
mod bucket;
mod cache;
mod clock;
mod commit;
mod containers;
mod diff;
mod error;
mod frame;
mod gc;
mod handle;
mod history;
mod http;
mod identity;
mod link;
mod load;
mod lock;
mod log;
mod named;
mod native;
mod node;
mod object;
mod open;
mod options;
mod patience;
mod prefix;
mod process;
mod refs;
mod remove;
mod repo;
mod resolve;
mod root;
mod runtime;
mod seal;
mod shape;
mod shared;
mod snapshot;
mod sound;
mod storage;
mod table;
mod time;
mod tree;
mod typed;
mod updates;
mod web;
mod writer;

pub use audit::Damage;
pub use diff::Diff;
pub use error::{NO_RANGES, causes, is_gone, lacks_keys};
pub use gc::GcReport;
pub use http::{Patiently, http_client, http_store, retries};
pub use identity::LinkIdentity;
pub use log::Commit;
pub use native::{ChunkPlace, ObjectId};
pub use node::{HIDDEN_GROUP, Node, is_within};
pub use options::allows_http;
pub use process::{Mine, PerProcess};
pub use repo::Repo;
pub use runtime::runtime;
pub use shared::Native;
pub use snapshot::Snapshot;
pub use storage::Storage;
pub use table::{Checksum, ChunkTable, Location, Object, Place};
pub use writer::Writer;
