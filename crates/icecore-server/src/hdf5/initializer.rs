//! Initial elements of a dataset by formula: HSDS's `arange`.

use icecore::grid::{Error, ErrorKind, Result};
use serde_json::{Map, Value, json};

use super::incoming;
use super::types::H5Type;

/// Maximum number of elements.
const MOST: u64 = 1 << 24;

fn bad(what: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Invalid, format!("initializer: {what}"))
        .hint("for example [\"arange\", \"--start=10\", \"--step=2\"], for a dataset of numbers with one axis")
}

/// The number and bytes of the elements that a new dataset's creation properties ask for; `None` without an initializer.
///
/// # Errors
/// `invalid`, `unsupported` for another initializer.
pub(crate) fn initial(
    metadata: &Map<String, Value>,
    h5: &H5Type,
    big: bool,
    dims: &[u64],
) -> Result<Option<(u64, Vec<u8>)>> {
    let given = metadata.get("creationProperties").and_then(|properties| properties.get("initializer"));
    let Some(words) = given.and_then(Value::as_array).filter(|words| !words.is_empty()) else { return Ok(None) };
    let mut words = words.iter().map(|word| word.as_str().unwrap_or_default());
    let name = words.next().unwrap_or_default();
    if name != "arange" {
        return Err(Error::new(ErrorKind::Unsupported, format!("the initializer {name:?}"))
            .hint("arange is supported; write other elements after creating the dataset"));
    }
    let (mut start, mut step) = (0.0, 1.0);
    for word in words {
        let (option, value) = word.split_once('=').ok_or_else(|| bad(format!("{word:?} is not OPTION=NUMBER")))?;
        let number: f64 = value.parse().map_err(|_| bad(format!("{value:?} is not a number")))?;
        match option {
            "--start" => start = number,
            "--step" => step = number,
            _ => return Err(bad(format!("unknown option {option:?}"))),
        }
    }
    let [count] = dims else { return Err(bad(format!("{} axes", dims.len()))) };
    if *count > MOST {
        return Err(bad(format!("{count} elements; at most {MOST} are written")));
    }
    let at = |number: u64| start + step * number as f64;
    let is_integer = matches!(h5, H5Type::Integer { .. });
    if !is_integer && !matches!(h5, H5Type::Float { .. }) {
        return Err(bad("not a dataset of numbers"));
    }
    let mut bytes = Vec::new();
    for number in 0..*count {
        let element = if is_integer { at(number).trunc() } else { at(number) };
        incoming::from_json(&json!(element), 0, h5, big, &mut bytes)?;
    }
    Ok(Some((*count, bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arange() {
        let of = |words: Value, dims: &[u64]| {
            let metadata = json!({"creationProperties": {"initializer": words}});
            initial(metadata.as_object().unwrap(), &H5Type::Integer { size: 1, signed: true }, false, dims)
        };
        assert_eq!(of(json!(["arange", "--start=10", "--step=2"]), &[3]).unwrap(), Some((3, vec![10, 12, 14])));
        assert_eq!(of(json!([]), &[3]).unwrap(), None);
        assert_eq!(of(json!(["chunklocator"]), &[3]).unwrap_err().kind, ErrorKind::Unsupported);
        for (words, dims) in
            [(json!(["arange", "-x"]), &[3][..]), (json!(["arange"]), &[2, 2]), (json!(["arange", "--step=a"]), &[3])]
        {
            assert_eq!(of(words, dims).unwrap_err().kind, ErrorKind::Invalid);
        }
    }
}
