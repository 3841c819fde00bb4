//! Parts of HTTP that all interfaces share: connections, parameters, errors, entity tags, ranges.

pub(crate) mod base64;
pub(crate) mod caller;
pub(crate) mod connections;
pub(crate) mod error;
pub(crate) mod etag;
pub(crate) mod json;
pub(crate) mod params;
pub(crate) mod percent;
pub(crate) mod private;
pub(crate) mod ranges;
pub(crate) mod size;
pub(crate) mod tls;
