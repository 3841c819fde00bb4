//! Parts that all changes share: the permission and the lock of a change, types by reference.

use serde_json::{Value, json};

use crate::app::App;
use crate::domains::{Collection, ids};
use crate::http::error::Answer;
use crate::http::params::Params;
use crate::live::State;

/// Runs a change of the request's domain, if its user is permitted.
pub(super) async fn edited<T: Send + 'static>(
    app: App,
    params: Params,
    action: &'static str,
    change: impl FnOnce(&mut State, &Params) -> Answer<T> + Send + 'static,
) -> Answer<T> {
    app.writable()?;
    let shared = App::clone(&app);
    app.blocking(move || {
        let live = shared.lives.live(&shared.domains, params.domain())?;
        live.edit(|state| {
            crate::hdf5::permission::check(&state.model, params.caller(), action, params.domain())?;
            change(state, &params)
        })
    })
    .await
}

/// A type; a committed type is resolved and its id kept.
pub(super) fn resolved(state: &State, kind: &Value) -> Answer<Value> {
    let id = match kind {
        Value::String(text) => Some(text.trim_start_matches("/").trim_start_matches("datatypes/")),
        Value::Object(object) if !object.contains_key("class") => object.get("id").and_then(Value::as_str),
        _ => None,
    };
    let Some(id) = id.filter(|id| ids::collection(id) == Some(Collection::Datatypes)) else { return Ok(kind.clone()) };
    let committed = state.model.object(Collection::Datatypes, id)?;
    let mut kind = committed.metadata.get("type").cloned().unwrap_or_default();
    kind["id"] = json!(id);
    Ok(kind)
}
