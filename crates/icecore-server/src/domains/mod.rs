//! Domains, named by a request's `domain`. `mounts` lists served repositories, `address` parses a name, `open` caches
//! open versions, `ids` computes ids of objects, `file_objects` has those of a file that its index can't hold.

mod address;
pub(crate) mod file_objects;
pub(crate) mod ids;
mod model;
mod mounts;
mod open;

pub(crate) use address::Address;
pub use address::NAME_RULE;
pub(crate) use ids::Collection;
pub(crate) use model::{Include, Model, Object, UNPLACED};
pub(crate) use mounts::{Entry, Found, Mounts};
pub(crate) use open::{Domain, Domains, domain};
