//! Objects outside any repository: list, identify and read sources with the clients that repositories use.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use icecore_catalog::{LinkIdentity, runtime};
use icecore_grid::Result;
use object_store::ObjectStore;

use super::remote::{RangeGet, describe, split};
use super::stores;

/// Ranges of one object that are requested at once.
const AT_ONCE: usize = 16;

type Options = BTreeMap<String, String>;

/// The size, modification time and ETag of the object at `url`. Blocks.
///
/// # Errors
/// `source-missing`, `permission`, `network`, `invalid`.
pub fn identify(url: &str, options: &Options) -> Result<LinkIdentity> {
    let object = stores().source(url, options, None)?;
    let found = runtime().block_on(object.probe())?;
    Ok(found.unwrap_or(LinkIdentity { size: 0, mtime_ns: -1, etag: None }))
}

/// The bytes of `ranges` (offset, length) of the object at `url`, in order, requested in parallel. Blocks.
///
/// # Errors
/// `source-changed` if it is not the object that `identity` describes; see [`identify`].
pub fn read(url: &str, options: &Options, identity: LinkIdentity, ranges: &[(u64, u64)]) -> Result<Vec<Bytes>> {
    let object = stores().source(url, options, Some(identity))?;
    let requests = ranges.iter().map(|(offset, length)| object.get(*offset, *length));
    runtime().block_on(futures::stream::iter(requests).buffered(AT_ONCE).try_collect())
}

/// Keys and sizes of the objects below the prefix `url`, which ends at a `/`; of all levels, or of the first. Blocks.
///
/// # Errors
/// See [`identify`].
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
