//! Nodes of a version, and the places of their chunks: documents, chunk tables, identities of linked files.

pub(crate) mod cache;
pub(crate) mod chunk_objects;
pub(crate) mod identity;
pub(crate) mod identity_batches;
pub(crate) mod manifest_parts;
pub(crate) mod node;
pub(crate) mod shape;
pub(crate) mod shared_manifests;
pub(crate) mod table;
