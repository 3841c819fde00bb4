//! Convert storage options to Icechunk storage and credentials.

use std::collections::HashMap;
use std::num::{NonZeroU16, NonZeroU64};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use icechunk::config::{
    CachingConfig, ManifestConfig, ManifestPreloadConfig, ManifestSplitCondition, ManifestSplitDim,
    ManifestSplitDimCondition, ManifestSplittingConfig, ManifestVirtualChunkLocationCompressionConfig,
    RepositoryConfig,
};
use icechunk::storage::{
    ConcurrencySettings, RetriesSettings, S3Credentials, S3Options, S3StaticCredentials, Settings, Storage as Backend,
    new_in_memory_storage,
};
use icecore_grid::{Error, ErrorKind, Result};

use crate::error;
use crate::process::PerProcess;
use crate::stores::flags::{Options, S3_OPTIONS, allows_http, flag, options_for, split_option};
use crate::stores::http::{HEADER, RETRY_TIMEOUT};
use crate::stores::storage::{ANONYMOUS, Root};
use crate::stores::{bucket, cloud, durable, web};

/// Chunks along the first axis whose references share a manifest: 30 bytes each, loaded with one request. A commit of a
/// new array passes once over all its references for each manifest (50 ns each), so the cost of short manifests is
/// quadratic in the array's length.
pub(crate) const STRETCH: u32 = 1 << 17;
/// Seconds to wait for another process's commit.
pub(crate) const LOCK_TIMEOUT: &str = "lock_timeout";
/// Whether commits to a directory are on disk before they return: `full` or `none`.
pub(crate) const DURABILITY: &str = "durability";
/// Whether this process is the only writer: buckets without conditional writes need it.
pub(crate) const SINGLE_WRITER: &str = "single_writer";
/// Options that all places accept; the first two have an effect in directories alone, the third in buckets.
const EVERYWHERE: [&str; 4] = [LOCK_TIMEOUT, DURABILITY, SINGLE_WRITER, RETRY_TIMEOUT];

pub(crate) type SharedBackend = Arc<dyn Backend + Send + Sync>;

/// Repositories that live as long as the process, by name.
static MEMORY: PerProcess<Mutex<HashMap<String, SharedBackend>>> = PerProcess::new();

/// Backends of unnamed repositories; each is dropped with its last handle.
static UNNAMED: PerProcess<Mutex<HashMap<String, Weak<dyn Backend + Send + Sync>>>> = PerProcess::new();

/// A child inherits its parent's in-memory repositories as they were at the fork, unless another thread held the lock
/// at that moment.
fn known<T: Clone>(all: &PerProcess<Mutex<HashMap<String, T>>>) -> MutexGuard<'_, HashMap<String, T>> {
    let inherit = |parents: Option<&Mutex<HashMap<String, T>>>| {
        Mutex::new(parents.and_then(|known| known.try_lock().ok().map(|known| known.clone())).unwrap_or_default())
    };
    all.get_or(inherit).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates the storage that Icechunk reads and writes.
pub(crate) async fn backend(root: &Root, options: &Options) -> Result<SharedBackend> {
    check(root, options)?;
    let options = &options_for(options, &root.url());
    match root {
        Root::Local(path) => Ok(Arc::new(durable::storage(path, is_durable(options)?)?)),
        Root::Memory(name) => memory(name).await,
        Root::Http(url) => Ok(Arc::new(web::storage(url, options)?)),
        Root::Bucket { base, prefix } => Ok(Arc::new(bucket::storage(base, prefix, options)?)),
    }
}

/// Whether commits to a directory are synchronised to disk: as the options say, or else the environment.
pub(crate) fn is_durable(options: &Options) -> Result<bool> {
    match options.get(DURABILITY).map(String::as_str) {
        None => Ok(durable::is_durable()),
        Some(durable::FULL) => Ok(true),
        Some(durable::NONE) => Ok(false),
        Some(other) => Err(Error::new(ErrorKind::Invalid, format!("durability {other:?} is unknown"))
            .hint("full (the default: a commit is on disk when it returns) or none (for scratch data)")),
    }
}

/// Whether the user declares this process the only writer of the repository at `url`.
pub(crate) fn is_single_writer(options: &Options, url: &str) -> Result<bool> {
    flag(&options_for(options, url), SINGLE_WRITER)
}

async fn memory(name: &str) -> Result<SharedBackend> {
    let fresh = new_in_memory_storage().await.map_err(error::storage)?;
    if name.starts_with(ANONYMOUS) {
        let mut known = known(&UNNAMED);
        if let Some(backend) = known.get(name).and_then(Weak::upgrade) {
            return Ok(backend);
        }
        known.retain(|_, backend| backend.strong_count() > 0);
        known.insert(name.to_owned(), Arc::downgrade(&fresh));
        return Ok(fresh);
    }
    let mut known = known(&MEMORY);
    Ok(Arc::clone(known.entry(name.to_owned()).or_insert(fresh)))
}

/// Rejects options that would have no effect.
fn check(root: &Root, options: &Options) -> Result<()> {
    for key in options.keys() {
        let (address, name) = split_option(key).unwrap_or(("", key));
        let is_known = match address.split("://").next().unwrap_or_default() {
            "" => knows(root, name),
            "http" | "https" => knows(&Root::Http(String::new()), name),
            scheme => cloud::knows(Some(scheme), name),
        };
        if !is_known && !EVERYWHERE.contains(&name) {
            return Err(Error::new(ErrorKind::Invalid, format!("{}: unknown storage option {key:?}", root.url()))
                .hint(format!("known are {}, {}, for az:// account_name, account_key, sas_token, for gs:// service_account, and for http {HEADER}NAME and the client's timeout, connect_timeout, proxy_url, …; s3://bucket.NAME is for that bucket", S3_OPTIONS.join(", "), EVERYWHERE.join(", "))));
        }
    }
    is_durable(options)?;
    cloud::check_flags(options)?;
    cloud::check_flags(&options_for(options, &root.url()))
}

fn knows(root: &Root, key: &str) -> bool {
    match root {
        Root::Bucket { base, .. } => cloud::knows(base.split("://").next(), key),
        Root::Http(_) => key.starts_with(HEADER) || object_store::ClientConfigKey::from_str(key).is_ok(),
        // A local repository may have credentials for linked objects and options for other schemes.
        Root::Local(_) | Root::Memory(_) => cloud::knows(None, key) || key.starts_with(HEADER),
    }
}

/// The s3 settings without secrets; they are also recorded with linked prefixes.
pub(crate) fn s3_options(options: &Options) -> Result<S3Options> {
    let mut s3 = S3Options::default()
        .with_anonymous(flag(options, "anonymous")?)
        .with_allow_http(allows_http(options)?)
        .with_force_path_style(flag(options, "force_path_style")?);
    if let Some(region) = options.get("region") {
        s3 = s3.with_region(region);
    }
    if let Some(endpoint) = options.get("endpoint_url") {
        s3 = s3.with_endpoint_url(endpoint);
    }
    Ok(s3)
}

/// The given keys, anonymous access, or the credentials of the environment.
pub(crate) fn s3_credentials(options: &Options) -> Result<S3Credentials> {
    if flag(options, "anonymous")? {
        return Ok(S3Credentials::Anonymous);
    }
    match (options.get("access_key_id"), options.get("secret_access_key")) {
        (Some(id), Some(secret)) => Ok(S3Credentials::Static(S3StaticCredentials {
            access_key_id: id.clone(),
            secret_access_key: secret.clone(),
            session_token: options.get("session_token").cloned(),
            expires_after: None,
        })),
        (None, None) => Ok(S3Credentials::FromEnv),
        _ => Err(Error::new(ErrorKind::Invalid, "access_key_id and secret_access_key only make sense together")),
    }
}

/// Icechunk's settings for this process; none of them are recorded in the repository.
pub(crate) fn config(root: &Root, options: &Options) -> Result<RepositoryConfig> {
    // Icechunk need not cache or preload manifests, because we cache reference tables in a smaller form.
    let caching = CachingConfig { num_chunk_refs: Some(1_000_000), ..CachingConfig::default() };
    let preload = ManifestPreloadConfig { max_total_refs: Some(0), ..ManifestPreloadConfig::default() };
    // Location dictionaries are off: manifests are compressed as a whole anyway, and training a dictionary made linking
    // arrays of more than 1,000 chunks several times slower.
    let locations =
        ManifestVirtualChunkLocationCompressionConfig { min_num_chunks: Some(u16::MAX), ..Default::default() };
    let manifest = ManifestConfig {
        preload: Some(preload),
        splitting: Some(splitting()),
        virtual_chunk_location_compression: Some(locations),
        ..ManifestConfig::empty()
    };
    Ok(RepositoryConfig {
        caching: Some(caching),
        manifest: Some(manifest),
        storage: Some(settings(root, options)?),
        ..RepositoryConfig::default()
    })
}

/// Arrays grow along their first axis: a commit rewrites the references of the last manifest, not those of the whole
/// array.
fn splitting() -> ManifestSplittingConfig {
    let first = ManifestSplitDim { condition: ManifestSplitDimCondition::Axis(0), num_chunks: STRETCH };
    ManifestSplittingConfig { split_sizes: Some(vec![(ManifestSplitCondition::AnyArray, vec![first])]) }
}

pub(crate) fn settings(root: &Root, options: &Options) -> Result<Settings> {
    // Local files are read in one request. Over a network, a few retries within seconds are better than minutes without
    // a message.
    let (requests, size) = if root.is_remote() { (16, 8 << 20) } else { (1, 1 << 30) };
    let concurrency = ConcurrencySettings {
        max_concurrent_requests_for_object: NonZeroU16::new(requests),
        ideal_concurrent_request_size: NonZeroU64::new(size),
    };
    let retries =
        RetriesSettings { max_tries: NonZeroU16::new(5), initial_backoff_ms: Some(100), max_backoff_ms: Some(2_000) };
    let retries = root.is_remote().then_some(retries);
    let mut settings = Settings { concurrency: Some(concurrency), retries, ..Settings::default() };
    if root.is_remote() && is_single_writer(options, &root.url())? {
        (settings.unsafe_use_conditional_create, settings.unsafe_use_conditional_update) = (Some(false), Some(false));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(pairs: &[(&str, &str)]) -> Options {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn unknown_options_are_refused_by_name() {
        let root = Root::parse("s3://b/p").unwrap();
        let error = check(&root, &options(&[("acces_key_id", "x")])).unwrap_err();
        assert!(error.message.contains("acces_key_id") && error.hint.contains("access_key_id"));
        assert!(check(&root, &options(&[("region", "eu"), ("lock_timeout", "3")])).is_ok());
        assert!(
            check(&Root::parse("http://h/x").unwrap(), &options(&[("header.authorization", "x"), ("timeout", "3s")]))
                .is_ok()
        );
    }

    #[test]
    fn credentials() {
        assert!(matches!(s3_credentials(&options(&[("anonymous", "true")])), Ok(S3Credentials::Anonymous)));
        assert!(matches!(s3_credentials(&Options::new()), Ok(S3Credentials::FromEnv)));
        assert!(s3_credentials(&options(&[("access_key_id", "x")])).is_err());
        assert!(s3_options(&options(&[("allow_http", "maybe")])).is_err());
        let plain = ("endpoint_url", "http://127.0.0.1:9000");
        assert!(allows_http(&options(&[plain])).unwrap() && s3_options(&options(&[plain])).unwrap().allow_http);
        assert!(!allows_http(&options(&[plain, ("allow_http", "false")])).unwrap());
        assert!(!allows_http(&options(&[("endpoint_url", "https://h")])).unwrap());
    }
}
