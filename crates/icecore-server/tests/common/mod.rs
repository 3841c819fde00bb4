//! Test repositories, a server on a free port of this machine, and a minimal client.
#![allow(clippy::unwrap_used, clippy::panic, dead_code)] // the helpers of test files

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use icecore::catalog::{Repo, Storage};
use icecore::chunk::ArrayMeta;
use icecore::grid::Region;
use icecore::write::{Data, WriteOptions, Writing};
use icecore_server::{Config, Limits, Served, Server, until};
use serde_json::{Value, json};

/// A metadata document of an array with the codecs `bytes` and `zstd`.
pub fn document(shape: &[u64], chunks: &[u64], data_type: &Value, fill: &Value, attributes: &Value) -> String {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type, "fill_value": fill,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
                   {"name": "zstd", "configuration": {"level": 1, "checksum": false}}],
        "attributes": attributes,
    })
    .to_string()
}

/// Adds arrays (path, document, elements) in one commit.
pub fn fill(repo: &Repo, arrays: Vec<(&str, String, Vec<u8>)>) {
    let writer = repo.writer("main").unwrap();
    for (path, document, _) in &arrays {
        writer.add_array(path, document.as_bytes()).unwrap();
    }
    let writing = Writing::new(Arc::new(writer), WriteOptions::default());
    for (path, document, bytes) in arrays {
        let meta = Arc::new(ArrayMeta::parse(document.as_bytes()).unwrap());
        let whole = Region { start: vec![0; meta.shape.len()], shape: meta.shape.clone() };
        writing.write(path, &meta, whole, Data::Fixed(Box::new(bytes))).unwrap();
    }
    writing.flush().unwrap();
    writing.writer().commit("filled").unwrap();
}

pub fn bytes_of(numbers: impl Iterator<Item = i32>) -> Vec<u8> {
    numbers.flat_map(i32::to_ne_bytes).collect()
}

pub fn create(path: &Path) -> Repo {
    Repo::create(&Storage { url: path.to_str().unwrap().to_owned(), ..Storage::default() }).unwrap()
}

/// A directory with `moon`: `/grid` (60 × 40 int32, 0, 1, 2, …), `/g/records`, tagged `v1`; and `sub/other`.
pub fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let moon = create(&directory.path().join("moon"));
    let attributes = json!({"units": "K", "n": [1, 2], "icecore": {"attr_types": {"n": "<i2"}}});
    let record = json!({"name": "struct", "configuration": {"fields": [
        {"name": "a", "data_type": "int32"}, {"name": "s", "data_type": {"name": "null_terminated_bytes", "configuration": {"length_bytes": 2}}}]}});
    let records: Vec<u8> =
        (0..5_i32).flat_map(|i| [i.to_ne_bytes().to_vec(), vec![b'a' + i as u8, 0]].concat()).collect();
    let arrays = vec![
        ("/grid", document(&[60, 40], &[16, 16], &json!("int32"), &json!(0), &attributes), bytes_of(0..2400)),
        ("/g/records", document(&[5], &[2], &record, &json!({"a": 0, "s": ""}), &json!({})), records),
    ];
    fill(&moon, arrays);
    moon.create_tag("v1", None).unwrap();
    std::fs::create_dir(directory.path().join("sub")).unwrap();
    create(&directory.path().join("sub/other"));
    directory
}

pub struct Running {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

pub fn start(paths: &[&Path], limits: Limits) -> Running {
    start_with(paths, Config { limits, ..Config::default() })
}

pub fn start_with(paths: &[&Path], config: Config) -> Running {
    let served = paths.iter().map(|path| Served::parse(path.to_str().unwrap()).unwrap()).collect();
    let mut config = Config { served, ..config };
    config.address.set_port(0);
    let server = Server::bind(config).unwrap();
    let (address, stop) = (server.address().unwrap(), Arc::new(AtomicBool::new(false)));
    let end = Arc::clone(&stop);
    let thread = std::thread::spawn(move || server.run(until(move || end.load(Ordering::Relaxed))).unwrap());
    Running { address, stop, thread: Some(thread) }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
    }
}

pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Reply {
    fn parse(all: Vec<u8>) -> Self {
        let end = all.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
        let head = String::from_utf8_lossy(&all[..end]).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut reply = Reply { status, head, body: all[end + 4..].to_vec() };
        if reply.header("transfer-encoding") == Some("chunked") {
            reply.body = unchunked(&reply.body);
        }
        reply
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&self.body)))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Running {
    pub fn ask(&self, method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let mut request = format!(
            "{method} {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        headers.iter().for_each(|(name, value)| request.push_str(&format!("{name}: {value}\r\n")));
        stream.write_all(format!("{request}\r\n").as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        Reply::parse(all)
    }

    /// The bytes of a response as they arrive.
    pub fn raw(&self, target: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        write!(stream, "GET {target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        all
    }

    pub fn get(&self, target: &str) -> Reply {
        self.ask("GET", target, &[], b"")
    }

    pub fn bytes(&self, target: &str) -> Reply {
        self.ask("GET", target, &[("accept", "application/octet-stream")], b"")
    }

    /// The id of the object at a path, by links from the root.
    pub fn id(&self, domain: &str, path: &str) -> String {
        let mut id = self.get(&format!("/?domain={domain}")).json()["root"].as_str().unwrap().to_owned();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let link = self.get(&format!("/groups/{id}/links/{part}?domain={domain}")).json();
            id = link["link"]["id"].as_str().unwrap().to_owned();
        }
        id
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    while let Some(end) = body.windows(2).position(|w| w == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        out.extend_from_slice(&body[end + 2..end + 2 + size]);
        body = &body[end + 2 + size + 2..];
    }
    out
}
