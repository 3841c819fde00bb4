//! Dimensions of DAP4: each belongs to the outermost group whose variables use it, and variables name it by its path.

use std::collections::HashMap;

use super::model::{Axis, Dataset};

/// The dimensions of a dataset.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    /// Dimensions of each group with their sizes, in the order in which they are found.
    declared: HashMap<usize, Vec<(String, u64)>>,
    sizes: HashMap<(usize, String), u64>,
    /// The dimension of each axis, by variable and number of the axis.
    axes: HashMap<(usize, usize), (usize, String)>,
    /// Paths of groups, with a slash at the end.
    paths: Vec<String>,
}

impl Scopes {
    pub fn new(dataset: &Dataset) -> Self {
        let mut scopes = Self { paths: vec![String::new(); dataset.groups.len()], ..Self::default() };
        // (group, groups above it).
        let mut open: Vec<(usize, Vec<usize>, String)> = vec![(0, Vec::new(), "/".to_owned())];
        while let Some((group, above, path)) = open.pop() {
            scopes.variables(dataset, group, &above);
            let mut next = above;
            next.push(group);
            let inner = dataset.group(group).into_iter().flat_map(|group| group.groups.iter().rev());
            for number in inner {
                let name = dataset.group(*number).map_or("", |group| group.name.as_str());
                open.push((*number, next.clone(), format!("{path}{}/", fqn(name))));
            }
            if let Some(known) = scopes.paths.get_mut(group) {
                *known = path;
            }
        }
        scopes
    }

    fn variables(&mut self, dataset: &Dataset, group: usize, above: &[usize]) {
        // Coordinate variables first: they define their dimensions.
        let (first, rest): (Vec<_>, Vec<_>) =
            dataset.variables_of(group).partition(|(_, variable)| variable.is_coordinate());
        for (number, variable) in first.into_iter().chain(rest) {
            for (place, axis) in variable.axes.iter().enumerate() {
                if let Some(name) = self.dimension(axis, group, above) {
                    self.axes.insert((number, place), name);
                }
            }
        }
    }

    /// The dimension of an axis; `None` where its name has another length in the same group already.
    fn dimension(&mut self, axis: &Axis, group: usize, above: &[usize]) -> Option<(usize, String)> {
        let name = axis.name.as_ref()?;
        for scope in above.iter().rev().chain([&group]) {
            if self.sizes.get(&(*scope, name.clone())) == Some(&axis.length) {
                return Some((*scope, name.clone()));
            }
        }
        if self.sizes.contains_key(&(group, name.clone())) {
            return None;
        }
        self.sizes.insert((group, name.clone()), axis.length);
        self.declared.entry(group).or_default().push((name.clone(), axis.length));
        Some((group, name.clone()))
    }

    /// The dimensions that a group declares.
    pub fn declared(&self, group: usize) -> &[(String, u64)] {
        self.declared.get(&group).map_or(&[], Vec::as_slice)
    }

    pub fn of(&self, variable: usize, axis: usize) -> Option<(usize, String)> {
        self.axes.get(&(variable, axis)).cloned()
    }

    /// The path of a group, with a slash at the end.
    pub fn path(&self, group: usize) -> &str {
        self.paths.get(group).map_or("/", String::as_str)
    }

    /// The dimension at a path, with its size.
    pub fn find(&self, path: &str) -> Option<(usize, String, u64)> {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let above = format!("/{}/", above.trim_matches('/')).replace("//", "/");
        let group = self.paths.iter().position(|each| *each == above)?;
        let size = self.sizes.get(&(group, name.to_owned()))?;
        Some((group, name.to_owned(), *size))
    }
}

/// A name in a path of DAP4.
pub(super) fn fqn(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for character in name.chars() {
        if matches!(character, '/' | '.' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}
