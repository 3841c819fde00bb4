//! Nodes, chunks and commits.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should panic")]

mod common;

use bytes::Bytes;
use common::{Home, array, attributes, bytes, document, paths};
use icecore_catalog::{ChunkPlace, Place};
use icecore_grid::ErrorKind;
use serde_json::json;

#[test]
fn chunks_inline_in_shared_objects_and_missing() {
    let home = Home::new();
    let writer = home.writer();
    writer.add_array("/g/a", &array(&[10, 10], &[5, 4])).unwrap();
    let id = writer.put_object(Bytes::from_static(b"firstsecond")).unwrap();
    let object = |offset, length| ChunkPlace::Object { id, offset, length };
    let chunks = [(0, object(0, 5)), (5, object(5, 6)), (2, ChunkPlace::Inline(Bytes::from_static(b"tiny")))];
    writer.set_chunks("/g/a", &chunks).unwrap();
    let expected =
        [Some("first"), None, Some("tiny"), None, None, Some("second"), None].map(|t| t.map(|t| t.as_bytes().to_vec()));
    let live = writer.snapshot().unwrap();
    writer.commit("chunks").unwrap();
    for snapshot in [live, home.main()] {
        let read: Vec<_> = (0..7).map(|flat| bytes(&home.repo, &snapshot, "/g/a", flat)).collect();
        assert_eq!(read, expected);
        let table = snapshot.table("/g/a").unwrap();
        assert_eq!((table.len(), table.objects.len()), (3, 1));
    }
    assert!(home.path().join(id.name()).is_file());
    writer.set_chunks("/g/a", &[(0, ChunkPlace::Missing)]).unwrap();
    writer.commit("erase").unwrap();
    assert_eq!(home.main().table("/g/a").unwrap().get(0), Place::Missing);
    assert_eq!(home.main().table("/g/a").unwrap().len(), 2);
}

#[test]
fn chunks_that_cannot_be() {
    let home = Home::new();
    let writer = home.writer();
    writer.add_array("/a", &array(&[10], &[5])).unwrap();
    writer.add_group("/g", &json!({})).unwrap();
    let inline = |flat| [(flat, ChunkPlace::Inline(Bytes::from_static(b"x")))];
    assert_eq!(writer.set_chunks("/a", &inline(2)).unwrap_err().kind, ErrorKind::Invalid);
    assert_eq!(writer.set_chunks("/a", &[(0, ChunkPlace::Inline(Bytes::new()))]).unwrap_err().kind, ErrorKind::Invalid);
    assert_eq!(writer.set_chunks("/b", &inline(0)).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(writer.set_chunks("/__icecore__", &inline(0)).unwrap_err().kind, ErrorKind::Invalid);
    assert_eq!(writer.set_chunks("a", &inline(0)).unwrap_err().kind, ErrorKind::Invalid);
    let id = writer.put_object(Bytes::from_static(b"x")).unwrap();
    let object = |offset, length| [inline(0)[0].clone(), (1, ChunkPlace::Object { id, offset, length })];
    assert_eq!(writer.set_chunks("/a", &object(0, 0)).unwrap_err().kind, ErrorKind::Invalid);
    assert_eq!(writer.set_chunks("/a", &object(u64::MAX, 2)).unwrap_err().kind, ErrorKind::Invalid);
    writer.commit("none").unwrap();
    let snapshot = home.main();
    assert!(snapshot.table("/a").unwrap().is_empty());
    assert_eq!(snapshot.table("/g").unwrap_err().kind, ErrorKind::Mismatch);
    assert_eq!(snapshot.table("/b").unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn scalar_and_empty_arrays() {
    let home = Home::new();
    let writer = home.writer();
    writer.add_array("/scalar", &array(&[], &[])).unwrap();
    writer.add_array("/empty", &array(&[0], &[5])).unwrap();
    let one = [(0, ChunkPlace::Inline(Bytes::from_static(b"7")))];
    writer.set_chunks("/scalar", &one).unwrap();
    assert_eq!(writer.set_chunks("/empty", &one).unwrap_err().kind, ErrorKind::Invalid);
    writer.commit("edges").unwrap();
    assert_eq!(bytes(&home.repo, &home.main(), "/scalar", 0).unwrap(), b"7");
    assert!(home.main().table("/empty").unwrap().is_empty());
}

#[test]
fn metadata_documents_are_kept_verbatim() {
    let home = Home::new();
    let odd = format!("{}  ", document(&[3], &[3])).replace("\"K\"", "\"\u{212a} / \\u00b0\"");
    home.writer().add_array("/a", odd.as_bytes()).unwrap();
    let writer = home.writer();
    writer.add_array("/a", odd.as_bytes()).unwrap();
    writer.commit("odd").unwrap();
    assert_eq!(home.main().node("/a").unwrap().zarr_json, odd.as_bytes());
}

#[test]
fn groups_come_by_themselves_and_can_be_described() {
    let home = Home::new();
    let writer = home.writer();
    writer.add_array("/a/b/c", &array(&[3], &[3])).unwrap();
    assert_eq!(paths(&writer.snapshot().unwrap()), ["/", "/a", "/a/b", "/a/b/c"]);
    writer.add_group("/a", &json!({"title": "A"})).unwrap();
    writer.add_group("/", &json!({"root": true})).unwrap();
    assert!(writer.exists("/a/b/c").unwrap() && writer.exists("/a").unwrap() && !writer.exists("/x").unwrap());
    writer.commit("tree").unwrap();
    let main = home.main();
    assert_eq!(paths(&main), ["/", "/a", "/a/b", "/a/b/c"]);
    assert_eq!((attributes(&main, "/a"), attributes(&main, "/")), (json!({"title": "A"}), json!({"root": true})));
    // Repeating a call changes nothing, and groups that were created implicitly can be completed.
    writer.add_group("/a", &json!({"title": "A"})).unwrap();
    writer.add_group("/a", &json!({})).unwrap();
    assert_eq!(writer.commit("nothing").unwrap(), main.id());
    writer.add_group("/a/b", &json!({"title": "B"})).unwrap();
    writer.commit("complete").unwrap();
    assert_eq!(attributes(&home.main(), "/a/b"), json!({"title": "B"}));
    assert_eq!(writer.add_group("/a", &json!({"title": "other"})).unwrap_err().kind, ErrorKind::Exists);
    assert_eq!(writer.add_group("/a/b/c", &json!({})).unwrap_err().kind, ErrorKind::Exists);
    assert_eq!(writer.add_group("/a/b/c/d", &json!({})).unwrap_err().kind, ErrorKind::Exists);
    assert_eq!(writer.add_array("/a/b", &array(&[3], &[3])).unwrap_err().kind, ErrorKind::Exists);
    assert_eq!(writer.add_array("/a/b/c/d", &array(&[3], &[3])).unwrap_err().kind, ErrorKind::Exists);
    assert_eq!(writer.add_group("/x", &json!([1])).unwrap_err().kind, ErrorKind::Invalid);
    assert_eq!(writer.add_array("/x", b"{}").unwrap_err().kind, ErrorKind::Format);
}

#[test]
fn attributes_change_alone() {
    let home = Home::new();
    let writer = home.writer();
    writer.add_array("/g/a", &array(&[10], &[5])).unwrap();
    writer.set_chunks("/g/a", &[(1, ChunkPlace::Inline(Bytes::from_static(b"x")))]).unwrap();
    writer.add_group("/g", &json!({"a": 1})).unwrap();
    writer.set_attributes("/g", &json!({"a": 2})).unwrap();
    writer.commit("1").unwrap();
    writer.set_attributes("/g", &json!({"a": 3})).unwrap();
    writer.set_attributes("/g/a", &json!({"units": "m"})).unwrap();
    assert_eq!(writer.set_attributes("/x", &json!({})).unwrap_err().kind, ErrorKind::NotFound);
    writer.commit("2").unwrap();
    let main = home.main();
    assert_eq!((attributes(&main, "/g"), attributes(&main, "/g/a")), (json!({"a": 3}), json!({"units": "m"})));
    assert_eq!(bytes(&home.repo, &main, "/g/a", 1).unwrap(), b"x");
}

#[test]
fn an_array_grows_and_shrinks_around_its_chunks() {
    let home = Home::new();
    let writer = home.writer();
    writer.add_array("/a", &array(&[4, 4], &[2, 2])).unwrap();
    let chunk = |flat: u64| (flat, ChunkPlace::Inline(Bytes::from(format!("{flat}"))));
    writer.set_chunks("/a", &[chunk(0), chunk(1), chunk(2), chunk(3)]).unwrap();
    writer.commit("2 x 2").unwrap();
    writer.update_array("/a", &array(&[4, 6], &[2, 2])).unwrap();
    writer.set_chunks("/a", &[(5, ChunkPlace::Inline(Bytes::from_static(b"new")))]).unwrap();
    let text = |snapshot: &icecore_catalog::Snapshot| -> Vec<String> {
        (0..6)
            .map(|f| bytes(&home.repo, snapshot, "/a", f).map_or("-".into(), |b| String::from_utf8(b).unwrap()))
            .collect()
    };
    assert_eq!(text(&writer.snapshot().unwrap()), ["0", "1", "-", "2", "3", "new"]);
    writer.commit("2 x 3").unwrap();
    assert_eq!(text(&home.main()), ["0", "1", "-", "2", "3", "new"]);
    writer.update_array("/a", &array(&[2, 6], &[2, 2])).unwrap();
    assert_eq!(text(&writer.snapshot().unwrap())[..3], ["0", "1", "-"]);
    writer.commit("1 x 3").unwrap();
    assert_eq!(home.main().table("/a").unwrap().len(), 2);
    assert_eq!(writer.update_array("/a", &array(&[2], &[2])).unwrap_err().kind, ErrorKind::Mismatch);
    assert_eq!(writer.update_array("/b", &array(&[2], &[2])).unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn deleting() {
    let home = Home::new();
    let writer = home.writer();
    for path in ["/a/x", "/a/b/y", "/ab/z", "/c"] {
        writer.add_array(path, &array(&[4], &[2])).unwrap();
    }
    writer.add_group("/a/g", &json!({"k": 1})).unwrap();
    writer.commit("all").unwrap();
    writer.add_group("/a/late", &json!({})).unwrap();
    writer.delete("/a").unwrap();
    assert!(!writer.exists("/a").unwrap() && !writer.exists("/a/late").unwrap() && writer.exists("/ab/z").unwrap());
    assert_eq!(writer.delete("/a").unwrap_err().kind, ErrorKind::NotFound);
    writer.add_array("/a", &array(&[6], &[2])).unwrap();
    writer.commit("a is an array now").unwrap();
    assert_eq!(paths(&home.main()), ["/", "/a", "/ab", "/ab/z", "/c"]);
    writer.delete("/").unwrap();
    writer.commit("empty").unwrap();
    assert_eq!(paths(&home.main()), ["/"]);
}

#[test]
fn a_replaced_array_has_none_of_the_old_chunks() {
    let home = Home::new();
    let writer = home.writer();
    writer.add_array("/a", &array(&[4], &[2])).unwrap();
    writer.set_chunks("/a", &[(0, ChunkPlace::Inline(Bytes::from_static(b"old")))]).unwrap();
    writer.commit("old").unwrap();
    writer.delete("/a").unwrap();
    writer.add_array("/a", &array(&[4], &[2])).unwrap();
    assert_eq!(writer.snapshot().unwrap().table("/a").unwrap().get(0), Place::Missing);
    writer.commit("new").unwrap();
    assert_eq!(home.main().table("/a").unwrap().get(0), Place::Missing);
}

#[test]
fn uncommitted_changes_are_seen_by_nobody_else() {
    let home = Home::new();
    let writer = home.writer();
    writer.add_array("/a", &array(&[4], &[2])).unwrap();
    assert!(home.main().nodes().is_empty());
    let (one, two) = (writer.snapshot().unwrap(), writer.snapshot().unwrap());
    assert_ne!(one.id(), two.id());
    drop(writer);
    assert!(home.main().nodes().is_empty());
}

#[test]
fn tables_are_cached_by_version_and_never_mixed_up() {
    let home = Home::new();
    let writer = home.writer();
    writer.add_array("/a", &array(&[4], &[2])).unwrap();
    writer.add_array("/b", &array(&[4], &[2])).unwrap();
    let mut ids = Vec::new();
    for round in [b"one", b"two"] {
        writer.set_chunks("/a", &[(0, ChunkPlace::Inline(Bytes::from_static(round)))]).unwrap();
        ids.push(writer.commit("round").unwrap());
    }
    let snapshot = |id: &str| home.repo.snapshot(Some(id)).unwrap();
    let first = snapshot(&ids[0]).table("/a").unwrap();
    assert_eq!(snapshot(&ids[1]).table("/a").unwrap().get(0), Place::Inline(Bytes::from_static(b"two")));
    assert_eq!(first.get(0), Place::Inline(Bytes::from_static(b"one")));
    assert!(std::sync::Arc::ptr_eq(&first, &snapshot(&ids[0]).table("/a").unwrap()));
    let both = snapshot(&ids[0]).tables(&["/b", "/a"]).unwrap();
    assert_eq!((both[0].len(), both[1].len()), (0, 1));
    assert_eq!(snapshot(&ids[0]).tables(&["/b", "/x"]).unwrap_err().kind, ErrorKind::NotFound);
}

#[test]
fn diffs() {
    let home = Home::new();
    let writer = home.writer();
    writer.add_array("/a", &array(&[4, 4], &[2, 2])).unwrap();
    writer.add_array("/gone", &array(&[4], &[2])).unwrap();
    let one = writer.commit("1").unwrap();
    writer.set_chunks("/a", &[(3, ChunkPlace::Inline(Bytes::from_static(b"x")))]).unwrap();
    writer.add_array("/g/new", &array(&[4], &[2])).unwrap();
    writer.set_attributes("/", &json!({"t": 1})).unwrap();
    writer.delete("/gone").unwrap();
    let two = writer.commit("2").unwrap();
    let diff = home.repo.diff(&one, &two).unwrap();
    assert_eq!((diff.new_groups, diff.new_arrays), (vec!["/g".to_owned()], vec!["/g/new".to_owned()]));
    assert_eq!((diff.deleted_arrays, diff.updated_groups), (vec!["/gone".to_owned()], vec!["/".to_owned()]));
    assert_eq!(diff.chunks, [("/a".to_owned(), vec![vec![1, 1]])]);
    assert!(diff.updated_arrays.is_empty() && diff.deleted_groups.is_empty());
    let back = home.repo.diff("main", &one).unwrap();
    assert_eq!((back.deleted_groups, back.deleted_arrays), (vec!["/g".to_owned()], vec!["/g/new".to_owned()]));
    assert_eq!((back.new_arrays, back.chunks), (vec!["/gone".to_owned()], vec![("/a".to_owned(), vec![vec![1, 1]])]));
    assert_eq!(home.repo.diff("main", &two).unwrap(), icecore_catalog::Diff::default());
}
