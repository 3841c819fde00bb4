//! Icechunk's virtual chunk containers: the prefixes that a repository links to, and which of them this process may read.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use icechunk::Repository;
use icechunk::config::{Credentials, HttpConfig, ObjectStoreConfig, RepositoryConfig};
use icechunk::format::format_constants::SpecVersionBin;
use icechunk::virtual_chunks::VirtualChunkContainer;
use icecore_grid::{Error, ErrorKind, Result};

use crate::error;
use crate::stores::cloud::azure_account;
use crate::stores::flags::{Options, options_for};
use crate::stores::options::{s3_credentials, s3_options};
use crate::stores::prefix;

/// URL prefixes that a process may read through links, both as Icechunk's containers and as strings.
pub(crate) struct Access {
    pub config: RepositoryConfig,
    pub credentials: HashMap<String, Option<Credentials>>,
    /// Normalised prefixes.
    pub prefixes: Vec<String>,
}

/// The containers of an open repository: right after opening, the recorded ones.
pub(crate) fn configured(repository: &Repository) -> Vec<VirtualChunkContainer> {
    repository.config().virtual_chunk_containers().cloned().collect()
}

/// Default: the recorded containers, without local files if the repository is remote.
pub(crate) fn default_prefixes(recorded: &[VirtualChunkContainer], is_remote: bool) -> Vec<String> {
    recorded
        .iter()
        .filter_map(|c| prefix::recorded(c.url_prefix()))
        .filter(|p| !(is_remote && p.starts_with("file:")))
        .collect()
}

/// Authorises exactly these normalised prefixes, recorded or not.
pub(crate) fn access(recorded: Vec<VirtualChunkContainer>, options: &Options, prefixes: Vec<String>) -> Result<Access> {
    let mut containers: HashMap<String, VirtualChunkContainer> =
        recorded.into_iter().map(|c| (c.url_prefix().to_owned(), c)).collect();
    for wanted in &prefixes {
        // Icechunk has no container for some prefixes (the root of all files, other schemes) and does not read them
        // itself.
        if !containers.contains_key(wanted)
            && let Ok(extra) = container(wanted, options)
        {
            containers.insert(wanted.clone(), extra);
        }
    }
    let mut credentials = HashMap::new();
    for name in containers.keys() {
        let is_allowed = prefix::recorded(name).is_some_and(|name| prefixes.iter().any(|p| prefix::covers(p, &name)));
        if let (true, Some(given)) = (is_allowed, credential(name, options)?) {
            credentials.insert(name.clone(), Some(given));
        }
    }
    let config = RepositoryConfig { virtual_chunk_containers: Some(containers), ..RepositoryConfig::default() };
    Ok(Access { config, credentials, prefixes })
}

/// A container for a normalised prefix.
pub(crate) fn container(prefix: &str, options: &Options) -> Result<VirtualChunkContainer> {
    let options = &options_for(options, prefix.trim_end_matches('/'));
    let store = match prefix.split_once("://") {
        Some(("file", path)) => ObjectStoreConfig::LocalFileSystem(PathBuf::from(path)),
        Some(("http" | "https", _)) => ObjectStoreConfig::Http(HttpConfig::default()),
        Some(("s3", _)) => ObjectStoreConfig::S3(s3_options(options)?),
        Some(("gs", _)) => ObjectStoreConfig::Gcs(HashMap::new()),
        Some(("az", _)) => ObjectStoreConfig::Azure(
            azure_account(options).map(|name| ("account".to_owned(), name)).into_iter().collect(),
        ),
        _ => return Err(unsupported(prefix)),
    };
    VirtualChunkContainer::new(prefix.to_owned(), store)
        .map_err(|e| Error::new(ErrorKind::Invalid, format!("links to {prefix}: {e}")))
}

fn unsupported(prefix: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("links to {prefix} are not supported"))
        .hint("link files in directories, on http(s)://, s3://, gs:// or az://")
}

/// Settings that Icechunk requires to read from a container; None for stores that this build does not support.
fn credential(prefix: &str, options: &Options) -> Result<Option<Credentials>> {
    let options = &options_for(options, prefix.trim_end_matches('/'));
    Ok(match prefix.split_once("://") {
        Some(("file", _)) => Some(Credentials::LocalFileSystemAccess),
        Some(("http" | "https", _)) => Some(Credentials::HttpAccess),
        Some(("s3", _)) => Some(Credentials::S3(s3_credentials(options)?)),
        _ => None,
    })
}

/// Records new containers in the repository; the caller holds its lock. Other recorded settings are kept.
pub(crate) async fn record(repository: &Repository, new: Vec<VirtualChunkContainer>) -> Result<()> {
    let spec = repository.spec_version();
    if spec < SpecVersionBin::V2 {
        let mut config = repository.config().clone();
        insert(&mut config, &new)?;
        let changed = repository.reopen(Some(config), None).await.map_err(error::repository)?;
        return changed.save_config().await.map(|_| ()).map_err(error::repository);
    }
    let updates = repository.config().num_updates_per_repo_info_file();
    let mut refused = None;
    let update = |info: Arc<icechunk::format::repo_info::RepoInfo>, backup: &str, _| {
        let mut config: RepositoryConfig = info.config().map_err(|e| e.inject())?.unwrap_or_default();
        refused = insert(&mut config, &new).err();
        Ok(Arc::new(info.set_config(spec, &config, backup, updates).map_err(|e| e.inject())?))
    };
    let retries = repository.config().repo_update_retries();
    repository.asset_manager().update_repo_info(retries, update).await.map_err(error::repository)?;
    refused.map_or(Ok(()), Err)
}

fn insert(config: &mut RepositoryConfig, new: &[VirtualChunkContainer]) -> Result<()> {
    new.iter()
        .try_for_each(|c| config.set_virtual_chunk_container(c.clone()).map_err(|e| Error::new(ErrorKind::Invalid, e)))
}
