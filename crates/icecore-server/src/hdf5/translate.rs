//! Describe an array as an HDF5 dataset: its type, shape and derived attributes.

use std::sync::Arc;

use icecore::chunk::DType;
use icecore::grid::Result;
use icecore::read::ArrayView;
use icecore::session::Node;
use serde_json::{Map, Value, json};

use super::attributes::{Attribute, attributes, own};
use super::layout;
use super::types::H5Type;
use super::types_parse::{self, parse};
use crate::domains::{Domain, Object};

/// A dataset.
pub(crate) struct Dataset {
    pub view: Arc<ArrayView>,
    pub h5: H5Type,
    pub big: bool,
    document: Map<String, Value>,
    object: Option<Arc<Object>>,
}

impl Dataset {
    pub fn open(domain: &Domain, node: &Node) -> Result<Self> {
        let view = domain.session.array(&node.path)?;
        let document = domain.session.document(node)?;
        let stored = document.get("attributes").and_then(Value::as_object).cloned().unwrap_or_default();
        let h5 = H5Type::of(&view.meta().dtype, &stored, &own(&document));
        let big = layout::is_big(view.meta());
        Ok(Self { view, h5, big, document, object: None })
    }

    /// The dataset of an object with a stored HDF5 description.
    pub fn of(domain: &Domain, object: &Arc<Object>) -> Result<Self> {
        let path = object.path.as_deref().unwrap_or_default();
        let node = Node { path: path.to_owned(), is_array: true, children: Vec::new() };
        let mut dataset = Self::open(domain, &node)?;
        if let Some(kind) = object.metadata.get("type").filter(|_| object.marked) {
            let parsed = parse(kind)?;
            // Arrays that existed before HDF5 clients wrote to them may store strings in other forms.
            let dtype = &dataset.view.meta().dtype;
            let is_alike = parsed.h5.size() == dtype.size() && types_parse::has_variable(&parsed.h5) == dtype.is_vlen();
            if is_alike && !matches!(dataset.h5, H5Type::Utf32(_)) {
                (dataset.h5, dataset.big) = (parsed.h5, parsed.big);
            }
        }
        dataset.object = Some(Arc::clone(object));
        Ok(dataset)
    }

    pub fn kind(&self) -> Value {
        self.h5.json(self.big)
    }

    /// The dataspace; 0 is this API's maximum for an unlimited axis.
    pub fn shape(&self) -> Value {
        let shape = &self.view.meta().shape;
        if shape.is_empty() {
            return json!({"class": "H5S_SCALAR"});
        }
        let own = own(&self.document);
        let unlimited: Vec<u64> =
            own.get("unlimited").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64).collect();
        let limit = |(axis, len): (u64, &u64)| if unlimited.contains(&axis) { 0 } else { *len };
        let limits: Vec<u64> = (0..).zip(shape).map(limit).collect();
        json!({"class": "H5S_SIMPLE", "dims": shape, "maxdims": limits})
    }

    pub fn properties(&self) -> Value {
        layout::properties(&self.view, &self.h5)
    }

    /// The attributes; times stored as counts get a unit, because HDF5 has no type for them.
    pub fn attributes(&self) -> Vec<(String, Attribute)> {
        let mut found = attributes(&self.document, Some(&self.h5));
        let units = units(&self.view.meta().dtype);
        if let (Some(units), false) = (units, found.iter().any(|(name, _)| name == "units")) {
            let text = json!({"attributes": {"units": units}});
            found.extend(text.as_object().map(|document| attributes(document, None)).unwrap_or_default());
        }
        found
    }
}

fn units(dtype: &DType) -> Option<String> {
    let (unit, scale, since) = match dtype {
        DType::DateTime64 { unit, scale } => (unit, scale, " since 1970-01-01"),
        DType::TimeDelta64 { unit, scale } => (unit, scale, ""),
        _ => return None,
    };
    let name = match unit.as_str() {
        "ns" => "nanoseconds",
        "us" => "microseconds",
        "ms" => "milliseconds",
        "s" => "seconds",
        "m" => "minutes",
        "h" => "hours",
        "D" => "days",
        "W" => "weeks",
        "M" => "months",
        "Y" => "years",
        other => other,
    };
    Some(if *scale == 1 { format!("{name}{since}") } else { format!("{scale} {name}{since}") })
}
