//! Interpretation of a branch from its leaves and C++ types.

use crate::branch::Branch;
use crate::cpp_type::{CppType, parse};
use crate::dtype::DType;
use crate::interpretation::{Field, Interpretation};
use crate::leaf::Leaf;
use crate::streamer::Streamers;

/// Sets the interpretation of each branch.
pub(crate) fn interpret(branches: &mut [Branch], streamers: &Streamers) {
    let found: Vec<_> = branches.iter().map(|branch| of(branch, branches, streamers)).collect();
    for (branch, interpretation) in branches.iter_mut().zip(found) {
        branch.interpretation = interpretation;
    }
}

fn of(branch: &Branch, all: &[Branch], streamers: &Streamers) -> Interpretation {
    let counter = match &branch.interpretation {
        Interpretation::CountedBy(name) => Some(name.clone()),
        _ => None,
    };
    if branch.has_children {
        // The master branch of a split TClonesArray holds the number of its objects.
        return match branch.class_name == "TClonesArray" || branch.element_type == CLONES_MASTER {
            true => Interpretation::Flat { dtype: DType::Int32, shape: Vec::new() },
            false => Interpretation::Group,
        };
    }
    match branch.leaves.as_slice() {
        [leaf] => single(branch, leaf, counter, all, streamers),
        [] => Interpretation::Unsupported("no leaf".to_string()),
        leaves => record(leaves, counter.is_some()),
    }
}

/// `TBranchElement::fType` of a branch that counts the objects of a split `TClonesArray`.
const CLONES_MASTER: i32 = 3;
/// `TStreamerInfo` type codes.
const POINTER: std::ops::Range<i32> = 41..60;
const DOUBLE32: i32 = 9;
const FLOAT16: i32 = 19;
const T_STRING: i32 = 65;

fn single(
    branch: &Branch,
    leaf: &Leaf,
    counter: Option<String>,
    all: &[Branch],
    streamers: &Streamers,
) -> Interpretation {
    let (shape, _) = leaf.dimensions();
    if let Some(dtype) = leaf.dtype() {
        return match counter {
            Some(counter) => Interpretation::Jagged { dtype, inner_shape: shape, skip: 0, counter: Some(counter) },
            None => Interpretation::Flat { dtype, shape },
        };
    }
    if branch.streamer_type == T_STRING || leaf.class == "TLeafC" {
        return Interpretation::String { skip: 0 };
    }
    let code = leaf.code % 20;
    let reduced = matches!(leaf.class.as_str(), "TLeafF16" | "TLeafD32");
    if reduced || (leaf.class == "TLeafElement" && leaf.code < 40 && (code == DOUBLE32 || code == FLOAT16)) {
        let name = if leaf.class == "TLeafF16" || code == FLOAT16 { "Float16_t" } else { "Double32_t" };
        return Interpretation::Unsupported(format!("{name} {}", leaf.title));
    }
    if leaf.class != "TLeafElement" {
        return Interpretation::Unsupported(or(&branch.class_name, &leaf.class));
    }
    element(branch, leaf, &shape, all, streamers)
}

fn or(name: &str, other: &str) -> String {
    if name.is_empty() { other.to_string() } else { name.to_string() }
}

/// A branch that holds an object or a member of one.
fn element(branch: &Branch, leaf: &Leaf, shape: &[u64], all: &[Branch], streamers: &Streamers) -> Interpretation {
    let top = branch.parent.is_none();
    let clean = branch.name.rsplit('.').next().unwrap_or_default();
    let clean = clean.split('[').next().unwrap_or_default();
    let member = streamers.member(&branch.class_name, clean);
    let member = member.or_else(|| streamers.member(&branch.parent_class, clean));
    let type_name = match member {
        Some(member) if !top => member.type_name.clone(),
        _ => branch.class_name.clone(),
    };
    // A member counted by another (`T* x; //[n]`) has one byte before its values.
    if POINTER.contains(&leaf.code) && DType::of_streamer(leaf.code - 40).is_some() {
        return match DType::of_streamer(leaf.code - 40) {
            Some(dtype) => Interpretation::Jagged { dtype, inner_shape: Vec::new(), skip: 1, counter: None },
            None => Interpretation::Unsupported(type_name),
        };
    }
    let parent = branch.parent.and_then(|parent| all.get(parent));
    let in_collection = parent.is_some_and(|p| p.class_name == "TClonesArray" || matches!(p.element_type, 3 | 4))
        || matches!(branch.element_type, 31 | 41);
    if !shape.is_empty() || in_collection || leaf.counter.is_some() {
        return Interpretation::Unsupported(type_name);
    }
    match parse(&type_name) {
        Some(CppType::Vector(dtype)) => {
            Interpretation::Jagged { dtype, inner_shape: Vec::new(), skip: 10, counter: None }
        }
        // A string that is a member has a byte count and a version before it.
        Some(CppType::String) => Interpretation::String { skip: if top { 0 } else { 6 } },
        Some(CppType::TString) => Interpretation::String { skip: 0 },
        None => Interpretation::Unsupported(type_name),
    }
}

fn record(leaves: &[Leaf], counted: bool) -> Interpretation {
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
