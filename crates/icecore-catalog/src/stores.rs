//! Where repositories and source files are stored: local directories, buckets, HTTP(S); their options and credentials.

pub(crate) mod bucket;
pub(crate) mod cloud;
pub(crate) mod containers;
pub(crate) mod credentials;
pub(crate) mod durable;
pub(crate) mod flags;
pub(crate) mod http;
pub(crate) mod http_retry;
pub(crate) mod http_silence;
pub(crate) mod options;
pub(crate) mod own_headers;
pub(crate) mod prefix;
pub(crate) mod storage;
pub(crate) mod unsynced;
pub(crate) mod verbs;
pub(crate) mod web;
