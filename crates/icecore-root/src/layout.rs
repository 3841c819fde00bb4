//! Serialized forms of values, built from C++ type names and `TStreamerInfo`.

use crate::cpp_type::{self, squeeze_type};
use crate::dtype::DType;
use crate::reduced::Reduced;
use crate::streamer::{Streamer, StreamerElement, Streamers};

/// Serialized form of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Layout {
    Number(DType),
    /// `Double32_t`, `Float16_t`.
    Reduced(Reduced),
    /// `TObject::fBits`: 4 bytes, and 2 more of an object that a `TRef` refers to.
    Bits,
    /// `std::string`: a length of 1 or 5 bytes, then the characters.
    Text,
    /// `TString`: the same, but never with a byte count and a version before it.
    TString,
    /// `char*`: a length of 4 bytes, then the characters.
    Chars,
    /// An array of fixed shape.
    Array(Vec<u64>, Box<Layout>),
    /// A length of 4 bytes, then the elements.
    List(Box<Layout>),
    /// `T* x; //[n]`: as many elements as a counter says, after a flag if `flagged`.
    Counted {
        item: Box<Layout>,
        by: By,
        flagged: bool,
    },
    /// A byte count and a version before the value.
    Framed(Box<Layout>),
    /// Members, one after the other.
    Struct(Box<Struct>),
    /// The base class `TObject`, whose members are not values.
    Object,
}

/// The counter of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// A member before it, by its number.
    Member(usize),
    /// A branch.
    Branch,
}

/// A class, a pair, or a list of leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Struct {
    pub head: Head,
    pub fields: Vec<(String, Layout)>,
}

/// What comes before the members of a struct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Head {
    /// Nothing.
    None,
    /// A byte count and this version; the checksum follows if the version is 0.
    Class { version: i32, checksum: u32 },
    /// Nothing as an element of a map, a byte count and a version elsewhere. The fields have no names.
    Pair,
}

/// Serialized form of an entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    pub layout: Layout,
    /// Whether a byte count and a version come before the values of an entry.
    pub framed: bool,
    /// Whether the entry has the value of this member for each object of a collection.
    pub of_objects: bool,
    /// Path of the branch with the number of objects, or of elements.
    pub counter: Option<String>,
    /// Path of the branch with the number of elements of each object's array.
    pub lengths: Option<String>,
}

impl Form {
    /// A value for each entry.
    pub(crate) fn one(layout: Layout) -> Self {
        let (layout, framed) = match layout {
            Layout::Framed(inner) => (*inner, true),
            other => (other, false),
        };
        Self { layout, framed, of_objects: false, counter: None, lengths: None }
    }
}

impl Layout {
    /// Whether values are numbers, of which arrays have a fixed shape.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Reduced(_) | Self::Bits)
    }

    /// The element of an array, or the value itself.
    pub(crate) fn array_item(&self) -> &Self {
        match self {
            Self::Array(_, item) => item,
            other => other,
        }
    }

    /// Whether objects of classes are among the values.
    #[must_use]
    pub fn has_class(&self) -> bool {
        match self {
            Self::Object => true,
            Self::Struct(inner) => inner.head != Head::Pair || inner.fields.iter().any(|(_, field)| field.has_class()),
            Self::Array(_, item) | Self::List(item) | Self::Framed(item) | Self::Counted { item, .. } => {
                item.has_class()
            }
            _ => false,
        }
    }

    /// An array of this form; no dimensions are the form itself.
    pub(crate) fn array(self, shape: &[u64]) -> Self {
        match self {
            _ if shape.is_empty() => self,
            Self::Framed(inner) => Self::Framed(Box::new(Self::Array(shape.to_vec(), inner))),
            other => Self::Array(shape.to_vec(), Box::new(other)),
        }
    }
}

/// Maximum nesting of types.
const MAX_DEPTH: usize = 24;

/// The form of a member or a branch of type `name`; `None` if it is not known. Containers are [`Layout::Framed`].
pub(crate) fn of_type(name: &str, streamers: &Streamers) -> Option<Layout> {
    let name = squeeze_type(name);
    match inner(&name, streamers, 0)? {
        list @ Layout::List(_) if array_class(&name).is_none() => Some(Layout::Framed(Box::new(list))),
        other => Some(other),
    }
}

/// The form of an element of a container.
fn inner(name: &str, streamers: &Streamers, depth: usize) -> Option<Layout> {
    if depth > MAX_DEPTH {
        return None;
    }
    if let Some(dtype) = cpp_type::number(name) {
        return Some(Layout::Number(dtype));
    }
    match name {
        "string" => return Some(Layout::Text),
        "TString" => return Some(Layout::TString),
        "Double32_t" | "Float16_t" => return Some(Layout::Reduced(Reduced::new(name == "Double32_t", ""))),
        _ => {}
    }
    let Some((template, arguments)) = cpp_type::template(name) else { return class(name, streamers, depth) };
    let argument = |number: usize| inner(arguments.get(number)?, streamers, depth + 1);
    match template {
        "vector" | "list" | "forward_list" | "deque" | "set" | "multiset" | "unordered_set" | "unordered_multiset"
        | "ROOT::VecOps::RVec" | "ROOT::RVec" => Some(Layout::List(Box::new(argument(0)?))),
        "map" | "multimap" | "unordered_map" | "unordered_multimap" => {
            Some(Layout::List(Box::new(pair(Head::Pair, ("0", "1"), (argument(0)?, argument(1)?)))))
        }
        "bitset" => Some(Layout::List(Box::new(Layout::Number(DType::Bool)))),
        _ => class(name, streamers, depth),
    }
}

fn pair(head: Head, names: (&str, &str), values: (Layout, Layout)) -> Layout {
    let fields = vec![(names.0.to_string(), values.0), (names.1.to_string(), values.1)];
    Layout::Struct(Box::new(Struct { head, fields }))
}

/// Classes whose streamers write something else than their members.
const CUSTOM: [&str; 16] = [
    "TRef",
    "TRefArray",
    "TClonesArray",
    "TObjArray",
    "TList",
    "TMap",
    "THashList",
    "TCollection",
    "TBits",
    "TArray",
    "TQObject",
    "TStreamerInfo",
    "TFolder",
    "TTree",
    "TDirectory",
    "TUUID",
];

/// The form of an object.
fn class(name: &str, streamers: &Streamers, depth: usize) -> Option<Layout> {
    if let Some(dtype) = array_class(name) {
        return Some(Layout::List(Box::new(Layout::Number(dtype))));
    }
    if name == "TDatime" {
        let fields = vec![("fDatime".to_string(), Layout::Number(DType::UInt32))];
        return Some(Layout::Struct(Box::new(Struct { head: Head::None, fields })));
    }
    let info = streamers.only(name).filter(|_| depth < MAX_DEPTH && !CUSTOM.contains(&name))?;
    let fields = members(info, streamers, depth + 1)?;
    let head = Head::Class { version: info.version, checksum: info.checksum };
    Some(Layout::Struct(Box::new(Struct { head, fields })))
}

/// The elements of `TArrayF` and the like.
fn array_class(name: &str) -> Option<DType> {
    Some(match name {
        "TArrayC" => DType::Int8,
        "TArrayS" => DType::Int16,
        "TArrayI" => DType::Int32,
        "TArrayL" | "TArrayL64" => DType::Int64,
        "TArrayF" => DType::Float32,
        "TArrayD" => DType::Float64,
        _ => return None,
    })
}

/// The bases and members of a class in the order of the file.
fn members(info: &Streamer, streamers: &Streamers, depth: usize) -> Option<Vec<(String, Layout)>> {
    let mut fields: Vec<(String, Layout)> = Vec::with_capacity(info.elements.len());
    for element in &info.elements {
        let layout = if element.type_name == "BASE" {
            base(&element.name, streamers, depth)?
        } else {
            let counter = fields.iter().position(|(name, _)| *name == element.counter);
            member(element, counter.map(By::Member), streamers, depth)?
        };
        fields.push((element.name.clone(), layout));
    }
    Some(fields)
}

fn base(name: &str, streamers: &Streamers, depth: usize) -> Option<Layout> {
    match name {
        "TObject" => Some(Layout::Object),
        _ => class(&squeeze_type(name), streamers, depth + 1),
    }
}

/// `TStreamerInfo` type codes.
const COUNTER: i32 = 6;
const CHARS: i32 = 7;
const DOUBLE32: i32 = 9;
const BITS: i32 = 15;
const FLOAT16: i32 = 19;

/// The form of a number with this code; `title` has the range.
pub(crate) fn number(code: i32, title: &str) -> Option<Layout> {
    match code {
        COUNTER => Some(Layout::Number(DType::Int32)),
        CHARS => Some(Layout::Chars),
        DOUBLE32 | FLOAT16 => Some(Layout::Reduced(Reduced::new(code == DOUBLE32, title))),
        BITS => Some(Layout::Bits),
        _ => DType::of_streamer(code).map(Layout::Number),
    }
}

/// The form of a member; `by` is the counter of an array of any length.
pub(crate) fn member(element: &StreamerElement, by: Option<By>, streamers: &Streamers, depth: usize) -> Option<Layout> {
    let (code, shape) = (element.code, element.shape.as_slice());
    match code {
        1..=19 => number(code, &element.title).map(|item| item.array(shape)),
        21..=39 => number(code - 20, &element.title).map(|item| item.array(shape)),
        41..=59 => {
            let item = Box::new(number(code - 40, &element.title)?);
            Some(Layout::Counted { item, by: by?, flagged: true })
        }
        // Objects, strings and containers, and arrays of them (code + 20).
        61 | 62 | 65 | 67 | 81 | 82 | 85 | 87 | 300 | 320 | 365 | 385 => {
            let layout = inner(&squeeze_type(&element.type_name), streamers, depth)?;
            let framed = matches!(layout, Layout::List(_)) && code >= 300;
            let framed = framed || (matches!(layout, Layout::Text) && code >= 300);
            Some(if framed { Layout::Framed(Box::new(layout)) } else { layout }.array(shape))
        }
        66 | 86 => Some(Layout::Object),
        _ => None,
    }
}
