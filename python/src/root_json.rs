//! Descriptions of trees and ntuples as JSON, written without values in between: thousands of branches take a millisecond.

use icecore::grid::{Error, ErrorKind, Result};
use icecore_root::ntuple::NTuple;
use icecore_root::{Branch, DType, Interpretation, Part, PartKind, Tree};
use serde::Serialize;

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Kind<'a> {
    Flat {
        dtype: &'static str,
        shape: &'a [u64],
    },
    Record {
        fields: Vec<(&'a str, &'static str, &'a [u64])>,
    },
    Jagged {
        dtype: &'static str,
        shape: &'a [u64],
        skip: usize,
        counter: Option<&'a str>,
    },
    String,
    Nested,
    Unsupported {
        #[serde(rename = "type")]
        name: &'a str,
    },
    Group,
}

#[derive(Serialize)]
struct BranchAbout<'a> {
    #[serde(flatten)]
    kind: Kind<'a>,
    path: &'a str,
    title: &'a str,
    embedded: usize,
    entries: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<&'a str>,
    baskets: [usize; 2],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parts: Vec<PartAbout>,
}

/// Path below the branch, kind (a dtype, `text`, `lists`, `record` or `tuple`), and shape of an element.
type PartAbout = (String, &'static str, Vec<u64>);

#[derive(Serialize)]
struct TreeAbout<'a> {
    title: &'a str,
    entries: u64,
    branches: Vec<BranchAbout<'a>>,
}

/// Title, entries and branches of a tree; each branch has `baskets` = [from, to] among all baskets.
pub fn tree(tree: &Tree) -> Result<String> {
    let mut start = 0;
    let branches = tree.branches.iter().map(|branch| {
        let baskets = [start, start + branch.baskets.len()];
        start += branch.baskets.len();
        BranchAbout {
            kind: kind(branch),
            path: &branch.path,
            title: &branch.title,
            embedded: branch.embedded.len(),
            entries: branch.entries,
            file: &branch.file_name,
            damage: branch.damage.as_ref().map(|error| &*error.message),
            baskets,
            parts: parts(branch),
        }
    });
    text(&TreeAbout { title: &tree.title, entries: tree.entries, branches: branches.collect() })
}

/// The arrays of a branch that is decoded entry by entry.
fn parts(branch: &Branch) -> Vec<PartAbout> {
    let found = branch.form.iter().flat_map(|form| form.column().parts());
    let about = |part: Part| match part.kind {
        PartKind::Numbers { dtype, shape } => (part.path, dtype.name(), shape),
        PartKind::Text => (part.path, "text", Vec::new()),
        PartKind::Lists => (part.path, "lists", Vec::new()),
        PartKind::Record { tuple } => (part.path, if tuple { "tuple" } else { "record" }, Vec::new()),
    };
    found.map(about).collect()
}

fn kind(branch: &Branch) -> Kind<'_> {
    match &branch.interpretation {
        Interpretation::Flat { dtype, shape } => Kind::Flat { dtype: dtype.name(), shape },
        Interpretation::Record { fields, .. } => {
            Kind::Record { fields: fields.iter().map(|f| (&*f.name, f.dtype.name(), &*f.shape)).collect() }
        }
        Interpretation::Jagged { dtype, inner_shape, skip, counter } => {
            Kind::Jagged { dtype: dtype.name(), shape: inner_shape, skip: *skip, counter: counter.as_deref() }
        }
        Interpretation::String { .. } => Kind::String,
        Interpretation::Nested => Kind::Nested,
        Interpretation::Unsupported(name) => Kind::Unsupported { name },
        _ => Kind::Group,
    }
}

#[derive(Serialize)]
struct FieldAbout<'a> {
    name: &'a str,
    r#type: &'a str,
    description: &'a str,
    parent: Option<usize>,
    role: String,
    repetition: Option<u64>,
    source: Option<usize>,
}

/// The part of a column in a cluster: first element, elements, from page, to page.
type InCluster = (Option<u64>, u64, usize, usize);

#[derive(Serialize)]
struct ColumnAbout {
    field: usize,
    r#type: &'static str,
    bits: u16,
    range: Option<(f64, f64)>,
    dtype: Option<&'static str>,
    index: bool,
    representation: u16,
    first: Option<u64>,
    clusters: Vec<Option<InCluster>>,
}

#[derive(Serialize)]
struct NTupleAbout<'a> {
    description: &'a str,
    entries: u64,
    fields: Vec<FieldAbout<'a>>,
    columns: Vec<ColumnAbout>,
    aliases: Vec<[usize; 2]>,
    clusters: Vec<[u64; 2]>,
}

/// Description, entries, fields, columns, aliases and clusters of an ntuple.
pub fn ntuple(ntuple: &NTuple) -> Result<String> {
    let fields = ntuple.fields.iter().map(|f| FieldAbout {
        name: &f.name,
        r#type: &f.type_name,
        description: &f.description,
        parent: f.parent,
        role: format!("{:?}", f.role),
        repetition: f.repetition,
        source: f.source,
    });
    text(&NTupleAbout {
        description: &ntuple.description,
        entries: ntuple.entries,
        fields: fields.collect(),
        columns: columns(ntuple),
        aliases: ntuple.aliases.iter().map(|a| [a.column, a.field]).collect(),
        clusters: ntuple.clusters.iter().map(|c| [c.first_entry, c.entries]).collect(),
    })
}

fn columns(ntuple: &NTuple) -> Vec<ColumnAbout> {
    let clusters = |id: usize| {
        let listed = ntuple.clusters.iter().map(move |cluster| cluster.columns.get(id));
        listed.map(|c| c.map(|c| (c.first_element, c.elements, c.pages.start, c.pages.end))).collect()
    };
    let columns = ntuple.columns.iter().enumerate().map(|(id, column)| ColumnAbout {
        field: column.field,
        r#type: column.kind.name(),
        bits: column.bits,
        range: column.range,
        dtype: column.kind.dtype().map(DType::name),
        index: column.kind.is_index(),
        representation: column.representation,
        first: column.first_element,
        clusters: clusters(id),
    });
    columns.collect()
}

fn text<T: Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::new(ErrorKind::Internal, format!("description: {error}")))
}
