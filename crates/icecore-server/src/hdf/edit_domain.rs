//! Create, flush and remove domains and folders.

use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use icecore::catalog::Repo;
use icecore::grid::{Error, ErrorKind};
use serde_json::{Map, Value, json};

use super::domain::about;
use super::{folder_record, reply};
use crate::app::{App, Shared};
use crate::domains::{Address, Collection, Found, ids};
use crate::hdf5::permission::full;
use crate::http::caller::DEFAULT;
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;
use crate::unique::random;
use crate::users::is_name;

fn flag(params: &Params, body: &Map<String, Value>, name: &str) -> bool {
    let set = |value: &Value| value.as_bool().unwrap_or(value.as_u64().unwrap_or(0) != 0);
    params.flag(name) || body.get(name).is_some_and(set)
}

/// Creates a domain or folder; with `flush`, commits a domain's changes.
pub(super) async fn put(State(app): State<App>, params: Params, body: Bytes) -> Answer {
    app.writable()?;
    let shared = App::clone(&app);
    app.blocking(move || {
        let body = reply::object_body(&body)?;
        if flag(&params, &body, "flush") || flag(&params, &body, "rescan") {
            return flush(&shared, &params, flag(&params, &body, "getdnids"));
        }
        let name = params.domain();
        let address = Address::parse(name)?;
        if address.parts.is_empty() {
            return Err(Failure::invalid("the domain / exists already", "name the new domain: ?domain=/NAME"));
        }
        if shared.domains.find(&address).is_ok() {
            let message = format!("{name} exists already");
            return Err(Error::new(ErrorKind::Exists, message).hint("DELETE it first, or use another name").into());
        }
        let (path, storage) = shared.domains.place(&address)?;
        folder_record::check_above(&shared, &address, params.caller(), "create")?;
        let owner = owner(&body, &params)?;
        if flag(&params, &body, "folder") {
            return folder(&path, &owner);
        }
        domain(&shared, &params, &body, &storage, &owner)
    })
    .await
}

/// The owner of a new domain or folder: its user; `admin` may name another one.
fn owner(body: &Map<String, Value>, params: &Params) -> Answer<String> {
    let caller = params.caller();
    let owner = body.get("owner").and_then(Value::as_str).unwrap_or(&caller.name);
    if owner != caller.name && caller.is_checked && !caller.is_admin() {
        let error = Error::new(ErrorKind::Permission, format!("{:?} can't make a domain of {owner:?}", caller.name));
        return Err(error.hint("leave out the owner").into());
    }
    if owner != DEFAULT && !is_name(owner) {
        return Err(Failure::invalid(format!("the owner {owner:?}"), "a user's name"));
    }
    Ok(owner.to_owned())
}

/// `lists_nodes`: h5pyd 0.24 expects a list of HSDS's data nodes, which this service does not have.
fn flush(app: &Shared, params: &Params, lists_nodes: bool) -> Answer {
    let live = app.lives.live(&app.domains, params.domain())?;
    let domain = live.current()?;
    app.permitted(&domain, params, "update")?;
    live.commit(false)?;
    if lists_nodes {
        return Ok(reply::plain(json!({"dn_ids": []}).to_string()));
    }
    Ok(StatusCode::NO_CONTENT.into_response())
}

fn folder(path: &std::path::Path, owner: &str) -> Answer {
    std::fs::create_dir(path).map_err(|e| Error::new(ErrorKind::Io, format!("cannot create the folder: {e}")))?;
    let record = folder_record::Record::new(owner);
    record.store(path)?;
    Ok(reply::created(&record.json()))
}

fn domain(
    app: &Shared,
    params: &Params,
    body: &Map<String, Value>,
    storage: &icecore::catalog::Storage,
    owner: &str,
) -> Answer {
    let root = match body.get("root_id").and_then(Value::as_str) {
        Some(id) => {
            ids::check(Collection::Groups, id, &ids::new_root(0))?;
            id.to_owned()
        }
        None => ids::new_root(random()),
    };
    if body.get("linked_domain").is_some() {
        return Err(Error::new(ErrorKind::Unsupported, "linked_domain: a domain has objects of its own")
            .hint("link objects of other domains with external links")
            .into());
    }
    let properties = body.get("group").and_then(|group| group.get("creationProperties")).cloned();
    Repo::create(storage)?;
    app.domains.forget(params.domain());
    let live = app.lives.live(&app.domains, params.domain())?;
    live.edit(|state| {
        state.found(&root, owner, properties);
        if params.caller().is_checked || owner != DEFAULT {
            state.model.acls.insert(owner.to_owned(), full());
        }
        Ok(())
    })?;
    live.commit(false)?;
    let domain = live.current()?;
    Ok(reply::created(&about(&domain).into()))
}

/// The path of a folder.
///
/// # Errors
/// `permission` for a folder that is not in a served directory.
pub(super) fn directory(app: &Shared, address: &Address) -> Answer<std::path::PathBuf> {
    app.domains.directory(address).ok_or_else(|| {
        let message = format!("/{} is not in a served directory", address.parts.join("/"));
        Error::new(ErrorKind::Permission, message).hint("folders of served directories can be changed").into()
    })
}

/// Removes a domain with all its versions, or an empty folder.
pub(super) async fn delete(State(app): State<App>, params: Params) -> Answer {
    app.writable()?;
    let shared = App::clone(&app);
    app.blocking(move || {
        let name = params.domain();
        let address = Address::parse(name)?;
        match shared.domains.find(&address)? {
            Found::Repository { .. } | Found::File { .. } => {
                let domain = shared.lives.live(&shared.domains, name)?.current()?;
                shared.permitted(&domain, &params, "delete")?;
                shared.lives.remove(&shared.domains, name)?;
            }
            Found::Folder(members) => {
                let refused = |what: &str| Error::new(ErrorKind::Permission, format!("the folder {name} {what}"));
                let path = directory(&shared, &address)?;
                if address.parts.len() < 2 && address.parts.first().is_none_or(|first| first == "home") {
                    return Err(refused("cannot be deleted").hint("delete folders below it").into());
                }
                if !members.is_empty() {
                    let error = Error::new(ErrorKind::Conflict, format!("the folder {name} is not empty"));
                    return Err(error.hint("delete its members first").into());
                }
                folder_record::check(&shared, &address, params.caller(), "delete")?;
                folder_record::remove(&path)?;
            }
        }
        Ok(reply::plain(json!({"domain": name}).to_string()))
    })
    .await
}
