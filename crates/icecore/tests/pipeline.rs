//! Both pipelines end to end, on repositories in memory: values, and budgets as counts.
#![allow(clippy::unwrap_used)] // the helpers of a test file

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use icecore::catalog::{LinkIdentity, Repo, Storage};
use icecore::chunk::{ArrayMeta, MinMatch, Scratch};
use icecore::grid::{ErrorKind, Index, Mode, Region, Result, Selection};
use icecore::read::{ArrayView, Blobs, Query, ReadOptions, Report, Target, plan, read};
use icecore::store::wrap::{Counts, Fault, Wrapped};
use icecore::verify::{Depth, verify};
use icecore::write::{Data, WriteOptions, Writing};

fn repo() -> Repo {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let url = format!("memory://pipeline-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    Repo::create(&Storage { url, ..Storage::default() }).unwrap()
}

const LITTLE: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;

fn sharded(shape: [u64; 2], shard: [u64; 2], chunk: [u64; 2]) -> String {
    let inner = format!(r#"{LITTLE},{{"name":"zstd","configuration":{{"level":1,"checksum":false}}}}"#);
    let index = format!(r#"{LITTLE},{{"name":"crc32c"}}"#);
    let codecs = format!(
        r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":{chunk:?},"codecs":[{inner}],"index_codecs":[{index}],"index_location":"end"}}}}]"#
    );
    array(shape, shard, &codecs)
}

fn array(shape: [u64; 2], chunk: [u64; 2], codecs: &str) -> String {
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":{shape:?},"data_type":"int32","fill_value":0,"attributes":{{}},
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{chunk:?}}}}},
        "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"/"}}}},"codecs":{codecs}}}"#
    )
}

/// Values that encode their position; no chunk is all zero or compresses to nothing.
fn value(row: u64, column: u64) -> i32 {
    let mixed = (row * 100_003 + column * 17 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 33) as i32 | 1
}

fn filled(json: &str, shape: [u64; 2]) -> (Repo, ArrayView) {
    let repo = repo();
    let writer = repo.writer("main").unwrap();
    writer.add_array("/a", json.as_bytes()).unwrap();
    let writing = Writing::new(Arc::new(writer), WriteOptions::default());
    let meta = Arc::new(ArrayMeta::parse(json.as_bytes()).unwrap());
    let bytes: Vec<u8> =
        (0..shape[0]).flat_map(|r| (0..shape[1]).flat_map(move |c| value(r, c).to_ne_bytes())).collect();
    writing
        .write("/a", &meta, Region { start: vec![0, 0], shape: shape.to_vec() }, Data::Fixed(Box::new(bytes)))
        .unwrap();
    writing.flush().unwrap();
    writing.writer().commit("filled").unwrap();
    let view = ArrayView::open(&repo, &repo.snapshot(None).unwrap(), "/a").unwrap();
    (repo, view)
}

fn slice(start: i64, stop: i64, step: i64) -> Index {
    Index::Slice { start: Some(start), stop: Some(stop), step: Some(step) }
}

fn fetch(view: &ArrayView, indexes: &[Index], options: &ReadOptions) -> Result<(Vec<i32>, Report)> {
    let selection = Selection::resolve(&view.meta().shape, indexes, Mode::Numpy)?;
    let mut out = vec![0u8; selection.out_len() as usize * 4];
    let blobs = Blobs::default();
    let query = Query { array: view, selection: &selection, target: Target::new(&mut out), blobs: &blobs };
    let report = read(&[query], options)?;
    Ok((out.chunks_exact(4).map(|b| i32::from_ne_bytes(b.try_into().unwrap())).collect(), report))
}

fn counting(counts: &Arc<Counts>, fault: Fault) -> ReadOptions {
    let counts = Arc::clone(counts);
    let wrap = move |source| Wrapped::source(source, Arc::clone(&counts), fault.clone());
    ReadOptions { wrap: Some(Arc::new(wrap)), cache: false, ..ReadOptions::default() }
}

#[test]
fn a_box_of_a_sharded_array_has_the_right_values() {
    let shape = [70, 90];
    let (_repo, view) = filled(&sharded(shape, [32, 48], [8, 16]), shape);
    let (got, _) = fetch(&view, &[slice(5, 66, 7), slice(80, 3, -3)], &ReadOptions::default()).unwrap();
    let want: Vec<i32> = (5..66).step_by(7).flat_map(|r| (0..26).map(move |i| value(r, 80 - 3 * i))).collect();
    assert_eq!(got, want);
}

#[test]
fn one_chunk_costs_one_index_and_one_chunk() {
    let shape = [64, 96];
    let (_repo, view) = filled(&sharded(shape, [32, 48], [8, 16]), shape);
    let counts = Arc::new(Counts::default());
    let options = counting(&counts, Fault::default());
    let (got, report) = fetch(&view, &[Index::At(9), slice(16, 32, 1)], &options).unwrap();
    assert_eq!(got, (16..32).map(|c| value(9, c)).collect::<Vec<_>>());
    assert_eq!(counts.requests.load(Ordering::Relaxed), 2);
    assert_eq!(report.requests, 2);
    assert_eq!(report.bytes_fetched, counts.bytes.load(Ordering::Relaxed));
    // 12 inner chunks of a shard: 16 bytes each and a checksum; a chunk is at most its raw size and a frame.
    assert!(report.bytes_fetched <= 12 * 16 + 4 + 8 * 16 * 4 + 64, "{report:?}");
    let (_, again) = fetch(&view, &[Index::At(9), slice(16, 32, 1)], &options).unwrap();
    assert_eq!(again.requests, 1, "the shard's index is cached");
}

#[test]
fn a_full_read_takes_one_request_a_shard_and_its_index() {
    let shape = [64, 96];
    let (_repo, view) = filled(&sharded(shape, [32, 48], [8, 16]), shape);
    let counts = Arc::new(Counts::default());
    let (got, report) = fetch(&view, &[Index::Ellipsis], &counting(&counts, Fault::default())).unwrap();
    assert_eq!(got.len(), 64 * 96);
    assert!((0..64).all(|r| (0..96).all(|c| got[(r * 96 + c) as usize] == value(r, c))));
    assert!(report.requests <= 4 + 4, "{report:?}");
}

#[test]
fn a_plan_says_what_the_read_then_does() {
    let shape = [64, 96];
    let (_repo, view) = filled(&sharded(shape, [32, 48], [8, 16]), shape);
    let selection = Selection::resolve(&view.meta().shape, &[slice(0, 20, 1), slice(0, 96, 5)], Mode::Numpy).unwrap();
    let blobs = Blobs::default();
    let options = counting(&Arc::default(), Fault::default());
    let planned =
        plan(&[Query { array: &view, selection: &selection, target: Target::none(), blobs: &blobs }], &options)
            .unwrap();
    assert_eq!(planned.chunks, 3 * 6);
    assert!(planned.bytes_fetched >= planned.bytes_wanted);
    assert_eq!(planned.bytes_decoded, 18 * 8 * 16 * 4);
    let (_, report) = fetch(&view, &[slice(0, 20, 1), slice(0, 96, 5)], &options).unwrap();
    assert_eq!(
        (report.requests, report.bytes_fetched),
        (planned.requests, planned.bytes_fetched),
        "indexes are cached by now"
    );
}

#[test]
fn the_cache_answers_the_second_partial_read() {
    let shape = [64, 96];
    let (_repo, view) = filled(&sharded(shape, [32, 48], [8, 16]), shape);
    let options = ReadOptions::default();
    let first = fetch(&view, &[Index::At(9), Index::At(17)], &options).unwrap();
    let second = fetch(&view, &[Index::At(10), Index::At(18)], &options).unwrap();
    assert_eq!((first.0[0], second.0[0]), (value(9, 17), value(10, 18)));
    assert_eq!(second.1.requests, 0);
}

/// The next buffers fill while the first are decoded, within the limits on requests and bytes.
#[test]
fn requests_run_ahead_within_their_limits() {
    let shape = [2304, 1024];
    let (_repo, view) = filled(&array(shape, [288, 1024], &format!("[{LITTLE}]")), shape);
    let large = ReadOptions::default().memory;
    for (concurrency, memory, peak) in [(64, large, 8), (3, large, 3), (64, 5 << 19, 2), (64, 1, 1)] {
        let counts = Arc::new(Counts::default());
        let fault = Fault { delay: Duration::from_millis(60), ..Fault::default() };
        let options = ReadOptions { concurrency, memory, ..counting(&counts, fault) };
        let (got, report) = fetch(&view, &[Index::Ellipsis], &options).unwrap();
        assert_eq!((got[0], got.len()), (value(0, 0), 2304 * 1024));
        assert_eq!((report.requests, counts.requests.load(Ordering::Relaxed)), (8, 8), "1.1 MiB each, an object each");
        assert_eq!(counts.peak.load(Ordering::Relaxed), peak, "{concurrency} requests, {memory} bytes");
    }
}

#[test]
fn faults_become_errors_with_a_kind() {
    let shape = [64, 96];
    let (_repo, view) = filled(&sharded(shape, [32, 48], [8, 16]), shape);
    let whole = [Index::Ellipsis];
    let cut = counting(&Arc::default(), Fault { cut: 1, ..Fault::default() });
    assert_eq!(fetch(&view, &whole, &cut).unwrap_err().kind, ErrorKind::Corrupt);
    let (_other, view) = filled(&sharded(shape, [32, 48], [8, 16]), shape);
    let dead = counting(&Arc::default(), Fault { fail_first: u64::MAX, ..Fault::default() });
    assert_eq!(fetch(&view, &whole, &dead).unwrap_err().kind, ErrorKind::Network);
    let flaky = counting(&Arc::default(), Fault { fail_first: 2, delay: Duration::from_millis(1), ..Fault::default() });
    assert_eq!(fetch(&view, &whole, &flaky).unwrap().0.len(), 64 * 96, "two failures are survived");
}

#[test]
fn small_chunks_share_an_object_and_tiny_ones_are_inline() {
    let shape = [400, 100];
    let (_repo, view) = filled(&array(shape, [4, 100], &format!("[{LITTLE}]")), shape);
    assert_eq!(view.table().unwrap().objects.len(), 1, "100 chunks of 1,600 bytes");
    let (got, report) = fetch(&view, &[Index::Ellipsis], &counting(&Arc::default(), Fault::default())).unwrap();
    assert_eq!(got[399 * 100 + 7], value(399, 7));
    assert_eq!(report.requests, 1);
    let (_repo, view) = filled(&array([4, 25], [1, 25], &format!("[{LITTLE}]")), [4, 25]);
    let (got, report) = fetch(&view, &[Index::Ellipsis], &ReadOptions::default()).unwrap();
    assert_eq!((got[99], report.requests), (value(3, 24), 0));
}

#[test]
fn a_clean_repository_verifies() {
    let shape = [64, 96];
    let (repo, _view) = filled(&sharded(shape, [32, 48], [8, 16]), shape);
    let problems =
        verify(&repo, &repo.snapshot(None).unwrap(), Depth { deep: true, history: true }, &|_, _| {}, &false.into())
            .unwrap();
    assert_eq!(problems, []);
}

#[test]
fn of_two_writes_to_a_chunk_the_later_one_stays() {
    let json = array([4, 2000], [4, 2000], &format!("[{LITTLE}]"));
    for _ in 0..50 {
        let repo = repo();
        let writer = repo.writer("main").unwrap();
        writer.add_array("/a", json.as_bytes()).unwrap();
        let writing = Writing::new(Arc::new(writer), WriteOptions::default());
        let meta = Arc::new(ArrayMeta::parse(json.as_bytes()).unwrap());
        for turn in 1..=8i32 {
            let data: Vec<u8> = (0..8000).flat_map(|_| turn.to_ne_bytes()).collect();
            let region = Region { start: vec![0, 0], shape: vec![4, 2000] };
            writing.write("/a", &meta, region, Data::Fixed(Box::new(data))).unwrap();
        }
        writing.flush().unwrap();
        writing.writer().commit("eight turns").unwrap();
        let view = ArrayView::open(&repo, &repo.snapshot(None).unwrap(), "/a").unwrap();
        assert_eq!(fetch(&view, &[Index::At(3), Index::At(5)], &ReadOptions::default()).unwrap().0, [8]);
    }
}

#[test]
fn data_that_does_not_fit_is_refused() {
    let json = sharded([64, 96], [32, 48], [8, 16]);
    let repo = repo();
    let writer = repo.writer("main").unwrap();
    writer.add_array("/a", json.as_bytes()).unwrap();
    let writing = Writing::new(Arc::new(writer), WriteOptions::default());
    let meta = Arc::new(ArrayMeta::parse(json.as_bytes()).unwrap());
    for (start, shape, bytes) in
        [([0, 0], [32, 48], 10), ([1, 0], [31, 48], 31 * 48 * 4), ([32, 48], [64, 48], 64 * 48 * 4)]
    {
        let region = Region { start: start.to_vec(), shape: shape.to_vec() };
        let error = writing.write("/a", &meta, region, Data::Fixed(Box::new(vec![0u8; bytes]))).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Mismatch, "{error:?}");
    }
}

/// zstd's level 3 allows a minimum match of four or five bytes: a shard uses five unless four give clearly fewer bytes,
/// and makes the same choice each time.
#[test]
fn shards_take_the_repetitions_that_suit_their_data() {
    const CHUNKS: u64 = 16;
    const LENGTH: u64 = 36_000;
    let codecs = format!(r#"[{LITTLE},{{"name":"zstd","configuration":{{"level":3,"checksum":false}}}}]"#);
    let index = format!(r#"[{LITTLE},{{"name":"crc32c"}}]"#);
    let sharding = format!(
        r#"[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[1,{LENGTH}],"codecs":{codecs},"index_codecs":{index},"index_location":"end"}}}}]"#
    );
    let json = array([CHUNKS, LENGTH], [CHUNKS, LENGTH], &sharding);
    let meta = Arc::new(ArrayMeta::parse(json.as_bytes()).unwrap());
    // A wave with noise, rounded to 16 bits of mantissa; every third number is one before.
    let noisy = |row, column| {
        let noise = value(row, column) as f32 / i32::MAX as f32;
        ((280.0 + (column as f32 / 17.0).sin() * 8.0 + noise).to_bits() & !0x7f) as i32
    };
    let third = |row, column| if column % 3 == 0 { value(row, column / 300) } else { value(row, column) };
    for (values, best) in [(&noisy as &dyn Fn(u64, u64) -> i32, MinMatch::Five), (&third, MinMatch::Four)] {
        let row = |row| -> Vec<u8> { (0..LENGTH).flat_map(|column| values(row, column).to_ne_bytes()).collect() };
        let bytes = |repeats| -> usize {
            let mut scratch = Scratch::new();
            scratch.min_match = repeats;
            (0..CHUNKS).map(|i| meta.chain.encode(&row(i), &[1, LENGTH], &mut scratch).unwrap().len()).sum()
        };
        let (four, five) = (bytes(MinMatch::Four), bytes(MinMatch::Five));
        assert_eq!(best == MinMatch::Four, 100 * four < 99 * five, "{four} and {five} bytes");
        assert!(four != five);
        let stored: Vec<u64> = (0..2)
            .map(|_| {
                let writer = repo().writer("main").unwrap();
                writer.add_array("/a", json.as_bytes()).unwrap();
                let writing = Writing::new(Arc::new(writer), WriteOptions::default());
                let data: Vec<u8> = (0..CHUNKS).flat_map(row).collect();
                let region = Region { start: vec![0, 0], shape: vec![CHUNKS, LENGTH] };
                writing.write("/a", &meta, region, Data::Fixed(Box::new(data))).unwrap();
                writing.flush().unwrap();
                writing.written().0.bytes_stored
            })
            .collect();
        let index = meta.shard.as_ref().unwrap().index_bytes(CHUNKS as usize);
        assert_eq!(stored, [(bytes(best) + index) as u64; 2]);
    }
}

/// A view whose whole table is loaded keeps it, although the read loads a part for another view of the same array.
#[test]
fn one_view_with_the_whole_table_and_one_with_a_part() {
    const N: u64 = 400_000; // references in several manifests
    let folder = std::env::temp_dir().join(format!("icecore-views-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("sevens.bin");
    std::fs::write(&file, 7i32.to_ne_bytes()).unwrap();
    let storage = Storage { url: folder.join("r").display().to_string(), ..Storage::default() };
    let writer = Repo::create(&storage).unwrap().writer("main").unwrap();
    writer.allow_container(&folder.display().to_string()).unwrap();
    writer.add_array("/a", array([N, 1], [1, 1], &format!("[{LITTLE}]")).as_bytes()).unwrap();
    let modified = std::fs::metadata(&file).unwrap().modified().unwrap();
    let mtime = modified.duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as i64;
    let identity = LinkIdentity { size: 4, mtime_ns: mtime, etag: None };
    let chunks: Vec<u64> = (0..N).collect();
    let (objects, offsets, lengths) = (vec![0; N as usize], vec![0; N as usize], vec![4; N as usize]);
    let url = format!("file://{}", file.display());
    writer.set_links("/a", &[url], &[identity], &objects, &chunks, &offsets, &lengths).unwrap();
    writer.commit("links").unwrap();

    // Each handle has its own cache of tables.
    let open = || {
        let repo = Repo::open(&storage).unwrap();
        ArrayView::open(&repo, &repo.snapshot(None).unwrap(), "/a").unwrap()
    };
    let (whole, part) = (open(), open());
    assert_eq!(whole.table().unwrap().len() as u64, N);
    let at = |row| Selection::resolve(&[N, 1], &[Index::At(row), Index::At(0)], Mode::Numpy).unwrap();
    let (first, last) = (at(5), at(N as i64 - 1));
    let (mut a, mut b) = ([0u8; 4], [0u8; 4]);
    let blobs = Blobs::default();
    let queries = [
        Query { array: &whole, selection: &first, target: Target::new(&mut a), blobs: &blobs },
        Query { array: &part, selection: &last, target: Target::new(&mut b), blobs: &blobs },
    ];
    read(&queries, &ReadOptions::default()).unwrap();
    assert_eq!((i32::from_ne_bytes(a), i32::from_ne_bytes(b)), (7, 7));
    std::fs::remove_dir_all(&folder).unwrap();
}
