//! Domains: what a request's `domain` names. `mounts` says what is served where, `address` takes a name apart, `open` keeps
//! versions open, `ids` gives objects their ids.

mod address;
mod ids;
mod mounts;
mod open;

pub use address::NAME_RULE;
pub(crate) use ids::Collection;
pub(crate) use mounts::{Entry, Mounts};
pub(crate) use open::{Domain, Domains};
