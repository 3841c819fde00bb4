//! Upper limit of reading speed for the benchmarks: knows the position of every chunk in advance, and only fetches,
//! inflates and unshuffles the chunks into place, on all cores.
//!
//! ```text
//! limit LIST (FILE | http://HOST:PORT/PATH) [--threads N] [--max-request BYTES] [--warm]
//! ```
//!
//! LIST is a file of little-endian u64 records, seven per chunk (see `chunks::Chunk`). Local files: each thread reads
//! single chunks with pread. HTTP: each of N connections fetches runs of adjacent chunks. `--warm` writes the output's
//! pages first. Prints JSON: wall and CPU seconds, requests, peak resident memory, and the CRC-32 of the output.

mod chunks;
mod http;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use chunks::{Chunk, Inflater, Output};

struct Options {
    list: String,
    source: String,
    threads: usize,
    max_request: u64,
    warm: bool,
}

impl Options {
    fn parse(mut args: impl Iterator<Item = String>) -> Option<Self> {
        let (list, source) = (args.next()?, args.next()?);
        let cores = thread::available_parallelism().map_or(1, |n| n.get());
        let mut options = Self { list, source, threads: cores, max_request: 2 << 20, warm: false };
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--threads" => options.threads = args.next()?.parse().ok()?,
                "--max-request" => options.max_request = args.next()?.parse().ok()?,
                "--warm" => options.warm = true,
                _ => return None,
            }
        }
        Some(options)
    }
}

fn main() -> ExitCode {
    let Some(options) = Options::parse(std::env::args().skip(1)) else {
        eprintln!("usage: limit LIST (FILE | http://HOST:PORT/PATH) [--threads N] [--max-request BYTES] [--warm]");
        return ExitCode::from(2);
    };
    match run(&options) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("limit: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> io::Result<String> {
    let chunks = chunks::read_list(&options.list)?;
    let runs = match options.source.starts_with("http://") {
        true => chunks::runs(&chunks, options.max_request),
        false => chunks::runs(&chunks, 0),
    };
    let warm = if options.warm { Some(Output::new(&chunks, true)?) } else { None };
    let (wall, cpu) = (Instant::now(), cpu_seconds()?);
    let output = match warm {
        Some(output) => output,
        None => Output::new(&chunks, false)?,
    };
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        let workers: Vec<_> =
            (0..options.threads.max(1)).map(|_| scope.spawn(|| work(&options.source, &runs, &next, &output))).collect();
        workers.into_iter().try_for_each(|w| w.join().unwrap_or_else(|_| Err(io::Error::other("a thread died"))))
    })?;
    let (wall, cpu) = (wall.elapsed().as_secs_f64(), cpu_seconds()? - cpu);
    let peak = peak_kib()?;
    let crc = output.crc();
    Ok(format!(
        "{{\"wall\": {wall}, \"cpu\": {cpu}, \"requests\": {}, \"peak_kib\": {peak}, \"crc\": {crc}}}",
        runs.len()
    ))
}

/// One thread: processes the next run of chunks until none is left.
fn work(source: &str, runs: &[&[Chunk]], next: &AtomicUsize, output: &Output) -> io::Result<()> {
    let mut remote = source.strip_prefix("http://").map(http::Connection::open).transpose()?;
    let local = if remote.is_none() { Some(File::open(source)?) } else { None };
    let mut inflater = Inflater::default();
    let mut stored = Vec::new();
    while let Some(run) = runs.get(next.fetch_add(1, Relaxed)) {
        let (start, end) = chunks::span(run);
        stored.resize((end - start) as usize, 0);
        match (&mut remote, &local) {
            (Some(connection), _) => connection.read(start, &mut stored)?,
            (None, Some(file)) => file.read_exact_at(&mut stored, start)?,
            (None, None) => return Err(io::Error::other("no source")),
        }
        for chunk in *run {
            let from = (chunk.offset - start) as usize;
            inflater.place(chunk, &stored[from..from + chunk.stored as usize], output)?;
        }
    }
    Ok(())
}

/// CPU time of all threads of the process, user and system.
fn cpu_seconds() -> io::Result<f64> {
    const CLOCK_PROCESS_CPUTIME_ID: i32 = 2;
    unsafe extern "C" {
        fn clock_gettime(clock: i32, time: *mut [i64; 2]) -> i32;
    }
    let mut time = [0i64; 2];
    // SAFETY: on 64-bit Linux a timespec is two i64, and `time` is one of them to write to.
    match unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &raw mut time) } {
        0 => Ok(time[0] as f64 + time[1] as f64 * 1e-9),
        _ => Err(io::Error::last_os_error()),
    }
}

fn peak_kib() -> io::Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().map_err(io::Error::other)
}
