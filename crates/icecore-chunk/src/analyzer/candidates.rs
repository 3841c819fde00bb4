//! Candidate codec chains for measurements.

use serde_json::{Value, json};

use crate::analyzer::candidates_codecs::{codec, lz4, lzma, planes, zlib, zstd};
use crate::analyzer::candidates_predict::{Foretold, foretold, vertices};
use crate::analyzer::cost_class::CostClass;
use crate::chain::Chain;
use crate::defaults::{bytes_codec, grouping};
use crate::dtype::DType;

/// A codec chain with a short name.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub label: String,
    /// The `codecs` list of a chunk, with a checksum at its end.
    pub codecs: Value,
    pub class: CostClass,
    /// Whether it is also tried on small arrays, where little time is available.
    pub short: bool,
    /// The label of a faster related chain, and a factor: if that chain needs more than the factor times the bytes of
    /// the best chain, this one is skipped.
    pub kin: Option<(&'static str, f64)>,
}

/// Maximum length of a last axis that is considered as the vertices of cells.
const VERTICES: u64 = 8;

/// The chains that can store chunks of `shape` (only a short last axis matters) and `dtype`; with `portable` only
/// codecs of core Zarr v3.
pub fn candidates(dtype: &DType, shape: &[u64], portable: bool) -> Vec<Candidate> {
    let mut list = List { dtype, rank: shape.len(), found: Vec::new() };
    list.core();
    if shape.len() > 1 && shape.last().is_some_and(|len| (2..=VERTICES).contains(len)) {
        list.vertices(portable);
    }
    if !portable {
        list.compressors();
        list.shuffled();
        list.pco();
        list.planes();
        list.foretold();
    }
    list.found
}

struct List<'a> {
    dtype: &'a DType,
    rank: usize,
    found: Vec<Candidate>,
}

/// The faster relative of a slow chain, with the same arrangement of bytes. A longer search with the same method gains
/// little (pco 5 %, byte partition 20 %); lzma and zstd may find repeats that no fast chain finds.
fn kin(label: &str) -> Option<(&'static str, f64)> {
    const FAR: f64 = 2.0;
    let arranged = [
        ("shuffle+bzip2", "shuffle+zstd-3", 1.5),
        ("shuffle+", "shuffle+zstd-3", FAR),
        ("shuffle parts", "shuffle parts+zstd-3", FAR),
        ("blosc shuffle", "shuffle+zstd-3", 1.3),
        ("blosc bitshuffle", "blosc bitshuffle zstd-3", 1.3),
        ("pco", "pco-8", 1.2),
        ("bwc", "bwc+zstd-3", 1.3),
        ("predict", "predict lorenzo+pco-8", 3.0),
        ("bzip2", "zstd-3", 1.5),
        ("blosc zstd", "zstd-3", 1.3),
    ];
    let plain = ["zstd", "lzma"];
    arranged
        .iter()
        .find(|(start, ..)| label.starts_with(start))
        .map(|(_, kin, far)| (*kin, *far))
        .or_else(|| plain.iter().any(|start| label.starts_with(start)).then_some(("zstd-3", FAR)))
}

impl List<'_> {
    /// Adds a chain if it supports the type.
    fn add(&mut self, label: impl Into<String>, class: CostClass, short: bool, front: Value, bytes: &[Value]) {
        let codecs: Vec<Value> =
            std::iter::once(front).chain(bytes.iter().cloned()).chain([json!({"name": "crc32c"})]).collect();
        let codecs = Value::Array(codecs);
        let fill = vec![0; if self.dtype.is_vlen() { 0 } else { self.dtype.size() }];
        if Chain::parse(&codecs, self.dtype, &fill).is_ok() {
            let label = label.into();
            let kin = if class == CostClass::Slow { kin(&label) } else { None };
            self.found.push(Candidate { label, codecs, class, short, kin });
        }
    }

    fn front(&self) -> Value {
        match self.dtype {
            DType::VlenUtf8 => json!({"name": "vlen-utf8"}),
            DType::VlenBytes => json!({"name": "vlen-bytes"}),
            _ => bytes_codec(self.dtype),
        }
    }

    fn bytes(&mut self, label: impl Into<String>, class: CostClass, short: bool, steps: &[Value]) {
        self.add(label, class, short, self.front(), steps);
    }

    fn blosc(&mut self, cname: &str, level: u64, shuffle: &str, class: CostClass, short: bool) {
        let (typesize, own) = grouping(self.dtype);
        if own == "noshuffle" && shuffle == "shuffle" {
            return; // for single bytes the plain chain is the same
        }
        let config = json!({"cname": cname, "clevel": level, "shuffle": shuffle, "typesize": typesize, "blocksize": 0});
        let label = match shuffle {
            "noshuffle" => format!("blosc {cname}-{level}"),
            _ => format!("blosc {shuffle} {cname}-{level}"),
        };
        self.bytes(label, class, short, &[codec("blosc", config)]);
    }

    /// Chains that every Zarr v3 reader supports.
    fn core(&mut self) {
        use CostClass::{Fast, Slow, Usual};
        self.bytes("raw", Fast, true, &[]);
        self.bytes("gzip-6", Usual, false, &[codec("gzip", json!({"level": 6}))]);
        let plain = self.dtype.is_vlen() || grouping(self.dtype).1 == "noshuffle";
        for (level, class) in [(1, Fast), (3, Usual), (6, Usual), (9, Usual), (14, Slow), (22, Slow)] {
            self.bytes(format!("zstd-{level}"), class, level == 3 && plain, &[zstd(level)]);
        }
        for shuffle in ["noshuffle", "shuffle", "bitshuffle"] {
            let first = shuffle == grouping(self.dtype).1;
            self.blosc("lz4", 5, shuffle, Fast, shuffle != "noshuffle");
            self.blosc("lz4hc", 2, shuffle, Fast, shuffle != "noshuffle");
            self.blosc("lz4hc", 9, shuffle, Usual, false);
            self.blosc("zstd", 1, shuffle, Fast, false);
            self.blosc("zstd", 3, shuffle, Usual, first);
            self.blosc("zstd", 5, shuffle, Usual, false);
            self.blosc("zstd", 9, shuffle, Slow, false);
        }
    }

    /// Bytes→bytes compressors beyond the core.
    fn compressors(&mut self) {
        self.bytes("zlib-6", CostClass::Usual, false, &[zlib()]);
        self.bytes("lz4", CostClass::Fast, false, &[lz4()]);
        self.bytes("bzip2-9", CostClass::Slow, false, &[codec("numcodecs.bz2", json!({"level": 9}))]);
        self.bytes("lzma-9", CostClass::Slow, false, &[lzma()]);
    }

    /// Bytes grouped by significance, then a compressor over the whole chunk.
    fn shuffled(&mut self) {
        let (size, shuffle) = grouping(self.dtype);
        if self.dtype.is_vlen() || shuffle != "shuffle" {
            return;
        }
        let step = codec("numcodecs.shuffle", json!({"elementsize": size}));
        let steps = [
            ("lz4", CostClass::Fast, lz4()),
            ("zstd-1", CostClass::Fast, zstd(1)),
            ("zlib-6", CostClass::Usual, zlib()),
            ("zstd-3", CostClass::Usual, zstd(3)),
            ("zstd-9", CostClass::Usual, zstd(9)),
            ("zstd-22", CostClass::Slow, zstd(22)),
            ("bzip2-9", CostClass::Slow, codec("numcodecs.bz2", json!({"level": 9}))),
            ("lzma-9", CostClass::Slow, lzma()),
        ];
        for (name, class, compressor) in steps {
            self.bytes(format!("shuffle+{name}"), class, false, &[step.clone(), compressor]);
        }
        // The real and imaginary parts of complex numbers may differ like two arrays; then separate byte planes
        // compress better.
        if matches!(self.dtype, DType::Complex64 | DType::Complex128) {
            let step = codec("numcodecs.shuffle", json!({"elementsize": self.dtype.size()}));
            for (name, class, compressor) in [
                ("zstd-3", CostClass::Usual, zstd(3)),
                ("zstd-19", CostClass::Slow, zstd(19)),
                ("lzma-9", CostClass::Slow, lzma()),
            ] {
                self.bytes(format!("shuffle parts+{name}"), class, name == "zstd-3", &[step.clone(), compressor]);
            }
        }
    }

    /// Vertices of cells, grouped by corner: neighbouring cells share corners, so later planes repeat the first one.
    fn vertices(&mut self, portable: bool) {
        use CostClass::{Slow, Usual};
        let axes = self.rank;
        let order: Vec<usize> = std::iter::once(axes - 1).chain(0..axes - 1).collect();
        let front = codec("transpose", json!({"order": order}));
        let (size, _) = grouping(self.dtype);
        let step = codec("numcodecs.shuffle", json!({"elementsize": size}));
        let bytes = self.front();
        let mut found = vec![
            ("zstd-3", Usual, true, vec![bytes.clone(), zstd(3)]),
            ("zstd-22", Slow, false, vec![bytes.clone(), zstd(22)]),
        ];
        if !portable {
            found.push(("shuffle+zstd-3", Usual, true, vec![bytes.clone(), step.clone(), zstd(3)]));
            found.push(("shuffle+zstd-22", Slow, false, vec![bytes.clone(), step.clone(), zstd(22)]));
            found.push(("shuffle+lzma-9", Slow, false, vec![bytes.clone(), step, lzma()]));
            found.push(("lzma-9", Slow, false, vec![bytes, lzma()]));
            let predicted = vertices(self.dtype, axes).into_iter();
            found.extend(predicted.map(|(label, class, short, codec)| (label, class, short, vec![codec])));
        }
        for (label, class, short, steps) in found {
            self.add(format!("vertices {label}"), class, short, front.clone(), &steps);
        }
    }

    fn pco(&mut self) {
        let pco = |config: Value| codec("numcodecs.pcodec", config);
        self.add("pco-8", CostClass::Usual, true, pco(json!({"level": 8})), &[]);
        self.add("pco-10", CostClass::Slow, false, pco(json!({"level": 10})), &[]);
        self.add("pco-12", CostClass::Slow, false, pco(json!({"level": 12})), &[]);
        // If the numbers drift, the best parameters change from page to page.
        let config = json!({"level": 12, "equal_pages_up_to": 8192});
        self.add("pco-12 pages", CostClass::Slow, false, pco(config), &[]);
        for order in [1, 2] {
            let config = json!({"level": 8, "delta_spec": "try_consecutive", "delta_encoding_order": order});
            self.add(format!("pco-8 delta-{order}"), CostClass::Usual, false, pco(config), &[]);
        }
        let config = json!({"level": 8, "delta_spec": "try_lookback"});
        self.add("pco-8 lookback", CostClass::Usual, false, pco(config), &[]);
    }

    /// Byte planes.
    fn planes(&mut self) {
        let size = match self.dtype {
            DType::Complex64 => 4,
            DType::Complex128 => 8,
            dtype if dtype.swap_units().len() == 1 => dtype.size(),
            _ => return,
        };
        // The bytes of text have no order of significance, and there may be a hundred thousand of them.
        if !(2..=8).contains(&size) {
            return;
        }
        for (name, class, short, compressor) in [
            ("lz4", CostClass::Fast, false, lz4()),
            ("zlib-6", CostClass::Usual, false, zlib()),
            ("zstd-3", CostClass::Usual, true, zstd(3)),
            ("zstd-19", CostClass::Slow, false, zstd(19)),
        ] {
            self.add(format!("bwc+{name}"), class, short, planes(size, &compressor), &[]);
        }
    }

    fn foretold(&mut self) {
        for Foretold { label, class, short, codec } in foretold(self.dtype, self.rank) {
            self.add(label, class, short, codec, &[]);
        }
    }
}
