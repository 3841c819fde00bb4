//! Interpretation of a branch from its leaves and C++ types.

use crate::branch::Branch;
use crate::dtype::DType;
use crate::interpretation::{Field, Interpretation};
use crate::layout::{self, By, Form, Head, Layout, Struct};
use crate::leaf::Leaf;
use crate::reduced::Reduced;
use crate::streamer::{StreamerElement, Streamers};

/// Sets the interpretation of each branch.
pub(crate) fn interpret(branches: &mut [Branch], streamers: &Streamers) {
    let found: Vec<_> = branches.iter().map(|branch| of(branch, branches, streamers)).collect();
    for (branch, found) in branches.iter_mut().zip(found) {
        (branch.interpretation, branch.form) = found;
    }
}

/// An interpretation, and the form of entries that are decoded one by one.
type Found = (Interpretation, Option<Form>);

fn of(branch: &Branch, all: &[Branch], streamers: &Streamers) -> Found {
    let counter = match &branch.interpretation {
        Interpretation::CountedBy(name) => Some(name.clone()),
        _ => None,
    };
    if branch.has_children {
        // The master branch of a split TClonesArray holds the number of its objects.
        let counts = branch.class_name == "TClonesArray" || branch.element_type == CLONES_MASTER;
        let flat = Interpretation::Flat { dtype: DType::Int32, shape: Vec::new() };
        return (if counts { flat } else { Interpretation::Group }, None);
    }
    match branch.leaves.as_slice() {
        [leaf] if leaf.class == "TLeafElement" => member(branch, leaf, counter, all, streamers),
        [leaf] => single(branch, leaf, counter),
        [] => (Interpretation::Unsupported("no leaf".to_string()), None),
        leaves => record(leaves, counter.is_some()),
    }
}

/// `TBranchElement::fType` of a branch that counts the objects of a split `TClonesArray`, of an STL container.
const CLONES_MASTER: i32 = 3;
const STL_MASTER: i32 = 4;
/// `fType` of a member of the objects in them.
const MEMBERS: [i32; 2] = [31, 41];
/// `TStreamerInfo` type codes.
const BASE: i32 = 0;
const ARRAY_OF_T_STRING: i32 = 85;
const POINTER: std::ops::Range<i32> = 41..60;
/// Bytes before the elements of a vector: byte count, version, number of elements.
const VECTOR_HEADER: usize = 10;

/// A branch with a leaf of a number, of its own or of a list's length, or of characters.
fn single(branch: &Branch, leaf: &Leaf, counter: Option<String>) -> Found {
    let (shape, _) = leaf.dimensions();
    if let Some(dtype) = leaf.dtype() {
        return (numbers(dtype, shape, counter), None);
    }
    let Some(layout) = reduced(leaf) else {
        let found = match leaf.class.as_str() {
            "TLeafC" => Interpretation::String { skip: 0 },
            class => Interpretation::Unsupported(or(&branch.class_name, class)),
        };
        return (found, None);
    };
    let layout = layout.array(&shape);
    let mut form = Form::one(match &counter {
        Some(_) => Layout::Counted { item: Box::new(layout), by: By::Branch, flagged: false },
        None => layout,
    });
    form.counter = counter;
    (Interpretation::Nested, Some(form))
}

fn reduced(leaf: &Leaf) -> Option<Layout> {
    match leaf.class.as_str() {
        "TLeafF16" => Some(Layout::Reduced(Reduced::new(false, &leaf.title))),
        "TLeafD32" => Some(Layout::Reduced(Reduced::new(true, &leaf.title))),
        _ => None,
    }
}

fn numbers(dtype: DType, shape: Vec<u64>, counter: Option<String>) -> Interpretation {
    match counter {
        Some(counter) => Interpretation::Jagged { dtype, inner_shape: shape, skip: 0, counter: Some(counter) },
        None => Interpretation::Flat { dtype, shape },
    }
}

fn or(name: &str, other: &str) -> String {
    if name.is_empty() { other.to_string() } else { name.to_string() }
}

/// A branch that holds an object, a member of one, or a member of all objects in a collection.
fn member(branch: &Branch, leaf: &Leaf, counter: Option<String>, all: &[Branch], streamers: &Streamers) -> Found {
    let parent = branch.parent.and_then(|parent| all.get(parent));
    let of_objects = MEMBERS.contains(&branch.element_type)
        || parent
            .is_some_and(|p| p.class_name == "TClonesArray" || matches!(p.element_type, CLONES_MASTER | STL_MASTER));
    let element = description(branch, streamers);
    let type_name = match element {
        Some(element) if branch.parent.is_some() => element.type_name.clone(),
        _ if branch.parent.is_some() && branch.streamer_type == BASE => last_name(&branch.name).to_string(),
        _ => branch.class_name.clone(),
    };
    let shape = shape_of(leaf, element);
    let lengths = element.and_then(|element| sibling(branch, all, &element.counter));
    let title = element.map_or(branch.title.as_str(), |element| element.title.as_str());
    let Some(mut layout) = serialized(branch, leaf, &shape, title, &type_name, streamers) else {
        return (Interpretation::Unsupported(type_name), None);
    };
    if leaf.code == ARRAY_OF_T_STRING && !of_objects {
        layout = Layout::Framed(Box::new(layout)); // Only in collections do the strings follow each other.
    }
    let plain = linkable(&layout, of_objects, &shape, &counter, leaf);
    let class = layout.has_class();
    let mut form = Form::one(layout);
    form.of_objects = of_objects;
    form.lengths = lengths.clone().filter(|_| of_objects);
    form.counter = if of_objects { counter } else { lengths.or(counter) };
    match plain {
        Some(plain) if form.layout.array_item() == &Layout::Bits => (plain, Some(form)),
        Some(plain) => (plain, None),
        None if class => (Interpretation::Unsupported(type_name), Some(form)),
        None => (Interpretation::Nested, Some(form)),
    }
}

/// The description of the member that a branch holds.
fn description<'a>(branch: &Branch, streamers: &'a Streamers) -> Option<&'a StreamerElement> {
    let name = last_name(&branch.name);
    streamers.member(&branch.class_name, name).or_else(|| streamers.member(&branch.parent_class, name))
}

/// The shape in the leaf's title, which may be only a number of elements, or in the member's description.
fn shape_of(leaf: &Leaf, element: Option<&StreamerElement>) -> Vec<u64> {
    let (shape, _) = leaf.dimensions();
    let elements = |shape: &[u64]| shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
    match element {
        Some(element) if shape.len() == 1 && elements(&element.shape) == elements(&shape) => element.shape.clone(),
        _ => shape,
    }
}

fn last_name(name: &str) -> &str {
    let name = name.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
    name.split('[').next().unwrap_or_default()
}

/// The branch beside this one that holds the member `name`.
fn sibling(branch: &Branch, all: &[Branch], name: &str) -> Option<String> {
    let found = all.iter().find(|b| b.parent == branch.parent && !name.is_empty() && last_name(&b.name) == name);
    found.map(|found| found.path.clone())
}

/// The form of a member's value, or of an object's.
fn serialized(
    branch: &Branch,
    leaf: &Leaf,
    shape: &[u64],
    title: &str,
    type_name: &str,
    streamers: &Streamers,
) -> Option<Layout> {
    let code = leaf.code;
    if POINTER.contains(&code) {
        let item = Box::new(layout::number(code - 40, title)?);
        return Some(Layout::Counted { item, by: By::Branch, flagged: true });
    }
    if (1..40).contains(&code) && code != 20 {
        return Some(layout::number(code % 20, title)?.array(shape));
    }
    let is_member = branch.parent.is_some();
    match layout::of_type(type_name, streamers)? {
        // A string that is a member has a byte count and a version before it.
        Layout::Text if is_member => Some(Layout::Framed(Box::new(Layout::Text)).array(shape)),
        // The members of an object that is a branch of its own follow each other.
        Layout::Struct(mut object) if !is_member && branch.element_type == 0 => {
            object.head = Head::None;
            Some(Layout::Struct(object).array(shape))
        }
        other => Some(other.array(shape)),
    }
}

/// The interpretation of values that can be decoded without their entries.
fn linkable(
    layout: &Layout,
    of_objects: bool,
    shape: &[u64],
    counter: &Option<String>,
    leaf: &Leaf,
) -> Option<Interpretation> {
    let jagged = |dtype: DType, skip| Interpretation::Jagged { dtype, inner_shape: Vec::new(), skip, counter: None };
    match layout {
        _ if of_objects && counter.is_none() => None,
        _ if layout.array_item() == &Layout::Bits || matches!(layout.array_item(), Layout::Number(_)) => {
            Some(numbers(leaf.dtype()?, shape.to_vec(), counter.clone()))
        }
        _ if of_objects || !shape.is_empty() => None,
        Layout::Counted { item, flagged: true, .. } => match **item {
            Layout::Number(dtype) => Some(jagged(dtype, 1)),
            _ => None,
        },
        Layout::Framed(inner) => match &**inner {
            Layout::List(item) => match **item {
                Layout::Number(dtype) => Some(jagged(dtype, VECTOR_HEADER)),
                _ => None,
            },
            Layout::Text => Some(Interpretation::String { skip: 6 }),
            _ => None,
        },
        Layout::Text | Layout::TString => Some(Interpretation::String { skip: 0 }),
        _ => None,
    }
}

/// A list of leaves: numbers at fixed places, or members of any length.
fn record(leaves: &[Leaf], counted: bool) -> Found {
    match fixed(leaves, counted) {
        unknown @ Interpretation::Unsupported(_) => match members(leaves) {
            Some(form) => (Interpretation::Nested, Some(form)),
            None => (unknown, None),
        },
        found => (found, None),
    }
}

fn members(leaves: &[Leaf]) -> Option<Form> {
    let mut fields = Vec::with_capacity(leaves.len());
    for leaf in leaves {
        let item = match leaf.dtype() {
            Some(dtype) => Layout::Number(dtype),
            None if leaf.class == "TLeafC" => Layout::TString,
            None => reduced(leaf)?,
        };
        let (shape, _) = leaf.dimensions();
        let item = if leaf.class == "TLeafC" { item } else { item.array(&shape) };
        let layout = match leaf.counter {
            None => item,
            Some(id) => {
                let by = By::Member(leaves.iter().position(|other| other.id == id)?);
                Layout::Counted { item: Box::new(item), by, flagged: false }
            }
        };
        fields.push((leaf.name.clone(), layout));
    }
    Some(Form::one(Layout::Struct(Box::new(Struct { head: Head::None, fields }))))
}

fn fixed(leaves: &[Leaf], counted: bool) -> Interpretation {
    let mut fields = Vec::with_capacity(leaves.len());
    let mut size = 0usize;
    for leaf in leaves {
        let (shape, named) = leaf.dimensions();
        let Some(dtype) = leaf.dtype().filter(|_| !named && !counted) else {
            let names: Vec<_> = leaves.iter().map(|leaf| format!("{} {}", leaf.class, leaf.title)).collect();
            return Interpretation::Unsupported(format!("leaf list {}", names.join(", ")));
        };
        let len = shape.iter().try_fold(dtype.size(), |n, d| n.checked_mul(usize::try_from(*d).ok()?));
        let Some(end) = len.and_then(|len| size.checked_add(len)) else {
            return Interpretation::Unsupported(format!("leaf {} of more bytes than memory has", leaf.title));
        };
        fields.push(Field { name: leaf.name.clone(), dtype, shape, start: size });
        size = end;
    }
    Interpretation::Record { fields, size }
}
