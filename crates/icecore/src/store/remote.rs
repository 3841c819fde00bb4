//! Objects on HTTP servers and in object stores.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures::StreamExt;
use futures::future::{BoxFuture, Either, select};
use icecore_catalog::LinkIdentity;
use icecore_grid::{Error, ErrorKind, Result};
use object_store::path::Path;
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore};

use super::caps::{cap, learn};
use super::response_buffers::Body;
use super::stragglers::{may_repeat, note_first_byte, patience};

/// Receives the parts of a response, one after another.
pub type Each<'a> = &'a mut (dyn FnMut(Bytes) + Send);

/// Whether all parts arrived.
pub type Parts = std::result::Result<(), Broken>;

/// Reason why parts are missing.
#[derive(Debug)]
pub struct Broken {
    pub error: Error,
    /// The response was truncated: request the rest. Rejected requests have already been retried.
    pub is_off: bool,
}

impl From<Error> for Broken {
    fn from(error: Error) -> Self {
        Self { error, is_off: false }
    }
}

/// A store that answers range requests.
pub trait RangeGet: Send + Sync {
    /// The bytes `offset..offset + length`, completely or with an error.
    fn get(&self, offset: u64, length: u64) -> BoxFuture<'_, Result<Bytes>>;
    /// Fetches a range and passes each part to the consumer when it has arrived; `ends`, ascending, are relative to
    /// `offset`. After an error the parts that were passed are valid.
    fn get_parts<'a>(&'a self, offset: u64, ends: &'a [u64], each: Each<'a>) -> BoxFuture<'a, Parts> {
        Box::pin(async move {
            let got = self.get(offset, ends.last().copied().unwrap_or(0)).await;
            let bytes = got.map_err(|error| Broken { is_off: error.kind == ErrorKind::Network, error })?;
            pass(&bytes, ends, each);
            Ok(())
        })
    }
    /// Number of requests for a single chunk of this length.
    fn requests(&self, _length: u64) -> u64 {
        1
    }
    /// Name for messages.
    fn name(&self) -> &str;
    /// Current size and identity, if they can be determined without reading the object.
    fn probe(&self) -> BoxFuture<'_, Result<Option<LinkIdentity>>> {
        Box::pin(async { Ok(None) })
    }
}

/// Passes the parts of a range that arrived as a whole.
fn pass(bytes: &Bytes, ends: &[u64], each: Each<'_>) {
    let mut start = 0;
    for end in ends.iter().map(|end| usize::try_from(*end).unwrap_or(usize::MAX).min(bytes.len())) {
        each(bytes.slice(start..end));
        start = end;
    }
}

/// An object in a store, with its expected identity.
pub(super) struct RemoteObject {
    pub store: Arc<dyn ObjectStore>,
    pub path: Path,
    pub name: String,
    /// The ETag is sent with each request, so that the server rejects it if the object has changed.
    pub identity: Option<LinkIdentity>,
    pub linked: bool,
}

impl RangeGet for RemoteObject {
    fn get(&self, offset: u64, length: u64) -> BoxFuture<'_, Result<Bytes>> {
        Box::pin(async move {
            let mut all = Bytes::new();
            self.get_parts(offset, &[length], &mut |bytes| all = bytes).await.map_err(|broken| broken.error)?;
            Ok(all)
        })
    }

    fn get_parts<'a>(&'a self, offset: u64, ends: &'a [u64], each: Each<'a>) -> BoxFuture<'a, Parts> {
        Box::pin(async move {
            let length = ends.last().copied().unwrap_or(0);
            let end = offset.checked_add(length).ok_or_else(|| self.short(offset, length, 0))?;
            let is_long = ends.len() == 1 && pieces_of(length) > 1;
            if is_long || cap(&self.name).is_some_and(|cap| cap < length) {
                return self.get_parts_in_pieces(offset, ends, each).await;
            }
            let options = GetOptions {
                range: Some(GetRange::Bounded(offset..end)),
                if_match: self.identity.as_ref().and_then(|i| i.etag.clone()),
                ..Default::default()
            };
            let result = match self.answer(options).await {
                Ok(result) => result,
                Err(error) if learn(&self.name, &(offset..end), &error) => {
                    return self.get_parts_in_pieces(offset, ends, each).await;
                }
                Err(error) => return Err(self.error(error).into()),
            };
            if let Some(identity) = &self.identity
                && let Some(how) = difference(identity, &result.meta)
            {
                return Err(self.changed(&how).into());
            }
            if result.meta.size < end {
                return Err(self.short(offset, length, result.meta.size.saturating_sub(offset)).into());
            }
            // A response with an ETag was resumed where it broke off, up to the limit of retries.
            let is_known = result.meta.e_tag.is_some();
            let (mut coming, mut rest, mut body) = (result.into_stream(), Bytes::new(), Body::new(length)?);
            for (number, end) in ends.iter().enumerate() {
                let off = |error| Broken { error, is_off: !is_known || number > 0 };
                while body.len() < *end {
                    if rest.is_empty() {
                        let Some(next) = coming.next().await else {
                            return Err(Broken { error: self.unlike(offset, length, body.len()), is_off: true });
                        };
                        rest = next.map_err(|e| off(self.error(e)))?;
                    }
                    body.take_from(&mut rest, *end);
                }
                each(body.part());
            }
            while rest.is_empty() {
                let Some(next) = coming.next().await else { return Ok(()) };
                rest = next.map_err(|e| Broken { error: self.error(e), is_off: true })?;
            }
            Err(self.unlike(offset, length, length.saturating_add(rest.len() as u64)).into())
        })
    }

    fn requests(&self, length: u64) -> u64 {
        match cap(&self.name) {
            Some(cap) if cap < length => length.div_ceil(cap.min(PIECE)),
            _ => pieces_of(length),
        }
    }

    fn name(&self) -> &str {
        &self.name
    }

    /// Requests the first byte: many servers, and presigned URLs, reject HEAD.
    fn probe(&self) -> BoxFuture<'_, Result<Option<LinkIdentity>>> {
        Box::pin(async move {
            let first = GetOptions { range: Some(GetRange::Bounded(0..1)), ..Default::default() };
            let meta = self.store.get_opts(&self.path, first).await.map_err(|e| self.error(e))?.meta;
            Ok(Some(LinkIdentity {
                size: meta.size,
                mtime_ns: meta.last_modified.timestamp_nanos_opt().unwrap_or(-1),
                etag: meta.e_tag,
            }))
        })
    }
}

/// Maximum length of one request: a longer chunk is fetched in parts of this size over several connections.
const PIECE: u64 = 8 << 20;
/// Parts of one chunk that are requested at once.
const PIECES_AT_ONCE: usize = 4;

/// Number of requests for a single chunk of this length, if the server has no shorter limit. Up to twice [`PIECE`] the
/// second would be short.
fn pieces_of(length: u64) -> u64 {
    if length <= 2 * PIECE { 1 } else { length.div_ceil(PIECE) }
}

impl RemoteObject {
    /// The response to a request. One that is late is sent a second time; the first response counts.
    async fn answer(&self, options: GetOptions) -> object_store::Result<GetResult> {
        let began = Instant::now();
        let mut first = self.store.get_opts(&self.path, options.clone());
        let answered = match patience(&self.name) {
            None => first.await,
            Some(patience) => match tokio::time::timeout(patience, &mut first).await {
                Ok(answered) => answered,
                Err(_) if !may_repeat(&self.name) => first.await,
                Err(_) => match select(first, self.store.get_opts(&self.path, options)).await {
                    Either::Left((Ok(answer), _)) | Either::Right((Ok(answer), _)) => Ok(answer),
                    Either::Left((Err(_), other)) | Either::Right((Err(_), other)) => other.await,
                },
            },
        };
        if answered.is_ok() {
            note_first_byte(&self.name, began.elapsed().as_secs_f64());
        }
        answered
    }

    async fn get_parts_in_pieces(&self, offset: u64, ends: &[u64], each: Each<'_>) -> Parts {
        let got = self.get_in_pieces(offset, ends.last().copied().unwrap_or(0)).await;
        let bytes = got.map_err(|error| Broken { is_off: error.kind == ErrorKind::Network, error })?;
        pass(&bytes, ends, each);
        Ok(())
    }

    async fn get_in_pieces(&self, offset: u64, length: u64) -> Result<Bytes> {
        let piece = cap(&self.name).unwrap_or(PIECE).min(PIECE);
        let too_large = || Error::new(ErrorKind::Memory, format!("no memory for a chunk of {length} bytes"));
        let mut all = Vec::new();
        all.try_reserve_exact(usize::try_from(length).map_err(|_| too_large())?).map_err(|_| too_large())?;
        let requests = (0..length.div_ceil(piece)).map(|number| {
            let start = number * piece;
            self.get(offset + start, piece.min(length - start))
        });
        let mut pieces = futures::stream::iter(requests).buffered(PIECES_AT_ONCE);
        while let Some(piece) = pieces.next().await {
            all.extend_from_slice(&piece?);
        }
        Ok(Bytes::from(all))
    }

    fn short(&self, offset: u64, length: u64, got: u64) -> Error {
        let kind = if self.linked { ErrorKind::SourceChanged } else { ErrorKind::Corrupt };
        Error::new(kind, format!("{}: {length} bytes at {offset} were wanted, {got} came", self.name))
            .hint("the object is shorter than its references say: link it again, or run `icecore verify`")
    }

    /// The object is long enough, but the number of bytes received differs from the one that the server announced.
    fn unlike(&self, offset: u64, length: u64, got: u64) -> Error {
        let how = if got > length { "or more " } else { "" };
        Error::new(
            ErrorKind::Network,
            format!("{}: the server sent {got} {how}bytes when asked for {length} at {offset}", self.name),
        )
        .hint("try again; if it lasts, the server or a proxy in between is at fault: copy the file and use the copy")
    }

    fn changed(&self, how: &str) -> Error {
        Error::new(ErrorKind::SourceChanged, format!("{} changed since it was linked: {how}", self.name))
            .hint("link it again with --replace")
    }

    fn error(&self, error: object_store::Error) -> Error {
        describe(&self.name, self.linked, &error)
    }
}

/// Compares the identity in a response with the linked one: many servers ignore conditions, but report what they send.
fn difference(was: &LinkIdentity, now: &ObjectMeta) -> Option<String> {
    if was.size != now.size {
        return Some(format!("it had {} bytes when it was linked and has {} now", was.size, now.size));
    }
    let strong = now.e_tag.as_deref().map(|tag| tag.trim_start_matches("W/"));
    if let (Some(was), Some(now)) = (was.etag.as_deref(), strong) {
        return (was != now).then(|| format!("its etag was {was} when it was linked and is {now} now"));
    }
    // Dates have whole seconds; if there is none, the store reports 1970.
    let (then, date) = (was.mtime_ns.div_euclid(1_000_000_000), now.last_modified.timestamp());
    let known = was.mtime_ns > 0 && date > 0;
    (known && then != date)
        .then(|| format!("it was modified at {then} (seconds since 1970) when it was linked, at {date} now"))
}

/// Converts an object store's error.
pub(super) fn describe(name: &str, linked: bool, error: &object_store::Error) -> Error {
    use object_store::Error as E;
    let cause = icecore_catalog::causes(error);
    let is_missing = matches!(error, E::NotFound { .. }) || icecore_catalog::is_gone(&cause);
    if let Some(refusal) = icecore_catalog::refusal(&cause) {
        let kind = if refusal.kind == ErrorKind::NotFound && linked { ErrorKind::SourceMissing } else { refusal.kind };
        return Error::new(kind, format!("cannot read {name}: {}: {cause}", refusal.what)).hint(refusal.hint);
    }
    let (kind, hint) = match error {
        _ if icecore_catalog::lacks_keys(&cause) => {
            (ErrorKind::Permission, "give credentials in storage={…}, or storage={\"anonymous\": \"true\"}")
        }
        _ if is_missing && linked => {
            (ErrorKind::SourceMissing, "if the linked objects were moved: icecore relink OLD NEW --into REPO")
        }
        _ if is_missing => (ErrorKind::NotFound, "check the address"),
        E::Precondition { .. } | E::NotModified { .. } => {
            (ErrorKind::SourceChanged, "the object changed since it was linked: link it again with --replace")
        }
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            (ErrorKind::Permission, "check the credentials given in storage={…}")
        }
        E::Generic { .. } if out_of_range(error) => {
            (ErrorKind::SourceChanged, "the object is shorter than its references say")
        }
        E::NotSupported { .. } => (ErrorKind::Network, icecore_catalog::NO_RANGES),
        _ => (ErrorKind::Network, "try again; check that the server can be reached"),
    };
    Error::new(kind, format!("cannot read {name}: {cause}")).hint(hint)
}

/// A server answers 416 if the range is after the end of the object.
fn out_of_range(error: &object_store::Error) -> bool {
    // Not the bare number, because addresses and durations contain digits too.
    let text = icecore_catalog::causes(error);
    text.contains("416 Range Not Satisfiable") || text.contains("InvalidGetRange")
}

/// A client for all objects below `base` (see [`split`]).
pub(super) fn client(base: &str, options: &BTreeMap<String, String>) -> Result<Arc<dyn ObjectStore>> {
    match icecore_catalog::bucket_of(base) {
        Some((bucket, _)) => icecore_catalog::cloud_store(bucket, options),
        None => icecore_catalog::http_store(base, options),
    }
}

/// Splits a URL into the part shared by all objects of one client, and the path of this object. The first is `scheme://host`
/// and for http(s) the query, which may hold access rights (presigned URLs).
pub(super) fn split(url: &str) -> Result<(String, Path)> {
    let invalid = || {
        Error::new(ErrorKind::Invalid, format!("{url} is not a URL of an object"))
            .hint("http(s)://host/path, s3://bucket/key, gs://bucket/key or az://container/key")
    };
    let start = url.find("://").ok_or_else(invalid)? + 3;
    let rest = url.get(start..).ok_or_else(invalid)?;
    let slash = rest.find('/').unwrap_or(rest.len());
    let (host, key) = (url.get(..start + slash).ok_or_else(invalid)?, rest.get(slash..).unwrap_or(""));
    let (key, query) = if url.starts_with("http") {
        let key = key.split('#').next().unwrap_or(key);
        key.split_once('?').unwrap_or((key, ""))
    } else {
        (key, "")
    };
    let path = Path::from_url_path(key.trim_start_matches('/'))
        .map_err(|e| Error::new(ErrorKind::Invalid, format!("{url}: {e}")))?;
    Ok((if query.is_empty() { host.to_owned() } else { format!("{host}?{query}") }, path))
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
        assert_eq!(kind("Server returned non-2xx status code: 410 Gone: "), ErrorKind::SourceMissing);
        assert_eq!(kind("Server returned non-2xx status code: 416 Range Not Satisfiable: "), ErrorKind::SourceChanged);
    }

    #[test]
    fn urls_split_into_host_and_key() {
        let parts = |url: &str| split(url).map(|(base, path)| (base, path.to_string())).unwrap();
        let pair = |base: &str, path: &str| (base.to_owned(), path.to_owned());
        assert_eq!(parts("http://127.0.0.1:80/a/b.h5"), pair("http://127.0.0.1:80", "a/b.h5"));
        assert_eq!(parts("https://h/a/b.h5?X=1&Y=/2"), pair("https://h?X=1&Y=/2", "a/b.h5"));
        assert_eq!(parts("https://h/a%23b#c?d"), pair("https://h", "a#b"));
        assert_eq!(parts("https://[::1]:80/a%20b"), pair("https://[::1]:80", "a b"));
        assert_eq!(parts("s3://bucket"), pair("s3://bucket", ""));
        assert_eq!(parts("az://bucket/a b"), pair("az://bucket", "a b"));
        assert!(split("nothing").is_err());
    }
}
