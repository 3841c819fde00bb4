//! Objects outside any repository: lists of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::TryStreamExt;
use icecore_catalog::runtime;
use icecore_grid::Result;
use object_store::ObjectStore;

use super::remote::{describe, split};
use super::stores;

type Options = BTreeMap<String, String>;

/// Keys and sizes of the objects below the prefix `url`, which ends at a `/`; of all levels, or of the first. Blocks.
///
/// # Errors
/// `source-missing`, `permission`, `network`, `invalid`.
pub fn list(url: &str, options: &Options, recursive: bool) -> Result<Vec<(String, u64)>> {
    let (base, prefix) = split(url)?;
    let store: Arc<dyn ObjectStore> = stores().client(&base, options)?;
    let listed = async {
        if recursive {
            return store.list(Some(&prefix)).try_collect::<Vec<_>>().await;
        }
        store.list_with_delimiter(Some(&prefix)).await.map(|found| found.objects)
    };
    let found = runtime().block_on(listed).map_err(|error| describe(url, true, &error))?;
    Ok(found.into_iter().map(|object| (object.location.to_string(), object.size)).collect())
}
