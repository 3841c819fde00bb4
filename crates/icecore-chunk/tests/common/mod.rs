//! Data by formula, the same as in golden/make.py, and the golden cases.
#![allow(dead_code)]

use half::f16;
use icecore_chunk::DType;
use serde_json::{Value, json};

pub fn values(count: usize) -> impl Iterator<Item = i64> {
    (0..count as i64).map(|n| (n * n / 7 + 13 * n) % 1000)
}

/// `count` elements of a type of fixed length, native order.
pub fn sample(dtype: &DType, count: usize) -> Vec<u8> {
    values(count).flat_map(|v| element(dtype, v)).collect()
}

fn element(dtype: &DType, v: i64) -> Vec<u8> {
    let real = v as f64 / 8.0 - 40.0;
    let padded = |mut bytes: Vec<u8>, len: usize| {
        bytes.resize(len, 0);
        bytes
    };
    match dtype {
        DType::Bool => vec![u8::from(v % 3 == 0)],
        DType::Int8 | DType::UInt8 => vec![(v % 120) as u8],
        DType::Int16 | DType::UInt16 => ((v * 31) as i16).to_ne_bytes().to_vec(),
        DType::Int32 | DType::UInt32 => ((v * 31) as i32).to_ne_bytes().to_vec(),
        DType::Int64 | DType::UInt64 => (v * 31).to_ne_bytes().to_vec(),
        DType::Float16 => f16::from_f64(real).to_ne_bytes().to_vec(),
        DType::Float32 => (real as f32).to_ne_bytes().to_vec(),
        DType::Float64 => real.to_ne_bytes().to_vec(),
        DType::Complex64 => [(real as f32).to_ne_bytes(), ((1.0 - real) as f32).to_ne_bytes()].concat(),
        DType::Complex128 => [real.to_ne_bytes(), (1.0 - real).to_ne_bytes()].concat(),
        DType::DateTime64 { .. } | DType::TimeDelta64 { .. } => (v * 1_000_000_007).to_ne_bytes().to_vec(),
        DType::Bytes(n) => padded(format!("{v:03}").into_bytes(), *n),
        DType::Utf32(n) => padded(format!("é{v}").chars().flat_map(|c| (c as u32).to_ne_bytes()).collect(), 4 * n),
        DType::Raw(n) => v.to_le_bytes()[..*n].to_vec(),
        DType::Struct(_) => [
            &(v as i32).to_ne_bytes()[..],
            &padded((v % 100).to_string().into_bytes(), 3),
            &(v as f64 / 8.0).to_ne_bytes()[..],
        ]
        .concat(),
        DType::VlenUtf8 | DType::VlenBytes => panic!("no fixed length"),
    }
}

/// The elements of the variable-length types.
pub fn strings(dtype: &DType, count: usize) -> Vec<Vec<u8>> {
    values(count)
        .map(|v| match dtype {
            DType::VlenUtf8 => format!("{}{v}ü", "s".repeat((v % 7) as usize)).into_bytes(),
            _ => vec![(v % 256) as u8; (v % 5) as usize],
        })
        .collect()
}

/// Every type of fixed length.
pub fn fixed_types() -> Vec<DType> {
    let names = [
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "r48",
    ];
    let mut out: Vec<DType> = names.iter().map(|name| DType::parse(&json!(name)).unwrap()).collect();
    out.push(DType::DateTime64 { unit: "ns".into(), scale: 1 });
    out.push(DType::Bytes(5));
    out.push(DType::Utf32(7));
    let fields = [("a", DType::Int32), ("b", DType::Bytes(3)), ("c", DType::Float64)];
    out.push(DType::Struct(fields.map(|(name, dtype)| (name.to_string(), dtype)).to_vec()));
    out
}

/// A golden chunk: what another program stored.
pub struct Golden {
    pub name: String,
    pub meta: Value,
    pub stored: Vec<u8>,
}

impl Golden {
    pub fn shape(&self) -> Vec<u64> {
        self.meta["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
    }

    pub fn count(&self) -> usize {
        self.shape().iter().product::<u64>() as usize
    }

    pub fn dtype(&self) -> DType {
        DType::parse(&self.meta["data_type"]).unwrap()
    }

    /// The metadata as a whole document.
    pub fn document(&self) -> Vec<u8> {
        let mut meta = self.meta.clone();
        meta["zarr_format"] = json!(3);
        meta["node_type"] = json!("array");
        serde_json::to_vec(&meta).unwrap()
    }
}

pub fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

pub fn golden_text(file: &str) -> Vec<Value> {
    let text = std::fs::read(folder().join(file)).unwrap();
    serde_json::from_slice::<Value>(&text).unwrap().as_array().unwrap().clone()
}

pub fn golden() -> Vec<Golden> {
    golden_in("")
}

/// Chunks that earlier versions of this crate stored.
pub fn golden_own() -> Vec<Golden> {
    golden_in("own/")
}

/// Chunks that the zarrs crate 0.23.14 stored: codecs that zarr-python does not have.
pub fn golden_zarrs() -> Vec<Golden> {
    golden_in("zarrs/")
}

fn golden_in(below: &str) -> Vec<Golden> {
    let case = |value: &Value| {
        let name = value["name"].as_str().unwrap().to_string();
        let stored = std::fs::read(folder().join(format!("{below}{name}.bin"))).unwrap();
        Golden { name, meta: value["meta"].clone(), stored }
    };
    golden_text(&format!("{below}cases.json")).iter().map(case).collect()
}

/// Pseudo-random numbers, the same on every run.
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Noise {
        Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}
