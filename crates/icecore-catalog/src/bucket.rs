//! Repositories in buckets: keys are used as typed. Icechunk alone would percent-encode unusual characters of a prefix (`%`, `#`,
//! `~`, non-ASCII letters), and other programs, including Icechunk's own Python package, would not find the repository.

use std::fmt;
use std::sync::Arc;

use icechunk::ObjectStorage;
use icechunk::storage::{
    ObjectStoreBackend, Role, S3Credentials, S3ObjectStoreBackend, S3Options, Settings, StorageError, StorageErrorKind,
    StorageInfo,
};
use icecore_grid::{Error, ErrorKind, Result};
use object_store::ObjectStore;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Bucket {
    whole: S3ObjectStoreBackend,
    prefix: String,
}

/// Icechunk's storage for the repository below `prefix`.
pub(crate) fn storage(
    bucket: &str,
    prefix: &str,
    config: S3Options,
    credentials: S3Credentials,
) -> Result<ObjectStorage> {
    let whole = S3ObjectStoreBackend {
        bucket: bucket.to_owned(),
        prefix: None,
        credentials: Some(credentials),
        config: Some(config),
        extra_read_headers: Vec::new(),
        extra_write_headers: Vec::new(),
    };
    // Icechunk accepts a foreign backend only in its serialised form.
    let backend: Arc<dyn ObjectStoreBackend> = Arc::new(Bucket { whole, prefix: prefix.to_owned() });
    let made = serde_json::to_value(&backend)
        .and_then(|backend| serde_json::from_value::<ObjectStorage>(serde_json::json!({ "backend": backend })));
    made.map_err(|e| Error::new(ErrorKind::Internal, format!("s3://{bucket}/{prefix}: {e}")))
}

/// Omits the credentials.
impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}/{}", self.whole.bucket, self.prefix)
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[typetag::serde(name = "icecore_bucket")]
impl ObjectStoreBackend for Bucket {
    fn mk_object_store(
        &self,
        settings: &Settings,
        role: Role,
    ) -> std::result::Result<Arc<dyn ObjectStore>, StorageError> {
        let prefix = Path::parse(&self.prefix)
            .map_err(|e| StorageError::capture(StorageErrorKind::Other(format!("{self}: {e}"))))?;
        Ok(Arc::new(PrefixStore::new(self.whole.mk_object_store(settings, role)?, prefix)))
    }

    fn prefix(&self) -> String {
        String::new() // the store has the prefix already
    }

    fn ordered_offset_listing(&self) -> bool {
        self.whole.ordered_offset_listing()
    }

    fn storage_info(&self) -> StorageInfo {
        self.whole.storage_info()
    }

    fn default_settings(&self) -> Settings {
        self.whole.default_settings()
    }
}
