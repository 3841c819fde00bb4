//! Copies of repositories: a clone, and pulls of what is new in its source.
//!
//! Objects are copied as they are stored: chunks, then manifests, then versions, and last the root object that names
//! them. So an interrupted copy holds no repository, and the next run continues it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use icechunk::Repository;
use icechunk::format::SnapshotId;
use icechunk::format::snapshot::SnapshotInfo;
use icechunk::repository::RepositoryErrorKind;
use icecore_grid::{Error, ErrorKind, Result};

mod marker;
pub(crate) mod needed;
pub(crate) mod objects;
pub(crate) mod place;
mod rewrite;
mod scope;
mod versions;

use marker::Marker;
use needed::Needed;
use objects::Mover;
use place::Place;
pub use rewrite::{Link, ReadLinks};
pub use scope::Scope;
use versions::Versions;

use crate::nodes::node;
use crate::open::lock::Held;
use crate::open::repo_state::RepoState;
use crate::repo::Repo;
use crate::runtime::{run, until};
use crate::stores::options;
use crate::stores::storage::{Root, Storage};
use crate::versions::{clock, names};
use crate::{error, open};

/// What was copied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CopyReport {
    pub source: String,
    /// Versions that were not there before.
    pub versions: u64,
    /// Chunk objects that were copied, and that were there already.
    pub chunks: u64,
    pub present: u64,
    /// Bytes of copied objects.
    pub bytes: u64,
    /// Links of the new versions, as they are or packed.
    pub links: u64,
}

/// Reports, cancellation and the reader of linked files, for one copy.
pub struct Copying<'a> {
    pub progress: &'a (dyn Fn(u64, u64) + Sync),
    pub cancel: &'a AtomicBool,
    pub read_links: &'a ReadLinks<'a>,
}

impl Repo {
    /// Copies this repository to an empty place, or where an earlier run was interrupted.
    ///
    /// # Errors
    /// Exists if the place holds anything else; Corrupt, naming the object, if the source is damaged; Permission, Io,
    /// Network; Unsupported for repositories of Icechunk's first format.
    pub fn clone_to(&self, target: &Storage, scope: &Scope, copying: &Copying<'_>) -> Result<CopyReport> {
        self.copy_to(target, scope, copying).map_err(error::at(&target.url))
    }

    fn copy_to(&self, target: &Storage, scope: &Scope, copying: &Copying<'_>) -> Result<CopyReport> {
        let (scope, shared) = (checked(scope)?, self.shared()?);
        let root = Root::parse(&target.url)?;
        if let Root::Http(url) = &root {
            return Err(error::read_only(&format!("{url}: repositories on http(s) can only be read")));
        }
        let versions = run(Versions::of(shared, &scope))?;
        let lock = open::lock_of(&root, &target.options)?;
        let mut marker = Marker::new(&shared.url, &scope);
        let (held, to) = run(async {
            let backend = options::backend(&root, &target.options).await?;
            let held = open::hold_new(&root, &lock, options::is_durable(&target.options)?)?;
            let to = Place::new(&root, Arc::clone(&backend), &target.options).await?;
            match Marker::read(&to).await? {
                Some(found) => found.must_match(&marker, &to.url)?,
                None => {
                    open::vacant(&root, &backend).await?;
                    open::check_store(&root, &target.options).await?;
                }
            }
            if Repository::exists(backend, None).await.map_err(error::repository)? {
                return Err(exists(&to.url));
            }
            if !matches!(root, Root::Local(_)) && Marker::read(&to).await?.is_none() && !to.list("").await?.is_empty() {
                return Err(
                    Error::new(ErrorKind::Exists, format!("{} is not empty", to.url)).hint("choose another name")
                );
            }
            marker.write(&to).await?;
            Ok::<_, Error>((held, to))
        })?;
        let report = self.copy(&to, &versions, &HashSet::new(), &scope, copying)?;
        let info = Arc::new(versions.root()?);
        run(async {
            to.assets.create_repo_info(info).await.map_err(|e| match e.kind {
                RepositoryErrorKind::RepoInfoUpdated => exists(&to.url),
                _ => error::repository(e),
            })
        })?;
        drop(held);
        marker.names = versions.names();
        run(marker.write(&to))?;
        let made = Self::open(target)?;
        let made = made.shared()?;
        run(async {
            made.settle(made.lock.hold()?).await;
            Ok(())
        })?;
        Ok(report)
    }

    /// Brings this copy up to date: copies what its source has since.
    ///
    /// # Errors
    /// Conflict if this repository has commits, branches or tags of its own; Invalid if it is not a copy and no
    /// `source` is given; otherwise as [`Repo::clone_to`].
    pub fn pull(&self, source: &Self, copying: &Copying<'_>) -> Result<CopyReport> {
        self.update_from(source, copying).map_err(error::at(self.url()))
    }

    fn update_from(&self, source: &Self, copying: &Copying<'_>) -> Result<CopyReport> {
        let (shared, theirs) = (self.shared()?, source.shared()?);
        if matches!(shared.root, Root::Http(_)) {
            return Err(error::read_only("repositories on http(s) can only be read"));
        }
        let to = Place::of(shared)?;
        let marker = run(Marker::read(&to))?.unwrap_or_default();
        let scope = marker.scope();
        let versions = run(Versions::of(theirs, &scope))?;
        let (held, current) = run(clock::turn(shared, None, copying.cancel))?;
        versions.covers(&current, &marker.names, &to.url)?;
        let marker = Marker { source: theirs.url.clone(), names: versions.names(), ..marker };
        if versions.equal(&current)? {
            run(marker.write(&to))?;
            return Ok(CopyReport { source: theirs.url.clone(), ..CopyReport::default() });
        }
        let known = known(&current)?;
        let report = source.copy(&to, &versions, &known, &scope, copying)?;
        run(publish(shared, &versions, &current, held))?;
        run(marker.write(&to))?;
        Ok(report)
    }

    /// The address that this repository was cloned from.
    ///
    /// # Errors
    /// Invalid if it is not a copy.
    pub fn cloned_from(&self) -> Result<String> {
        let place = Place::of(self.shared()?)?;
        let found = run(Marker::read(&place))?.filter(|marker| !marker.source.is_empty());
        found.map(|marker| marker.source).ok_or_else(|| {
            Error::new(ErrorKind::Invalid, format!("{} does not say what it is a copy of", self.url()))
                .hint("name it: icecore pull COPY --from SOURCE")
        })
    }

    /// Copies the objects of the versions that are not `known` in the copy.
    fn copy(
        &self,
        to: &Place,
        versions: &Versions,
        known: &HashSet<SnapshotId>,
        scope: &Scope,
        copying: &Copying<'_>,
    ) -> Result<CopyReport> {
        let from = Place::of(self.shared()?)?;
        let group = scope.group.as_deref();
        let mut new: Vec<SnapshotInfo> = versions.all.values().filter(|v| !known.contains(&v.id)).cloned().collect();
        new.sort_by_key(|a| (a.flushed_at, a.id.0));
        let mover = Mover::new(&from, to, copying.progress);
        let is_rewritten = group.is_some() || scope.packs_links;
        let needed = run(until(copying.cancel, async {
            let mut needed = Needed::of(&from, new, known, group).await?;
            needed.add_chunks(&from).await?;
            if let Some(group) = group {
                has_group(&from, &needed, versions, group).await?;
            }
            mover.chunks(&needed.chunks).await?;
            if !is_rewritten {
                mover.manifests(&needed.manifests).await?;
            }
            Ok(needed)
        }))?;
        if is_rewritten {
            let links = scope.packs_links.then_some(copying.read_links);
            let files = rewrite::manifests(&from, to, &needed, links, |bytes| {
                mover.bytes.fetch_add(bytes, Ordering::Relaxed);
                mover.add(bytes);
            })?;
            run(until(copying.cancel, async {
                for version in &needed.versions {
                    rewrite::version(&from, to, version, group, &files).await?;
                }
                Ok(())
            }))?;
        }
        run(until(copying.cancel, mover.versions(&needed, is_rewritten)))?;
        let count = |number: &std::sync::atomic::AtomicU64| number.load(Ordering::Relaxed);
        Ok(CopyReport {
            source: from.url.clone(),
            versions: needed.versions.len() as u64,
            chunks: count(&mover.copied),
            present: count(&mover.present),
            bytes: count(&mover.bytes),
            links: needed.links,
        })
    }
}

/// Replaces the root object of a copy, unless another process has changed it since.
async fn publish(shared: &RepoState, versions: &Versions, before: &names::Names, held: Held) -> Result<()> {
    let repository = shared.repository();
    let info = Arc::new(versions.root()?);
    let update = |found: Arc<icechunk::format::repo_info::RepoInfo>, _: &str, _| {
        if before.info.as_ref().is_some_and(|before| before.bytes() == found.bytes()) {
            return Ok(Arc::clone(&info));
        }
        let kind = RepositoryErrorKind::Conflict { expected_parent: None, actual_parent: None };
        Err(icechunk::repository::RepositoryError::capture(kind))
    };
    let retries = repository.config().repo_update_retries();
    repository.asset_manager().update_repo_info(retries, update).await.map_err(error::repository)?;
    shared.settle(held).await;
    Ok(())
}

fn known(current: &names::Names) -> Result<HashSet<SnapshotId>> {
    let Some(info) = &current.info else { return Ok(HashSet::new()) };
    let all = info.all_snapshots().map_err(error::format)?;
    all.map(|version| version.map(|v| v.id).map_err(error::format)).collect()
}

/// Rejects a group that no copied branch or tag has.
async fn has_group(from: &Place, needed: &Needed, versions: &Versions, group: &str) -> Result<()> {
    let tips: HashMap<_, _> = versions.branches.values().chain(versions.tags.values()).map(|id| (id, ())).collect();
    for version in needed.versions.iter().filter(|v| tips.contains_key(&v.id)) {
        let snapshot = needed::fetch_version(from, &version.id).await?;
        if snapshot.get_node(&node::path(group)?).is_ok() {
            return Ok(());
        }
    }
    match needed.versions.is_empty() {
        true => Ok(()),
        false => Err(Error::new(ErrorKind::NotFound, format!("{}: no group {group}", from.url))
            .hint(format!("`icecore ls {}` lists the groups", from.url))),
    }
}

/// A scope whose group is a normal path.
fn checked(scope: &Scope) -> Result<Scope> {
    let group = match scope.group.as_deref() {
        None | Some("/") => None,
        Some(group) => Some(node::path(group)?.to_string()),
    };
    Ok(Scope { group, ..scope.clone() })
}

fn exists(url: &str) -> Error {
    Error::new(ErrorKind::Exists, format!("{url} is a repository already"))
        .hint(format!("bring a copy up to date with `icecore pull {url}`, or choose another name"))
}
