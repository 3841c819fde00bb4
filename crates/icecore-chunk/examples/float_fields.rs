//! Ratio and speed of codec chains on fields of floats, CPU time of one thread, every bit compared.
//!
//! `cargo run --release -p icecore-chunk --example float_fields -- [--chunk BYTES] [--most BYTES] [--only WORD,…]
//! FILE…`
//! A file is named `NAME.DTYPE.AxBxC.raw` and holds numbers in native order. A field is divided along its first long
//! axis into chunks of about `--chunk` bytes (1 MiB); at most `--most` bytes (4 MiB) are measured. `--only` keeps
//! chains whose label contains a word.

use std::path::Path;
use std::time::Duration;

use icecore_chunk::{Block, Candidate, CostClass, DType, Elements, Goal, Measurement, Options, State, measure};
use serde_json::{Value, json};

struct Field {
    name: String,
    dtype: DType,
    shape: Vec<u64>,
    raw: Vec<u8>,
}

impl Field {
    fn read(path: &str) -> Result<Field, Box<dyn std::error::Error>> {
        let file = Path::new(path).file_name().and_then(|f| f.to_str()).ok_or("a file name")?;
        let parts: Vec<&str> = file.trim_end_matches(".raw").rsplitn(3, '.').collect();
        let [shape, dtype, name] = parts[..] else { return Err("NAME.DTYPE.AxBxC.raw".into()) };
        let shape = shape.split('x').map(str::parse).collect::<Result<_, _>>()?;
        Ok(Field { name: name.to_string(), dtype: DType::parse(&json!(dtype))?, shape, raw: std::fs::read(path)? })
    }

    fn blocks(&self, chunk: usize, most: usize) -> Vec<Block<'_>> {
        let axis = self.shape.iter().position(|n| *n > 1).unwrap_or(0);
        let row = self.raw.len() / self.shape[axis] as usize;
        let rows = (chunk / row).clamp(1, self.shape[axis] as usize);
        let block = |bytes| {
            let mut shape = self.shape.clone();
            shape[axis] = rows as u64;
            Block { shape, elements: Elements::Fixed(bytes) }
        };
        self.raw.chunks_exact(rows * row).take((most / (rows * row)).max(1)).map(block).collect()
    }
}

fn codec(name: &str, configuration: Value) -> Value {
    json!({"name": name, "configuration": configuration})
}

/// Codec chains of other programs; the smallest result is the reference.
fn peers(size: usize) -> Vec<(String, Value)> {
    let bytes = codec("bytes", json!({"endian": "little"}));
    let shuffle = codec("numcodecs.shuffle", json!({"elementsize": size}));
    let zstd = |level: i64| codec("zstd", json!({"level": level, "checksum": false}));
    let zlib = |level: i64| codec("numcodecs.zlib", json!({"level": level}));
    let lzma = codec("numcodecs.lzma", json!({"format": 1, "check": -1, "preset": 9, "filters": null}));
    let blosc = |cname: &str, clevel: u64, shuffle: &str| {
        codec("blosc", json!({"cname": cname, "clevel": clevel, "shuffle": shuffle, "typesize": size, "blocksize": 0}))
    };
    let pco = |level: u64| json!([codec("numcodecs.pcodec", json!({"level": level}))]);
    let bwc = |codec: Value| {
        let plane = |b: usize| json!({"bytes": b, "codecs": [bytes, codec]});
        let planes: Vec<Value> = std::iter::once(2).chain((2..size).map(|_| 1)).map(plane).collect();
        json!([{"name": "icecore.byteplanes", "configuration": {"planes": planes}}])
    };
    let chains = [
        ("zlib-9", json!([bytes, zlib(9)])),
        ("shuffle+zlib-6", json!([bytes, shuffle, zlib(6)])),
        ("shuffle+zlib-9", json!([bytes, shuffle, zlib(9)])),
        ("lzma-9", json!([bytes, lzma])),
        ("shuffle+lzma-9", json!([bytes, shuffle, lzma])),
        ("zstd-19", json!([bytes, zstd(19)])),
        ("shuffle+zstd-3", json!([bytes, shuffle, zstd(3)])),
        ("shuffle+zstd-19", json!([bytes, shuffle, zstd(19)])),
        ("blosc-shuffle-lz4", json!([bytes, blosc("lz4", 5, "shuffle")])),
        ("blosc-shuffle-zstd9", json!([bytes, blosc("zstd", 9, "shuffle")])),
        ("blosc-bitshuffle-zstd9", json!([bytes, blosc("zstd", 9, "bitshuffle")])),
        ("bwc+zlib-6", bwc(zlib(6))),
        ("pco-8", pco(8)),
        ("pco-12", pco(12)),
    ];
    chains.map(|(name, codecs)| (format!("peer {name}"), codecs)).to_vec()
}

/// Our chains: single modes with pco, the fast chains, and all modes together.
fn ours(shape: &[u64], size: usize) -> Vec<(String, Value)> {
    let pco = |level: u64| json!([codec("numcodecs.pcodec", json!({"level": level}))]);
    let predict =
        |modes: Value, lists: Value| json!([codec("icecore.predict", json!({"modes": modes, "codecs": lists}))]);
    let bytes = codec("bytes", json!({"endian": "little"}));
    let blosc = |cname: &str, clevel: u64, shuffle: &str| {
        let config = json!({"cname": cname, "clevel": clevel, "shuffle": shuffle, "typesize": size, "blocksize": 0});
        json!([bytes, codec("blosc", config)])
    };
    let shuffle = codec("numcodecs.shuffle", json!({"elementsize": size}));
    let lzma = codec("numcodecs.lzma", json!({"format": 1, "check": 0, "preset": 9, "filters": null}));
    let zstd = |level: i64| codec("zstd", json!({"level": level, "checksum": false}));
    let packed = |compressor: Value| json!([bytes, shuffle, compressor]);
    let lists: Vec<(&str, Value)> = vec![
        ("pco-8", pco(8)),
        ("pco-12", pco(12)),
        ("zstd-19", packed(zstd(19))),
        ("lzma", packed(lzma.clone())),
        ("lzma plain", json!([bytes, lzma])),
        ("bit zstd-9", blosc("zstd", 9, "bitshuffle")),
    ];
    let archive: Vec<&Value> = lists.iter().map(|(_, list)| list).collect();
    let mut out = Vec::new();
    for mode in ["none", "lorenzo", "lattice", "rank", "float_lorenzo", "least_squares", "lpc"] {
        out.push((format!("mode {mode}"), predict(json!([mode]), json!([pco(8)]))));
    }
    for axis in (0..shape.len()).filter(|a| shape[*a] > 1) {
        out.push((
            format!("mode xor {axis}"),
            predict(json!([{"mode": "xor", "axis": axis}]), json!([blosc("zstd", 5, "shuffle")])),
        ));
        out.push((format!("fpc {axis}"), json!([codec("icecore.fpc", json!({"axis": axis}))])));
    }
    out.extend([
        ("smooth".into(), predict(json!(["lorenzo"]), json!([pco(8)]))),
        ("fast".into(), predict(json!(["fast"]), json!([pco(8)]))),
        ("auto".into(), predict(json!(["auto"]), json!([pco(8)]))),
        ("archive".into(), predict(json!(["auto"]), json!(archive))),
    ]);
    let steps = |axes: Vec<usize>| json!({"mode": "lorenzo", "axes": axes});
    let last = shape.len() - 1;
    let two = json!(["lorenzo", steps(vec![last])]);
    let quick = json!(["none", "lorenzo", steps(vec![last]), steps((last.saturating_sub(1)..=last).collect())]);
    for (name, list) in [
        ("blosc bit lz4", blosc("lz4", 5, "bitshuffle")),
        ("blosc lz4", blosc("lz4", 5, "shuffle")),
        ("shuffle zstd-1", packed(zstd(1))),
        ("shuffle zstd-3", packed(zstd(3))),
        ("pco-4", pco(4)),
        ("pco-6", pco(6)),
        ("pco-8", pco(8)),
    ] {
        out.push((format!("speed {name}"), predict(json!(["lorenzo"]), json!([list]))));
        out.push((format!("two {name}"), predict(two.clone(), json!([list]))));
        out.push((format!("quick {name}"), predict(quick.clone(), json!([list]))));
    }
    out.extend(
        lists.iter().map(|(name, list)| (format!("list {name}"), predict(json!(["auto"]), json!([pco(8), list])))),
    );
    out
}

fn run(
    field: &Field,
    label: &str,
    codecs: &Value,
    blocks: &[Block<'_>],
) -> Result<Measurement, Box<dyn std::error::Error>> {
    let candidate =
        Candidate { label: label.into(), codecs: codecs.clone(), class: CostClass::Fast, short: false, kin: None };
    let options = Options {
        threads: 1,
        budget: Duration::from_secs(3600),
        goals: vec![Goal::Archive],
        prune_slow_only: true,
        cancel: None,
    };
    let fill = vec![0; field.dtype.size()];
    let measured = measure(&[candidate], blocks, &field.dtype, &fill, &options)?.remove(0);
    match &measured.state {
        State::Failed(why) => Err(format!("{} of {}: {why}", label, field.name).into()),
        _ => Ok(measured),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut chunk, mut most, mut only, mut files) = (1 << 20, 4 << 20, String::new(), Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--chunk" => chunk = args.next().ok_or("a number of bytes")?.parse()?,
            "--most" => most = args.next().ok_or("a number of bytes")?.parse()?,
            "--only" => only = args.next().ok_or("words")?,
            _ => files.push(arg),
        }
    }
    for file in files {
        let field = Field::read(&file)?;
        let blocks = field.blocks(chunk, most);
        println!("{} {:?}, {} chunks of {:?}", field.name, field.shape, blocks.len(), blocks[0].shape);
        for (label, codecs) in peers(field.dtype.size()).into_iter().chain(ours(&blocks[0].shape, field.dtype.size())) {
            if !only.is_empty() && !only.split(',').any(|word| label.contains(word)) {
                continue;
            }
            let m = run(&field, &label, &codecs, &blocks)?;
            let (raw, mb) = (m.raw() as f64, m.raw() as f64 / 1e6);
            let (ratio, encode, decode) = (raw / m.stored() as f64, mb / m.encode(), mb / m.decode());
            println!("  {label:<28} {ratio:>8.3} {encode:>8.0} {decode:>8.0}");
        }
    }
    Ok(())
}
