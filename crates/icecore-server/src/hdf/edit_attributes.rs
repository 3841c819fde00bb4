//! Set and remove attributes.

use axum::body::Bytes;
use axum::extract::{Path, State as Extract};
use icecore::grid::{Error, ErrorKind};
use serde_json::{Map, Value, json};

use super::edit::{edited, resolved};
use super::{collection, reply};
use crate::app::App;
use crate::domains::{Collection, ids};
use crate::hdf5::types::H5Type;
use crate::hdf5::{creation, incoming, types_parse};
use crate::http::base64::unbase64;
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;
use crate::http::size::check_size;
use crate::live::State;
use crate::unique::now;

/// An attribute in its stored form: `{type, shape, value, created}`.
fn attribute(state: &State, given: &Value) -> Answer<Value> {
    let Some(body) = given.as_object() else {
        return Err(Failure::invalid(
            "an attribute is not a JSON object",
            "send {\"type\": …, \"shape\": …, \"value\": …}",
        ));
    };
    let kind =
        body.get("type").ok_or_else(|| Failure::invalid("the attribute has no type", "for example H5T_STD_I32LE"))?;
    let kind = resolved(state, kind)?;
    let parsed = types_parse::parse(&kind)?;
    let shape = creation::shape(body)?;
    let created = body.get("created").filter(|created| created.is_number()).cloned().unwrap_or_else(|| json!(now()));
    let mut out = json!({"type": types_parse::spelled(&kind), "shape": shape, "created": created});
    if shape.get("class").and_then(Value::as_str) == Some("H5S_NULL") {
        return Ok(out);
    }
    let dims: Vec<u64> =
        shape.get("dims").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_u64).collect();
    let wanted = dims.iter().fold(1_u64, |all, n| all.saturating_mul(*n));
    check_size(wanted, 1, MOST)?;
    check_size(wanted, parsed.h5.size(), LARGEST)?;
    let value = match body.get("value").filter(|value| !value.is_null()) {
        None => nothing(&parsed.h5, &dims),
        Some(Value::String(text)) if body.get("encoding").and_then(Value::as_str) == Some("base64") => {
            decoded(text, &parsed, &dims)?
        }
        Some(value) => {
            let count = incoming::from_json(value, dims.len(), &parsed.h5, parsed.big, &mut Vec::new())?;
            if count != wanted {
                let message = format!("the attribute's value has {count} elements, its shape is {dims:?}");
                return Err(Failure::invalid(message, "send all elements, nested as the shape says"));
            }
            value.clone()
        }
    };
    out["value"] = value;
    Ok(out)
}

/// Maximum number of elements of an attribute, and their bytes: they are stored as JSON.
const MOST: u64 = 1 << 20;
const LARGEST: u64 = 32 << 20;

/// The default value of elements: zeros.
fn nothing(h5: &H5Type, dims: &[u64]) -> Value {
    let mut bytes = Vec::new();
    (0..dims.iter().product::<u64>()).for_each(|_| incoming::nothing(h5, &mut bytes));
    crate::hdf5::text::json(&bytes, h5, dims).unwrap_or_default()
}

fn decoded(text: &str, parsed: &types_parse::Parsed, dims: &[u64]) -> Answer<Value> {
    let bytes = unbase64(text)
        .ok_or_else(|| Failure::invalid("the value is not base64", "send the elements' bytes as base64"))?;
    if parsed.big {
        return Err(Error::new(ErrorKind::Unsupported, "big-endian values as base64").hint("send them as JSON").into());
    }
    Ok(crate::hdf5::text::json(&bytes, &parsed.h5, dims)?)
}

/// Sets an attribute.
pub(super) fn set(
    state: &mut State,
    kind: Collection,
    id: &str,
    name: &str,
    given: &Value,
    replaces: bool,
) -> Answer<bool> {
    let attribute = attribute(state, given)?;
    let object = state.object(kind, id)?;
    let is_new = !object.attributes.contains_key(name);
    if !is_new && !replaces {
        return Err(Error::new(ErrorKind::Exists, format!("the object has an attribute {name:?} already"))
            .hint("replace it with ?replace=1")
            .into());
    }
    object.attributes.insert(name.to_owned(), attribute);
    Ok(is_new)
}

pub(super) async fn put(
    Extract(app): Extract<App>,
    Path((kind, id, name)): Path<(String, String, String)>,
    params: Params,
    body: Bytes,
) -> Answer {
    let kind = collection(&kind)?;
    let is_new = edited(app, params, "update", move |state, params| {
        let body = Value::from(reply::object_body(&body)?);
        set(state, kind, &id, &name, &body, params.flag("replace"))
    })
    .await?;
    let body = json!({"hrefs": []});
    Ok(if is_new { reply::created(&body) } else { reply::plain(body.to_string()) })
}

/// Sets attributes of one object, or of several: `{"attributes": {…}}`, `{"obj_ids": {ID: {"attributes": {…}}}}`.
pub(super) async fn put_all(
    Extract(app): Extract<App>,
    Path((kind, id)): Path<(String, String)>,
    params: Params,
    body: Bytes,
) -> Answer {
    collection(&kind)?;
    edited(app, params, "update", move |state, params| {
        let body = reply::object_body(&body)?;
        // A list of objects replaces existing attributes: its client keeps all attributes itself.
        let replaces = params.flag("replace") || body.contains_key("obj_ids");
        let objects = match body.get("obj_ids").and_then(Value::as_object) {
            Some(objects) => objects.clone(),
            None => {
                let attributes = body.get("attributes").filter(|attributes| attributes.is_object());
                let attributes = attributes
                    .ok_or_else(|| Failure::invalid("there are no attributes", "send {\"attributes\": {NAME: {…}}}"))?;
                Map::from_iter([(id.clone(), json!({"attributes": attributes}))])
            }
        };
        for (id, attributes) in objects {
            let kind = ids::collection(&id).unwrap_or(Collection::Groups);
            for (name, given) in attributes.get("attributes").and_then(Value::as_object).into_iter().flatten() {
                set(state, kind, &id, name, given, replaces)?;
            }
        }
        Ok(())
    })
    .await?;
    Ok(reply::created(&json!({"hrefs": []})))
}

fn remove(state: &mut State, kind: Collection, id: &str, name: &str) -> Answer<()> {
    let removed = state.object(kind, id)?.attributes.shift_remove(name);
    removed
        .map(|_| ())
        .ok_or_else(|| Failure::missing(format!("the object has no attribute {name:?}"), "GET its attributes"))
}

pub(super) async fn delete(
    Extract(app): Extract<App>,
    Path((kind, id, name)): Path<(String, String, String)>,
    params: Params,
) -> Answer {
    let kind = collection(&kind)?;
    edited(app, params, "update", move |state, _| remove(state, kind, &id, &name)).await?;
    Ok(reply::plain(json!({"hrefs": []}).to_string()))
}

/// Removes the attributes `attr_names=A/B`.
pub(super) async fn delete_all(
    Extract(app): Extract<App>,
    Path((kind, id)): Path<(String, String)>,
    params: Params,
) -> Answer {
    let kind = collection(&kind)?;
    edited(app, params, "update", move |state, params| {
        let names = params.get("attr_names").filter(|names| !names.is_empty());
        let names =
            names.ok_or_else(|| Failure::invalid("there are no attr_names", "?attr_names=A/B names the attributes"))?;
        let separator = params.get("separator").filter(|separator| !separator.is_empty()).unwrap_or("/");
        names.split(separator).try_for_each(|name| remove(state, kind, &id, name))
    })
    .await?;
    Ok(reply::plain(json!({"hrefs": []}).to_string()))
}
