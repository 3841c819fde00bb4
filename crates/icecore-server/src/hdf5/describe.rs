//! Describe a Zarr node as an HDF5 object in JSON.

use icecore::session::Node;
use serde_json::{Map, Value, json};

use super::attributes::{Attribute, attributes};
use super::translate::Dataset;
use crate::domains::file_objects::Other;
use crate::domains::{Collection, Domain, Include};
use crate::http::error::{Answer, Failure};
use crate::http::private::hidden;

/// The node with this number.
pub(crate) fn node(domain: &Domain, number: usize) -> Answer<&Node> {
    let found = domain.session.tree().node(number);
    found.ok_or_else(|| Failure::missing("the object has been deleted", "open the domain again"))
}

/// An object as JSON.
pub(crate) fn described(domain: &Domain, number: usize, include: Include) -> Answer<Map<String, Value>> {
    let node = node(domain, number)?;
    let mut object = Map::new();
    let mut set = |name: &str, value: Value| object.insert(name.to_owned(), value);
    set("id", json!(domain.ids.get(number)));
    set("root", json!(domain.ids.root()));
    set("created", json!(domain.time));
    set("lastModified", json!(domain.time));
    set("domain", json!(domain.name));
    let found = if node.is_array {
        match Dataset::open(domain, node) {
            Ok(dataset) => {
                let properties = dataset.properties();
                set("type", dataset.kind());
                set("shape", dataset.shape());
                set("layout", properties["layout"].clone());
                set("creationProperties", properties);
                dataset.attributes()
            }
            // An array that cannot be read must not hide the others: it is listed without elements.
            Err(error) => {
                set("type", json!({"class": "H5T_INTEGER", "base": "H5T_STD_I8LE"}));
                set("shape", json!({"class": "H5S_NULL"}));
                set("creationProperties", json!({"layout": {"class": "H5D_CONTIGUOUS"}, "filters": []}));
                let text = json!({"attributes": {"icecore_error": hidden(&error.message)}});
                text.as_object().map(|document| attributes(document, None)).unwrap_or_default()
            }
        }
    } else {
        let beyond = domain.file_objects()?.and_then(|all| all.node(number));
        set("linkCount", json!(beyond.map_or(node.children.len(), |own| own.links.len())));
        if include.links {
            set("links", beyond.map_or_else(|| links(domain, node), |own| own.links.clone().into()));
        }
        attributes(&domain.session.document(node)?, None)
    };
    let beyond = domain.file_objects()?.and_then(|all| all.node(number));
    set("attributeCount", json!(beyond.map_or(found.len(), |own| own.attributes.len())));
    if let Some(left_out) = beyond.map(|own| &own.left_out).filter(|left_out| !left_out.is_null()) {
        set("left_out", left_out.clone());
    }
    if include.attributes {
        set("attributes", beyond.map_or_else(|| by_name(domain, &found), |own| own.attributes.clone().into()));
    }
    if include.path {
        set("alias", json!([node.path]));
    }
    Ok(object)
}

/// An object of a file that its index does not hold, as JSON.
pub(crate) fn other(domain: &Domain, object: &Other, include: Include) -> Map<String, Value> {
    let mut out = object.metadata.clone();
    let mut set = |name: &str, value: Value| out.insert(name.to_owned(), value);
    set("id", json!(object.id));
    set("root", json!(domain.ids.root()));
    set("created", json!(domain.time));
    set("lastModified", json!(domain.time));
    set("domain", json!(domain.name));
    set("attributeCount", json!(object.described.attributes.len()));
    if object.collection == Collection::Datasets {
        set("layout", json!({"class": "H5D_CONTIGUOUS"}));
        set("creationProperties", json!({"layout": {"class": "H5D_CONTIGUOUS"}, "filters": []}));
        set("left_out", json!(object.why));
    }
    if object.collection == Collection::Groups {
        set("linkCount", json!(object.described.links.len()));
        if include.links {
            set("links", object.described.links.clone().into());
        }
    }
    if include.attributes {
        set("attributes", object.described.attributes.clone().into());
    }
    if include.path {
        set("alias", json!([object.path]));
    }
    out
}

/// Attributes by name.
pub(crate) fn by_name(domain: &Domain, found: &[(String, Attribute)]) -> Value {
    found.iter().map(|(name, attribute)| (name.clone(), attribute.json(domain.time))).collect::<Map<_, _>>().into()
}

/// The link to a member of a Zarr group.
pub(crate) fn hard(domain: &Domain, number: usize) -> Value {
    json!({"class": "H5L_TYPE_HARD", "id": domain.ids.get(number), "created": domain.time})
}

fn links(domain: &Domain, node: &Node) -> Value {
    let members = domain.session.tree().children(node);
    members.map(|(number, child)| (child.name().to_owned(), hard(domain, number))).collect::<Map<_, _>>().into()
}
