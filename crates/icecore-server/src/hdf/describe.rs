//! An object's metadata as JSON: of a Zarr node, or of an object that says what it is.

use std::sync::Arc;

use icecore::session::Node;
use serde_json::{Map, Value, json};

use super::attributes::{Attribute, attributes};
use super::load;
use super::translate::Dataset;
use crate::domains::{Collection, Domain, Include, Model, Object};
use crate::error::{Answer, Failure};

/// The model of a domain whose objects carry ids; none for one that is read as plain Zarr.
pub(crate) fn model(domain: &Domain) -> Answer<Option<&Arc<Model>>> {
    if let Some(model) = domain.model.get() {
        return Ok(Some(model));
    }
    if !domain.is_marked {
        return Ok(None);
    }
    let made = Arc::new(load::model(domain)?);
    Ok(Some(domain.model.get_or_init(|| made)))
}

/// An object that a request names.
pub(super) enum Found {
    Node(usize),
    Object(Arc<Object>),
}

impl Found {
    pub fn new(domain: &Domain, collection: Collection, id: &str) -> Answer<Self> {
        Ok(match model(domain)? {
            Some(model) => Self::Object(Arc::clone(model.object(collection, id)?)),
            None => Self::Node(domain.object(collection, id)?),
        })
    }

    pub fn json(&self, domain: &Domain, include: Include) -> Answer<Map<String, Value>> {
        match self {
            Self::Node(number) => described(domain, *number, include),
            Self::Object(object) => Ok(object.json(root(domain), &domain.name, include)),
        }
    }

    pub fn dataset(&self, domain: &Domain) -> Answer<Dataset> {
        Ok(match self {
            Self::Node(number) => Dataset::open(domain, node(domain, *number)?)?,
            Self::Object(object) => Dataset::of(domain, object)?,
        })
    }
}

/// The id of the root group.
pub(super) fn root(domain: &Domain) -> &str {
    domain.model.get().map_or(domain.ids.root(), |model| &model.root)
}

/// The node of a number.
pub(super) fn node(domain: &Domain, number: usize) -> Answer<&Node> {
    let found = domain.session.tree().node(number);
    found.ok_or_else(|| Failure::missing("the object is gone", "open the domain again"))
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
            // One array that cannot be read must not take the others along: it is there, without elements.
            Err(error) => {
                set("type", json!({"class": "H5T_INTEGER", "base": "H5T_STD_I8LE"}));
                set("shape", json!({"class": "H5S_NULL"}));
                set("creationProperties", json!({"layout": {"class": "H5D_CONTIGUOUS"}, "filters": []}));
                let text = json!({"attributes": {"icecore_error": error.message}});
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

fn links(domain: &Domain, node: &Node) -> Value {
    let members = domain.session.tree().children(node);
    let link = |(number, child): (usize, &Node)| {
        let link = json!({"class": "H5L_TYPE_HARD", "id": domain.ids.get(number), "created": domain.time});
        (child.name().to_owned(), link)
    };
    members.map(link).collect::<Map<_, _>>().into()
}
