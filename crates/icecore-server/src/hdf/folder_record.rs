//! Owner and access control lists of a folder, in a hidden file.

use std::path::Path;

use icecore::grid::{Error, ErrorKind, Result};
use serde_json::{Map, Value, json};

use crate::app::Shared;
use crate::domains::Address;
use crate::hdf5::permission::{allows, full, refused};
use crate::http::caller::{Caller, DEFAULT};
use crate::http::error::Answer;
use crate::unique::now;

const FILE: &str = ".icecore-folder.json";

/// A folder's record.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    pub owner: String,
    pub created: f64,
    pub acls: Map<String, Value>,
}

impl Record {
    pub fn new(owner: &str) -> Self {
        Self { owner: owner.to_owned(), created: now(), acls: Map::from_iter([(owner.to_owned(), full())]) }
    }

    /// The record of a directory; empty if there is none.
    pub fn load(path: &Path) -> Self {
        let text = std::fs::read(path.join(FILE)).ok();
        let json: Option<Value> = text.and_then(|text| serde_json::from_slice(&text).ok());
        let Some(json) = json else { return Self::default() };
        let owner = json.get("owner").and_then(Value::as_str).unwrap_or_default().to_owned();
        let acls = json.get("acls").and_then(Value::as_object).cloned().unwrap_or_default();
        Self { owner, created: json.get("created").and_then(Value::as_f64).unwrap_or_default(), acls }
    }

    /// The record of a folder. Without one, `/home/USER` and the folders in it belong to that user, and the lists of the
    /// folder above apply to others.
    pub fn of(app: &Shared, address: &Address) -> Self {
        let record = app.domains.directory(address).map(|path| Self::load(&path)).unwrap_or_default();
        if !record.is_empty() {
            return record;
        }
        match address.parts.as_slice() {
            [home, user, ..] if home == "home" && app.config.users.is_some() => {
                Self { created: app.started, ..Self::new(user) }
            }
            [above @ .., _] => Self::of(app, &Address { parts: above.to_vec(), version: None, group: Vec::new() }),
            [] => record,
        }
    }

    fn is_empty(&self) -> bool {
        self.owner.is_empty() && self.acls.is_empty()
    }

    pub fn store(&self, path: &Path) -> Result<()> {
        let body = json!({"owner": self.owner, "created": self.created, "acls": self.acls});
        std::fs::write(path.join(FILE), body.to_string())
            .map_err(|e| Error::new(ErrorKind::Io, format!("the folder's record cannot be written: {e}")))
    }

    pub fn json(&self) -> Value {
        json!({"class": "folder", "owner": self.owner, "created": self.created, "lastModified": self.created, "hrefs": []})
    }
}

/// A folder without owner and lists may be read by all, and changed by `admin`.
///
/// # Errors
/// `permission`.
pub(crate) fn check(app: &Shared, address: &Address, caller: &Caller, action: &str) -> Answer<()> {
    let record = Record::of(app, address);
    if allows(&record.owner, &record.acls, caller, action) {
        Ok(())
    } else {
        Err(refused(caller, action, &format!("/{}", address.parts.join("/"))))
    }
}

/// The same for the parent folder. A user may make the own folder in `/home`.
pub(super) fn check_above(app: &Shared, address: &Address, caller: &Caller, action: &str) -> Answer<()> {
    if matches!(address.parts.as_slice(), [home, user] if home == "home" && *user == caller.name)
        && caller.name != DEFAULT
    {
        return Ok(());
    }
    let mut above = address.clone();
    above.parts.pop();
    check(app, &above, caller, action)
}

/// Removes an empty folder.
pub(super) fn remove(path: &Path) -> Result<()> {
    let failed = |e: std::io::Error| Error::new(ErrorKind::Io, format!("the folder cannot be removed: {e}"));
    match std::fs::remove_file(path.join(FILE)) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e)),
        _ => {}
    }
    std::fs::remove_dir(path).map_err(failed)
}
