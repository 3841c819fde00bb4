//! Create and delete groups, datasets and committed types.

use axum::body::Bytes;
use axum::extract::{Path, State as Extract};
use axum::http::Uri;
use serde_json::{Map, Value, json};

use super::edit::{edited, resolved};
use super::{collection, reply};
use crate::app::App;
use crate::domains::Collection;
use crate::hdf5::{creation, incoming, initializer, types_parse};
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;
use crate::live::{Places, State};
use icecore::cancel;
use icecore::session::Picks;

/// The collection of a request's path.
fn kind_of(uri: &Uri) -> Answer<Collection> {
    collection(uri.path().split('/').nth(1).unwrap_or_default())
}

/// Creates one object, or all objects of a list.
pub(super) async fn post(Extract(app): Extract<App>, uri: Uri, params: Params, body: Bytes) -> Answer {
    let kind = kind_of(&uri)?;
    let made = edited(app, params, "create", move |state, params| {
        let body = match body.is_empty() {
            true => json!({}),
            false => reply::json_body(&body)?,
        };
        let body = match params.get("h5path") {
            Some(path) => placed(body, path, params)?,
            None => body,
        };
        match body {
            Value::Array(items) => {
                let made: Answer<Vec<Value>> = items.into_iter().map(|item| one(state, kind, item)).collect();
                Ok(json!({"objects": made?, "hrefs": []}))
            }
            item => one(state, kind, item),
        }
    })
    .await?;
    Ok(reply::created(&made))
}

/// The body with the path of the URL.
fn placed(body: Value, path: &str, params: &Params) -> Answer<Value> {
    let Value::Object(mut body) = body else {
        return Err(Failure::invalid("a list of objects has no one path", "give each object its h5path"));
    };
    body.insert("h5path".to_owned(), json!(path));
    if let Some(base) = params.get("grpid").or_else(|| params.get("parent_id")) {
        body.insert("parent_id".to_owned(), json!(base));
    }
    Ok(Value::Object(body))
}

/// The group and the title of the link that a new object gets by its path.
fn titled(state: &State, path: &str, base: Option<&str>) -> Answer<(String, String)> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let Some((title, above)) = parts.split_last() else {
        return Err(Failure::invalid(format!("h5path={path} names no new object"), "for example h5path=/group/name"));
    };
    let root = state.model.root.as_str();
    let mut group = if path.starts_with('/') { root } else { base.unwrap_or(root) };
    for part in above {
        let object = state.model.object(Collection::Groups, group)?;
        let next = object.links.get(*part).and_then(|link| link.get("id")).and_then(Value::as_str);
        group = next.filter(|id| id.starts_with('g')).ok_or_else(|| {
            Failure::missing(format!("h5path={path}: there is no group {part}"), "create the groups above it first")
        })?;
    }
    if state.model.object(Collection::Groups, group)?.links.contains_key(*title) {
        let message = format!("h5path={path}: the group has a link {title} already");
        let error = icecore::grid::Error::new(icecore::grid::ErrorKind::Exists, message);
        return Err(error.hint("choose another name, or remove the link").into());
    }
    Ok((group.to_owned(), (*title).to_owned()))
}

fn one(state: &mut State, kind: Collection, item: Value) -> Answer<Value> {
    cancel::check()?;
    let Value::Object(body) = item else {
        return Err(Failure::invalid("the body is not a JSON object", "send {…}, or a list of them"));
    };
    let place = body.get("h5path").and_then(Value::as_str);
    let base = body.get("parent_id").and_then(Value::as_str);
    let place = place.map(|path| titled(state, path, base)).transpose()?;
    let metadata = match kind {
        Collection::Groups => properties(&body),
        Collection::Datatypes => {
            let kind =
                body.get("type").ok_or_else(|| Failure::invalid("there is no type", "give the type to commit"))?;
            let kind = resolved(state, kind)?;
            types_parse::parse(&kind)?;
            let mut metadata = properties(&body);
            metadata.insert("type".to_owned(), types_parse::spelled(&kind));
            metadata
        }
        Collection::Datasets => {
            let kind =
                body.get("type").ok_or_else(|| Failure::invalid("there is no type", "for example H5T_STD_I32LE"))?;
            creation::metadata(&body, &resolved(state, kind)?)?
        }
    };
    let id = state.add(kind, body.get("id").and_then(Value::as_str), metadata)?;
    if let Some(link) = body.get("link").and_then(Value::as_object).filter(|link| !link.is_empty()) {
        let text = |name: &str| link.get(name).and_then(Value::as_str);
        if let Some(title) = text("name") {
            let root = state.model.root.clone();
            let link = json!({"class": "H5L_TYPE_HARD", "id": id});
            state.link(text("id").unwrap_or(&root), title, link)?;
        }
    }
    if let Some((group, title)) = place {
        state.link(&group, &title, json!({"class": "H5L_TYPE_HARD", "id": id}))?;
    }
    if let Some(attributes) = body.get("attributes").and_then(Value::as_object) {
        for (name, attribute) in attributes {
            super::edit_attributes::set(state, kind, &id, name, attribute, true)?;
        }
    }
    if let Some(links) = body.get("links").and_then(Value::as_object) {
        for (title, link) in links {
            state.link(&id, title, super::edit_links::link(link)?)?;
        }
    }
    if kind == Collection::Datasets {
        initial(state, &id, body.get("value").filter(|value| !value.is_null()))?;
    }
    let object = state.model.object(kind, &id)?;
    let mut out =
        object.json(&state.model, "", crate::domains::Include { attributes: false, links: false, path: false });
    out.shift_remove("domain");
    out.insert("hrefs".to_owned(), json!([]));
    Ok(out.into())
}

fn properties(body: &Map<String, Value>) -> Map<String, Value> {
    let properties = body.get("creationProperties").filter(|value| value.is_object()).cloned();
    properties.map(|value| Map::from_iter([("creationProperties".to_owned(), value)])).unwrap_or_default()
}

/// Writes the elements that came with a new dataset, or that its initializer makes.
fn initial(state: &mut State, id: &str, value: Option<&Value>) -> Answer<()> {
    let object = state.model.object(Collection::Datasets, id)?;
    let parsed = types_parse::parse(object.metadata.get("type").unwrap_or(&Value::Null))?;
    let dims: Vec<u64> = object
        .metadata
        .get("shape")
        .and_then(|shape| shape.get("dims"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_u64)
        .collect();
    let made = match value {
        Some(value) => {
            let mut bytes = Vec::new();
            Some((incoming::from_json(value, dims.len(), &parsed.h5, parsed.big, &mut bytes)?, bytes))
        }
        None => initializer::initial(&object.metadata, &parsed.h5, parsed.big, &dims)?,
    };
    let Some((count, bytes)) = made else { return Ok(()) };
    if Some(count) != dims.iter().try_fold(1_u64, |all, n| all.checked_mul(*n)) {
        return Err(Failure::invalid(
            format!("the value has {count} elements, the shape is {dims:?}"),
            "send all elements",
        ));
    }
    let elements = incoming::elements(&bytes, &parsed.h5, parsed.big)?;
    let path = state.placed_path(id)?;
    Ok(state.write(&path, &Places::Picks(Picks::all(&dims)), &elements)?)
}

/// Deletes an object and the links to it.
pub(super) async fn delete(Extract(app): Extract<App>, Path(id): Path<String>, uri: Uri, params: Params) -> Answer {
    let kind = kind_of(&uri)?;
    edited(app, params, "delete", move |state, _| {
        state.model.object(kind, &id)?;
        state.delete(&id)
    })
    .await?;
    Ok(reply::plain(json!({"hrefs": []}).to_string()))
}
