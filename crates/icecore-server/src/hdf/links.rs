//! Links of a group, all or by title. Each member of a Zarr group without stored links is a hard link.

use std::collections::HashSet;

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use icecore::cancel;
use serde_json::{Map, Value, json};

use super::folders::matches;
use super::reply;
use crate::app::App;
use crate::domains::{Collection, Domain, ids};
use crate::hdf5::found::Found;
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;
use crate::http::percent::encoded;

/// A link as an item of a list.
fn item(domain: &Domain, title: &str, link: &Value) -> Value {
    let mut item = link.clone();
    item["title"] = json!(title);
    if let Some(id) = link.get("id").and_then(Value::as_str) {
        let collection = ids::collection(id).unwrap_or(Collection::Groups).name();
        item["collection"] = json!(collection);
        item["target"] = json!(format!("/{collection}/{id}?domain={}", encoded(&domain.name)));
    }
    item
}

/// The wanted links of a group in listing order: those behind `Marker`, at most `Limit`. Only these are made.
fn of(
    domain: &Domain,
    id: &str,
    params: &Params,
    is_paged: bool,
    wanted: &dyn Fn(&str) -> bool,
) -> Answer<Vec<(String, Value)>> {
    let found = Found::new(domain, Collection::Groups, id)?;
    let is_ordered = matches!(&found, Found::Object(object) if object.is_ordered());
    let is_ordered = params.get("createorder").map_or(is_ordered, |_| params.flag("createorder"));
    let mut titles = found.titles(domain);
    if !is_ordered {
        titles.sort_unstable();
    }
    titles.retain(|title| wanted(title));
    if is_paged {
        if let Some(marker) = params.get("marker").filter(|marker| !marker.is_empty()) {
            let behind = titles.iter().position(|title| *title == marker).map_or(0, |at| at + 1);
            titles.drain(..behind);
        }
        let limit = params.number("limit")?.filter(|limit| *limit > 0).unwrap_or(u64::MAX);
        titles.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    let links = titles.into_iter().map(|title| Some((title.to_owned(), found.link(domain, title)?)));
    Ok(links.flatten().collect())
}

fn listed(domain: &Domain, id: &str, params: &Params, wanted: &dyn Fn(&str) -> bool) -> Answer<Vec<Value>> {
    let list = of(domain, id, params, true, wanted)?;
    Ok(list.iter().map(|(title, link)| item(domain, title, link)).collect())
}

/// For `follow_links`: the links of all groups below a group, by id.
fn followed(domain: &Domain, id: &str, params: &Params, wanted: &dyn Fn(&str) -> bool) -> Answer<Map<String, Value>> {
    let (mut lists, mut open) = (Map::new(), vec![id.to_owned()]);
    while let Some(id) = open.pop() {
        if lists.contains_key(&id) {
            continue;
        }
        cancel::check()?;
        let all = of(domain, &id, params, false, &|_| true)?;
        let groups = all.iter().filter_map(|(_, link)| link.get("id")?.as_str()).filter(|id| id.starts_with('g'));
        open.extend(groups.map(str::to_owned));
        let list: Vec<Value> =
            all.iter().filter(|(title, _)| wanted(title)).map(|(title, link)| item(domain, title, link)).collect();
        lists.insert(id, list.into());
    }
    Ok(lists)
}

pub(super) async fn list(State(app): State<App>, Path(id): Path<String>, headers: HeaderMap, params: Params) -> Answer {
    let domain = app.domain(&params).await?;
    app.blocking(move || {
        reply::versioned(&headers, &domain, || {
            let pattern = params.get("pattern").filter(|pattern| !pattern.is_empty());
            let wanted = |title: &str| pattern.is_none_or(|pattern| matches(pattern, title));
            if params.flag("follow_links") {
                return Ok(json!({"links": followed(&domain, &id, &params, &wanted)?, "hrefs": []}));
            }
            Ok(json!({"links": listed(&domain, &id, &params, &wanted)?, "hrefs": []}))
        })
    })
    .await
}

pub(super) async fn one(
    State(app): State<App>,
    Path((id, title)): Path<(String, String)>,
    headers: HeaderMap,
    params: Params,
) -> Answer {
    let domain = app.domain(&params).await?;
    app.blocking(move || {
        reply::versioned(&headers, &domain, || {
            let link = Found::new(&domain, Collection::Groups, &id)?.link(&domain, &title).ok_or_else(|| {
                let hint = format!("GET /groups/{id}/links lists them");
                Failure::missing(format!("the group has no link {title:?}"), hint)
            })?;
            let link = item(&domain, &title, &link);
            let created = link.get("created").cloned().unwrap_or_default();
            Ok(json!({"link": link, "created": created, "lastModified": created, "hrefs": []}))
        })
    })
    .await
}

/// The links named in `{"titles": [...]}`, or in `{"group_ids": {ID: [...]}}`.
pub(super) async fn named(State(app): State<App>, Path(id): Path<String>, params: Params, body: Bytes) -> Answer {
    let domain = app.domain(&params).await?;
    app.blocking(move || {
        let body = reply::json_body(&body)?;
        let names = |value: Option<&Value>| -> Option<HashSet<String>> {
            Some(value?.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        };
        let wanted =
            |names: &Option<HashSet<String>>, title: &str| names.as_ref().is_none_or(|names| names.contains(title));
        let groups = body.get("group_ids").or_else(|| body.get("grp_ids")).and_then(Value::as_object);
        let links: Value = match groups {
            Some(groups) => {
                let mut lists = Map::new();
                for (id, value) in groups {
                    let titles = names(Some(value));
                    let list = listed(&domain, id, &params, &|title| wanted(&titles, title))?;
                    lists.insert(id.clone(), list.into());
                }
                lists.into()
            }
            None if params.flag("follow_links") => {
                let titles = names(body.get("titles"));
                followed(&domain, &id, &params, &|title| wanted(&titles, title))?.into()
            }
            None => {
                let titles = names(body.get("titles"));
                listed(&domain, &id, &params, &|title| wanted(&titles, title))?.into()
            }
        };
        Ok(reply::plain(json!({"links": links, "hrefs": []}).to_string()))
    })
    .await
}
