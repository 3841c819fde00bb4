//! A repository on a web server that supports only files and byte ranges.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that fails should panic")]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use common::{Home, array, bytes, identity, paths};
use icecore_catalog::{ChunkPlace, Native, Repo, Storage};
use icecore_grid::ErrorKind;

/// Serves a directory until the process ends; counts the requests.
fn serve(root: PathBuf) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (root, counter) = (root.clone(), Arc::clone(&counter));
            std::thread::spawn(move || answer(&root, stream, &counter));
        }
    });
    (url, count)
}

fn answer(root: &std::path::Path, mut stream: TcpStream, counter: &AtomicUsize) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let request = lines.next()?.ok()?;
    let headers: Vec<String> = lines.map_while(Result::ok).take_while(|l| !l.is_empty()).collect();
    counter.fetch_add(1, Ordering::SeqCst);
    let path = request.split(' ').nth(1)?.trim_start_matches('/').to_owned();
    if path.starts_with("secret") {
        return stream.write_all(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok();
    }
    let Ok(file) = std::fs::read(root.join(path)) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok();
    };
    let range = headers.iter().find_map(|h| h.to_ascii_lowercase().strip_prefix("range: bytes=").map(str::to_owned));
    let (status, body, extra) = match range.as_deref().and_then(|r| r.split_once('-')) {
        Some((start, end)) => {
            let (start, end): (usize, usize) = (start.parse().ok()?, end.parse().unwrap_or(file.len() - 1));
            let end = end.min(file.len() - 1);
            (
                "206 Partial Content",
                file.get(start..=end)?,
                format!("Content-Range: bytes {start}-{end}/{}\r\n", file.len()),
            )
        }
        None => ("200 OK", &file[..], String::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nLast-Modified: Wed, 21 Oct 2015 07:28:00 GMT\r\nETag: \"{}\"\r\n{extra}Connection: close\r\n\r\n",
        body.len(),
        file.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body).ok()
}

fn sample() -> Home {
    let home = Home::new();
    let (file, url) = home.file("a.h5", &[1; 100]);
    let writer = home.writer();
    writer.allow_container(&home.data()).unwrap();
    writer.allow_container("https://archive.example/").unwrap();
    for path in ["/a", "/b", "/c"] {
        writer.add_array(path, &array(&[4], &[2])).unwrap();
        let id = writer.put_object(Bytes::from(path.repeat(500))).unwrap();
        writer.set_chunks(path, &[(0, ChunkPlace::Object { id, offset: 500, length: 4 })]).unwrap();
    }
    writer.set_links("/c", &[url], &[identity(&file)], &[0], &[1], &[0], &[10]).unwrap();
    writer.commit("sample").unwrap();
    home.repo.create_tag("v1", None).unwrap();
    home
}

#[test]
fn it_can_be_read_in_few_round_trips_and_not_written() {
    let home = sample();
    let (url, count) = serve(home.dir.path().to_owned());
    let url = format!("{url}/r.icecore/");
    let repo = Repo::open(&Storage::new(&url)).unwrap();
    let opening = count.swap(0, Ordering::SeqCst);
    let main = repo.snapshot(Some("v1")).unwrap();
    let looking_up = count.swap(0, Ordering::SeqCst);
    main.tables(&["/a", "/b", "/c"]).unwrap();
    let tables = count.swap(0, Ordering::SeqCst);
    main.tables(&["/a", "/b", "/c"]).unwrap();
    // The three arrays share a manifest.
    assert_eq!((looking_up, tables, count.load(Ordering::SeqCst)), (1, 1, 0));
    assert!(opening <= 6, "{opening} requests");
    assert_eq!(paths(&main), ["/", "/__icecore__", "/__icecore__/sources", "/a", "/b", "/c"]);
    assert_eq!(bytes(&repo, &main, "/b", 0).unwrap(), b"/b/b");
    assert_eq!(
        repo.native_location(),
        Native::Url { url: url.trim_end_matches('/').to_owned(), options: Default::default() }
    );
    assert_eq!(repo.log(None, None).unwrap().len(), 2);
    assert_eq!(repo.writer("main").err().unwrap().kind, ErrorKind::ReadOnly);
    assert_eq!(repo.create_tag("v2", None).unwrap_err().kind, ErrorKind::ReadOnly);
    assert_eq!(repo.gc(None, false).unwrap_err().kind, ErrorKind::ReadOnly);
}

#[test]
fn it_does_not_get_to_point_at_local_files() {
    let home = sample();
    let (url, _) = serve(home.path());
    let local = format!("file://{}/a.h5", home.data());
    let repo = Repo::open(&Storage::new(&url)).unwrap();
    assert!(!repo.link_allowed(&local).unwrap() && !repo.link_allowed("file:///etc/passwd").unwrap());
    assert_eq!(repo.link_prefixes().unwrap(), ["https://archive.example/"]);
    let allowing = Storage { allow_links: Some(vec![home.data()]), ..Storage::new(&url) };
    let repo = Repo::open(&allowing).unwrap();
    assert!(repo.link_allowed(&local).unwrap() && !repo.link_allowed("https://archive.example/x").unwrap());
}

#[test]
fn what_can_go_wrong_has_a_kind() {
    let home = sample();
    let (url, _) = serve(home.dir.path().to_owned());
    let open = |url: String| Repo::open(&Storage::new(url)).unwrap_err();
    assert_eq!(open(format!("{url}/nothing")).kind, ErrorKind::NotFound);
    assert_eq!(open(format!("{url}/secret")).kind, ErrorKind::Permission);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    assert_eq!(open(format!("http://{closed}/r")).kind, ErrorKind::Network);
    let manifest = std::fs::read_dir(home.path().join("manifests")).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(manifest).unwrap();
    let main = Repo::open(&Storage::new(format!("{url}/r.icecore"))).unwrap().snapshot(None).unwrap();
    assert_eq!(main.tables(&["/a", "/b", "/c"]).unwrap_err().kind, ErrorKind::Corrupt);
}
