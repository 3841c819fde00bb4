//! Branches and tags.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use icechunk::format::SnapshotId;
use icecore_grid::{Error, ErrorKind, Result};

use crate::error;
use crate::repo::Repo;
use crate::runtime::run;
use crate::versions::{clock, names, resolve};

impl Repo {
    /// The branches and the snapshots they point to, by name.
    ///
    /// # Errors
    /// Network, Io, Corrupt.
    pub fn branches(&self) -> Result<Vec<(String, String)>> {
        let shared = self.shared()?;
        run(async { Ok(pairs(names::all(shared).await?.branches)) })
    }

    /// The tags and the snapshots they point to, by name.
    ///
    /// # Errors
    /// Network, Io, Corrupt.
    pub fn tags(&self) -> Result<Vec<(String, String)>> {
        let shared = self.shared()?;
        run(async { Ok(pairs(names::all(shared).await?.tags)) })
    }

    /// Creates a branch at a version.
    ///
    /// # Errors
    /// `exists`, also if a tag has this name; `invalid` for an invalid name or a time; `not-found` if the reference does not
    /// exist; `read-only`.
    pub fn create_branch(&self, name: &str, reference: Option<&str>) -> Result<()> {
        names::check(name)?;
        let shared = self.shared()?;
        run(async {
            let (held, known) = clock::turn(shared, None, &AtomicBool::new(false)).await?;
            if known.branches.contains_key(name) {
                return Err(Error::new(ErrorKind::Exists, format!("{}: the branch {name} exists already", self.url()))
                    .hint("choose another name, or delete that branch first"));
            }
            if known.tags.contains_key(name) {
                return Err(taken(self.url(), "tag", name));
            }
            not_an_id(self.url(), &known, name)?;
            let id = resolve::snapshot_id(shared, reference).await?;
            let done = shared.repository().create_branch(name, &id).await.map_err(error::repository);
            shared.settle(held).await;
            done
        })
        .map_err(error::at(self.url()))
    }

    /// Deletes a branch; its commits stay until they are garbage-collected.
    ///
    /// # Errors
    /// NotFound; Invalid for `main`; ReadOnly.
    pub fn delete_branch(&self, name: &str) -> Result<()> {
        let shared = self.shared()?;
        run(async {
            let (held, _) = clock::turn(shared, None, &AtomicBool::new(false)).await?;
            let done = shared.repository().delete_branch(name).await.map_err(error::repository);
            shared.settle(held).await;
            done
        })
        .map_err(error::at(self.url()))
    }

    /// Creates a tag: a name for a version that never moves.
    ///
    /// # Errors
    /// Exists, also if a branch has this name or a deleted tag had it; Invalid and NotFound as for a branch; ReadOnly.
    pub fn create_tag(&self, name: &str, reference: Option<&str>) -> Result<()> {
        names::check(name)?;
        let shared = self.shared()?;
        run(async {
            let (held, known) = clock::turn(shared, None, &AtomicBool::new(false)).await?;
            if known.branches.contains_key(name) {
                return Err(taken(self.url(), "branch", name));
            }
            not_an_id(self.url(), &known, name)?;
            let id = resolve::snapshot_id(shared, reference).await?;
            let done = shared.repository().create_tag(name, &id).await.map_err(error::repository);
            shared.settle(held).await;
            done
        })
        .map_err(error::at(self.url()))
    }

    /// Deletes a tag; its name cannot be used again.
    ///
    /// # Errors
    /// NotFound; ReadOnly.
    pub fn delete_tag(&self, name: &str) -> Result<()> {
        let shared = self.shared()?;
        run(async {
            let (held, _) = clock::turn(shared, None, &AtomicBool::new(false)).await?;
            let done = shared.repository().delete_tag(name).await.map_err(error::repository);
            shared.settle(held).await;
            done
        })
        .map_err(error::at(self.url()))
    }
}

/// A version can be read by either name, so a branch and a tag with the same name would be ambiguous.
fn taken(url: &str, what: &str, name: &str) -> Error {
    Error::new(ErrorKind::Exists, format!("{url}: a {what} {name} exists, so {url}@{name} would be ambiguous"))
        .hint("choose another name")
}

fn not_an_id(url: &str, known: &names::Names, name: &str) -> Result<()> {
    match known.info.as_deref().and_then(|info| resolve::of_id(info, name)) {
        Some(_) => Err(taken(url, "version", name)),
        None => Ok(()),
    }
}

fn pairs(names: BTreeMap<String, SnapshotId>) -> Vec<(String, String)> {
    names.into_iter().map(|(name, id)| (name, id.to_string())).collect()
}
