//! Loopback HTTP/1.1 file server with a configurable latency: replaces an object store in tests and benchmarks.
//!
//! ```text
//! cargo run --release -p icecore --example latsrv -- DIR [--port N] [--delay-ms N] [--mbps N] [--log FILE] [--fail-every N]
//! ```
//!
//! Prints its port as the first line of stdout. Ends when stdin closes, so that it never outlives its parent.
//!
//! * GET and HEAD with `Range`, `If-Match`, `If-None-Match`, `If-Range`, `If-(Un)modified-Since`; keep-alive; `ETag`, `Last-Modified`.
//! * `--delay-ms`: time to the first byte of every answer. `--mbps`: 10^6 bytes per second and connection.
//! * `--fail-every N`: every Nth request is answered with 503 (for tests of retries).
//! * `GET /__stats`: `{"requests", "heads", "bytes", "peak", "connections", "failed"}` since the start or the last `GET /__reset`;
//!   neither is delayed, logged or counted.

mod answer;
mod file;
mod request;
mod stats;

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use stats::Stats;

/// Connections beyond this number are rejected, so that tests detect clients that leak them.
const MAX_CONNECTIONS: u64 = 2048;
const IDLE: Duration = Duration::from_secs(60);

/// State shared by the threads of all connections.
pub struct Server {
    pub root: PathBuf,
    pub delay: Duration,
    /// Bytes per second of one connection; 0 is unlimited.
    pub rate: u64,
    /// Every Nth request fails; 0 is never.
    pub fail_every: u64,
    pub log: Option<Mutex<File>>,
    pub stats: Stats,
}

struct Options {
    root: PathBuf,
    port: u16,
    delay_ms: u64,
    mbps: u64,
    fail_every: u64,
    log: Option<PathBuf>,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut root = None;
        let mut options = Self { root: PathBuf::new(), port: 0, delay_ms: 0, mbps: 0, fail_every: 0, log: None };
        while let Some(arg) = args.next() {
            if !arg.starts_with("--") {
                root = Some(PathBuf::from(arg));
                continue;
            }
            let value = args.next().ok_or(format!("{arg} needs a value"))?;
            let number = || value.parse::<u64>().map_err(|e| format!("{arg} {value}: {e}"));
            match arg.as_str() {
                "--port" => options.port = u16::try_from(number()?).map_err(|e| format!("--port: {e}"))?,
                "--delay-ms" => options.delay_ms = number()?,
                "--mbps" => options.mbps = number()?,
                "--fail-every" => options.fail_every = number()?,
                "--log" => options.log = Some(PathBuf::from(value)),
                _ => return Err(format!("unknown option {arg}")),
            }
        }
        options.root = root.ok_or("which folder to serve?")?;
        Ok(options)
    }
}

fn main() -> ExitCode {
    let served = Options::parse(std::env::args().skip(1)).and_then(|o| serve(&o).map_err(|e| e.to_string()));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!(
                "latsrv: {why}\nusage: latsrv DIR [--port N] [--delay-ms N] [--mbps N] [--log FILE] [--fail-every N]"
            );
            ExitCode::from(2)
        }
    }
}

fn serve(options: &Options) -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
    let server = Arc::new(Server {
        root: options.root.canonicalize()?,
        delay: Duration::from_millis(options.delay_ms),
        rate: options.mbps.saturating_mul(1_000_000),
        fail_every: options.fail_every,
        log: options.log.as_ref().map(File::create).transpose()?.map(Mutex::new),
        stats: Stats::default(),
    });
    println!("{}", listener.local_addr()?.port());
    io::stdout().flush()?;
    thread::spawn(move || accept(&listener, &server));
    io::copy(&mut io::stdin().lock().take(u64::MAX), &mut io::sink())?;
    Ok(()) // the process ends here, with the threads of its connections
}

fn accept(listener: &TcpListener, server: &Arc<Server>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            thread::sleep(Duration::from_millis(5)); // out of file descriptors: wait for some connections to end
            continue;
        };
        if server.stats.connected() > MAX_CONNECTIONS {
            server.stats.disconnected();
            continue;
        }
        let shared = Arc::clone(server);
        let started = thread::Builder::new().stack_size(256 << 10).spawn(move || {
            // A broken connection concerns only the client.
            let _ = converse(stream, &shared);
            shared.stats.disconnected();
        });
        if started.is_err() {
            server.stats.disconnected();
        }
    }
}

fn converse(mut stream: TcpStream, server: &Server) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE))?;
    stream.set_write_timeout(Some(IDLE))?;
    let mut pending = Vec::new();
    while let Some(head) = request::read_head(&mut stream, &mut pending)? {
        if !answer::answer(&mut stream, server, &head)? {
            break;
        }
    }
    Ok(())
}
