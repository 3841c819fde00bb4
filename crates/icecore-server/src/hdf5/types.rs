//! Element types: convert an array's type to the HDF5 type in the JSON of the HDF REST API.

use std::collections::BTreeMap;

use icecore::chunk::DType;
use serde_json::{Map, Value, json};

/// HDF5 view of elements. `size` is the element's size in memory, in the layout of the array's dtype.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum H5Type {
    Integer {
        size: usize,
        signed: bool,
    },
    Float {
        size: usize,
    },
    Bool,
    Enum {
        size: usize,
        signed: bool,
        members: BTreeMap<String, i64>,
    },
    /// Real and imaginary part, of `size` bytes each.
    Complex {
        size: usize,
    },
    /// Bytes, padded with NUL.
    Fixed(usize),
    /// UTF-8 of any length; in memory UTF-32 of this many characters.
    Utf32(usize),
    /// UTF-8 of any length; in memory a view.
    Text,
    /// Bytes of any length; in memory a view.
    Bytes,
    Opaque(usize),
    Compound(Vec<(String, H5Type)>),
    Array {
        base: Box<H5Type>,
        dims: Vec<u64>,
    },
    /// Any number of elements; in memory a view of their bytes in the API's encoding, without the count.
    Vlen(Box<H5Type>),
    /// Records and arrays with variable-length parts; in memory a view of the element in the API's encoding.
    Sent(Box<H5Type>),
}

impl H5Type {
    /// The type of an array's elements. `own` holds icecore's records beside the attributes: enums and sub-arrays.
    pub fn of(dtype: &DType, attributes: &Map<String, Value>, own: &Map<String, Value>) -> Self {
        let listed = own.get("enum").and_then(Value::as_array).is_some_and(|names| names.contains(&json!("enum")));
        let members = attributes.get("enum").filter(|_| listed).and_then(Value::as_object).map(members);
        match (Self::plain(dtype, own.get("subarrays")), members) {
            (Self::Integer { size, signed }, Some(members)) if !members.is_empty() => {
                Self::Enum { size, signed, members }
            }
            (plain, _) => plain,
        }
    }

    fn plain(dtype: &DType, subarrays: Option<&Value>) -> Self {
        let integer = |signed| Self::Integer { size: dtype.size(), signed };
        match dtype {
            DType::Bool => Self::Bool,
            DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64 => integer(true),
            DType::DateTime64 { .. } | DType::TimeDelta64 { .. } => integer(true),
            DType::UInt8 | DType::UInt16 | DType::UInt32 | DType::UInt64 => integer(false),
            DType::Float16 | DType::Float32 | DType::Float64 => Self::Float { size: dtype.size() },
            DType::Complex64 | DType::Complex128 => Self::Complex { size: dtype.size() / 2 },
            DType::Bytes(n) => Self::Fixed(*n),
            DType::Utf32(n) => Self::Utf32(*n),
            DType::Raw(n) => Self::Opaque(*n),
            DType::VlenUtf8 => Self::Text,
            DType::VlenBytes => Self::Bytes,
            DType::Struct(fields) => {
                let field = |(name, inner): &(String, DType)| {
                    let beside = subarrays.and_then(|each| each.get(name));
                    (name.clone(), field(inner, beside))
                };
                Self::Compound(fields.iter().map(field).collect())
            }
        }
    }

    /// Whether elements are sent in their memory layout, except for the byte order.
    pub fn is_plain(&self) -> bool {
        match self {
            Self::Utf32(_) | Self::Text | Self::Bytes | Self::Vlen(_) | Self::Sent(_) => false,
            Self::Compound(fields) => fields.iter().all(|(_, field)| field.is_plain()),
            Self::Array { base, .. } => base.is_plain(),
            _ => true,
        }
    }

    /// Bytes of an element in memory.
    pub fn size(&self) -> usize {
        match self {
            Self::Integer { size, .. } | Self::Float { size } | Self::Enum { size, .. } => *size,
            Self::Bool => 1,
            Self::Complex { size } => 2 * size,
            Self::Fixed(n) | Self::Opaque(n) => *n,
            Self::Utf32(n) => 4 * n,
            Self::Text | Self::Bytes | Self::Vlen(_) | Self::Sent(_) => icecore::chunk::VIEW,
            Self::Compound(fields) => fields.iter().map(|(_, field)| field.size()).sum(),
            Self::Array { base, dims } => base.size() * dims.iter().product::<u64>() as usize,
        }
    }

    /// The type as JSON; `big` if the numbers are declared big-endian.
    pub fn json(&self, big: bool) -> Value {
        let order = if big { "BE" } else { "LE" };
        let integer = |size: &usize, signed: &bool| {
            let sign = if *signed { 'I' } else { 'U' };
            json!({"class": "H5T_INTEGER", "base": format!("H5T_STD_{sign}{}{order}", 8 * size)})
        };
        let float = |size: &usize| json!({"class": "H5T_FLOAT", "base": format!("H5T_IEEE_F{}{order}", 8 * size)});
        match self {
            Self::Integer { size, signed } => integer(size, signed),
            Self::Float { size } => float(size),
            Self::Bool => {
                json!({"class": "H5T_ENUM", "base": {"class": "H5T_INTEGER", "base": "H5T_STD_I8LE"}, "mapping": {"FALSE": 0, "TRUE": 1}})
            }
            Self::Enum { size, signed, members } => {
                json!({"class": "H5T_ENUM", "base": integer(size, signed), "mapping": members})
            }
            Self::Complex { size } => {
                json!({"class": "H5T_COMPOUND", "fields": [{"name": "r", "type": float(size)}, {"name": "i", "type": float(size)}]})
            }
            Self::Fixed(n) => {
                json!({"class": "H5T_STRING", "charSet": "H5T_CSET_ASCII", "strPad": "H5T_STR_NULLPAD", "length": n})
            }
            Self::Utf32(_) | Self::Text => {
                json!({"class": "H5T_STRING", "charSet": "H5T_CSET_UTF8", "strPad": "H5T_STR_NULLTERM", "length": "H5T_VARIABLE"})
            }
            Self::Bytes => {
                json!({"class": "H5T_VLEN", "size": "H5T_VARIABLE", "base": {"class": "H5T_INTEGER", "base": "H5T_STD_U8LE"}})
            }
            Self::Opaque(n) => json!({"class": "H5T_OPAQUE", "size": n, "tag": ""}),
            Self::Compound(fields) => {
                let field = |(name, field): &(String, Self)| json!({"name": name, "type": field.json(big)});
                json!({"class": "H5T_COMPOUND", "fields": fields.iter().map(field).collect::<Vec<_>>()})
            }
            Self::Array { base, dims } => json!({"class": "H5T_ARRAY", "base": base.json(big), "dims": dims}),
            Self::Vlen(base) => json!({"class": "H5T_VLEN", "size": "H5T_VARIABLE", "base": base.json(big)}),
            Self::Sent(inner) => inner.json(big),
        }
    }
}

fn members(found: &Map<String, Value>) -> BTreeMap<String, i64> {
    found.iter().filter_map(|(name, value)| Some((name.clone(), value.as_i64()?))).collect()
}

/// A field; fields `0`, `1`, … represent an array.
fn field(dtype: &DType, beside: Option<&Value>) -> H5Type {
    let fields = beside.and_then(|each| each.get("fields"));
    let dims: Option<Vec<u64>> = beside
        .and_then(|each| each.get("shape"))
        .and_then(Value::as_array)
        .map(|shape| shape.iter().filter_map(Value::as_u64).collect());
    match (dtype, dims) {
        (DType::Struct(items), Some(dims))
            if !dims.is_empty() && dims.iter().product::<u64>() == items.len() as u64 =>
        {
            let base = items.first().map_or(H5Type::Opaque(0), |(_, item)| H5Type::plain(item, fields));
            H5Type::Array { base: Box::new(base), dims }
        }
        _ => H5Type::plain(dtype, fields),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts() {
        let of = |dtype: DType| H5Type::of(&dtype, &Map::new(), &Map::new());
        assert_eq!(of(DType::Int16).json(true), json!({"class": "H5T_INTEGER", "base": "H5T_STD_I16BE"}));
        assert_eq!(of(DType::Float64).json(false)["base"], "H5T_IEEE_F64LE");
        assert_eq!(of(DType::VlenUtf8).json(false)["length"], "H5T_VARIABLE");
        assert_eq!(of(DType::Bytes(5)).json(false)["length"], 5);
        assert!(!of(DType::Utf32(3)).is_plain() && of(DType::Raw(3)).is_plain());
    }

    #[test]
    fn enums_and_sub_arrays() {
        let attributes = json!({"enum": {"RED": 0, "BLUE": 2}});
        let own = json!({"enum": ["flag_values", "enum"], "subarrays": {"a": {"shape": [2, 2], "fields": {}}}});
        let (attributes, own) = (attributes.as_object().unwrap(), own.as_object().unwrap());
        let colour = H5Type::of(&DType::UInt8, attributes, own);
        assert_eq!(colour.json(false)["mapping"], json!({"RED": 0, "BLUE": 2}));
        assert_eq!(H5Type::of(&DType::UInt8, attributes, &Map::new()).json(false)["class"], "H5T_INTEGER");
        let four = DType::Struct((0..4).map(|i| (i.to_string(), DType::Float32)).collect());
        let record = H5Type::of(&DType::Struct(vec![("a".into(), four)]), &Map::new(), own);
        assert_eq!(record.json(false)["fields"][0]["type"]["dims"], json!([2, 2]));
        assert_eq!(record.size(), 16);
    }
}
