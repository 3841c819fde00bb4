//! Damaged repository files: an error with a kind or the right data, never a panic or wrong references.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should panic")]

mod common;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use common::{Home, array, identity};
use icecore_catalog::{ChunkPlace, Place, Repo, Storage};
use icecore_grid::{ErrorKind, Result};
use serde_json::json;

/// Reads everything that a reader can see of a repository.
type Content = Vec<(String, Vec<u8>, Vec<(u64, Place)>, Vec<String>)>;

fn content(storage: &Storage) -> Result<Content> {
    let main = Repo::open(storage)?.snapshot(None)?;
    let arrays: Vec<&str> = main.nodes().iter().filter(|n| n.is_array).map(|n| n.path.as_str()).collect();
    let mut tables = main.tables(&arrays)?.into_iter();
    Ok(main
        .nodes()
        .iter()
        .map(|node| {
            let table = node.is_array.then(|| tables.next().unwrap());
            let rows = table.iter().flat_map(|t| t.iter()).collect();
            let objects = table.iter().flat_map(|t| t.objects.iter().map(|o| format!("{o:?}"))).collect();
            (node.path.clone(), node.zarr_json.to_vec(), rows, objects)
        })
        .collect())
}

/// Two arrays of one commit, which share a manifest.
fn sample() -> Home {
    made(false)
}

/// The same arrays, each with a manifest of its own.
fn sample_of_two_manifests() -> Home {
    made(true)
}

fn made(in_two_commits: bool) -> Home {
    let home = Home::new();
    let (file, url) = home.file("a.h5", &[1; 4000]);
    let writer = home.writer();
    writer.add_group("/g", &json!({"title": "sample"})).unwrap();
    writer.add_array("/g/native", &array(&[40], &[10])).unwrap();
    let id = writer.put_object(Bytes::from(vec![3; 400])).unwrap();
    writer
        .set_chunks(
            "/g/native",
            &[(0, ChunkPlace::Object { id, offset: 7, length: 9 }), (2, ChunkPlace::Inline(Bytes::from_static(b"in")))],
        )
        .unwrap();
    let writer = if in_two_commits {
        writer.commit("native").unwrap();
        home.writer()
    } else {
        writer
    };
    writer.add_array("/g/linked", &array(&[400], &[10])).unwrap();
    writer.allow_container(&home.data()).unwrap();
    let chunks: Vec<u64> = (0..40).collect();
    let offsets: Vec<u64> = chunks.iter().map(|c| c * 97).collect();
    writer.set_links("/g/linked", &[url], &[identity(&file)], &[0; 40], &chunks, &offsets, &[97; 40]).unwrap();
    writer.commit("sample").unwrap();
    home
}

fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.join("repo")];
    for folder in ["snapshots", "manifests", "seals", "transactions"] {
        found.extend(std::fs::read_dir(root.join(folder)).unwrap().map(|e| e.unwrap().path()));
    }
    found
}

/// Replaces the file's content by `bytes`, reads everything, and restores the file.
fn with(file: &Path, bytes: &[u8], right: &[u8], storage: &Storage) -> Result<Content> {
    std::fs::write(file, bytes).unwrap();
    let read = content(storage);
    let repo = Repo::open(storage);
    let _any_answer_but_a_panic =
        repo.map(|r| (r.log(None, None), r.diff("1CECHNKREP0F1RSTCMT0", "main"), r.gc(None, true)));
    std::fs::write(file, right).unwrap();
    read
}

fn check(read: Result<Content>, right: &Content, what: &str) {
    match read {
        Ok(read) => assert!(read == *right, "{what}: wrong data"),
        Err(e) => {
            assert!(!matches!(e.kind, ErrorKind::Internal | ErrorKind::Network), "{what}: {e:?}");
            assert!(!e.hint.is_empty() || e.kind != ErrorKind::Corrupt, "{what}: {e:?}");
        }
    }
}

/// Flips one bit of each byte; with `ICECORE_EVERY_BIT` set all bits, which takes minutes.
fn bits(at: usize) -> std::ops::Range<usize> {
    if std::env::var_os("ICECORE_EVERY_BIT").is_some() { 0..8 } else { at % 8..at % 8 + 1 }
}

#[test]
fn every_flipped_byte_is_noticed_or_harmless() {
    let home = sample();
    let right = content(&home.storage()).unwrap();
    for file in files(&home.path()) {
        let bytes = std::fs::read(&file).unwrap();
        for at in 0..bytes.len() {
            for bit in bits(at) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                let what = format!("{} byte {at} bit {bit}", file.display());
                check(with(&file, &damaged, &bytes, &home.storage()), &right, &what);
            }
        }
    }
    assert_eq!(content(&home.storage()).unwrap(), right);
}

#[test]
fn every_cut_is_noticed_or_harmless() {
    let home = sample();
    let right = content(&home.storage()).unwrap();
    for file in files(&home.path()) {
        let bytes = std::fs::read(&file).unwrap();
        for length in (0..bytes.len()).step_by(7) {
            check(
                with(&file, &bytes[..length], &bytes, &home.storage()),
                &right,
                &format!("{} cut to {length}", file.display()),
            );
        }
    }
}

#[test]
fn a_missing_file_is_named() {
    let home = sample();
    let right = content(&home.storage()).unwrap();
    for file in files(&home.path()) {
        let bytes = std::fs::read(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        let read = content(&home.storage());
        std::fs::write(&file, &bytes).unwrap();
        let name = file.strip_prefix(home.path()).unwrap().display().to_string();
        match read {
            Ok(read) => assert!(
                read == right && (name.starts_with("seals") || name.starts_with("trans") || name.starts_with("snap")),
                "{name}"
            ),
            Err(e) if name == "repo" => assert_eq!(e.kind, ErrorKind::Format),
            Err(e) => {
                assert_eq!(e.kind, ErrorKind::Corrupt, "{name}: {e:?}");
                assert!(e.message.contains(file.file_name().unwrap().to_str().unwrap()), "{name}: {e:?}");
            }
        }
    }
}

#[test]
fn without_seals_nothing_panics() {
    let home = sample();
    std::fs::remove_dir_all(home.path().join("seals")).unwrap();
    let right = content(&home.storage()).unwrap();
    for file in files_without_seals(&home.path()) {
        let bytes = std::fs::read(&file).unwrap();
        for at in 0..bytes.len() {
            for bit in bits(at + 3) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                if let Err(e) = with(&file, &damaged, &bytes, &home.storage()) {
                    assert_ne!(e.kind, ErrorKind::Internal, "{} byte {at} bit {bit}: {e:?}", file.display());
                }
            }
        }
    }
    assert_eq!(content(&home.storage()).unwrap(), right);
}

/// A valid file of another version: it would be read as that version, or as chunks that were never written.
#[test]
fn a_file_in_the_place_of_another_is_refused_without_a_seal() {
    let home = sample_of_two_manifests();
    home.commit_array("/later");
    std::fs::remove_dir_all(home.path().join("seals")).unwrap();
    let right = content(&home.storage()).unwrap();
    for folder in ["snapshots", "manifests"] {
        let files: Vec<PathBuf> =
            std::fs::read_dir(home.path().join(folder)).unwrap().map(|e| e.unwrap().path()).collect();
        assert!(files.len() > 1);
        for (file, other) in files.iter().flat_map(|file| files.iter().map(move |other| (file, other))) {
            if file == other {
                continue;
            }
            let bytes = std::fs::read(file).unwrap();
            std::fs::copy(other, file).unwrap();
            let what = format!("{} in the place of {}", other.display(), file.display());
            check(content(&home.storage()), &right, &what);
            let found = home.open().audit(None, &|_, _| {}, &AtomicBool::new(false)).unwrap();
            let place = format!("{folder}/{}", file.file_name().unwrap().to_str().unwrap());
            assert!(found.iter().any(|damage| damage.place == place), "{what}: {found:?}");
            let collected = home.open().gc(Some(4_000_000_000_000_000), true);
            assert!(folder == "manifests" || collected.unwrap_err().kind == ErrorKind::Corrupt, "{what}");
            std::fs::write(file, bytes).unwrap();
        }
    }
    assert_eq!(content(&home.storage()).unwrap(), right);
}

fn files_without_seals(root: &Path) -> Vec<PathBuf> {
    std::fs::create_dir_all(root.join("seals")).unwrap();
    files(root)
}

#[test]
fn nothing_is_built_on_or_deleted_by_damaged_references() {
    let home = sample_of_two_manifests();
    let right = content(&home.storage()).unwrap();
    let manifest = std::fs::read_dir(home.path().join("manifests")).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&manifest).unwrap();
    let mut damaged = bytes.clone();
    *damaged.last_mut().unwrap() ^= 4;
    std::fs::write(&manifest, damaged).unwrap();
    let repo = home.open();
    assert_eq!(repo.gc(Some(4_000_000_000_000_000), false).unwrap_err().kind, ErrorKind::Corrupt);
    let commits = ["/g/native", "/g/linked"].map(|path| {
        let writer = repo.writer("main").unwrap();
        writer.set_chunks(path, &[(3, ChunkPlace::Inline(Bytes::from_static(b"x")))]).unwrap();
        writer.commit("on top").map_err(|e| e.kind)
    });
    // The array with damaged references rejects writes; the other one accepts them.
    assert_eq!(commits.iter().filter(|c| **c == Err(ErrorKind::Corrupt)).count(), 1, "{commits:?}");
    std::fs::write(&manifest, bytes).unwrap();
    let now = content(&home.storage()).unwrap();
    assert_eq!(now.iter().zip(&right).filter(|(now, right)| now.2 != right.2).count(), 1);
    repo.gc(Some(4_000_000_000_000_000), false).unwrap();
    assert_eq!(content(&home.storage()).unwrap(), now);
}

#[test]
fn objects_shorter_than_their_references() {
    let home = sample();
    let object = std::fs::read_dir(home.path().join("chunks")).unwrap().next().unwrap().unwrap();
    let name = format!("chunks/{}", object.file_name().to_str().unwrap());
    assert_eq!(home.repo.read_object(&name, 390, 10).unwrap(), vec![3; 10]);
    for (offset, length) in [(390, 20), (400, 1), (u64::MAX - 5, 5), (10_000, 3)] {
        let error = home.repo.read_object(&name, offset, length).unwrap_err();
        assert!(error.message.contains(&name), "{error:?}");
        assert!(matches!(error.kind, ErrorKind::Corrupt | ErrorKind::Io | ErrorKind::Network), "{error:?}");
    }
    assert_eq!(home.repo.read_object(&name, u64::MAX, 5).unwrap_err().kind, ErrorKind::Invalid);
    assert_eq!(home.repo.read_object("chunks/../repo", 0, 5).unwrap_err().kind, ErrorKind::Invalid);
    assert_eq!(home.repo.read_object("chunks/NOTHING", 0, 5).unwrap_err().kind, ErrorKind::Corrupt);
}

#[test]
fn a_folder_without_write_permission_can_still_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let home = sample();
    let right = content(&home.storage()).unwrap();
    let set = |mode| std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    set(0o555);
    assert_eq!(content(&home.storage()).unwrap(), right);
    set(0o755);
}
