//! The service: repositories over HTTP, as HDF REST (the API of HSDS) and as plain Zarr v3.
//!
//! `domains` finds and opens domains, `hdf5` describes them as HDF5, `live` holds changes that are not committed yet. `hdf`,
//! `zarr` and `dap` are the interfaces, `stream` sends large values block by block, `routes` is what surrounds them. Reads block, so they run on tokio's pool for blocking work; nothing else blocks.

mod app;
mod buffers;
mod config;
mod dap;
mod delegate;
mod domains;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod hdf;
mod hdf5;
mod http;
mod kept;
mod live;
mod long_body;
mod metrics;
mod reading;
mod routes;
mod serve;
mod spool;
mod stream;
mod turn;
mod unique;
mod users;
mod zarr;

pub use config::{Config, Limits, Served};
pub use delegate::{Asked, Delegate, Locate, Located, Reply};
pub use domains::NAME_RULE;
pub use http::tls::Certificate;
pub use serve::{Server, until};
pub use users::Users;
