//! Read the model of a domain from its nodes, as defined in `docs/format.md`, section "HDF5 objects".

use serde_json::{Map, Value, json};

use super::attributes::{attributes, own};
use super::describe::{described, node};
use crate::domains::{Collection, Domain, Include, Model, Object, UNPLACED, ids};
use crate::http::error::Answer;

/// Reads all objects.
pub(crate) fn model(domain: &Domain) -> Answer<Model> {
    let mut objects = Vec::new();
    for (number, each) in domain.session.tree().nodes().iter().enumerate() {
        let document = domain.session.document(each)?;
        let marker = own(&document).get("hdf5").and_then(Value::as_object).cloned();
        let is_removed = marker.as_ref().is_some_and(|marker| marker.contains_key("removed"));
        if is_removed || each.path == UNPLACED {
            continue;
        }
        let object = match &marker {
            Some(marker) => marked(domain, number, &document, marker)?,
            None => unmarked(domain, number)?,
        };
        objects.push((number, object, marker));
    }
    let implied: Vec<(String, String, String, f64)> = objects
        .iter()
        .filter_map(|(number, object, marker)| {
            let path = object.path.as_deref()?;
            let (parent, name) = path.rsplit_once('/')?;
            let parent = if parent.is_empty() { "/" } else { parent };
            (marker.is_none() && *number > 0)
                .then(|| (parent.to_owned(), name.to_owned(), object.id.clone(), object.created))
        })
        .collect();
    let Some((_, root, marker)) = objects.first().cloned() else {
        return Err(icecore::grid::Error::new(icecore::grid::ErrorKind::Format, "the domain has no root group").into());
    };
    let mut model = Model::new(root);
    let text = |name: &str| marker.as_ref().and_then(|m| m.get(name)).and_then(Value::as_str).map(str::to_owned);
    model.owner = text("owner").unwrap_or_else(|| "icecore".to_owned());
    model.acls = marker.as_ref().and_then(|m| m.get("acls")).and_then(Value::as_object).cloned().unwrap_or_default();
    let by_path: std::collections::HashMap<String, String> =
        objects.iter().filter_map(|(_, object, _)| Some((object.path.clone()?, object.id.clone()))).collect();
    objects.into_iter().skip(1).for_each(|(_, object, _)| model.insert(object));
    // Members of Zarr groups without stored ids are linked by their name.
    for (parent, name, id, created) in implied {
        if let Some(group) = by_path.get(&parent).and_then(|parent| model.get_mut(parent)) {
            let link = json!({"class": "H5L_TYPE_HARD", "id": id, "created": created});
            group.links.entry(name).or_insert(link);
        }
    }
    Ok(model)
}

/// Reads a node like any Zarr node.
fn unmarked(domain: &Domain, number: usize) -> Answer<Object> {
    let node = node(domain, number)?;
    let mut json = described(domain, number, Include::ALL)?;
    let mut map = |name: &str| match json.remove(name) {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    let attributes = map("attributes");
    let mut metadata = Map::new();
    for name in ["type", "shape", "creationProperties"] {
        if let Some(value) = json.get(name) {
            metadata.insert(name.to_owned(), value.clone());
        }
    }
    Ok(Object {
        id: domain.ids.get(number).to_owned(),
        collection: if node.is_array { Collection::Datasets } else { Collection::Groups },
        created: domain.time,
        modified: domain.time,
        metadata,
        attributes,
        links: Map::new(),
        path: Some(node.path.clone()),
        marked: false,
    })
}

/// Reads a node with a stored HDF5 description.
fn marked(
    domain: &Domain,
    number: usize,
    document: &Map<String, Value>,
    marker: &Map<String, Value>,
) -> Answer<Object> {
    let node = node(domain, number)?;
    let id = marker.get("id").and_then(Value::as_str).unwrap_or(domain.ids.get(number)).to_owned();
    let time = |name: &str| marker.get(name).and_then(Value::as_f64).unwrap_or(domain.time);
    let links = marker.get("links").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut metadata = Map::new();
    for name in ["type", "creationProperties"] {
        if let Some(value) = marker.get(name) {
            metadata.insert(name.to_owned(), value.clone());
        }
    }
    if node.is_array {
        let mut shape = marker.get("shape").cloned().unwrap_or_else(|| json!({"class": "H5S_SIMPLE"}));
        if shape.get("class").and_then(Value::as_str) == Some("H5S_SIMPLE") {
            shape["dims"] = document.get("shape").cloned().unwrap_or_default();
        }
        metadata.insert("shape".to_owned(), shape);
    }
    Ok(Object {
        collection: ids::collection(&id).unwrap_or(Collection::Groups),
        id,
        created: time("created"),
        modified: time("lastModified"),
        metadata,
        attributes: typed(domain, document, marker),
        links,
        path: Some(node.path.clone()),
        marked: true,
    })
}

/// Attributes with recorded types; attributes that other programs added are read as in any Zarr node.
fn typed(domain: &Domain, document: &Map<String, Value>, marker: &Map<String, Value>) -> Map<String, Value> {
    let values = document.get("attributes").and_then(Value::as_object);
    let mut found = Map::new();
    for (name, kept) in marker.get("attributes").and_then(Value::as_object).into_iter().flatten() {
        let mut attribute = kept.clone();
        if let (Some(value), None) = (values.and_then(|values| values.get(name)), kept.get("value")) {
            attribute["value"] = value.clone();
        }
        let is_null = kept.pointer("/shape/class").and_then(Value::as_str) == Some("H5S_NULL");
        // Other programs may have removed it.
        if attribute.get("value").is_some() || is_null {
            found.insert(name.clone(), attribute);
        }
    }
    for (name, attribute) in attributes(document, None) {
        if !found.contains_key(&name) {
            found.insert(name, attribute.json(domain.time));
        }
    }
    found
}
