//! Bytes that versions hold: each alone, and those that an expiration would free.

use std::collections::{BTreeMap, HashMap, HashSet};

use futures::TryStreamExt;
use icechunk::asset_manager::AssetManager;
use icechunk::format::manifest::ChunkPayload;
use icechunk::format::{ManifestId, SnapshotId};
use icecore_grid::Result;

use crate::error;
use crate::maintenance::expire;
use crate::open::precheck::{self, Which};
use crate::repo::Repo;
use crate::runtime::run;
use crate::versions::names;

/// Directories of the objects that versions refer to.
const FOLDERS: [&str; 3] = ["snapshots", "manifests", "chunks"];

/// Bytes that versions hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Held {
    /// Each version, newest first, with the bytes of the objects that no other version needs.
    pub alone: Vec<(String, u64)>,
    /// Ids of the versions that an expiration would remove.
    pub released: Vec<String>,
    /// Bytes of the objects that only those need.
    pub freed: u64,
}

/// The versions that need an object.
#[derive(Clone, Copy)]
struct Owner {
    /// The only one; None if there are several.
    only: Option<usize>,
    is_kept: bool,
}

impl Owner {
    fn and(self, other: Self) -> Self {
        let only = self.only.filter(|only| other.only == Some(*only));
        Self { only, is_kept: self.is_kept || other.is_kept }
    }
}

type Owners = HashMap<String, Owner>;

fn note(owners: &mut Owners, name: String, owner: Owner) {
    owners.entry(name).and_modify(|known| *known = known.and(owner)).or_insert(owner);
}

impl Repo {
    /// The bytes that each version holds alone, and those that [`Repo::expire`] with the same `kept` would free. All
    /// manifests are read, and the objects are listed.
    ///
    /// # Errors
    /// Network, Io, Permission, Corrupt; Unsupported in repositories of Icechunk's first format.
    pub fn held(&self, kept: &[String]) -> Result<Held> {
        let shared = self.shared()?;
        run(async {
            let info = expire::root(names::all(shared).await?.info)?;
            let plan = expire::Plan::of(&info, Some(kept))?;
            let released: HashSet<&SnapshotId> = plan.released.iter().collect();
            let mut versions: Vec<_> = plan.kept.iter().chain(&plan.released).collect();
            let times = versions.iter().map(|id| Ok((*id, info.find_snapshot(id).map_err(error::format)?.flushed_at)));
            let times: HashMap<_, _> = times.collect::<Result<_>>()?;
            versions.sort_by_key(|id| std::cmp::Reverse(times.get(id).copied()));
            let mut known = HashSet::new();
            for id in &versions {
                precheck::check(shared, id, &Which::All, &mut known).await?;
            }
            let repository = shared.repository();
            let assets = repository.asset_manager();
            let owners = owners(assets, &versions, &released).await?;
            let (mut alone, mut freed) = (vec![0; versions.len()], 0);
            for (name, bytes) in sizes(assets).await? {
                let Some(owner) = owners.get(&name) else { continue };
                if let Some(sum) = owner.only.and_then(|only| alone.get_mut(only)) {
                    *sum += bytes;
                }
                freed += if owner.is_kept { 0 } else { bytes };
            }
            Ok(Held {
                alone: versions.iter().map(ToString::to_string).zip(alone).collect(),
                released: plan.released.iter().map(ToString::to_string).collect(),
                freed,
            })
        })
    }
}

/// The owners of all objects that versions refer to, by name.
async fn owners(assets: &AssetManager, versions: &[&SnapshotId], released: &HashSet<&SnapshotId>) -> Result<Owners> {
    let mut owners = Owners::new();
    let mut manifests: BTreeMap<ManifestId, (u64, Owner)> = BTreeMap::new();
    for (number, id) in versions.iter().enumerate() {
        let owner = Owner { only: Some(number), is_kept: !released.contains(*id) };
        note(&mut owners, format!("snapshots/{id}"), owner);
        let snapshot = assets.fetch_snapshot(id).await.map_err(error::repository)?;
        for file in snapshot.manifest_files() {
            let file = file.map_err(error::format)?;
            let entry = manifests.entry(file.id).or_insert((file.size_bytes, owner));
            entry.1 = entry.1.and(owner);
        }
    }
    for (id, (bytes, owner)) in manifests {
        note(&mut owners, format!("manifests/{id}"), owner);
        let manifest = assets.fetch_manifest("/", &id, bytes).await.map_err(error::repository)?;
        let mut last = None;
        for payload in manifest.chunk_payloads().map_err(error::format)? {
            let ChunkPayload::Ref(chunk) = payload.map_err(error::format)? else { continue };
            if last.as_ref() != Some(&chunk.id) {
                note(&mut owners, format!("chunks/{}", chunk.id), owner);
                last = Some(chunk.id);
            }
        }
    }
    Ok(owners)
}

/// The sizes of all objects, by name.
async fn sizes(assets: &AssetManager) -> Result<Vec<(String, u64)>> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        let listed = assets.storage().list_objects(&assets.storage_context(), folder).await.map_err(error::storage)?;
        let objects: Vec<_> = listed.try_collect().await.map_err(error::storage)?;
        found.extend(objects.into_iter().map(|object| (format!("{folder}/{}", object.id), object.size_bytes)));
    }
    Ok(found)
}
