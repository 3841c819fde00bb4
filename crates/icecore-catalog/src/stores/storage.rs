//! Location of a repository: convert a URL to one of the four kinds of storage.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use icecore_grid::{Error, ErrorKind, Result};
use url::Url;

use crate::stores::cloud;

/// A repository's address, its options, and the prefixes that it may link to.
#[derive(Clone, Default, PartialEq)]
pub struct Storage {
    /// A plain path, `file://…`, `memory://NAME`, `http(s)://…` (read only), or `s3://bucket/prefix` (also `gs://` and `az://`).
    pub url: String,
    /// s3: `region`, `endpoint_url`, `access_key_id`, `secret_access_key`, `session_token`, `anonymous`, `allow_http`,
    /// `force_path_style`. gs, az: the names of object_store. Buckets: `credentials`, from [`crate::register_credentials`]. http: `header.NAME` and the client's options (`timeout`, `proxy_url`, …). Any: `lock_timeout` in seconds.
    pub options: BTreeMap<String, String>,
    /// Prefixes (directories or URLs) of allowed linked chunks. None: the directories that were named when linking,
    /// except that a remote repository may not link to local files.
    pub allow_links: Option<Vec<String>>,
}

impl Storage {
    /// A URL or path without options.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }
}

impl fmt::Debug for Storage {
    /// Shows the names of the options but not their values: some are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options: Vec<&String> = self.options.keys().collect();
        f.debug_struct("Storage")
            .field("url", &self.url)
            .field("options", &options)
            .field("allow_links", &self.allow_links)
            .finish()
    }
}

/// A parsed address.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Root {
    Local(PathBuf),
    Memory(String),
    Http(String),
    /// `s3://bucket`, `gs://bucket` or `az://container`, and a prefix of keys.
    Bucket {
        base: String,
        prefix: String,
    },
}

impl Root {
    /// Parses a path or URL.
    pub fn parse(url: &str) -> Result<Self> {
        match url.split_once("://") {
            None if url.is_empty() => Err(Error::new(ErrorKind::Invalid, "the repository's path is empty")),
            None => Ok(Self::Local(absolute(Path::new(url))?)),
            Some(("file", _)) => Ok(Self::Local(file_path(url)?)),
            Some(("memory", "")) => Ok(Self::Memory(anonymous())),
            Some(("memory", name)) => Ok(Self::Memory(name.to_owned())),
            Some(("http" | "https", _)) => {
                Url::parse(url).map(|_| Self::Http(url.trim_end_matches('/').to_owned())).map_err(|e| bad(url, &e))
            }
            Some((scheme, rest)) if cloud::bucket_of(url).is_some() => bucket(url, scheme, rest),
            Some((scheme, _)) => Err(Error::new(
                ErrorKind::Unsupported,
                format!("{url}: repositories on {scheme}:// are not supported"),
            )
            .hint(
                "use a directory, s3://bucket/prefix (also gs:// and az://), http(s)://… (read only) or memory://NAME",
            )),
        }
    }

    /// The repository's name in messages and keys.
    pub fn url(&self) -> String {
        match self {
            Self::Local(path) => path.display().to_string(),
            Self::Memory(name) => format!("memory://{name}"),
            Self::Http(url) => url.clone(),
            Self::Bucket { base, prefix } if prefix.is_empty() => base.clone(),
            Self::Bucket { base, prefix } => format!("{base}/{prefix}"),
        }
    }

    /// Whether it is reached over a network. Such a repository may not link to files of this machine.
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Http(_) | Self::Bucket { .. })
    }
}

/// Prefix of the generated names of unnamed repositories.
pub(crate) const ANONYMOUS: &str = "anonymous-";

fn anonymous() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("{ANONYMOUS}{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn bucket(url: &str, scheme: &str, rest: &str) -> Result<Root> {
    let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if name.is_empty() {
        let hint = format!("{scheme}://bucket/prefix");
        return Err(Error::new(ErrorKind::Invalid, format!("{url} names no bucket")).hint(hint));
    }
    let prefix = prefix.trim_matches('/');
    if let Some(part) = prefix.split('/').find(|part| is_no_part(part)).filter(|_| !prefix.is_empty()) {
        let message = format!("{url} is not a valid key: bad part {part:?}");
        return Err(Error::new(ErrorKind::Invalid, message)
            .hint("remove empty parts (//), parts . or .., and control characters"));
    }
    Ok(Root::Bucket { base: format!("{scheme}://{name}"), prefix: prefix.to_owned() })
}

/// Path components that S3 clients omit, resolve or reject, each in its own way.
fn is_no_part(part: &str) -> bool {
    matches!(part, "" | "." | "..") || part.chars().any(|c| c.is_ascii_control())
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|e| bad(&path.display().to_string(), &e))
}

fn file_path(url: &str) -> Result<PathBuf> {
    let parsed = Url::parse(url).map_err(|e| bad(url, &e))?;
    parsed.to_file_path().map_err(|()| {
        Error::new(ErrorKind::Invalid, format!("{url} names no local path")).hint("file:///absolute/path")
    })
}

fn bad(url: &str, error: &dyn fmt::Display) -> Error {
    Error::new(ErrorKind::Invalid, format!("{url} cannot be understood: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert_eq!(Root::parse("file:///a%20b/c").unwrap(), Root::Local("/a b/c".into()));
        assert_eq!(Root::parse("/a/b").unwrap().url(), "/a/b");
        assert_eq!(Root::parse("s3://b/p/q/").unwrap(), Root::Bucket { base: "s3://b".into(), prefix: "p/q".into() });
        assert_eq!(Root::parse("gs://b/p").unwrap().url(), "gs://b/p");
        let odd = "%2F/a#b?c d/~é";
        assert_eq!(
            Root::parse(&format!("s3://b/{odd}")).unwrap(),
            Root::Bucket { base: "s3://b".into(), prefix: odd.into() }
        );
        assert_eq!(Root::parse("https://h/x/").unwrap().url(), "https://h/x");
        assert!(Root::parse("x.icecore").unwrap().url().starts_with('/'));
        assert_ne!(Root::parse("memory://").unwrap(), Root::parse("memory://").unwrap());
        assert_eq!(Root::parse("memory://a").unwrap().url(), "memory://a");
    }

    #[test]
    fn addresses_that_make_no_sense() {
        assert_eq!(Root::parse("").unwrap_err().kind, ErrorKind::Invalid);
        assert_eq!(Root::parse("s3://").unwrap_err().kind, ErrorKind::Invalid);
        for url in ["s3://b/a//c", "s3://b/./a", "s3://b/a/..", "s3://b/a\tc"] {
            assert_eq!(Root::parse(url).unwrap_err().kind, ErrorKind::Invalid, "{url}");
        }
        assert_eq!(Root::parse("http://").unwrap_err().kind, ErrorKind::Invalid);
        assert_eq!(Root::parse("ftp://h/x").unwrap_err().kind, ErrorKind::Unsupported);
    }

    #[test]
    fn secrets_are_not_printed() {
        let mut storage = Storage::new("s3://b/p");
        storage.options.insert("secret_access_key".into(), "hush".into());
        assert!(!format!("{storage:?}").contains("hush"));
    }
}
