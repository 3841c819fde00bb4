//! Links of a group, all or by title. Every member of a Zarr group is a hard link.

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use icecore::session::Node;
use serde_json::{Value, json};

use super::folders::matches;
use super::object::node;
use super::reply;
use crate::app::App;
use crate::domains::{Collection, Domain};
use crate::error::{Answer, Failure};
use crate::params::Params;

fn link(domain: &Domain, number: usize, child: &Node) -> Value {
    let collection = if child.is_array { Collection::Datasets } else { Collection::Groups }.name();
    let (id, name) = (domain.ids.get(number), reply::encoded(&domain.name));
    json!({
        "title": child.name(),
        "class": "H5L_TYPE_HARD",
        "id": id,
        "collection": collection,
        "created": domain.time,
        "target": format!("/{collection}/{id}?domain={name}"),
    })
}

/// The members of a group whose titles are wanted, sorted.
fn members<'a>(domain: &'a Domain, id: &str, wanted: impl Fn(&str) -> bool) -> Answer<Vec<(usize, &'a Node)>> {
    let group = node(domain, domain.object(Collection::Groups, id)?)?;
    Ok(domain.session.tree().children(group).filter(|(_, child)| wanted(child.name())).collect())
}

pub(super) async fn list(State(app): State<App>, Path(id): Path<String>, headers: HeaderMap, params: Params) -> Answer {
    let domain = app.domain(&params).await?;
    reply::versioned(&headers, &domain, || {
        let pattern = params.get("pattern").filter(|pattern| !pattern.is_empty());
        let found = members(&domain, &id, |title| pattern.is_none_or(|pattern| matches(pattern, title)))?;
        let page = params.page(found, |(_, child)| child.name())?;
        let links: Vec<Value> = page.into_iter().map(|(number, child)| link(&domain, number, child)).collect();
        Ok(json!({"links": links, "hrefs": []}))
    })
}

pub(super) async fn one(
    State(app): State<App>,
    Path((id, title)): Path<(String, String)>,
    headers: HeaderMap,
    params: Params,
) -> Answer {
    let domain = app.domain(&params).await?;
    reply::versioned(&headers, &domain, || {
        let found = members(&domain, &id, |each| each == title)?;
        let (number, child) = found.into_iter().next().ok_or_else(|| {
            Failure::missing(format!("the group has no link {title:?}"), format!("GET /groups/{id}/links lists them"))
        })?;
        let link = link(&domain, number, child);
        Ok(json!({"link": link, "created": domain.time, "lastModified": domain.time, "hrefs": []}))
    })
}

/// The links named in `{"titles": [...]}`.
pub(super) async fn named(State(app): State<App>, Path(id): Path<String>, params: Params, body: Bytes) -> Answer {
    let domain = app.domain(&params).await?;
    let body = reply::json_body(&body)?;
    let titles = body.get("titles").and_then(Value::as_array);
    let titles: Option<Vec<&str>> = titles.map(|titles| titles.iter().filter_map(Value::as_str).collect());
    let found = members(&domain, &id, |title| titles.as_ref().is_none_or(|titles| titles.contains(&title)))?;
    let links: Vec<Value> = found.into_iter().map(|(number, child)| link(&domain, number, child)).collect();
    Ok(reply::plain(json!({"links": links, "hrefs": []}).to_string()))
}
