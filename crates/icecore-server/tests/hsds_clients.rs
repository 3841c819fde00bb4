//! Behaviour that h5pyd's own tests and the hs tools expect of a service.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{Running, start_with};
use icecore_server::{Config, Users};
use serde_json::{Value, json};

fn writable(root: &Path) -> Running {
    start_with(&[root], Config { writable: true, ..Config::default() })
}

/// Sends JSON, checks the status, and returns the body.
fn done(server: &Running, method: &str, target: &str, body: Value, status: u16) -> Value {
    let reply = server.ask(method, target, &[("content-type", "application/json")], body.to_string().as_bytes());
    assert_eq!(reply.status, status, "{method} {target}: {}", String::from_utf8_lossy(&reply.body));
    if reply.body.is_empty() { Value::Null } else { reply.json() }
}

/// A domain `/d`; returns its root.
fn domain(server: &Running) -> String {
    done(server, "PUT", "/?domain=/d", json!({}), 201)["root"].as_str().unwrap().to_owned()
}

fn dataset(server: &Running, body: Value) -> String {
    done(server, "POST", "/datasets?domain=/d", body, 201)["id"].as_str().unwrap().to_owned()
}

fn value(server: &Running, id: &str, query: &str) -> Value {
    server.get(&format!("/datasets/{id}/value?domain=/d{query}")).json()["value"].clone()
}

#[test]
fn lists_on_several_axes_are_points() {
    let directory = tempfile::tempdir().unwrap();
    let server = writable(directory.path());
    domain(&server);
    let id = dataset(
        &server,
        json!({"type": "H5T_STD_I32LE", "shape": [3, 4],
        "value": [[0, 1, 2, 3], [10, 11, 12, 13], [20, 21, 22, 23]]}),
    );
    assert_eq!(value(&server, &id, "&select=[[0,2],[3,1]]"), json!([3, 21]));
    assert_eq!(value(&server, &id, "&select=[0:2,[3,1]]"), json!([[3, 1], [13, 11]]));
    assert_eq!(server.get(&format!("/datasets/{id}/value?domain=/d&select=[[0,2],[3,1,0]]")).status, 400);
    let target = format!("/datasets/{id}/value?domain=/d&select=[[0,2],[3,1]]");
    done(&server, "PUT", &target, json!({"value": [-1, -2]}), 200);
    assert_eq!(value(&server, &id, ""), json!([[0, 1, 2, -1], [10, 11, 12, 13], [20, -2, 22, 23]]));
}

#[test]
fn texts_that_are_not_utf8_are_kept() {
    let directory = tempfile::tempdir().unwrap();
    let server = writable(directory.path());
    let root = domain(&server);
    let text = json!({"class": "H5T_STRING", "length": "H5T_VARIABLE", "charSet": "H5T_CSET_ASCII"});
    let id = dataset(
        &server,
        json!({"type": text, "shape": [3], "value": ["é", "", "b"], "link": {"id": root, "name": "t"}}),
    );
    let send = |bytes: &[u8]| {
        let target = format!("/datasets/{id}/value?domain=/d&select=[1:2]");
        server.ask("PUT", &target, &[("content-type", "application/octet-stream")], bytes).status
    };
    assert_eq!(send(b"\x02\0\0\0a\xef"), 200);
    let expected = b"\x02\0\0\0\xc3\xa9\x02\0\0\0a\xef\x01\0\0\0b";
    assert_eq!(server.bytes(&format!("/datasets/{id}/value?domain=/d")).body, expected);
    done(&server, "PUT", "/?domain=/d&flush=1", json!({}), 204);
    drop(server);
    let server = writable(directory.path());
    assert_eq!(server.bytes(&format!("/datasets/{id}/value?domain=/d")).body, expected);
    assert_eq!(server.get(&format!("/datasets/{id}?domain=/d")).json()["type"]["class"], "H5T_STRING");
}

#[test]
fn types_without_byte_order_and_very_long_strings() {
    let directory = tempfile::tempdir().unwrap();
    let server = writable(directory.path());
    domain(&server);
    let vlen = json!({"class": "H5T_VLEN", "base": "H5T_STD_I32", "size": "H5T_VARIABLE"});
    let id = dataset(&server, json!({"type": vlen, "shape": [2], "value": [[1, 2], []]}));
    assert_eq!(value(&server, &id, ""), json!([[1, 2], []]));
    let long =
        json!({"class": "H5T_STRING", "length": 100_000_000, "charSet": "H5T_CSET_ASCII", "strPad": "H5T_STR_NULLPAD"});
    let layout = json!({"layout": {"class": "H5D_CHUNKED", "dims": [1]}});
    let id = dataset(&server, json!({"type": long, "shape": [3], "creationProperties": layout}));
    done(&server, "PUT", "/?domain=/d&flush=1", json!({}), 204);
    // The fill value does not hold 100 MB of NULs.
    let found = walk(directory.path()).into_iter().map(|path| std::fs::metadata(path).unwrap().len()).max();
    assert!(found.unwrap() < 100_000, "{found:?}");
    assert_eq!(server.get(&format!("/datasets/{id}?domain=/d")).json()["type"]["length"], 100_000_000);
}

fn walk(root: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn initial_elements_queries_and_names() {
    let directory = tempfile::tempdir().unwrap();
    let server = writable(directory.path());
    let root = domain(&server);
    let arange = json!({"initializer": ["arange", "--start=10", "--step=2"]});
    let id = dataset(&server, json!({"type": "H5T_STD_I64BE", "shape": [4], "creationProperties": arange}));
    assert_eq!(value(&server, &id, ""), json!([10, 12, 14, 16]));
    let hits = server.get(&format!("/datasets/{id}/value?domain=/d&query=_%20%3E%2012")).json();
    assert_eq!((&hits["value"], &hits["index"]), (&json!([14, 16]), &json!([2, 3])));
    // The name of an object is the path of a link, before and after it is stored; without a link there is none.
    let alias = |id: &str| server.get(&format!("/datasets/{id}?domain=/d&getalias=1")).json()["alias"].clone();
    assert_eq!(alias(&id), json!([]));
    done(&server, "PUT", &format!("/groups/{root}/links/a?domain=/d"), json!({"id": id}), 201);
    assert_eq!(alias(&id), json!(["/a"]));
    // h5pyd 0.24 puts its request for node ids into the body of a flush.
    assert_eq!(done(&server, "PUT", "/?domain=/d", json!({"flush": 1, "getdnids": 1}), 200)["dn_ids"], json!([]));
    assert_eq!(alias(&id), json!(["/a"]));
}

#[test]
fn a_domain_that_is_being_written_is_opened_without_its_objects() {
    let directory = tempfile::tempdir().unwrap();
    let server = writable(directory.path());
    domain(&server);
    assert!(server.get("/?domain=/d&getobjs=1").json().get("domain_objs").is_none());
    drop(server);
    let server = writable(directory.path());
    assert_eq!(server.get("/?domain=/d&getobjs=1").json()["domain_objs"].as_object().unwrap().len(), 1);
}

#[test]
fn folders_of_users() {
    let directory = tempfile::tempdir().unwrap();
    let (file, data) = (directory.path().join("users"), directory.path().join("data"));
    let lines = [("ann", "a"), ("bob", "b")].map(|(name, password)| Users::line(name, password).unwrap());
    std::fs::write(&file, lines.join("\n")).unwrap();
    std::fs::create_dir_all(data.join("home/ann/x")).unwrap();
    let users = Some(Arc::new(Users::load(&file).unwrap()));
    let server = start_with(&[&data], Config { writable: true, users, ..Config::default() });
    let (ann, bob) = (("authorization", "Basic YW5uOmE="), ("authorization", "Basic Ym9iOmI="));
    let get = |target: &str, user| server.ask("GET", target, &[user], b"").json();
    let put = |target: &str, user, body: &[u8]| server.ask("PUT", target, &[user], body).status;
    assert_eq!(get("/?domain=/home/ann/x/", ann)["owner"], "ann");
    assert_eq!(get("/acls/ann?domain=/home/ann/x/", ann)["acl"]["updateACL"], true);
    assert_eq!(put("/?domain=/home/ann/x/d", bob, b"{}"), 403);
    assert_eq!(put("/?domain=/home/ann/x/d", ann, b"{}"), 201);
    let items = get("/domains?domain=/home/ann/x/", ann)["domains"].clone();
    assert!(items[0]["lastModified"].as_f64().unwrap() > 1e9, "{items}");
    let items = get("/domains?domain=/home/ann/x/&verbose=1", ann)["domains"].clone();
    assert_eq!((&items[0]["owner"], &items[0]["num_groups"]), (&json!("ann"), &json!(1)));
    assert_eq!(get("/domains?domain=/home/ann/x/d/", ann)["domains"], json!([]));
    // Users read their own list, and the list for all, without the permission to read all lists.
    assert_eq!(put("/acls/default?domain=/home/ann/x/d", ann, br#"{"read": true}"#), 201);
    assert_eq!(get("/acls/default?domain=/home/ann/x/d", bob)["acl"]["update"], false);
    let status = |target: &str| server.ask("GET", target, &[bob], b"").status;
    assert_eq!((status("/acls/bob?domain=/home/ann/x/d"), status("/acls?domain=/home/ann/x/d")), (404, 403));
}
