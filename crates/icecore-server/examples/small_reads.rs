//! Load of small requests: small_reads HOST:PORT TARGET CONNECTIONS SECONDS prints requests a second and latencies.
//!
//! One thread a connection; each waits for the answer before its next request.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Reads one answer; returns whether its status is 200.
fn answer(stream: &mut TcpStream, buffer: &mut [u8]) -> std::io::Result<bool> {
    let mut filled = 0;
    let (mut head, mut length) = (None, 0);
    loop {
        if let Some(head) = head
            && filled >= head + length
        {
            return Ok(buffer.starts_with(b"HTTP/1.1 200"));
        }
        let count = stream.read(&mut buffer[filled..])?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        filled += count;
        if head.is_none()
            && let Some(end) = buffer[..filled].windows(4).position(|window| window == b"\r\n\r\n")
        {
            let text = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
            let found = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
            length = found.expect("answers of this load have a length");
            head = Some(end + 4);
        }
    }
}

fn client(address: &str, request: &[u8], until: Instant) -> (Vec<f64>, usize) {
    let mut buffer = vec![0; 1 << 17];
    let (mut taken, mut errors) = (Vec::new(), 0);
    let connect = || {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok::<_, std::io::Error>(stream)
    };
    let mut stream = connect().ok();
    while Instant::now() < until {
        let Some(open) = &mut stream else {
            errors += 1;
            std::thread::sleep(Duration::from_millis(10));
            stream = connect().ok();
            continue;
        };
        let begun = Instant::now();
        match open.write_all(request).and_then(|()| answer(open, &mut buffer)) {
            Ok(true) => taken.push(begun.elapsed().as_secs_f64()),
            Ok(false) => errors += 1,
            Err(_) => {
                errors += 1;
                stream = None;
            }
        }
    }
    (taken, errors)
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let [_, address, target, connections, seconds] = words.as_slice() else {
        eprintln!("usage: small_reads HOST:PORT TARGET CONNECTIONS SECONDS");
        std::process::exit(2);
    };
    let request = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\nAccept: application/octet-stream\r\n\r\n");
    let seconds: f64 = seconds.parse().unwrap();
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let (mut taken, mut errors) = (Vec::new(), 0);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections.parse().unwrap())
            .map(|_| {
                let thread = std::thread::Builder::new().stack_size(256 << 10);
                thread.spawn_scoped(scope, || client(address, request.as_bytes(), until)).unwrap()
            })
            .collect();
        for thread in threads {
            let (found, failed) = thread.join().unwrap();
            taken.extend(found);
            errors += failed;
        }
    });
    taken.sort_by(f64::total_cmp);
    let at = |share: f64| taken.get((share * taken.len() as f64) as usize).copied().unwrap_or(f64::NAN) * 1e3;
    println!(
        "{{\"requests_per_s\": {:.0}, \"p50_ms\": {:.2}, \"p99_ms\": {:.2}, \"max_ms\": {:.1}, \"errors\": {errors}}}",
        taken.len() as f64 / seconds,
        at(0.5),
        at(0.99),
        at(1.0 - 1e-9),
    );
}
