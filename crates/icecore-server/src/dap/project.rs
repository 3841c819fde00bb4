//! Apply a constraint to a dataset: the variables that a DAP2 request names, each with its hyperslab.

use std::collections::HashMap;

use icecore::grid::{Error, ErrorKind, Result};
use icecore::session::{Pick, Picks};

use super::constraint::{Projection, Slice, Step, bad, missing, shown};
use super::model::{Axis, Dataset, Member, Variable};
use super::rows::{self, Rows};

/// A hyperslab of a variable.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slab {
    pub variable: usize,
    /// One range for each axis of the array.
    pub picks: Picks,
}

/// What a response consists of.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Array(Slab),
    /// A variable with its coordinate variables.
    Grid(Slab, Vec<Slab>),
    /// Members of a group, or of a grid that is not asked for as a whole.
    Structure(String, Vec<Item>),
    /// Rows of a table.
    Sequence(Rows),
}

/// The items of a request; of the whole dataset without projections.
///
/// # Errors
/// `not-found` for a name, `selection` for a hyperslab.
pub(super) fn project(dataset: &Dataset, projections: &[Projection]) -> Result<Vec<Item>> {
    if projections.is_empty() {
        return whole(dataset, 0);
    }
    let mut made = Made::default();
    for projection in projections {
        made.add(dataset, projection)?;
    }
    Ok(made.finished())
}

/// Everything in a group that DAP2 holds.
fn whole(dataset: &Dataset, group: usize) -> Result<Vec<Item>> {
    let mut items = Vec::new();
    for (number, variable) in dataset.variables_of(group).filter(|(_, variable)| variable.kind2.is_some()) {
        items.push(item(dataset, group, number, variable, &[])?);
    }
    for number in dataset.group(group).into_iter().flat_map(|group| &group.groups) {
        if let Some(rows) = rows::whole(dataset, *number) {
            items.push(Item::Sequence(rows));
            continue;
        }
        let members = whole(dataset, *number)?;
        let name = dataset.group(*number).map(|group| group.name.clone()).unwrap_or_default();
        // A structure without members is not a declaration.
        if !members.is_empty() {
            items.push(Item::Structure(name, members));
        }
    }
    Ok(items)
}

fn item(dataset: &Dataset, group: usize, number: usize, variable: &Variable, slices: &[Slice]) -> Result<Item> {
    let slab = slab(number, variable, slices)?;
    let Some(maps) = dataset.maps(group, variable) else { return Ok(Item::Array(slab)) };
    let maps = maps.into_iter().zip(&slab.picks.axes).filter_map(|(map, pick)| {
        let shape = dataset.variable(map)?.axes.iter().map(|axis| axis.length).collect();
        Some(Slab { variable: map, picks: Picks { shape, axes: vec![pick.clone()], reduced: vec![false] } })
    });
    let maps = maps.collect();
    Ok(Item::Grid(slab, maps))
}

fn slab(number: usize, variable: &Variable, slices: &[Slice]) -> Result<Slab> {
    let shown = variable.axes2();
    let mut axes = picks(&variable.name, shown, slices)?;
    // The length of texts, which DAP2 does not have as an axis.
    axes.extend(variable.axes.iter().skip(shown.len()).map(|axis| range(0, 1, axis.length)));
    let shape: Vec<u64> = variable.axes.iter().map(|axis| axis.length).collect();
    let reduced = vec![false; shape.len()];
    Ok(Slab { variable: number, picks: Picks { shape, axes, reduced } })
}

fn range(start: u64, step: u64, count: u64) -> Pick {
    Pick::Range { start, step, count }
}

/// The ranges of hyperslabs; of whole axes without hyperslabs.
pub(super) fn picks(name: &str, axes: &[Axis], slices: &[Slice]) -> Result<Vec<Pick>> {
    if slices.is_empty() {
        return Ok(axes.iter().map(|axis| range(0, 1, axis.length)).collect());
    }
    if slices.len() != axes.len() {
        let message = format!("{}: {} hyperslabs for {} axes", shown(name), slices.len(), axes.len());
        return Err(bad(message));
    }
    axes.iter().zip(slices).enumerate().map(|(number, (axis, slice))| pick(name, number, axis, *slice)).collect()
}

fn pick(name: &str, number: usize, axis: &Axis, slice: Slice) -> Result<Pick> {
    let length = axis.length;
    let last = slice.last.unwrap_or(length.saturating_sub(1));
    // The whole of an empty axis.
    if length == 0 && slice.start == 0 && slice.last.is_none() {
        return Ok(range(0, 1, 0));
    }
    if slice.start > last || last >= length {
        let message =
            format!("{}: [{}:{last}] is out of range for axis {number} of length {length}", shown(name), slice.start);
        return Err(Error::new(ErrorKind::Selection, message).hint("indexes begin at 0; the last one is included"));
    }
    let count = (last - slice.start) / slice.stride + 1;
    // A step beyond the axis selects one element, whatever it is.
    Ok(range(slice.start, if count == 1 { 1 } else { slice.stride }, count))
}

/// Items by their place: members of one structure are together, and all are in the order of the dataset, which clients
/// rely on.
#[derive(Default)]
struct Made {
    nodes: Vec<(Place, Node)>,
    /// Nodes by parent and name; the parent of the first level is `None`.
    names: HashMap<(Option<usize>, String), usize>,
    roots: Vec<usize>,
}

/// Variables before groups, as in the whole dataset.
type Place = (bool, usize);

enum Node {
    Item(Item),
    Members(String, Vec<usize>),
}

impl Made {
    fn add(&mut self, dataset: &Dataset, projection: &Projection) -> Result<()> {
        let (mut group, mut parent) = (0, None);
        let mut steps = projection.as_slice();
        while let Some((step, rest)) = steps.split_first() {
            match find(dataset, group, step)? {
                Member::Group(number) if rest.is_empty() => {
                    without_slices(step)?;
                    let item = Item::Structure(step.name.clone(), whole(dataset, number)?);
                    return self.put(parent, &step.name, (true, number), Node::Item(item));
                }
                Member::Group(number) => {
                    without_slices(step)?;
                    (group, parent) = (number, Some(self.members(parent, &step.name, (true, number))?));
                    steps = rest;
                }
                Member::Variable(number) => return self.variable(dataset, (group, parent), number, step, rest),
            }
        }
        Ok(())
    }

    fn variable(
        &mut self,
        dataset: &Dataset,
        (group, parent): (usize, Option<usize>),
        number: usize,
        step: &Step,
        rest: &[Step],
    ) -> Result<()> {
        let variable = dataset.variable(number).ok_or_else(|| missing(&step.name))?;
        let Some(member) = rest.first() else {
            let item = item(dataset, group, number, variable, &step.slices)?;
            return self.put(parent, &step.name, (false, number), Node::Item(item));
        };
        let maps = dataset.maps(group, variable).ok_or_else(|| missing(&member.name))?;
        without_slices(step)?;
        let is_map = |map: &usize| dataset.variable(*map).is_some_and(|map| map.name == member.name);
        let (chosen, place) = match maps.iter().position(is_map) {
            _ if member.name == variable.name => (number, 0),
            Some(place) => (maps.get(place).copied().unwrap_or(number), place + 1),
            None => return Err(missing(&member.name)),
        };
        let grid = self.members(parent, &step.name, (false, number))?;
        let number = chosen;
        let chosen = dataset.variable(number).filter(|_| rest.len() == 1).ok_or_else(|| missing(&member.name))?;
        let slab = slab(number, chosen, &member.slices)?;
        self.put(Some(grid), &member.name, (false, place), Node::Item(Item::Array(slab)))
    }

    /// The node of a structure.
    fn members(&mut self, parent: Option<usize>, name: &str, place: Place) -> Result<usize> {
        match self.names.get(&(parent, name.to_owned())) {
            Some(known) => match self.nodes.get(*known) {
                Some((_, Node::Members(..))) => Ok(*known),
                _ => Err(twice(name)),
            },
            None => {
                self.put(parent, name, place, Node::Members(name.to_owned(), Vec::new()))?;
                Ok(self.nodes.len() - 1)
            }
        }
    }

    fn put(&mut self, parent: Option<usize>, name: &str, place: Place, node: Node) -> Result<()> {
        let key = (parent, name.to_owned());
        if let Some(known) = self.names.get(&key) {
            let same = match (self.nodes.get(*known), &node) {
                (Some((_, Node::Item(known))), Node::Item(item)) => known == item,
                _ => false,
            };
            return if same { Ok(()) } else { Err(twice(name)) };
        }
        let number = self.nodes.len();
        self.nodes.push((place, node));
        self.names.insert(key, number);
        match parent.and_then(|parent| self.nodes.get_mut(parent)) {
            Some((_, Node::Members(_, members))) => members.push(number),
            _ => self.roots.push(number),
        }
        Ok(())
    }

    fn finished(mut self) -> Vec<Item> {
        let places: Vec<Place> = self.nodes.iter().map(|(place, _)| *place).collect();
        let by_place = |numbers: &mut Vec<usize>| numbers.sort_by_key(|number| places.get(*number).copied());
        by_place(&mut self.roots);
        for (_, node) in &mut self.nodes {
            if let Node::Members(_, members) = node {
                by_place(members);
            }
        }
        let mut nodes: Vec<Option<Node>> = self.nodes.into_iter().map(|(_, node)| Some(node)).collect();
        self.roots.iter().filter_map(|root| taken(&mut nodes, *root)).collect()
    }
}

fn taken(nodes: &mut [Option<Node>], number: usize) -> Option<Item> {
    match nodes.get_mut(number)?.take()? {
        Node::Item(item) => Some(item),
        Node::Members(name, members) => {
            let items = members.into_iter().filter_map(|member| taken(nodes, member)).collect();
            Some(Item::Structure(name, items))
        }
    }
}

fn find(dataset: &Dataset, group: usize, step: &Step) -> Result<Member> {
    let found = dataset.member(group, &step.name);
    let is_held = |member: &Member| match member {
        Member::Variable(number) => dataset.variable(*number).is_some_and(|variable| variable.kind2.is_some()),
        Member::Group(_) => true,
    };
    found.filter(is_held).ok_or_else(|| missing(&step.name))
}

fn without_slices(step: &Step) -> Result<()> {
    if step.slices.is_empty() {
        return Ok(());
    }
    Err(bad(format!("{} has members: hyperslabs belong to them", shown(&step.name))))
}

fn twice(name: &str) -> Error {
    bad(format!("{} is named twice, in different ways", shown(name)))
}
