//! Old copies of the root object. Icechunk copies it at each update, and each copy lists all versions: after n commits
//! the copies hold n² / 2 names.

use std::collections::HashSet;
use std::path::Path;

use chrono::{DateTime, Utc};
use futures::{StreamExt, TryStreamExt};
use icechunk::asset_manager::AssetManager;
use icechunk::format::OVERWRITTEN_FILES_PATH;
use icechunk::repository::{RepositoryError, RepositoryErrorKind};
use icecore_grid::Result;

use crate::error;
use crate::seal::ROOT;

/// Directory that holds the copies.
pub(crate) const FOLDER: &str = OVERWRITTEN_FILES_PATH;

/// When a directory holds more copies than the first number, an update removes the oldest until the second number is
/// left.
const MANY: usize = 32;
const LEFT: usize = 16;

/// A copy's name, and its bytes.
pub(crate) type Copy = (String, u64);

/// Copies older than `before`, except the newest one, which users can restore by hand, and except copies that hold the
/// continuation of the list of updates.
pub(crate) async fn old(assets: &AssetManager, before: DateTime<Utc>) -> Result<Vec<Copy>> {
    let listed = assets.storage().list_objects(&assets.storage_context(), FOLDER).await;
    let mut copies: Vec<_> = listed.map_err(error::storage)?.try_collect().await.map_err(error::storage)?;
    copies.retain(|copy| is_copy(&copy.id));
    // The numbers in their names decrease with time.
    copies.sort_by(|a, b| a.id.cmp(&b.id));
    let continued = continued(assets).await?;
    let old = copies.into_iter().skip(1).filter(|copy| copy.created_at < before && !continued.contains(&copy.id));
    Ok(old.map(|copy| (copy.id, copy.size_bytes)).collect())
}

/// Removes all but the newest copies from a directory at an update of the root object, whose lock is held: n copies
/// would hold n² / 2 names. The object itself lists a thousand updates. Older updates are lost with the copies, as
/// after gc.
pub(crate) fn thin(root: &Path) -> std::io::Result<()> {
    let folder = root.join(FOLDER);
    let mut names: Vec<_> =
        folder.read_dir()?.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| is_copy(name));
    if names.len() >= MANY {
        names.sort_unstable();
        names.iter().skip(LEFT).try_for_each(|name| std::fs::remove_file(folder.join(name)))?;
    }
    Ok(())
}

/// Copies of other objects are left alone.
fn is_copy(name: &str) -> bool {
    name.strip_prefix(ROOT).is_some_and(|rest| rest.starts_with('.'))
}

/// Removes the named copies and returns the number and bytes of those removed. Icechunk does not report why a deletion
/// failed.
pub(crate) async fn remove(assets: &AssetManager, copies: Vec<Copy>) -> Result<(u64, u64)> {
    let (storage, context) = (assets.storage(), assets.storage_context());
    let ids = futures::stream::iter(copies).boxed();
    let done = storage.delete_objects(&context, FOLDER, ids).await.map_err(error::storage)?;
    Ok((done.deleted_objects, done.deleted_bytes))
}

/// The copies that hold the updates for which the root object has no room.
async fn continued(assets: &AssetManager) -> Result<HashSet<String>> {
    let mut names = HashSet::new();
    let (mut info, _) = assets.fetch_repo_info().await.map_err(error::repository)?;
    while let Some(name) = info.repo_before_updates().map_err(error::format)?.map(ToString::to_string) {
        if !names.insert(name.clone()) {
            break;
        }
        info = match assets.fetch_repo_info_backup(&name).await {
            Ok((info, _)) => info,
            // This copy was removed earlier; Icechunk's own list ends here too.
            Err(RepositoryError { kind: RepositoryErrorKind::RepositoryDoesntExist, .. }) => break,
            Err(e) => return Err(error::repository(e)),
        };
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::open;
    use crate::open::handle::Handle;
    use crate::repo::Repo;
    use crate::runtime::run;
    use crate::stores::storage::Storage;

    #[test]
    fn updates_remove_old_copies() {
        let home = tempfile::tempdir().unwrap();
        let storage = Storage::new(home.path().join("r").display().to_string());
        let repo = Repo(Arc::new(Handle::new(&storage, run(open::create(&storage)).unwrap())));
        let names = || -> Vec<String> {
            let entries = home.path().join("r").join(FOLDER).read_dir().into_iter().flatten();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        };
        let updates = 1_100; // Icechunk's root object has room for a thousand
        for i in 0..updates {
            let before = names();
            repo.create_tag(&i.to_string(), None).unwrap();
            let newest = names().into_iter().find(|name| !before.contains(name));
            let time = |name: &String| name.split('.').nth(1).map(str::to_owned);
            assert_eq!(newest.as_ref().and_then(time), names().iter().min().and_then(time), "their names count down");
            assert!((LEFT.min(i)..MANY).contains(&names().len()), "{i}: {}", names().len());
        }
        let shared = repo.shared().unwrap();
        let listed = run(async {
            let (updates, ..) = shared.repository().ops_log().await.map_err(error::repository)?;
            updates.try_collect::<Vec<_>>().await.map_err(error::repository)
        });
        assert_eq!(listed.unwrap().len(), 1_000);
        assert_eq!(repo.tags().unwrap().len(), updates);
    }
}
