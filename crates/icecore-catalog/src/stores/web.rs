//! Repositories on web servers: Icechunk reads them through the process's client.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use icechunk::ObjectStorage;
use icechunk::storage::{ObjectStoreBackend, Role, Settings, StorageError, StorageErrorKind, StorageInfo};
use icecore_grid::{Error, ErrorKind, Result};
use object_store::ObjectStore;
use serde::{Deserialize, Serialize};

use crate::stores::http::http_store;

#[derive(Serialize, Deserialize)]
struct Web {
    url: String,
    options: BTreeMap<String, String>,
}

/// Icechunk's storage for the repository at `url`.
pub(crate) fn storage(url: &str, options: &BTreeMap<String, String>) -> Result<ObjectStorage> {
    http_store(url, options)?; // reports invalid options now
    // Icechunk accepts a foreign backend only in its serialised form.
    let backend: Arc<dyn ObjectStoreBackend> = Arc::new(Web { url: url.to_owned(), options: options.clone() });
    let made = serde_json::to_value(&backend)
        .and_then(|backend| serde_json::from_value::<ObjectStorage>(serde_json::json!({ "backend": backend })));
    made.map_err(|e| Error::new(ErrorKind::Internal, format!("{url}: {e}")))
}

/// Omits the options: some are secrets.
impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl fmt::Display for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

#[typetag::serde(name = "icecore_web")]
impl ObjectStoreBackend for Web {
    fn mk_object_store(&self, _: &Settings, _: Role) -> std::result::Result<Arc<dyn ObjectStore>, StorageError> {
        http_store(&self.url, &self.options).map_err(|e| StorageError::capture(StorageErrorKind::Other(e.message)))
    }

    fn prefix(&self) -> String {
        String::new()
    }

    fn storage_info(&self) -> StorageInfo {
        StorageInfo { backend_type: "HTTP", fields: vec![("url", self.url.clone())] }
    }

    fn default_settings(&self) -> Settings {
        Settings::default()
    }

    fn can_write(&self) -> bool {
        false
    }
}
