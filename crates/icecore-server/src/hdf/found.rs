//! Objects of requests: Zarr nodes, or objects with a stored HDF5 description.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::describe::{described, hard, node};
use super::load;
use super::translate::Dataset;
use crate::domains::{Collection, Domain, Include, Model, Object, ids};
use crate::error::Answer;

/// The model of a domain whose objects have stored ids; None for one that is read as plain Zarr.
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
            Self::Object(object) => match model(domain)? {
                Some(model) => Ok(object.json(model, &domain.name, include)),
                None => Err(ids::unknown(&object.id).into()),
            },
        }
    }

    /// The titles of a group's links; members of a Zarr group by name, links of a stored object in the order of creation.
    pub fn titles<'a>(&'a self, domain: &'a Domain) -> Vec<&'a str> {
        let tree = domain.session.tree();
        match self {
            Self::Node(number) => tree
                .node(*number)
                .into_iter()
                .flat_map(|node| tree.children(node))
                .map(|(_, child)| child.name())
                .collect(),
            Self::Object(object) => object.links.keys().map(String::as_str).collect(),
        }
    }

    /// A link of a group.
    pub fn link(&self, domain: &Domain, title: &str) -> Option<Value> {
        match self {
            Self::Node(number) => {
                let tree = domain.session.tree();
                let group = tree.node(*number).filter(|node| !node.is_array)?;
                let child = tree.find(&format!("{}/{title}", group.path.trim_end_matches('/')))?;
                (!title.is_empty() && !title.contains('/')).then(|| hard(domain, child))
            }
            Self::Object(object) => object.links.get(title).cloned(),
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
