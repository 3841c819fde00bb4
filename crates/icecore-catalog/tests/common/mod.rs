//! Fixtures that the catalog's tests share.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::{Path, PathBuf};

use icecore_catalog::{LinkIdentity, Place, Repo, Snapshot, Storage, Writer};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A temporary directory with a repository in it.
pub struct Home {
    pub dir: TempDir,
    pub repo: Repo,
}

impl Home {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repo::create(&Storage::new(at(dir.path(), "r.icecore"))).unwrap();
        Self { dir, repo }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("r.icecore")
    }

    pub fn storage(&self) -> Storage {
        Storage::new(at(self.dir.path(), "r.icecore"))
    }

    /// A second handle, as another process would have.
    pub fn open(&self) -> Repo {
        Repo::open(&self.storage()).unwrap()
    }

    pub fn main(&self) -> Snapshot {
        self.open().snapshot(None).unwrap()
    }

    pub fn writer(&self) -> Writer {
        self.repo.writer("main").unwrap()
    }

    /// Commits one empty array.
    pub fn commit_array(&self, path: &str) -> String {
        let writer = self.writer();
        writer.add_array(path, &array(&[10], &[5])).unwrap();
        writer.commit(path).unwrap()
    }

    /// A file beside the repository and its URL.
    pub fn file(&self, name: &str, bytes: &[u8]) -> (PathBuf, String) {
        let path = self.dir.path().join("data").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        let url = format!("file://{}", path.display().to_string().replace(' ', "%20"));
        (path, url)
    }

    pub fn data(&self) -> String {
        at(self.dir.path(), "data")
    }
}

pub fn at(dir: &Path, name: &str) -> String {
    dir.join(name).display().to_string()
}

/// A metadata document of bytes.
pub fn array(shape: &[u64], chunk: &[u64]) -> Vec<u8> {
    document(shape, chunk).to_string().into_bytes()
}

pub fn document(shape: &[u64], chunk: &[u64]) -> Value {
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0,
        "codecs": [{"name": "bytes"}],
        "attributes": {"units": "K"},
    })
}

pub fn paths(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.nodes().iter().map(|n| n.path.as_str()).collect()
}

pub fn attributes(snapshot: &Snapshot, path: &str) -> Value {
    let document: Value = serde_json::from_slice(&snapshot.node(path).unwrap().zarr_json).unwrap();
    document["attributes"].clone()
}

/// The current identity of a file.
pub fn identity(path: &Path) -> LinkIdentity {
    let metadata = std::fs::metadata(path).unwrap();
    let since = metadata.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
    LinkIdentity { size: metadata.len(), mtime_ns: i64::try_from(since.as_nanos()).unwrap(), etag: None }
}

/// The bytes of a native chunk.
pub fn bytes(repo: &Repo, snapshot: &Snapshot, path: &str, flat: u64) -> Option<Vec<u8>> {
    let table = snapshot.table(path).unwrap();
    match table.get(flat) {
        Place::Missing => None,
        Place::Inline(bytes) => Some(bytes.to_vec()),
        Place::Range { object, offset, length } => {
            let icecore_catalog::Location::Native(name) = &table.objects[object as usize].location else {
                panic!("a link")
            };
            Some(repo.read_object(name, offset, length).unwrap().to_vec())
        }
    }
}
