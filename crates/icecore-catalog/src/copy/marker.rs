//! What a copy is a copy of: an object beside the repository's own, written before anything else.

use std::collections::BTreeMap;

use icecore_grid::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use super::place::Place;
use super::scope::Scope;
use crate::open::incomplete_repo::MARKER;

/// Where a copy comes from, and the names that it had when it was up to date.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    #[serde(default)]
    pub is_shallow: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    #[serde(default)]
    pub packs_links: bool,
    /// `branch NAME` or `tag NAME` → version.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
}

impl Marker {
    pub fn new(source: &str, scope: &Scope) -> Self {
        let Scope { reference, is_shallow, group, packs_links } = scope.clone();
        Self { source: source.to_owned(), reference, is_shallow, group, packs_links, names: BTreeMap::new() }
    }

    pub fn scope(&self) -> Scope {
        let Self { reference, is_shallow, group, packs_links, .. } = self.clone();
        Scope { reference, is_shallow, group, packs_links }
    }

    /// The marker of a copy; None if the place has none.
    pub async fn read(place: &Place) -> Result<Option<Self>> {
        let Some(bytes) = place.read(MARKER).await? else { return Ok(None) };
        serde_json::from_slice(&bytes).map(Some).map_err(|e| {
            Error::new(ErrorKind::Corrupt, format!("{}/{MARKER}: {e}", place.url))
                .hint("remove this file: `icecore pull --from SOURCE` writes it again")
        })
    }

    pub async fn write(&self, place: &Place) -> Result<()> {
        let text =
            serde_json::to_vec_pretty(self).map_err(|e| Error::new(ErrorKind::Internal, format!("{MARKER}: {e}")))?;
        place.write(MARKER, text.into()).await
    }

    /// Rejects to go on with a copy of something else.
    pub fn must_match(&self, other: &Self, url: &str) -> Result<()> {
        if self.source == other.source && self.scope() == other.scope() {
            return Ok(());
        }
        let message = format!("{url} holds an unfinished copy of {}", self.source);
        Err(Error::new(ErrorKind::Exists, message)
            .hint("finish it with the same options, or remove it and clone again"))
    }
}
