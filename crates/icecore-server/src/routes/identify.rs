//! Determine the user of a request from its credentials.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use icecore::grid::{Error, ErrorKind};

use crate::app::App;
use crate::http::caller::{Caller, DEFAULT};
use crate::http::error::{Answer, Failure};
use crate::users::{Users, basic, is_name, named};

/// What everybody may ask for: monitors and browsers without a session.
const OPEN: [&str; 4] = ["/health", "/about", "/docs", "/openapi.json"];

/// Determines the user. Without a file of users, any name is accepted and lists do not apply.
pub(crate) async fn identified(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let Some(users) = app.config.users.clone() else {
        let name = given.as_deref().and_then(|text| text.strip_prefix("Basic ")).and_then(basic).map(|(name, _)| name);
        let name = name.filter(|name| is_name(name)).unwrap_or_else(|| DEFAULT.to_owned());
        request.extensions_mut().insert(Caller { name, is_checked: false });
        return next.run(request).await;
    };
    let found = match given {
        None => None,
        Some(given) => match user(&app, users, given).await {
            Ok(found) => found,
            Err(failure) => return failure.into_response(),
        },
    };
    let is_open = OPEN.contains(&request.uri().path())
        && found.is_none()
        && !request.headers().contains_key(header::AUTHORIZATION);
    match found {
        Some(name) => request.extensions_mut().insert(Caller { name, is_checked: true }),
        None if is_open => request.extensions_mut().insert(Caller { is_checked: true, ..Caller::default() }),
        None => return unauthorized(),
    };
    next.run(request).await
}

/// The user of credentials. Those that were checked already are known at once.
async fn user(app: &App, users: Arc<Users>, given: String) -> Answer<Option<String>> {
    match users.known(&given) {
        Some(known) => Ok(known),
        None => app.checking(move || Ok(named(&users, &given))).await,
    }
}

fn unauthorized() -> Response {
    let error = Error::new(ErrorKind::Permission, "this service requires a user name and a password, or a token")
        .hint("send Authorization: Basic … or Bearer …; h5pyd takes username= and password=");
    let mut answer = Failure::new(StatusCode::UNAUTHORIZED, error).into_response();
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"icecore\""));
    answer
}
