//! Open objects of a read: file handles, HTTP clients, and the cost of their requests.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures::future::BoxFuture;
use icecore_catalog::{LinkIdentity, Location, Native, Object, PerProcess, Repo, Snapshot, options_for_link};
use icecore_grid::{Error, ErrorKind, Result};
use object_store::ObjectStore;
use object_store::path::Path as ObjectPath;

use super::remote::{RemoteObject, client, split};
use super::stragglers::host;
use super::{Cost, LocalFile, RangeGet, Source};

/// Wrapper between a source and its reader: the counting and failing stores of tests.
pub type Wrap = Arc<dyn Fn(Source) -> Source + Send + Sync>;

const OPEN_FILES: usize = 256;

/// Open files and clients, shared by all users in the process.
#[derive(Default)]
pub struct Stores {
    files: Mutex<HashMap<PathBuf, Arc<LocalFile>>>,
    clients: Mutex<HashMap<String, Arc<dyn ObjectStore>>>,
    costs: Mutex<HashMap<String, Cost>>,
}

/// The process's stores.
pub fn stores() -> &'static Stores {
    static STORES: PerProcess<Stores> = PerProcess::new();
    STORES.get_or(|_| Stores::default())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stores {
    /// Opens an object of a repository; a linked one only if links are allowed and it is unchanged.
    pub fn open(&self, repo: &Repo, snapshot: &Snapshot, object: &Object) -> Result<Source> {
        match &object.location {
            Location::Native(name) => self.open_native(repo, name),
            Location::Link(url) => self.open_link(repo, snapshot, url),
        }
    }

    /// Creates the HTTP client on a separate thread, if reading this repository will need one, while the caller waits
    /// for the repository's tables.
    pub(crate) fn prepare(&self, repo: &Repo) {
        let far = |url: &str| url.starts_with("http");
        let native = matches!(repo.native_location(), Native::Url { url, .. } if far(&url));
        if native || repo.link_prefixes().is_ok_and(|prefixes| prefixes.iter().any(|prefix| far(prefix))) {
            let _made_again_where_it_failed = icecore_catalog::runtime().spawn_blocking(icecore_catalog::http_client);
        }
    }

    fn open_native(&self, repo: &Repo, name: &str) -> Result<Source> {
        match repo.native_location() {
            Native::Local(root) => Ok(Source::Local(self.file(&root.join(name), false)?)),
            Native::Url { url, options } => {
                let (folder, query) = url
                    .split_once('?')
                    .map_or((url.as_str(), String::new()), |(folder, query)| (folder, format!("?{query}")));
                let url = format!("{}/{name}{query}", folder.trim_end_matches('/'));
                Ok(Source::Remote(Arc::new(self.object(&url, &options, None, false)?)))
            }
            Native::Bucket { base, prefix, options } => {
                // A key is not a URL: it is not percent-encoded.
                let path = ObjectPath::parse(format!("{prefix}/{name}"))
                    .map_err(|e| Error::new(ErrorKind::Invalid, format!("{base}/{prefix}/{name}: {e}")))?;
                let (store, name) = (self.client(&base, &options)?, format!("{base}/{path}"));
                Ok(Source::Remote(Arc::new(RemoteObject { store, path, name, identity: None, linked: false })))
            }
            Native::Memory => Ok(Source::Remote(Arc::new(InRepository { repo: repo.clone(), name: name.to_owned() }))),
        }
    }

    fn open_link(&self, repo: &Repo, snapshot: &Snapshot, url: &str) -> Result<Source> {
        if !repo.link_allowed(url)? {
            return Err(Error::new(
                ErrorKind::LinkNotAllowed,
                format!(
                    "this repository links to {url}, which is outside the allowed prefixes: {}",
                    list(&repo.link_prefixes()?)
                ),
            )
            .hint("allow it when opening: --allow-links PREFIX, or icecore.open(…, allow_links=[\"PREFIX\"])"));
        }
        let identity = snapshot.source_identity(url)?;
        match file_path(url)? {
            Some(path) => {
                let file = self.file(&path, true)?;
                if let Some(identity) = identity {
                    file.check(&identity)?;
                }
                Ok(Source::Local(file))
            }
            None => Ok(Source::Remote(Arc::new(self.object(
                url,
                &options_for_link(&repo.storage_options(), repo.url(), url),
                identity,
                true,
            )?))),
        }
    }

    fn file(&self, path: &Path, linked: bool) -> Result<Arc<LocalFile>> {
        let known = lock(&self.files).get(path).cloned();
        if let Some(file) = known.filter(|f| f.is_current()) {
            return Ok(file);
        }
        let file = Arc::new(LocalFile::open(path, linked)?);
        let mut files = lock(&self.files);
        if files.len() >= OPEN_FILES {
            files.clear(); // handles in use are kept by their reads
        }
        files.insert(path.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    fn object(
        &self,
        url: &str,
        options: &BTreeMap<String, String>,
        identity: Option<LinkIdentity>,
        linked: bool,
    ) -> Result<RemoteObject> {
        let (base, path) = split(url)?;
        Ok(RemoteObject { store: self.client(&base, options)?, path, name: url.to_owned(), identity, linked })
    }

    /// An object that no repository has linked yet; `identity` is compared with each response.
    pub(super) fn source(
        &self,
        url: &str,
        options: &BTreeMap<String, String>,
        identity: Option<LinkIdentity>,
    ) -> Result<RemoteObject> {
        self.object(url, options, identity, true)
    }

    pub(super) fn client(&self, base: &str, options: &BTreeMap<String, String>) -> Result<Arc<dyn ObjectStore>> {
        let key = format!("{base}|{options:?}");
        let known = lock(&self.clients).get(&key).map(Arc::clone);
        Ok(match known {
            Some(store) => store,
            None => Arc::clone(lock(&self.clients).entry(key).or_insert(client(base, options)?)),
        })
    }

    /// Estimated cost of a request to this source.
    pub fn cost(&self, source: &Source) -> Cost {
        match source {
            Source::Local(_) => Cost::LOCAL,
            Source::Remote(object) => lock(&self.costs).get(host(object.name())).copied().unwrap_or(Cost::REMOTE),
        }
    }

    /// Adds the duration of a request to the estimate.
    pub fn observe(&self, name: &str, bytes: u64, seconds: f64) {
        lock(&self.costs).entry(host(name).to_owned()).or_insert(Cost::REMOTE).observe(bytes, seconds);
    }
}

fn list(prefixes: &[String]) -> String {
    if prefixes.is_empty() { "nothing".to_owned() } else { prefixes.join(", ") }
}

/// The path of a `file://` URL, percent-decoded; None for other schemes.
pub(super) fn file_path(url: &str) -> Result<Option<PathBuf>> {
    use std::os::unix::ffi::OsStringExt;
    let Some(rest) = url.strip_prefix("file://") else { return Ok(None) };
    let bad = || Error::new(ErrorKind::Corrupt, format!("{url} is not a valid file URL"));
    let mut bytes = Vec::with_capacity(rest.len());
    let mut input = rest.bytes();
    while let Some(byte) = input.next() {
        bytes.push(if byte == b'%' {
            let mut digit = || input.next().and_then(|d| char::from(d).to_digit(16)).ok_or_else(bad);
            (digit()? * 16 + digit()?) as u8
        } else {
            byte
        });
    }
    Ok(Some(PathBuf::from(std::ffi::OsString::from_vec(bytes))))
}

/// An object of a repository in this process's memory.
struct InRepository {
    repo: Repo,
    name: String,
}

impl RangeGet for InRepository {
    fn get(&self, offset: u64, length: u64) -> BoxFuture<'_, Result<Bytes>> {
        let (repo, name) = (self.repo.clone(), self.name.clone());
        Box::pin(async move {
            // The catalog's functions block, so they must not run on a thread that drives other requests.
            tokio::task::spawn_blocking(move || repo.read_object(&name, offset, length))
                .await
                .map_err(|e| Error::new(ErrorKind::Internal, e.to_string()))?
        })
    }

    fn name(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_urls_are_percent_decoded() {
        assert_eq!(file_path("file:///a%20b/c.h5").unwrap(), Some(PathBuf::from("/a b/c.h5")));
        assert_eq!(file_path("http://x/c").unwrap(), None);
        assert!(file_path("file:///a%2").is_err());
    }
}
