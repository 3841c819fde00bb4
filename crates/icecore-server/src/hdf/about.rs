//! Information about the service.

use axum::extract::State;
use axum::response::Response;
use serde_json::{Value, json};

use super::reply::plain;
use crate::app::App;
use crate::http::caller::Caller;
use crate::http::params::Params;

/// The HSDS version whose API is implemented; clients check it.
const HSDS: &str = "1.0.2";

fn about(app: &App, caller: &Caller) -> Value {
    let mode = if app.config.writable { "" } else { ", read-only" };
    json!({
        "start_time": app.started as u64,
        "state": "READY",
        "hsds_version": HSDS,
        "name": "icecore",
        "greeting": "icecore serves Zarr v3 repositories as HDF5",
        "about": format!("icecore {}{mode}", env!("CARGO_PKG_VERSION")),
        "node_count": 1,
        "dn_urls": [],
        "dn_ids": [],
        "username": caller.name,
        "isadmin": caller.is_admin(),
    })
}

pub(super) async fn get(State(app): State<App>, params: Params) -> Response {
    plain(about(&app, params.caller()).to_string())
}

/// The same, with the fields that monitors request.
pub(super) async fn info(State(app): State<App>, params: Params) -> Response {
    let mut body = about(&app, params.caller());
    body["node"] = json!({"id": "icecore", "type": "sn", "state": "READY", "start_time": app.started as u64});
    plain(body.to_string())
}
