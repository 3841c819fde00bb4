//! Tables as sequences of DAP2: the columns and the clauses of a request in the words of the engine.

use std::ops::Range;

use icecore::grid::{Error, ErrorKind, Result};

use super::constraint::{Clause, Constraint, Projection, Step, bad, missing, shown};
use super::model::{Dataset, Kind, Member};

/// A request for rows of a table: a group of columns with equal lengths.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rows {
    pub name: String,
    /// Names of the groups around it.
    pub above: Vec<String>,
    /// Variables with their types.
    pub columns: Vec<(usize, Kind)>,
    /// All columns that clauses may name.
    pub known: Vec<usize>,
    pub clause: Option<String>,
    pub range: Option<Range<u64>>,
}

/// The rows that a constraint names; `None` if it is about arrays: it has no clauses, and no table is recorded.
///
/// # Errors
/// `selection` for clauses where there is no table, `not-found` for a name.
pub(super) fn rows(dataset: &Dataset, constraint: &Constraint) -> Result<Option<Rows>> {
    let (group, above) = group(dataset, constraint);
    let is_table = dataset.group(group).is_some_and(|group| group.is_table);
    if !is_table && constraint.clauses.is_empty() {
        return Ok(None);
    }
    let mut made = Rows::new(dataset, group, above);
    if made.known.is_empty() && constraint.clauses.is_empty() {
        return Ok(None);
    }
    if made.known.is_empty() {
        return Err(bad("clauses need a table: a group of arrays with one axis and equal lengths".to_owned()));
    }
    for projection in &constraint.projections {
        made.project(dataset, projection)?;
    }
    if made.columns.is_empty() {
        made.columns = made.all(dataset);
    }
    let clauses: Vec<String> =
        constraint.clauses.iter().map(|clause| made.clause(dataset, clause)).collect::<Result<_>>()?;
    made.clause = (!clauses.is_empty()).then(|| clauses.join(" and "));
    Ok(Some(made))
}

/// All rows of a group that is recorded as a table.
pub(super) fn whole(dataset: &Dataset, group: usize) -> Option<Rows> {
    let mut made = Rows::new(dataset, group, Vec::new());
    made.columns = made.all(dataset);
    (!made.columns.is_empty() && dataset.group(group).is_some_and(|group| group.is_table)).then_some(made)
}

/// The group that names lead to, and the names of those around it.
fn group(dataset: &Dataset, constraint: &Constraint) -> (usize, Vec<String>) {
    let first = constraint.projections.first().map(|path| path.iter().map(|step| step.name.as_str()).collect());
    let clause = || constraint.clauses.first().map(|clause| clause.left.split('.').collect());
    let path: Vec<&str> = first.or_else(clause).unwrap_or_default();
    let (mut group, mut names) = (0, Vec::new());
    for name in path {
        let Some(Member::Group(number)) = dataset.member(group, name) else { break };
        group = number;
        names.push(name.to_owned());
    }
    names.pop();
    (group, names)
}

/// The columns of a group; none if the lengths of its arrays differ.
fn columns(dataset: &Dataset, group: usize) -> Vec<usize> {
    let mut lengths = dataset.variables_of(group).filter_map(|(_, variable)| match variable.axes.as_slice() {
        [axis] => Some(axis.length),
        _ => None,
    });
    let Some(first) = lengths.next().filter(|first| lengths.all(|each| each == *first)) else { return Vec::new() };
    let of_rows = dataset.variables_of(group).filter(|(number, variable)| {
        variable.axes.len() == 1
            && variable.axes.iter().all(|axis| axis.length == first)
            && kind(dataset, *number).is_some()
    });
    of_rows.map(|(number, _)| number).collect()
}

/// The type of a column. Single bytes are sent as Int16: clients read a lone Byte in different ways.
fn kind(dataset: &Dataset, number: usize) -> Option<Kind> {
    let variable = dataset.variable(number)?;
    match (variable.kind, variable.kind2?) {
        // One byte a row, not one text.
        (Kind::Char, _) => None,
        (_, Kind::UInt8) => Some(Kind::Int16),
        (_, kind) => Some(kind),
    }
}

impl Rows {
    fn new(dataset: &Dataset, group: usize, above: Vec<String>) -> Self {
        let name = dataset.group(group).map(|group| group.name.clone()).filter(|name| !name.is_empty());
        let name = name.unwrap_or_else(|| dataset.name.rsplit('/').next().unwrap_or_default().to_owned());
        let known = columns(dataset, group);
        Self { name, above, columns: Vec::new(), known, clause: None, range: None }
    }

    fn all(&self, dataset: &Dataset) -> Vec<(usize, Kind)> {
        self.known.iter().filter_map(|number| Some((*number, kind(dataset, *number)?))).collect()
    }

    fn project(&mut self, dataset: &Dataset, path: &Projection) -> Result<()> {
        let Some((last, above)) = path.split_last() else { return Ok(()) };
        if let Some(step) = above.iter().find(|step| !step.slices.is_empty()) {
            self.narrow(dataset, step)?;
        }
        let named = self.known.iter().find(|number| dataset.variable(**number).is_some_and(|v| v.name == last.name));
        let Some(number) = named.copied() else {
            return if last.name == self.name { self.narrow(dataset, last) } else { Err(missing(&last.name)) };
        };
        if !last.slices.is_empty() {
            self.narrow(dataset, last)?;
        }
        let column = kind(dataset, number).map(|kind| (number, kind)).ok_or_else(|| missing(&last.name))?;
        if !self.columns.contains(&column) {
            self.columns.push(column);
        }
        Ok(())
    }

    /// Keeps the rows of a hyperslab.
    fn narrow(&mut self, dataset: &Dataset, step: &Step) -> Result<()> {
        let [slice] = step.slices.as_slice() else {
            return if step.slices.is_empty() {
                Ok(())
            } else {
                Err(bad(format!("{} has one axis: its rows", shown(&step.name))))
            };
        };
        if slice.stride != 1 {
            return Err(bad(format!("{}: rows are taken without a stride", shown(&step.name))));
        }
        let axis = self.known.first().and_then(|number| dataset.variable(*number)?.axes.first());
        let length = axis.map_or(0, |axis| axis.length);
        let end = slice.last.map_or(length, |last| last.saturating_add(1)).min(length);
        self.range = Some(slice.start.min(end)..end);
        Ok(())
    }

    /// A clause in the words of the engine.
    fn clause(&self, dataset: &Dataset, clause: &Clause) -> Result<String> {
        let column = |name: &str| {
            let bare = name.rsplit('.').next().unwrap_or_default();
            let is_named =
                |number: &&usize| dataset.variable(**number).is_some_and(|v| v.name == bare || v.name == name);
            let found = self.known.iter().find(is_named).and_then(|number| dataset.variable(*number));
            found.map(|variable| format!("\"{}\"", variable.name.replace('"', "\"\"")))
        };
        if clause.operator == "=~" {
            let message = "the operator =~ is not available".to_owned();
            return Err(Error::new(ErrorKind::Unsupported, message).hint("compare with =, !=, <, <=, > or >="));
        }
        let left = column(&clause.left).ok_or_else(|| missing(&clause.left))?;
        let value = |text: &String| match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(inner) => Ok(format!("'{}'", inner.replace("\\\"", "\"").replace('\'', "''"))),
            None if text.parse::<f64>().is_ok_and(f64::is_finite) => Ok(text.clone()),
            None => column(text).ok_or_else(|| bad(format!("{} is neither a number nor a column", shown(text)))),
        };
        let values: Vec<String> = clause.right.iter().map(value).collect::<Result<_>>()?;
        match values.as_slice() {
            [one] => Ok(format!("{left} {} {one}", clause.operator)),
            several if clause.operator == "=" => {
                let each: Vec<String> = several.iter().map(|value| format!("{left} = {value}")).collect();
                Ok(format!("({})", each.join(" or ")))
            }
            _ => Err(bad(format!("a list of values needs =, not {}", clause.operator))),
        }
    }
}
