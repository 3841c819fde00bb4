//! Objects behind HTTP or an object store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::BoxFuture;
use icecore_catalog::LinkIdentity;
use icecore_grid::{Error, ErrorKind, Result};
use object_store::path::Path;
use object_store::{BackoffConfig, GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig};

use super::body::Body;
use super::http;

/// Takes the parts of an answer, one after the other.
pub type Each<'a> = &'a mut (dyn FnMut(Bytes) + Send);

/// Something that answers range requests.
pub trait RangeGet: Send + Sync {
    /// The bytes `offset..offset + length`, all of them or an error.
    fn get(&self, offset: u64, length: u64) -> BoxFuture<'_, Result<Bytes>>;
    /// The same in parts, each handed over as soon as it is there; `ends`, ascending, count from `offset`. After an error
    /// those that were handed over are good.
    fn get_parts<'a>(&'a self, offset: u64, ends: &'a [u64], each: Each<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let bytes = self.get(offset, ends.last().copied().unwrap_or(0)).await?;
            let mut start = 0;
            for end in ends.iter().map(|end| usize::try_from(*end).unwrap_or(usize::MAX).min(bytes.len())) {
                each(bytes.slice(start..end));
                start = end;
            }
            Ok(())
        })
    }
    /// What to call it in a message.
    fn name(&self) -> &str;
}

/// An object in a store, with the identity that it must still have.
pub(super) struct RemoteObject {
    pub store: Arc<dyn ObjectStore>,
    pub path: Path,
    pub name: String,
    /// The etag goes with each request, so that the server itself refuses when the object is another one now.
    pub identity: Option<LinkIdentity>,
    pub linked: bool,
}

impl RangeGet for RemoteObject {
    fn get(&self, offset: u64, length: u64) -> BoxFuture<'_, Result<Bytes>> {
        Box::pin(async move {
            let mut all = Bytes::new();
            self.get_parts(offset, &[length], &mut |bytes| all = bytes).await?;
            Ok(all)
        })
    }

    fn get_parts<'a>(&'a self, offset: u64, ends: &'a [u64], each: Each<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let length = ends.last().copied().unwrap_or(0);
            let end = offset.checked_add(length).ok_or_else(|| self.short(offset, length, 0))?;
            let options = GetOptions {
                range: Some(GetRange::Bounded(offset..end)),
                if_match: self.identity.as_ref().and_then(|i| i.etag.clone()),
                ..Default::default()
            };
            let result = self.store.get_opts(&self.path, options).await.map_err(|e| self.error(e))?;
            if let Some(identity) = &self.identity
                && let Some(how) = difference(identity, &result.meta)
            {
                return Err(self.changed(&how));
            }
            let (mut coming, mut rest, mut body) = (result.into_stream(), Bytes::new(), Body::new(length)?);
            for end in ends {
                while body.len() < *end {
                    if rest.is_empty() {
                        let Some(next) = coming.next().await else {
                            return Err(self.short(offset, length, body.len()));
                        };
                        rest = next.map_err(|e| self.error(e))?;
                    }
                    body.take_from(&mut rest, *end);
                }
                each(body.part());
            }
            while let Some(next) = coming.next().await {
                rest = next.map_err(|e| self.error(e))?;
                if !rest.is_empty() {
                    break;
                }
            }
            if rest.is_empty() { Ok(()) } else { Err(self.short(offset, length, length.saturating_add(1))) }
        })
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl RemoteObject {
    fn short(&self, offset: u64, length: u64, got: u64) -> Error {
        let kind = if self.linked { ErrorKind::SourceChanged } else { ErrorKind::Corrupt };
        Error::new(kind, format!("{}: {length} bytes at {offset} were wanted, {got} came", self.name))
            .hint("the object is shorter than its references say: link it again, or run `icecore verify`")
    }

    fn changed(&self, how: &str) -> Error {
        Error::new(ErrorKind::SourceChanged, format!("{} changed since it was linked: {how}", self.name))
            .hint("link it again with --replace")
    }

    fn error(&self, error: object_store::Error) -> Error {
        describe(&self.name, self.linked, &error)
    }
}

/// What tells the object that answered from the one that was linked: many servers ignore conditions, but say what they send.
fn difference(was: &LinkIdentity, now: &ObjectMeta) -> Option<String> {
    if was.size != now.size {
        return Some(format!("it had {} bytes when it was linked and has {} now", was.size, now.size));
    }
    let strong = now.e_tag.as_deref().map(|tag| tag.trim_start_matches("W/"));
    if let (Some(was), Some(now)) = (was.etag.as_deref(), strong) {
        return (was != now).then(|| format!("its etag was {was} when it was linked and is {now} now"));
    }
    // Dates have whole seconds; without one the store says 1970.
    let (then, date) = (was.mtime_ns.div_euclid(1_000_000_000), now.last_modified.timestamp());
    let known = was.mtime_ns > 0 && date > 0;
    (known && then != date)
        .then(|| format!("it was modified at {then} (seconds since 1970) when it was linked, at {date} now"))
}

/// The error of an object store in our words.
pub(super) fn describe(name: &str, linked: bool, error: &object_store::Error) -> Error {
    use object_store::Error as E;
    let cause = root_cause(error);
    let (kind, hint) = match error {
        _ if icecore_catalog::lacks_keys(&cause) => {
            (ErrorKind::Permission, "give credentials in storage={…}, or storage={\"anonymous\": \"true\"}")
        }
        E::NotFound { .. } if linked => {
            (ErrorKind::SourceMissing, "the linked object is gone: link it again where it is now")
        }
        E::NotFound { .. } => (ErrorKind::NotFound, "check the address"),
        E::Precondition { .. } | E::NotModified { .. } => {
            (ErrorKind::SourceChanged, "the object changed since it was linked: link it again with --replace")
        }
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            (ErrorKind::Permission, "check the credentials given in storage={…}")
        }
        E::Generic { .. } if out_of_range(error) => {
            (ErrorKind::SourceChanged, "the object is shorter than its references say")
        }
        _ => (ErrorKind::Network, "try again; check that the server can be reached"),
    };
    Error::new(kind, format!("cannot read {name}: {cause}")).hint(hint)
}

/// A server answers 416 when the range lies behind the end.
fn out_of_range(error: &object_store::Error) -> bool {
    // Not the bare number: addresses and durations have digits too.
    let text = root_cause(error);
    text.contains("416 Range Not Satisfiable") || text.contains("InvalidGetRange")
}

fn root_cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(inner) = next {
        let more = inner.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        next = inner.source();
    }
    text
}

/// A client for all objects below the scheme and host of `url`, and the object's path in it.
pub(super) fn client(url: &str, options: &BTreeMap<String, String>) -> Result<(Arc<dyn ObjectStore>, Path)> {
    let (base, key) = split(url)?;
    let path = Path::from_url_path(key).map_err(|e| Error::new(ErrorKind::Invalid, format!("{url}: {e}")))?;
    // An archive that is asked for too much says so for some seconds; nobody is to wait for minutes in silence.
    let retry = RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(50),
            max_backoff: Duration::from_secs(5),
            base: 2.0,
        },
        max_retries: 7,
        retry_timeout: Duration::from_secs(60),
    };
    let fail = |e: object_store::Error| Error::new(ErrorKind::Invalid, format!("{url}: {e}"));
    if let Some(bucket) = base.strip_prefix("s3://") {
        let mut builder = object_store::aws::AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry);
        builder = builder.with_allow_http(icecore_catalog::allows_http(options)?);
        for (key, value) in options {
            if let Some(key) = s3_option(key) {
                builder = builder.with_config(key, value);
            }
        }
        return Ok((Arc::new(builder.build().map_err(fail)?), path));
    }
    let store = http::builder(options)?.with_url(base).with_retry(retry).build().map_err(fail)?;
    Ok((Arc::new(store), path))
}

fn s3_option(key: &str) -> Option<object_store::aws::AmazonS3ConfigKey> {
    let name = match key {
        "endpoint_url" => "aws_endpoint",
        "anonymous" => "aws_skip_signature",
        "allow_http" => return None,       // decided above
        "force_path_style" => return None, // path style is what object_store does unless told otherwise
        other => other,
    };
    name.parse().ok()
}

/// `scheme://host` and the rest.
fn split(url: &str) -> Result<(&str, &str)> {
    let invalid = || {
        Error::new(ErrorKind::Invalid, format!("{url} is not a URL of an object"))
            .hint("http(s)://host/path or s3://bucket/key")
    };
    let start = url.find("://").ok_or_else(invalid)? + 3;
    let rest = url.get(start..).ok_or_else(invalid)?;
    let slash = rest.find('/').unwrap_or(rest.len());
    Ok((url.get(..start + slash).ok_or_else(invalid)?, rest.get(slash..).unwrap_or("").trim_start_matches('/')))
}

/// Size and identity of a remote object, by one HEAD request.
pub fn probe(url: &str, options: &BTreeMap<String, String>) -> Result<LinkIdentity> {
    let (store, path) = client(url, options)?;
    let meta = icecore_catalog::runtime().block_on(store.head(&path)).map_err(|e| describe(url, true, &e))?;
    Ok(LinkIdentity {
        size: meta.size,
        mtime_ns: meta.last_modified.timestamp_nanos_opt().unwrap_or(-1),
        etag: meta.e_tag,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_in_an_address_or_a_duration_are_no_status() {
        let kind = |text: &str| {
            let error = object_store::Error::Generic { store: "HTTP", source: text.into() };
            describe("http://127.0.0.1:41600/x.h5", true, &error).kind
        };
        assert_eq!(kind("GET http://127.0.0.1:41600/x.h5 in 416.2ms: connection refused"), ErrorKind::Network);
        assert_eq!(kind("Server returned non-2xx status code: 416 Range Not Satisfiable: "), ErrorKind::SourceChanged);
    }

    #[test]
    fn urls_split_into_host_and_key() {
        assert_eq!(split("http://127.0.0.1:80/a/b.h5").unwrap(), ("http://127.0.0.1:80", "a/b.h5"));
        assert_eq!(split("s3://bucket").unwrap(), ("s3://bucket", ""));
        assert!(split("nothing").is_err());
    }
}
