//! Objects of a repository by name, whatever store it is in.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use icechunk::asset_manager::AssetManager;
use icechunk::storage::StorageErrorKind;
use icecore_grid::{Error, ErrorKind, Result};
use tokio::io::AsyncReadExt;

use crate::open::repo_state::RepoState;
use crate::runtime::guard;
use crate::seal::{self, Seal, State};
use crate::stores::options::{self, SharedBackend};
use crate::stores::storage::Root;
use crate::stores::{durable, unsynced};
use crate::{error, frame};

/// Requests for metadata that are in flight at once; the cost of one is its latency.
const REQUESTS: u16 = 64;
/// Level of zstd that Icechunk compresses metadata with.
const LEVEL: u8 = 3;

/// A repository's store.
pub(crate) struct Place {
    pub assets: Arc<AssetManager>,
    pub url: String,
    /// The directory of a local repository.
    pub folder: Option<PathBuf>,
    is_durable: bool,
}

impl Place {
    /// The store of an open repository.
    pub fn of(shared: &RepoState) -> Result<Self> {
        let folder = folder(&shared.root)?;
        let is_durable = options::is_durable(&shared.options)?;
        let repository = shared.repository();
        Ok(Self { assets: Arc::clone(repository.asset_manager()), url: shared.url.clone(), folder, is_durable })
    }

    /// The store of a repository that does not exist yet.
    pub async fn new(root: &Root, backend: SharedBackend, options: &BTreeMap<String, String>) -> Result<Self> {
        let settings =
            backend.default_settings().await.map_err(error::storage)?.merge(options::settings(root, options)?);
        let version = icechunk::format::format_constants::SpecVersionBin::V2;
        let assets = Arc::new(AssetManager::new_no_cache(backend, settings, version, LEVEL, REQUESTS));
        Ok(Self { assets, url: root.url(), folder: folder(root)?, is_durable: options::is_durable(options)? })
    }

    /// The whole object; None if there is none.
    pub async fn read(&self, name: &str) -> Result<Option<Bytes>> {
        let during = error::during(format!("{}/{name}", self.url));
        let mut reader = match self.assets.storage().get_object(&self.assets.storage_context(), name, None).await {
            Ok((reader, _)) => reader,
            Err(e) if matches!(e.kind, StorageErrorKind::ObjectNotFound) => return Ok(None),
            Err(e) => return Err(during(error::storage(e))),
        };
        let mut bytes = Vec::new();
        match reader.read_to_end(&mut bytes).await {
            Ok(_) => Ok(Some(bytes.into())),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(during(error::decoding(e))),
        }
    }

    /// The whole object.
    pub async fn must_read(&self, name: &str) -> Result<Bytes> {
        let missing = || damaged(self, format!("{name} is missing"));
        self.read(name).await?.ok_or_else(missing)
    }

    /// Writes an object. In a directory it is on disk when the root object is written next.
    pub async fn write(&self, name: &str, bytes: Bytes) -> Result<()> {
        let during = error::during(format!("{}/{name}", self.url));
        let context = self.assets.storage_context();
        let done = self.assets.storage().put_object(&context, name, bytes, None, Vec::new(), None).await;
        done.and_then(|done| done.must_write().map(drop)).map_err(error::storage).map_err(during)
    }

    /// The objects in one of the repository's folders, and their lengths.
    pub async fn list(&self, folder: &str) -> Result<HashMap<String, u64>> {
        let listed = self.assets.storage().list_objects(&self.assets.storage_context(), folder).await;
        let listed = match listed {
            Ok(listed) => listed.map_ok(|found| (found.id, found.size_bytes)).try_collect().await,
            Err(e) => Err(e),
        };
        match listed {
            Err(e) if matches!(e.kind, StorageErrorKind::ObjectNotFound) => Ok(HashMap::new()),
            done => done.map_err(error::storage).map_err(error::during(&self.url)),
        }
    }

    /// Copies a file of another directory; returns its length.
    pub fn copy_file(&self, from: &std::path::Path, name: &str) -> Result<u64> {
        let folder = self.folder.clone().unwrap_or_default();
        durable::copy_in(&folder, name, from, self.is_durable)
            .map_err(|e| error::during(format!("{}/{name}", self.url))(error::io(&e)))
    }

    /// Notes a file that was written past Icechunk, for the next synchronisation.
    pub fn note(&self, name: &str) {
        if let (Some(folder), true) = (&self.folder, self.is_durable) {
            unsynced::Unsynced::of(folder).add(folder.join(name));
        }
    }

    /// The recorded checksums of a version; of a repository in a directory alone.
    pub fn seal(&self, version: &str) -> Seal {
        self.folder.as_ref().map_or_else(Seal::default, |folder| Seal::load(folder, version))
    }

    /// The text of a version's valid seal.
    pub fn seal_text(&self, version: &str) -> Option<Vec<u8>> {
        let folder = self.folder.as_ref()?;
        match seal::state(folder, version) {
            State::Whole(_) => std::fs::read(folder.join(seal::FOLDER).join(version)).ok(),
            _ => None,
        }
    }
}

/// The canonical path of a local repository.
fn folder(root: &Root) -> Result<Option<PathBuf>> {
    let Root::Local(path) = root else { return Ok(None) };
    let during = error::during(path.display());
    std::fs::canonicalize(path).map(Some).map_err(|e| during(error::io(&e)))
}

/// The error of an object that is not as it was written.
pub(crate) fn damaged(place: &Place, what: String) -> Error {
    let error = error::damaged(format!("{}: {what}", place.url));
    error.hint(format!("if there is a copy: icecore repair {} --from COPY", place.url))
}

/// Rejects the bytes of a metadata file that differ from its recorded checksum or claim an impossible size.
pub(crate) fn check(place: &Place, seal: &Seal, name: &str, bytes: &[u8]) -> Result<()> {
    let checked = seal.check(name, bytes).and_then(|()| guard(|| frame::check(bytes, bytes.len() as u64, name)));
    checked.map_err(|e| if e.kind == ErrorKind::Corrupt { damaged(place, e.message) } else { e })
}
