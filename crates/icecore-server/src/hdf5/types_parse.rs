//! Parse types from the JSON of the HDF REST API, and choose the Zarr data type that stores their elements.

use std::collections::BTreeMap;

use icecore::grid::{Error, ErrorKind, Result};
use serde_json::{Map, Value, json};

use super::types::H5Type;

/// Bytes of an object reference: an object's id, padded with NUL.
const REFERENCE: usize = 48;
/// Maximum nesting of types.
const DEEPEST: usize = 32;
/// Maximum number of elements of an array inside a record, which Zarr sees as fields.
const SPELLED: u64 = 1024;
/// Maximum size of an element of fixed length, in bytes.
const LARGEST: usize = 1 << 27;

/// A type and the byte order of its numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parsed {
    pub h5: H5Type,
    pub big: bool,
}

fn bad(what: impl std::fmt::Display, hint: &str) -> Error {
    Error::new(ErrorKind::Invalid, format!("type: {what}")).hint(hint)
}

/// Parses a type.
///
/// # Errors
/// `invalid` if it is malformed; `unsupported` if it cannot be stored.
pub(crate) fn parse(kind: &Value) -> Result<Parsed> {
    let mut orders = Vec::new();
    let h5 = any(kind, &mut orders, 0)?;
    let big = orders.first().copied().unwrap_or(false);
    if orders.iter().any(|each| *each != big) {
        return Err(Error::new(ErrorKind::Unsupported, "type: fields of different byte order")
            .hint("give all numbers of a record the same byte order"));
    }
    if big && has_variable(&h5) {
        return Err(Error::new(ErrorKind::Unsupported, "type: big-endian numbers beside parts of any length")
            .hint("declare them little-endian"));
    }
    let h5 = if has_variable(&h5) && matches!(h5, H5Type::Compound(_) | H5Type::Array { .. }) {
        H5Type::Sent(Box::new(h5))
    } else {
        h5
    };
    if h5.size() == 0 || h5.size() > LARGEST {
        return Err(bad(format!("{} bytes an element", h5.size()), "an element has 1 byte to 128 MiB"));
    }
    Ok(Parsed { h5, big })
}

/// Whether it has variable-length parts.
pub(crate) fn has_variable(h5: &H5Type) -> bool {
    match h5 {
        H5Type::Text | H5Type::Bytes | H5Type::Vlen(_) | H5Type::Sent(_) => true,
        H5Type::Compound(fields) => fields.iter().any(|(_, field)| has_variable(field)),
        H5Type::Array { base, .. } => has_variable(base),
        _ => false,
    }
}

fn any(kind: &Value, orders: &mut Vec<bool>, depth: usize) -> Result<H5Type> {
    if depth > DEEPEST {
        return Err(bad("nested too deeply", "at most 32 levels"));
    }
    if let Some(name) = kind.as_str() {
        return number(name, orders);
    }
    let object =
        kind.as_object().ok_or_else(|| bad(kind, "a name such as H5T_STD_I32LE, or an object with a class"))?;
    let class = object.get("class").and_then(Value::as_str).unwrap_or_default();
    let base = || object.get("base").ok_or_else(|| bad(format!("{class} without base"), "give its base type"));
    Ok(match class {
        "H5T_INTEGER" | "H5T_FLOAT" | "H5T_BITFIELD" => any(base()?, orders, depth + 1)?,
        "H5T_STRING" => string(object)?,
        "H5T_REFERENCE" => H5Type::Fixed(REFERENCE),
        "H5T_OPAQUE" => H5Type::Opaque(size(object, "size")?),
        "H5T_VLEN" => H5Type::Vlen(Box::new(any(base()?, orders, depth + 1)?)),
        "H5T_ARRAY" => H5Type::Array { base: Box::new(any(base()?, orders, depth + 1)?), dims: dims(object)? },
        "H5T_ENUM" => enumeration(object, any(base()?, orders, depth + 1)?)?,
        "H5T_COMPOUND" => compound(object, orders, depth)?,
        "H5T_COMPLEX" => match any(base()?, orders, depth + 1)? {
            H5Type::Float { size } => H5Type::Complex { size },
            _ => return Err(bad("complex of no float", "its base is a float")),
        },
        other => {
            return Err(bad(format!("unknown class {other:?}"), "for example H5T_INTEGER with base H5T_STD_I32LE"));
        }
    })
}

/// A predefined number: `H5T_STD_I32LE`, `H5T_IEEE_F64BE`.
fn number(name: &str, orders: &mut Vec<bool>) -> Result<H5Type> {
    let unknown = || bad(format!("unknown {name:?}"), "for example H5T_STD_I32LE or H5T_IEEE_F64LE");
    let rest = name.strip_prefix("H5T_STD_").or_else(|| name.strip_prefix("H5T_IEEE_")).ok_or_else(unknown)?;
    if rest.starts_with("REF_OBJ") || rest.starts_with("REF_DSETREG") {
        return Ok(H5Type::Fixed(REFERENCE));
    }
    let (body, big) = match (rest.strip_suffix("LE"), rest.strip_suffix("BE")) {
        (Some(body), _) => (body, false),
        (_, Some(body)) => (body, true),
        // h5pyd 0.24 leaves out the order of native numbers inside vlen types.
        _ => (rest, false),
    };
    let bits: usize = body.get(1..).and_then(|bits| bits.parse().ok()).ok_or_else(unknown)?;
    if bits > 8 {
        orders.push(big);
    }
    match (body.chars().next(), bits) {
        (Some(sign @ ('I' | 'U' | 'B')), 8 | 16 | 32 | 64) => {
            Ok(H5Type::Integer { size: bits / 8, signed: sign == 'I' })
        }
        (Some('F'), 16 | 32 | 64) => Ok(H5Type::Float { size: bits / 8 }),
        _ => Err(unknown()),
    }
}

fn size(object: &Map<String, Value>, name: &str) -> Result<usize> {
    let found = object.get(name).and_then(Value::as_u64).filter(|n| (1..=LARGEST as u64).contains(n));
    let found = found.ok_or_else(|| bad(format!("no {name}"), "a number of bytes, 1 or more"))?;
    Ok(found as usize)
}

fn string(object: &Map<String, Value>) -> Result<H5Type> {
    match object.get("length") {
        Some(Value::String(text)) if text == "H5T_VARIABLE" => Ok(H5Type::Text),
        _ => Ok(H5Type::Fixed(size(object, "length")?)),
    }
}

fn dims(object: &Map<String, Value>) -> Result<Vec<u64>> {
    let list = match object.get("dims") {
        Some(Value::Array(list)) => list.iter().map(Value::as_u64).collect(),
        Some(single) => single.as_u64().map(|n| vec![n]),
        None => None,
    };
    list.filter(|dims: &Vec<u64>| {
        dims.iter().all(|n| *n > 0)
            && dims.iter().try_fold(1_u64, |all, n| all.checked_mul(*n)).is_some_and(|n| n <= LARGEST as u64)
    })
    .ok_or_else(|| bad("an array without dims", "a list of lengths, 1 or more"))
}

fn enumeration(object: &Map<String, Value>, base: H5Type) -> Result<H5Type> {
    let H5Type::Integer { size, signed } = base else {
        return Err(bad("enum of no integer", "its base is an integer"));
    };
    let mut members = BTreeMap::new();
    for (name, value) in object.get("mapping").and_then(Value::as_object).into_iter().flatten() {
        members.insert(name.clone(), value.as_i64().unwrap_or_default());
    }
    for member in object.get("members").and_then(Value::as_array).into_iter().flatten() {
        let name = member.get("name").and_then(Value::as_str).unwrap_or_default();
        members.insert(name.to_owned(), member.get("value").and_then(Value::as_i64).unwrap_or_default());
    }
    let is_bool =
        size == 1 && members.len() == 2 && members.get("FALSE") == Some(&0) && members.get("TRUE") == Some(&1);
    Ok(if is_bool { H5Type::Bool } else { H5Type::Enum { size, signed, members } })
}

fn compound(object: &Map<String, Value>, orders: &mut Vec<bool>, depth: usize) -> Result<H5Type> {
    let mut fields = Vec::new();
    for field in object.get("fields").and_then(Value::as_array).into_iter().flatten() {
        let name = field.get("name").and_then(Value::as_str).ok_or_else(|| bad("a field without name", "name it"))?;
        let kind = field.get("type").ok_or_else(|| bad(format!("the field {name} has no type"), "give its type"))?;
        fields.push((name.to_owned(), any(kind, orders, depth + 1)?));
    }
    match fields.as_slice() {
        [] => Err(bad("a record without fields", "give its fields: [{\"name\": …, \"type\": …}, …]")),
        [(r, H5Type::Float { size }), (i, H5Type::Float { size: other })]
            if r == "r" && i == "i" && size == other && *size > 2 =>
        {
            Ok(H5Type::Complex { size: *size })
        }
        _ => Ok(H5Type::Compound(fields)),
    }
}

/// The Zarr data type of elements. Records with variable-length parts are stored in the API's encoding.
pub(crate) fn data_type(h5: &H5Type) -> Value {
    let sized = |name: &str, n: usize| json!({"name": name, "configuration": {"length_bytes": n}});
    match h5 {
        H5Type::Bool => json!("bool"),
        H5Type::Integer { size, signed } | H5Type::Enum { size, signed, .. } => {
            json!(format!("{}int{}", if *signed { "" } else { "u" }, 8 * size))
        }
        H5Type::Float { size } => json!(format!("float{}", 8 * size)),
        H5Type::Complex { size } => json!(format!("complex{}", 16 * size)),
        H5Type::Fixed(n) => sized("null_terminated_bytes", *n),
        H5Type::Opaque(n) => sized("raw_bytes", *n),
        H5Type::Utf32(n) => sized("fixed_length_utf32", 4 * n),
        H5Type::Text => json!("string"),
        H5Type::Bytes | H5Type::Vlen(_) | H5Type::Sent(_) => json!("variable_length_bytes"),
        H5Type::Compound(fields) => structure(fields.iter().map(|(name, field)| (name.clone(), data_type(field)))),
        H5Type::Array { base, dims } => {
            let count: u64 = dims.iter().product();
            if count > SPELLED {
                return sized("raw_bytes", h5.size());
            }
            structure((0..count).map(|i| (i.to_string(), data_type(base))))
        }
    }
}

fn structure(fields: impl Iterator<Item = (String, Value)>) -> Value {
    let fields: Vec<Value> = fields.map(|(name, kind)| json!({"name": name, "data_type": kind})).collect();
    json!({"name": "struct", "configuration": {"fields": fields}})
}

/// The type in the form that all clients read: enums with `mapping`, numbers as objects.
pub(crate) fn spelled(kind: &Value) -> Value {
    match kind {
        Value::String(name) if name.starts_with("H5T_IEEE_") => json!({"class": "H5T_FLOAT", "base": name}),
        Value::String(name) if name.starts_with("H5T_STD_REF") => json!({"class": "H5T_REFERENCE", "base": name}),
        Value::String(name) if name.starts_with("H5T_STD_") => json!({"class": "H5T_INTEGER", "base": name}),
        Value::Object(object) => spelled_object(object).into(),
        other => other.clone(),
    }
}

fn spelled_object(object: &Map<String, Value>) -> Map<String, Value> {
    let is_number =
        matches!(object.get("class").and_then(Value::as_str), Some("H5T_INTEGER" | "H5T_FLOAT" | "H5T_REFERENCE"));
    let mut out = Map::new();
    for (key, value) in object {
        let made = match (key.as_str(), value) {
            ("base", value) if !is_number => spelled(value),
            ("type", value) => spelled(value),
            ("fields", Value::Array(fields)) => fields.iter().map(spelled).collect(),
            ("members", Value::Array(members)) => {
                let pair =
                    |member: &Value| Some((member.get("name")?.as_str()?.to_owned(), member.get("value")?.clone()));
                out.insert("mapping".to_owned(), members.iter().filter_map(pair).collect::<Map<_, _>>().into());
                continue;
            }
            (_, value) => value.clone(),
        };
        out.insert(key.clone(), made);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_all_classes() {
        let of = |kind: Value| parse(&kind).map(|parsed| (data_type(&parsed.h5), parsed.big));
        assert_eq!(of(json!("H5T_STD_U16BE")).unwrap(), (json!("uint16"), true));
        assert_eq!(of(json!({"class": "H5T_FLOAT", "base": "H5T_IEEE_F64LE"})).unwrap(), (json!("float64"), false));
        let text = json!({"class": "H5T_STRING", "length": "H5T_VARIABLE"});
        assert_eq!(of(text.clone()).unwrap().0, json!("string"));
        let record = json!({"class": "H5T_COMPOUND", "fields": [{"name": "t", "type": text}]});
        assert_eq!(of(record).unwrap().0, json!("variable_length_bytes"));
        let array = json!({"class": "H5T_ARRAY", "base": "H5T_STD_I8LE", "dims": [2]});
        assert_eq!(of(array).unwrap().0["configuration"]["fields"][1], json!({"name": "1", "data_type": "int8"}));
        for bad in [json!("H5T_STD_I7LE"), json!({"class": "H5T_NONE"}), json!(3), json!({"class": "H5T_COMPOUND"})] {
            assert_eq!(parse(&bad).unwrap_err().kind, ErrorKind::Invalid, "{bad}");
        }
    }

    #[test]
    fn enums_have_one_spelling() {
        let kind = json!({"class": "H5T_ENUM", "base": "H5T_STD_I8LE", "members": [{"name": "A", "value": 3}]});
        assert_eq!(spelled(&kind)["mapping"], json!({"A": 3}));
        assert_eq!(spelled(&kind)["base"]["class"], "H5T_INTEGER");
    }
}
