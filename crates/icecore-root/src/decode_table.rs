//! Every element type in every container: bytes as ROOT writes them, and the values that they were made from.
#![allow(clippy::unwrap_used)]

use crate::cursor::Cursor;
use crate::decode::Column;
use crate::dtype::DType;
use crate::layout::{By, Form, Head, Layout, Struct};
use crate::reduced::Reduced;

type MakeColumn = dyn Fn(&[u64]) -> Column;

/// An element type: its form, the bytes of a value, and the column of values.
struct Element {
    name: String,
    layout: Layout,
    write: Box<dyn Fn(u64) -> Vec<u8>>,
    column: Box<MakeColumn>,
}

fn numbers(dtype: DType, shape: &[u64], bytes: Vec<u8>) -> Column {
    Column::Numbers { dtype, shape: shape.to_vec(), bytes }
}

fn text(n: u64) -> String {
    // Every fifth is longer than a length of one byte can say.
    if n % 5 == 4 { "z".repeat(300 + n as usize) } else { format!("t{n}") }
}

fn short_length(text: &str) -> Vec<u8> {
    match text.len() {
        len @ 0..255 => vec![len as u8],
        len => [&[255], &(len as u32).to_be_bytes()[..]].concat(),
    }
}

fn elements() -> Vec<Element> {
    let mut all = Vec::new();
    let kinds = [
        DType::Bool,
        DType::Int8,
        DType::Int16,
        DType::Int32,
        DType::Int64,
        DType::UInt8,
        DType::UInt16,
        DType::UInt32,
        DType::UInt64,
        DType::Float32,
        DType::Float64,
    ];
    for dtype in kinds {
        let value = move |n: u64| if dtype == DType::Bool { n % 2 } else { n.wrapping_mul(0x9e37_79b9_7f4a_7c15) };
        all.push(Element {
            name: dtype.name().to_string(),
            layout: Layout::Number(dtype),
            write: Box::new(move |n| value(n).to_be_bytes()[8 - dtype.size()..].to_vec()),
            column: Box::new(move |all| {
                let bytes = all.iter().flat_map(|n| value(*n).to_le_bytes()[..dtype.size()].to_vec()).collect();
                numbers(dtype, &[], bytes)
            }),
        });
    }
    let exact = |n: u64| (n % 64) as f64 / 2.0;
    let reduced = |name: &str, double: bool, title: &str, write: fn(f64) -> Vec<u8>| Element {
        name: name.to_string(),
        layout: Layout::Reduced(Reduced::new(double, title)),
        write: Box::new(move |n| write(exact(n))),
        column: Box::new(move |all| match double {
            true => numbers(DType::Float64, &[], all.iter().flat_map(|n| exact(*n).to_ne_bytes()).collect()),
            false => numbers(DType::Float32, &[], all.iter().flat_map(|n| (exact(*n) as f32).to_ne_bytes()).collect()),
        }),
    };
    let mantissa = |value: f64, bits: u32| {
        let raw = (value as f32).to_bits();
        let kept = ((raw & 0x7f_ffff) >> (23 - bits)) as u16;
        [&[(raw >> 23) as u8], &kept.to_be_bytes()[..]].concat()
    };
    all.push(reduced("Double32_t", true, "", |v| (v as f32).to_be_bytes().to_vec()));
    all.push(reduced("Double32_t[0,32,16]", true, "[0,32,16]", |v| ((v * 2048.0) as u32).to_be_bytes().to_vec()));
    all.push(reduced("Float16_t[-32,32,12]", false, "[-32,32,12]", |v| {
        (((v + 32.0) * 64.0) as u32).to_be_bytes().to_vec()
    }));
    all.push(Element {
        write: Box::new(move |n| mantissa(exact(n), 12)),
        ..reduced("Float16_t", false, "", |_| Vec::new())
    });
    all.push(Element {
        write: Box::new(move |n| mantissa(exact(n), 10)),
        ..reduced("Double32_t[0,0,10]", true, "[0,0,10]", |_| Vec::new())
    });
    all.push(Element {
        name: "fBits".to_string(),
        layout: Layout::Bits,
        write: Box::new(|n| match n % 3 {
            0 => 0x0300_0010u32.to_be_bytes().into_iter().chain([0, 7]).collect(),
            _ => 0x0300_0000u32.to_be_bytes().to_vec(),
        }),
        column: Box::new(|all| {
            let bits = |n: &u64| if n.is_multiple_of(3) { 0x0300_0010u32 } else { 0x0300_0000 };
            numbers(DType::UInt32, &[], all.iter().flat_map(|n| bits(n).to_ne_bytes()).collect())
        }),
    });
    for (name, layout) in [("string", Layout::Text), ("TString", Layout::TString), ("char*", Layout::Chars)] {
        let long = layout == Layout::Chars;
        all.push(Element {
            name: name.to_string(),
            layout,
            write: Box::new(move |n| {
                let text = text(n);
                let length = if long { (text.len() as u32).to_be_bytes().to_vec() } else { short_length(&text) };
                [length, text.into_bytes()].concat()
            }),
            column: Box::new(|all| Column::Text {
                lengths: all.iter().map(|n| text(*n).len() as u32).collect(),
                bytes: all.iter().flat_map(|n| text(*n).into_bytes()).collect(),
            }),
        });
    }
    all
}

/// A form, its entries with the value of their counter, the lengths of counted arrays, and the column.
type Case = (Form, Vec<(Vec<u8>, Option<u32>)>, Vec<u32>, Column);

fn list(lengths: Vec<u32>, content: Column) -> Column {
    Column::List { lengths, content: Box::new(content) }
}

fn framed(version: u16, value: &[u8]) -> Vec<u8> {
    let count = 0x4000_0000 | (value.len() as u32 + 2);
    [&count.to_be_bytes(), &version.to_be_bytes()[..], value].concat()
}

fn be(n: u32) -> Vec<u8> {
    n.to_be_bytes().to_vec()
}

/// Objects per entry, and the numbers that their values are made from.
const OBJECTS: [u64; 5] = [0, 2, 1, 0, 3];

fn objects() -> Vec<Vec<u64>> {
    let mut next = 0..;
    OBJECTS.iter().map(|n| next.by_ref().take(*n as usize).collect()).collect()
}

fn counts() -> Vec<u32> {
    OBJECTS.iter().map(|n| *n as u32).collect()
}

fn of_objects(layout: Layout) -> Form {
    Form { of_objects: true, ..Form::one(layout) }
}

impl Element {
    fn bytes(&self, all: &[u64]) -> Vec<u8> {
        all.iter().flat_map(|n| (self.write)(*n)).collect()
    }

    fn one(&self) -> Case {
        let entries = (0..6).map(|n| (self.bytes(&[n]), None)).collect();
        (Form::one(self.layout.clone()), entries, Vec::new(), (self.column)(&[0, 1, 2, 3, 4, 5]))
    }

    fn array(&self, of_each: bool) -> Case {
        let layout = self.layout.clone().array(&[2, 3]);
        let all: Vec<u64> = (0..36).collect();
        let values = match (self.column)(&all) {
            Column::Numbers { dtype, bytes, .. } => numbers(dtype, &[2, 3], bytes),
            texts => list(vec![2; 6], list(vec![3; 12], texts)),
        };
        if !of_each {
            let entries = all.chunks(6).map(|part| (self.bytes(part), None)).collect();
            return (Form::one(layout), entries, Vec::new(), values);
        }
        let entries = objects().into_iter().map(|part| {
            let all: Vec<u64> = part.iter().flat_map(|n| n * 6..n * 6 + 6).collect();
            (self.bytes(&all), Some(part.len() as u32))
        });
        (of_objects(layout), entries.collect(), Vec::new(), list(counts(), values))
    }

    fn of_objects(&self, counted: bool) -> Case {
        let entries =
            objects().into_iter().map(|part| (self.bytes(&part), counted.then_some(part.len() as u32))).collect();
        let all: Vec<u64> = (0..6).collect();
        (of_objects(self.layout.clone()), entries, Vec::new(), list(counts(), (self.column)(&all)))
    }

    /// `T* x; //[n]`: a flag before each array, none after a flag of 0.
    fn counted(&self, of_each: bool) -> Case {
        let layout = Layout::Counted { item: Box::new(self.layout.clone()), by: By::Branch, flagged: true };
        let parts: Vec<Vec<u64>> = vec![vec![0, 1], vec![], vec![2], vec![], vec![3, 4, 5], vec![6]];
        let lengths: Vec<u32> = parts.iter().map(|part| part.len() as u32).collect();
        let write = |part: &Vec<u64>| [vec![u8::from(!part.is_empty())], self.bytes(part)].concat();
        let column = list(lengths.clone(), (self.column)(&[0, 1, 2, 3, 4, 5, 6]));
        if !of_each {
            let entries = parts.iter().map(|part| (write(part), Some(part.len() as u32))).collect();
            return (Form::one(layout), entries, Vec::new(), column);
        }
        let each = objects();
        let entries = each.iter().map(|all| {
            let bytes = all.iter().flat_map(|n| write(&parts[*n as usize])).collect();
            (bytes, Some(all.len() as u32))
        });
        (of_objects(layout), entries.collect(), lengths, list(counts(), column))
    }

    fn lists(&self, of_each: bool) -> Case {
        let layout = Layout::Framed(Box::new(Layout::List(Box::new(self.layout.clone()))));
        let all: Vec<u64> = (0..6).collect();
        let write = |part: &[u64]| [be(part.len() as u32), self.bytes(part)].concat();
        if !of_each {
            let entries = objects().into_iter().map(|part| (framed(9, &write(&part)), None)).collect();
            return (Form::one(layout), entries, Vec::new(), list(counts(), (self.column)(&all)));
        }
        // One header for the lists of all objects.
        let each = [vec![0, 1], vec![], vec![2], vec![3], vec![4, 5], vec![]];
        let entries = objects().into_iter().map(|part| {
            let bytes: Vec<u8> = part.iter().flat_map(|n| write(&each[*n as usize])).collect();
            (if part.is_empty() { Vec::new() } else { framed(9, &bytes) }, Some(part.len() as u32))
        });
        let lengths = each.iter().map(|part| part.len() as u32).collect();
        let column = list(counts(), list(lengths, (self.column)(&all)));
        (of_objects(layout), entries.collect(), Vec::new(), column)
    }

    fn lists_of_lists(&self) -> Case {
        let inner = Layout::List(Box::new(self.layout.clone()));
        let layout = Layout::Framed(Box::new(Layout::List(Box::new(inner))));
        let entries = objects().into_iter().map(|part| {
            let lists: Vec<u8> = part.iter().flat_map(|n| [be(2), self.bytes(&[*n, n + 1])].concat()).collect();
            (framed(9, &[be(part.len() as u32), lists].concat()), None)
        });
        let all: Vec<u64> = (0..6).flat_map(|n| [n, n + 1]).collect();
        (Form::one(layout), entries.collect(), Vec::new(), list(counts(), list(vec![2; 6], (self.column)(&all))))
    }

    /// A map of numbers to this type: pairs, or all keys before all values.
    fn map(&self, memberwise: bool) -> Case {
        let fields = vec![("0".to_string(), Layout::Number(DType::Int32)), ("1".to_string(), self.layout.clone())];
        let pair = Layout::Struct(Box::new(Struct { head: Head::Pair, fields }));
        let layout = Layout::Framed(Box::new(Layout::List(Box::new(pair))));
        let entries = objects().into_iter().map(|part| {
            let len = be(part.len() as u32);
            let keys: Vec<u8> = part.iter().flat_map(|n| be(*n as u32)).collect();
            let pairs: Vec<u8> = part.iter().flat_map(|n| [be(*n as u32), self.bytes(&[*n])].concat()).collect();
            let values = self.bytes(&part);
            let values = if self.layout == Layout::Text { framed(9, &values) } else { values };
            let bytes = match memberwise {
                true => framed(0x4009, &[vec![0, 0, 1, 2, 3, 4], len, keys, values].concat()),
                false => framed(9, &[len, pairs].concat()),
            };
            (bytes, None)
        });
        let all: Vec<u64> = (0..6).collect();
        let keys = numbers(DType::Int32, &[], all.iter().flat_map(|n| (*n as u32).to_ne_bytes()).collect());
        let fields = vec![("0".to_string(), keys), ("1".to_string(), (self.column)(&all))];
        let column = list(counts(), Column::Record { tuple: true, fields });
        (Form::one(layout), entries.collect(), Vec::new(), column)
    }

    /// Maps of each object, all keys before all values; the class's version comes once.
    fn maps_of_objects(&self, counted: bool) -> Case {
        let fields = vec![("0".to_string(), Layout::Number(DType::Int16)), ("1".to_string(), self.layout.clone())];
        let pair = Layout::Struct(Box::new(Struct { head: Head::Pair, fields }));
        let layout = Layout::Framed(Box::new(Layout::List(Box::new(pair))));
        let each = [vec![0, 1], vec![], vec![2], vec![3], vec![4, 5], vec![]];
        let map = |part: &Vec<u64>| {
            let keys: Vec<u8> = part.iter().flat_map(|n| (*n as u16).to_be_bytes()).collect();
            let values = self.bytes(part);
            let headed = self.layout == Layout::Text && !part.is_empty();
            [be(part.len() as u32), keys, if headed { framed(9, &values) } else { values }].concat()
        };
        let entries = objects().into_iter().map(|part| {
            let maps = part.iter().flat_map(|n| map(&each[*n as usize])).collect::<Vec<u8>>();
            let bytes = if part.is_empty() { Vec::new() } else { framed(0x4009, &[vec![0, 1], maps].concat()) };
            (bytes, counted.then_some(part.len() as u32))
        });
        let all: Vec<u64> = (0..6).collect();
        let keys = numbers(DType::Int16, &[], all.iter().flat_map(|n| (*n as u16).to_ne_bytes()).collect());
        let fields = vec![("0".to_string(), keys), ("1".to_string(), (self.column)(&all))];
        let lengths = each.iter().map(|part| part.len() as u32).collect();
        let column = list(counts(), list(lengths, Column::Record { tuple: true, fields }));
        (of_objects(layout), entries.collect(), Vec::new(), column)
    }

    /// An object of a class with a `TObject` base that a `TRef` refers to in every second entry.
    fn member(&self, version: u16) -> Case {
        let fields = vec![("TObject".to_string(), Layout::Object), ("x".to_string(), self.layout.clone())];
        let head = Head::Class { version: i32::from(version), checksum: 77 };
        let layout = Layout::Struct(Box::new(Struct { head, fields }));
        let entries = (0..6u64).map(|n| {
            let referenced = n % 2 == 0;
            let bits = if referenced { [be(0x10), vec![0, 3]].concat() } else { be(0) };
            let checksum = if version == 0 { be(77) } else { Vec::new() };
            let object = [checksum, vec![0, 1], be(0), bits, self.bytes(&[n])].concat();
            (framed(version, &object), None)
        });
        let fields = vec![("x".to_string(), (self.column)(&[0, 1, 2, 3, 4, 5]))];
        (Form::one(layout), entries.collect(), Vec::new(), Column::Record { tuple: false, fields })
    }

    fn cases(&self) -> Vec<(&'static str, Case)> {
        vec![
            ("one value", self.one()),
            ("an array", self.array(false)),
            ("an array of each object", self.array(true)),
            ("a value of each object", self.of_objects(true)),
            ("a value of each object, uncounted", self.of_objects(false)),
            ("a counted array", self.counted(false)),
            ("a counted array of each object", self.counted(true)),
            ("a vector", self.lists(false)),
            ("a vector of each object", self.lists(true)),
            ("a vector of vectors", self.lists_of_lists()),
            ("a map", self.map(false)),
            ("a map, member by member", self.map(true)),
            ("a map of each object", self.maps_of_objects(true)),
            ("a map of each object, uncounted", self.maps_of_objects(false)),
            ("a member of an object", self.member(3)),
            ("a member of an object without a version", self.member(0)),
        ]
    }
}

/// Decodes all entries, one after the other, or each within its bytes.
fn decode((form, entries, lengths, _): &Case, whole: bool) -> icecore_grid::Result<Column> {
    let (mut column, mut lengths) = (form.column(), lengths.iter());
    let all: Vec<u8> = entries.iter().flat_map(|(bytes, _)| bytes.clone()).collect();
    let mut row = Cursor::new(&all);
    for (bytes, count) in entries {
        match whole {
            true => form.entry(&mut Cursor::new(bytes), true, *count, &mut lengths, &mut column)?,
            false => form.entry(&mut row, false, *count, &mut lengths, &mut column)?,
        }
    }
    Ok(column)
}

#[test]
fn every_element_type_comes_back_from_every_container() {
    for element in elements() {
        for (container, case) in element.cases() {
            let name = || format!("{} as {container}", element.name);
            assert_eq!(decode(&case, true).unwrap_or_else(|error| panic!("{}: {error}", name())), case.3, "{}", name());
            let counted = case.1.iter().all(|(_, count)| count.is_some()) || !case.0.of_objects;
            // Empty collections of lists have no header, which a row of entries without offsets can't do without.
            if counted && !["a vector of each object", "a map of each object"].contains(&container) {
                assert_eq!(decode(&case, false).unwrap(), case.3, "{} in a row", name());
            }
        }
    }
}

#[test]
fn an_entry_that_is_cut_or_too_long_is_refused() {
    for element in elements() {
        for (container, mut case) in element.cases() {
            let last = case.1.last().unwrap().0.clone();
            for change in [-1isize, 1] {
                let mut bytes = last.clone();
                bytes.resize((last.len() as isize + change) as usize, 0);
                case.1.last_mut().unwrap().0 = bytes;
                // A byte more or less may be one number more or less.
                if container != "a value of each object, uncounted" {
                    assert!(decode(&case, true).is_err(), "{} as {container}, {change} bytes", element.name);
                }
            }
        }
    }
}

#[test]
fn lengths_beyond_the_bytes_are_refused_without_allocating() {
    let layout = Layout::Framed(Box::new(Layout::List(Box::new(Layout::List(Box::new(Layout::Text))))));
    let bytes = framed(9, &[be(u32::MAX), be(u32::MAX)].concat());
    let case =
        (Form::one(layout), vec![(bytes, None)], Vec::new(), list(Vec::new(), numbers(DType::Bool, &[], vec![])));
    assert!(decode(&case, true).is_err());
}
