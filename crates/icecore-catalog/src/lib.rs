//! The catalog: repositories, their versions, and the storage locations of all chunks.
//!
//! The only crate that names Icechunk. All functions block on one private runtime. No generic function is part of its
//! public interface, so that a change in a crate above never recompiles Icechunk's async code. Call the functions from
//! ordinary or `spawn_blocking` threads, not inside an async task.

mod audit;
mod backups;
mod bucket;
mod cache;
mod chunk_objects;
mod clock;
mod cloud;
mod commit;
mod containers;
mod credentials;
mod diff;
mod error;
mod frame;
mod gc;
mod handle;
mod history;
mod http;
mod http_retry;
mod identity;
mod incomplete_repo;
mod joint_commit;
mod link;
mod load;
mod lock;
mod log;
mod names;
mod node;
mod object;
mod open;
mod options;
mod precheck;
mod prefix;
mod process;
mod refs;
mod remove;
mod repo;
mod repo_state;
mod resolve;
mod root;
mod runtime;
mod seal;
mod shape;
mod shared_manifests;
mod shell_quote;
mod snapshot;
mod storage;
mod table;
mod time;
mod tree;
mod updates;
mod web;
mod writer;

pub use audit::Damage;
pub use chunk_objects::{ChunkPlace, ObjectId};
pub use cloud::{bucket_of, cloud_store};
pub use credentials::register as register_credentials;
pub use diff::Diff;
pub use error::{NO_RANGES, causes, credentials_hint, is_gone, lacks_keys};
pub use gc::GcReport;
pub use http::{Patiently, http_client, http_store, retries};
pub use identity::LinkIdentity;
pub use log::Commit;
pub use node::{HIDDEN_GROUP, Node, is_within};
pub use options::allows_http;
pub use process::{Mine, PerProcess};
pub use repo::Repo;
pub use repo_state::Native;
pub use runtime::runtime;
pub use snapshot::Snapshot;
pub use storage::Storage;
pub use table::{Checksum, ChunkTable, Location, Object, Place};
pub use writer::Writer;
