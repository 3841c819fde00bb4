//! Read and set access control lists of domains and folders.

use axum::body::Bytes;
use axum::extract::{Path, State};
use serde_json::{Map, Value, json};

use super::edit::edited;
use super::edit_domain::directory;
use super::folder_record::Record;
use super::{folder_record, reply};
use crate::app::{App, Shared};
use crate::domains::{Address, Found};
use crate::hdf5::found::model;
use crate::hdf5::permission::{self, ACTIONS, full};
use crate::http::caller::DEFAULT;
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;
use crate::users::is_name;

fn acl(user: &str, list: &Value) -> Value {
    let mut out = Map::from_iter([("userName".to_owned(), json!(user))]);
    for action in ACTIONS {
        out.insert(action.to_owned(), json!(list.get(action).and_then(Value::as_bool).unwrap_or(false)));
    }
    out.into()
}

/// The lists of a domain or folder, by user. Users may read their own list and the one for all users without `readACL`.
fn lists(app: &Shared, params: &Params, user: Option<&str>) -> Answer<Map<String, Value>> {
    let address = Address::parse(params.domain())?;
    let is_own = |user: Option<&str>| user.is_some_and(|user| user == DEFAULT || user == params.caller().name);
    if let Found::Folder(_) = app.domains.find(&address)? {
        if !is_own(user) {
            folder_record::check(app, &address, params.caller(), "readACL")?;
        }
        return Ok(Record::of(app, &address).acls);
    }
    let domain = app.opened(params)?;
    if !is_own(user) {
        app.permitted(&domain, params, "readACL")?;
    }
    if let Some(model) = model(&domain)?.filter(|model| !model.acls.is_empty()) {
        return Ok(model.acls.clone());
    }
    let all = match app.config.writable && !params.caller().is_checked {
        true => full(),
        false => json!({"read": true, "readACL": true}),
    };
    Ok(Map::from_iter([(DEFAULT.to_owned(), all)]))
}

pub(super) async fn all(State(app): State<App>, params: Params) -> Answer {
    let shared = App::clone(&app);
    app.blocking(move || {
        let acls: Vec<Value> = lists(&shared, &params, None)?.iter().map(|(user, list)| acl(user, list)).collect();
        Ok(reply::plain(json!({"acls": acls, "hrefs": []}).to_string()))
    })
    .await
}

pub(super) async fn one(State(app): State<App>, Path(user): Path<String>, params: Params) -> Answer {
    let shared = App::clone(&app);
    app.blocking(move || {
        let lists = lists(&shared, &params, Some(&user))?;
        let list = lists.get(&user).ok_or_else(|| {
            let users: Vec<&str> = lists.keys().map(String::as_str).collect();
            Failure::missing(
                format!("there is no ACL for {user:?}"),
                format!("there are ACLs for: {}", users.join(", ")),
            )
        })?;
        Ok(reply::plain(json!({"acl": acl(&user, list), "hrefs": []}).to_string()))
    })
    .await
}

/// Sets the list of a user.
pub(super) async fn put(State(app): State<App>, Path(user): Path<String>, params: Params, body: Bytes) -> Answer {
    app.writable()?;
    if user != DEFAULT && !is_name(&user) {
        return Err(Failure::invalid(format!("the user's name {user:?}"), "letters, digits, '_', '-', '.' and '@'"));
    }
    let body = reply::object_body(&body)?;
    if let Some(other) = body.keys().find(|key| !ACTIONS.contains(&key.as_str()) && *key != "userName") {
        return Err(Failure::invalid(format!("the ACL has {other:?}"), format!("actions are {}", ACTIONS.join(", "))));
    }
    let shared = App::clone(&app);
    let name = params.domain().to_owned();
    let address = Address::parse(&name)?;
    let is_folder = {
        let (shared, address) = (App::clone(&shared), address.clone());
        app.blocking(move || Ok(matches!(shared.domains.find(&address)?, Found::Folder(_)))).await?
    };
    let changed = acl(&user, &Value::from(body));
    let answer = json!({"acl": changed, "hrefs": []});
    if is_folder {
        app.blocking(move || {
            let path = directory(&shared, &address)?;
            folder_record::check(&shared, &address, params.caller(), "updateACL")?;
            let mut record = Record::of(&shared, &address);
            record.acls.insert(user, changed);
            Ok(record.store(&path)?)
        })
        .await?;
    } else {
        edited(app, params, "updateACL", move |state, params| {
            permission::check(&state.model, params.caller(), "updateACL", &name)?;
            let root = state.model.root.clone();
            state.object(crate::domains::Collection::Groups, &root)?;
            state.model.acls.insert(user, changed);
            Ok(())
        })
        .await?;
    }
    Ok(reply::created(&answer))
}
