//! Health and metrics. The health check reads a chunk, so it proves more than that the process runs.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use icecore::grid::{Error, ErrorKind, Result};
use icecore::session::{Pick, Picks};
use serde_json::{Value, json};

use crate::app::{App, Shared};
use crate::http::error::Answer;
use crate::http::json;

pub(crate) async fn metrics(State(app): State<App>) -> Response {
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    ([(header::CONTENT_TYPE, kind)], app.metrics.text(app.domains.count())).into_response()
}

/// Maximum number of folders that are searched for a repository.
const DEEPEST: usize = 4;

/// Time for which a result holds: a check reads a chunk, and anybody may ask for it.
const FRESH: Duration = Duration::from_secs(1);

pub(crate) async fn health(State(app): State<App>) -> Answer {
    let known = |app: &App| {
        let last = app.health.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|(at, _)| at.elapsed() < FRESH).map(|(_, body)| json::plain(body.to_string()))
    };
    if let Some(answer) = known(&app) {
        return Ok(answer);
    }
    let shared = App::clone(&app);
    let is_open = app.config.users.is_none();
    let checked = app.blocking(move || {
        if let Some(answer) = known(&shared) {
            return Ok(answer);
        }
        let begun = Instant::now();
        let mut names = Vec::new();
        some(&shared, "/", DEEPEST, &mut names)?;
        // A file that can't be read says little about the service: an element of another one will do.
        let mut results = names.iter().map(|name| checked(&shared, name));
        let first = results.next().unwrap_or_else(|| Ok(json!({"domain": null})));
        let mut others = results.filter_map(Result::ok).filter(|body| body["array"].is_string());
        let mut body = first.or_else(|error| others.next().ok_or(error))?;
        if !is_open {
            // Names are for users only.
            body = json!({});
        }
        body["status"] = json!("ok");
        body["seconds"] = json!(begun.elapsed().as_secs_f64());
        *shared.health.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), body.clone()));
        Ok(json::plain(body.to_string()))
    });
    checked.await.map_err(|failure| match is_open {
        true => failure,
        false => {
            eprintln!("icecore: error: health: {failure}");
            Error::new(ErrorKind::Io, "a chunk can't be read").hint("its reason is in the service's log").into()
        }
    })
}

/// Maximum number of domains that a check tries.
const MOST: usize = 8;

/// The first served repositories and files.
fn some(app: &Shared, folder: &str, depth: usize, found: &mut Vec<String>) -> Result<()> {
    let Some(members) = app.domains.folder(folder)? else {
        found.push(folder.to_owned());
        return Ok(());
    };
    for member in members {
        let name = format!("{}/{}", folder.trim_end_matches('/'), member.name);
        if found.len() >= MOST {
            break;
        }
        if member.is_repository {
            found.push(name);
        } else if depth > 0 {
            some(app, &name, depth - 1, found)?;
        }
    }
    Ok(())
}

/// Reads one element, and thereby a chunk, of the domain's first non-empty array, bypassing the cache of chunks.
fn checked(app: &Shared, name: &str) -> Result<Value> {
    let failed = |e: Error| Error::new(ErrorKind::Io, format!("{name}: {}", e.message)).hint(e.hint.clone());
    let domain = app.domains.open(name).map_err(failed)?;
    for node in domain.session.tree().nodes().iter().filter(|node| node.is_array) {
        let Ok(view) = domain.session.array(&node.path) else { continue };
        let shape = &view.meta().shape;
        if shape.contains(&0) {
            continue;
        }
        let mut picks = Picks::all(shape);
        picks.axes.fill(Pick::Range { start: 0, step: 1, count: 1 });
        domain.session.read(&view, &picks).map_err(failed)?;
        return Ok(json!({"domain": name, "array": node.path}));
    }
    Ok(json!({"domain": name}))
}
