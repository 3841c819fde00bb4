//! The metadata document of an array that C declares.

use icecore::chunk::ArrayMeta;
use icecore::grid::{Axis, Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::error::invalid;

/// Short names of dtypes, as NumPy has them, and Zarr's.
const NAMES: [(&str, &str); 13] = [
    ("b1", "bool"),
    ("i1", "int8"),
    ("i2", "int16"),
    ("i4", "int32"),
    ("i8", "int64"),
    ("u1", "uint8"),
    ("u2", "uint16"),
    ("u4", "uint32"),
    ("u8", "uint64"),
    ("f4", "float32"),
    ("f8", "float64"),
    ("c8", "complex64"),
    ("c16", "complex128"),
];

/// An array as it is declared.
pub struct Declared<'a> {
    pub path: &'a str,
    pub dtype: &'a str,
    pub shape: Vec<u64>,
    pub chunks: Vec<u64>,
    pub dims: Option<&'a str>,
    pub codecs: Option<&'a str>,
}

impl Declared<'_> {
    /// The document of a new array.
    ///
    /// # Errors
    /// `invalid`, `dtype`, `codec`.
    pub fn document(&self) -> Result<Value> {
        let dtype = NAMES.iter().find(|(short, _)| *short == self.dtype).map_or(self.dtype, |(_, name)| name);
        if let Some(axis) = self.chunks.iter().position(|n| *n == 0) {
            return Err(invalid(format!("{}: chunks[{axis}] is 0", self.path)).hint("give lengths of at least 1"));
        }
        let fill = match dtype {
            "bool" => json!(false),
            name if name.starts_with("complex") => json!([0.0, 0.0]),
            name if name.starts_with("float") => json!(0.0),
            _ => json!(0),
        };
        let mut document = json!({
            "zarr_format": 3, "node_type": "array", "shape": self.shape, "data_type": dtype,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": self.chunks}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": fill, "codecs": self.codecs(dtype)?, "attributes": {},
        });
        if let Some(names) = self.names()? {
            document["dimension_names"] = json!(names);
        }
        Ok(document)
    }

    fn codecs(&self, dtype: &str) -> Result<Value> {
        let bad = |e: serde_json::Error| {
            let error = Error::new(ErrorKind::Codec, format!("{}: codecs is not a JSON list: {e}", self.path));
            error.hint(r#"[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}]"#)
        };
        if let Some(given) = self.codecs {
            return serde_json::from_str::<Vec<Value>>(given).map(Value::from).map_err(bad);
        }
        let bits: usize = dtype.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(8);
        // Zarr's bytes have complex numbers as pairs of floats.
        let size = if dtype.starts_with("complex") { bits / 16 } else { bits / 8 };
        let blosc = json!({"cname": "zstd", "clevel": 3, "shuffle": "shuffle", "typesize": size, "blocksize": 0});
        Ok(json!([
            {"name": "bytes", "configuration": {"endian": "little"}},
            {"name": "blosc", "configuration": blosc},
            {"name": "crc32c"},
        ]))
    }

    fn names(&self) -> Result<Option<Vec<&str>>> {
        let Some(names) = self.dims else { return Ok(None) };
        let names: Vec<&str> = if names.is_empty() { Vec::new() } else { names.split(',').map(str::trim).collect() };
        if names.len() == self.shape.len() {
            return Ok(Some(names));
        }
        let message = format!("{}: {} names of dimensions for {} axes", self.path, names.len(), self.shape.len());
        Err(invalid(message))
    }

    /// Rejects a stored array that differs.
    ///
    /// # Errors
    /// `mismatch`, with both sides.
    pub fn check(&self, stored: &ArrayMeta, new: &ArrayMeta) -> Result<()> {
        let others = |meta: &ArrayMeta| meta.shape.iter().skip(1).copied().collect::<Vec<_>>();
        let same_rank = stored.shape.len() == new.shape.len();
        let difference = if stored.dtype != new.dtype {
            format!("is stored as {:?}, and is declared as {:?}", stored.dtype, new.dtype)
        } else if !same_rank || others(stored) != others(new) {
            format!("has the shape {:?}, and {:?} is declared", stored.shape, new.shape)
        } else if chunks(stored) != chunks(new) {
            format!("has chunks of {:?}, and {:?} are declared", chunks(stored), self.chunks)
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::Mismatch, format!("{} {difference}", self.path))
            .hint("declare the array as it is stored, or choose another path"))
    }
}

/// The lengths of regular chunks; None for an axis with others.
fn chunks(meta: &ArrayMeta) -> Vec<Option<u64>> {
    let length = |axis: &Axis| match axis {
        Axis::Regular { chunk, .. } => Some(*chunk),
        Axis::Rectilinear { .. } => None,
    };
    meta.grid.axes.iter().map(length).collect()
}
