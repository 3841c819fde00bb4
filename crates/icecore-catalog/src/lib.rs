//! The catalog: repositories, their versions, and the storage locations of all chunks.
//!
//! `stores` are the places of repositories, `open` a repository that was opened, with its snapshots and its writer, `nodes`
//! the contents of a snapshot, `versions` the names and times of snapshots, `commit` new versions, `maintenance` checks,
//! repair and removal.
//!
//! The only crate that names Icechunk. All functions block on one private runtime. No generic function is part of its
//! public interface, so that a change in a crate above never recompiles Icechunk's async code. Call the functions from
//! ordinary or `spawn_blocking` threads, not inside an async task.

mod commit;
mod copy;
mod diff;
mod error;
mod frame;
mod lock_file;
mod log;
mod maintenance;
mod nodes;
mod open;
mod process;
mod refs;
mod repo;
mod runtime;
mod seal;
mod stores;
mod versions;

pub use copy::{CopyReport, Copying, Link, Scope};
pub use diff::Diff;
pub use error::{NO_RANGES, Refusal, causes, is_gone, lacks_keys, refusal};
pub use log::Commit;
pub use maintenance::audit::Damage;
pub use maintenance::gc::GcReport;
pub use maintenance::held::Held;
pub use maintenance::mend::{Mending, Suspect};
pub use nodes::chunk_objects::{ChunkPlace, ObjectId};
pub use nodes::identity::LinkIdentity;
pub use nodes::node::{HIDDEN_GROUP, Node, is_within};
pub use nodes::table::{Checksum, ChunkTable, Location, Object, Place};
pub use open::repo_state::Native;
pub use open::snapshot::Snapshot;
pub use open::writer::Writer;
pub use process::{Mine, PerProcess};
pub use repo::Repo;
pub use runtime::runtime;
pub use stores::cloud::{bucket_of, cloud_store};
pub use stores::credentials::register as register_credentials;
pub use stores::durable::is_durable;
pub use stores::flags::{allows_http, options_for, options_for_link};
pub use stores::http::{http_client, http_store};
pub use stores::storage::Storage;
