//! Attributes of HDF5 objects as attributes of the protocols.

use icecore::grid::Result;
use serde_json::{Map, Value};

use super::model::{Attribute, Kind};
use crate::domains::Domain;
use crate::hdf5::attributes::{Attribute as H5Attribute, attributes};
use crate::hdf5::translate;

/// Attributes in which libraries keep their own records: no client sees them in a file either.
const OWN: [&str; 9] = [
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "DIMENSION_LABELS",
    "_Netcdf4Dimid",
    "_Netcdf4Coordinates",
    "_nc3_strict",
    "_NCProperties",
    "_NCCOPY",
    "icecore",
];

/// Attributes, and the names of those that can't be sent.
#[derive(Default)]
pub(super) struct Attributes {
    pub found: Vec<Attribute>,
    pub left_out: Vec<(String, String)>,
}

impl Attributes {
    /// The attributes of a node: as its file has them, or those of a Zarr node.
    pub fn of(domain: &Domain, number: usize, dataset: Option<&translate::Dataset>) -> Result<Self> {
        if let Some(beyond) = domain.file_objects()?.and_then(|all| all.node(number)) {
            return Ok(Self::of_json(&beyond.attributes));
        }
        let found = match dataset {
            Some(dataset) => dataset.attributes(),
            None => {
                let node = domain.session.tree().node(number);
                node.map(|node| domain.session.document(node))
                    .transpose()?
                    .map(|text| attributes(&text, None))
                    .unwrap_or_default()
            }
        };
        let mut all = Self::default();
        for (name, H5Attribute { kind, value, .. }) in &found {
            all.add(name, kind, value);
        }
        all.without_scale();
        Ok(all)
    }

    /// Those of an object with a stored HDF5 description.
    pub fn of_json(attributes: &Map<String, Value>) -> Self {
        let mut all = Self::default();
        for (name, attribute) in attributes {
            let part = |key: &str| attribute.get(key).unwrap_or(&Value::Null);
            all.add(name, part("type"), part("value"));
        }
        all.without_scale();
        all
    }

    fn add(&mut self, name: &str, kind: &Value, value: &Value) {
        if OWN.contains(&name) {
            return;
        }
        let Some(kind) = self::kind(kind) else {
            self.left_out.push((format!("attribute {name}"), "its type is not held".to_owned()));
            return;
        };
        let mut values = Vec::new();
        flatten(value, &mut values);
        if values.is_empty() && kind == Kind::Text {
            values.push(Value::from(""));
        }
        match values.is_empty() {
            true => self.left_out.push((format!("attribute {name}"), "it has no values".to_owned())),
            false => self.found.push(Attribute { name: name.to_owned(), kind, values }),
        }
    }

    /// Removes the two attributes that mark an array as the scale of an axis.
    fn without_scale(&mut self) {
        let is_scale = |each: &Attribute| each.name == "CLASS" && each.values == [Value::from("DIMENSION_SCALE")];
        if self.found.iter().any(is_scale) {
            self.found.retain(|each| each.name != "CLASS" && each.name != "NAME");
        }
    }
}

/// The type of an attribute in the JSON of HDF REST.
fn kind(json: &Value) -> Option<Kind> {
    let base = json.get("base");
    match json.get("class")?.as_str()? {
        "H5T_STRING" => Some(Kind::Text),
        "H5T_ENUM" => base.and_then(kind),
        "H5T_INTEGER" => {
            let name = base?.as_str()?.strip_prefix("H5T_STD_")?;
            Some(match name.get(..name.len().checked_sub(2)?)? {
                "I8" => Kind::Int8,
                "U8" => Kind::UInt8,
                "I16" => Kind::Int16,
                "U16" => Kind::UInt16,
                "I32" => Kind::Int32,
                "U32" => Kind::UInt32,
                "I64" => Kind::Int64,
                "U64" => Kind::UInt64,
                _ => return None,
            })
        }
        "H5T_FLOAT" => match base?.as_str()?.strip_prefix("H5T_IEEE_F")? {
            "16LE" | "16BE" | "32LE" | "32BE" => Some(Kind::Float32),
            "64LE" | "64BE" => Some(Kind::Float64),
            _ => None,
        },
        "H5T_VLEN" | "H5T_ARRAY" => base.and_then(kind).filter(|kind| *kind == Kind::Text),
        _ => None,
    }
}

fn flatten(value: &Value, out: &mut Vec<Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| flatten(item, out)),
        Value::Null => {}
        Value::Bool(flag) => out.push(Value::from(u8::from(*flag))),
        other => out.push(other.clone()),
    }
}

/// A number in decimal digits, as both protocols write it; text unchanged.
pub(super) fn spelled(value: &Value, kind: Kind) -> String {
    let special = |text: &str| match text {
        "Infinity" => "inf".to_owned(),
        "-Infinity" => "-inf".to_owned(),
        other => other.to_owned(),
    };
    match (value, kind) {
        (Value::String(text), kind) if kind.is_float() => special(text),
        (Value::String(text), _) => text.clone(),
        // All digits of the float64 with the value of a float32: some clients compare in double precision.
        (number, kind) if kind.is_float() => number.as_f64().map_or_else(String::new, |number| format!("{number:?}")),
        (number, _) => number.to_string(),
    }
}

/// The attribute in the types of DAP2; `kind` is that of the variable, which its fill value shares.
pub(super) fn narrowed(attribute: &Attribute, kind: Option<Kind>) -> Attribute {
    let wanted = match (attribute.name.as_str(), kind) {
        ("_FillValue" | "missing_value", Some(kind)) if !attribute.kind.is_text() && !kind.is_text() => kind,
        _ if attribute.kind == Kind::UInt32 || attribute.kind.widened().is_none() => whole(attribute),
        _ => attribute.kind.widened().unwrap_or(attribute.kind),
    };
    let is_exact = attribute.values.iter().all(|value| fits(value, wanted));
    // Digits as text lose nothing where no number of DAP2 is wide enough.
    let kind = if is_exact { wanted } else { Kind::Text };
    let values = match is_exact {
        true => attribute.values.clone(),
        false => attribute.values.iter().map(|value| Value::from(spelled(value, attribute.kind))).collect(),
    };
    Attribute { name: attribute.name.clone(), kind, values }
}

fn whole(attribute: &Attribute) -> Kind {
    let is_int = attribute.values.iter().all(|value| fits(value, Kind::Int32));
    if is_int { Kind::Int32 } else { Kind::Float64 }
}

/// Whether a number keeps its value in a type.
fn fits(value: &Value, kind: Kind) -> bool {
    let within = |low: i64, high: i64| value.as_i64().is_some_and(|number| (low..=high).contains(&number));
    let is_whole = value.is_i64() || value.is_u64();
    match kind {
        Kind::Int8 => within(-128, 127),
        Kind::UInt8 => within(0, 255),
        Kind::Int16 => within(-32_768, 32_767),
        Kind::UInt16 => within(0, 65_535),
        Kind::Int32 => within(i64::from(i32::MIN), i64::from(i32::MAX)),
        Kind::UInt32 => within(0, i64::from(u32::MAX)),
        Kind::Float64 if is_whole => match (value.as_i64(), value.as_u64()) {
            (Some(number), _) => exact(number),
            (None, Some(number)) => exact_unsigned(number),
            _ => false,
        },
        Kind::Float32 if is_whole => within(-(1 << 24), 1 << 24),
        Kind::Float32 | Kind::Float64 => true,
        Kind::Text => value.is_string(),
        _ => false,
    }
}

/// Whether float64 holds an integer.
pub(super) fn exact(number: i64) -> bool {
    let float = number as f64;
    // The largest float64 below 2⁶³ is far from i64::MAX, which would pass by saturation.
    float as i64 == number && float < 9_223_372_036_854_775_808.0
}

pub(super) fn exact_unsigned(number: u64) -> bool {
    let float = number as f64;
    float as u64 == number && float < 18_446_744_073_709_551_616.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_keep_their_values_in_dap2() {
        let of = |kind, values: Value| {
            let made =
                narrowed(&Attribute { name: "a".into(), kind, values: values.as_array().unwrap().clone() }, None);
            (made.kind, made.values)
        };
        assert_eq!(of(Kind::Int64, json!([1, -5])), (Kind::Int32, vec![json!(1), json!(-5)]));
        assert_eq!(of(Kind::Int64, json!([1_i64 << 40])).0, Kind::Float64);
        assert_eq!(of(Kind::Int64, json!([i64::MAX])), (Kind::Text, vec![json!("9223372036854775807")]));
        assert_eq!(of(Kind::UInt64, json!([u64::MAX])), (Kind::Text, vec![json!("18446744073709551615")]));
        assert_eq!(of(Kind::Int8, json!([-1])).0, Kind::Int16);
        let fill = Attribute { name: "_FillValue".into(), kind: Kind::Int64, values: vec![json!(-9)] };
        assert_eq!(narrowed(&fill, Some(Kind::Float64)).kind, Kind::Float64);
    }

    #[test]
    fn floats_are_spelled_with_all_digits() {
        assert_eq!(spelled(&json!(f64::from(1.3_f32)), Kind::Float32), "1.2999999523162842");
        assert_eq!(spelled(&json!(1e30), Kind::Float64), "1e30");
        assert_eq!(spelled(&json!("-Infinity"), Kind::Float32), "-inf");
    }

    #[test]
    fn exact_integers() {
        assert!(exact(i64::MIN) && exact(1 << 53) && !exact((1 << 53) + 1) && !exact(i64::MAX));
        assert!(!exact_unsigned(u64::MAX) && exact_unsigned(1 << 63));
    }
}
