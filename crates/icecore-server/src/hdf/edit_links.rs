//! Create and remove links.

use axum::body::Bytes;
use axum::extract::{Path, State as Extract};
use serde_json::{Map, Value, json};

use super::edit::edited;
use super::reply;
use crate::app::App;
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;

/// Parses a link of a request.
pub(super) fn link(given: &Value) -> Answer<Value> {
    let text = |name: &str| given.get(name).and_then(Value::as_str);
    let mut link = match (text("id"), text("h5path"), text("h5domain").or_else(|| text("file"))) {
        (Some(id), _, _) => json!({"class": "H5L_TYPE_HARD", "id": id}),
        (None, Some(path), None) => json!({"class": "H5L_TYPE_SOFT", "h5path": path}),
        // Older clients read `file`, newer ones `h5domain`.
        (None, Some(path), Some(file)) => {
            json!({"class": "H5L_TYPE_EXTERNAL", "h5path": path, "file": file, "h5domain": file})
        }
        (None, None, _) => {
            return Err(Failure::invalid("a link has neither id nor h5path", "give the id of an object, or a path"));
        }
    };
    if let Some(created) = given.get("created").filter(|created| created.is_number()) {
        link["created"] = created.clone();
    }
    Ok(link)
}

/// Creates links of one group, or of several: `{"links": {…}}`, `{"grp_ids": {ID: {"links": {…}}}}`.
pub(super) async fn put_all(Extract(app): Extract<App>, Path(id): Path<String>, params: Params, body: Bytes) -> Answer {
    edited(app, params, "create", move |state, _| {
        let body = reply::object_body(&body)?;
        let object = |value: Option<&Value>| value.and_then(Value::as_object).cloned();
        let groups = object(body.get("grp_ids")).or_else(|| object(body.get("group_ids")));
        let groups = match groups {
            Some(groups) => groups,
            None => {
                let links = object(body.get("links"));
                let links =
                    links.ok_or_else(|| Failure::invalid("there are no links", "send {\"links\": {TITLE: {…}}}"))?;
                Map::from_iter([(id.clone(), json!({"links": links}))])
            }
        };
        for (group, links) in groups {
            for (title, given) in links.get("links").and_then(Value::as_object).into_iter().flatten() {
                state.link(&group, title, link(given)?)?;
            }
        }
        Ok(())
    })
    .await?;
    Ok(reply::created(&json!({"hrefs": []})))
}

pub(super) async fn put(
    Extract(app): Extract<App>,
    Path((id, title)): Path<(String, String)>,
    params: Params,
    body: Bytes,
) -> Answer {
    edited(app, params, "create", move |state, _| {
        let body = Value::from(reply::object_body(&body)?);
        state.link(&id, &title, link(&body)?)
    })
    .await?;
    Ok(reply::created(&json!({"hrefs": []})))
}

pub(super) async fn delete(
    Extract(app): Extract<App>,
    Path((id, title)): Path<(String, String)>,
    params: Params,
) -> Answer {
    edited(app, params, "delete", move |state, _| state.unlink(&id, &title)).await?;
    Ok(reply::plain(json!({"hrefs": []}).to_string()))
}

/// Removes the links `titles=A/B`.
pub(super) async fn delete_all(Extract(app): Extract<App>, Path(id): Path<String>, params: Params) -> Answer {
    edited(app, params, "delete", move |state, params| {
        let titles = params.get("titles").filter(|titles| !titles.is_empty());
        let titles = titles.ok_or_else(|| Failure::invalid("there are no titles", "?titles=A/B names the links"))?;
        let separator = params.get("separator").filter(|separator| !separator.is_empty()).unwrap_or("/");
        titles.split(separator).try_for_each(|title| state.unlink(&id, title))
    })
    .await?;
    Ok(reply::plain(json!({"hrefs": []}).to_string()))
}
