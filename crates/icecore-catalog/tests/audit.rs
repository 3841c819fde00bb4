//! Damages every file of a version in every detectable way; the audit must name the file.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should panic")]

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use common::Home;
use icecore_catalog::{ChunkPlace, Damage, Repo};
use icecore_grid::{ErrorKind, Result};

const FOLDERS: [&str; 5] = ["snapshots", "manifests", "transactions", "seals", "chunks"];

/// Three versions; each replaces the only chunk of the previous one.
fn sample() -> (Home, Vec<String>) {
    let home = Home::new();
    let mut versions = vec![home.commit_array("/a")];
    for value in 0..3 {
        let writer = home.writer();
        let id = writer.put_object(Bytes::from(vec![value; 100])).unwrap();
        writer.set_chunks("/a", &[(0, ChunkPlace::Object { id, offset: 10, length: 90 })]).unwrap();
        versions.push(writer.commit("value").unwrap());
    }
    (home, versions)
}

fn files(root: &Path, folder: &str) -> Vec<PathBuf> {
    fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn audit(home: &Home, version: Option<&str>) -> Result<Vec<Damage>> {
    Repo::open(&home.storage())?.audit(version, &|_, _| {}, &AtomicBool::new(false))
}

fn places(found: &[Damage]) -> Vec<&str> {
    assert!(found.iter().all(|d| d.error.kind == ErrorKind::Corrupt && !d.error.hint.is_empty()), "{found:?}");
    found.iter().map(|damage| damage.place.as_str()).collect()
}

#[test]
fn a_sound_history_has_no_damage() {
    let (home, versions) = sample();
    fs::write(home.path().join("chunks/remains#1"), "of a write that was cut short").unwrap();
    assert_eq!(audit(&home, None).unwrap(), []);
    let counts = std::sync::Mutex::new(Vec::new());
    home.open()
        .audit(None, &|done, total| counts.lock().unwrap().push((done, total)), &AtomicBool::new(false))
        .unwrap();
    assert_eq!(counts.into_inner().unwrap(), (1..=5).map(|n| (n, 5)).collect::<Vec<_>>());
    for version in versions {
        assert_eq!(audit(&home, Some(&version)).unwrap(), []);
    }
    assert_eq!(home.open().unsealed().unwrap(), Vec::<String>::new());
}

#[test]
fn it_ends_inside_a_version_when_it_is_told_to() {
    let (home, _) = sample();
    let progress = |_, _| panic!("no version was to be finished");
    let error = home.open().audit(None, &progress, &AtomicBool::new(true)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Interrupted);
}

#[test]
fn each_file_is_named_when_it_is_flipped_cut_or_removed() {
    let (home, _) = sample();
    let root = home.path();
    for folder in FOLDERS {
        for file in files(&root, folder) {
            let name = format!("{folder}/{}", file.file_name().unwrap().display());
            let good = fs::read(&file).unwrap();
            let mut flipped = good.clone();
            *flipped.last_mut().unwrap() ^= 2;
            // Only codecs can detect damage inside a chunk; and the last byte of a seal is its final newline.
            if folder != "chunks" {
                flipped[good.len() / 2] ^= 2;
                fs::write(&file, flipped).unwrap();
                assert_eq!(places(&audit(&home, None).unwrap()), [name.as_str()]);
            }
            fs::write(&file, &good[..good.len() / 2]).unwrap();
            assert_eq!(places(&audit(&home, None).unwrap()), [name.as_str()]);
            fs::remove_file(&file).unwrap();
            let found = audit(&home, None).unwrap();
            if folder == "seals" {
                assert_eq!(found, []);
                // Other programs change the root object and leave its seal stale: an object without a valid seal is not
                // a finding.
                let unsealed = if name == "seals/repo" { vec![] } else { vec![name.trim_start_matches("seals/")] };
                assert_eq!(home.open().unsealed().unwrap(), unsealed);
            } else {
                assert_eq!(places(&found), [name.as_str()]);
            }
            fs::write(&file, good).unwrap();
        }
    }
    assert_eq!(audit(&home, None).unwrap(), []);
}

/// Without a seal, invalid metadata is still found, and nothing panics.
#[test]
fn unsealed_files_are_unpacked() {
    let (home, _) = sample();
    let root = home.path();
    fs::remove_dir_all(root.join("seals")).unwrap();
    for folder in ["snapshots", "manifests", "transactions"] {
        for file in files(&root, folder) {
            let good = fs::read(&file).unwrap();
            for at in (0..good.len()).step_by(31) {
                let mut bytes = good.clone();
                bytes[at] ^= 0x10;
                fs::write(&file, bytes).unwrap();
                audit(&home, None).unwrap();
                fs::write(&file, &good[..at]).unwrap();
                assert!(!audit(&home, None).unwrap().is_empty(), "{} cut at {at}", file.display());
            }
            fs::write(&file, good).unwrap();
        }
    }
}

#[test]
fn one_version_is_checked_alone() {
    let (home, versions) = sample();
    let root = home.path();
    for folder in ["seals", "transactions"] {
        fs::write(root.join(folder).join(&versions[1]), "nonsense").unwrap();
        assert_eq!(audit(&home, Some(&versions[2])).unwrap(), []);
    }
    let found = audit(&home, Some(&versions[1])).unwrap();
    assert_eq!(places(&found), [format!("seals/{}", versions[1]), format!("transactions/{}", versions[1])]);
}
