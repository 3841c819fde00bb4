//! The data model that both protocols share: groups, variables with named axes, typed attributes.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

/// Type of an element or an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Float32,
    Float64,
    /// One byte of text; the last axis is the length of the texts.
    Char,
    Text,
    /// Bytes of this number.
    Opaque(usize),
}

impl Kind {
    /// The type's name in DAP4.
    pub fn dap4(self) -> &'static str {
        match self {
            Self::Int8 => "Int8",
            Self::UInt8 => "UInt8",
            Self::Int16 => "Int16",
            Self::UInt16 => "UInt16",
            Self::Int32 => "Int32",
            Self::UInt32 => "UInt32",
            Self::Int64 => "Int64",
            Self::UInt64 => "UInt64",
            Self::Float32 => "Float32",
            Self::Float64 => "Float64",
            Self::Char => "Char",
            Self::Text => "String",
            Self::Opaque(_) => "Opaque",
        }
    }

    /// The type's name in DAP2.
    pub fn dap2(self) -> &'static str {
        match self {
            Self::UInt8 => "Byte",
            Self::Char => "String",
            other => other.dap4(),
        }
    }

    pub fn is_text(self) -> bool {
        matches!(self, Self::Char | Self::Text)
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::Float32 | Self::Float64)
    }

    /// Bytes of an element in DAP4; `None` if they vary.
    pub fn size(self) -> Option<usize> {
        match self {
            Self::Int8 | Self::UInt8 | Self::Char => Some(1),
            Self::Int16 | Self::UInt16 => Some(2),
            Self::Int32 | Self::UInt32 | Self::Float32 => Some(4),
            Self::Int64 | Self::UInt64 | Self::Float64 => Some(8),
            Self::Text | Self::Opaque(_) => None,
        }
    }

    /// The type of the same values in DAP2. Unsigned integers become wider signed ones, because netCDF-C's classic model
    /// reads them as signed of the same width; `None` for 64 bits, which need a look at the values.
    pub fn widened(self) -> Option<Self> {
        match self {
            Self::Int8 | Self::UInt8 => Some(Self::Int16),
            Self::UInt16 => Some(Self::Int32),
            Self::UInt32 => Some(Self::Float64),
            Self::Char => Some(Self::Text),
            Self::Int64 | Self::UInt64 | Self::Opaque(_) => None,
            other => Some(other),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Attribute {
    pub name: String,
    pub kind: Kind,
    /// In order; at least one.
    pub values: Vec<Value>,
}

impl Attribute {
    pub fn text(name: &str, value: impl Into<String>) -> Self {
        Self { name: name.to_owned(), kind: Kind::Text, values: vec![Value::from(value.into())] }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub name: Option<String>,
    pub length: u64,
    pub is_unlimited: bool,
}

impl Axis {
    /// Whether both are the same dimension.
    pub fn is_same(&self, other: &Self) -> bool {
        self.name.is_some() && self.name == other.name && self.length == other.length
    }
}

#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub name: String,
    /// The array's path in the domain.
    pub path: String,
    pub kind: Kind,
    /// The type in DAP2; `None` if no type of DAP2 holds its values.
    pub kind2: Option<Kind>,
    /// All axes of the array.
    pub axes: Vec<Axis>,
    pub attributes: Vec<Attribute>,
    /// Names of values.
    pub members: BTreeMap<String, i64>,
    /// Length of the longest text, where it is known.
    pub longest: Option<u64>,
}

impl Variable {
    /// The axes that DAP2 has: texts of single bytes become strings.
    pub fn axes2(&self) -> &[Axis] {
        match (self.kind, self.axes.split_last()) {
            (Kind::Char, Some((_, rest))) => rest,
            _ => &self.axes,
        }
    }

    /// Whether it holds the coordinates of an axis.
    pub fn is_coordinate(&self) -> bool {
        matches!(self.axes.as_slice(), [axis] if axis.name.as_deref() == Some(&self.name))
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub name: String,
    pub attributes: Vec<Attribute>,
    /// Numbers of its variables, and of its groups.
    pub variables: Vec<usize>,
    pub groups: Vec<usize>,
    /// Whether it is recorded as a table: DAP2 has it as a sequence.
    pub is_table: bool,
    /// Names of objects that the protocols do not hold, and why.
    pub left_out: Vec<(String, String)>,
}

/// A domain as the protocols see it.
#[derive(Debug, Default)]
pub(super) struct Dataset {
    /// The domain's name.
    pub name: String,
    pub variables: Vec<Variable>,
    /// Number 0 is the root.
    pub groups: Vec<Group>,
    /// Members by their group's number and name.
    names: HashMap<(usize, String), Member>,
}

/// A member of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Member {
    Variable(usize),
    Group(usize),
}

impl Dataset {
    pub fn new(name: &str, attributes: Vec<Attribute>) -> Self {
        let root = Group { attributes, ..Group::default() };
        Self { name: name.to_owned(), groups: vec![root], ..Self::default() }
    }

    pub fn add_group(&mut self, parent: usize, group: Group) -> usize {
        let number = self.groups.len();
        self.names.insert((parent, group.name.clone()), Member::Group(number));
        self.groups.push(group);
        if let Some(parent) = self.groups.get_mut(parent) {
            parent.groups.push(number);
        }
        number
    }

    pub fn add_variable(&mut self, parent: usize, variable: Variable) {
        let number = self.variables.len();
        self.names.insert((parent, variable.name.clone()), Member::Variable(number));
        self.variables.push(variable);
        if let Some(parent) = self.groups.get_mut(parent) {
            parent.variables.push(number);
        }
    }

    pub fn leave_out(&mut self, group: usize, name: &str, why: impl Into<String>) {
        if let Some(group) = self.groups.get_mut(group) {
            group.left_out.push((name.to_owned(), why.into()));
        }
    }

    pub fn member(&self, group: usize, name: &str) -> Option<Member> {
        self.names.get(&(group, name.to_owned())).copied()
    }

    pub fn group(&self, number: usize) -> Option<&Group> {
        self.groups.get(number)
    }

    pub fn variable(&self, number: usize) -> Option<&Variable> {
        self.variables.get(number)
    }

    /// The variables of a group with their numbers.
    pub fn variables_of(&self, group: usize) -> impl Iterator<Item = (usize, &Variable)> {
        let numbers = self.group(group).into_iter().flat_map(|group| &group.variables);
        numbers.filter_map(|number| Some((*number, self.variables.get(*number)?)))
    }

    /// The coordinate variables of a variable's axes, if each axis has one in the root group: then DAP2 has a Grid.
    pub fn maps(&self, group: usize, variable: &Variable) -> Option<Vec<usize>> {
        if group != 0 || variable.axes.is_empty() || variable.is_coordinate() || variable.kind.is_text() {
            return None;
        }
        variable.axes.iter().map(|axis| self.map(axis)).collect()
    }

    fn map(&self, axis: &Axis) -> Option<usize> {
        let Member::Variable(number) = self.member(0, axis.name.as_deref()?)? else { return None };
        let map = self.variable(number)?;
        let is_numeric = map.kind2.is_some_and(|kind| !kind.is_text());
        (map.is_coordinate() && is_numeric && map.axes.first().is_some_and(|own| own.is_same(axis))).then_some(number)
    }
}
