//! Names of storage options, and those that are true or false.

use std::collections::BTreeMap;

use icecore_grid::{Error, ErrorKind, Result};

pub(crate) const S3_OPTIONS: [&str; 9] = [
    "region",
    "endpoint_url",
    "access_key_id",
    "secret_access_key",
    "session_token",
    "anonymous",
    "allow_http",
    "force_path_style",
    "credentials",
];

pub(crate) type Options = BTreeMap<String, String>;

pub(crate) fn flag(options: &Options, key: &str) -> Result<bool> {
    match options.get(key).map(|v| v.to_ascii_lowercase()).as_deref() {
        None | Some("false" | "0" | "no" | "") => Ok(false),
        Some("true" | "1" | "yes") => Ok(true),
        Some(other) => {
            Err(Error::new(ErrorKind::Invalid, format!("storage option {key}={other:?} is neither true nor false"))
                .hint(format!("{key}=true or {key}=false")))
        }
    }
}

/// Whether s3 requests may be sent without TLS: as `allow_http` says, or if the endpoint's URL begins with `http://`.
///
/// # Errors
/// Invalid if `allow_http` is neither true nor false.
pub fn allows_http(options: &Options) -> Result<bool> {
    if options.contains_key("allow_http") {
        return flag(options, "allow_http");
    }
    let named = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"].map(|name| std::env::var(name).ok());
    let endpoint = options.get("endpoint_url").cloned().or_else(|| named.into_iter().flatten().next());
    Ok(endpoint.is_some_and(|url| url.starts_with("http://")))
}
