//! Small files written by uproot (`tests/data/make.py`): their values, and thousands of damaged copies of them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use icecore_grid::ErrorKind;
use icecore_root::{Branch, DType, Expander, File, Interpretation, fuzzing};

fn tree() -> Vec<u8> {
    zstd::decode_all(&include_bytes!("data/tree.root.zst")[..]).unwrap()
}

fn ntuple() -> Vec<u8> {
    zstd::decode_all(&include_bytes!("data/ntuple.root.zst")[..]).unwrap()
}

fn elements(file: &File<Vec<u8>>, branch: &Branch, size: DType) -> Vec<u8> {
    let (mut out, mut expander) = (Vec::new(), Expander::default());
    for number in 0..branch.baskets.len() {
        file.basket(branch, number, &mut expander).unwrap().elements(size, 0, size.size(), &mut out).unwrap();
    }
    out
}

#[test]
fn reads_the_branches_and_values_of_a_tree() {
    let file = File::open(tree()).unwrap();
    let tree = file.tree(file.key("folder/events").unwrap()).unwrap();
    assert_eq!((tree.name.as_str(), tree.entries), ("events", 200));
    let names: Vec<_> = tree.branches.iter().map(|b| b.path.as_str()).collect();
    assert_eq!(names, ["x", "m", "name", "njet", "jet"]);
    assert_eq!(tree.branches[1].interpretation, Interpretation::Flat { dtype: DType::Int16, shape: vec![2, 3] });
    let ranges: Vec<_> = tree.branches[0].baskets.iter().map(|b| (b.first_entry, b.end_entry)).collect();
    assert_eq!(ranges, [(0, 100), (100, 200)]);
    let expected: Vec<u8> = (0..200u32).flat_map(|n| (n as f32 / 4.0).to_ne_bytes()).collect();
    assert_eq!(elements(&file, &tree.branches[0], DType::Float32), expected);
    let expected: Vec<u8> = (0..1200i16).flat_map(i16::to_ne_bytes).collect();
    assert_eq!(elements(&file, &tree.branches[1], DType::Int16), expected);
    let basket = file.basket(&tree.branches[2], 1, &mut Expander::default()).unwrap();
    let (mut text, mut lengths) = (Vec::new(), Vec::new());
    basket.strings(0, &mut text, &mut lengths).unwrap();
    assert!(text.starts_with(b"event 100event 101"));
    let basket = file.basket(&tree.branches[4], 0, &mut Expander::default()).unwrap();
    assert_eq!(basket.counts(0, 8).unwrap()[..6], [0, 1, 2, 3, 0, 1]);
    assert_eq!(basket.counts_from(&[1; 100], 8).unwrap_err().kind, ErrorKind::Mismatch);
}

#[test]
fn reads_every_cluster_group_of_an_ntuple() {
    let file = File::open(ntuple()).unwrap();
    let ntuple = file.ntuple(file.key("events").unwrap()).unwrap();
    assert_eq!((ntuple.entries, ntuple.clusters.len()), (400, 2));
    let field = ntuple.fields.iter().position(|f| f.path == "i").unwrap();
    let (id, _) = ntuple.columns_of(field).next().unwrap();
    let mut found = Vec::new();
    for cluster in 0..2 {
        found.extend(ntuple.read_column(file.source(), cluster, id).unwrap());
    }
    let expected: Vec<u8> = (0..400i64).flat_map(|n| (n * 3 - 100).to_ne_bytes()).collect();
    assert!(found == expected);
}

/// Damages copies of `original` and passes them to `read`; returns the number of reads without an error.
fn mutated(original: &[u8], rounds: u64, read: impl Fn(Vec<u8>) -> bool) -> usize {
    let mut sound = 0;
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for round in 0..rounds {
        let mut bytes = original.to_vec();
        if round % 4 == 0 {
            bytes.truncate(random(original.len()));
        }
        for _ in 0..=random(4) {
            if !bytes.is_empty() {
                let at = random(bytes.len());
                bytes[at] = match random(4) {
                    0 => 0,
                    1 => 255,
                    2 => bytes[at] ^ 1 << random(8),
                    _ => random(256) as u8,
                };
            }
        }
        sound += usize::from(read(bytes));
    }
    sound
}

#[test]
fn damaged_trees_give_errors_not_panics() {
    mutated(&tree(), 4000, |bytes| fuzzing::file(bytes).is_ok());
}

#[test]
fn damaged_ntuples_give_errors_not_panics() {
    mutated(&ntuple(), 4000, |bytes| fuzzing::file(bytes).is_ok());
}

#[test]
fn damaged_pages_and_envelopes_are_noticed() {
    let file = File::open(ntuple()).unwrap();
    let whole = file.ntuple(file.key("events").unwrap()).unwrap();
    let page = whole.pages[0];
    let mut bytes = ntuple();
    bytes[page.offset as usize + 3] ^= 1;
    let damaged = File::open(bytes).unwrap();
    let same = damaged.ntuple(damaged.key("events").unwrap()).unwrap();
    let (column, _) =
        (0..whole.columns.len()).map(|c| (c, whole.pages_of(0, c))).find(|(_, p)| p.first() == Some(&page)).unwrap();
    let error = same.read_column(damaged.source(), 0, column).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert!(error.message.contains("page 0 at offset"), "{error}");
}

#[test]
fn every_truncation_of_a_tree_is_an_error_or_reads_what_is_left() {
    let bytes = tree();
    for len in (0..bytes.len()).step_by(97) {
        let _ = fuzzing::file(bytes[..len].to_vec());
    }
    assert_eq!(File::open(bytes[..100].to_vec()).err().unwrap().kind, ErrorKind::Corrupt);
    assert_eq!(File::open(b"PK\x03\x04 no ROOT file".to_vec()).err().unwrap().kind, ErrorKind::Format);
}

/// A directory whose only key is a directory with the first one's record.
#[test]
fn a_directory_that_contains_itself_is_an_error() {
    let mut bytes = b"root".to_vec();
    for number in [61400i32, 100, 400, 0, 0, 0, 58] {
        bytes.extend(number.to_be_bytes()); // version, begin, end, free list, its bytes and count, bytes of the name
    }
    bytes.resize(158, 0);
    bytes.extend(5i16.to_be_bytes());
    bytes.extend([0; 8]);
    for number in [100i32, 58, 100, 0, 200] {
        bytes.extend(number.to_be_bytes()); // bytes of keys and name, own, parent's and keys' offset
    }
    bytes.resize(200, 0);
    let key = |class: &str, offset: i32| {
        let mut out = Vec::new();
        out.extend(60i32.to_be_bytes());
        out.extend(4i16.to_be_bytes());
        out.extend([0; 8]);
        out.extend(30i16.to_be_bytes());
        out.extend(1i16.to_be_bytes());
        out.extend(offset.to_be_bytes());
        out.extend([0; 4]);
        out.push(class.len() as u8);
        out.extend(class.bytes());
        out.extend([1, b'd', 0]);
        out
    };
    bytes.extend(key("TFile", 100));
    bytes.extend(1i32.to_be_bytes());
    bytes.extend(key("TDirectory", 128)); // its record is at 128 + 30 = 158
    bytes.resize(400, 0);
    let error = File::open(bytes).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert!(error.message.contains("contains itself"), "{error}");
}

#[test]
fn damaged_tree_objects_and_baskets_give_errors_not_panics() {
    let file = File::open(tree()).unwrap();
    let key = file.key("folder/events").unwrap();
    let object = file.object(key, &mut Expander::default()).unwrap();
    let key_len = key.key_len as usize;
    assert!(fuzzing::tree(&object, key_len).is_ok());
    let sound = mutated(&object, 20_000, |bytes| fuzzing::tree(&bytes, key_len).is_ok());
    assert!((1..20_000).contains(&sound), "{sound} read");
    let bytes = tree();
    for branch in &fuzzing::tree(&object, key_len).unwrap().branches {
        let range = branch.baskets[0];
        let stored = &bytes[range.offset as usize..(range.offset + range.len) as usize];
        mutated(stored, 4000, |bytes| fuzzing::basket(&bytes).is_ok());
    }
}
