//! Objects, types and elements of HDF5 in the JSON and the bytes of the HDF REST API, without HTTP.
//!
//! `types`, `attributes` and `layout` translate metadata, `wire` and `text` translate elements, `creation` and `incoming`
//! translate requests. `load`, `found` and `describe` find and describe the objects of a domain.

pub(crate) mod attributes;
pub(crate) mod clause;
pub(crate) mod creation;
pub(crate) mod describe;
pub(crate) mod found;
pub(crate) mod incoming;
pub(crate) mod initializer;
pub(crate) mod layout;
pub(crate) mod load;
pub(crate) mod nest;
pub(crate) mod paired;
pub(crate) mod permission;
pub(crate) mod text;
pub(crate) mod translate;
pub(crate) mod types;
pub(crate) mod types_parse;
pub(crate) mod wire;
