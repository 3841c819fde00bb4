//! Reduced precision end to end: values are within the bound, and counts show that the low planes are not fetched.
#![allow(clippy::unwrap_used)] // the helpers of a test file

use std::sync::Arc;
use std::sync::atomic::Ordering;

use icecore::catalog::{Repo, Storage};
use icecore::chunk::ArrayMeta;
use icecore::grid::{ErrorKind, Index, Mode, Region, Result, Selection};
use icecore::read::{ArrayView, Blobs, Plan, Precision, Query, ReadOptions, Report, Target, plan, read};
use icecore::store::wrap::{Counts, Fault, Wrapped};
use icecore::write::{Data, WriteOptions, Writing};
use serde_json::{Value, json};

const SIDE: u64 = 1024;

fn little() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

fn byteplanes(codecs: impl Fn(u64) -> Value) -> Value {
    let planes = [2, 1, 1].map(|width| json!({"bytes": width, "codecs": codecs(width)}));
    json!({"name": "icecore.byteplanes", "configuration": {"planes": planes}})
}

fn packed(width: u64) -> Value {
    let shuffle = json!({"name": "numcodecs.shuffle", "configuration": {"elementsize": width}});
    json!([little(), shuffle, {"name": "zstd", "configuration": {"level": 1, "checksum": false}}])
}

fn sharded(chunk: u64, codecs: Value) -> Value {
    json!({"name": "sharding_indexed", "configuration": {"chunk_shape": [chunk, chunk], "codecs": codecs,
        "index_codecs": [little(), {"name": "crc32c"}], "index_location": "end"}})
}

fn document(dtype: &str, chunk: u64, codecs: Value) -> Vec<u8> {
    let array = json!({"zarr_format": 3, "node_type": "array", "shape": [SIDE, SIDE], "data_type": dtype, "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [chunk, chunk]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": codecs, "attributes": {}});
    array.to_string().into_bytes()
}

/// A smooth field with noise in the low bytes, and a few numbers that have no relative error.
fn bits(row: u64, column: u64) -> u32 {
    let smooth = 280.0 + (row as f32 / 90.0).sin() * 9.0 + column as f32 / 200.0;
    let mut hash = (row * SIDE + column + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15); // splitmix64: nothing to compress
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let noise = (hash >> 44) as f32 * 4e-7;
    match (row * SIDE + column) % 40_009 {
        0 => 0x0000_0007,
        1 => 0x7f80_0001,
        2 => 0x8000_0000,
        3 => 0x7f80_0000,
        _ => (smooth + noise).to_bits(),
    }
}

struct Field {
    _folder: tempfile::TempDir,
    view: ArrayView,
}

fn stored(document: &[u8]) -> Field {
    store(document, (0..SIDE).flat_map(|r| (0..SIDE).flat_map(move |c| bits(r, c).to_ne_bytes())).collect())
}

fn store(document: &[u8], data: Vec<u8>) -> Field {
    let folder = tempfile::tempdir().unwrap();
    let url = folder.path().join("r.icecore").to_str().unwrap().to_owned();
    let repo = Repo::create(&Storage { url, ..Storage::default() }).unwrap();
    let writer = repo.writer("main").unwrap();
    writer.add_array("/a", document).unwrap();
    let writing = Writing::new(Arc::new(writer), WriteOptions::default());
    let meta = Arc::new(ArrayMeta::parse(document).unwrap());
    let whole = Region { start: vec![0, 0], shape: meta.shape.clone() };
    writing.write("/a", &meta, whole, Data::Fixed(Box::new(data))).unwrap();
    writing.flush().unwrap();
    writing.writer().commit("filled").unwrap();
    let view = ArrayView::open(&repo, &repo.snapshot(None).unwrap(), "/a").unwrap();
    Field { _folder: folder, view }
}

fn asking(precision: Precision) -> ReadOptions {
    ReadOptions { precision, cache: false, ..ReadOptions::default() }
}

fn get(view: &ArrayView, indexes: &[Index], options: &ReadOptions) -> Result<(Vec<u32>, Report)> {
    let selection = Selection::resolve(&view.meta().shape, indexes, Mode::Numpy)?;
    let mut out = vec![0u8; selection.out_len() as usize * 4];
    let blobs = Blobs::default();
    let query = Query { array: view, selection: &selection, target: Target::new(&mut out), blobs: &blobs };
    let report = read(&[query], options)?;
    Ok((out.chunks_exact(4).map(|b| u32::from_ne_bytes(b.try_into().unwrap())).collect(), report))
}

fn check(found: &[u32], rows: std::ops::Range<u64>, columns: std::ops::Range<u64>, bound: f64) {
    let places = rows.flat_map(|r| columns.clone().map(move |c| (r, c)));
    for (place, got) in places.zip(found) {
        let want = bits(place.0, place.1);
        if bound == 0.0 || !f32::from_bits(want).is_normal() {
            assert_eq!(*got, want, "{place:?}");
            continue;
        }
        let (got, want) = (f64::from(f32::from_bits(*got)), f64::from(f32::from_bits(want)));
        assert!((got - want).abs() <= bound * want.abs(), "{place:?}: {got} for {want}");
    }
}

fn layouts() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("chunks", document("float32", 256, json!([byteplanes(packed)]))),
        ("chunks in shards", document("float32", 512, json!([sharded(128, json!([byteplanes(packed)]))]))),
    ]
}

fn part() -> [Index; 2] {
    let slice = |start, stop| Index::Slice { start: Some(start), stop: Some(stop), step: None };
    [slice(100, 700), slice(300, 1000)]
}

#[test]
fn every_layout_and_precision_is_within_its_bound() {
    let precisions = [
        (Precision::Exact, 0.0),
        (Precision::Rtol(0.01), 2f64.powi(-8)),
        (Precision::Rtol(1e-4), 2f64.powi(-16)),
        (Precision::Rtol(1e-9), 0.0),
        (Precision::Rtol(0.0), 0.0),
        (Precision::Bytes(1), 2f64.powi(-8)),
        (Precision::Bytes(3), 2f64.powi(-16)),
        (Precision::Bytes(4), 0.0),
    ];
    for (name, document) in layouts() {
        let field = stored(&document);
        for (precision, bound) in precisions {
            let (found, report) = get(&field.view, &[Index::Ellipsis], &asking(precision)).unwrap();
            assert_eq!(report.rtol_bound, bound, "{name} {precision:?}");
            check(&found, 0..SIDE, 0..SIDE, bound);
            // Twice with the cache: a cached chunk of one precision must not serve another.
            let options = ReadOptions { cache: true, ..asking(precision) };
            for _ in 0..2 {
                let (found, _) = get(&field.view, &part(), &options).unwrap();
                check(&found, 100..700, 300..1000, bound);
            }
        }
    }
}

#[test]
fn low_planes_are_not_fetched() {
    for (name, document) in layouts() {
        let field = stored(&document);
        let bytes = |precision| get(&field.view, &[Index::Ellipsis], &asking(precision)).unwrap().1.bytes_fetched;
        let (top, third, all) = (bytes(Precision::Bytes(2)), bytes(Precision::Bytes(3)), bytes(Precision::Exact));
        assert!(top * 10 < all * 2, "{name}: {top} of {all}");
        assert!(third > top + SIDE * SIDE / 2 && third < all - SIDE * SIDE / 2, "{name}: {top}, {third}, {all}");
    }
}

#[test]
fn a_plan_says_what_the_partial_read_then_does() {
    for (name, document) in layouts() {
        let field = stored(&document);
        let selection = Selection::resolve(&[SIDE, SIDE], &part(), Mode::Numpy).unwrap();
        let blobs = Blobs::default();
        let options = asking(Precision::Rtol(0.01));
        let query = Query { array: &field.view, selection: &selection, target: Target::none(), blobs: &blobs };
        let planned = plan(&[query], &options).unwrap();
        assert!(planned.index_requests > 0, "{name}: the tables have to be read first");
        assert_eq!(planned.rtol_bound, 2f64.powi(-8));
        let (_, report) = get(&field.view, &part(), &options).unwrap();
        let done = (report.requests, report.bytes_fetched);
        assert_eq!(done, (planned.requests, planned.bytes_fetched), "{name}: what was read for the plan is cached");
    }
}

#[test]
fn the_counting_store_sees_two_requests_a_chunk() {
    let field = stored(&document("float32", 1024, json!([byteplanes(packed)])));
    let counts = Arc::new(Counts::default());
    let shared = Arc::clone(&counts);
    let wrap = move |source| Wrapped::source(source, Arc::clone(&shared), Fault::default());
    let options = ReadOptions { wrap: Some(Arc::new(wrap)), ..asking(Precision::Bytes(2)) };
    let (_, report) = get(&field.view, &[Index::Ellipsis], &options).unwrap();
    assert_eq!(counts.requests.load(Ordering::Relaxed), 2, "the table of planes, and the first plane");
    assert_eq!(counts.bytes.load(Ordering::Relaxed), report.bytes_fetched);
    assert!(report.bytes_fetched < SIDE * SIDE, "{report:?}");
    let (_, again) = get(&field.view, &[Index::Ellipsis], &options).unwrap();
    assert_eq!(again.requests, 1, "the table is cached");
}

/// 16 chunks of 1 MB whose top planes have the same length, except in the chunk `rough`. Their lowest bits differ,
/// because equal chunks would be stored once.
fn large(rough: Option<u64>) -> Field {
    let codecs = json!([byteplanes(packed)]);
    let mut array: Value = serde_json::from_slice(&document("float32", 512, codecs)).unwrap();
    array["shape"] = json!([2048, 2048]);
    let noisy = |row: u64, column: u64| rough == Some(row / 512 * 4 + column / 512);
    let value = move |row: u64, column: u64| match noisy(row, column) {
        true => bits(row % SIDE, column % SIDE) ^ (bits(column % SIDE, row % SIDE) << 16 & 0x000f_0000),
        false => bits(row % 512, column % 512) ^ (row / 512 * 4 + column / 512) as u32,
    };
    let data = (0..2048).flat_map(|r| (0..2048).flat_map(move |c| value(r, c).to_ne_bytes())).collect();
    store(array.to_string().as_bytes(), data)
}

/// A remote store is asked for the tables of some chunks, then for the planes of all.
#[test]
fn a_few_tables_foretell_the_others() {
    for (rough, more) in [(None, 0), (Some(9), 1)] {
        let field = large(rough);
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        let wrap = move |source| Wrapped::source(source, Arc::clone(&shared), Fault::default());
        let options = ReadOptions { wrap: Some(Arc::new(wrap)), ..asking(Precision::Bytes(2)) };
        let (found, report) = get(&field.view, &[Index::Ellipsis], &options).unwrap();
        let (exact, _) = get(&field.view, &[Index::Ellipsis], &asking(Precision::Exact)).unwrap();
        for (got, want) in found.iter().zip(&exact).map(|(a, b)| (f32::from_bits(*a), f32::from_bits(*b))) {
            let near = (f64::from(got) - f64::from(want)).abs() <= f64::from(want).abs() / 256.0;
            assert!(near || !want.is_normal() && got.to_bits() == want.to_bits(), "{got} for {want}");
        }
        assert_eq!(report.requests, 8 + 16 + more, "tables of a sample, planes of all, {more} again");
        assert_eq!(counts.requests.load(Ordering::Relaxed), report.requests);
        let sure = plan_of(&field, &options);
        assert_eq!((sure.requests, sure.index_requests), (16, 0), "all tables are known by now");
        assert!(sure.bytes_fetched <= report.bytes_fetched && report.bytes_fetched < 2 * sure.bytes_fetched);
    }
}

fn plan_of(field: &Field, options: &ReadOptions) -> Plan {
    let selection = Selection::resolve(&field.view.meta().shape, &[Index::Ellipsis], Mode::Numpy).unwrap();
    let blobs = Blobs::default();
    plan(&[Query { array: &field.view, selection: &selection, target: Target::none(), blobs: &blobs }], options)
        .unwrap()
}

#[test]
fn without_planes_all_is_read_and_integers_are_refused() {
    let field = stored(&document("float32", 512, packed(4)));
    let (found, report) = get(&field.view, &[Index::Ellipsis], &asking(Precision::Rtol(0.1))).unwrap();
    assert_eq!(report.rtol_bound, 0.0);
    check(&found, 0..SIDE, 0..SIDE, 0.0);
    for bad in [f64::NAN, -0.1, f64::INFINITY] {
        let error = get(&field.view, &part(), &asking(Precision::Rtol(bad))).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Invalid, "{bad}");
    }
    assert_eq!(get(&field.view, &part(), &asking(Precision::Bytes(0))).unwrap_err().kind, ErrorKind::Invalid);
    let whole = stored(&document("uint32", 512, json!([byteplanes(packed)])));
    let error = get(&whole.view, &part(), &asking(Precision::Rtol(0.1))).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert!(error.message.contains("uint32") && error.message.contains("/a"), "{error:?}");
    let (found, _) = get(&whole.view, &[Index::Ellipsis], &asking(Precision::Exact)).unwrap();
    check(&found, 0..SIDE, 0..SIDE, 0.0);
}

/// Every byte that a partial read uses is covered by a checksum.
#[test]
fn damage_is_seen_in_what_is_read() {
    let field = stored(&document("float32", 512, json!([byteplanes(packed)])));
    let (_, report) = get(&field.view, &[Index::Ellipsis], &asking(Precision::Bytes(2))).unwrap();
    for at in [3u64, 40, 67, 80, 5000, report.bytes_fetched / 8] {
        let damaged = stored(&document("float32", 512, json!([byteplanes(packed)])));
        let fault = Fault { flip: Some((at, 4)), ..Fault::default() };
        let wrap = move |source| Wrapped::source(source, Arc::default(), fault.clone());
        let options = ReadOptions { wrap: Some(Arc::new(wrap)), ..asking(Precision::Bytes(2)) };
        let error = get(&damaged.view, &[Index::Ellipsis], &options).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt, "byte {at}");
    }
}
