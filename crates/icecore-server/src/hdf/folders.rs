//! Folders: lists of domains and folders.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};

use super::reply::plain;
use super::{domain, folder_record};
use crate::app::{App, Shared};
use crate::domains::{Address, Entry};
use crate::hdf5::found::{model, root};
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;
use crate::http::private::hidden;

/// The members of a folder; for a repository, the repository itself, or nothing if the name ends with a slash.
pub(super) async fn get(State(app): State<App>, params: Params) -> Answer<Response> {
    let shared = Arc::clone(&app);
    app.blocking(move || {
        let name = params.domain();
        let Some(members) = shared.domains.folder(name)? else {
            let items = match name.ends_with('/') {
                true => Vec::new(),
                false => vec![described(&shared, &params, name, true, true)?],
            };
            return Ok(plain(json!({"domains": items, "hrefs": []}).to_string()));
        };
        if params.caller().is_checked {
            folder_record::check(&shared, &Address::parse(name)?, params.caller(), "read")?;
        }
        let pattern = params.get("pattern").filter(|pattern| !pattern.is_empty());
        let prefix = name.trim_end_matches('/');
        let named: Vec<(String, Entry)> =
            members.into_iter().map(|entry| (format!("{prefix}/{}", entry.name), entry)).collect();
        let wanted = named.iter().filter(|(_, entry)| pattern.is_none_or(|pattern| matches(pattern, &entry.name)));
        let page = params.page(wanted.collect(), |(name, _)| name.as_str())?;
        let verbose = params.flag("verbose");
        let list: Answer<Vec<Value>> = page
            .into_iter()
            .map(|(name, entry)| described(&shared, &params, name, entry.is_repository, verbose))
            .collect();
        Ok(plain(json!({"domains": list?, "hrefs": []}).to_string()))
    })
    .await
}

fn described(app: &Shared, params: &Params, name: &str, is_repository: bool, verbose: bool) -> Answer<Value> {
    if !is_repository {
        let mut item = domain::folder(app, name)?;
        item["name"] = json!(name);
        return Ok(item);
    }
    let time = changed(app, name).unwrap_or(app.started);
    let mut item = json!({"name": name, "class": "domain", "owner": "icecore", "created": time, "lastModified": time});
    if !verbose && let Some(owner) = owner(app, name) {
        item["owner"] = json!(owner);
    }
    if verbose {
        // A repository that cannot be opened must not hide the others.
        match app.domains.open(name).map_err(Failure::from).and_then(|domain| {
            app.readable(&domain, params)?;
            Ok(domain)
        }) {
            Ok(domain) => {
                let model = model(&domain)?;
                item["root"] = json!(root(&domain));
                item["owner"] = json!(model.map_or("icecore", |model| &model.owner));
                item["created"] = json!(model.map_or(domain.time, |model| model.created));
                item["lastModified"] = json!(domain.time);
                for (key, value) in domain::counts(&domain)?.iter() {
                    item[key] = value.clone();
                }
            }
            Err(error) => item["error"] = json!(hidden(&error.to_string())),
        }
    }
    Ok(item)
}

/// The owner of a repository, where clients can have made it. A file is not indexed for it.
fn owner(app: &Shared, name: &str) -> Option<String> {
    let has_owners = app.config.writable || app.config.users.is_some();
    if !has_owners || !app.domains.is_repository(name).ok()? {
        return None;
    }
    let domain = app.domains.open(name).ok()?;
    model(&domain).ok()?.map(|model| model.owner.clone())
}

/// When a repository or file in a served directory last changed, in seconds since 1970; without opening it.
fn changed(app: &Shared, name: &str) -> Option<f64> {
    let (path, _) = app.domains.place(&Address::parse(name).ok()?).ok()?;
    let head = path.join("repo");
    let place = if head.is_file() { head } else { path };
    let modified = std::fs::metadata(place).ok()?.modified().ok()?;
    modified.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs_f64())
}

/// Shell patterns with `*` and `?`.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n, mut back) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                back = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || name.get(n) == Some(c) => (p, n) = (p + 1, n + 1),
            _ => match back {
                Some((star, from)) => {
                    back = Some((star, from + 1));
                    (p, n) = (star + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns() {
        for (pattern, name, hit) in [
            ("*", "a", true),
            ("a*c", "abbc", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*.h5", "x.h5", true),
            ("*.h5", "x.h", false),
            ("", "", true),
        ] {
            assert_eq!(matches(pattern, name), hit, "{pattern} {name}");
        }
    }
}
