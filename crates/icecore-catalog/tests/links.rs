//! Chunks that are linked in their files.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should panic")]

mod common;

use common::{Home, array, at, identity, paths};
use icecore_catalog::{Checksum, HIDDEN_GROUP, LinkIdentity, Location, Place, Repo, Storage, Writer};
use icecore_grid::{ErrorKind, Result};

fn link(writer: &Writer, path: &str, url: &str, identity: &LinkIdentity, rows: &[(u64, u64, u64)]) -> Result<()> {
    let column = |f: fn(&(u64, u64, u64)) -> u64| rows.iter().map(f).collect::<Vec<u64>>();
    let ids = vec![0; rows.len()];
    writer.set_links(
        path,
        &[url.to_owned()],
        std::slice::from_ref(identity),
        &ids,
        &column(|r| r.0),
        &column(|r| r.1),
        &column(|r| r.2),
    )
}

fn linked(home: &Home, name: &str) -> (String, LinkIdentity, String) {
    let (file, url) = home.file(name, &[7; 100]);
    let who = identity(&file);
    let writer = home.writer();
    writer.allow_container(&home.data()).unwrap();
    writer.add_array("/l/a", &array(&[30], &[10])).unwrap();
    link(&writer, "/l/a", &url, &who, &[(2, 0, 10), (0, 50, 10), (1, 0, 0)]).unwrap();
    let id = writer.commit("link").unwrap();
    (url, who, id)
}

#[test]
fn links_are_kept_with_their_identity() {
    let home = Home::new();
    let (url, who, _) = linked(&home, "a b.h5");
    let repo = home.open();
    let main = repo.snapshot(None).unwrap();
    assert_eq!(paths(&main), ["/", HIDDEN_GROUP, "/__icecore__/sources", "/l", "/l/a"]);
    let table = main.table("/l/a").unwrap();
    assert_eq!(table.objects[0].location, Location::Link(url.clone()));
    assert_eq!(
        table.objects[0].checksum,
        Some(Checksum::LastModified(u32::try_from((who.mtime_ns + 999_999_999) / 1_000_000_000).unwrap()))
    );
    assert_eq!(
        (table.get(0), table.get(2)),
        (Place::Range { object: 0, offset: 50, length: 10 }, Place::Range { object: 0, offset: 0, length: 10 })
    );
    assert_eq!(table.get(1), Place::Missing);
    assert_eq!(main.source_identity(&url).unwrap(), Some(who));
    assert_eq!(main.source_identity("file:///other").unwrap(), None);
    assert_eq!(repo.link_prefixes().unwrap(), [format!("file://{}/", home.data())]);
    assert!(repo.link_allowed(&url).unwrap() && !repo.link_allowed("file:///etc/passwd").unwrap());
    assert!(!repo.link_allowed(&format!("file://{}/../r.icecore/repo", home.data())).unwrap());
}

#[test]
fn links_can_be_read_before_the_commit() {
    let home = Home::new();
    let (file, url) = home.file("a.h5", &[7; 100]);
    let writer = home.writer();
    writer.add_array("/a", &array(&[30], &[10])).unwrap();
    writer.allow_container(&home.data()).unwrap();
    link(&writer, "/a", &url, &identity(&file), &[(1, 5, 10)]).unwrap();
    let live = writer.snapshot().unwrap();
    assert!(home.repo.link_allowed(&url).unwrap());
    assert_eq!(live.source_identity(&url).unwrap(), Some(identity(&file)));
    assert_eq!(live.table("/a").unwrap().get(1), Place::Range { object: 0, offset: 5, length: 10 });
    assert!(!home.open().link_allowed(&url).unwrap(), "nothing is recorded before the commit");
}

#[test]
fn links_outside_of_the_allowed_folders_are_refused() {
    let home = Home::new();
    let (file, url) = home.file("a.h5", &[7; 100]);
    let writer = home.writer();
    writer.add_array("/a", &array(&[30], &[10])).unwrap();
    let error = link(&writer, "/a", &url, &identity(&file), &[(0, 0, 10)]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::LinkNotAllowed);
    assert!(error.message.contains(&url) && error.hint.contains("allow_container"), "{error:?}");
    writer.allow_container(&at(home.dir.path(), "data/sub")).unwrap();
    assert_eq!(link(&writer, "/a", &url, &identity(&file), &[(0, 0, 10)]).unwrap_err().kind, ErrorKind::LinkNotAllowed);
    let climbing = format!("file://{}/sub/../a.h5", home.data());
    assert_eq!(
        link(&writer, "/a", &climbing, &identity(&file), &[(0, 0, 10)]).unwrap_err().kind,
        ErrorKind::LinkNotAllowed
    );
    assert_eq!(writer.allow_container("ftp://h/x").unwrap_err().kind, ErrorKind::Unsupported);
    assert!(writer.snapshot().unwrap().table("/a").unwrap().is_empty());
}

#[test]
fn columns_that_contradict_each_other() {
    let home = Home::new();
    let (file, url) = home.file("a.h5", &[7; 100]);
    let (who, writer) = (identity(&file), home.writer());
    writer.add_array("/a", &array(&[30], &[10])).unwrap();
    writer.allow_container(&home.data()).unwrap();
    let kind = |rows: &[(u64, u64, u64)]| link(&writer, "/a", &url, &who, rows).unwrap_err().kind;
    assert_eq!(kind(&[(3, 0, 10)]), ErrorKind::Invalid);
    assert_eq!(kind(&[(0, 95, 10)]), ErrorKind::Invalid);
    assert_eq!(kind(&[(0, u64::MAX, 10)]), ErrorKind::Invalid);
    let urls = [url.clone()];
    let wrong = |ids: &[u32], offsets: &[u64]| {
        writer.set_links("/a", &urls, std::slice::from_ref(&who), ids, &[0], offsets, &[1]).unwrap_err().kind
    };
    assert_eq!(wrong(&[1], &[0]), ErrorKind::Invalid);
    assert_eq!(wrong(&[0], &[0, 1]), ErrorKind::Invalid);
    assert_eq!(wrong(&[], &[0]), ErrorKind::Invalid);
    assert_eq!(writer.set_links("/a", &urls, &[], &[], &[], &[], &[]).unwrap_err().kind, ErrorKind::Invalid);
    assert!(writer.snapshot().unwrap().table("/a").unwrap().is_empty(), "a refused call changes nothing");
}

#[test]
fn the_reader_decides_what_may_be_read() {
    let home = Home::new();
    let (url, ..) = linked(&home, "a.h5");
    let open = |allow: &[&str]| {
        Repo::open(&Storage { allow_links: Some(allow.iter().map(|s| (*s).to_owned()).collect()), ..home.storage() })
    };
    assert!(!open(&[]).unwrap().link_allowed(&url).unwrap());
    assert!(!open(&["/elsewhere", "https://h/x"]).unwrap().link_allowed(&url).unwrap());
    assert!(open(&[&home.data()]).unwrap().link_allowed(&url).unwrap());
    assert!(open(&[&url]).unwrap().link_allowed(&url).unwrap());
    assert!(open(&["/"]).unwrap().link_allowed(&url).unwrap());
    assert_eq!(open(&[""]).unwrap_err().kind, ErrorKind::Invalid);
    // A writer that allows a directory does not widen the prefixes that its process was restricted to.
    let restricted = open(&["/elsewhere"]).unwrap();
    restricted.writer("main").unwrap().allow_container(&home.data()).unwrap();
    assert!(!restricted.link_allowed(&url).unwrap());
}

#[test]
fn a_prefix_that_was_only_allowed_for_reading_is_not_recorded() {
    let home = Home::new();
    let (file, url) = home.file("a.h5", &[7; 100]);
    let repo = Repo::open(&Storage { allow_links: Some(vec![home.data()]), ..home.storage() }).unwrap();
    let writer = repo.writer("main").unwrap();
    writer.add_array("/a", &array(&[30], &[10])).unwrap();
    assert_eq!(link(&writer, "/a", &url, &identity(&file), &[(0, 0, 10)]).unwrap_err().kind, ErrorKind::LinkNotAllowed);
    writer.allow_container(&home.data()).unwrap();
    link(&writer, "/a", &url, &identity(&file), &[(0, 0, 10)]).unwrap();
    writer.commit("link").unwrap();
    assert!(home.open().link_allowed(&url).unwrap());
}

#[test]
fn linking_again_replaces_the_identity_and_keeps_the_others() {
    let home = Home::new();
    let (url, ..) = linked(&home, "a.h5");
    let (other, other_url) = home.file("b.h5", &[1; 50]);
    let writer = home.writer();
    writer.allow_container(&home.data()).unwrap();
    let newer = LinkIdentity { size: 100, mtime_ns: 5, etag: None };
    link(&writer, "/l/a", &url, &newer, &[(1, 0, 10)]).unwrap();
    writer.add_array("/l/b", &array(&[30], &[10])).unwrap();
    link(&writer, "/l/b", &other_url, &identity(&other), &[(1, 0, 10)]).unwrap();
    writer.commit("more").unwrap();
    let main = home.main();
    assert_eq!(
        (main.source_identity(&url).unwrap(), main.source_identity(&other_url).unwrap()),
        (Some(newer), Some(identity(&other)))
    );
    assert_eq!(main.table("/l/a").unwrap().objects.len(), 2, "one file in two states");
    assert_eq!(home.open().link_prefixes().unwrap().len(), 1);
}

#[test]
fn web_files_carry_their_etag() {
    let home = Home::new();
    let writer = home.writer();
    writer.add_array("/w", &array(&[30], &[10])).unwrap();
    writer.allow_container("https://data.example:8443/set/").unwrap();
    let who = LinkIdentity { size: 1000, mtime_ns: -1, etag: Some("\"abc\"".into()) };
    let url = "https://data.example:8443/set/x%20y.h5";
    link(&writer, "/w", url, &who, &[(0, 0, 10)]).unwrap();
    assert_eq!(
        link(&writer, "/w", "https://data.example/set/x.h5", &who, &[(0, 0, 10)]).unwrap_err().kind,
        ErrorKind::LinkNotAllowed
    );
    writer.commit("web").unwrap();
    let main = home.main();
    assert_eq!(main.table("/w").unwrap().objects[0].checksum, Some(Checksum::ETag("\"abc\"".into())));
    assert_eq!(main.source_identity(url).unwrap(), Some(who));
}
