//! Branches and tags.

use std::collections::BTreeMap;

use icechunk::format::SnapshotId;
use icecore_grid::{Error, ErrorKind, Result};

use crate::repo::Repo;
use crate::runtime::run;
use crate::{error, named, resolve};

impl Repo {
    /// The branches and the snapshots they point to, by name.
    ///
    /// # Errors
    /// Network, Io, Corrupt.
    pub fn branches(&self) -> Result<Vec<(String, String)>> {
        run(async { Ok(pairs(named::all(&self.0).await?.branches)) })
    }

    /// The tags and the snapshots they point to, by name.
    ///
    /// # Errors
    /// Network, Io, Corrupt.
    pub fn tags(&self) -> Result<Vec<(String, String)>> {
        run(async { Ok(pairs(named::all(&self.0).await?.tags)) })
    }

    /// Starts a branch at a version.
    ///
    /// # Errors
    /// Exists; NotFound when the reference names nothing; ReadOnly.
    pub fn create_branch(&self, name: &str, reference: Option<&str>) -> Result<()> {
        named::check(name)?;
        run(async {
            let held = self.0.lock.hold()?;
            let known = named::all(&self.0).await?;
            if known.branches.contains_key(name) {
                return Err(Error::new(ErrorKind::Exists, format!("{}: the branch {name} exists already", self.url())));
            }
            let id = resolve::snapshot_id(&self.0, reference).await?;
            let done = self.0.repository().create_branch(name, &id).await.map_err(error::repository);
            drop(held);
            done
        })
    }

    /// Forgets a branch; its commits stay until they are collected.
    ///
    /// # Errors
    /// NotFound; Invalid for `main`; ReadOnly.
    pub fn delete_branch(&self, name: &str) -> Result<()> {
        run(async {
            let held = self.0.lock.hold()?;
            named::all(&self.0).await?;
            let done = self.0.repository().delete_branch(name).await.map_err(error::repository);
            drop(held);
            done
        })
    }

    /// Gives a version a name that never moves.
    ///
    /// # Errors
    /// Exists, also when a tag of this name was deleted; NotFound when the reference names nothing; ReadOnly.
    pub fn create_tag(&self, name: &str, reference: Option<&str>) -> Result<()> {
        named::check(name)?;
        run(async {
            let held = self.0.lock.hold()?;
            let id = resolve::snapshot_id(&self.0, reference).await?;
            let done = self.0.repository().create_tag(name, &id).await.map_err(error::repository);
            drop(held);
            done
        })
    }

    /// Removes a tag; its name cannot be used again.
    ///
    /// # Errors
    /// NotFound; ReadOnly.
    pub fn delete_tag(&self, name: &str) -> Result<()> {
        run(async {
            let held = self.0.lock.hold()?;
            named::all(&self.0).await?;
            let done = self.0.repository().delete_tag(name).await.map_err(error::repository);
            drop(held);
            done
        })
    }
}

fn pairs(names: BTreeMap<String, SnapshotId>) -> Vec<(String, String)> {
    names.into_iter().map(|(name, id)| (name, id.to_string())).collect()
}
