//! `zarr.json` of groups and arrays, in a form that any Zarr v3 reader supports.

use bytes::Bytes;
use icecore::cancel;
use icecore::session::Node;
use serde_json::{Map, Value, json};

use super::grid::chunk_shape;
use crate::domains::{Domain, UNPLACED};
use crate::http::error::{Answer, Failure};

/// The document of a node; for a group, with the documents of everything below it, because HTTP lists no folders.
pub(super) fn document(domain: &Domain, path: &str) -> Answer<Bytes> {
    let tree = domain.session.tree();
    let node = tree.find(path).and_then(|number| tree.node(number));
    let node = node.ok_or_else(|| Failure::missing(format!("there is no {path}"), "see the root group's zarr.json"))?;
    domain.texts.get(&node.path, || made(domain, node))
}

fn made(domain: &Domain, node: &Node) -> Answer<Bytes> {
    let mut document = plain(domain, node)?;
    if !node.is_array {
        let mut metadata = Map::new();
        let from = if node.path == "/" { 1 } else { node.path.len() + 1 };
        let tree = domain.session.tree();
        let mut open: Vec<&Node> = vec![node];
        while let Some(each) = open.pop() {
            cancel::check()?;
            open.extend(tree.children(each).map(|(_, child)| child).filter(|child| !is_hidden(&child.path)));
            if let Some(name) = each.path.get(from..).filter(|name| !name.is_empty()) {
                // An array of an unknown type is served unchanged.
                metadata.insert(name.to_owned(), plain(domain, each).or_else(|_| stored(domain, each))?.into());
            }
        }
        metadata.sort_keys();
        let consolidated = json!({"kind": "inline", "must_understand": false, "metadata": metadata});
        document.insert("consolidated_metadata".to_owned(), consolidated);
    }
    Ok(Bytes::from(Value::from(document).to_string()))
}

/// Objects that no link leads to.
fn is_hidden(path: &str) -> bool {
    path.strip_prefix(UNPLACED).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn stored(domain: &Domain, node: &Node) -> Answer<Map<String, Value>> {
    Ok(domain.session.document(node)?)
}

/// The document with a regular grid and plain codecs.
fn plain(domain: &Domain, node: &Node) -> Answer<Map<String, Value>> {
    let mut document = domain.session.document(node)?;
    document.remove("consolidated_metadata");
    if !node.is_array {
        return Ok(document);
    }
    let view = domain.session.array(&node.path)?;
    let dtype = &view.meta().dtype;
    let codec = match document.get("data_type").and_then(Value::as_str) {
        _ if !dtype.is_vlen() => json!({"name": "bytes", "configuration": {"endian": "little"}}),
        Some("string" | "variable_length_utf8" | "numpy.variable_length_utf8") => json!({"name": "vlen-utf8"}),
        _ => json!({"name": "vlen-bytes"}),
    };
    let keys = json!({"name": "default", "configuration": {"separator": "/"}});
    let grid = json!({"name": "regular", "configuration": {"chunk_shape": chunk_shape(&view)}});
    for (name, value) in [("chunk_grid", grid), ("chunk_key_encoding", keys), ("codecs", json!([codec]))] {
        document.insert(name.to_owned(), value);
    }
    document.remove("storage_transformers");
    Ok(document)
}
