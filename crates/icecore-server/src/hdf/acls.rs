//! Access control lists: everybody reads, nobody writes.

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::reply;
use crate::app::App;
use crate::error::{Answer, Failure};
use crate::params::Params;

const DEFAULT: &str = "default";

fn acl(user: &str) -> Value {
    json!({
        "userName": user,
        "create": false, "read": true, "update": false, "delete": false, "readACL": true, "updateACL": false,
    })
}

pub(super) async fn all(State(app): State<App>, headers: HeaderMap, params: Params) -> Answer {
    let domain = app.open(params.domain()).await?;
    reply::versioned(&headers, &domain, || Ok(json!({"acls": [acl(DEFAULT)], "hrefs": []})))
}

pub(super) async fn one(
    State(app): State<App>,
    Path(user): Path<String>,
    headers: HeaderMap,
    params: Params,
) -> Answer {
    let domain = app.open(params.domain()).await?;
    if user != DEFAULT {
        return Err(Failure::missing(format!("there is no ACL for {user:?}"), "the only one is that of \"default\""));
    }
    reply::versioned(&headers, &domain, || Ok(json!({"acl": acl(DEFAULT), "hrefs": []})))
}
