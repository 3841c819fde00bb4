//! HDF5 attributes of a node: a type, a shape and a value, from JSON and the stored dtypes beside it.

use serde_json::{Map, Value, json};

use super::types::H5Type;
use crate::http::base64::unbase64;

/// One attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Attribute {
    pub kind: Value,
    pub shape: Value,
    pub value: Value,
}

impl Attribute {
    /// The attribute in the form of a model object.
    pub fn json(&self, time: f64) -> Value {
        json!({"type": self.kind, "shape": self.shape, "value": self.value, "created": time})
    }
}

/// icecore's records beside a node's attributes.
pub(crate) fn own(document: &Map<String, Value>) -> Map<String, Value> {
    let kept = document.get("attributes").and_then(|attributes| attributes.get("icecore"));
    kept.and_then(Value::as_object).cloned().unwrap_or_default()
}

/// All attributes of a node by name. `element` is the type of an array's elements: its `_FillValue` is of that type.
pub(crate) fn attributes(document: &Map<String, Value>, element: Option<&H5Type>) -> Vec<(String, Attribute)> {
    let own = own(document);
    let made: Vec<&str> =
        own.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let types = own.get("attr_types").and_then(Value::as_object);
    let stored = document.get("attributes").and_then(Value::as_object);
    let mut found: Vec<(String, Attribute)> = stored
        .into_iter()
        .flatten()
        .filter(|(name, _)| *name != "icecore" && !made.contains(&name.as_str()))
        .map(|(name, value)| {
            let dtype = types.and_then(|types| types.get(name)).and_then(Value::as_str);
            let fill = element.filter(|_| name == "_FillValue").and_then(|element| fill(value, element));
            (name.clone(), fill.unwrap_or_else(|| attribute(value, dtype)))
        })
        .collect();
    if let Some(text) = own.get("fill").filter(|text| text.is_string()) {
        found.push(("_FillValue".to_owned(), attribute(text, None)));
    }
    found
}

/// The type of the numbers in an attribute.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Scalar {
    Bool,
    Text,
    Integer { size: usize, signed: bool },
    Float { size: usize },
    Complex { size: usize },
}

fn attribute(value: &Value, dtype: Option<&str>) -> Attribute {
    let declared = dtype.and_then(scalar);
    let complex = matches!(declared, Some(Scalar::Complex { .. }));
    let shape = shape(value, complex);
    let kind = match (&shape, declared) {
        (Some(shape), Some(kind)) if leaves(value, shape.len(), &|leaf| fits(leaf, kind)) => Some(kind),
        (Some(shape), _) => guess(value, shape.len()),
        (None, _) => None,
    };
    match (shape, kind) {
        (Some(shape), Some(kind)) => {
            let big = dtype.is_some_and(|dtype| dtype.starts_with('>'));
            Attribute { kind: h5(kind).json(big), shape: space(&shape), value: value.clone() }
        }
        // Mixed lists, dictionaries and null become the text of their JSON.
        _ => Attribute { kind: H5Type::Text.json(false), shape: space(&[]), value: Value::from(value.to_string()) },
    }
}

fn h5(kind: Scalar) -> H5Type {
    match kind {
        Scalar::Bool => H5Type::Bool,
        Scalar::Text => H5Type::Text,
        Scalar::Integer { size, signed } => H5Type::Integer { size, signed },
        Scalar::Float { size } => H5Type::Float { size },
        Scalar::Complex { size } => H5Type::Complex { size },
    }
}

fn space(shape: &[u64]) -> Value {
    match shape {
        [] => json!({"class": "H5S_SCALAR"}),
        dims => json!({"class": "H5S_SIMPLE", "dims": dims}),
    }
}

/// NumPy's short name of a number type.
fn scalar(dtype: &str) -> Option<Scalar> {
    let mut rest = dtype.trim_start_matches(['<', '>', '|', '=']).chars();
    let kind = rest.next()?;
    let size: usize = rest.as_str().parse().ok()?;
    match (kind, size) {
        ('i' | 'u', 1 | 2 | 4 | 8) => Some(Scalar::Integer { size, signed: kind == 'i' }),
        ('f', 2 | 4 | 8) => Some(Scalar::Float { size }),
        ('c', 8 | 16) => Some(Scalar::Complex { size: size / 2 }),
        _ => None,
    }
}

/// The shape of nested lists with equal lengths; `None` if lengths differ. A complex number is a pair.
fn shape(value: &Value, complex: bool) -> Option<Vec<u64>> {
    if complex && value.as_array().is_some_and(|pair| pair.len() == 2 && !pair.iter().any(Value::is_array)) {
        return Some(Vec::new());
    }
    let Some(items) = value.as_array() else { return Some(Vec::new()) };
    let mut inner: Option<Vec<u64>> = None;
    for item in items {
        let found = shape(item, complex)?;
        if inner.as_ref().is_some_and(|known| *known != found) {
            return None;
        }
        inner = Some(found);
    }
    let mut dims = vec![items.len() as u64];
    dims.extend(inner.unwrap_or_default());
    Some(dims)
}

/// Whether `holds` is true for all values at list depth `depth`.
fn leaves(value: &Value, depth: usize, holds: &dyn Fn(&Value) -> bool) -> bool {
    match (depth, value.as_array()) {
        (0, _) => holds(value),
        (_, Some(items)) => items.iter().all(|item| leaves(item, depth - 1, holds)),
        (_, None) => false,
    }
}

fn fits(leaf: &Value, kind: Scalar) -> bool {
    let number = |value: &Value| value.is_number() || matches!(value.as_str(), Some("NaN" | "Infinity" | "-Infinity"));
    match kind {
        Scalar::Bool => leaf.is_boolean(),
        Scalar::Text => leaf.is_string(),
        Scalar::Integer { signed: true, size } => {
            leaf.as_i64().is_some_and(|v| size == 8 || (-(1 << (8 * size - 1))..1 << (8 * size - 1)).contains(&v))
        }
        Scalar::Integer { signed: false, size } => leaf.as_u64().is_some_and(|v| size == 8 || v < 1 << (8 * size)),
        Scalar::Float { .. } => number(leaf),
        Scalar::Complex { .. } => leaf.as_array().is_some_and(|pair| pair.len() == 2 && pair.iter().all(number)),
    }
}

fn guess(value: &Value, depth: usize) -> Option<Scalar> {
    const WIDE: Scalar = Scalar::Integer { size: 8, signed: true };
    const UNSIGNED: Scalar = Scalar::Integer { size: 8, signed: false };
    const DOUBLE: Scalar = Scalar::Float { size: 8 };
    let all = |kind: Scalar| leaves(value, depth, &|leaf| fits(leaf, kind));
    if value.as_array().is_some_and(Vec::is_empty) {
        return Some(DOUBLE);
    }
    if leaves(value, depth, &Value::is_number) {
        return [WIDE, UNSIGNED, DOUBLE].into_iter().find(|kind| all(*kind));
    }
    [Scalar::Text, Scalar::Bool].into_iter().find(|kind| all(*kind))
}

/// `_FillValue` in the encoding of Zarr attributes: base64 of a float64 for floats.
fn fill(value: &Value, element: &H5Type) -> Option<Attribute> {
    let (H5Type::Float { .. }, Some(text)) = (element, value.as_str()) else {
        let numeric = matches!(element, H5Type::Integer { .. } | H5Type::Float { .. }) && value.is_number();
        return numeric.then(|| Attribute { kind: element.json(false), shape: space(&[]), value: value.clone() });
    };
    let bytes = <[u8; 8]>::try_from(unbase64(text)?).ok()?;
    let number = f64::from_le_bytes(bytes);
    let words = if number.is_nan() {
        "NaN"
    } else if number > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    };
    let value = serde_json::Number::from_f64(number).map_or(Value::from(words), Value::Number);
    Some(Attribute { kind: element.json(false), shape: space(&[]), value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::base64::base64;

    fn of(attributes: Value) -> Map<String, Value> {
        json!({"attributes": attributes}).as_object().cloned().unwrap()
    }

    fn found(attributes: Value, name: &str) -> Attribute {
        super::attributes(&of(attributes), None).into_iter().find(|(n, _)| n == name).unwrap().1
    }

    #[test]
    fn types_come_from_what_is_kept_beside() {
        let a = found(json!({"a": [1, 2], "icecore": {"attr_types": {"a": ">i2"}}}), "a");
        assert_eq!(
            (a.kind["base"].as_str(), &a.shape),
            (Some("H5T_STD_I16BE"), &json!({"class": "H5S_SIMPLE", "dims": [2]}))
        );
        assert_eq!(found(json!({"a": [[1, 2.5], [3, 4]]}), "a").kind["base"], "H5T_IEEE_F64LE");
        assert_eq!(found(json!({"a": u64::MAX}), "a").kind["base"], "H5T_STD_U64LE");
        assert_eq!(found(json!({"a": true}), "a").kind["class"], "H5T_ENUM");
        assert_eq!(found(json!({"a": ["x", "y"]}), "a").shape["dims"], json!([2]));
        // A recorded dtype that can't hold the value is ignored.
        assert_eq!(
            found(json!({"a": 300, "icecore": {"attr_types": {"a": "|u1"}}}), "a").kind["base"],
            "H5T_STD_I64LE"
        );
    }

    #[test]
    fn complex_numbers_are_pairs() {
        let a = found(json!({"a": [[1.0, 2.0], [3.0, 0.0]], "icecore": {"attr_types": {"a": "<c16"}}}), "a");
        assert_eq!(
            (a.kind["class"].as_str(), a.shape),
            (Some("H5T_COMPOUND"), json!({"class": "H5S_SIMPLE", "dims": [2]}))
        );
    }

    #[test]
    fn what_hdf5_lacks_is_text() {
        for value in [json!({"x": 1}), json!([1, "a"]), json!([[1], [2, 3]]), Value::Null] {
            let a = found(json!({"a": value.clone()}), "a");
            assert_eq!((a.kind["class"].as_str(), a.value), (Some("H5T_STRING"), Value::from(value.to_string())));
        }
    }

    #[test]
    fn enums_made_by_a_link_are_left_out() {
        let names: Vec<String> = super::attributes(
            &of(json!({"enum": {"A": 0}, "flag_values": [0], "u": "m", "icecore": {"enum": ["enum", "flag_values"]}})),
            None,
        )
        .into_iter()
        .map(|(name, _)| name)
        .collect();
        assert_eq!(names, ["u"]);
    }

    #[test]
    fn fill_values_of_floats_are_read() {
        let document = of(json!({"_FillValue": base64(&(-9.5_f64).to_le_bytes())}));
        let fill = super::attributes(&document, Some(&H5Type::Float { size: 4 }));
        assert_eq!((fill[0].1.value.as_f64(), fill[0].1.kind["base"].as_str()), (Some(-9.5), Some("H5T_IEEE_F32LE")));
    }
}
