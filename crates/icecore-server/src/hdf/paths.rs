//! Objects by their paths: `h5path=` of a URL, and `POST /` with `{"h5paths": [...]}`, as HDF's REST VOL connector sends
//! it.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use icecore::cancel;
use serde_json::{Map, Value, json};

use super::reply;
use crate::app::{App, Shared};
use crate::domains::{Collection, Domain, Include, ids};
use crate::hdf5::found::{Found, root};
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;

/// Maximum number of soft and external links of a path: they may form a circle.
const MOST_LINKS: usize = 32;
/// Maximum number of paths in a request.
const MOST_PATHS: usize = 10_000;

/// A walk from a group along the parts of a path.
struct Walk<'a> {
    app: &'a Shared,
    params: &'a Params,
    /// Soft and external links that may still be followed.
    left: usize,
    /// Whether they are followed without a parameter that says so.
    follows: bool,
}

impl Walk<'_> {
    /// The object that a path leads to, and its domain.
    fn find(&mut self, domain: &Arc<Domain>, base: &str, path: &str) -> Answer<(Arc<Domain>, String)> {
        let first = if path.starts_with('/') { root(domain) } else { base };
        let (mut domain, mut id) = (Arc::clone(domain), first.to_owned());
        for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
            cancel::check()?;
            match link(&domain, &id, part, path) {
                Ok(link) => (domain, id) = self.follow(&domain, &id, &link, path)?,
                // The name of a channel: H1:X is H1/X.
                Err(missing) => {
                    let (detector, name) = part.split_once(':').ok_or(missing)?;
                    for part in [detector, name] {
                        let link = link(&domain, &id, part, path)?;
                        (domain, id) = self.follow(&domain, &id, &link, path)?;
                    }
                }
            }
        }
        Ok((domain, id))
    }

    fn follow(&mut self, domain: &Arc<Domain>, group: &str, link: &Value, path: &str) -> Answer<(Arc<Domain>, String)> {
        let text = |name: &str| link.get(name).and_then(Value::as_str);
        if let Some(id) = text("id") {
            return Ok((Arc::clone(domain), id.to_owned()));
        }
        let file = text("h5domain").or_else(|| text("file"));
        let flag = if file.is_some() { "follow_external_links" } else { "follow_soft_links" };
        if !(self.params.flag(flag) || self.follows && self.params.get(flag).is_none()) {
            return Err(missing(domain, path, &format!("it has a link that needs {flag}=1")));
        }
        self.left = self.left.checked_sub(1).ok_or_else(|| missing(domain, path, "its links form a circle"))?;
        let target = text("h5path").unwrap_or("/");
        match file {
            None => self.find(domain, group, target),
            Some(file) => {
                let other = self.app.opened_as(file, self.params)?;
                let base = root(&other).to_owned();
                self.find(&other, &base, target)
            }
        }
    }
}

fn missing(domain: &Domain, path: &str, why: &str) -> Failure {
    Failure::missing(format!("{} has no object {path}: {why}", domain.name), "GET the links of its groups")
}

fn link(domain: &Domain, group: &str, title: &str, path: &str) -> Answer<Value> {
    let none = || missing(domain, path, &format!("there is no link {title}"));
    if ids::collection(group) != Some(Collection::Groups) {
        return Err(none());
    }
    Found::new(domain, Collection::Groups, group)?.link(domain, title).ok_or_else(none)
}

/// The object that `h5path=` of a request names, and its domain; without it, the object with the id itself.
///
/// # Errors
/// `not-found`.
pub(super) fn named(app: &Shared, params: &Params, domain: Arc<Domain>, id: String) -> Answer<(Arc<Domain>, String)> {
    let Some(path) = params.get("h5path") else { return Ok((domain, id)) };
    let base = params.get("grpid").or_else(|| params.get("parent_id"));
    let base = if id.is_empty() { base.unwrap_or_else(|| root(&domain)).to_owned() } else { id };
    Walk { app, params, left: MOST_LINKS, follows: true }.find(&domain, &base, path)
}

pub(super) async fn post(State(app): State<App>, params: Params, body: Bytes) -> Answer {
    let domain = app.domain(&params).await?;
    let shared = App::clone(&app);
    app.blocking(move || {
        let body = reply::json_body(&body)?;
        let paths: Option<Vec<&str>> =
            body.get("h5paths").and_then(Value::as_array).and_then(|list| list.iter().map(Value::as_str).collect());
        let paths = paths.filter(|paths| paths.len() <= MOST_PATHS).ok_or_else(|| {
            Failure::invalid("the body has no list of paths", "send {\"h5paths\": [\"/group/dataset\"]}")
        })?;
        let base = params.get("parent_id").map_or_else(|| root(&domain).to_owned(), str::to_owned);
        let include =
            Include { attributes: params.flag("include_attrs"), links: params.flag("include_links"), path: false };
        let mut found = Map::new();
        for path in paths {
            let (owner, id) =
                Walk { app: &shared, params: &params, left: MOST_LINKS, follows: false }.find(&domain, &base, path)?;
            let collection = ids::collection(&id).unwrap_or(Collection::Groups);
            let mut object = Found::new(&owner, collection, &id)?.json(&owner, include)?;
            object.insert("domain".to_owned(), json!(owner.name));
            object.insert("class".to_owned(), json!(collection.name().trim_end_matches('s')));
            found.insert(path.to_owned(), object.into());
        }
        Ok(reply::plain(json!({"h5paths": found}).to_string()))
    })
    .await
}
