//! The DAS: attributes of all variables of a dataset in DAP2.

use std::fmt::Write;

use super::attribute::{narrowed, spelled};
use super::dds::identifier;
use super::model::{Attribute, Axis, Dataset, Kind, Variable};

/// The document. It names what DAP2 does not hold in a container of its own.
pub(super) fn das(dataset: &Dataset) -> String {
    let mut out = String::from("Attributes {\n");
    members(dataset, 0, 1, &mut out);
    let root = dataset.group(0);
    if let Some(root) = root.filter(|root| !root.attributes.is_empty()) {
        open("NC_GLOBAL", 1, &mut out);
        root.attributes.iter().for_each(|each| attribute(each, None, 2, &mut out));
        close(1, &mut out);
    }
    if let Some(name) = record(dataset) {
        open("DODS_EXTRA", 1, &mut out);
        attribute(&Attribute::text("Unlimited_Dimension", name), None, 2, &mut out);
        close(1, &mut out);
    }
    let left_out: Vec<(String, &str)> = left_out(dataset);
    if !left_out.is_empty() {
        open("icecore_left_out", 1, &mut out);
        left_out.iter().for_each(|(name, why)| attribute(&Attribute::text(name, *why), None, 2, &mut out));
        close(1, &mut out);
    }
    out.push_str("}\n");
    out
}

/// Paths of objects that are not held, and why.
pub(super) fn left_out(dataset: &Dataset) -> Vec<(String, &str)> {
    let mut all = Vec::new();
    let mut open = vec![(0, String::new())];
    while let Some((number, path)) = open.pop() {
        let Some(group) = dataset.group(number) else { continue };
        all.extend(group.left_out.iter().map(|(name, why)| (format!("{path}{name}"), why.as_str())));
        let inner = group.groups.iter().rev().filter_map(|each| Some((*each, dataset.group(*each)?)));
        open.extend(inner.map(|(each, group)| (each, format!("{path}{}/", group.name))));
    }
    all
}

/// The unlimited dimension; DAP2's clients know at most one, by its name alone.
fn record(dataset: &Dataset) -> Option<&str> {
    let axes = || dataset.variables.iter().flat_map(|variable| &variable.axes);
    let first = axes().find(|axis| axis.is_unlimited && axis.name.is_some())?;
    let is_other = |axis: &&Axis| match axis.name == first.name {
        true => axis.length != first.length,
        false => axis.is_unlimited,
    };
    if axes().any(|axis| is_other(&axis)) { None } else { first.name.as_deref() }
}

fn open(name: &str, depth: usize, out: &mut String) {
    let _ = writeln!(out, "{}{} {{", "    ".repeat(depth), identifier(name));
}

fn close(depth: usize, out: &mut String) {
    let _ = writeln!(out, "{}}}", "    ".repeat(depth));
}

fn members(dataset: &Dataset, group: usize, depth: usize, out: &mut String) {
    for (_, variable) in dataset.variables_of(group).filter(|(_, variable)| variable.kind2.is_some()) {
        open(&variable.name, depth, out);
        variable.attributes.iter().for_each(|each| attribute(each, variable.kind2, depth + 1, out));
        lengths(variable, depth + 1, out);
        close(depth, out);
    }
    for number in dataset.group(group).into_iter().flat_map(|group| &group.groups) {
        let Some(inner) = dataset.group(*number) else { continue };
        open(&inner.name, depth, out);
        inner.attributes.iter().for_each(|each| attribute(each, None, depth + 1, out));
        members(dataset, *number, depth + 1, out);
        close(depth, out);
    }
}

/// The length of strings, from which clients make an axis of characters. netCDF-C reads names with a dot, as those of
/// a container in the variable's one lose their variable.
fn lengths(variable: &Variable, depth: usize, out: &mut String) {
    let Some(longest) = variable.longest.and_then(|longest| u32::try_from(longest).ok()) else { return };
    let margin = "    ".repeat(depth);
    let _ = writeln!(out, "{margin}Int32 DODS.strlen {};", longest.max(1));
    let last = variable.axes.last().filter(|_| variable.kind == Kind::Char);
    if let Some(name) = last.and_then(|axis| axis.name.as_ref()) {
        let _ = write!(out, "{margin}String DODS.dimName ");
        quoted(name, out);
        out.push_str(";\n");
    }
}

fn attribute(attribute: &Attribute, kind: Option<Kind>, depth: usize, out: &mut String) {
    let attribute = narrowed(attribute, kind);
    let _ = write!(out, "{}{} {} ", "    ".repeat(depth), attribute.kind.dap2(), identifier(&attribute.name));
    for (number, value) in attribute.values.iter().enumerate() {
        let text = spelled(value, attribute.kind);
        out.push_str(if number > 0 { ", " } else { "" });
        match attribute.kind.is_text() {
            true => quoted(&text, out),
            false => out.push_str(&text),
        }
    }
    out.push_str(";\n");
}

/// A text in quotes.
pub(super) fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_escaped() {
        let mut out = String::new();
        quoted("a \"b\" \\n\n", &mut out);
        assert_eq!(out, "\"a \\\"b\\\" \\\\n\n\"");
    }
}
