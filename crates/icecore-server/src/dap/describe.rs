//! Describe a domain in the protocols' data model. The description belongs to the version and is made once.

use std::collections::HashMap;
use std::sync::Arc;

use icecore::cancel;
use icecore::chunk::DType;
use icecore::grid::Result;
use icecore::read::ArrayView;
use icecore::session::{Node, Picks};
use serde_json::Value;

use super::attribute::{Attributes, exact, exact_unsigned};
use super::model::{Axis, Dataset, Group, Kind, Variable};
use crate::domains::{Domain, Object, UNPLACED};
use crate::hdf5::attributes::own;
use crate::hdf5::found::model;
use crate::hdf5::translate;
use crate::hdf5::types::H5Type;
use crate::http::error::Answer;
use crate::http::private::hidden;

/// Maximum number of elements that are read to find whether 64-bit integers fit into a narrower type, and how long texts
/// are: of an array, and of a domain.
const READ: u64 = 1 << 20;
const READ_IN_ALL: u64 = 16 << 20;

/// Maximum length of a text that is sent as one string.
const LONGEST: u64 = 1 << 20;

/// Maximum depth of groups: documents are written by recursion.
const DEEPEST: usize = 64;

const KEY: &str = "dap";

/// The description of a domain.
pub(super) fn described(domain: &Domain) -> Answer<Arc<Dataset>> {
    if let Some(known) = domain.datasets.get(KEY) {
        return Ok(known);
    }
    let objects: HashMap<&str, &Arc<Object>> = match model(domain)? {
        Some(model) => model.objects().filter_map(|each| Some((each.path.as_deref()?, each))).collect(),
        None => HashMap::new(),
    };
    let mut describing = Describing { domain, objects, dataset: Dataset::default(), left: READ_IN_ALL };
    describing.all()?;
    let dataset = describing.dataset;
    Ok(domain.datasets.put(KEY, dataset))
}

struct Describing<'a> {
    domain: &'a Domain,
    objects: HashMap<&'a str, &'a Arc<Object>>,
    dataset: Dataset,
    /// Elements that may still be read.
    left: u64,
}

impl Describing<'_> {
    fn all(&mut self) -> Answer<()> {
        let attributes = self.attributes(0, "/", None)?;
        self.dataset = Dataset::new(&self.domain.name, attributes.found);
        if let Some(root) = self.dataset.groups.first_mut() {
            root.is_table = self.domain.session.node("/").is_ok_and(|node| is_table(self.domain, node));
        }
        for (name, why) in attributes.left_out {
            self.dataset.leave_out(0, &name, why);
        }
        // (node, group, depth), the next one last.
        let mut open: Vec<(usize, usize, usize)> = vec![(0, 0, 0)];
        let tree = self.domain.session.tree();
        while let Some((number, group, depth)) = open.pop() {
            cancel::check()?;
            let Some(node) = tree.node(number) else { continue };
            let mut groups = Vec::new();
            for (child, node) in tree.children(node).filter(|(_, node)| node.path != UNPLACED) {
                if node.is_array {
                    self.array(child, node, group)?;
                    continue;
                }
                if depth == DEEPEST {
                    let why = format!("groups in more than {DEEPEST} others are not served by this protocol");
                    self.dataset.leave_out(group, node.name(), why);
                    continue;
                }
                let attributes = self.attributes(child, &node.path, None)?;
                let (name, is_table) = (node.name().to_owned(), is_table(self.domain, node));
                let made = Group { name, attributes: attributes.found, is_table, ..Group::default() };
                let made = self.dataset.add_group(group, made);
                for (name, why) in attributes.left_out {
                    self.dataset.leave_out(made, &name, why);
                }
                groups.push((child, made, depth + 1));
            }
            open.extend(groups.into_iter().rev());
        }
        self.beyond()
    }

    /// Objects of a file without a node.
    fn beyond(&mut self) -> Answer<()> {
        for other in self.domain.file_objects()?.into_iter().flat_map(|all| all.others()) {
            if !other.why.is_empty() {
                self.dataset.leave_out(0, other.path.trim_start_matches('/'), hidden(&other.why));
            }
        }
        Ok(())
    }

    fn attributes(&self, number: usize, path: &str, dataset: Option<&translate::Dataset>) -> Result<Attributes> {
        match self.objects.get(path).filter(|object| object.marked) {
            Some(object) => Ok(Attributes::of_json(&object.attributes)),
            None => Attributes::of(self.domain, number, dataset),
        }
    }

    /// Adds an array. One that can't be described must not hide the others.
    fn array(&mut self, number: usize, node: &Node, group: usize) -> Answer<()> {
        let opened = match self.objects.get(node.path.as_str()) {
            Some(object) => translate::Dataset::of(self.domain, object),
            None => translate::Dataset::open(self.domain, node),
        };
        let dataset = match opened {
            Ok(dataset) => dataset,
            Err(error) => {
                cancel::check()?;
                self.dataset.leave_out(group, node.name(), hidden(&error.message));
                return Ok(());
            }
        };
        let meta = dataset.view.meta();
        let kind = match kind(&meta.dtype, &dataset.h5, meta.shape.len()) {
            Ok(kind) => kind,
            Err(why) => {
                self.dataset.leave_out(group, node.name(), why);
                return Ok(());
            }
        };
        let attributes = self.attributes(number, &node.path, Some(&dataset))?;
        let names = meta.dims.iter().cloned().chain(std::iter::repeat(None));
        let name = |name: Option<String>| name.filter(|name| !name.is_empty());
        let shape = dataset.shape();
        let most = shape.get("maxdims").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let is_unlimited = most.iter().map(|most| most.as_u64() == Some(0)).chain(std::iter::repeat(false));
        let axes = meta.shape.iter().zip(names).zip(is_unlimited).map(|((length, each), is_unlimited)| Axis {
            name: name(each),
            length: *length,
            is_unlimited,
        });
        let (kind2, longest) = self.kind2(&dataset.view, kind);
        // netCDF-C sends the sign as it is, in a URL that is then refused as a whole.
        let kind2 = kind2.filter(|_| !node.name().contains('"'));
        let members = match &dataset.h5 {
            H5Type::Enum { members, .. } => members.clone(),
            _ => Default::default(),
        };
        let variable = Variable {
            name: node.name().to_owned(),
            path: node.path.clone(),
            kind,
            kind2,
            axes: axes.collect(),
            attributes: attributes.found,
            members,
            longest,
        };
        for (name, why) in attributes.left_out {
            self.dataset.leave_out(group, &format!("{}: {name}", node.name()), why);
        }
        if variable.kind2.is_none() {
            let why = match node.name().contains('"') {
                true => "clients of DAP2 can't ask for a name with a quotation mark; read it by DAP4".to_owned(),
                false => format!("DAP2 has no type for its {} values; read it by DAP4", kind.dap4()),
            };
            self.dataset.leave_out(group, node.name(), why);
        }
        self.dataset.add_variable(group, variable);
        Ok(())
    }

    /// The type in DAP2, and the length of the longest text.
    fn kind2(&mut self, view: &Arc<ArrayView>, kind: Kind) -> (Option<Kind>, Option<u64>) {
        let meta = view.meta();
        let count = meta.shape.iter().fold(1_u64, |all, length| all.saturating_mul(*length));
        match kind {
            Kind::Opaque(_) => return (None, None),
            // Booleans are 0 and 1 in any reading of a byte.
            Kind::UInt8 if meta.dtype == DType::Bool && !meta.shape.is_empty() => return (Some(kind), None),
            Kind::Char => {
                let length = meta.shape.last().copied();
                return (
                    Some(Kind::Text).filter(|_| length.is_none_or(|length| (1..=LONGEST).contains(&length))),
                    length,
                );
            }
            Kind::Text => {
                if let DType::Bytes(length) = meta.dtype {
                    return (Some(kind), Some(length as u64));
                }
            }
            Kind::Int64 | Kind::UInt64 => {}
            other => return (other.widened(), None),
        }
        // Larger arrays are checked while they are sent.
        let unread = if kind == Kind::Text { (Some(kind), None) } else { (Some(Kind::Float64), None) };
        if count > READ || count > self.left {
            return unread;
        }
        self.left -= count;
        let Ok(values) = self.domain.session.read(view, &Picks::all(&meta.shape)) else { return unread };
        let words = values.bytes.as_chunks::<8>().0;
        match kind {
            Kind::Text => {
                let sizes = values.bytes.chunks_exact(values.dtype.size().max(1)).map(|each| length(&values, each));
                (Some(kind), Some(sizes.max().unwrap_or(0)))
            }
            Kind::UInt64 => {
                let numbers = || words.iter().map(|word| u64::from_ne_bytes(*word));
                (narrow(numbers().all(|n| n <= i32::MAX as u64), numbers().all(exact_unsigned)), None)
            }
            _ => {
                let numbers = || words.iter().map(|word| i64::from_ne_bytes(*word));
                (narrow(numbers().all(|n| i32::try_from(n).is_ok()), numbers().all(exact)), None)
            }
        }
    }
}

/// Whether a group's record says that it is a table.
fn is_table(domain: &Domain, node: &Node) -> bool {
    domain.session.document(node).is_ok_and(|document| own(&document).contains_key("table"))
}

fn length(values: &icecore::session::Values, element: &[u8]) -> u64 {
    match &values.dtype {
        DType::Utf32(_) => super::element::utf8(element).len() as u64,
        _ => values.resolve(element).map_or(0, |text| text.len() as u64),
    }
}

fn narrow(is_int: bool, is_exact: bool) -> Option<Kind> {
    match (is_int, is_exact) {
        (true, _) => Some(Kind::Int32),
        (false, true) => Some(Kind::Float64),
        (false, false) => None,
    }
}

/// The type of an array's elements; else why the protocols don't hold them.
fn kind(dtype: &DType, h5: &H5Type, axes: usize) -> std::result::Result<Kind, String> {
    if matches!(h5, H5Type::Vlen(_) | H5Type::Sent(_)) {
        return Err("elements of variable length are not served by this protocol".to_owned());
    }
    Ok(match dtype {
        DType::Bool | DType::UInt8 => Kind::UInt8,
        DType::Int8 => Kind::Int8,
        DType::Int16 => Kind::Int16,
        DType::UInt16 => Kind::UInt16,
        DType::Int32 => Kind::Int32,
        DType::UInt32 => Kind::UInt32,
        DType::Int64 | DType::DateTime64 { .. } | DType::TimeDelta64 { .. } => Kind::Int64,
        DType::UInt64 => Kind::UInt64,
        DType::Float16 | DType::Float32 => Kind::Float32,
        DType::Float64 => Kind::Float64,
        DType::Bytes(0) | DType::Utf32(0) | DType::Raw(0) => return Err("its elements have no bytes".to_owned()),
        DType::Bytes(1) if axes > 0 => Kind::Char,
        DType::Bytes(_) | DType::Utf32(_) | DType::VlenUtf8 => Kind::Text,
        DType::Raw(length) => Kind::Opaque(*length),
        DType::VlenBytes => return Err("bytes of variable length are not served by this protocol".to_owned()),
        DType::Complex64 | DType::Complex128 => {
            return Err("complex numbers are not served by this protocol".to_owned());
        }
        DType::Struct(_) => return Err("records are served as a table only if they have one axis".to_owned()),
    })
}
