//! Bad requests: a 4xx with a message and a remedy, at once, and nothing changes.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::{Duration, Instant};

use common::{Running, start_with};
use icecore_server::Config;
use serde_json::{Value, json};

/// A domain `/d` with the 4 × 3 dataset `/a`, and records `/r`; returns ids of root, `/a` and `/r`.
fn made(server: &Running) -> (String, String, String) {
    let sent = |method: &str, target: &str, body: Value| {
        let reply = server.ask(method, target, &[("content-type", "application/json")], body.to_string().as_bytes());
        assert_eq!(reply.status, 201, "{}", String::from_utf8_lossy(&reply.body));
        reply.json()
    };
    let root = sent("PUT", "/?domain=/d", json!({}))["root"].as_str().unwrap().to_owned();
    let numbers =
        json!({"type": "H5T_STD_I32LE", "shape": [4, 3], "maxdims": [0, 3], "link": {"id": root, "name": "a"}});
    let numbers = sent("POST", "/datasets?domain=/d", numbers)["id"].as_str().unwrap().to_owned();
    let fields =
        json!([{"name": "s", "type": {"class": "H5T_STRING", "length": 4}}, {"name": "n", "type": "H5T_STD_I32LE"}]);
    let records =
        json!({"type": {"class": "H5T_COMPOUND", "fields": fields}, "shape": [3], "link": {"id": root, "name": "r"}});
    let records = sent("POST", "/datasets?domain=/d", records)["id"].as_str().unwrap().to_owned();
    (root, numbers, records)
}

fn service() -> (tempfile::TempDir, Running) {
    let directory = tempfile::tempdir().unwrap();
    let server = start_with(&[directory.path()], Config { writable: true, ..Config::default() });
    (directory, server)
}

/// The state of the domain that bad requests must not change.
fn state(server: &Running) -> Vec<String> {
    let group = server.get("/?domain=/d&verbose=1").json()["root"].as_str().unwrap().to_owned();
    let mut found = vec![server.get(&format!("/groups/{group}/links?domain=/d")).json()["links"].to_string()];
    for path in ["/a", "/r"] {
        let id = server.id("/d", path);
        for part in ["/type", "/shape", "/value", "/attributes"] {
            let mut body = server.get(&format!("/datasets/{id}{part}?domain=/d")).json();
            body.as_object_mut().unwrap().remove("lastModified");
            found.push(body.to_string());
        }
    }
    found
}

fn check(server: &Running, method: &str, target: &str, body: &[u8]) -> u16 {
    let begun = Instant::now();
    let reply = server.ask(method, target, &[("content-type", "application/json")], body);
    let shown = format!("{method} {target:.200} {:.200}", String::from_utf8_lossy(body));
    assert!(reply.status < 500, "{shown}: {} {}", reply.status, String::from_utf8_lossy(&reply.body));
    assert!(begun.elapsed() < Duration::from_secs(20), "{shown} took {:?}", begun.elapsed());
    if reply.status >= 400 && reply.header("content-type").is_some_and(|kind| kind.starts_with("application/json")) {
        let error = reply.json();
        assert!(!error["message"].as_str().unwrap().is_empty(), "{shown}");
        assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{shown}: {error}");
    }
    reply.status
}

#[test]
fn reads() {
    let (_directory, server) = service();
    let (root, id, records) = made(&server);
    let before = state(&server);
    let missing = id.replace(char::is_numeric, "0");
    let long = "9".repeat(400);
    for (target, status) in [
        // Ids.
        ("/groups/g-1?domain=/d".to_owned(), 400),
        ("/groups/%00%FF?domain=/d".to_owned(), 400),
        (format!("/groups/{id}?domain=/d"), 400),
        (format!("/datasets/{root}?domain=/d"), 400),
        (format!("/datasets/{missing}?domain=/d"), 404),
        ("/datasets/d-00000000-00000000-0000-000000-000000?domain=/d".to_owned(), 404),
        (format!("/groups/{root}/links/none?domain=/d"), 404),
        (format!("/datasets/{id}/attributes/none?domain=/d"), 404),
        (format!("/things/{id}/attributes?domain=/d"), 404),
        ("/nowhere".to_owned(), 404),
        // Domains.
        ("/?domain=/none".to_owned(), 404),
        ("/?domain=/../etc/passwd".to_owned(), 400),
        ("/?domain=/d@".to_owned(), 400),
        ("/?domain=/d@none".to_owned(), 404),
        ("/?domain=/a%00b".to_owned(), 400),
        ("/?domain=/a%5Cb".to_owned(), 400),
        ("/?domain=%FF".to_owned(), 404),
        ("/domains?domain=/none/".to_owned(), 404),
        // Selections.
        (format!("/datasets/{id}/value?domain=/d&select=[0:2]"), 400),
        (format!("/datasets/{id}/value?domain=/d&select=[0:2,0:2,0:2]"), 400),
        (format!("/datasets/{id}/value?domain=/d&select=[0:9,0:3]"), 400),
        (format!("/datasets/{id}/value?domain=/d&select=[0:2:0,0]"), 400),
        (format!("/datasets/{id}/value?domain=/d&select=[-1,0]"), 400),
        (format!("/datasets/{id}/value?domain=/d&select=[{long},0]"), 400),
        (format!("/datasets/{id}/value?domain=/d&select=[0:4,[0,9]]"), 400),
        (format!("/datasets/{id}/value?domain=/d&select=[[0,1],[0,1,2]]"), 400),
        (format!("/datasets/{id}/value?domain=/d&select=[[[[0]]]]"), 400),
        (format!("/datasets/{id}/value?domain=/d&select=[0:4,x]"), 400),
        (format!("/datasets/{id}/value?domain=/d&select=[0:4"), 400),
        // Queries and fields.
        (format!("/datasets/{records}/value?domain=/d&query=none%20%3E%201"), 404),
        (format!("/datasets/{records}/value?domain=/d&query=n%20%3E"), 400),
        (format!("/datasets/{records}/value?domain=/d&query=(((((n%20%3E%201"), 400),
        (format!("/datasets/{records}/value?domain=/d&query=n%20%3E%201&Limit=x"), 400),
        (format!("/datasets/{records}/value?domain=/d&fields=none"), 400),
        (format!("/datasets/{id}/value?domain=/d&fields=a"), 400),
        (format!("/datasets/{id}/query?domain=/d"), 400),
        ("/domains?domain=/&Limit=-1".to_owned(), 400),
        ("/zarr/d/a/c/9/9".to_owned(), 404),
        ("/zarr/d/../../etc/passwd".to_owned(), 404),
    ] {
        assert_eq!(check(&server, "GET", &target, b""), status, "{target}");
    }
    assert_eq!(state(&server), before);
}

#[test]
fn writes() {
    let (_directory, server) = service();
    let (root, id, _) = made(&server);
    let before = state(&server);
    let nested = |depth: usize| "[".repeat(depth);
    let deep_type = (0..200).fold(json!("H5T_STD_I8LE"), |base, _| json!({"class": "H5T_VLEN", "base": base}));
    let dataset = "/datasets?domain=/d".to_owned();
    let value = format!("/datasets/{id}/value?domain=/d");
    for (method, target, body, status) in [
        // JSON.
        ("POST", dataset.clone(), "{".to_owned(), 400),
        ("POST", dataset.clone(), "[1, 2]".to_owned(), 400),
        ("POST", dataset.clone(), nested(100_000), 400),
        ("POST", dataset.clone(), json!({"type": deep_type, "shape": [1]}).to_string(), 400),
        ("PUT", value.clone(), format!("{{\"value\": {}", nested(100_000)), 400),
        ("PUT", value.clone(), "\u{0}".to_owned(), 400),
        // Types and shapes.
        ("POST", dataset.clone(), json!({"shape": [1]}).to_string(), 400),
        (
            "POST",
            dataset.clone(),
            json!({"type": {"class": "H5T_STRING", "length": -1}, "shape": [1]}).to_string(),
            400,
        ),
        ("POST", dataset.clone(), json!({"type": {"class": "H5T_COMPOUND", "fields": []}}).to_string(), 400),
        ("POST", dataset.clone(), json!({"type": "H5T_STD_I32LE", "shape": [-1]}).to_string(), 400),
        ("POST", dataset.clone(), json!({"type": "H5T_STD_I32LE", "shape": "many"}).to_string(), 400),
        ("POST", dataset.clone(), json!({"type": "H5T_STD_I32LE", "shape": vec![2; 33]}).to_string(), 400),
        (
            "POST",
            dataset.clone(),
            json!({"type": "H5T_STD_I32LE", "shape": [u64::MAX, u64::MAX], "value": [1]}).to_string(),
            400,
        ),
        (
            "POST",
            dataset.clone(),
            json!({"type": "H5T_STD_I32LE", "shape": [2], "creationProperties": 3}).to_string(),
            400,
        ),
        (
            "POST",
            dataset,
            json!({"type": "H5T_STD_I32LE", "shape": [2], "creationProperties": {"fillValue": "x"}}).to_string(),
            400,
        ),
        ("POST", "/datatypes?domain=/d".to_owned(), "{}".to_owned(), 400),
        // Values.
        ("PUT", value.clone(), "{}".to_owned(), 400),
        ("PUT", value.clone(), json!({"value": [[1, 2], [3]]}).to_string(), 400),
        ("PUT", value.clone(), json!({"value": "text"}).to_string(), 400),
        ("PUT", value.clone(), json!({"value_base64": "***"}).to_string(), 400),
        ("PUT", value.clone(), json!({"value_base64": "AAAA"}).to_string(), 400),
        ("PUT", format!("{value}&select=[0:5,0]"), json!({"value": 1}).to_string(), 400),
        ("PUT", format!("{value}&select=[0]"), json!({"value": 1}).to_string(), 400),
        ("PUT", value.clone(), json!({"points": [[0, 0, 0]], "value": [1]}).to_string(), 400),
        ("PUT", value.clone(), json!({"points": [[0, -1]], "value": [1]}).to_string(), 400),
        ("POST", value.clone(), json!({"points": "x"}).to_string(), 400),
        ("POST", value, "{}".to_owned(), 400),
        ("PUT", format!("/datasets/{id}/shape?domain=/d"), json!({"shape": [4]}).to_string(), 400),
        ("PUT", format!("/datasets/{id}/shape?domain=/d"), json!({"shape": [4, 9]}).to_string(), 400),
        ("PUT", format!("/datasets/{id}/shape?domain=/d"), json!({"extend": u64::MAX}).to_string(), 400),
        // Links, attributes, lists.
        ("PUT", format!("/groups/{root}/links/x?domain=/d"), "{}".to_owned(), 400),
        ("PUT", format!("/groups/{root}/links/x?domain=/d"), json!({"id": "x"}).to_string(), 404),
        ("PUT", format!("/datasets/{id}/attributes/x?domain=/d"), json!({"value": 1}).to_string(), 400),
        (
            "PUT",
            format!("/datasets/{id}/attributes/x?domain=/d"),
            json!({"type": "H5T_STD_I8LE", "value": 300}).to_string(),
            400,
        ),
        ("DELETE", format!("/datasets/{id}/attributes/none?domain=/d"), String::new(), 404),
        ("PUT", "/acls/ann?domain=/d".to_owned(), json!({"fly": true}).to_string(), 400),
        ("PUT", "/?domain=/d@v1".to_owned(), "{}".to_owned(), 409),
        ("PUT", "/?domain=/.hidden".to_owned(), "{}".to_owned(), 400),
    ] {
        assert_eq!(check(&server, method, &target, body.as_bytes()), status, "{method} {target} {body:.200}");
    }
    assert_eq!(state(&server), before);
}

#[test]
fn large_bodies_and_trailing_slashes() {
    let (_directory, server) = service();
    let (_, id, _) = made(&server);
    assert_eq!(check(&server, "PUT", &format!("/datasets/{id}/value?domain=/d"), &vec![b' '; 129 << 20]), 413);
    // h5pyd joins an endpoint that ends with a slash and a path.
    assert_eq!(server.get("//about").status, 200);
    assert_eq!(server.get(&format!("//datasets/{id}?domain=/d")).status, 200);
}

/// Pseudo-random numbers; the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }

    fn changed(&mut self, text: &str) -> Vec<u8> {
        const SPLICES: [&[u8]; 12] = [
            b"[",
            b"]",
            b"-",
            b":",
            b",",
            b"\"",
            b"18446744073709551616",
            b"\xff",
            b"{}",
            b"null",
            b"1e999",
            b"\\u0000",
        ];
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..1 + self.below(4) {
            let at = self.below(bytes.len() + 1);
            match self.below(3) {
                0 => drop(bytes.drain(at..(at + self.below(6)).min(bytes.len()))),
                1 => drop(bytes.splice(at..at, SPLICES[self.below(SPLICES.len())].iter().copied())),
                _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = byte.wrapping_add(1)),
            }
        }
        bytes
    }
}

#[test]
fn random_changes_of_good_requests_never_fail_the_service() {
    let (_directory, server) = service();
    let (root, id, records) = made(&server);
    let bodies = [
        ("POST", "/datasets?domain=/d".to_owned(), json!({"type": {"class": "H5T_COMPOUND", "fields": [
            {"name": "a", "type": "H5T_STD_I32LE"}, {"name": "b", "type": {"class": "H5T_STRING", "length": "H5T_VARIABLE"}}]},
            "shape": [3], "maxdims": [5], "creationProperties": {"layout": {"class": "H5D_CHUNKED", "dims": [2]}}}).to_string()),
        ("PUT", format!("/datasets/{id}/value?domain=/d"), json!({"value": [[1, 2, 3], [4, 5, 6], [7, 8, 9], [0, 0, 0]]}).to_string()),
        ("PUT", format!("/datasets/{records}/value?domain=/d"), json!({"points": [[0], [2]], "value": [["ab", 1], ["c", 2]]}).to_string()),
        ("POST", format!("/datasets/{id}/value?domain=/d"), json!({"select": "[0:2,[0,2]]"}).to_string()),
        ("PUT", format!("/groups/{root}/attributes?domain=/d"), json!({"attributes": {"x": {"type": "H5T_IEEE_F64LE", "shape": [2], "value": [1.5, 2]}}}).to_string()),
    ];
    let targets =
        [("select=[0:2,[0,2]]", &id), ("select=[1:4:2,0]", &id), ("query=n%20>%201%20AND%20s%20==%20'ab'", &records)];
    let mut random = Random(28);
    let escaped = |bytes: &[u8]| -> String { bytes.iter().map(|byte| format!("%{byte:02X}")).collect() };
    let mut counts = [0; 2];
    for _ in 0..1500 {
        let (method, target, body) = &bodies[random.below(bodies.len())];
        let status = check(&server, method, target, &random.changed(body));
        counts[usize::from(status >= 400)] += 1;
        let (text, dataset) = targets[random.below(targets.len())];
        let (name, value) = text.split_once('=').unwrap();
        let value = escaped(&random.changed(&value.replace("%20", " ")));
        let status = check(&server, "GET", &format!("/datasets/{dataset}/value?domain=/d&{name}={value}"), b"");
        counts[usize::from(status >= 400)] += 1;
    }
    assert!(counts.iter().all(|count| *count > 150), "accepted and refused: {counts:?}");
}

#[test]
fn refusals_of_the_framework_have_a_kind_and_a_hint_too() {
    let directory = tempfile::tempdir().unwrap();
    let server = start_with(&[directory.path()], Config { writable: true, ..Config::default() });
    for (method, target, status) in [("DELETE", "/about", 405), ("GET", "/groups/%FF%FE?domain=/d", 400)] {
        let reply = server.ask(method, target, &[], b"");
        assert_eq!(reply.status, status, "{method} {target}");
        let body = reply.json();
        assert!(!body["kind"].as_str().unwrap().is_empty() && !body["hint"].as_str().unwrap().is_empty());
    }
    drop(server);
    let limits = icecore_server::Limits { body: 1000, ..Default::default() };
    let server = start_with(&[directory.path()], Config { limits, ..Config::default() });
    let reply = server.ask("POST", "/datasets/d-x/value?domain=/d", &[], &[0; 1001]);
    assert_eq!(reply.status, 413);
    assert_eq!(reply.json()["kind"], "memory");
}
