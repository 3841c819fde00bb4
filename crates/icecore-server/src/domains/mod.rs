//! Domains: what a request's `domain` names. `mounts` says what is served where, `address` takes a name apart, `open` keeps
//! versions open, `ids` gives objects their ids.

mod address;
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
