//! Objects of requests: Zarr nodes, or objects with a stored HDF5 description.

use std::sync::Arc;

use icecore::grid::{Error, ErrorKind, Result};
use serde_json::{Map, Value};

use super::describe::{described, hard, node, other};
use super::load;
use super::translate::Dataset;
use crate::domains::file_objects::{FileObjects, Other};
use crate::domains::{Collection, Domain, Include, Model, Object, ids};
use crate::http::error::Answer;

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
pub(crate) enum Found {
    Node(usize),
    Object(Arc<Object>),
    /// An object of a file that its index does not hold.
    Other(Arc<FileObjects>, String),
}

impl Found {
    pub fn new(domain: &Domain, collection: Collection, id: &str) -> Answer<Self> {
        Ok(match model(domain)? {
            Some(model) => Self::Object(Arc::clone(model.object(collection, id)?)),
            None => match domain.file_objects()?.filter(|all| is_other(all, collection, id)) {
                Some(all) => Self::Other(Arc::clone(all), id.to_owned()),
                None => Self::Node(domain.object(collection, id)?),
            },
        })
    }

    pub fn json(&self, domain: &Domain, include: Include) -> Answer<Map<String, Value>> {
        match self {
            Self::Node(number) => described(domain, *number, include),
            Self::Other(all, id) => Ok(other(domain, beyond(all, id)?, include)),
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
            Self::Node(number) => match links_of_file(domain, *number) {
                Some(links) => links.keys().map(String::as_str).collect(),
                None => tree
                    .node(*number)
                    .into_iter()
                    .flat_map(|node| tree.children(node))
                    .map(|(_, child)| child.name())
                    .collect(),
            },
            Self::Other(all, id) => {
                all.other(id).into_iter().flat_map(|each| each.described.links.keys()).map(String::as_str).collect()
            }
            Self::Object(object) => object.links.keys().map(String::as_str).collect(),
        }
    }

    /// A link of a group.
    pub fn link(&self, domain: &Domain, title: &str) -> Option<Value> {
        match self {
            Self::Node(number) if links_of_file(domain, *number).is_some() => {
                links_of_file(domain, *number)?.get(title).cloned()
            }
            Self::Other(all, id) => all.other(id)?.described.links.get(title).cloned(),
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
            Self::Other(all, id) => return Err(unread(beyond(all, id)?).into()),
        })
    }
}

/// The links of a group as its file has them.
fn links_of_file(domain: &Domain, number: usize) -> Option<&Map<String, Value>> {
    Some(&domain.file_objects().ok()??.node(number)?.links)
}

fn is_other(all: &FileObjects, collection: Collection, id: &str) -> bool {
    all.other(id).is_some_and(|other| other.collection == collection)
}

fn beyond<'a>(all: &'a FileObjects, id: &str) -> Result<&'a Other> {
    all.other(id).ok_or_else(|| ids::unknown(id))
}

fn unread(object: &Other) -> Error {
    Error::new(ErrorKind::Unsupported, format!("the values of {} are not served: {}", object.path, object.why))
        .hint("read them from the file with h5py")
}

/// The id of the root group.
pub(crate) fn root(domain: &Domain) -> &str {
    domain.model.get().map_or(domain.ids.root(), |model| &model.root)
}
