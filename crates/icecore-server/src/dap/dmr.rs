//! The DMR: declarations and attributes of a DAP4 response as XML.

use std::fmt::Write;

use super::attribute::spelled;
use super::constraint4::Chosen;
use super::model::{Attribute, Dataset, Kind, Variable};
use super::page::escaped;
use super::scope::{Scopes, fqn};

/// The document of the chosen variables.
pub(super) fn dmr(dataset: &Dataset, scopes: &Scopes, chosen: &Chosen) -> String {
    let name = escaped(dataset.name.rsplit('/').next().unwrap_or_default());
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Dataset xmlns=\"http://xml.opendap.org/ns/DAP/4.0#\" \
         dapVersion=\"4.0\" dmrVersion=\"1.0\" name=\"{name}\">\n"
    );
    let writing = Writing { dataset, scopes, chosen };
    writing.group(0, 1, &mut out);
    out.push_str("</Dataset>\n");
    out
}

struct Writing<'a> {
    dataset: &'a Dataset,
    scopes: &'a Scopes,
    chosen: &'a Chosen,
}

impl Writing<'_> {
    fn group(&self, number: usize, depth: usize, out: &mut String) {
        let margin = "  ".repeat(depth);
        let Some(group) = self.dataset.group(number) else { return };
        for (name, size) in self.scopes.declared(number) {
            let size = self.chosen.sizes.get(&(number, name.clone())).unwrap_or(size);
            let _ = writeln!(out, "{margin}<Dimension name=\"{}\" size=\"{size}\"/>", escaped(name));
        }
        let variables = || {
            let chosen = self.dataset.variables_of(number);
            chosen.filter(|(variable, _)| self.chosen.slabs.contains_key(variable))
        };
        for (_, variable) in variables().filter(|(_, variable)| !variable.members.is_empty()) {
            enumeration(variable, &margin, out);
        }
        for (place, variable) in variables() {
            self.variable(number, place, variable, depth, out);
        }
        group.attributes.iter().for_each(|each| attribute(each, &margin, out));
        for inner in &group.groups {
            let Some(group) = self.dataset.group(*inner) else { continue };
            let _ = writeln!(out, "{margin}<Group name=\"{}\">", escaped(&group.name));
            self.group(*inner, depth + 1, out);
            let _ = writeln!(out, "{margin}</Group>");
        }
    }

    fn variable(&self, group: usize, number: usize, variable: &Variable, depth: usize, out: &mut String) {
        let (margin, inner) = ("  ".repeat(depth), "  ".repeat(depth + 1));
        let name = escaped(&variable.name);
        let element = if variable.members.is_empty() { variable.kind.dap4() } else { "Enum" };
        let _ = write!(out, "{margin}<{element} name=\"{name}\"");
        if !variable.members.is_empty() {
            let path = format!("{}{}", self.scopes.path(group), fqn(&enumeration_name(variable)));
            let _ = write!(out, " enum=\"{}\"", escaped(&path));
        }
        out.push_str(">\n");
        let picks = self.chosen.slabs.get(&number).map_or(&[][..], |slab| &slab.picks.axes);
        for (axis, pick) in picks.iter().enumerate() {
            let shared = self.scopes.of(number, axis).filter(|_| self.chosen.shared.contains(&(number, axis)));
            let _ = match shared {
                Some((group, name)) => {
                    let path = format!("{}{}", self.scopes.path(group), fqn(&name));
                    writeln!(out, "{inner}<Dim name=\"{}\"/>", escaped(&path))
                }
                None => writeln!(out, "{inner}<Dim size=\"{}\"/>", pick.count()),
            };
        }
        variable.attributes.iter().for_each(|each| attribute(&matched(each, variable), &inner, out));
        if let Kind::Opaque(size) = variable.kind {
            let size =
                Attribute { name: "_edu.ucar.opaque.size".to_owned(), kind: Kind::Int32, values: vec![size.into()] };
            attribute(&size, &inner, out);
        }
        self.maps(variable, &inner, out);
        let _ = writeln!(out, "{margin}</{element}>");
    }

    /// Coordinate variables of the axes, where they are chosen too.
    fn maps(&self, variable: &Variable, margin: &str, out: &mut String) {
        let maps = self.dataset.maps(0, variable).unwrap_or_default();
        let is_root = self.dataset.variables_of(0).any(|(_, each)| each.path == variable.path);
        for map in maps.iter().filter(|map| is_root && self.chosen.slabs.contains_key(*map)) {
            let name = self.dataset.variable(*map).map_or("", |map| map.name.as_str());
            let _ = writeln!(out, "{margin}<Map name=\"/{}\"/>", escaped(&fqn(name)));
        }
    }
}

fn enumeration_name(variable: &Variable) -> String {
    format!("{}_t", variable.name)
}

fn enumeration(variable: &Variable, margin: &str, out: &mut String) {
    let (name, base) = (escaped(&enumeration_name(variable)), variable.kind.dap4());
    let _ = writeln!(out, "{margin}<Enumeration name=\"{name}\" basetype=\"{base}\">");
    for (name, value) in &variable.members {
        let _ = writeln!(out, "{margin}  <EnumConst name=\"{}\" value=\"{value}\"/>", escaped(name));
    }
    let _ = writeln!(out, "{margin}</Enumeration>");
}

/// The fill value in the type of its variable, as files have it.
fn matched(attribute: &Attribute, variable: &Variable) -> Attribute {
    let mut made = attribute.clone();
    let is_number = !attribute.kind.is_text() && variable.kind.size().is_some() && variable.kind != Kind::Char;
    if attribute.name == "_FillValue" && is_number {
        made.kind = variable.kind;
    }
    made
}

fn attribute(attribute: &Attribute, margin: &str, out: &mut String) {
    let name = escaped(&attribute.name);
    let _ = writeln!(out, "{margin}<Attribute name=\"{name}\" type=\"{}\">", attribute.kind.dap4());
    for value in &attribute.values {
        let _ = writeln!(out, "{margin}  <Value value=\"{}\"/>", escaped(&spelled(value, attribute.kind)));
    }
    let _ = writeln!(out, "{margin}</Attribute>");
}
