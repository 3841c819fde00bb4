//! Data types of array elements: Zarr v3 name, NumPy name, size in bytes.

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use crate::extension::{Extension, config_str, config_u64, unsupported};

/// Bytes of one element of a variable-length type inside the pipeline: a view (u32 blob, u32 offset, u32 length, u32
/// zero).
pub const VIEW: usize = 16;

/// Maximum size of an element in bytes; a limit against hostile metadata.
const MAX_ITEMSIZE: u64 = 1 << 24;
/// Maximum nesting of structured types.
const MAX_DEPTH: u32 = 16;

/// The type of one element.
#[derive(Debug, Clone, PartialEq)]
pub enum DType {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    Float32,
    Float64,
    Complex64,
    Complex128,
    /// Counts of `scale` × `unit` since 1970; the smallest int64 is "not a time".
    DateTime64 {
        unit: String,
        scale: u64,
    },
    TimeDelta64 {
        unit: String,
        scale: u64,
    },
    /// NumPy's `S`: bytes, padded with zeros to this length.
    Bytes(usize),
    /// NumPy's `U`: this many UTF-32 characters.
    Utf32(usize),
    /// NumPy's `V`: raw bytes.
    Raw(usize),
    /// Packed fields, in order, without padding.
    Struct(Vec<(String, DType)>),
    VlenUtf8,
    VlenBytes,
}

impl DType {
    /// Parses the `data_type` of a Zarr v3 array.
    ///
    /// Errors: `Unsupported` for an unknown type, `Format` for a malformed one.
    pub fn parse(value: &Value) -> Result<DType> {
        parse_at(value, 0)
    }

    /// Bytes of one element in memory (`VIEW` for the variable-length types).
    pub fn size(&self) -> usize {
        match self {
            DType::Bool | DType::Int8 | DType::UInt8 => 1,
            DType::Int16 | DType::UInt16 | DType::Float16 => 2,
            DType::Int32 | DType::UInt32 | DType::Float32 => 4,
            DType::Int64 | DType::UInt64 | DType::Float64 | DType::Complex64 => 8,
            DType::DateTime64 { .. } | DType::TimeDelta64 { .. } => 8,
            DType::Complex128 => 16,
            DType::Bytes(n) | DType::Raw(n) => *n,
            DType::Utf32(n) => 4 * n,
            DType::Struct(fields) => fields.iter().map(|(_, t)| t.size()).sum(),
            DType::VlenUtf8 | DType::VlenBytes => VIEW,
        }
    }

    /// Whether elements have no fixed length.
    pub fn is_vlen(&self) -> bool {
        matches!(self, DType::VlenUtf8 | DType::VlenBytes)
    }

    /// NumPy's description: a string such as `"<f4"`, or a list of `[name, description]` for a structured type.
    pub fn numpy(&self) -> Value {
        let order = if cfg!(target_endian = "little") { '<' } else { '>' };
        match self {
            DType::Struct(fields) => fields.iter().map(|(name, t)| json!([name, t.numpy()])).collect(),
            DType::DateTime64 { unit, scale } => json!(format!("{order}M8{}", unit_suffix(unit, *scale))),
            DType::TimeDelta64 { unit, scale } => json!(format!("{order}m8{}", unit_suffix(unit, *scale))),
            DType::Bytes(n) => json!(format!("|S{n}")),
            DType::Raw(n) => json!(format!("|V{n}")),
            DType::Utf32(n) => json!(format!("{order}U{n}")),
            DType::VlenUtf8 | DType::VlenBytes => json!("|O"),
            DType::Bool => json!("|b1"),
            DType::Int8 => json!("|i1"),
            DType::UInt8 => json!("|u1"),
            _ => json!(format!("{order}{}{}", self.letter(), self.size())),
        }
    }

    /// The `data_type` of Zarr v3, as zarr-python spells it.
    pub fn to_json(&self) -> Value {
        let sized = |name: &str, n: usize| json!({"name": name, "configuration": {"length_bytes": n}});
        let timed = |name: &str, unit: &str, scale: u64| json!({"name": name, "configuration": {"unit": unit, "scale_factor": scale}});
        match self {
            DType::DateTime64 { unit, scale } => timed("numpy.datetime64", unit, *scale),
            DType::TimeDelta64 { unit, scale } => timed("numpy.timedelta64", unit, *scale),
            DType::Bytes(n) => sized("null_terminated_bytes", *n),
            DType::Utf32(n) => sized("fixed_length_utf32", 4 * n),
            DType::Raw(n) => sized("raw_bytes", *n),
            DType::Struct(fields) => {
                let fields: Vec<Value> =
                    fields.iter().map(|(name, t)| json!({"name": name, "data_type": t.to_json()})).collect();
                json!({"name": "struct", "configuration": {"fields": fields}})
            }
            DType::VlenUtf8 => json!("string"),
            DType::VlenBytes => json!("variable_length_bytes"),
            _ => json!(SIMPLE.iter().find(|(_, t)| t == self).map_or("", |(name, _)| name)),
        }
    }

    /// Units whose bytes are swapped when the byte order changes: (bytes, count), in the order of the element.
    pub fn swap_units(&self) -> Vec<(usize, usize)> {
        match self {
            DType::Bytes(n) | DType::Raw(n) => vec![(1, *n)],
            DType::Utf32(n) => vec![(4, *n)],
            DType::Complex64 => vec![(4, 2)],
            DType::Complex128 => vec![(8, 2)],
            DType::Struct(fields) => fields.iter().flat_map(|(_, t)| t.swap_units()).collect(),
            DType::VlenUtf8 | DType::VlenBytes => Vec::new(),
            _ => vec![(self.size(), 1)],
        }
    }

    fn letter(&self) -> char {
        match self {
            DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64 => 'i',
            DType::UInt8 | DType::UInt16 | DType::UInt32 | DType::UInt64 => 'u',
            DType::Complex64 | DType::Complex128 => 'c',
            _ => 'f',
        }
    }
}

/// The types that are a bare name; the first spelling of each is the one written.
const SIMPLE: [(&str, DType); 22] = [
    ("bool", DType::Bool),
    ("int8", DType::Int8),
    ("int16", DType::Int16),
    ("int32", DType::Int32),
    ("int64", DType::Int64),
    ("uint8", DType::UInt8),
    ("uint16", DType::UInt16),
    ("uint32", DType::UInt32),
    ("uint64", DType::UInt64),
    ("float16", DType::Float16),
    ("float32", DType::Float32),
    ("float64", DType::Float64),
    ("complex64", DType::Complex64),
    ("complex128", DType::Complex128),
    ("complex_float32", DType::Complex64),
    ("complex_float64", DType::Complex128),
    ("string", DType::VlenUtf8),
    ("variable_length_utf8", DType::VlenUtf8),
    ("variable_length_bytes", DType::VlenBytes),
    ("bytes", DType::VlenBytes),
    ("numpy.variable_length_utf8", DType::VlenUtf8),
    ("binary", DType::VlenBytes),
];

fn unit_suffix(unit: &str, scale: u64) -> String {
    match (unit, scale) {
        ("generic", _) => String::new(),
        (_, 1) => format!("[{unit}]"),
        _ => format!("[{scale}{unit}]"),
    }
}

fn parse_at(value: &Value, depth: u32) -> Result<DType> {
    if depth > MAX_DEPTH {
        return Err(Error::new(ErrorKind::Unsupported, format!("data type nested more than {MAX_DEPTH} deep")));
    }
    let ext = Extension::parse(value, "data type")?;
    if let Some((_, dtype)) = SIMPLE.iter().find(|(name, _)| *name == ext.name) {
        return Ok(dtype.clone());
    }
    match ext.name {
        "numpy.datetime64" | "numpy.timedelta64" => parse_time(&ext),
        "null_terminated_bytes" => Ok(DType::Bytes(length(config_u64(&ext, "length_bytes")?, ext.name)?)),
        "raw_bytes" => Ok(DType::Raw(length(config_u64(&ext, "length_bytes")?, ext.name)?)),
        "fixed_length_utf32" => parse_utf32(&ext),
        "struct" | "structured" => parse_struct(&ext, depth),
        name => match name.strip_prefix('r').and_then(|bits| bits.parse::<u64>().ok()) {
            Some(bits) if bits % 8 == 0 && bits > 0 => Ok(DType::Raw(length(bits / 8, name)?)),
            _ => Err(unsupported("data type", name)),
        },
    }
}

fn length(bytes: u64, name: &str) -> Result<usize> {
    if bytes == 0 || bytes > MAX_ITEMSIZE {
        let what = format!("data type {name} of {bytes} bytes an element; 1 to {MAX_ITEMSIZE} are read");
        return Err(Error::new(ErrorKind::Unsupported, what));
    }
    Ok(bytes as usize)
}

fn parse_utf32(ext: &Extension) -> Result<DType> {
    let bytes = length(config_u64(ext, "length_bytes")?, ext.name)?;
    if bytes % 4 != 0 {
        return Err(Error::new(
            ErrorKind::Format,
            format!("fixed_length_utf32 of {bytes} bytes, which is not a multiple of 4"),
        ));
    }
    Ok(DType::Utf32(bytes / 4))
}

fn parse_time(ext: &Extension) -> Result<DType> {
    const UNITS: [&str; 15] = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "μs", "ns", "ps", "fs", "as", "generic"];
    let unit = config_str(ext, "unit")?;
    if !UNITS.contains(&unit) {
        return Err(unsupported("unit of time", unit));
    }
    let scale = config_u64(ext, "scale_factor")?;
    if scale == 0 || scale > i32::MAX as u64 {
        return Err(Error::new(
            ErrorKind::Format,
            format!("{}: scale_factor {scale} is not within 1 … {}", ext.name, i32::MAX),
        ));
    }
    let unit = if unit == "μs" { "us" } else { unit }.to_string();
    Ok(match ext.name {
        "numpy.datetime64" => DType::DateTime64 { unit, scale },
        _ => DType::TimeDelta64 { unit, scale },
    })
}

fn parse_struct(ext: &Extension, depth: u32) -> Result<DType> {
    let malformed = || Error::new(ErrorKind::Format, format!("data type {}: `fields` is malformed", ext.name));
    let fields = ext.get("fields").and_then(Value::as_array).ok_or_else(malformed)?;
    let mut out: Vec<(String, DType)> = Vec::new();
    let mut size = 0u64;
    for field in fields {
        let (name, dtype) = match field {
            Value::Object(o) => (o.get("name"), o.get("data_type")),
            Value::Array(pair) if pair.len() == 2 => (pair.first(), pair.get(1)),
            _ => return Err(malformed()),
        };
        let name = name.and_then(Value::as_str).ok_or_else(malformed)?;
        if out.iter().any(|(other, _)| other == name) {
            return Err(Error::new(ErrorKind::Format, format!("two fields of a structured type are named {name:?}")));
        }
        let dtype = parse_at(dtype.ok_or_else(malformed)?, depth + 1)?;
        if dtype.is_vlen() {
            return Err(unsupported("field of variable length in a structured type", name));
        }
        size += dtype.size() as u64;
        length(size, ext.name)?;
        out.push((name.to_string(), dtype));
    }
    if out.is_empty() {
        return Err(malformed());
    }
    Ok(DType::Struct(out))
}
