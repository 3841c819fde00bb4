//! Constraint expressions of DAP4: `/g/t[0:2:8][];lat=[1:2];r{lon;lat}|tb>310`, and the variables they name.

use std::collections::{BTreeMap, HashMap, HashSet};

use icecore::grid::{Error, ErrorKind, Result};
use icecore::session::{Pick, Picks};

use super::constraint::{Slice, bad, decoded, missing, shown, slice};
use super::model::{Axis, Dataset, Member, Variable};
use super::project::{Slab, picks};
use super::scope::Scopes;

/// What a request names: variables by group, and the sizes of sliced dimensions.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Chosen {
    /// In the order of the dataset.
    pub slabs: BTreeMap<usize, Slab>,
    /// Axes that keep their dimension, by variable and number of the axis.
    pub shared: HashSet<(usize, usize)>,
    /// Dimensions (group, name) that the request slices, and their sizes.
    pub sizes: HashMap<(usize, String), u64>,
}

/// The variables of a request; all of them without a constraint.
///
/// # Errors
/// `selection`, `not-found`; `unsupported` for functions and filters.
pub(super) fn choose(dataset: &Dataset, scopes: &Scopes, text: &str) -> Result<Chosen> {
    let mut chosen = Chosen::default();
    if text.trim().is_empty() {
        for number in 0..dataset.variables.len() {
            chosen.add(dataset, scopes, number, &[], &HashMap::new())?;
        }
        return Ok(chosen);
    }
    let mut slices: HashMap<(usize, String), Slice> = HashMap::new();
    for clause in text.split(';').filter(|clause| !clause.trim().is_empty()) {
        let clause = clause.trim();
        refuse(clause)?;
        if let Some((name, slice)) = dimension(clause)? {
            let key = scopes.find(&name).ok_or_else(|| {
                Error::new(ErrorKind::NotFound, format!("there is no dimension {}", shown(&name)))
                    .hint("the document .dmr lists the dimensions")
            })?;
            let axis = Axis { name: Some(name.clone()), length: key.2, is_unlimited: false };
            let picks = picks(&name, &[axis], &[slice])?;
            chosen.sizes.insert((key.0, key.1.clone()), picks.first().map_or(0, Pick::count));
            slices.insert((key.0, key.1), slice);
            continue;
        }
        let (path, tail) = clause.split_at_checked(clause.find('[').unwrap_or(clause.len())).unwrap_or((clause, ""));
        chosen.path(dataset, scopes, path, tail, &slices)?;
    }
    Ok(chosen)
}

/// # Errors
/// `unsupported` for a function's call, a filter or fields.
fn refuse(clause: &str) -> Result<()> {
    let unsupported = |what: String, hint: &str| Err(Error::new(ErrorKind::Unsupported, what).hint(hint));
    if let Some((name, _)) = clause.split_once('(') {
        let what = format!("the server function {}() is not available", shown(name.trim()));
        return unsupported(what, "select by index: NAME[START:STRIDE:STOP]");
    }
    if clause.contains(['|', '{']) {
        let what = format!("{}: filters and fields need a sequence or structure", shown(clause));
        return unsupported(what, "the dataset has arrays only; select by index");
    }
    Ok(())
}

/// `name=[1:2]`.
fn dimension(clause: &str) -> Result<Option<(String, Slice)>> {
    let Some((name, slice)) = clause.split_once('=').filter(|(name, _)| !name.contains('[')) else { return Ok(None) };
    let inner = slice.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let inner = inner.ok_or_else(|| bad(format!("{:?} is not a slice of a dimension", shown(clause))))?;
    Ok(Some((decoded(name.trim()), self::slice(inner)?)))
}

/// Consecutive hyperslabs; `None` for `[]`, which takes the slice of the dimension.
fn hyperslabs(text: &str) -> Result<Vec<Option<Slice>>> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let inner = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (inner, behind) = inner.ok_or_else(|| bad(format!("{:?} is not a hyperslab", shown(rest))))?;
        found.push(if inner.trim().is_empty() { None } else { Some(slice(inner)?) });
        rest = behind.trim_start();
    }
    Ok(found)
}

impl Chosen {
    fn path(
        &mut self,
        dataset: &Dataset,
        scopes: &Scopes,
        path: &str,
        tail: &str,
        slices: &HashMap<(usize, String), Slice>,
    ) -> Result<()> {
        let hyperslabs = hyperslabs(tail)?;
        match locate(dataset, path)? {
            Member::Variable(number) => self.add(dataset, scopes, number, &hyperslabs, slices),
            Member::Group(_) if !hyperslabs.is_empty() => {
                Err(bad(format!("{} is a group: hyperslabs belong to its variables", shown(path))))
            }
            Member::Group(group) => {
                let mut open = vec![group];
                while let Some(group) = open.pop() {
                    for (number, _) in dataset.variables_of(group) {
                        self.add(dataset, scopes, number, &[], slices)?;
                    }
                    open.extend(dataset.group(group).into_iter().flat_map(|group| &group.groups));
                }
                Ok(())
            }
        }
    }

    fn add(
        &mut self,
        dataset: &Dataset,
        scopes: &Scopes,
        number: usize,
        hyperslabs: &[Option<Slice>],
        slices: &HashMap<(usize, String), Slice>,
    ) -> Result<()> {
        let Some(variable) = dataset.variable(number) else { return Ok(()) };
        if !hyperslabs.is_empty() && hyperslabs.len() != variable.axes.len() {
            let (given, axes) = (hyperslabs.len(), variable.axes.len());
            return Err(bad(format!("{}: {given} hyperslabs for {axes} axes", shown(&variable.name))));
        }
        let mut wanted = Vec::new();
        for axis in 0..variable.axes.len() {
            let own = hyperslabs.get(axis).copied().flatten();
            let key = scopes.of(number, axis);
            let sliced = key.as_ref().and_then(|key| slices.get(key)).copied();
            if own.is_none() && key.is_some() {
                self.shared.insert((number, axis));
            }
            wanted.push(own.or(sliced).unwrap_or(Slice::ALL));
        }
        let slab = slab(number, variable, &wanted)?;
        if self.slabs.get(&number).is_some_and(|known| *known != slab) {
            return Err(bad(format!("{} is named twice, in different ways", shown(&variable.name))));
        }
        self.slabs.insert(number, slab);
        Ok(())
    }
}

fn slab(number: usize, variable: &Variable, slices: &[Slice]) -> Result<Slab> {
    let axes = picks(&variable.name, &variable.axes, slices)?;
    let shape: Vec<u64> = variable.axes.iter().map(|axis| axis.length).collect();
    let reduced = vec![false; shape.len()];
    Ok(Slab { variable: number, picks: Picks { shape, axes, reduced } })
}

/// The member at a path; names are separated by `/`, and `\` escapes a sign.
fn locate(dataset: &Dataset, path: &str) -> Result<Member> {
    let mut group = Member::Group(0);
    for name in path.trim().split('/').filter(|name| !name.is_empty()) {
        let plain = decoded(name).replace('\\', "");
        group = match group {
            Member::Group(number) => dataset.member(number, &plain).ok_or_else(|| missing(path))?,
            Member::Variable(_) => return Err(missing(path)),
        };
    }
    if path.trim().is_empty() { Err(missing(path)) } else { Ok(group) }
}
