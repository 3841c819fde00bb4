//! Bytes as JSON text, one character per byte (Latin-1), so that a format stays readable.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    bytes.iter().map(|b| char::from(*b)).collect::<String>().serialize(to)
}

pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(from)?;
    text.chars().map(|c| u8::try_from(u32::from(c)).map_err(|_| D::Error::custom("not a byte"))).collect()
}
