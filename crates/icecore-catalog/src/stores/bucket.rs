//! Repositories in buckets: keys are used as typed. Icechunk alone would percent-encode unusual characters of a prefix (`%`, `#`,
//! `~`, non-ASCII letters), and other programs, including Icechunk's own Python package, would not find the repository.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use icechunk::ObjectStorage;
use icechunk::storage::{ObjectStoreBackend, Role, Settings, StorageError, StorageErrorKind, StorageInfo};
use icecore_grid::{Error, ErrorKind, Result};
use object_store::ObjectStore;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use serde::{Deserialize, Serialize};

use crate::stores::cloud::cloud_store;
use crate::stores::verbs::{Copying, must_be_conditional};

#[derive(Serialize, Deserialize)]
struct Bucket {
    base: String,
    prefix: String,
    options: BTreeMap<String, String>,
}

/// Icechunk's storage for the repository below `prefix` in the bucket `base`, such as `s3://bucket`.
pub(crate) fn storage(base: &str, prefix: &str, options: &BTreeMap<String, String>) -> Result<ObjectStorage> {
    cloud_store(base, options)?; // reports invalid options now
    // Icechunk accepts a foreign backend only in its serialised form.
    let bucket = Bucket { base: base.to_owned(), prefix: prefix.to_owned(), options: options.clone() };
    let backend: Arc<dyn ObjectStoreBackend> = Arc::new(bucket);
    let made = serde_json::to_value(&backend)
        .and_then(|backend| serde_json::from_value::<ObjectStorage>(serde_json::json!({ "backend": backend })));
    made.map_err(|e| Error::new(ErrorKind::Internal, format!("{base}/{prefix}: {e}")))
}

/// Rejects a bucket in which one of two concurrent commits would be lost. Google's and Azure's stores have conditional
/// writes; services that imitate S3 may lack them.
pub(crate) async fn check(base: &str, prefix: &str, options: &BTreeMap<String, String>) -> Result<()> {
    if !base.starts_with("s3://") {
        return Ok(());
    }
    let url = format!("{base}/{prefix}");
    let path = Path::parse(prefix).map_err(|e| Error::new(ErrorKind::Invalid, format!("{url}: {e}")))?;
    must_be_conditional(&PrefixStore::new(cloud_store(base, options)?, path), &url).await
}

/// Omits the options: some are secrets.
impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[typetag::serde(name = "icecore_bucket")]
impl ObjectStoreBackend for Bucket {
    fn mk_object_store(&self, _: &Settings, _: Role) -> std::result::Result<Arc<dyn ObjectStore>, StorageError> {
        let failed = |message: String| StorageError::capture(StorageErrorKind::Other(message));
        let prefix = Path::parse(&self.prefix).map_err(|e| failed(format!("{self}: {e}")))?;
        let store = cloud_store(&self.base, &self.options).map_err(|e| failed(e.message))?;
        Ok(Arc::new(Copying::new(Arc::new(PrefixStore::new(store, prefix)))))
    }

    fn prefix(&self) -> String {
        String::new() // the store has the prefix already
    }

    /// A repository at the root of a bucket can be opened, but not created.
    fn restricts_empty_prefix_creation(&self) -> bool {
        self.prefix.is_empty()
    }

    fn ordered_offset_listing(&self) -> bool {
        self.base.starts_with("s3://")
    }

    fn storage_info(&self) -> StorageInfo {
        StorageInfo { backend_type: "bucket", fields: vec![("url", self.to_string())] }
    }

    fn default_settings(&self) -> Settings {
        Settings::default()
    }
}
