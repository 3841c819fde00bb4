//! Describe a Zarr node as an HDF5 object in JSON.

use icecore::session::Node;
use serde_json::{Map, Value, json};

use super::attributes::{Attribute, attributes};
use super::translate::Dataset;
use crate::domains::{Domain, Include};
use crate::error::{Answer, Failure};
use crate::private::hidden;

/// The node with this number.
pub(super) fn node(domain: &Domain, number: usize) -> Answer<&Node> {
    let found = domain.session.tree().node(number);
    found.ok_or_else(|| Failure::missing("the object has been deleted", "open the domain again"))
}

/// An object as JSON.
pub(super) fn described(domain: &Domain, number: usize, include: Include) -> Answer<Map<String, Value>> {
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
        set("linkCount", json!(node.children.len()));
        if include.links {
            set("links", links(domain, node));
        }
        attributes(&domain.session.document(node)?, None)
    };
    set("attributeCount", json!(found.len()));
    if include.attributes {
        set("attributes", by_name(domain, &found));
    }
    if include.path {
        set("alias", json!([node.path]));
    }
    Ok(object)
}

/// Attributes by name.
pub(super) fn by_name(domain: &Domain, found: &[(String, Attribute)]) -> Value {
    found.iter().map(|(name, attribute)| (name.clone(), attribute.json(domain.time))).collect::<Map<_, _>>().into()
}

/// The link to a member of a Zarr group.
pub(super) fn hard(domain: &Domain, number: usize) -> Value {
    json!({"class": "H5L_TYPE_HARD", "id": domain.ids.get(number), "created": domain.time})
}

fn links(domain: &Domain, node: &Node) -> Value {
    let members = domain.session.tree().children(node);
    members.map(|(number, child)| (child.name().to_owned(), hard(domain, number))).collect::<Map<_, _>>().into()
}
