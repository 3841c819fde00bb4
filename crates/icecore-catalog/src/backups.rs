//! What the root object was before: Icechunk copies it at each update, and it names all versions. After n commits these copies
//! are n² / 2 names long.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use futures::{StreamExt, TryStreamExt};
use icechunk::asset_manager::AssetManager;
use icechunk::format::OVERWRITTEN_FILES_PATH;
use icechunk::repository::{RepositoryError, RepositoryErrorKind};
use icecore_grid::Result;

use crate::error;
use crate::seal::ROOT;

/// Where they lie.
pub(crate) const FOLDER: &str = OVERWRITTEN_FILES_PATH;

/// A copy's name, and its bytes.
pub(crate) type Copy = (String, u64);

/// The copies that were made before this. Without the newest one, to be put back by hand, and without those in which the list
/// of updates goes on.
pub(crate) async fn old(assets: &AssetManager, before: DateTime<Utc>) -> Result<Vec<Copy>> {
    let listed = assets.storage().list_objects(&assets.storage_context(), FOLDER).await;
    let mut copies: Vec<_> = listed.map_err(error::storage)?.try_collect().await.map_err(error::storage)?;
    // Their names count down; other objects have copies too.
    copies.retain(|copy| copy.id.strip_prefix(ROOT).is_some_and(|rest| rest.starts_with('.')));
    copies.sort_by(|a, b| a.id.cmp(&b.id));
    let continued = continued(assets).await?;
    let old = copies.into_iter().skip(1).filter(|copy| copy.created_at < before && !continued.contains(&copy.id));
    Ok(old.map(|copy| (copy.id, copy.size_bytes)).collect())
}

/// Removes these, and returns how many of them went and their bytes: Icechunk keeps to itself why others did not.
pub(crate) async fn remove(assets: &AssetManager, copies: Vec<Copy>) -> Result<(u64, u64)> {
    let (storage, context) = (assets.storage(), assets.storage_context());
    let ids = futures::stream::iter(copies).boxed();
    let done = storage.delete_objects(&context, FOLDER, ids).await.map_err(error::storage)?;
    Ok((done.deleted_objects, done.deleted_bytes))
}

/// The copies that hold the updates which the root object has no room for.
async fn continued(assets: &AssetManager) -> Result<HashSet<String>> {
    let mut names = HashSet::new();
    let (mut info, _) = assets.fetch_repo_info().await.map_err(error::repository)?;
    while let Some(name) = info.repo_before_updates().map_err(error::format)?.map(ToString::to_string) {
        if !names.insert(name.clone()) {
            break;
        }
        info = match assets.fetch_repo_info_backup(&name).await {
            Ok((info, _)) => info,
            // Removed before it was one of these: Icechunk's own list ends here, too.
            Err(RepositoryError { kind: RepositoryErrorKind::RepositoryDoesntExist, .. }) => break,
            Err(e) => return Err(error::repository(e)),
        };
    }
    Ok(names)
}
