//! Tests of the HDF REST routes over a socket.
#![allow(clippy::unwrap_used)]

mod common;

use common::{bytes_of, create, directory, document, fill, start};
use icecore::catalog::{Repo, Storage};
use icecore_server::Limits;
use serde_json::json;

#[test]
fn one_request_describes_every_object() {
    let directory = directory();
    let server = start(&[directory.path()], Limits::default());
    let body = server.get("/?domain=/moon&getobjs=1").json();
    let objects = body["domain_objs"].as_object().unwrap();
    assert_eq!(objects.len(), 4);
    let root = &objects[body["root"].as_str().unwrap()];
    let grid = &objects[root["links"]["grid"]["id"].as_str().unwrap()];
    assert_eq!(grid["shape"], json!({"class": "H5S_SIMPLE", "dims": [60, 40], "maxdims": [60, 40]}));
    assert_eq!(grid["type"], json!({"class": "H5T_INTEGER", "base": "H5T_STD_I32LE"}));
    assert_eq!(grid["creationProperties"]["layout"]["dims"], json!([16, 16]));
    assert_eq!(grid["attributes"]["n"]["type"]["base"], "H5T_STD_I16LE");
    assert_eq!(grid["attributes"]["units"]["value"], "K");
    assert_eq!(grid["attributeCount"], 2);
    // Each object alone has the same description.
    let id = grid["id"].as_str().unwrap();
    let alone = server.get(&format!("/datasets/{id}?domain=/moon&include_attrs=1")).json();
    assert_eq!(alone["attributes"], grid["attributes"]);
}

#[test]
fn values_by_selection_as_bytes_and_json() {
    let directory = directory();
    let server = start(&[directory.path()], Limits::default());
    let id = server.id("/moon", "/grid");
    let target = |query: &str| format!("/datasets/{id}/value?domain=/moon{query}");
    let whole = server.bytes(&target(""));
    assert_eq!(whole.body, bytes_of(0..2400));
    assert_eq!(whole.header("content-length"), Some("9600"));
    let part = server.bytes(&target("&select=[10:20:5,3:5]"));
    assert_eq!(part.body, bytes_of([403, 404, 603, 604].into_iter()));
    let list = server.get(&target("&select=[[1,50],0:2]")).json();
    assert_eq!(list["value"], json!([[40, 41], [2000, 2001]]));
    assert_eq!(server.get(&target("&select=[2,0:2]")).json()["value"], json!([[80, 81]]));
    assert_eq!(server.get(&target("&select=[2,0:2]&reduce_dim=1")).json()["value"], json!([80, 81]));
    assert_eq!(server.get(&target("&select=[0:0,0:2]")).json()["value"], json!([]));
}

#[test]
fn points_long_selections_and_queries() {
    let directory = directory();
    let server = start(&[directory.path()], Limits::default());
    let id = server.id("/moon", "/grid");
    let target = format!("/datasets/{id}/value?domain=/moon");
    let points: Vec<u8> = [59_u64, 39, 0, 1].iter().flat_map(|n| n.to_le_bytes()).collect();
    let both = [("accept", "application/octet-stream"), ("content-type", "application/octet-stream")];
    assert_eq!(server.ask("POST", &target, &both, &points).body, bytes_of([2399, 1].into_iter()));
    let named = server.ask("POST", &target, &[], br#"{"points": [[1, 0], [0, 2]]}"#).json();
    assert_eq!(named["value"], json!([40, 2]));
    let select = server.ask("POST", &target, &both[..1], br#"{"select": "[0:1,0:3]"}"#);
    assert_eq!(select.body, bytes_of(0..3));
    let found = server.get(&format!("{target}&query=_%20%3E%202397%20OR%20_%20==%207")).json();
    assert_eq!((&found["value"], &found["index"]), (&json!([7, 2398, 2399]), &json!([[0, 7], [59, 38], [59, 39]])));
    let limited = server.bytes(&format!("{target}&query=_%20%3E%20100&Limit=2"));
    assert_eq!(limited.body, bytes_of(101..103));
    let indices = server.get(&format!("/datasets/{id}/query?domain=/moon&query=_==41")).json();
    assert_eq!(indices["indices"], json!([[1, 1]]));
}

#[test]
fn records_fields_and_queries_by_field() {
    let directory = directory();
    let server = start(&[directory.path()], Limits::default());
    let id = server.id("/moon", "/g/records");
    let target = format!("/datasets/{id}/value?domain=/moon");
    assert_eq!(server.get(&target).json()["value"][1], json!([1, "b"]));
    assert_eq!(server.bytes(&format!("{target}&fields=a")).body, bytes_of(0..5));
    assert_eq!(server.bytes(&format!("{target}&fields=s&select=[1:3]")).body, b"b\0c\0");
    assert_eq!(server.get(&format!("{target}&query=s==c")).json()["value"], json!([[2, "c"]]));
    let wrong = server.get(&format!("{target}&fields=x"));
    assert_eq!((wrong.status, wrong.json()["hint"].as_str()), (400, Some("the fields are a, s")));
}

#[test]
fn versions_and_a_branch_that_moves() {
    let directory = directory();
    let limits = Limits { fresh: std::time::Duration::ZERO, ..Limits::default() };
    let server = start(&[directory.path()], limits);
    let before = server.get("/?domain=/moon").json();
    let url = directory.path().join("moon").to_str().unwrap().to_owned();
    let repo = Repo::open(&Storage { url, ..Storage::default() }).unwrap();
    let more = document(&[3], &[3], &json!("int32"), &json!(0), &json!({}));
    fill(&repo, vec![("/new", more, bytes_of(7..10))]);
    let after = server.get("/?domain=/moon").json();
    assert_eq!(after["root"], before["root"], "ids do not depend on the version");
    assert_ne!(after["snapshot"], before["snapshot"]);
    assert_eq!(server.get("/?domain=/moon@v1").json()["snapshot"], before["snapshot"]);
    let id = server.id("/moon", "/new");
    assert_eq!(server.bytes(&format!("/datasets/{id}/value?domain=/moon")).body, bytes_of(7..10));
    assert_eq!(server.get(&format!("/datasets/{id}?domain=/moon@v1")).status, 404);
    // A group is also a domain.
    assert_eq!(server.get("/?domain=/moon/g&getobjs=1").json()["domain_objs"].as_object().unwrap().len(), 2);
}

#[test]
fn conditional_requests() {
    let directory = directory();
    let server = start(&[directory.path()], Limits::default());
    let id = server.id("/moon", "/grid");
    for target in ["/?domain=/moon&getobjs=1".to_owned(), format!("/datasets/{id}/value?domain=/moon")] {
        let first = server.get(&target);
        let tag = first.header("etag").unwrap().to_owned();
        let again = server.ask("GET", &target, &[("if-none-match", &tag)], b"");
        assert_eq!((again.status, again.body.len()), (304, 0));
        assert_eq!(server.ask("GET", &target, &[("if-none-match", "\"other\"")], b"").status, 200);
    }
}

#[test]
fn folders_are_listed_in_pages() {
    let directory = directory();
    let server = start(&[directory.path()], Limits::default());
    let names = |target: &str| -> Vec<String> {
        let body = server.get(target).json();
        body["domains"].as_array().unwrap().iter().map(|d| d["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("/domains?domain=/"), ["/moon", "/sub"]);
    assert_eq!(names("/domains?domain=/sub/"), ["/sub/other"]);
    assert_eq!(names("/domains?domain=/&Limit=1"), ["/moon"]);
    assert_eq!(names("/domains?domain=/&Marker=/moon"), ["/sub"]);
    assert_eq!(server.get("/?domain=/sub").json()["class"], "folder");
    assert_eq!(server.get("/acls/default?domain=/moon").json()["acl"]["update"], false);
    assert_eq!(server.get("/acls/nobody?domain=/moon").status, 404);
}

#[test]
fn wrong_requests_get_4xx_with_a_remedy() {
    let directory = directory();
    let server =
        start(&[directory.path()], Limits { json_elements: 1000, points: 10, body: 4096, ..Limits::default() });
    let id = server.id("/moon", "/grid");
    let other = server.id("/moon/g", "/records");
    let value = format!("/datasets/{id}/value?domain=/moon");
    for (target, status) in [
        ("/?domain=/nothing".to_owned(), 404),
        ("/?domain=/../etc".to_owned(), 400),
        ("/?domain=/moon@v9".to_owned(), 404),
        ("/?domain=/moon/none".to_owned(), 404),
        (format!("/groups/{id}?domain=/moon"), 400),
        ("/datasets/d-1?domain=/moon".to_owned(), 400),
        (format!("/datasets/{other}?domain=/moon"), 404),
        (format!("/datasets/{id}/?domain=/moon"), 404),
        (format!("{value}&select=[0:3]"), 400),
        (format!("{value}&select=[0:61,0:3]"), 400),
        (format!("{value}&select=[0:3:0,0:3]"), 400),
        (format!("{value}&select=[oops,0:3]"), 400),
        (value.clone(), 413),
        (format!("{value}&query=_%20%3E"), 400),
        (format!("{value}&query=depth==1"), 404),
        (format!("{value}&query=_%3E5"), 413),
        (format!("/datasets/{id}/attributes/none?domain=/moon"), 404),
        ("/zarr/moon/c/0/x".to_owned(), 404),
        ("/zarr/moon/grid/c/9/9".to_owned(), 404),
    ] {
        let reply = server.get(&target);
        assert_eq!(reply.status, status, "{target}: {}", reply.head);
        assert!(!reply.json()["hint"].as_str().unwrap().is_empty(), "{target}: {}", reply.json());
    }
    assert_eq!(server.ask("POST", &value, &[], b"{").status, 400);
    assert_eq!(server.ask("POST", &value, &[], &b"[".repeat(4000)).status, 400);
    assert_eq!(server.ask("POST", &value, &[], br#"{"points": [[60, 0]]}"#).status, 400);
    assert_eq!(server.ask("POST", &value, &[], &vec![b' '; 5000]).status, 413);
    for method in ["PUT", "DELETE"] {
        assert_eq!(server.ask(method, "/?domain=/moon", &[], b"").status, 403);
    }
    assert_eq!(server.ask("PATCH", "/?domain=/moon", &[], b"").status, 405);
}

#[test]
fn nothing_outside_the_directory_is_served() {
    let directory = directory();
    let outside = tempfile::tempdir().unwrap();
    create(&outside.path().join("secret"));
    std::os::unix::fs::symlink(outside.path(), directory.path().join("link")).unwrap();
    let server = start(&[directory.path()], Limits::default());
    assert_eq!(server.get("/?domain=/link/secret").status, 404);
    assert_eq!(server.get("/?domain=/moon/../sub/other").status, 400);
    assert_eq!(server.get("/?domain=/sub/%2e%2e/moon").status, 400);
}
