//! Writes a frame of raw files `NAME.TYPE` (one channel each), for comparison with other readers.
#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::fs;

use icecore_gwf::{ChannelFields, Compress, Counts, FrameFields, FrameWriter, History, Kind, VectType, encode_vect};

fn main() {
    let mut args = std::env::args().skip(1);
    let usage = "usage: frame OUT MODE NAME.TYPE…";
    let (out, mode) = (args.next().expect(usage), args.next().expect(usage));
    let mode = Compress::parse(&mode).expect("a compression");
    let files: Vec<String> = args.collect();
    let mut writer = FrameWriter::new(fs::File::create(out).expect("the file is created")).expect("header");
    let frame = FrameFields {
        name: "example".into(),
        run: 0,
        number: 0,
        quality: 0,
        start_ns: 1_000_000_000_000_000_000,
        duration_ns: 1_000_000_000,
        leap: 34,
    };
    let history = [History { name: "example".into(), time: 1_000_000_000, comment: "an example".into() }];
    let counts = Counts { adc: 0, process: files.len() as u32, sim: 0 };
    writer.begin(frame, &history, counts).expect("the frame begins");
    for path in &files {
        let (stem, kind) = path.rsplit_once('.').expect(usage);
        let name = format!("H1:{}", stem.rsplit('/').next().unwrap_or(stem));
        let dtype = (0..13).filter_map(|c| VectType::parse(c).ok()).find(|t| t.name() == kind).expect("a type");
        let bytes = fs::read(path).expect("the samples");
        let dx = dtype.size() as f64 / bytes.len() as f64;
        let vect = encode_vect(&name, dtype, &bytes, dx, "m", mode).expect("the vector");
        let fields = ChannelFields {
            name,
            kind: Kind::Proc,
            unit: "m".into(),
            rate: 1.0 / dx,
            offset: 0.0,
            slope: 1.0,
            bias: 0.0,
            shift: 0.0,
            phase: 0.0,
            valid: 0,
            bits: 0,
        };
        writer.channel(&fields, &vect, &[]).expect("the channel");
    }
    writer.end().expect("the frame ends");
    writer.finish().expect("the file ends");
}
