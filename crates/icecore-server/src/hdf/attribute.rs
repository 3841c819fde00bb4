//! Read an object's attributes, all or by name.

use std::collections::HashSet;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::collection;
use super::folders::matches;
use super::select::wants_bytes;
use super::{body, reply};
use crate::app::App;
use crate::domains::{Domain, Include};
use crate::hdf5::found::Found;
use crate::hdf5::{incoming, types_parse};
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;

/// The attributes of an object as JSON, in the order in which they are listed.
fn of(domain: &Domain, kind: &str, id: &str, params: &Params) -> Answer<Vec<(String, Value)>> {
    let collection = collection(kind)?;
    let found = Found::new(domain, collection, id)?;
    let include = Include { attributes: true, links: false, path: false };
    let mut object = found.json(domain, include)?;
    let Some(Value::Object(attributes)) = object.remove("attributes") else { return Ok(Vec::new()) };
    let mut list: Vec<(String, Value)> = attributes.into_iter().collect();
    let is_ordered = matches!(&found, Found::Object(object) if object.is_ordered());
    if !params.get("createorder").map_or(is_ordered, |_| params.flag("createorder")) {
        list.sort_by(|a, b| a.0.cmp(&b.0));
    }
    Ok(list)
}

fn item(name: &str, attribute: &Value, with_value: bool) -> Value {
    let mut item = attribute.clone();
    item["name"] = json!(name);
    if let (false, Some(item)) = (with_value, item.as_object_mut()) {
        item.remove("value");
    }
    item
}

async fn answer(
    app: App,
    params: Params,
    work: impl FnOnce(&Arc<Domain>, &Params) -> Answer + Send + 'static,
) -> Answer {
    let domain = app.domain(&params).await?;
    app.blocking(move || work(&domain, &params)).await
}

pub(super) async fn list(
    State(app): State<App>,
    Path((kind, id)): Path<(String, String)>,
    headers: HeaderMap,
    params: Params,
) -> Answer {
    answer(app, params, move |domain, params| {
        reply::versioned(&headers, domain, || {
            let mut found = of(domain, &kind, &id, params)?;
            if let Some(pattern) = params.get("pattern").filter(|pattern| !pattern.is_empty()) {
                found.retain(|(name, _)| matches(pattern, name));
            }
            if let Some(names) = params.get("attr_names") {
                let separator = params.get("separator").unwrap_or("/");
                let names: HashSet<&str> = names.split(separator).collect();
                found.retain(|(name, _)| names.contains(name.as_str()));
            }
            let page = params.page(found.iter().collect(), |(name, _)| name.as_str())?;
            let with_value = params.flag("includedata");
            let list: Vec<Value> = page.iter().map(|(name, each)| item(name, each, with_value)).collect();
            Ok(json!({"attributes": list, "hrefs": []}))
        })
    })
    .await
}

pub(super) async fn one(
    State(app): State<App>,
    Path((kind, id, name)): Path<(String, String, String)>,
    headers: HeaderMap,
    params: Params,
) -> Answer {
    answer(app, params, move |domain, params| {
        reply::versioned(&headers, domain, || {
            let attribute = found(domain, &kind, &id, &name, params)?;
            let with_value = params.get("includedata").is_none() || params.flag("includedata");
            let mut item = item(&name, &attribute, with_value);
            item["lastModified"] = json!(domain.time);
            item["hrefs"] = json!([]);
            Ok(item)
        })
    })
    .await
}

fn found(domain: &Domain, kind: &str, id: &str, name: &str, params: &Params) -> Answer<Value> {
    let found = of(domain, kind, id, params)?.into_iter().find(|(each, _)| each == name);
    found.map(|(_, attribute)| attribute).ok_or_else(|| {
        let hint = format!("GET /{kind}/{id}/attributes lists them");
        Failure::missing(format!("the object has no attribute {name:?}"), hint)
    })
}

/// The elements of an attribute, as bytes or JSON.
pub(super) async fn value(
    State(app): State<App>,
    Path((kind, id, name)): Path<(String, String, String)>,
    headers: HeaderMap,
    params: Params,
) -> Answer {
    answer(app, params, move |domain, params| {
        let attribute = found(domain, &kind, &id, &name, params)?;
        let value = attribute.get("value").unwrap_or(&Value::Null);
        if !wants_bytes(&headers) {
            return Ok(reply::plain(json!({"value": value, "hrefs": []}).to_string()));
        }
        let mut bytes = Vec::new();
        if !value.is_null() {
            let parsed = types_parse::parse(attribute.get("type").unwrap_or(&Value::Null))?;
            let rank = attribute.pointer("/shape/dims").and_then(Value::as_array).map_or(0, Vec::len);
            incoming::from_json(value, rank, &parsed.h5, parsed.big, &mut bytes)?;
        }
        Ok(body::binary(bytes))
    })
    .await
}

/// The attributes named in `{"attr_names": [...]}`.
pub(super) async fn named(
    State(app): State<App>,
    Path((kind, id)): Path<(String, String)>,
    params: Params,
    body: Bytes,
) -> Answer {
    answer(app, params, move |domain, params| {
        let body = reply::json_body(&body)?;
        let names = body.get("attr_names").and_then(Value::as_array);
        let names: Option<HashSet<&str>> = names.map(|names| names.iter().filter_map(Value::as_str).collect());
        let mut found = of(domain, &kind, &id, params)?;
        found.retain(|(name, _)| names.as_ref().is_none_or(|names| names.contains(name.as_str())));
        let with_value = params.get("includedata").is_none() || params.flag("includedata");
        let list: Vec<Value> = found.iter().map(|(name, each)| item(name, each, with_value)).collect();
        Ok(reply::plain(json!({"attributes": list, "hrefs": []}).to_string()))
    })
    .await
}
