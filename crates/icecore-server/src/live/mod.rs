//! Writable domains: one writer each, in memory and in the repository's uncommitted session, until a commit.
//!
//! `state` holds the objects and the writer, `place` finds nodes for objects, `save` writes their documents and
//! commits, `values` and `resize` change elements. Requests to a domain are serialised; readers get an immutable copy
//! of it.

mod place;
mod resize;
mod save;
mod state;
mod values;
mod widen;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use icecore::cancel;
use icecore::catalog::{Repo, Storage};
use icecore::grid::{Error, ErrorKind};

use crate::domains::{Address, Domain, Domains, Found};
use crate::http::error::{Answer, Failure};
use crate::turn;
pub(crate) use state::{Loader, State};
pub(crate) use values::Places;

/// Time after a change in which clients must not keep a domain's objects.
const BUSY: Duration = Duration::from_secs(30);

/// Number of commits after which a domain is opened again: Icechunk keeps the snapshot and manifests of each commit in memory.
const COMMITS: u32 = 100;

/// Idle time after which changes are committed.
const IDLE: Duration = Duration::from_secs(2);

/// A writable domain.
pub(crate) struct Live {
    name: String,
    storage: Storage,
    fresh: Duration,
    loader: Loader,
    state: Mutex<Option<State>>,
    /// The time of the last change by a request.
    edited: Mutex<Option<Instant>>,
}

impl Live {
    /// The current state of the domain.
    pub fn current(&self) -> Answer<Arc<Domain>> {
        self.locked(|state| state.current())
    }

    /// The domain, after a dataset got a node so that its elements can be read.
    pub fn placed(&self, id: &str) -> Answer<Arc<Domain>> {
        self.locked(|state| {
            state.place(id)?;
            state.current()
        })
    }

    /// Changes the domain; a failed change leaves its objects as they were.
    pub fn edit<T>(&self, change: impl FnOnce(&mut State) -> Answer<T>) -> Answer<T> {
        self.locked_for(true, |state| {
            let before = state.begin();
            match change(state) {
                Ok(done) => {
                    state.changed();
                    *self.edited.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
                    Ok(done)
                }
                Err(failure) => {
                    // Also if the client has left.
                    cancel::scoped(None, || state.undo(before))?;
                    Err(failure)
                }
            }
        })
    }

    /// Commits the changes as a version. A conflict with another writer drops them.
    pub fn commit(&self, is_end: bool) -> Answer<()> {
        let mut slot = if is_end { self.lock() } else { turn::lock(&self.state, &self.name)? };
        let Some(state) = slot.as_mut() else { return Ok(()) };
        match cancel::scoped(None, || state.commit(is_end)) {
            Ok(true) => {
                if state.commits >= COMMITS && state.unlinked.is_empty() {
                    *slot = None;
                }
                Ok(())
            }
            // Others committed changes of other objects in the meantime: the next request reads them.
            Ok(false) => {
                *slot = None;
                Ok(())
            }
            Err(failure) if failure.kind() == ErrorKind::Conflict => {
                *slot = None;
                Err(conflict(&self.name, &failure).into())
            }
            Err(failure) => Err(failure),
        }
    }

    /// Commits changes after the idle time.
    fn tend(&self) {
        let due = match self.state.try_lock() {
            Ok(state) => state.as_ref().is_some_and(|state| state.has_changes() && state.touched.elapsed() >= IDLE),
            Err(_) => false,
        };
        if due && let Err(failure) = self.commit(false) {
            eprintln!("icecore: error: {}: changes could not be committed: {failure}", self.name);
            if let Some(state) = self.lock().as_mut() {
                // Tried again after another quiet time.
                state.touched = Instant::now();
            }
        }
    }

    fn locked<T>(&self, work: impl FnOnce(&mut State) -> Answer<T>) -> Answer<T> {
        self.locked_for(false, work)
    }

    /// Runs work with the domain locked. The first change starts from the newest version.
    fn locked_for<T>(&self, is_change: bool, work: impl FnOnce(&mut State) -> Answer<T>) -> Answer<T> {
        let mut slot = turn::lock(&self.state, &self.name)?;
        let is_due = |state: &State| is_change || state.looked.elapsed() >= self.fresh;
        let is_old = slot.as_ref().is_some_and(|state| !state.has_changes() && is_due(state));
        if is_old && let Some(state) = slot.as_mut() {
            match state.moved() {
                Ok(true) => *slot = None,
                Ok(false) => state.looked = Instant::now(),
                Err(error) => {
                    *slot = None;
                    return Err(error.into());
                }
            }
        }
        if slot.is_none() {
            *slot = Some(State::open(&self.name, &self.storage, self.loader)?);
        }
        match slot.as_mut() {
            Some(state) => work(state),
            None => Err(Error::new(ErrorKind::Internal, "a domain was not opened").into()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn conflict(name: &str, failure: &Failure) -> Error {
    Error::new(ErrorKind::Conflict, format!("{name}: another program changed the same objects: {failure}"))
        .hint("the changes since the last flush are dropped; read the domain again and repeat them")
}

/// All writable domains in use.
pub(crate) struct Lives(Mutex<HashMap<String, Arc<Live>>>, Loader);

impl Lives {
    pub fn new(loader: Loader) -> Self {
        Self(Mutex::default(), loader)
    }

    fn map(&self) -> MutexGuard<'_, HashMap<String, Arc<Live>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a domain has a writer already.
    fn has(&self, name: &str) -> bool {
        self.map().contains_key(&format!("/{}", name.trim_matches('/')))
    }

    /// Whether requests have changed a domain recently, so that its clients expect more changes.
    pub fn is_busy(&self, name: &str) -> bool {
        let live = self.map().get(&format!("/{}", name.trim_matches('/'))).cloned();
        let edited = live.and_then(|live| *live.edited.lock().unwrap_or_else(PoisonError::into_inner));
        edited.is_some_and(|edited| edited.elapsed() < BUSY)
    }

    /// The domain as its writer has it; `None` for what has no writer: versions, groups and files.
    pub fn current(&self, domains: &Domains, name: &str) -> Answer<Option<Arc<Domain>>> {
        let is_written = !name.contains('@') && (self.has(name) || domains.is_repository(name)?);
        Ok(if is_written { Some(self.live(domains, name)?.current()?) } else { None })
    }

    /// The writer of a domain: of a whole repository at its newest version.
    pub fn live(&self, domains: &Domains, name: &str) -> Answer<Arc<Live>> {
        let address = Address::parse(name)?;
        if address.version.is_some() {
            return Err(Error::new(ErrorKind::ReadOnly, format!("{name} is a version, which never changes"))
                .hint("write to the domain without @VERSION")
                .into());
        }
        let name = format!("/{}", address.parts.join("/"));
        if let Some(live) = self.map().get(&name) {
            return Ok(Arc::clone(live));
        }
        let (served, storage, group) = match domains.find(&address)? {
            Found::Repository { name, storage, group } => (name, storage, group),
            Found::File { name, .. } => {
                return Err(Error::new(ErrorKind::ReadOnly, format!("{name} is a file, which is served as it is"))
                    .hint("copy it into a domain with hsload, or link it into a repository with icecore link")
                    .into());
            }
            Found::Folder(_) => {
                return Err(Failure::missing(
                    format!("{name} is a folder, not a domain"),
                    "GET /domains lists its members",
                ));
            }
        };
        if group != "/" {
            return Err(Error::new(ErrorKind::ReadOnly, format!("{name} is a group of {served}"))
                .hint(format!("write to the domain {served}"))
                .into());
        }
        let fresh = domains.fresh();
        let live = Live {
            name: name.clone(),
            storage,
            fresh,
            loader: self.1,
            state: Mutex::default(),
            edited: Mutex::default(),
        };
        Ok(Arc::clone(self.map().entry(name).or_insert_with(|| Arc::new(live))))
    }

    /// Removes a domain with all its versions.
    pub fn remove(&self, domains: &Domains, name: &str) -> Answer<()> {
        let live = self.live(domains, name)?;
        let mut slot = turn::lock(&live.state, name)?;
        *slot = None;
        let gone = Repo::open(&live.storage).and_then(|repo| repo.remove(false))?;
        if !gone {
            return Err(Error::new(ErrorKind::Unsupported, format!("{name} is not in a local directory"))
                .hint("remove it with the tools of its object store")
                .into());
        }
        self.map().remove(&live.name);
        domains.forget(name);
        Ok(())
    }

    /// Commits the changes of idle domains.
    pub fn tend(&self) {
        let all: Vec<Arc<Live>> = self.map().values().cloned().collect();
        all.iter().for_each(|live| live.tend());
    }

    /// Commits everything when the service ends.
    pub fn end(&self) {
        let all: Vec<Arc<Live>> = self.map().values().cloned().collect();
        for live in all {
            if let Err(failure) = live.commit(true) {
                eprintln!("icecore: error: {}: changes could not be committed: {failure}", live.name);
            }
        }
    }
}
