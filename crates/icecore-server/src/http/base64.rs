//! Base64, as used by the HDF REST API, Zarr attributes and HTTP credentials.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

pub(crate) fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub(crate) fn unbase64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
