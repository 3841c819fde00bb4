//! Garbage collection of unreferenced objects.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should panic")]

mod common;

use bytes::Bytes;
use common::{Home, array, bytes, paths};
use icecore_catalog::ChunkPlace;

const LATER: i64 = 4_000_000_000_000_000;

/// Two versions with an object each, and an object of a third writer that was never committed.
fn sample() -> (Home, Vec<String>) {
    let home = Home::new();
    let writer = home.writer();
    writer.add_array("/a", &array(&[4], &[2])).unwrap();
    let mut ids = Vec::new();
    for fill in [1, 2] {
        let id = writer.put_object(Bytes::from(vec![fill; 1000])).unwrap();
        writer.set_chunks("/a", &[(0, ChunkPlace::Object { id, offset: 0, length: 1000 })]).unwrap();
        ids.push(writer.commit("object").unwrap());
    }
    writer.put_object(Bytes::from(vec![3; 5000])).unwrap();
    (home, ids)
}

/// Names and bytes of the copies of the root object, the newest first.
fn copies(home: &Home) -> Vec<(String, u64)> {
    let entries = std::fs::read_dir(home.path().join("overwritten")).unwrap().map(Result::unwrap);
    let root = entries.filter(|e| e.file_name().to_string_lossy().starts_with("repo."));
    let mut found: Vec<_> = root.map(|e| (e.file_name().into_string().unwrap(), e.metadata().unwrap().len())).collect();
    found.sort();
    found
}

/// The number of copies that are removed, and their bytes.
fn old_copies(home: &Home) -> (u64, u64) {
    let old = &copies(home)[1..];
    (old.len() as u64, old.iter().map(|(_, bytes)| bytes).sum())
}

fn objects(home: &Home) -> usize {
    std::fs::read_dir(home.path().join("chunks")).unwrap().count()
}

#[test]
fn what_was_never_committed_goes_and_the_history_stays() {
    let (home, ids) = sample();
    let (_, more) = old_copies(&home);
    let planned = home.repo.gc(Some(LATER), true).unwrap();
    assert!(planned.dry_run);
    assert_eq!((planned.chunks, planned.bytes, objects(&home)), (1, 5000 + more, 3));
    assert_eq!(home.repo.gc(None, false).unwrap().chunks, 0, "young objects are left alone");
    let (_, more) = old_copies(&home);
    let done = home.repo.gc(Some(LATER), false).unwrap();
    assert_eq!((done.dry_run, done.chunks, done.bytes, done.failed, objects(&home)), (false, 1, 5000 + more, 0, 2));
    for (id, fill) in ids.iter().zip([1, 2]) {
        assert_eq!(bytes(&home.repo, &home.repo.snapshot(Some(id)).unwrap(), "/a", 0).unwrap(), vec![fill; 1000]);
    }
}

#[test]
fn a_deleted_branch_leaves_its_objects_to_the_collector() {
    let (home, _) = sample();
    home.repo.gc(Some(LATER), false).unwrap();
    home.repo.create_branch("side", None).unwrap();
    let writer = home.repo.writer("side").unwrap();
    writer.add_array("/side", &array(&[4], &[2])).unwrap();
    let id = writer.put_object(Bytes::from(vec![9; 700])).unwrap();
    writer.set_chunks("/side", &[(0, ChunkPlace::Object { id, offset: 0, length: 700 })]).unwrap();
    let gone = writer.commit("side").unwrap();
    assert_eq!(home.repo.gc(Some(LATER), true).unwrap().chunks, 0);
    home.repo.delete_branch("side").unwrap();
    let planned = home.repo.gc(Some(LATER), true).unwrap();
    let done = home.repo.gc(Some(LATER), false).unwrap();
    assert_eq!((planned.chunks, planned.snapshots, planned.manifests), (1, 1, 1));
    assert_eq!(
        (done.chunks, done.snapshots, done.manifests, done.transaction_logs),
        (1, 1, 1, planned.transaction_logs)
    );
    assert!(!home.path().join("seals").join(&gone).exists());
    assert!(home.open().snapshot(Some(&gone)).is_err());
    assert_eq!(paths(&home.main()), ["/", "/a"]);
}

/// Makes the marks of expired versions older than a lease.
fn end_leases(home: &Home) {
    for mark in std::fs::read_dir(home.path().join("expired")).unwrap() {
        let file = std::fs::File::options().write(true).open(mark.unwrap().path()).unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(3700)).unwrap();
    }
}

#[test]
fn expired_versions_are_let_go_after_an_hour() {
    let (home, ids) = sample();
    home.repo.create_tag("keep", Some(&ids[0])).unwrap();
    let writer = home.writer();
    let id = writer.put_object(Bytes::from(vec![7; 1000])).unwrap();
    writer.set_chunks("/a", &[(0, ChunkPlace::Object { id, offset: 0, length: 1000 })]).unwrap();
    writer.commit("object").unwrap();
    let third = home.commit_array("/b");
    let held = home.repo.held(&[]).unwrap();
    let alone: std::collections::HashMap<_, _> = held.alone.iter().cloned().collect();
    assert!(alone[&ids[1]] >= 1000 && alone[&ids[0]] >= 1000 && alone[&third] < 1000, "{alone:?}");
    let reader = home.open().snapshot(Some(&ids[1])).unwrap();
    let released = home.repo.expire(&[]).unwrap();
    assert!(released.contains(&ids[1]) && !released.contains(&ids[0]) && !released.contains(&third), "{released:?}");
    assert_eq!(released, held.released);
    assert_eq!(home.repo.expire(&[]).unwrap(), Vec::<String>::new());
    let leased = home.repo.gc(Some(LATER), false).unwrap();
    assert_eq!((leased.snapshots, leased.manifests), (0, 0));
    assert_eq!(bytes(&home.repo, &reader, "/a", 0).unwrap(), vec![2; 1000]);
    end_leases(&home);
    let planned = home.repo.gc(Some(LATER), true).unwrap();
    let done = home.repo.gc(Some(LATER), false).unwrap();
    assert_eq!((planned.snapshots, done.snapshots, done.chunks), (2, 2, 1));
    assert!(done.transaction_logs == 0, "its descendants need the logs");
    assert!(done.bytes >= held.freed && held.freed >= 1000, "{} {}", done.bytes, held.freed);
    assert_eq!(std::fs::read_dir(home.path().join("expired")).unwrap().count(), 0);
    let repo = home.open();
    assert_eq!(bytes(&repo, &repo.snapshot(Some("keep")).unwrap(), "/a", 0).unwrap(), vec![1; 1000]);
    assert_eq!(bytes(&repo, &repo.snapshot(None).unwrap(), "/a", 0).unwrap(), vec![7; 1000]);
    assert!(repo.snapshot(Some(&ids[1])).is_err());
    let diff = repo.diff(&ids[0], "main").unwrap();
    assert_eq!((diff.new_arrays, diff.chunks.len()), (vec!["/b".to_owned()], 1));
    home.commit_array("/c");
    assert_eq!(paths(&home.main()), ["/", "/a", "/b", "/c"]);
}

#[test]
fn a_writer_meets_the_changes_of_expired_versions() {
    let (home, ids) = sample();
    let writer = home.writer();
    let side = home.writer();
    let place = |fill| {
        let id = side.put_object(Bytes::from(vec![fill; 1000])).unwrap();
        [(1, ChunkPlace::Object { id, offset: 0, length: 1000 })]
    };
    side.set_chunks("/a", &place(3)).unwrap();
    side.commit("the same chunk").unwrap();
    home.commit_array("/b");
    home.commit_array("/c");
    let released = home.repo.expire(&ids).unwrap();
    assert_eq!(released.len(), 2);
    writer.set_chunks("/a", &place(4)).unwrap();
    assert_eq!(writer.commit("late").unwrap_err().kind, icecore_grid::ErrorKind::Conflict);
}

#[test]
fn remains_of_killed_writers_go_too() {
    let (home, _) = sample();
    for name in ["chunks/ABC#1", "seals/0000#0", "seals/NOSNAPSHOT"] {
        std::fs::write(home.path().join(name), [0; 10]).unwrap();
    }
    std::fs::write(home.path().join("chunks/notes#x"), [0; 10]).unwrap();
    assert_eq!(home.repo.gc(None, false).unwrap().remains, 0);
    let (more, _) = old_copies(&home);
    let planned = home.repo.gc(Some(LATER), true).unwrap();
    let done = home.repo.gc(Some(LATER), false).unwrap();
    assert_eq!((planned.remains, done.remains, done.bytes), (3 + more, 3 + more, planned.bytes));
    assert!(home.path().join("chunks/notes#x").exists() && home.path().join(".icecore.lock").exists());
    assert!(home.main().table("/a").is_ok());
}

#[test]
fn copies_of_the_root_object_do_not_pile_up() {
    let (home, ids) = sample();
    for _ in 0..5 {
        home.commit_array(&format!("/b{}", copies(&home).len()));
    }
    assert_eq!(home.repo.gc(None, false).unwrap().remains, 0, "young ones are left alone");
    let (before, (count, bytes_of_old)) = (copies(&home), old_copies(&home));
    assert!(count >= 5);
    let planned = home.repo.gc(Some(LATER), true).unwrap();
    assert_eq!((planned.remains, planned.bytes >= bytes_of_old), (count, true));
    assert_eq!(copies(&home), before, "nothing was touched");
    let done = home.repo.gc(Some(LATER), false).unwrap();
    assert_eq!((done.remains, done.bytes), (planned.remains, planned.bytes));
    assert!(
        copies(&home).len() <= 2 && copies(&home).contains(&before[0]),
        "the newest is left, to be put back by hand"
    );
    assert_eq!(home.repo.log(Some("main"), None).unwrap().len(), ids.len() + 6);
    assert_eq!(bytes(&home.open(), &home.open().snapshot(Some(&ids[0])).unwrap(), "/a", 0).unwrap(), vec![1; 1000]);
}

#[test]
fn copies_go_also_where_the_list_of_updates_was_continued_in_one() {
    let (home, ids) = sample();
    for round in 0..3 {
        // Icechunk's root object has room for a thousand.
        for i in 0..600 {
            home.repo.create_tag(&format!("{round}-{i}"), None).unwrap();
        }
        home.repo.gc(Some(LATER), false).unwrap();
        assert!(copies(&home).len() <= 3, "{:?}", copies(&home).len());
    }
    assert_eq!(home.open().log(Some("main"), None).unwrap().len(), ids.len() + 1);
    assert_eq!(home.open().tags().unwrap().len(), 1800);
}
