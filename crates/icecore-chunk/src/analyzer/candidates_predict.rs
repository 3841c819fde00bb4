//! Candidates that predict an element from its neighbours.

use serde_json::{Value, json};

use crate::analyzer::candidates_codecs::{codec, lz4, lzma, planes, quick_planes, zlib, zstd};
use crate::analyzer::cost_class::CostClass;
use crate::dtype::DType;

/// A chain without its checksum.
pub(crate) struct Foretold {
    pub label: String,
    pub class: CostClass,
    /// Whether it is also tried where little time is available.
    pub short: bool,
    pub codec: Value,
}

/// Block size of blosc for blocks that are always decoded whole: longer blocks compress slightly better.
const WHOLE: usize = 256 << 10;

/// Chains for chunks of `rank` axes; parsing rejects those that do not suit the type.
pub(crate) fn foretold(dtype: &DType, rank: usize) -> Vec<Foretold> {
    let mut found = predicted(dtype, rank);
    if rank > 0 {
        found.extend(differing(dtype, rank));
    }
    found
}

/// Chains for vertices of cells, grouped by corner along the first axis: predicted within a group, with residuals that
/// repeat.
pub(crate) fn vertices(dtype: &DType, rank: usize) -> Vec<(&'static str, CostClass, bool, Value)> {
    let within: Vec<usize> = (1..rank).collect();
    let long = json!([bytes(), lzma()]);
    let lists = [shuffled(dtype, lzma()), long, shuffled(dtype, zstd(22))];
    let modes = |name: &str| json!([{"mode": name, "axes": within}]);
    let quick = json!([shuffled(dtype, zstd(3))]);
    let mut found = vec![
        ("lorenzo+zstd-3", CostClass::Usual, true, predict(modes("lorenzo"), quick)),
        ("lorenzo+zstd|lzma", CostClass::Slow, false, predict(modes("lorenzo"), json!(lists))),
    ];
    if matches!(dtype, DType::Float16 | DType::Float32 | DType::Float64) {
        found.push(("lattice+zstd|lzma", CostClass::Slow, false, predict(modes("lattice"), json!(lists))));
    }
    found
}

fn predict(modes: Value, codecs: Value) -> Value {
    codec("icecore.predict", json!({"modes": modes, "codecs": codecs}))
}

fn bytes() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

fn pco(level: u64) -> Value {
    json!([codec("numcodecs.pcodec", json!({"level": level}))])
}

fn shuffled(dtype: &DType, compressor: Value) -> Value {
    json!([bytes(), codec("numcodecs.shuffle", json!({"elementsize": dtype.size()})), compressor])
}

/// `icecore.predict`: one mode for all chunks, which is fast to write, or modes chosen for each chunk.
fn predicted(dtype: &DType, rank: usize) -> Vec<Foretold> {
    let item = |label: &str, class, short, modes: Value, codecs: Value| Foretold {
        label: format!("predict {label}"),
        class,
        short,
        codec: predict(modes, codecs),
    };
    let blocks = |cname: &str, level: u64, shuffle: &str, block: usize| {
        let size = dtype.size();
        let own = json!({"cname": cname, "clevel": level, "shuffle": shuffle, "typesize": size, "blocksize": block});
        json!([bytes(), codec("blosc", own)])
    };
    let blosc = |cname: &str, level: u64, shuffle: &str| blocks(cname, level, shuffle, 0);
    // LZ4 with a medium search: writes at half the speed of the fast one, reads as fast, 1 to 6 % shorter.
    let middle = |shuffle: &str| blocks("lz4hc", 2, shuffle, WHOLE);
    // zstd and lzma for repeats; with them unpredicted elements may be shortest.
    let zstds = [blosc("zstd", 9, "bitshuffle"), shuffled(dtype, zstd(19))];
    let lzmas = [shuffled(dtype, lzma()), json!([bytes(), lzma()])];
    let all: Vec<Value> = [pco(8), pco(12)].into_iter().chain(zstds).chain(lzmas).collect();
    // In rough fields more neighbours add noise, so each chunk chooses among all axes, the two of a map, and the last
    // one.
    let mut few = vec![json!("lorenzo")];
    few.extend((rank > 2).then(|| json!({"mode": "lorenzo", "axes": [rank - 2, rank - 1]})));
    few.extend((rank > 1).then(|| json!({"mode": "lorenzo", "axes": [rank - 1]})));
    let mut found = vec![
        item("fast+pco-8", CostClass::Slow, false, json!(["fast"]), json!([pco(8)])),
        item("auto+pco|zstd|lzma", CostClass::Slow, false, json!(["auto"]), json!(all)),
        item("lorenzo+zstd-3", CostClass::Usual, false, json!(["lorenzo"]), json!([shuffled(dtype, zstd(3))])),
        item("lorenzo+lz4", CostClass::Fast, true, json!(few), json!([blosc("lz4", 5, "shuffle")])),
        item("lorenzo+bitshuffle lz4", CostClass::Fast, true, json!(few), json!([blosc("lz4", 5, "bitshuffle")])),
        item("lorenzo+lz4hc-2", CostClass::Fast, true, json!(few), json!([middle("shuffle")])),
        item("lorenzo+bitshuffle lz4hc-2", CostClass::Fast, true, json!(few), json!([middle("bitshuffle")])),
        item("rank+pco-8", CostClass::Usual, false, json!(["rank"]), json!([pco(8)])),
    ];
    let float = matches!(dtype, DType::Float16 | DType::Float32 | DType::Float64);
    for (name, low) in [("bwc", true), ("top bwc", false)].iter().filter(|_| dtype.size() >= 4) {
        let list = json!([[quick_planes(dtype.size(), *low)]]);
        found.push(item(&format!("lorenzo+{name} zstd-1"), CostClass::Fast, false, json!(few), list));
    }
    // A time series of noise with a steep spectrum: the samples before a sample say more than their difference does.
    if float && rank == 1 {
        found.push(item("lpc+pco-8", CostClass::Usual, false, json!(["lpc"]), json!([pco(8)])));
    }
    for mode in if float { ["lorenzo", "lattice"].as_slice() } else { &["lorenzo"] } {
        for (place, axes) in neighbours(rank) {
            let label = format!("{mode}{place}+pco-8");
            let modes = json!([{"mode": mode, "axes": axes}]);
            found.push(item(&label, CostClass::Usual, place.is_empty(), modes, json!([pco(8)])));
        }
    }
    found
}

/// Axes along which neighbours may be similar: all, the last ones (a map, a volume), the first (time), the first and
/// the last.
fn neighbours(rank: usize) -> Vec<(&'static str, Vec<usize>)> {
    let mut found = vec![("", (0..rank).collect())];
    for (name, count) in [(" last 3", 3), (" last 2", 2), (" last", 1)] {
        if count < rank {
            found.push((name, (rank - count..rank).collect()));
        }
    }
    if rank > 1 {
        found.push((" first", vec![0]));
    }
    if rank > 2 {
        found.push((" first and last", vec![0, rank - 1]));
    }
    found
}

/// PStore's own chains: the XOR with a neighbour in space or time, unchanged, in planes, or without its leading zero
/// bytes.
fn differing(dtype: &DType, rank: usize) -> Vec<Foretold> {
    let axes: &[(&str, &str, usize)] = match rank {
        1 => &[("t", "temporal", 0)],
        _ => &[("s", "spatial", rank - 1), ("t", "temporal", 0)],
    };
    let mut found = Vec::new();
    for (letter, place, axis) in axes {
        let xor = json!([{"mode": "xor", "axis": axis}]);
        for (name, class, compressor) in [
            ("lz4", CostClass::Fast, lz4()),
            ("zlib-6", CostClass::Usual, zlib()),
            ("zstd-3", CostClass::Usual, zstd(3)),
        ] {
            let planes = json!([[planes(dtype.size(), &compressor)]]);
            found.push((format!("bwcXOR {place}+{name}"), class, predict(xor.clone(), planes)));
        }
        found.push((format!("xor {place}+zlib-6"), CostClass::Usual, predict(xor, json!([[bytes(), zlib()]]))));
        found.push((format!("{letter}FPC"), CostClass::Fast, codec("icecore.fpc", json!({"axis": axis}))));
    }
    let list = found.into_iter();
    list.map(|(label, class, codec)| Foretold { label, class, short: false, codec }).collect()
}
