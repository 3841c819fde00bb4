//! Several writers at once: nothing is lost, conflicts are named.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should panic")]

mod common;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use common::{Home, array, attributes, paths};
use icecore_catalog::{ChunkPlace, LinkIdentity, Repo, Storage};
use icecore_grid::ErrorKind;
use serde_json::json;

const WORKER: &str = "ICECORE_TEST_WORKER";
const COMMITS: usize = 10;

fn commit_many(storage: &Storage, name: &str) {
    let repo = Repo::open(storage).unwrap();
    for i in 0..COMMITS {
        let writer = repo.writer("main").unwrap();
        writer.add_array(&format!("/common/{name}/a{i}"), &array(&[10], &[5])).unwrap();
        writer
            .set_chunks(&format!("/common/{name}/a{i}"), &[(1, ChunkPlace::Inline(Bytes::from(name.to_owned())))])
            .unwrap();
        writer.commit(&format!("{name} {i}")).unwrap();
    }
}

fn check(repo: &Repo, names: &[String]) {
    let main = repo.snapshot(None).unwrap();
    for name in names {
        for i in 0..COMMITS {
            let table = main.table(&format!("/common/{name}/a{i}")).unwrap();
            assert_eq!(table.get(1), icecore_catalog::Place::Inline(Bytes::from(name.clone())));
        }
    }
    assert_eq!(repo.log(None, None).unwrap().len(), names.len() * COMMITS + 1);
    assert_eq!(main.nodes().len(), 2 + names.len() * (COMMITS + 1));
}

fn spawn(home: &Home, test: &str, name: &str) -> Child {
    let exe = std::env::current_exe().unwrap();
    let job = format!("{name}|{}", home.path().display());
    Command::new(exe)
        .args([test, "--exact", "--ignored"])
        .env(WORKER, job)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn job() -> Option<(String, Storage)> {
    let job = std::env::var(WORKER).ok()?;
    let (name, path) = job.split_once('|')?;
    Some((name.to_owned(), Storage::new(path)))
}

#[test]
#[ignore = "the other processes of four_processes_commit_at_once"]
fn worker_commits() {
    let Some((name, storage)) = job() else { return };
    commit_many(&storage, &name);
}

#[test]
fn four_processes_commit_at_once() {
    let home = Home::new();
    let names: Vec<String> = (0..4).map(|i| format!("p{i}")).collect();
    let children: Vec<Child> = names.iter().map(|name| spawn(&home, "worker_commits", name)).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    check(&home.open(), &names);
}

#[test]
fn four_threads_commit_at_once() {
    for storage in [None, Some(Storage::new("memory://four-threads"))] {
        let home = Home::new();
        let storage = storage.unwrap_or(home.storage());
        let repo = Repo::open(&storage).or_else(|_| Repo::create(&storage)).unwrap();
        let names: Vec<String> = (0..4).map(|i| format!("t{i}")).collect();
        std::thread::scope(|scope| names.iter().for_each(|name| drop(scope.spawn(|| commit_many(&storage, name)))));
        check(&repo, &names);
    }
}

#[test]
#[ignore = "the process that a_killed_writer_leaves_the_last_commit kills"]
fn worker_until_killed() {
    let Some((name, storage)) = job() else { return };
    let repo = Repo::open(&storage).unwrap();
    for i in 0.. {
        let writer = repo.writer("main").unwrap();
        let path = format!("/{name}-{i}");
        writer.add_array(&path, &array(&[3000], &[1])).unwrap();
        let id = writer.put_object(Bytes::from(vec![1; 3000])).unwrap();
        let chunks: Vec<_> = (0..3000).map(|c| (c, ChunkPlace::Object { id, offset: c, length: 1 })).collect();
        writer.set_chunks(&path, &chunks).unwrap();
        writer.commit(&path).unwrap();
    }
}

#[test]
fn a_killed_writer_leaves_the_last_commit() {
    let home = Home::new();
    for round in 0..12u64 {
        let mut child = spawn(&home, "worker_until_killed", &format!("k{round}"));
        std::thread::sleep(Duration::from_millis(20 + 37 * round % 150));
        child.kill().unwrap();
        child.wait().unwrap();
        let repo = home.open();
        let main = repo.snapshot(None).unwrap();
        let arrays: Vec<&str> = main.nodes().iter().filter(|n| n.is_array).map(|n| n.path.as_str()).collect();
        assert_eq!(arrays.len() + 1, repo.log(None, None).unwrap().len());
        for table in main.tables(&arrays).unwrap() {
            assert_eq!(table.len(), 3000);
            let icecore_catalog::Location::Native(name) = &table.objects[0].location else { panic!("a link") };
            assert_eq!(repo.read_object(name, 0, 3000).unwrap(), vec![1; 3000]);
        }
    }
    home.commit_array("/after");
    let report = home.repo.gc(Some(i64::MAX / 2), false).unwrap();
    assert_eq!(report.failed, 0);
    let main = home.main();
    let arrays: Vec<&str> = main.nodes().iter().filter(|n| n.is_array).map(|n| n.path.as_str()).collect();
    assert!(main.tables(&arrays).is_ok());
}

#[test]
fn different_nodes_both_succeed() {
    let home = Home::new();
    let (one, two) = (home.writer(), home.writer());
    for (writer, name) in [(&one, "one"), (&two, "two")] {
        writer.add_array(&format!("/shared/{name}"), &array(&[10], &[5])).unwrap();
        writer.add_group("/shared", &json!({"by": "both"})).unwrap();
        writer.allow_container("https://h/x/").unwrap();
        let (urls, who) = ([format!("https://h/x/{name}")], [LinkIdentity { size: 10, mtime_ns: 1, etag: None }]);
        writer.set_links(&format!("/shared/{name}"), &urls, &who, &[0], &[0], &[0], &[5]).unwrap();
    }
    one.commit("one").unwrap();
    two.commit("two").unwrap();
    let main = home.main();
    let expected = ["/", "/__icecore__", "/__icecore__/sources", "/shared", "/shared/one", "/shared/two"];
    assert_eq!(paths(&main), expected);
    assert!(
        main.source_identity("https://h/x/one").unwrap().is_some()
            && main.source_identity("https://h/x/two").unwrap().is_some()
    );
}

#[test]
fn different_chunks_of_one_array_both_succeed() {
    let home = Home::new();
    home.commit_array("/a");
    let (one, two) = (home.writer(), home.writer());
    one.set_chunks("/a", &[(0, ChunkPlace::Inline(Bytes::from_static(b"1")))]).unwrap();
    two.set_chunks("/a", &[(1, ChunkPlace::Inline(Bytes::from_static(b"2")))]).unwrap();
    one.commit("one").unwrap();
    two.commit("two").unwrap();
    assert_eq!(home.main().table("/a").unwrap().len(), 2);
}

#[test]
fn a_branch_that_is_deleted_meanwhile_takes_no_commit() {
    let home = Home::new();
    home.repo.create_branch("side", None).unwrap();
    let writer = home.repo.writer("side").unwrap();
    writer.add_array("/a", &array(&[10], &[5])).unwrap();
    home.open().delete_branch("side").unwrap();
    let gone = writer.commit("late").unwrap_err();
    assert_eq!(gone.kind, ErrorKind::Conflict);
    assert!(
        gone.message.contains("the branch side has been deleted") && gone.hint.contains("icecore branch"),
        "{gone:?}"
    );
}

#[test]
fn the_same_node_is_a_conflict_that_names_it() {
    let home = Home::new();
    home.commit_array("/a");
    let refused = |first: &dyn Fn(&icecore_catalog::Writer), second: &dyn Fn(&icecore_catalog::Writer), path: &str| {
        let (one, two) = (home.writer(), home.writer());
        first(&one);
        second(&two);
        one.commit("one").unwrap();
        let error = two.commit("two").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Conflict, "{error:?}");
        assert!(error.message.contains(path) && !error.hint.is_empty(), "{error:?}");
    };
    let new = |w: &icecore_catalog::Writer| w.add_array("/new", &array(&[10], &[5])).unwrap();
    refused(&new, &new, "/new");
    let chunk =
        |w: &icecore_catalog::Writer| w.set_chunks("/a", &[(0, ChunkPlace::Inline(Bytes::from_static(b"1")))]).unwrap();
    refused(&chunk, &chunk, "/a");
    let resize = |w: &icecore_catalog::Writer| w.update_array("/a", &array(&[20], &[5])).unwrap();
    refused(&resize, &resize, "/a");
    refused(&resize, &chunk, "/a");
    let group =
        |title: &'static str| move |w: &icecore_catalog::Writer| w.add_group("/g", &json!({"title": title})).unwrap();
    refused(&group("one"), &group("two"), "/g");
    assert_eq!(attributes(&home.main(), "/g"), json!({"title": "one"}));
    let below = |w: &icecore_catalog::Writer| w.add_array("/n/below", &array(&[10], &[5])).unwrap();
    let at = |w: &icecore_catalog::Writer| w.add_array("/n", &array(&[10], &[5])).unwrap();
    refused(&at, &below, "/n");
    let delete = |w: &icecore_catalog::Writer| w.delete("/a").unwrap();
    refused(&chunk, &delete, "/a");
    refused(&delete, &chunk, "/a");
}

#[test]
fn a_child_keeps_its_group_when_another_writer_deletes_it() {
    let home = Home::new();
    home.commit_array("/g/a");
    let (one, two) = (home.writer(), home.writer());
    one.delete("/g").unwrap();
    two.add_array("/g/b", &array(&[10], &[5])).unwrap();
    one.commit("delete").unwrap();
    two.commit("add").unwrap();
    assert_eq!(paths(&home.main()), ["/", "/g", "/g/b"]);
    let (one, two) = (home.writer(), home.writer());
    one.add_array("/g/c", &array(&[10], &[5])).unwrap();
    two.delete("/g").unwrap();
    one.commit("add").unwrap();
    two.commit("delete").unwrap();
    assert_eq!(paths(&home.main()), ["/", "/g", "/g/c"]);
}

#[test]
fn a_lock_that_is_not_given_back_ends_in_an_error() {
    let home = Home::new();
    let file = std::fs::File::open(home.path().join(".icecore.lock")).unwrap();
    file.lock().unwrap();
    let mut storage = home.storage();
    storage.options.insert("lock_timeout".into(), "1".into());
    let writer = Repo::open(&storage).unwrap().writer("main").unwrap();
    writer.add_array("/a", &array(&[10], &[5])).unwrap();
    let error = writer.commit("late").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict);
    assert!(error.hint.contains("lock_timeout"), "{}", error.hint);
    drop(file);
    writer.commit("in time").unwrap();
    assert_eq!(paths(&home.main()), ["/", "/a"]);
}

#[test]
fn objects_are_stored_from_many_threads_at_once() {
    let home = Home::new();
    let writer = home.writer();
    writer.add_array("/a", &array(&[64], &[1])).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let writer = &writer;
            scope.spawn(move || {
                for i in 0..8u8 {
                    let n = thread * 8 + i;
                    let id = writer.put_object(Bytes::from(vec![n; 2000])).unwrap();
                    writer
                        .set_chunks("/a", &[(u64::from(n), ChunkPlace::Object { id, offset: 10, length: 20 })])
                        .unwrap();
                }
            });
        }
    });
    writer.commit("threads").unwrap();
    let main = home.main();
    for n in 0..64u8 {
        assert_eq!(common::bytes(&home.repo, &main, "/a", u64::from(n)).unwrap(), vec![n; 20]);
    }
}
