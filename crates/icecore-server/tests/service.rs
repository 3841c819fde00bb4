//! Tests of streams, the Zarr interface, health, metrics, limits and the end of the service.
#![allow(clippy::unwrap_used)]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;

use common::{bytes_of, create, directory, document, fill, start, start_with};
use icecore::catalog::{Location, Place};
use icecore_server::{Config, Limits};
use serde_json::json;

/// A repository with one array of 32 MiB, more than one block.
fn large(root: &std::path::Path) {
    let repo = create(&root.join("large"));
    let document = document(&[8192, 1024], &[256, 1024], &json!("int32"), &json!(0), &json!({}));
    fill(&repo, vec![("/a", document, bytes_of(0..8192 * 1024))]);
}

#[test]
fn a_large_value_is_streamed_whole_and_in_order() {
    let directory = tempfile::tempdir().unwrap();
    large(directory.path());
    let server = start(&[directory.path()], Limits::default());
    let id = server.id("/large", "/a");
    let reply = server.bytes(&format!("/datasets/{id}/value?domain=/large"));
    assert_eq!(reply.header("content-length"), Some("33554432"));
    assert!(reply.body == bytes_of(0..8192 * 1024));
    let part = server.bytes(&format!("/datasets/{id}/value?domain=/large&select=[0:8192,1:3]"));
    let wanted = (0..8192).flat_map(|row| [row * 1024 + 1, row * 1024 + 2]);
    assert!(part.body == bytes_of(wanted));
}

#[test]
fn a_stream_that_fails_never_looks_complete() {
    let directory = tempfile::tempdir().unwrap();
    // Random elements do not compress, so every chunk has its own object.
    let values = bytes_of((0..8192 * 1024_u32).map(|i| i.wrapping_mul(2_654_435_761).rotate_left(i % 31) as i32));
    let repo = create(&directory.path().join("large"));
    let document = document(&[8192, 1024], &[256, 1024], &json!("int32"), &json!(0), &json!({}));
    fill(&repo, vec![("/a", document, values.clone())]);
    let snapshot = repo.snapshot(None).unwrap();
    let table = snapshot.table("/a").unwrap();
    let (last, place) = table.iter().max_by_key(|(flat, _)| *flat).unwrap();
    let Place::Range { object, length, .. } = place else { panic!("{place:?}") };
    let Location::Native(name) = &table.objects[object as usize].location else { panic!() };
    let file = directory.path().join("large").join(name.as_str());
    assert_eq!((last, std::fs::metadata(&file).unwrap().len()), (31, length), "an object of its own");
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(length / 2).unwrap();
    let server = start(&[directory.path()], Limits::default());
    let id = server.id("/large", "/a");
    let reply = server.bytes(&format!("/datasets/{id}/value?domain=/large"));
    assert_eq!((reply.status, reply.header("content-length")), (200, Some("33554432")));
    assert!(!reply.body.is_empty() && reply.body.len() <= 31 << 20, "{}", reply.body.len());
    assert!(values.starts_with(&reply.body), "what arrived is the value's beginning");
    let text = String::from_utf8(server.get("/metrics").body).unwrap();
    assert!(
        text.lines().any(|line| line.starts_with("icecore_value_streams_broken_total") && line.ends_with(" 1")),
        "{text}"
    );
    // JSON has no announced length: the connection ends without the final chunk of its transfer coding.
    let reply = server.raw(&format!("/datasets/{id}/value?domain=/large"));
    assert!(reply.starts_with(b"HTTP/1.1 200") && !reply.ends_with(b"0\r\n\r\n"));
}

#[test]
fn any_array_is_plain_zarr() {
    let directory = directory();
    let server = start(&[directory.path()], Limits::default());
    let root = server.get("/zarr/moon@v1/zarr.json").json();
    let known = root["consolidated_metadata"]["metadata"].as_object().unwrap();
    assert_eq!(known.keys().collect::<Vec<_>>(), ["g", "g/records", "grid"]);
    let grid = server.get("/zarr/moon/grid/zarr.json").json();
    assert_eq!(grid["codecs"], json!([{"name": "bytes", "configuration": {"endian": "little"}}]));
    assert_eq!(grid["attributes"]["units"], "K");
    // The last chunk is padded.
    let corner = server.get("/zarr/moon/grid/c/3/2");
    let element = |row: i32, column: i32| if row < 60 && column < 40 { row * 40 + column } else { 0 };
    let wanted = (48..64).flat_map(|row| (32..48).map(move |column| element(row, column)));
    assert_eq!(corner.body, bytes_of(wanted));
    let range = server.ask("GET", "/zarr/moon/grid/c/0/0", &[("range", "bytes=4-11")], b"");
    assert_eq!((range.status, range.body), (206, bytes_of(1..3)));
    assert!(range.head.lines().any(|line| line == "content-range: bytes 4-11/1024"));
    assert_eq!(server.ask("HEAD", "/zarr/moon/grid/c/0/0", &[], b"").header("content-length"), Some("1024"));
    assert_eq!(server.get("/zarr/moon/none/zarr.json").status, 404);
}

#[test]
fn health_reads_a_chunk_and_metrics_count() {
    let directory = directory();
    let server = start(&[directory.path()], Limits::default());
    let health = server.get("/health");
    assert_eq!((health.status, health.json()["array"].as_str()), (200, Some("/g/records")));
    let id = server.id("/moon", "/grid");
    server.bytes(&format!("/datasets/{id}/value?domain=/moon"));
    let text = String::from_utf8(server.get("/metrics").body).unwrap();
    assert!(
        text.contains("icecore_requests_total{method=\"GET\",route=\"/datasets/{id}/value\",status=\"200\"} 1\n"),
        "{text}"
    );
    assert!(text.contains("icecore_value_bytes_total 9600\n"), "{text}");
    std::fs::remove_dir_all(directory.path().join("moon/chunks")).ok();
    std::fs::remove_dir_all(directory.path().join("moon/manifests")).unwrap();
    let sick = start(&[directory.path()], Limits::default());
    assert_eq!(sick.get("/health").status, 503);
}

#[test]
fn metadata_is_compressed_for_those_who_accept_it() {
    let directory = directory();
    let server = start(&[directory.path()], Limits::default());
    let plain = server.get("/?domain=/moon&getobjs=1").body.len();
    for encoding in ["gzip", "zstd"] {
        let reply = server.ask("GET", "/?domain=/moon&getobjs=1", &[("accept-encoding", encoding)], b"");
        assert_eq!(reply.header("content-encoding"), Some(encoding));
        assert!(reply.body.len() < plain);
    }
}

#[test]
fn too_many_requests_at_once_are_turned_away() {
    let directory = tempfile::tempdir().unwrap();
    large(directory.path());
    let server = start(&[directory.path()], Limits { requests: 1, reads: 1, ..Limits::default() });
    let id = server.id("/large", "/a");
    let replies: Vec<u16> = std::thread::scope(|scope| {
        let ask = || server.bytes(&format!("/datasets/{id}/value?domain=/large&select=[0:8192:2,0:8]")).status;
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(ask)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(replies.iter().all(|status| matches!(status, 200 | 503)), "{replies:?}");
    assert!(replies.contains(&200) && replies.contains(&503), "{replies:?}");
}

#[test]
fn answers_in_flight_are_finished_when_the_service_ends() {
    let directory = tempfile::tempdir().unwrap();
    large(directory.path());
    let server = start(&[directory.path()], Limits::default());
    let id = server.id("/large", "/a");
    let mut stream = TcpStream::connect(server.address).unwrap();
    let request = format!(
        "GET /datasets/{id}/value?domain=/large HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept: application/octet-stream\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut first = [0; 1000];
    stream.read_exact(&mut first).unwrap();
    let ending = std::thread::spawn(move || drop(server));
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    ending.join().unwrap();
    assert!(rest.len() > 33_554_432 - 1000);
}

#[test]
fn a_new_connection_replaces_the_slowest_one() {
    let directory = directory();
    let server = start(&[directory.path()], Limits { connections: 4, ..Limits::default() });
    let slow: Vec<TcpStream> = (0..12)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\nx: ").unwrap();
            stream
        })
        .collect();
    assert_eq!(server.get("/health").status, 200);
    assert_eq!(slow.len(), 12);
}

#[test]
fn a_small_answer_as_json_has_its_length() {
    let directory = directory();
    let server = start(&[directory.path()], Limits::default());
    let id = server.id("/moon", "/grid");
    let reply = server.get(&format!("/datasets/{id}/value?domain=/moon&select=[0:2,0:2]"));
    assert_eq!(reply.json()["value"], json!([[0, 1], [40, 41]]));
    assert_eq!(reply.header("content-length").unwrap(), reply.body.len().to_string());
}

#[test]
fn work_is_cut_off_after_the_time_limit() {
    let directory = directory();
    let config = Config {
        writable: true,
        limits: Limits { time: std::time::Duration::from_secs(1), ..Limits::default() },
        ..Config::default()
    };
    let server = start_with(&[directory.path()], config);
    let root = server.ask("PUT", "/?domain=/large", &[], b"").json()["root"].as_str().unwrap().to_owned();
    let body = json!({"type": "H5T_IEEE_F64LE", "shape": [1_000_000_000_000_u64], "link": {"id": root, "name": "d"}});
    let made = server.ask("POST", "/datasets?domain=/large", &[], body.to_string().as_bytes()).json();
    let id = made["id"].as_str().unwrap();
    let reply = server.get(&format!("/datasets/{id}/value?domain=/large&query=_%20%3E%205"));
    assert_eq!((reply.status, reply.json()["kind"].as_str().unwrap()), (408, "interrupted"));
    assert_eq!(server.get("/?domain=/large").status, 200);
}

#[test]
fn a_secret_is_the_first_part_of_every_url() {
    let directory = directory();
    let config = Config { secret: Some("abc".to_owned()), ..Config::default() };
    let server = start_with(&[directory.path()], config);
    assert_eq!(server.get("/abc/?domain=/moon").status, 200);
    for target in ["/?domain=/moon", "/abd/?domain=/moon", "/abc", "/health", "/abc%2f?domain=/moon"] {
        assert_eq!(server.get(target).status, 403, "{target}");
    }
}
