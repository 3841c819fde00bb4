//! One request answered: status, headers, a paced body.

use std::io::{self, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::{Duration, Instant};

use crate::Server;
use crate::file::{self, Condition, Served};
use crate::request::{Head, Range, parse_range};

const BLOCK: u64 = 128 << 10;

/// Answers the request `head`; false if the connection must close.
pub fn answer(stream: &mut TcpStream, server: &Server, head: &Head) -> io::Result<bool> {
    if head.path == "/__stats" || head.path == "/__reset" {
        if head.path == "/__reset" {
            server.stats.reset();
        }
        return short(stream, head, "200 OK", "application/json", &server.stats.json());
    }
    let (number, flight) = server.stats.begin(head.method == "HEAD");
    thread::sleep(server.delay);
    let failing = server.fail_every > 0 && number.is_multiple_of(server.fail_every);
    let (status, sent, go_on) = if failing {
        server.stats.failed();
        ("503", 0, short(stream, head, "503 Service Unavailable", "text/plain", "asked to fail\n"))
    } else {
        respond(stream, server, head)
    };
    drop(flight);
    if let Some(mut log) = server.log.as_ref().and_then(|log| log.lock().ok()) {
        writeln!(log, "{} {} {} {status} {sent}", head.method, head.path, head.header("range").unwrap_or("-"))?;
    }
    go_on
}

/// Status, bytes of the body that were sent, and whether the connection stays open.
fn respond(stream: &mut TcpStream, server: &Server, head: &Head) -> (&'static str, u64, io::Result<bool>) {
    let text = "text/plain";
    if head.method != "GET" && head.method != "HEAD" {
        return ("405", 0, short(stream, head, "405 Method Not Allowed\r\nAllow: GET, HEAD", text, ""));
    }
    let Some(found) = file::find(&server.root, &head.path) else {
        return ("404", 0, short(stream, head, "404 Not Found", text, "no such file\n"));
    };
    match found.condition(head) {
        Condition::Failed => {
            return ("412", 0, short(stream, head, "412 Precondition Failed", text, "the file has changed\n"));
        }
        Condition::NotModified => return ("304", 0, not_modified(stream, head, &found)),
        Condition::Go => {}
    }
    let range = if found.range_counts(head) { parse_range(head.header("range"), found.length) } else { Range::Whole };
    let (status, line, offset, length) = match range {
        Range::Unsatisfiable => {
            let line = format!("416 Range Not Satisfiable\r\nContent-Range: bytes */{}", found.length);
            return ("416", 0, short(stream, head, &line, text, ""));
        }
        Range::Whole => ("200", "200 OK".to_string(), 0, found.length),
        Range::Part(offset, length) => {
            let line = format!(
                "206 Partial Content\r\nContent-Range: bytes {offset}-{}/{}",
                offset + length - 1,
                found.length
            );
            ("206", line, offset, length)
        }
    };
    let mut sent = 0;
    let done = file_headers(stream, head, &line, &found, Some(length)).and_then(|()| {
        if head.method == "GET" { body(stream, server, &found, offset, length, &mut sent) } else { Ok(()) }
    });
    (status, sent, done.map(|()| goes_on(head)))
}

fn goes_on(head: &Head) -> bool {
    head.keep_alive && !head.has_body()
}

fn connection(head: &Head) -> &'static str {
    if goes_on(head) { "keep-alive" } else { "close" }
}

fn file_headers(
    stream: &mut TcpStream,
    head: &Head,
    status: &str,
    found: &Served,
    length: Option<u64>,
) -> io::Result<()> {
    let length =
        length.map_or(String::new(), |n| format!("Content-Length: {n}\r\nContent-Type: application/octet-stream\r\n"));
    let text = format!(
        "HTTP/1.1 {status}\r\n{length}Accept-Ranges: bytes\r\nETag: {}\r\nLast-Modified: {}\r\nConnection: {}\r\n\r\n",
        found.etag,
        found.last_modified,
        connection(head)
    );
    stream.write_all(text.as_bytes())
}

fn not_modified(stream: &mut TcpStream, head: &Head, found: &Served) -> io::Result<bool> {
    file_headers(stream, head, "304 Not Modified", found, None)?;
    Ok(goes_on(head))
}

fn short(stream: &mut TcpStream, head: &Head, status: &str, kind: &str, text: &str) -> io::Result<bool> {
    let shown = if head.method == "HEAD" { "" } else { text };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: {}\r\n\r\n{shown}",
        text.len(),
        connection(head)
    );
    stream.write_all(answer.as_bytes())?;
    Ok(goes_on(head))
}

/// Sends a part of the file at most at the configured rate. A file that shrinks in the meantime ends the connection
/// early, as on a real server.
fn body(
    stream: &mut TcpStream,
    server: &Server,
    found: &Served,
    offset: u64,
    length: u64,
    sent: &mut u64,
) -> io::Result<()> {
    let start = Instant::now();
    let mut block = vec![0u8; length.min(BLOCK) as usize];
    while *sent < length {
        let part = &mut block[..(length - *sent).min(BLOCK) as usize];
        found.file.read_exact_at(part, offset + *sent)?;
        *sent += part.len() as u64;
        if server.rate > 0 {
            // The last byte of a block arrives when a link of that rate would have delivered it.
            let due = Duration::from_secs_f64(*sent as f64 / server.rate as f64);
            thread::sleep(due.saturating_sub(start.elapsed()));
        }
        server.stats.sent(part.len() as u64); // before the client can receive them: it may ask next
        stream.write_all(part)?;
    }
    Ok(())
}
