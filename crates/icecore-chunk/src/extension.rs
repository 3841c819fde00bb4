//! Zarr v3's extension points: a bare name, or an object with `name`, `configuration` and `must_understand`.

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::{Map, Value};

/// A named extension of the metadata and its configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Extension<'a> {
    pub name: &'a str,
    pub configuration: Option<&'a Map<String, Value>>,
    /// False only if the writer allows readers to ignore the extension.
    pub must_understand: bool,
}

impl<'a> Extension<'a> {
    /// `what` names the extension point in errors.
    pub fn parse(value: &'a Value, what: &str) -> Result<Extension<'a>> {
        let malformed = || {
            let text: String = value.to_string().chars().take(80).collect();
            Error::new(ErrorKind::Format, format!("malformed {what}: {text}"))
                .hint("a name, or an object with a name and a configuration, is expected here (Zarr v3)")
        };
        match value {
            Value::String(name) => Ok(Extension { name, configuration: None, must_understand: true }),
            Value::Object(object) => {
                let name = object.get("name").and_then(Value::as_str).ok_or_else(malformed)?;
                let configuration = match object.get("configuration") {
                    None | Some(Value::Null) => None,
                    Some(Value::Object(c)) => Some(c),
                    Some(_) => return Err(malformed()),
                };
                let must_understand = match object.get("must_understand") {
                    None => true,
                    Some(flag) => flag.as_bool().ok_or_else(malformed)?,
                };
                Ok(Extension { name, configuration, must_understand })
            }
            _ => Err(malformed()),
        }
    }

    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.configuration.and_then(|c| c.get(key)).filter(|v| !v.is_null())
    }
}

/// The error for an unknown extension.
pub(crate) fn unsupported(what: &str, name: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{what} {name:?} is not known"))
        .hint("it may need a newer icecore; docs/format.md lists what this one reads")
}

fn missing(ext: &Extension, key: &str, expected: &str) -> Error {
    let found = ext.get(key).map_or("nothing".to_string(), |v| v.to_string().chars().take(60).collect());
    Error::new(ErrorKind::Format, format!("{}: {key} is {found}, expected {expected}", ext.name))
        .hint("docs/format.md lists each codec's configuration")
}

/// Rejects settings that the codec's definition does not have.
pub(crate) fn only_keys(ext: &Extension, allowed: &[&str]) -> Result<()> {
    let strange = ext.configuration.and_then(|c| c.keys().find(|key| !allowed.contains(&key.as_str())));
    match strange {
        None => Ok(()),
        Some(key) => Err(Error::new(ErrorKind::Format, format!("{}: no setting {key:?} is defined", ext.name))
            .hint(format!("it has {}", allowed.join(", ")))),
    }
}

/// A required non-negative integer of the configuration.
pub(crate) fn config_u64(ext: &Extension, key: &str) -> Result<u64> {
    ext.get(key).and_then(Value::as_u64).ok_or_else(|| missing(ext, key, "a non-negative integer"))
}

/// A required integer of the configuration.
pub(crate) fn config_i64(ext: &Extension, key: &str) -> Result<i64> {
    ext.get(key).and_then(Value::as_i64).ok_or_else(|| missing(ext, key, "an integer"))
}

/// A required string of the configuration.
pub(crate) fn config_str<'a>(ext: &Extension<'a>, key: &str) -> Result<&'a str> {
    ext.get(key).and_then(Value::as_str).ok_or_else(|| missing(ext, key, "a string"))
}

/// An optional string of the configuration.
pub(crate) fn config_str_or<'a>(ext: &Extension<'a>, key: &str, default: &'a str) -> Result<&'a str> {
    match ext.get(key) {
        None => Ok(default),
        Some(v) => v.as_str().ok_or_else(|| missing(ext, key, "a string")),
    }
}

/// An optional integer of the configuration.
pub(crate) fn config_i64_or(ext: &Extension, key: &str, default: i64) -> Result<i64> {
    match ext.get(key) {
        None => Ok(default),
        Some(v) => v.as_i64().ok_or_else(|| missing(ext, key, "an integer")),
    }
}

/// An optional flag of the configuration.
pub(crate) fn config_bool_or(ext: &Extension, key: &str, default: bool) -> Result<bool> {
    match ext.get(key) {
        None => Ok(default),
        Some(v) => v.as_bool().ok_or_else(|| missing(ext, key, "true or false")),
    }
}

/// A required list of non-negative integers.
pub(crate) fn config_list(ext: &Extension, key: &str) -> Result<Vec<u64>> {
    ext.get(key).and_then(u64_list).ok_or_else(|| missing(ext, key, "a list of non-negative integers"))
}

pub(crate) fn u64_list(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}
