//! The service: repositories over HTTP, as HDF REST (the API of HSDS) and as plain Zarr v3.
//!
//! `domains` finds and opens domains, `hdf` and `zarr` are the two interfaces, `stream` sends large values block by
//! block. Reads block, so they run on tokio's pool for blocking work; nothing else blocks.

mod app;
mod base64;
mod buffers;
mod caller;
mod config;
mod connections;
mod delegate;
mod delegated;
mod domains;
mod error;
mod etag;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod hdf;
mod health;
mod identify;
mod kept;
mod live;
mod long_body;
mod metrics;
mod openapi;
mod origin;
mod page;
mod params;
mod percent;
mod private;
mod ranges;
mod receive;
mod schemas;
mod serve;
mod size;
mod spool;
mod stream;
mod tls;
mod turn;
mod unique;
mod users;
mod zarr;

pub use config::{Config, Limits, Served};
pub use delegate::{Asked, Delegate, Locate, Located, Reply};
pub use domains::NAME_RULE;
pub use serve::{Server, until};
pub use tls::Certificate;
pub use users::Users;
