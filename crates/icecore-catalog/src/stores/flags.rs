//! Names of storage options, and those that are true or false.

use std::collections::BTreeMap;

use icecore_grid::{Error, ErrorKind, Result};

pub(crate) const S3_OPTIONS: [&str; 10] = [
    "region",
    "endpoint_url",
    "access_key_id",
    "secret_access_key",
    "session_token",
    "anonymous",
    "allow_http",
    "force_path_style",
    "virtual_hosted_style_request",
    "credentials",
];

pub(crate) type Options = BTreeMap<String, String>;

/// The address and the name of an option for one address: `s3://bucket/prefix.region`, `https://host.header.cookie`.
#[must_use]
pub fn split_option(key: &str) -> Option<(&str, &str)> {
    let start = key.find("://")? + 3;
    let at = match key.get(start..)?.find(".header.") {
        Some(at) => start + at,
        None => key.rfind('.').filter(|at| *at > start)?,
    };
    Some((key.get(..at)?.trim_end_matches('/'), key.get(at + 1..)?))
}

/// The options for a URL: those of the longest address that covers it. `None`: no option has such an address.
fn addressed(options: &Options, url: &str) -> Option<Options> {
    let covers = |address: &str| url.strip_prefix(address).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let all = options.iter().filter_map(|(key, value)| split_option(key).map(|(address, name)| (address, name, value)));
    let found: Vec<_> = all.filter(|(address, ..)| covers(address)).collect();
    let longest = found.iter().map(|(address, ..)| address.len()).max()?;
    let of = found.into_iter().filter(|(address, ..)| address.len() == longest);
    Some(of.map(|(_, name, value)| (name.to_owned(), value.clone())).collect())
}

/// The options for a repository or a source at `url`: those with an address that covers it, or else those without
/// an address.
#[must_use]
pub fn options_for(options: &Options, url: &str) -> Options {
    addressed(options, url).unwrap_or_else(|| without_address(options))
}

fn without_address(options: &Options) -> Options {
    options.iter().filter(|(key, _)| !key.contains("://")).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The options for an object at `url` to which the repository at `repo` links. Options without an address were given
/// for the repository: they are used for links into buckets of the same kind, and on the same web server. A repository
/// in a directory or in memory has no store of its own, so its options are for links into buckets.
#[must_use]
pub fn options_for_link(options: &Options, repo: &str, url: &str) -> Options {
    addressed(options, url).unwrap_or_else(|| {
        let own = without_address(options);
        let (theirs, ours) = (scheme(url), scheme(repo));
        let is_for_it = match (theirs, ours) {
            ("http" | "https", _) => host(url) == host(repo),
            (_, "s3" | "gs" | "az") => theirs == ours,
            _ => !own.keys().any(|name| kind(name).is_some_and(|kind| kind != theirs)),
        };
        if is_for_it { own } else { Options::new() }
    })
}

fn scheme(url: &str) -> &str {
    url.split_once("://").map_or("", |(scheme, _)| scheme)
}

fn host(url: &str) -> &str {
    let start = url.find("://").map_or(0, |at| at + 3);
    let end = url.get(start..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| start + at);
    url.get(..end).unwrap_or(url)
}

/// The kind of bucket that an option is for, if its name says so.
fn kind(name: &str) -> Option<&'static str> {
    match name {
        "access_key_id" | "secret_access_key" => Some("s3"),
        "account_name" | "account_key" | "sas_token" => Some("az"),
        _ if name.starts_with("azure_") => Some("az"),
        _ if name.starts_with("google_") || name.starts_with("service_account") => Some("gs"),
        _ => None,
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Options {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn options_with_an_address_are_for_it_alone() {
        let given = options(&[
            ("region", "r"),
            ("access_key_id", "own"),
            ("s3://archive.access_key_id", "a"),
            ("s3://archive/deep/er.access_key_id", "b"),
            ("https://h:80.header.authorization", "c"),
        ]);
        let key = |url: &str| options_for(&given, url).get("access_key_id").cloned();
        assert_eq!(key("s3://own/x").as_deref(), Some("own"));
        assert_eq!(key("s3://archive/x").as_deref(), Some("a"));
        assert_eq!(key("s3://archive/deep/er/x").as_deref(), Some("b"));
        assert_eq!(key("s3://archive/deep/erx").as_deref(), Some("a"));
        assert_eq!(key("s3://archive2/x").as_deref(), Some("own"));
        assert_eq!(options_for(&given, "s3://archive/x").len(), 1, "nothing of the others");
        assert_eq!(options_for(&given, "https://h:80/x"), options(&[("header.authorization", "c")]));
    }

    #[test]
    fn keys_of_a_repository_are_not_sent_elsewhere() {
        let s3 = options(&[("access_key_id", "k"), ("session_token", "t")]);
        let is_used = |repo: &str, url: &str| !options_for_link(&s3, repo, url).is_empty();
        assert!(is_used("s3://own/r", "s3://archive/x") && is_used("/data/r", "s3://archive/x"));
        assert!(!is_used("s3://own/r", "gs://archive/x") && !is_used("/data/r", "gs://archive/x"));
        let header = options(&[("header.authorization", "t")]);
        let is_used = |repo: &str, url: &str| !options_for_link(&header, repo, url).is_empty();
        assert!(is_used("https://h/r", "https://h/x"));
        assert!(!is_used("https://h/r", "https://h2/x") && !is_used("/data/r", "https://h2/x"));
        assert!(!is_used("https://h/r", "http://h/x"));
    }
}
