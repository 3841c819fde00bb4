//! Identities of linked files at link time, stored in the attributes of the hidden group.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

/// A file's identity: it shows whether a linked file has changed since it was linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkIdentity {
    /// Size in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since 1970; negative: unknown.
    pub mtime_ns: i64,
    /// ETag of an HTTP server or object store.
    pub etag: Option<String>,
}

/// The attribute that holds the identities by URL.
pub(crate) const SOURCES: &str = "sources";

impl LinkIdentity {
    fn to_json(&self) -> Value {
        let mut entry = json!({ "size": self.size });
        if self.mtime_ns >= 0 {
            entry["mtime_ns"] = self.mtime_ns.into();
        }
        if let Some(etag) = &self.etag {
            entry["etag"] = etag.clone().into();
        }
        entry
    }

    fn from_json(entry: &Value) -> Option<Self> {
        let etag = entry.get("etag").and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            size: entry.get("size")?.as_u64()?,
            mtime_ns: entry.get("mtime_ns").and_then(Value::as_i64).unwrap_or(-1),
            etag,
        })
    }
}

/// The identities in the hidden group's metadata document; invalid entries are skipped.
pub(crate) fn parse(zarr_json: &[u8]) -> HashMap<String, LinkIdentity> {
    let document: Value = serde_json::from_slice(zarr_json).unwrap_or_default();
    document.get("attributes").map(of).unwrap_or_default()
}

/// The identities in attributes.
pub(crate) fn of(attributes: &Value) -> HashMap<String, LinkIdentity> {
    let sources = attributes.get(SOURCES).and_then(Value::as_object);
    sources
        .into_iter()
        .flatten()
        .filter_map(|(url, entry)| Some((url.clone(), LinkIdentity::from_json(entry)?)))
        .collect()
}

/// The hidden group's attributes with these identities added or replaced.
pub(crate) fn merge(attributes: &mut Map<String, Value>, identities: &BTreeMap<String, LinkIdentity>) {
    let sources = attributes.entry(SOURCES).or_insert_with(|| json!({}));
    if !sources.is_object() {
        *sources = json!({});
    }
    if let Some(sources) = sources.as_object_mut() {
        sources.extend(identities.iter().map(|(url, identity)| (url.clone(), identity.to_json())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let exact = LinkIdentity { size: 9, mtime_ns: 1_700_000_000_123_456_789, etag: None };
        let web = LinkIdentity { size: 7, mtime_ns: -1, etag: Some("\"x\"".into()) };
        let mut attributes = Map::new();
        merge(&mut attributes, &BTreeMap::from([("file:///a".to_owned(), web.clone())]));
        merge(
            &mut attributes,
            &BTreeMap::from([("file:///a".to_owned(), exact.clone()), ("http://h/b".to_owned(), web.clone())]),
        );
        let parsed = parse(&serde_json::to_vec(&json!({ "attributes": attributes })).unwrap());
        assert_eq!(parsed, HashMap::from([("file:///a".to_owned(), exact), ("http://h/b".to_owned(), web)]));
    }

    #[test]
    fn nonsense_is_left_out() {
        assert!(parse(b"").is_empty() && parse(b"[1]").is_empty());
        let parsed = parse(br#"{"attributes": {"sources": {"a": 1, "b": {"size": -1}, "c": {"size": 3}}}}"#);
        assert_eq!(parsed.len(), 1);
        assert_eq!(parsed["c"].mtime_ns, -1);
        let mut attributes = Map::from_iter([(SOURCES.to_owned(), json!(3))]);
        merge(&mut attributes, &BTreeMap::new());
        assert_eq!(attributes[SOURCES], json!({}));
    }
}
