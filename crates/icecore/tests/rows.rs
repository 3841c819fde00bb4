//! Columns of a table that grow block by block contain the appended values, for any lengths of blocks, chunks and
//! shards.
#![allow(clippy::unwrap_used)] // the helpers of a test file

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use icecore::catalog::{Repo, Storage};
use icecore::chunk::{ArrayMeta, crc32c};
use icecore::grid::{ErrorKind, Index, Mode, Selection};
use icecore::read::{ArrayView, Blobs, Query, ReadOptions, Target, read};
use icecore::text::View;
use icecore::write::{Data, Rows, TableRows, WriteOptions, Writing};

const LITTLE: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;

fn repo() -> Repo {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let url = format!("memory://rows-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    Repo::create(&Storage { url, ..Storage::default() }).unwrap()
}

/// Chunks of `chunk` elements, in shards of `shard` if that is more.
fn array(kind: &str, length: u64, chunk: u64, shard: u64) -> String {
    let inner = format!(r#"{LITTLE},{{"name":"zstd","configuration":{{"level":1,"checksum":false}}}}"#);
    let codecs = if shard > chunk {
        format!(
            r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[{chunk}],"codecs":[{inner}],"index_codecs":[{LITTLE}],"index_location":"end"}}}}"#
        )
    } else {
        inner
    };
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{length}],"data_type":"{kind}","fill_value":0,"attributes":{{}},
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{shard}]}}}},
        "chunk_key_encoding":{{"name":"default","configuration":{{"separator":"/"}}}},"codecs":[{codecs}]}}"#
    )
}

fn meta(json: &str) -> Arc<ArrayMeta> {
    Arc::new(ArrayMeta::parse(json.as_bytes()).unwrap())
}

fn bytes(repo: &Repo, path: &str) -> Vec<u8> {
    let view = ArrayView::open(repo, &repo.snapshot(None).unwrap(), path).unwrap();
    let all = [Index::Slice { start: None, stop: None, step: None }];
    let selection = Selection::resolve(&view.meta().shape, &all, Mode::Numpy).unwrap();
    let mut out = vec![0u8; selection.out_len() as usize * view.meta().dtype.size()];
    let query = Query { array: &view, selection: &selection, target: Target::new(&mut out), blobs: &Blobs::default() };
    read(&[query], &ReadOptions::default()).unwrap();
    out
}

/// Writes a column of int16 and one of float64 in blocks of these lengths, and compares the values read.
fn written(chunk: u64, shard: u64, blocks: &[usize]) {
    let total: usize = blocks.iter().sum();
    let whole: Vec<i64> = (0..total as i64).map(|i| (i * 7919 % 60_001) - 30_000).collect();
    // Some chunks consist of the fill value only.
    let real: Vec<f64> = (0..total).map(|i| if i / 40 % 2 == 0 { 0.0 } else { i as f64 / 3.0 }).collect();
    let repo = repo();
    let writing = Writing::new(Arc::new(repo.writer("main").unwrap()), WriteOptions::default());
    let kinds = [("/a", "int16"), ("/b", "float64")];
    let rows = kinds.map(|(path, kind)| {
        let json = array(kind, 0, chunk, shard);
        writing.writer().add_array(path, json.as_bytes()).unwrap();
        Rows::new(path, meta(&json), 0).unwrap()
    });
    let mut table = TableRows::new(rows.into());
    let mut at = 0;
    for count in blocks {
        let block = [View::Int(&whole[at..at + count]), View::Real(&real[at..at + count])];
        assert_eq!(table.append(&writing, &block).unwrap(), [false, false]);
        at += count;
    }
    let elements: [Vec<u8>; 2] = [
        whole.iter().flat_map(|value| (*value as i16).to_ne_bytes()).collect(),
        real.iter().flat_map(|value| value.to_ne_bytes()).collect(),
    ];
    assert_eq!(table.sums(), elements.each_ref().map(|part| crc32c(0, part)));
    assert_eq!(table.sums(), [0, 0], "the sums start again");
    for (path, kind) in kinds {
        writing.writer().update_array(path, array(kind, total as u64, chunk, shard).as_bytes()).unwrap();
    }
    table.finish(&writing).unwrap();
    writing.commit("rows").unwrap();
    for ((path, _), part) in kinds.iter().zip(&elements) {
        assert!(bytes(&repo, path) == *part, "{path} in chunks of {chunk}, shards of {shard}, blocks {blocks:?}");
    }
    let stored = writing.written().1;
    assert_eq!(stored["/b"].bytes_raw, 8 * total as u64);
}

#[test]
fn blocks_of_any_length_fill_chunks_and_shards() {
    let blocks: [&[usize]; 6] = [&[1], &[160], &[37; 40], &[1000, 0, 1, 40], &[320, 320], &[5, 4000]];
    for (chunk, shard) in [(40, 160), (40, 40), (160, 160), (1, 8)] {
        blocks.iter().for_each(|blocks| written(chunk, shard, blocks));
    }
}

#[test]
fn rows_go_on_where_a_shard_begins() {
    let json = array("int16", 500, 40, 160);
    assert!(Rows::new("/a", meta(&json), 480).is_ok());
    assert_eq!(Rows::new("/a", meta(&json), 500).err().unwrap().kind, ErrorKind::Invalid);
}

#[test]
fn what_has_no_place_is_refused() {
    let repo = repo();
    let writing = Writing::new(Arc::new(repo.writer("main").unwrap()), WriteOptions::default());
    let json = array("int16", 0, 40, 160);
    writing.writer().add_array("/a", json.as_bytes()).unwrap();
    let mut table = TableRows::new(vec![Rows::new("/a", meta(&json), 0).unwrap()]);
    assert_eq!(table.append(&writing, &[View::Int(&[i64::from(i16::MIN), 3])]).unwrap(), [true]);
    for block in [vec![View::Int(&[40_000])], vec![View::Real(&[1.0])], vec![]] {
        assert_eq!(table.append(&writing, &block).unwrap_err().kind, ErrorKind::Internal);
    }
    assert_eq!(
        table.append_elements(&writing, 1, &Data::Fixed(Box::new([0; 2]))).unwrap_err().kind,
        ErrorKind::Internal
    );
}
