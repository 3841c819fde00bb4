//! Delete a repository: commits of others stay, and a late writer gets an error.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should panic")]

mod common;

use std::fs::File;
use std::time::Duration;

use bytes::Bytes;
use common::{Home, array};
use icecore_catalog::{Repo, Storage};
use icecore_grid::ErrorKind;

#[test]
fn a_bare_repository_goes_with_its_folder() {
    let home = Home::new();
    assert!(home.repo.remove(true).unwrap());
    assert!(!home.path().exists());
    assert_eq!(home.repo.remove(true).unwrap_err().kind, ErrorKind::NotFound);
    Home { repo: Repo::create(&home.storage()).unwrap(), dir: home.dir }.commit_array("/a");
}

#[test]
fn whatever_was_committed_or_named_stays() {
    let named: [fn(&Repo); 4] = [
        |repo| commit(repo, "main"),
        |repo| {
            repo.create_branch("side", None).unwrap();
            commit(repo, "side");
        },
        |repo| repo.create_tag("v1", None).unwrap(),
        |repo| {
            repo.create_branch("side", None).unwrap();
            commit(repo, "side");
            repo.delete_branch("side").unwrap();
        },
    ];
    for change in named {
        let home = Home::new();
        change(&home.open());
        assert!(!home.repo.remove(true).unwrap());
        assert!(home.main().nodes().len() < 3 && home.repo.remove(false).unwrap());
        assert!(!home.path().exists());
    }
}

fn commit(repo: &Repo, branch: &str) {
    let writer = repo.writer(branch).unwrap();
    writer.add_array("/a", &array(&[10], &[5])).unwrap();
    writer.commit("a").unwrap();
}

#[test]
fn it_waits_for_a_commit_that_is_under_way() {
    let home = Home::new();
    let lock = File::options().write(true).open(home.path().join(".icecore.lock")).unwrap();
    lock.lock().unwrap();
    let mut storage = home.storage();
    storage.options.insert("lock_timeout".into(), "0".into());
    let impatient = Repo::open(&storage).unwrap();
    assert_eq!(impatient.remove(true).unwrap_err().kind, ErrorKind::Conflict);
    std::thread::scope(|scope| {
        let removing = scope.spawn(|| home.repo.remove(true));
        std::thread::sleep(Duration::from_millis(50));
        assert!(home.path().join("repo").exists());
        lock.unlock().unwrap();
        assert!(removing.join().unwrap().unwrap());
    });
}

#[test]
fn a_writer_notices_and_leaves_nothing_behind() {
    for is_made_anew in [false, true] {
        let home = Home::new();
        let late = home.open();
        let writer = late.writer("main").unwrap();
        writer.add_array("/a", &array(&[10], &[5])).unwrap();
        assert!(home.repo.remove(true).unwrap());
        if is_made_anew {
            Repo::create(&home.storage()).unwrap();
        } else {
            assert_eq!(writer.put_object(Bytes::from(vec![1; 100])).unwrap_err().kind, ErrorKind::NotFound);
        }
        assert_eq!(writer.commit("late").unwrap_err().kind, ErrorKind::NotFound);
        assert_eq!(late.create_tag("v1", None).unwrap_err().kind, ErrorKind::NotFound);
        assert_eq!(late.create_branch("side", None).unwrap_err().kind, ErrorKind::NotFound);
        assert_eq!(late.gc(None, false).unwrap_err().kind, ErrorKind::NotFound);
        assert_eq!(home.path().exists(), is_made_anew);
        if is_made_anew {
            assert_eq!(home.open().log(None, None).unwrap().len(), 1);
        }
    }
}

/// Threads that make, fill and remove repositories at one place: a commit that succeeded is never lost.
#[test]
fn no_commit_is_lost_to_a_removal() {
    let dir = tempfile::tempdir().unwrap();
    let place = Storage::new(dir.path().join("r").display().to_string());
    for _ in 0..20 {
        std::thread::scope(|scope| {
            let committing = scope.spawn(|| {
                let repo = Repo::open(&place).or_else(|_| Repo::create(&place)).ok()?;
                let writer = repo.writer("main").ok()?;
                writer.add_array("/a", &array(&[10], &[5])).ok()?;
                writer.commit("a").ok()
            });
            let removing = scope.spawn(|| Repo::open(&place).and_then(|repo| repo.remove(true)));
            let (kept, removed) = (committing.join().unwrap(), removing.join().unwrap());
            if let Some(id) = kept {
                assert_eq!(Repo::open(&place).unwrap().snapshot(None).unwrap().id(), id, "{removed:?}");
            }
        });
        if let Ok(repo) = Repo::open(&place) {
            assert!(repo.remove(false).unwrap());
        }
        let _nothing_is_left = std::fs::remove_dir(dir.path().join("r"));
        assert!(!dir.path().join("r").exists());
    }
}
