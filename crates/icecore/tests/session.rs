//! Sessions: a tree, strict selections, reads by path, versions, groups as roots.
#![allow(clippy::unwrap_used)] // the helpers of a test file

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use icecore::catalog::{Repo, Storage};
use icecore::chunk::ArrayMeta;
use icecore::grid::{ErrorKind, Region};
use icecore::session::{Limits, Picks, Session};
use icecore::write::{Data, WriteOptions, Writing};
use serde_json::json;

fn add(repo: &Repo, path: &str, rows: u64) {
    let document = json!({
        "zarr_format": 3, "node_type": "array", "shape": [rows, 6], "data_type": "int32", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 4]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {"units": "m"}, "dimension_names": ["time", null],
    })
    .to_string();
    let writer = repo.writer("main").unwrap();
    writer.add_array(path, document.as_bytes()).unwrap();
    let writing = Writing::new(Arc::new(writer), WriteOptions::default());
    let meta = Arc::new(ArrayMeta::parse(document.as_bytes()).unwrap());
    let bytes: Vec<u8> = (0..rows as i32 * 6).flat_map(i32::to_ne_bytes).collect();
    writing.write(path, &meta, Region::whole(&[rows, 6]), Data::Fixed(Box::new(bytes))).unwrap();
    writing.flush().unwrap();
    writing.writer().commit("added").unwrap();
}

fn made() -> (Repo, Session) {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let storage =
        Storage { url: format!("memory://session-{}", NEXT.fetch_add(1, Ordering::Relaxed)), ..Storage::default() };
    let repo = Repo::create(&storage).unwrap();
    add(&repo, "/g/b", 10);
    add(&repo, "/g/a", 10);
    let session = Session::new(repo.clone(), repo.snapshot(None).unwrap(), "/", Limits::default()).unwrap();
    (repo, session)
}

fn numbers(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|b| i32::from_ne_bytes(b.try_into().unwrap())).collect()
}

#[test]
fn the_tree_and_its_documents() {
    let (_repo, session) = made();
    let paths: Vec<&str> = session.tree().nodes().iter().map(|node| node.path.as_str()).collect();
    assert_eq!(paths, ["/", "/g", "/g/a", "/g/b"]);
    let group = session.node("/g/").unwrap();
    let members: Vec<&str> = session.tree().children(group).map(|(_, node)| node.name()).collect();
    assert_eq!(members, ["a", "b"]);
    let document = session.document(session.node("/g/a").unwrap()).unwrap();
    assert_eq!(document["attributes"]["units"], "m");
    let error = session.node("/g/c").unwrap_err();
    assert_eq!((error.kind, error.hint.is_empty()), (ErrorKind::NotFound, false));
}

#[test]
fn values_by_path_and_text() {
    let (_repo, session) = made();
    assert_eq!(numbers(&session.values("/g/a", "[8:10, 5]").unwrap().bytes), [53, 59]);
    assert_eq!(numbers(&session.values("/g/a", "time=[1, 0]").unwrap().bytes[..4]), [6]);
    assert_eq!(session.values("/g/a", "[0:11, :]").unwrap_err().kind, ErrorKind::Selection);
    assert_eq!(session.values("/g", "[:]").unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn blocks_put_together_are_the_whole() {
    let (_repo, session) = made();
    let view = session.array("/g/a").unwrap();
    assert!(Arc::ptr_eq(&view, &session.array("/g/a").unwrap()), "opened once");
    let picks = Picks::all(&view.meta().shape);
    for block in [4, 24, 100, 10_000] {
        let limits = Limits { block, largest_block: 2 * block, ..Limits::default() };
        let parts = picks.blocks(view.grid(), 4, &limits).map(|part| session.read(&view, &part).unwrap().bytes);
        assert_eq!(numbers(&parts.collect::<Vec<_>>().concat()), (0..60).collect::<Vec<_>>(), "{block}");
    }
}

#[test]
fn versions_and_groups() {
    let (repo, session) = made();
    repo.create_tag("v1", None).unwrap();
    add(&repo, "/later", 4);
    assert!(session.node("/later").is_err(), "a session stays at its version");
    let head = session.at(None).unwrap();
    assert!(head.node("/later").is_ok() && head.at(Some("v1")).unwrap().node("/later").is_err());
    assert_eq!(head.at(Some("v1")).unwrap().snapshot_id(), session.snapshot_id());
    assert_eq!(head.commit().unwrap().message, "added");
    let group = session.group("/g").unwrap();
    assert_eq!(numbers(&group.values("/b", "[1, 0:2]").unwrap().bytes), [6, 7]);
    assert_eq!(group.tree().nodes().len(), 3);
    assert_eq!(session.group("/g/a").unwrap_err().kind, ErrorKind::NotFound);
}
