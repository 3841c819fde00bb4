//! URLs and prefixes of linked files in one decoded, normalised form.

use std::path::{Component, Path, PathBuf};

use icecore_grid::{Error, ErrorKind, Result};
use url::Url;

/// A URL as `scheme://host[:port]/decoded/path`, without `.` and `..`; None if it is not a URL or contains an encoded
/// `..`.
pub(crate) fn normal(url: &str) -> Option<String> {
    let parsed = Url::parse(url).ok()?;
    if !url.contains("://") || !parsed.username().is_empty() || parsed.password().is_some() {
        return None;
    }
    let path = decode(parsed.path())?;
    let port = parsed.port().map_or(String::new(), |port| format!(":{port}"));
    let text = format!("{}://{}{port}{path}", parsed.scheme(), parsed.host_str().unwrap_or(""));
    is_plain(&text).then_some(text)
}

/// A recorded prefix, already decoded, in the form that Icechunk expects.
pub(crate) fn recorded(prefix: &str) -> Option<String> {
    (prefix.contains("://") && is_plain(prefix)).then(|| with_slash(prefix))
}

/// A prefix that a user typed: a directory, or a URL.
pub(crate) fn given(prefix: &str) -> Result<String> {
    let bad = || {
        Error::new(ErrorKind::Invalid, format!("{prefix:?} is not a URL prefix for links"))
            .hint("give a directory, or a URL such as https://host/folder/ or s3://bucket/")
    };
    if prefix.contains("://") {
        return normal(prefix).map(|p| with_slash(&p)).ok_or_else(bad);
    }
    if prefix.is_empty() {
        return Err(bad());
    }
    let path = std::path::absolute(prefix).map_err(|_| bad())?;
    Ok(with_slash(&format!("file://{}", clean(&path).display())))
}

/// Whether the normalised URL is below the prefix, or is the file that the prefix names.
pub(crate) fn covers(prefix: &str, url: &str) -> bool {
    url.starts_with(prefix) || prefix.strip_suffix('/').is_some_and(|file| file == url)
}

fn with_slash(prefix: &str) -> String {
    if prefix.ends_with('/') { prefix.to_owned() } else { format!("{prefix}/") }
}

fn is_plain(text: &str) -> bool {
    !text.contains('\0') && !text.split('/').any(|part| part == "..")
}

/// Resolves `..` in the text of the path, because prefixes are compared as text.
fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

fn decode(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut input = path.bytes();
    while let Some(byte) = input.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || input.next().and_then(|d| char::from(d).to_digit(16));
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(prefix: &str, url: &str) -> bool {
        normal(url).is_some_and(|url| covers(&given(prefix).unwrap(), &url))
    }

    #[test]
    fn inside_and_outside() {
        assert!(allowed("/data", "file:///data/x.h5"));
        assert!(allowed("/data/", "file:///data/a%20b/x.h5"));
        assert!(allowed("/data/x.h5", "file:///data/x.h5"));
        assert!(allowed("/", "file:///etc/passwd"));
        assert!(allowed("file:///data", "file:///data/x"));
        assert!(allowed("https://Host:8000/a", "https://host:8000/a/x"));
        assert!(allowed("s3://bucket", "s3://bucket/x"));
        assert!(!allowed("/data", "file:///database/x.h5"));
        assert!(!allowed("s3://bucket", "s3://bucket2/x"));
        assert!(!allowed("https://host/a", "http://host/a/x"));
        assert!(!allowed("https://host/a", "https://host:8000/a/x"));
    }

    #[test]
    fn no_way_around() {
        for url in [
            "file:///data/../etc/passwd",
            "file:///data/%2e%2e/etc/passwd",
            "file:///data/a%2F..%2F..%2Fetc/passwd",
            "file:///data/x%00",
            "file://other/data/x",
            "FILE:/etc/passwd",
            "https://data@evil/x",
            "/data/x",
            "",
        ] {
            assert!(!allowed("/data", url), "{url}");
        }
        assert!(!allowed("https://host/a", "https://host@evil/a/x"));
        assert_eq!(recorded("file:///data/../"), None);
        assert_eq!(recorded("file:///a#b/"), Some("file:///a#b/".to_owned()));
    }

    #[test]
    fn given_paths_are_cleaned() {
        assert_eq!(given("/a/./b/../c").unwrap(), "file:///a/c/");
        assert!(given("x").unwrap().starts_with("file:///"));
        assert!(given("").is_err());
    }
}
