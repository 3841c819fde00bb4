//! A writer's groups and arrays: create, change, delete.

use bytes::Bytes;
use icechunk::format::snapshot::{NodeData, NodeSnapshot};
use icecore_grid::{Error, ErrorKind, Result};
use serde_json::{Map, Value};

use crate::error;
use crate::nodes::node::{self, HIDDEN_GROUP, Node};
use crate::nodes::shape::outline;
use crate::open::writer::{Writer, list, writable};
use crate::runtime::run;

impl Writer {
    /// Creates a group with these attributes, and its missing parents. If the group exists, equal or empty attributes
    /// leave it unchanged, and a group without attributes receives them.
    ///
    /// # Errors
    /// Exists if the path is an array, or a group with other attributes; Invalid for a bad path.
    pub fn add_group(&self, path: &str, attributes: &Value) -> Result<()> {
        let attributes = node::checked(attributes)?;
        writable(path)?;
        let mut pending = self.begin()?;
        let known = match pending.groups.get(path) {
            Some(known) => Some(known.clone()),
            None => self.find(path)?.map(|node| group_attributes(path, &node)).transpose()?,
        };
        match known {
            Some(known) if attributes.is_empty() || known == *attributes => return Ok(()),
            Some(known) if !known.is_empty() => {
                let message = format!("the group {path} exists already, with other attributes");
                return Err(
                    Error::new(ErrorKind::Exists, message).hint("change them with set_attributes, or use another path")
                );
            }
            Some(_) if !pending.groups.contains_key(path) => return self.replace_attributes(path, attributes.clone()),
            None => self.refuse_arrays_above(path)?,
            Some(_) => {}
        }
        pending.groups.insert(path.to_owned(), attributes.clone());
        Ok(())
    }

    /// Creates an array, and its missing parent groups.
    ///
    /// # Errors
    /// Exists; Format or Unsupported if the metadata document is not one of a Zarr v3 array.
    pub fn add_array(&self, path: &str, zarr_json: &[u8]) -> Result<()> {
        writable(path)?;
        let (outline, at) = (outline(path, zarr_json)?, node::path(path)?);
        let pending = self.begin()?;
        if pending.groups.contains_key(path) {
            return Err(Error::new(ErrorKind::Exists, format!("{path} exists already, as a group")));
        }
        self.refuse_arrays_above(path)?;
        let document = Bytes::copy_from_slice(zarr_json);
        run(async {
            self.session
                .write()
                .await
                .add_array(at, outline.shape, outline.names, document)
                .await
                .map_err(error::session)
        })
    }

    /// Replaces an array's metadata document, to resize it or change its attributes. Chunks that still fit stay.
    ///
    /// # Errors
    /// NotFound; Mismatch for a group or another number of dimensions; Format.
    pub fn update_array(&self, path: &str, zarr_json: &[u8]) -> Result<()> {
        writable(path)?;
        let (outline, at) = (outline(path, zarr_json)?, node::path(path)?);
        let mut pending = self.begin()?;
        pending.touched.insert(path.to_owned());
        run(async {
            let mut session = self.session.write().await;
            if let NodeData::Array { shape, .. } = session.get_array(&at).await.map_err(error::session)?.node_data
                && shape.len() != outline.shape.len()
            {
                let message =
                    format!("{path} has {} dimensions, the new metadata {}", shape.len(), outline.shape.len());
                return Err(Error::new(ErrorKind::Mismatch, message));
            }
            session
                .update_array(&at, outline.shape, outline.names, Bytes::copy_from_slice(zarr_json))
                .await
                .map_err(error::session)
        })
    }

    /// Replaces the attributes of a group or array.
    ///
    /// # Errors
    /// `not-found`; `invalid` if `attributes` is not a JSON object.
    pub fn set_attributes(&self, path: &str, attributes: &Value) -> Result<()> {
        let attributes = node::checked(attributes)?;
        writable(path)?;
        let mut pending = self.begin()?;
        if let Some(group) = pending.groups.get_mut(path) {
            group.clone_from(attributes);
            return Ok(());
        }
        self.replace_attributes(path, attributes.clone())
    }

    fn replace_attributes(&self, path: &str, attributes: Map<String, Value>) -> Result<()> {
        let at = node::path(path)?;
        let found =
            self.find(path)?.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("{path} does not exist")))?;
        let document = node::with_attributes(path, &found.user_data, attributes)?;
        run(async {
            let mut session = self.session.write().await;
            match found.node_data {
                NodeData::Group => session.update_group(&at, document).await,
                NodeData::Array { shape, dimension_names, .. } => {
                    session.update_array(&at, shape, dimension_names, document).await
                }
            }
            .map_err(error::session)
        })
    }

    /// Deletes an array, or a group with everything below it; `/` deletes all data.
    ///
    /// # Errors
    /// NotFound.
    pub fn delete(&self, path: &str) -> Result<()> {
        writable(path)?;
        let mut pending = self.begin()?;
        let prepared = pending.groups.len();
        pending.groups.retain(|group, _| !node::is_within(group, path));
        let is_prepared = pending.groups.len() < prepared;
        run(async {
            let mut session = self.session.write().await;
            let nodes = list(&session).await?;
            let doomed: Vec<&NodeSnapshot> = nodes
                .iter()
                .filter(|n| node::is_within(n.path.as_str(), path) && n.path.as_str() != HIDDEN_GROUP)
                .collect();
            if doomed.is_empty() && !is_prepared {
                return Err(Error::new(ErrorKind::NotFound, format!("{path} does not exist")));
            }
            for node in doomed.iter().filter(|n| matches!(n.node_data, NodeData::Array { .. })) {
                session.delete_array(node.path.clone()).await.map_err(error::session)?;
            }
            // Groups from the leaves up; the root group stays, because every repository has one.
            let mut groups: Vec<_> = doomed
                .iter()
                .filter(|n| n.node_data == NodeData::Group && n.path.as_str() != "/")
                .map(|n| n.path.clone())
                .collect();
            groups.sort_by_key(|path| std::cmp::Reverse(path.as_str().len()));
            for group in groups {
                session.delete_group(group).await.map_err(error::session)?;
            }
            Ok(())
        })
    }

    /// Whether a node exists at this path, including uncommitted nodes.
    ///
    /// # Errors
    /// Invalid for a bad path; the errors of reading the repository.
    pub fn exists(&self, path: &str) -> Result<bool> {
        let pending = self.begin()?;
        Ok(pending.groups.keys().any(|group| node::is_within(group, path)) || self.find(path)?.is_some())
    }

    /// All nodes that a commit would store now, sorted by path.
    ///
    /// # Errors
    /// The errors of reading the repository.
    pub fn nodes(&self) -> Result<Vec<Node>> {
        let pending = self.begin()?;
        self.all_nodes(&pending)
    }

    fn refuse_arrays_above(&self, path: &str) -> Result<()> {
        for parent in node::parents(path) {
            if self.find(parent)?.is_some_and(|n| n.node_data != NodeData::Group) {
                return Err(Error::new(ErrorKind::Exists, format!("cannot create {path}: {parent} is an array"))
                    .hint("use another path, or delete the array first"));
            }
        }
        Ok(())
    }
}

fn group_attributes(path: &str, node: &NodeSnapshot) -> Result<Map<String, Value>> {
    match node.node_data {
        NodeData::Group => Ok(node::attributes(&node.user_data)),
        NodeData::Array { .. } => Err(Error::new(ErrorKind::Exists, format!("{path} exists already, as an array"))),
    }
}
