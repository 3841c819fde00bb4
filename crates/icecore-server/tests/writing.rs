//! Writing over HDF REST: objects, links, attributes, values, commits, conflicts, users.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{Reply, Running, start_with};
use icecore::catalog::{Repo, Storage};
use icecore_server::{Config, Users};
use serde_json::{Value, json};

fn writable(root: &Path) -> Running {
    start_with(&[root], Config { writable: true, ..Config::default() })
}

fn send(server: &Running, method: &str, target: &str, body: Value) -> Reply {
    server.ask(method, target, &[("content-type", "application/json")], body.to_string().as_bytes())
}

/// Sends, checks the status, and returns the body.
fn done(server: &Running, method: &str, target: &str, body: Value, status: u16) -> Value {
    let reply = send(server, method, target, body);
    assert_eq!(reply.status, status, "{method} {target}: {}", String::from_utf8_lossy(&reply.body));
    if reply.body.is_empty() { Value::Null } else { reply.json() }
}

fn repo(root: &Path, name: &str) -> Repo {
    Repo::open(&Storage { url: root.join(name).to_str().unwrap().to_owned(), ..Storage::default() }).unwrap()
}

/// A domain `/d` with a dataset `/g/a` of 4 × 3 integers; returns ids of root, group and dataset.
fn made(server: &Running) -> (String, String, String) {
    let root = done(server, "PUT", "/?domain=/d", json!({}), 201)["root"].as_str().unwrap().to_owned();
    let group = done(server, "POST", "/groups?domain=/d", json!({"link": {"id": root, "name": "g"}}), 201);
    let group = group["id"].as_str().unwrap().to_owned();
    let body = json!({"type": "H5T_STD_I32LE", "shape": [4, 3], "maxdims": [0, 3],
        "creationProperties": {"layout": {"class": "H5D_CHUNKED", "dims": [3, 2]}, "fillValue": 7},
        "link": {"id": group, "name": "a"}});
    let dataset = done(server, "POST", "/datasets?domain=/d", body, 201)["id"].as_str().unwrap().to_owned();
    (root, group, dataset)
}

fn values(server: &Running, id: &str) -> Value {
    server.get(&format!("/datasets/{id}/value?domain=/d")).json()["value"].clone()
}

#[test]
fn what_is_written_is_read_at_once_and_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let server = writable(directory.path());
    let (root, group, id) = made(&server);
    assert_eq!(values(&server, &id), json!([[7, 7, 7], [7, 7, 7], [7, 7, 7], [7, 7, 7]]));
    let select = format!("/datasets/{id}/value?domain=/d&select=[1:4:2,1:3]");
    done(&server, "PUT", &select, json!({"value": [[1, 2], [3, 4]]}), 200);
    let points = json!({"points": [[0, 0], [3, 0]], "value_base64": "CQAAAAgAAAA="});
    done(&server, "PUT", &format!("/datasets/{id}/value?domain=/d"), points, 200);
    let expected = json!([[9, 7, 7], [7, 1, 2], [7, 7, 7], [8, 3, 4]]);
    assert_eq!(values(&server, &id), expected);
    done(&server, "PUT", &format!("/groups/{root}/links/soft?domain=/d"), json!({"h5path": "/g/a"}), 201);
    done(&server, "PUT", &format!("/groups/{root}/links/again?domain=/d"), json!({"id": id}), 201);
    let attribute = json!({"type": "H5T_IEEE_F32LE", "shape": [2], "value": [1.5, 2.5]});
    done(&server, "PUT", &format!("/datasets/{id}/attributes/scale?domain=/d"), attribute, 201);
    done(&server, "PUT", "/?domain=/d&flush=1", json!({}), 204);
    // Acknowledged changes are in the repository.
    let snapshot = repo(directory.path(), "d").snapshot(None).unwrap();
    let document: Value = serde_json::from_slice(&snapshot.node("/g/a").unwrap().zarr_json).unwrap();
    assert_eq!(document["attributes"]["scale"], json!([1.5, 2.5]));
    drop(server);
    for writes in [true, false] {
        let server = start_with(&[directory.path()], Config { writable: writes, ..Config::default() });
        assert_eq!(server.id("/d", "/g"), group);
        assert_eq!(server.id("/d", "/again"), id);
        assert_eq!(values(&server, &id), expected);
        let object = server.get(&format!("/datasets/{id}?domain=/d&include_attrs=1")).json();
        assert_eq!(object["attributes"]["scale"]["type"]["base"], "H5T_IEEE_F32LE");
        assert_eq!(object["shape"], json!({"class": "H5S_SIMPLE", "maxdims": [0, 3], "dims": [4, 3]}));
        let link = server.get(&format!("/groups/{root}/links/soft?domain=/d")).json();
        assert_eq!((&link["link"]["class"], &link["link"]["h5path"]), (&json!("H5L_TYPE_SOFT"), &json!("/g/a")));
    }
}

#[test]
fn a_value_that_cannot_be_stored_leaves_the_domain_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    // A plain Zarr array: only arrays with an HDF5 type of their own are converted to byte strings.
    let writer = common::create(&directory.path().join("d")).writer("main").unwrap();
    let text = json!({"zarr_format": 3, "node_type": "array", "shape": [3], "data_type": "string", "fill_value": "",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}}, "attributes": {},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "vlen-utf8"}]});
    writer.add_array("/t", text.to_string().as_bytes()).unwrap();
    let number = common::document(&[3], &[3], &json!("int32"), &json!(7), &json!({}));
    writer.add_array("/n", number.as_bytes()).unwrap();
    writer.commit("made").unwrap();
    let server = writable(directory.path());
    let (id, numbers) = (server.id("/d", "/t"), server.id("/d", "/n"));
    let target = format!("/datasets/{id}/value?domain=/d");
    done(&server, "PUT", &target, json!({"value": ["a", "b", "c"]}), 200);
    let binary = [("content-type", "application/octet-stream")];
    let bad = [&[1, 0, 0, 0, b'x'][..], &[1, 0, 0, 0, b'y'], &[1, 0, 0, 0, 0xff]].concat();
    assert_eq!(server.ask("PUT", &target, &binary, &bad).status, 400);
    assert_eq!(values(&server, &id), json!(["a", "b", "c"]));
    done(&server, "PUT", &format!("/datasets/{numbers}/value?domain=/d&select=[0:1]"), json!({"value": [1]}), 200);
    done(&server, "PUT", "/?domain=/d&flush=1", json!({}), 204);
    assert_eq!(values(&server, &id), json!(["a", "b", "c"]));
    assert_eq!(values(&server, &numbers), json!([1, 7, 7]));
}

#[test]
fn resized_and_appended() {
    let directory = tempfile::tempdir().unwrap();
    let server = writable(directory.path());
    let (_, _, id) = made(&server);
    let target = format!("/datasets/{id}/value?domain=/d");
    done(&server, "PUT", &target, json!({"value": [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]}), 200);
    let shape = format!("/datasets/{id}/shape?domain=/d");
    done(&server, "PUT", &shape, json!({"shape": [2, 3]}), 201);
    done(&server, "PUT", &shape, json!({"shape": [3, 3]}), 201);
    assert_eq!(values(&server, &id), json!([[1, 2, 3], [4, 5, 6], [7, 7, 7]]));
    done(&server, "PUT", &format!("{target}&append=1"), json!({"value": [[0, 0, 1]]}), 200);
    assert_eq!(values(&server, &id), json!([[1, 2, 3], [4, 5, 6], [7, 7, 7], [0, 0, 1]]));
    done(&server, "PUT", &shape, json!({"shape": [2, 4]}), 400);
    done(&server, "PUT", &target, json!({"value": [1, 2]}), 400);
    assert_eq!(server.get(&format!("/datasets/{id}/shape?domain=/d")).json()["shape"]["dims"], json!([4, 3]));
}

#[test]
fn texts_records_and_sequences() {
    let directory = tempfile::tempdir().unwrap();
    let server = writable(directory.path());
    let (root, _, _) = made(&server);
    let text = json!({"class": "H5T_STRING", "length": "H5T_VARIABLE", "charSet": "H5T_CSET_UTF8"});
    let sequence = json!({"class": "H5T_VLEN", "base": {"class": "H5T_INTEGER", "base": "H5T_STD_I16LE"}});
    let record = json!({"class": "H5T_COMPOUND", "fields": [{"name": "t", "type": text}, {"name": "n", "type": "H5T_STD_I32LE"}]});
    let pair = json!({"class": "H5T_COMPOUND", "fields": [{"name": "x", "type": "H5T_STD_U8LE"}, {"name": "y", "type": "H5T_IEEE_F64LE"}]});
    let array = json!({"class": "H5T_ARRAY", "base": "H5T_STD_I8LE", "dims": [2]});
    for (kind, value) in [
        (text, json!(["ab", "", "é"])),
        (sequence, json!([[1, -2], [], [3]])),
        (record, json!([["ab", 1], ["", 2], ["c", -3]])),
        (pair, json!([[1, 0.5], [255, -1.0], [0, 2.0]])),
        (array, json!([[1, 2], [3, 4], [5, -6]])),
    ] {
        let made =
            done(&server, "POST", "/datasets?domain=/d", json!({"type": kind, "shape": [3], "value": value}), 201);
        let id = made["id"].as_str().unwrap();
        assert_eq!(values(&server, id), value, "{kind}");
        let bytes = server.bytes(&format!("/datasets/{id}/value?domain=/d"));
        let target = format!("/datasets/{id}/value?domain=/d");
        let reply = server.ask("PUT", &target, &[("content-type", "application/octet-stream")], &bytes.body);
        assert_eq!((reply.status, values(&server, id)), (200, value), "{kind}");
    }
    let committed = done(&server, "POST", "/datatypes?domain=/d", json!({"type": pair_type()}), 201);
    let link = json!({"id": committed["id"]});
    done(&server, "PUT", &format!("/groups/{root}/links/type?domain=/d"), link, 201);
    let id = committed["id"].as_str().unwrap();
    let made =
        done(&server, "POST", "/datasets?domain=/d", json!({"type": format!("datatypes/{id}"), "shape": [1]}), 201);
    assert_eq!(made["type"]["id"], json!(id));
    done(&server, "PUT", "/?domain=/d&flush=1", Value::Null, 204);
    assert_eq!(server.get(&format!("/datatypes/{id}?domain=/d")).json()["type"]["class"], "H5T_COMPOUND");
}

fn pair_type() -> Value {
    json!({"class": "H5T_COMPOUND", "fields": [{"name": "r", "type": "H5T_STD_I8LE"}]})
}

#[test]
fn bad_requests_change_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let server = writable(directory.path());
    let (root, group, id) = made(&server);
    for (method, target, body, status) in [
        ("PUT", "/?domain=/d".to_owned(), json!({}), 409),
        ("PUT", "/?domain=/none/d".to_owned(), json!({}), 404),
        ("PUT", "/?domain=/d/e".to_owned(), json!({}), 409),
        ("PUT", "/?domain=/../e".to_owned(), json!({}), 400),
        ("POST", "/datasets?domain=/d".to_owned(), json!({"type": "H5T_NONE", "shape": [1]}), 400),
        ("POST", "/groups?domain=/d".to_owned(), json!([{}, {"id": "g-1"}]), 400),
        ("PUT", format!("/groups/{root}/links/g?domain=/d"), json!({"id": id}), 409),
        (
            "PUT",
            format!("/groups/{root}/links/x?domain=/d"),
            json!({"id": "d-00000000-00000000-0000-000000-000000"}),
            404,
        ),
        ("PUT", format!("/datasets/{id}/value?domain=/d&select=[0:9,0]"), json!({"value": 1}), 400),
        ("PUT", format!("/datasets/{id}/value?domain=/d"), json!({"points": [[4, 0]], "value": [1]}), 400),
        (
            "PUT",
            format!("/datasets/{id}/attributes/a?domain=/d"),
            json!({"type": "H5T_STD_I8LE", "shape": [2], "value": [1]}),
            400,
        ),
        ("DELETE", format!("/groups/{root}?domain=/d"), json!({}), 403),
        ("DELETE", format!("/groups/{group}/links/none?domain=/d"), json!({}), 404),
        ("DELETE", "/?domain=/none".to_owned(), json!({}), 404),
    ] {
        done(&server, method, &target, body, status);
    }
    assert_eq!(server.get("/groups?domain=/d").json()["groups"], json!([group]));
    drop(server);
    let reading = start_with(&[directory.path()], Config::default());
    done(&reading, "PUT", "/?domain=/e", json!({}), 403);
    done(&reading, "DELETE", "/?domain=/d", json!({}), 403);
    assert_eq!(reading.id("/d", "/g/a"), id);
}

#[test]
fn the_link_that_was_created_first_is_the_path() {
    let directory = tempfile::tempdir().unwrap();
    let server = writable(directory.path());
    let (root, _, _) = made(&server);
    let (mut links, mut expected) = (serde_json::Map::new(), Vec::new());
    for number in 0..8 {
        let named = json!({"link": {"id": root, "name": format!("g{number}")}});
        let group = done(&server, "POST", "/groups?domain=/d", named, 201)["id"].as_str().unwrap().to_owned();
        let dataset = json!({"type": "H5T_STD_I32LE", "shape": [2]});
        let id = done(&server, "POST", "/datasets?domain=/d", dataset, 201)["id"].clone();
        links.entry(root.as_str()).or_insert_with(|| json!({"links": {}}))["links"][format!("x{number}")] =
            json!({"id": id, "created": 1000.5});
        links.insert(group, json!({"links": {"a": {"id": id, "created": 1000.25}}}));
        expected.push(format!("/g{number}/a"));
    }
    done(&server, "PUT", &format!("/groups/{root}/links?domain=/d"), json!({"grp_ids": links}), 201);
    done(&server, "PUT", "/?domain=/d&flush=1", json!({}), 204);
    let snapshot = repo(directory.path(), "d").snapshot(None).unwrap();
    let missing: Vec<_> = expected.iter().filter(|path| snapshot.node(path).is_none()).collect();
    assert_eq!(missing, Vec::<&String>::new());
}

#[test]
fn removed_and_moved_objects() {
    let directory = tempfile::tempdir().unwrap();
    let server = writable(directory.path());
    let (root, group, id) = made(&server);
    done(&server, "PUT", "/?domain=/d&flush=1", json!({}), 204);
    // Moved out of a group that is removed.
    done(&server, "PUT", &format!("/groups/{root}/links/b?domain=/d"), json!({"id": id}), 201);
    done(&server, "DELETE", &format!("/groups/{root}/links/g?domain=/d"), json!({}), 200);
    let other = done(&server, "POST", "/groups?domain=/d", json!({"link": {"id": root, "name": "g"}}), 201);
    drop(server);
    let server = writable(directory.path());
    assert_eq!(server.id("/d", "/b"), id);
    assert_eq!(json!(server.id("/d", "/g")), other["id"]);
    assert_eq!(server.get(&format!("/groups/{group}?domain=/d")).status, 404);
    assert_eq!(values(&server, &id).as_array().unwrap().len(), 4);
    done(&server, "DELETE", "/?domain=/d", json!({}), 200);
    assert_eq!(server.get("/?domain=/d").status, 404);
    assert!(!directory.path().join("d").exists());
}

#[test]
fn two_writers_conflict_and_nothing_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (writable(directory.path()), writable(directory.path()));
    let (root, _, id) = made(&one);
    done(&one, "PUT", "/?domain=/d&flush=1", json!({}), 204);
    let target = format!("/datasets/{id}/value?domain=/d");
    let kind = |value: i32| json!({"type": "H5T_STD_I32LE", "value": value});
    done(&one, "PUT", &format!("/groups/{root}/attributes/a?domain=/d"), kind(1), 201);
    done(&two, "PUT", &format!("/groups/{root}/attributes/a?domain=/d"), kind(2), 201);
    done(&two, "PUT", &target, json!({"value": 5}), 200);
    done(&one, "PUT", "/?domain=/d&flush=1", json!({}), 204);
    let refused = done(&two, "PUT", "/?domain=/d&flush=1", json!({}), 409);
    assert_eq!(refused["kind"], "conflict");
    let seen = two.get(&format!("/groups/{root}/attributes/a?domain=/d")).json();
    assert_eq!(seen["value"], 1);
    done(&two, "PUT", &target, json!({"value": 5}), 200);
    done(&two, "PUT", "/?domain=/d&flush=1", json!({}), 204);
}

#[test]
fn users_and_lists() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("users");
    let lines =
        [("ann", "a"), ("bob", "b"), ("admin", "c")].map(|(name, password)| Users::line(name, password).unwrap());
    std::fs::write(&file, lines.join("\n")).unwrap();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    let users = Some(Arc::new(Users::load(&file).unwrap()));
    let server = start_with(&[&data], Config { writable: true, users, ..Config::default() });
    let (ann, bob) = (("authorization", "Basic YW5uOmE="), ("authorization", "Basic Ym9iOmI="));
    let ask = |method: &str, target: &str, user: (&str, &str)| server.ask(method, target, &[user], b"{}").status;
    assert_eq!(server.get("/?domain=/d").status, 401);
    assert_eq!(ask("GET", "/domains", ("authorization", "Basic YW5uOmI=")), 401);
    // In a folder without an owner, only admin creates, and says who else does.
    assert_eq!((ask("PUT", "/?domain=/d", ann), ask("PUT", "/?domain=/d", bob)), (403, 403));
    let admin = ("authorization", "Basic YWRtaW46Yw==");
    for (user, list) in [("default", json!({"read": true})), ("ann", json!({"read": true, "create": true}))] {
        let (target, body) = (format!("/acls/{user}?domain=/"), list.to_string());
        assert_eq!(server.ask("PUT", &target, &[ann], body.as_bytes()).status, 403);
        assert_eq!(server.ask("PUT", &target, &[admin], body.as_bytes()).status, 201);
    }
    assert_eq!((ask("PUT", "/?domain=/d", ann), ask("PUT", "/?domain=/e", bob)), (201, 403));
    assert_eq!((ask("GET", "/?domain=/d", ann), ask("GET", "/?domain=/d", bob)), (200, 403));
    assert_eq!(ask("DELETE", "/?domain=/d", bob), 403);
    let body = json!({"read": true}).to_string();
    assert_eq!(server.ask("PUT", "/acls/bob?domain=/d", &[bob], body.as_bytes()).status, 403);
    assert_eq!(server.ask("PUT", "/acls/bob?domain=/d", &[ann], body.as_bytes()).status, 201);
    assert_eq!((ask("GET", "/?domain=/d", bob), ask("POST", "/groups?domain=/d", bob)), (200, 403));
    assert_eq!(server.get("/about").status, 200);
}

/// Paths of all arrays after a flush.
fn arrays(root: &Path) -> Vec<String> {
    let nodes = repo(root, "d").snapshot(None).unwrap().nodes().to_vec();
    nodes
        .into_iter()
        .filter(|node| node.zarr_json.windows(7).any(|w| w == b"\"array\""))
        .map(|node| node.path)
        .collect()
}

#[test]
fn a_failed_request_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let server = writable(directory.path());
    let (root, _, id) = made(&server);
    let before = values(&server, &id);
    let target = format!("/datasets/{id}/value?domain=/d");
    // The dataset grows before its elements are counted.
    done(&server, "PUT", &target, json!({"append": 2, "value": [1, 2, 3, 4]}), 400);
    assert_eq!(values(&server, &id), before);
    // The first of two datasets has its elements when the second one fails.
    let two = json!([{"type": "H5T_STD_I32LE", "shape": [2], "value": [1, 2], "link": {"id": root, "name": "x"}},
        {"type": "H5T_STD_I32LE", "shape": [2], "value": [1, 2, 3], "link": {"id": root, "name": "y"}}]);
    done(&server, "POST", "/datasets?domain=/d", two, 400);
    // One point of two is outside; the first would need another type of the array.
    let text = json!({"class": "H5T_STRING", "length": "H5T_VARIABLE", "charSet": "H5T_CSET_ASCII"});
    let body = json!({"type": text, "shape": [3], "value": ["a", "b", "c"], "link": {"id": root, "name": "t"}});
    let texts = done(&server, "POST", "/datasets?domain=/d", body, 201)["id"].as_str().unwrap().to_owned();
    let points = json!({"points": [0, 9], "value_base64": "AQAAAP8BAAAAYQ=="});
    done(&server, "PUT", &format!("/datasets/{texts}/value?domain=/d"), points, 400);
    assert_eq!(values(&server, &texts), json!(["a", "b", "c"]));
    done(&server, "PUT", "/?domain=/d&flush=1", json!({}), 204);
    assert_eq!(arrays(directory.path()), ["/g/a", "/t"]);
    let document = repo(directory.path(), "d").snapshot(None).unwrap().node("/t").unwrap().zarr_json.clone();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["data_type"], "string");
    let document = repo(directory.path(), "d").snapshot(None).unwrap().node("/g/a").unwrap().zarr_json.clone();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["shape"], json!([4, 3]));
}
