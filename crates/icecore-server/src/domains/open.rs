//! Open domains: one version of a repository each, looked up again when it may be outdated.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use icecore::cancel;
use icecore::catalog::Storage;
use icecore::grid::{Error, ErrorKind, Result};
use icecore::session::{self, Session};

use super::address::{Address, NAME_RULE};
use super::file_objects::{self, FileObjects, InFile};
use super::ids::{self, Collection, Ids};
use super::model::Model;
use super::mounts::{Entry, Found, Mounts};
use crate::config::Limits;
use crate::delegate::{Delegate, Located};
use crate::http::private;
use crate::kept::{Kept, Texts};
use crate::turn;

/// An open version of a repository.
pub(crate) struct Domain {
    /// The requested name, including the version.
    pub name: String,
    pub session: Session,
    pub ids: Ids,
    /// The time of the commit, in seconds since 1970.
    pub time: f64,
    /// Basis of entity tags: the snapshot, or a state before the next commit.
    pub tag: String,
    /// Whether the root group records that objects have stored ids and links.
    pub is_marked: bool,
    /// Its HDF5 objects, if it is marked or writable.
    pub model: OnceLock<Arc<Model>>,
    /// Where a file that is served in place is indexed.
    pub in_file: Option<InFile>,
    /// Its objects beyond the index, read on first demand.
    pub file_objects: OnceLock<Option<Arc<FileObjects>>>,
    /// All objects as JSON, made on first demand.
    pub objects: OnceLock<Bytes>,
    /// Opened datasets by id, and other values of the version.
    pub datasets: Kept,
    /// Documents of the Zarr interface, by path.
    pub texts: Texts,
}

impl Domain {
    /// The number of the object with this id in the collection.
    ///
    /// # Errors
    /// `invalid` for a malformed id, `not-found` for one of another domain.
    pub fn object(&self, collection: Collection, id: &str) -> Result<usize> {
        ids::check(collection, id, self.ids.root())?;
        self.ids.number(id).ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("{id} is not an object of the domain {}", self.name))
                .hint("follow the links from the root group of this domain")
        })
    }
}

impl Domain {
    /// What the index of a file can't hold; None for a repository.
    ///
    /// # Errors
    /// `format` for a description that can't be read.
    pub fn file_objects(&self) -> Result<Option<&Arc<FileObjects>>> {
        let Some(place) = &self.in_file else { return Ok(None) };
        if let Some(known) = self.file_objects.get() {
            return Ok(known.as_ref());
        }
        let read = FileObjects::read(place, self.session.tree(), &self.ids, self.time)?.map(Arc::new);
        Ok(self.file_objects.get_or_init(|| read).as_ref())
    }
}

#[derive(Default)]
struct Slot {
    domain: Mutex<Option<Open>>,
}

/// A domain, where it is stored, and when it was looked up.
struct Open {
    domain: Arc<Domain>,
    place: Place,
    looked: Instant,
    /// Number of versions since the repository was opened.
    versions: u32,
}

/// Number of versions after which a repository is opened again: Icechunk keeps the snapshot and manifests of each in memory.
const VERSIONS: u32 = 100;

/// A repository and a group in it; for a file, the one that links it now.
#[derive(Clone)]
struct Place {
    name: String,
    storage: Storage,
    group: String,
    file: Option<PathBuf>,
}

pub(crate) struct Domains {
    mounts: Mounts,
    delegate: Option<Arc<dyn Delegate>>,
    open: Mutex<HashMap<String, (Arc<Slot>, u64)>>,
    capacity: usize,
    fresh: Duration,
}

impl Domains {
    pub fn new(mounts: Mounts, limits: &Limits, delegate: Option<Arc<dyn Delegate>>) -> Self {
        Self { mounts, delegate, open: Mutex::default(), capacity: limits.domains.max(1), fresh: limits.fresh }
    }

    /// A domain that is open and was looked up recently. Never waits.
    pub fn known(&self, name: &str) -> Option<Arc<Domain>> {
        let slot = lock(&self.open).get(name).map(|(slot, _)| Arc::clone(slot))?;
        let state = slot.domain.try_lock().ok()?;
        state.as_ref().filter(|open| open.looked.elapsed() < self.fresh).map(|open| Arc::clone(&open.domain))
    }

    /// The open domain that a name begins with, and the path of the rest in it. Never waits and never opens one.
    pub fn known_above(&self, name: &str) -> Option<(Arc<Domain>, String)> {
        if self.mounts.are_nested() {
            return None;
        }
        let ends = name.match_indices('/').map(|(at, _)| at).skip(1).chain([name.len()]);
        ends.filter_map(|end| name.split_at_checked(end)).find_map(|(above, path)| {
            let path = if path.is_empty() { "/" } else { path };
            Some((self.known(above)?, path.to_owned()))
        })
    }

    /// The whole repository or file of a name, and the path of the rest in it. Blocks.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn above(&self, name: &str) -> Result<(Arc<Domain>, String)> {
        let address = Address::parse(name)?;
        let (whole, path) = match self.mounts.find(&address)? {
            Found::Folder(_) => return Ok((self.open(name)?, "/".to_owned())),
            Found::Repository { name, group, .. } | Found::File { name, group, .. } => (name, group),
        };
        let whole = address.version.map_or(whole.clone(), |version| format!("{whole}@{version}"));
        Ok((self.open(&whole)?, path))
    }

    /// Opens a domain, or looks up whether its version is still current. Blocks.
    ///
    /// # Errors
    /// `invalid`, `not-found` (also for a folder); the errors of opening a repository.
    pub fn open(&self, name: &str) -> Result<Arc<Domain>> {
        Ok(self.opened(name)?.0)
    }

    /// A node of a domain for the program beside the service, with the tag of what is made from it. The node is the domain
    /// itself: a group may be one.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn located(&self, name: &str) -> Result<(Arc<Domain>, Located)> {
        let (domain, place) = self.opened(name)?;
        let snapshot = domain.session.snapshot_id().to_owned();
        let located = Located { domain: name.to_owned(), storage: place.storage, snapshot, path: place.group };
        Ok((domain, located))
    }

    fn opened(&self, name: &str) -> Result<(Arc<Domain>, Place)> {
        let address = Address::parse(name)?;
        let slot = self.slot(name);
        let mut state = turn::lock(&slot.domain, name)?;
        if let Some(open) = state.as_mut() {
            if open.looked.elapsed() >= self.fresh {
                self.refresh(open, &address)?;
            }
            return Ok((Arc::clone(&open.domain), open.place.clone()));
        }
        let opened = self.resolved(&address).and_then(|place| Ok((Arc::new(made(name, &address, &place)?), place)));
        match opened {
            Ok((domain, place)) => {
                *state = Some(Open {
                    domain: Arc::clone(&domain),
                    place: place.clone(),
                    looked: Instant::now(),
                    versions: 0,
                });
                Ok((domain, place))
            }
            Err(error) => {
                // Names that do not exist are not cached.
                lock(&self.open).remove(name);
                Err(error)
            }
        }
    }

    /// Opens the newest version, or the repository of a file that has changed.
    fn refresh(&self, open: &mut Open, address: &Address) -> Result<()> {
        let next = match &open.place.file {
            None if open.versions >= VERSIONS => {
                open.versions = 0;
                Some(made(&open.domain.name, address, &open.place)?)
            }
            None => moved(&open.domain, address.version.as_deref())?,
            Some(_) => {
                let place = self.resolved(address)?;
                let is_new = place.storage.url != open.place.storage.url;
                let domain = is_new.then(|| made(&open.domain.name, address, &place)).transpose()?;
                open.place = place;
                domain
            }
        };
        if let Some(domain) = next {
            open.versions += 1;
            open.domain = Arc::new(domain);
        }
        open.looked = Instant::now();
        Ok(())
    }

    /// Where a domain is stored. A file is indexed now, if it is not yet.
    ///
    /// # Errors
    /// `not-found`, also for a folder; those of reading a file.
    fn resolved(&self, address: &Address) -> Result<Place> {
        match self.mounts.find(address)? {
            Found::Folder(_) => {
                let name = format!("/{}", address.parts.join("/"));
                Err(Error::new(ErrorKind::NotFound, format!("{name} is a folder, not a repository"))
                    .hint(format!("GET /domains lists its members; {NAME_RULE}")))
            }
            Found::Repository { name, storage, group } => Ok(Place { name, storage, group, file: None }),
            Found::File { name, path, group } => {
                let delegate = self.delegate.as_ref().ok_or_else(|| {
                    Error::new(ErrorKind::Unsupported, format!("{name} is a file, not a repository"))
                        .hint("link it first: icecore link FILE --into REPOSITORY")
                })?;
                // It is kept for others, so it is completed even if this client leaves.
                let index = cancel::scoped(None, || delegate.index(&path)).map_err(|error| refused(&name, error))?;
                if let Some(directory) = index.parent() {
                    private::hide(directory, "(index)");
                }
                let storage = Storage::new(index.to_string_lossy());
                Ok(Place { name, storage, group, file: Some(path) })
            }
        }
    }

    /// The members of a folder; `None` for a repository.
    ///
    /// # Errors
    /// `invalid`, `not-found`, `io`.
    pub fn folder(&self, name: &str) -> Result<Option<Vec<Entry>>> {
        match self.mounts.find(&Address::parse(name)?)? {
            Found::Folder(members) => Ok(Some(members)),
            Found::Repository { .. } | Found::File { .. } => Ok(None),
        }
    }

    /// The name of the whole repository, if this name is that of a version or a group of it.
    ///
    /// # Errors
    /// `invalid`, `not-found`.
    pub fn whole(&self, name: &str) -> Result<Option<String>> {
        let address = Address::parse(name)?;
        Ok(match self.mounts.find(&address)? {
            Found::Repository { name, group, .. } if address.version.is_some() || group != "/" => Some(name),
            _ => None,
        })
    }

    /// The object of a name.
    ///
    /// # Errors
    /// `not-found`.
    pub fn find(&self, address: &Address) -> Result<Found> {
        self.mounts.find(address)
    }

    /// Whether a name is a whole repository's, which requests may change.
    ///
    /// # Errors
    /// `invalid`, `not-found`.
    pub fn is_repository(&self, name: &str) -> Result<bool> {
        let found = self.mounts.find(&Address::parse(name)?)?;
        Ok(matches!(found, Found::Repository { group, .. } if group == "/"))
    }

    /// Where a domain or folder of this name would be stored.
    ///
    /// # Errors
    /// `not-found`, `permission`.
    pub fn place(&self, address: &Address) -> Result<(PathBuf, Storage)> {
        self.mounts.place(address)
    }

    /// The path of a folder of a served directory.
    pub fn directory(&self, address: &Address) -> Option<PathBuf> {
        self.mounts.directory(address)
    }

    pub fn fresh(&self) -> Duration {
        self.fresh
    }

    /// Closes a domain.
    pub fn forget(&self, name: &str) {
        lock(&self.open).remove(name);
    }

    pub fn count(&self) -> usize {
        lock(&self.open).len()
    }

    fn slot(&self, name: &str) -> Arc<Slot> {
        let mut open = lock(&self.open);
        let now = open.values().map(|(_, used)| *used).max().unwrap_or(0) + 1;
        let entry = open.entry(name.to_owned()).or_default();
        entry.1 = now;
        let slot = Arc::clone(&entry.0);
        while open.len() > self.capacity {
            let oldest = open.iter().min_by_key(|(_, (_, used))| *used).map(|(name, _)| name.clone());
            oldest.and_then(|name| open.remove(&name));
        }
        slot
    }
}

/// Why a file can't be indexed. What a parser says of it may have parts of its content, so that is logged only.
fn refused(name: &str, error: Error) -> Error {
    use ErrorKind::{Codec, Corrupt, Dtype, Format, Invalid, Mismatch, Unsupported};
    if !matches!(error.kind, Codec | Corrupt | Dtype | Format | Invalid | Mismatch | Unsupported) {
        return error;
    }
    eprintln!("icecore: error: {name}: {}", error.message);
    Error::new(error.kind, format!("{name} can't be served: its content is not readable as arrays"))
        .hint("the reason is in the service's log; `icecore ls FILE` shows it, too")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The domain of a name that was looked up.
fn made(name: &str, address: &Address, place: &Place) -> Result<Domain> {
    let session = Session::open(&place.storage, address.version.as_deref(), session::Limits::default())?;
    let session = if place.group == "/" { session } else { session.group(&place.group)? };
    let unversioned = if place.group == "/" { place.name.clone() } else { format!("{}{}", place.name, place.group) };
    let mut made = domain(name, &unversioned, session)?;
    made.in_file = place.file.as_ref().map(|_| file_objects::place(&place.storage.url, &place.group));
    Ok(made)
}

/// A version of a repository as a domain.
///
/// # Errors
/// The errors of reading the repository.
pub(crate) fn domain(name: &str, unversioned: &str, session: Session) -> Result<Domain> {
    let ids = Ids::new(unversioned, session.tree());
    let time = session.commit()?.time_us as f64 / 1e6;
    let root = session.document(session.node("/")?)?;
    let is_marked = root.get("attributes").and_then(|a| a.get("icecore")).is_some_and(|own| own.get("hdf5").is_some());
    let tag = session.snapshot_id().to_owned();
    let (model, objects) = (OnceLock::new(), OnceLock::new());
    let (in_file, file_objects) = (None, OnceLock::new());
    let (name, datasets, texts) = (name.to_owned(), Kept::default(), Texts::default());
    Ok(Domain { name, session, ids, time, tag, is_marked, model, in_file, file_objects, objects, datasets, texts })
}

/// The domain at its branch's head, if the head has moved.
fn moved(domain: &Domain, version: Option<&str>) -> Result<Option<Domain>> {
    let session = domain.session.at(version)?;
    if session.snapshot_id() == domain.session.snapshot_id() {
        return Ok(None);
    }
    let address = Address::parse(&domain.name)?;
    let unversioned: String = address.parts.iter().chain(&address.group).map(|part| format!("/{part}")).collect();
    self::domain(&domain.name, &unversioned, session).map(Some)
}
