//! `speed FORMAT.json TABLE`: MB/s of parsing, parsing with check, and printing of text on one thread, in blocks of 4
//! MiB.

use std::time::Instant;

use icecore_text::{Format, parse, parse_checked, print};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (format, table) = (arguments.next().ok_or("FORMAT")?, arguments.next().ok_or("TABLE")?);
    let format = Format::parse(&std::fs::read_to_string(format)?).map_err(|e| e.message)?;
    let text = std::fs::read(table)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    for _ in 0..3 {
        let (mut at, mut parsing, mut checking, mut printing) = (0, 0.0, 0.0, 0.0);
        while at < text.len() {
            let block = &text[at..text.len().min(at + (4 << 20))];
            let last = at + block.len() == text.len();
            let began = Instant::now();
            let parsed = pool.install(|| parse(&format, block, last)).map_err(|e| e.message)?;
            parsing += began.elapsed().as_secs_f64();
            let began = Instant::now();
            pool.install(|| parse_checked(&format, block, last)).map_err(|e| e.message)?;
            checking += began.elapsed().as_secs_f64();
            let views: Vec<_> = parsed.columns.iter().map(|values| values.view()).collect();
            let began = Instant::now();
            let printed = pool.install(|| print(&format, &views, &parsed.escapes)).map_err(|e| e.message)?;
            printing += began.elapsed().as_secs_f64();
            assert_eq!(printed.concat(), block[..parsed.used]);
            at += parsed.used;
        }
        let speed = |seconds: f64| text.len() as f64 / seconds / 1e6;
        println!(
            "parse {:.0}, parse and check {:.0}, print {:.0} MB/s",
            speed(parsing),
            speed(checking),
            speed(printing)
        );
    }
    Ok(())
}
