//! The DDS: declarations of the variables of a DAP2 response.

use std::collections::HashMap;
use std::fmt::Write;

use icecore::session::Pick;

use super::model::{Axis, Dataset, Variable};
use super::project::{Item, Slab};

/// The declarations of a response's items.
pub(super) fn dds(dataset: &Dataset, items: &[Item]) -> String {
    let mut out = String::from("Dataset {\n");
    let names = Names::new(dataset);
    items.iter().for_each(|item| declare(&names, item, 1, &mut out));
    let name = dataset.name.rsplit('/').next().unwrap_or_default();
    // Clients show it as the file's name.
    let _ = writeln!(out, "}} {};", identifier(name).replace("%2E", "."));
    out
}

/// Names of dimensions. Clients know no dimensions of groups: a second length under one name gets a name of its own.
struct Names<'a> {
    dataset: &'a Dataset,
    /// The length that keeps a name: that of the outermost coordinate variable, or of the first variable.
    lengths: HashMap<&'a str, u64>,
}

impl<'a> Names<'a> {
    fn new(dataset: &'a Dataset) -> Self {
        let mut variables: Vec<&Variable> = dataset.variables.iter().collect();
        variables.sort_by_key(|variable| (!variable.is_coordinate(), variable.path.matches('/').count()));
        let mut lengths = HashMap::new();
        for axis in variables.iter().flat_map(|variable| &variable.axes) {
            if let Some(name) = &axis.name {
                lengths.entry(name.as_str()).or_insert(axis.length);
            }
        }
        Self { dataset, lengths }
    }

    fn of(&self, axis: &Axis) -> Option<String> {
        let name = axis.name.as_ref()?;
        let is_first = self.lengths.get(name.as_str()) == Some(&axis.length);
        Some(if is_first { identifier(name) } else { format!("{}_{}", identifier(name), axis.length) })
    }
}

fn declare(names: &Names<'_>, item: &Item, depth: usize, out: &mut String) {
    let dataset = names.dataset;
    let margin = "    ".repeat(depth);
    match item {
        Item::Array(slab) => array(names, slab, &margin, out),
        Item::Grid(slab, maps) => {
            let inner = "    ".repeat(depth + 1);
            let _ = writeln!(out, "{margin}Grid {{\n{margin}  Array:");
            array(names, slab, &inner, out);
            let _ = writeln!(out, "{margin}  Maps:");
            maps.iter().for_each(|map| array(names, map, &inner, out));
            let _ = writeln!(out, "{margin}}} {};", identifier(name(dataset, slab)));
        }
        Item::Sequence(rows) => {
            let inner = "    ".repeat(depth + 1);
            let _ = writeln!(out, "{margin}Sequence {{");
            for (number, kind) in &rows.columns {
                let name = dataset.variable(*number).map_or("", |variable| variable.name.as_str());
                let _ = writeln!(out, "{inner}{} {};", kind.dap2(), identifier(name));
            }
            let _ = writeln!(out, "{margin}}} {};", identifier(&rows.name));
        }
        Item::Structure(name, items) => {
            let _ = writeln!(out, "{margin}Structure {{");
            items.iter().for_each(|item| declare(names, item, depth + 1, out));
            let _ = writeln!(out, "{margin}}} {};", identifier(name));
        }
    }
}

fn name<'a>(dataset: &'a Dataset, slab: &Slab) -> &'a str {
    dataset.variable(slab.variable).map_or("", |variable| variable.name.as_str())
}

fn array(names: &Names<'_>, slab: &Slab, margin: &str, out: &mut String) {
    let Some(variable) = names.dataset.variable(slab.variable) else { return };
    let Some(kind) = variable.kind2 else { return };
    let _ = write!(out, "{margin}{} {}", kind.dap2(), identifier(&variable.name));
    for (axis, count) in variable.axes2().iter().zip(counts(variable, slab)) {
        let _ = match names.of(axis) {
            Some(name) => write!(out, "[{name} = {count}]"),
            None => write!(out, "[{count}]"),
        };
    }
    out.push_str(";\n");
}

/// Selected elements along each axis of DAP2.
pub(super) fn counts(variable: &Variable, slab: &Slab) -> Vec<u64> {
    slab.picks.axes.iter().take(variable.axes2().len()).map(Pick::count).collect()
}

/// A name as an identifier of DAP2: other signs than letters, digits, `_` and `-` are escaped.
pub(super) fn identifier(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'_' | b'-' => out.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}
