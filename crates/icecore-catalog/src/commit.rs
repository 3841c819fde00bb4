//! Commit a writer's changes as a new version.

pub(crate) mod joint_commit;
pub(crate) mod link;
pub(crate) mod tree;

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::AtomicBool;

use icechunk::asset_manager::AssetManager;
use icechunk::conflicts::detector::ConflictDetector;
use icechunk::format::format_constants::SpecVersionBin;
use icechunk::format::snapshot::{NodeData, NodeSnapshot, Snapshot};
use icechunk::format::{Path, SnapshotId};
use icechunk::session::{Session, SessionErrorKind, SessionResult};
use icecore_grid::{Error, ErrorKind, Result};
use serde_json::{Map, Value};

use crate::nodes::chunk_objects::ObjectId;
use crate::nodes::node::{self, HIDDEN_GROUP};
use crate::nodes::{identity, identity_batches};
use crate::open::precheck;
use crate::open::precheck::Which;
use crate::open::writer::{Pending, Writer, list};
use crate::runtime::run;
use crate::stores::containers;
use crate::stores::storage::Root;
use crate::versions::names::Names;
use crate::versions::{clock, history, names};
use crate::{error, seal};

/// Maximum number of restarts of a commit to a store without a lock, when other writers commit first.
const ATTEMPTS: usize = 50;

impl Writer {
    /// Commits the changes as a new version of the branch, all or none of them, and returns its id. Commits of other
    /// writers to other nodes in the meantime are kept. Without changes it creates no version and returns the branch's
    /// newest id. The writer stays usable afterwards; after an error it still has its changes.
    ///
    /// # Errors
    /// Conflict, naming the paths, if another process changed the same nodes or holds the repository's lock for too
    /// long, or if this machine's clock is at least a minute behind the last change; Io, Permission, Network.
    pub fn commit(&self, message: &str) -> Result<String> {
        self.commit_unless(&AtomicBool::new(false), message)
    }

    /// As [`Writer::commit`], but setting `cancel` ends the wait for a clock that is behind.
    ///
    /// # Errors
    /// As for [`Writer::commit`]; Interrupted.
    pub fn commit_unless(&self, cancel: &AtomicBool, message: &str) -> Result<String> {
        let mut pending = self.begin()?;
        let during = error::during(format!("{}: commit to {}", self.shared.url, self.branch));
        let id = run(async {
            let has_changes = has_changes(&*self.session.read().await, &pending);
            let (held, names) = if has_changes {
                clock::turn(&self.shared, Some(&self.branch), cancel).await?
            } else {
                (self.shared.lock.hold()?, names::all(&self.shared).await?)
            };
            self.check_objects(&pending.objects)?;
            if !pending.containers.is_empty() {
                containers::record(&self.shared.repository(), pending.containers.clone()).await?;
                self.shared.note_recorded(&std::mem::take(&mut pending.containers)).await?;
            }
            let mut session = self.session.write().await;
            let id = if self.shared.lock.is_optimistic() {
                self.compete(&mut session, &pending, names, cancel, message).await?
            } else {
                self.rebase(&mut session, &names, &pending.touched).await?;
                complete(&mut session, self.shared.repository().asset_manager(), &pending).await?;
                let parent = session.snapshot_id().clone();
                let id = self.commit_session(&mut session, &pending, message).await.map_err(error::session)?;
                self.seal(&parent, session.snapshot_id()).await;
                id
            };
            self.shared.settle(held).await;
            Ok(id)
        })
        .map_err(during)?;
        *pending = Pending::default();
        Ok(id)
    }

    /// Rejects a commit that refers to objects which garbage collection may have deleted, or which the disk refused in
    /// the background. Only in directories, where the check is cheap.
    fn check_objects(&self, objects: &HashSet<ObjectId>) -> Result<()> {
        let Root::Local(root) = &self.shared.root else { return Ok(()) };
        let lost = self.shared.take_lost();
        match (objects.iter().filter(|id| !root.join(id.name()).exists()).count(), lost) {
            (0, _) => Ok(()),
            (_, Some(why)) => Err(why),
            (gone, None) => {
                let message = format!("{gone} of {} objects that were written have been deleted", objects.len());
                Err(Error::new(ErrorKind::Conflict, message).hint(
                    "`icecore gc` deletes uncommitted objects older than --older-than: write the data again and commit earlier",
                ))
            }
        }
    }

    /// Small arrays share manifests; other commits are Icechunk's own.
    async fn commit_session(&self, session: &mut Session, pending: &Pending, message: &str) -> SessionResult<String> {
        if !session.has_uncommitted_changes() {
            return Ok(session.snapshot_id().to_string());
        }
        let repository = self.shared.repository();
        let assets = repository.asset_manager();
        if let Some(changes) = joint_commit::changes(session, assets, pending.references) {
            let version = joint_commit::version(session, assets, &changes, message).await?;
            // Before it is published: its seal is synchronised together with the files that it seals.
            let _unsealed_is_valid = self.write_seal(&version, session.snapshot_id()).await;
            if let Some([before, after]) = joint_commit::publish(session, assets, &self.branch, &version).await? {
                self.shared.accept(&before, after);
            }
            *session = joint_commit::committed(session, assets, version.id());
            return Ok(version.id().to_string());
        }
        session.commit(message).execute().await.map(|id| id.to_string())
    }

    /// Records the checksums of the written files. If this fails, the commit is still valid and its files are read
    /// unchecked.
    async fn seal(&self, parent: &SnapshotId, id: &SnapshotId) {
        let Root::Local(root) = &self.shared.root else { return };
        if parent == id || root.join(seal::FOLDER).join(id.to_string()).exists() {
            return;
        }
        if let Ok(snapshot) = self.shared.repository().asset_manager().fetch_snapshot(id).await {
            let _unsealed_is_valid = self.write_seal(&snapshot, parent).await;
        }
    }

    /// Seals a version's files; see [`seal`].
    async fn write_seal(&self, version: &Snapshot, parent: &SnapshotId) -> Result<()> {
        let repository = self.shared.repository();
        let Root::Local(root) = &self.shared.root else { return Ok(()) };
        if repository.spec_version() < SpecVersionBin::V2 {
            return Ok(());
        }
        let parent = repository.asset_manager().fetch_snapshot(parent).await.map_err(error::repository)?;
        seal::write(root, version, Some(&parent)).map_err(|e| error::io(&e))?;
        self.shared.note_written(&format!("{}/{}", seal::FOLDER, version.id()));
        Ok(())
    }

    /// Rebases the changes onto the branch's newest version.
    async fn rebase(&self, session: &mut Session, names: &Names, touched: &HashSet<String>) -> Result<()> {
        let tip = names.branches.get(&self.branch).cloned();
        let tip = tip.ok_or_else(|| {
            Error::new(ErrorKind::Conflict, format!("the branch {} has been deleted", self.branch))
                .hint("nothing of this was written: make the branch again (icecore branch), or write to another")
        })?;
        precheck::check(&self.shared, &tip, &Which::Of(touched), &mut HashSet::new()).await?;
        if tip == *session.snapshot_id() {
            return Ok(());
        }
        history::back_from(&self.shared, &tip, |commit| commit.id == *session.snapshot_id()).await?;
        session.rebase(&ConflictDetector).await.map_err(error::session)
    }

    /// Without a lock, the store rejects a commit if another one came first; all steps that depend on its tree are then
    /// repeated.
    async fn compete(
        &self,
        session: &mut Session,
        pending: &Pending,
        mut names: Names,
        cancel: &AtomicBool,
        message: &str,
    ) -> Result<String> {
        for _ in 0..ATTEMPTS {
            self.rebase(session, &names, &pending.touched).await?;
            let mut attempt = session.clone();
            complete(&mut attempt, self.shared.repository().asset_manager(), pending).await?;
            match self.commit_session(&mut attempt, pending, message).await {
                Err(e) if matches!(e.kind, SessionErrorKind::Conflict { .. }) => {
                    (_, names) = clock::turn(&self.shared, Some(&self.branch), cancel).await?;
                }
                done => {
                    let id = done.map_err(error::session)?;
                    *session = attempt;
                    return Ok(id);
                }
            }
        }
        Err(Error::new(ErrorKind::Conflict, format!("others committed first {ATTEMPTS} times in a row"))
            .hint("try again when fewer writers commit to this branch"))
    }
}

/// Whether the commit will create a version.
fn has_changes(session: &Session, pending: &Pending) -> bool {
    session.has_uncommitted_changes() || !pending.groups.is_empty() || !pending.sources.is_empty()
}

/// Adds the parts that depend on the current tree: groups, all parent groups, and the identities of linked files.
async fn complete(session: &mut Session, assets: &AssetManager, pending: &Pending) -> Result<()> {
    if !has_changes(session, pending) {
        return Ok(());
    }
    let mut tree: BTreeMap<String, NodeSnapshot> =
        list(session).await?.into_iter().map(|n| (n.path.to_string(), n)).collect();
    for (path, attributes) in &pending.groups {
        add_group(session, tree.get(path), path, attributes).await?;
    }
    if !pending.sources.is_empty() {
        let stored = (tree.remove(HIDDEN_GROUP), tree.remove(identity_batches::PATH));
        record_sources(session, assets, stored, pending).await?;
    }
    let named = tree.keys().chain(pending.groups.keys());
    let mut wanted: Vec<String> =
        named.flat_map(|path| node::parents(path)).map(str::to_owned).chain(["/".to_owned()]).collect();
    wanted.sort_unstable();
    wanted.dedup();
    for path in wanted.iter().filter(|path| !tree.contains_key(*path) && !pending.groups.contains_key(*path)) {
        add_group(session, None, path, &Map::new()).await?;
    }
    Ok(())
}

/// Adds a group, or accepts an equal one that another process has created.
async fn add_group(
    session: &mut Session,
    there: Option<&NodeSnapshot>,
    path: &str,
    attributes: &Map<String, Value>,
) -> Result<()> {
    let conflict = |what: &str| {
        Err(Error::new(ErrorKind::Conflict, format!("another writer made {path} {what}"))
            .hint("read the new version and try again"))
    };
    let at = node::path(path)?;
    let document = node::group_json(&Value::Object(attributes.clone()));
    match there {
        None => session.add_group(at, document).await.map_err(error::session),
        Some(node) if node.node_data != NodeData::Group => conflict("an array"),
        Some(node) => {
            let known = node::attributes(&node.user_data);
            if attributes.is_empty() || known == *attributes {
                Ok(())
            } else if known.is_empty() {
                session.update_group(&at, document).await.map_err(error::session)
            } else {
                conflict("with other attributes")
            }
        }
    }
}

async fn record_sources(
    session: &mut Session,
    assets: &AssetManager,
    (hidden, list): (Option<NodeSnapshot>, Option<NodeSnapshot>),
    pending: &Pending,
) -> Result<()> {
    let at = Path::from_trusted(HIDDEN_GROUP);
    let mut attributes = hidden.as_ref().map(|n| node::attributes(&n.user_data)).unwrap_or_default();
    let older = hidden.as_ref().map(|n| identity::parse(&n.user_data)).unwrap_or_default();
    let is_changed = attributes.remove(identity::SOURCES).is_some();
    let document = node::group_json(&Value::Object(attributes));
    match hidden {
        Some(_) if is_changed => session.update_group(&at, document).await.map_err(error::session)?,
        Some(_) => {}
        None => session.add_group(at, document).await.map_err(error::session)?,
    }
    identity_batches::append(session, assets, list.as_ref(), older, &pending.sources).await
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::nodes::chunk_objects::ChunkPlace;
    use crate::nodes::table::Place;
    use crate::open;
    use crate::open::handle::Handle;
    use crate::open::lock::Lock;
    use crate::repo::Repo;
    use crate::stores::storage::Storage;

    /// A repository in memory has conditional writes like object stores, so it replaces one in this test.
    fn without_a_lock(name: &str) -> Repo {
        let storage = Storage::new(format!("memory://{name}"));
        let mut shared = run(open::create(&storage)).unwrap();
        shared.lock = Lock::None;
        Repo(Arc::new(Handle::new(&storage, shared)))
    }

    fn commit_group(repo: &Repo, path: &str, attributes: &Value) -> Result<String> {
        let writer = repo.writer("main")?;
        writer.add_group(path, attributes)?;
        writer.commit(path)
    }

    #[test]
    fn without_a_lock_conditional_writes_keep_every_commit() {
        let repo = without_a_lock("compete");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let repo = &repo;
                scope.spawn(move || {
                    for i in 0..8 {
                        commit_group(repo, &format!("/common/t{thread}/g{i}"), &json!({ "i": i })).unwrap();
                    }
                });
            }
        });
        assert_eq!(repo.snapshot(None).unwrap().nodes().len(), 2 + 4 + 32);
        assert_eq!(repo.log(None, None).unwrap().len(), 33);
    }

    /// Adds an array of two chunks and stores the second one.
    fn set(writer: &Writer, path: &str, value: u8) -> Result<()> {
        let document = json!({"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint8", "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
            "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}]});
        writer.add_array(path, document.to_string().as_bytes())?;
        writer.set_chunks(path, &[(1, ChunkPlace::Inline(vec![value].into()))])
    }

    #[test]
    fn the_list_of_versions_of_an_own_commit_is_not_checked_again() {
        let home = tempfile::tempdir().unwrap();
        let repo = Repo::create(&Storage::new(home.path().join("r").display().to_string())).unwrap();
        let current = || {
            let shared = repo.shared().unwrap();
            let (info, _) =
                run(async { shared.repository().asset_manager().fetch_repo_info().await.map_err(error::repository) })
                    .unwrap();
            shared.is_checked(&info)
        };
        let writer = repo.writer("main").unwrap();
        for i in 0..3 {
            set(&writer, &format!("/a{i}"), i).unwrap();
            writer.commit("step").unwrap();
            assert!(current(), "{i}");
        }
        // the object of another handle is checked when it is met
        let other = Repo::open(&Storage::new(home.path().join("r").display().to_string())).unwrap();
        other.create_tag("t", None).unwrap();
        assert!(!current());
        set(&writer, "/b", 1).unwrap();
        writer.commit("after it").unwrap();
        assert!(current());
    }

    #[test]
    fn without_a_lock_small_arrays_of_many_writers_share_manifests() {
        let repo = without_a_lock("compete-arrays");
        std::thread::scope(|scope| {
            for thread in 0..4u8 {
                let repo = &repo;
                scope.spawn(move || {
                    for i in 0..4u8 {
                        let writer = repo.writer("main").unwrap();
                        set(&writer, &format!("/t{thread}/a{i}"), thread).unwrap();
                        set(&writer, &format!("/t{thread}/b{i}"), i).unwrap();
                        writer.commit("two arrays").unwrap();
                    }
                });
            }
        });
        let snapshot = repo.snapshot(None).unwrap();
        for (thread, i) in (0..4u8).flat_map(|thread| (0..4u8).map(move |i| (thread, i))) {
            let tables = snapshot.tables(&[&format!("/t{thread}/a{i}"), &format!("/t{thread}/b{i}")]).unwrap();
            let values: Vec<_> = tables.iter().map(|table| (table.get(0), table.get(1))).collect();
            let inline = |value: u8| (Place::Missing, Place::Inline(vec![value].into()));
            assert_eq!(values, [inline(thread), inline(i)]);
        }
        let manifests: HashSet<_> =
            snapshot.nodes().iter().filter_map(|node| Some(node.array.as_ref()?.manifests.clone())).collect();
        assert_eq!(manifests.len(), 16, "one for the two arrays of a commit");
    }

    #[test]
    fn without_a_lock_conflicts_are_named_too() {
        let repo = without_a_lock("compete-conflict");
        let late = repo.writer("main").unwrap();
        late.add_group("/g", &json!({"by": "late"})).unwrap();
        commit_group(&repo, "/g", &json!({"by": "early"})).unwrap();
        let error = late.commit("late").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Conflict);
        assert!(error.message.contains("/g"), "{}", error.message);
    }
}
