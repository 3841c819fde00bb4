//! OPeNDAP at `/dap/REPOSITORY[@VERSION][/GROUP].SUFFIX`: any program that links netCDF-C reads it as a file.
//!
//! `describe` makes the `model` of a version; `constraint` parses what a client asks for and `project` finds it in the
//! model. `dds`, `das` write DAP2's documents, `send` its elements (`source`, `element`) and rows (`rows`, `row_blocks`), `ascii`
//! and `page` the forms for people.
//! `catalog` lists what is served (`coverage`: where and when).
//! DAP4 has `constraint4`, `scope` (dimensions of groups), `dmr` and `dap4`.

mod ascii;
mod attribute;
mod catalog;
mod constraint;
mod constraint4;
mod coverage;
mod dap4;
mod das;
mod dds;
mod describe;
mod dmr;
mod element;
mod model;
mod page;
mod project;
mod row_blocks;
mod rows;
mod scope;
mod send;
mod source;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use icecore::grid::Result;

use crate::app::App;
use crate::domains::Domain;
use crate::http::caller::Caller;
use crate::http::error::{Answer, Failure};
use crate::http::etag;
use crate::http::params::Params;
use crate::stream::{self, Blocks};
use constraint::Constraint;
use describe::described;
use scope::Scopes;
use source::Source;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/dap/{*key}", get(answer)).route("/thredds/{*key}", get(catalog::answer))
}

/// What a request asks for, by the ending of its path.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Dds,
    Das,
    Dods,
    Ascii,
    Version,
    Info,
    Html,
    Dmr,
    Dap,
}

const FORMS: [(&str, Form); 11] = [
    (".dds", Form::Dds),
    (".das", Form::Das),
    (".dods", Form::Dods),
    (".ascii", Form::Ascii),
    (".asc", Form::Ascii),
    (".ver", Form::Version),
    (".info", Form::Info),
    (".html", Form::Html),
    (".dmr", Form::Dmr),
    (".dmr.xml", Form::Dmr),
    (".dap", Form::Dap),
];

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const DMR: &str = "application/vnd.opendap.dap4.dataset-metadata+xml";
pub(crate) const DAP: &str = "application/vnd.opendap.dap4.data";
const ERROR: &str = "application/vnd.opendap.dap4.error+xml";
const BYTES: &str = "application/octet-stream";

impl Form {
    /// The domain and the form of a path; a path without an ending is a page.
    fn of(key: &str) -> (&str, Self) {
        FORMS.iter().find_map(|(suffix, form)| Some((key.strip_suffix(suffix)?, *form))).unwrap_or((key, Self::Html))
    }

    /// Content type and description.
    fn headers(self) -> (&'static str, &'static str) {
        match self {
            Self::Dds => (TEXT, "dods_dds"),
            Self::Das => (TEXT, "dods_das"),
            Self::Dods => (BYTES, "dods_data"),
            Self::Ascii => (TEXT, "dods_ascii"),
            Self::Version => (TEXT, "dods_version"),
            Self::Dmr => (DMR, "dap4_dmr"),
            Self::Dap => (DAP, "dap4_data"),
            Self::Info | Self::Html => (HTML, "dods_description"),
        }
    }
}

async fn answer(
    State(app): State<App>,
    Path(key): Path<String>,
    caller: Option<Extension<Caller>>,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let (name, form) = Form::of(&key);
    let caller = caller.map(|Extension(caller)| caller).unwrap_or_default();
    let made = made(app, format!("/{}", name.trim_matches('/')), form, caller, &headers, uri.query()).await;
    made.unwrap_or_else(|failure| refused(failure, form))
}

async fn made(app: App, name: String, form: Form, caller: Caller, headers: &HeaderMap, query: Option<&str>) -> Answer {
    let (kind, description) = form.headers();
    if form == Form::Version {
        let text = format!("Core version: DAP/2.0\nServer version: icecore/{}\n", env!("CARGO_PKG_VERSION"));
        return Ok(with_headers(Body::from(text), kind, description));
    }
    let query = query.unwrap_or_default().to_owned();
    let domain = opened(&app, name, caller).await?;
    let tag = etag::tag(&domain.tag, &format!("dap-{form:?}"));
    if let Some(same) = etag::unchanged(headers, &tag) {
        return Ok(same);
    }
    let shared = App::clone(&app);
    let (blocks, length) = app.blocking(move || body(shared, domain, form, &query)).await?;
    let body = stream::body(&app, blocks, length).await?;
    Ok(etag::with(with_headers(body, kind, description), &tag))
}

/// The domain of a name, which the caller may read.
async fn opened(app: &App, name: String, caller: Caller) -> Answer<Arc<Domain>> {
    if !app.config.writable
        && !caller.is_checked
        && let Some(domain) = app.domains.known(&name)
    {
        return Ok(domain);
    }
    let (shared, params) = (App::clone(app), Params::of(caller));
    app.blocking(move || shared.opened_as(&name, &params)).await
}

fn body(app: App, domain: Arc<Domain>, form: Form, query: &str) -> Answer<(Blocks, Option<u64>)> {
    let dataset = described(&domain)?;
    let whole = |key: &str, make: &dyn Fn() -> Result<String>| {
        let text: Bytes = domain.texts.get(key, || make().map(Bytes::from))?;
        Answer::Ok(text)
    };
    let text = match form {
        Form::Das => whole("dap:das", &|| Ok(das::das(&dataset)))?,
        Form::Html => whole("dap:html", &|| Ok(page::html(&dataset)))?,
        Form::Info => whole("dap:info", &|| Ok(page::info(&dataset, &items(&dataset, "")?)))?,
        Form::Dds if query.is_empty() => whole("dap:dds", &|| Ok(dds::dds(&dataset, &items(&dataset, "")?)))?,
        Form::Dmr | Form::Dap => {
            let (constraint, has_checksums) = dap4::parameters(query);
            let scopes = scopes(&domain, &dataset);
            let chosen = constraint4::choose(&dataset, &scopes, &constraint)?;
            let text = dmr::dmr(&dataset, &scopes, &chosen);
            if form == Form::Dap {
                let source = Source { app, domain: Arc::clone(&domain), dataset: Arc::clone(&dataset) };
                return Ok((dap4::dap(&source, chosen, &text, has_checksums)?, None));
            }
            Bytes::from(text)
        }
        Form::Dds | Form::Dods | Form::Ascii | Form::Version => {
            let items = items(&dataset, query)?;
            let source = Source { app, domain: Arc::clone(&domain), dataset: Arc::clone(&dataset) };
            match form {
                Form::Dods => return send::dods(&source, &items),
                Form::Ascii => return Ok((ascii::ascii(&source, &items)?, None)),
                _ => Bytes::from(dds::dds(&dataset, &items)),
            }
        }
    };
    let length = text.len() as u64;
    Ok((Box::new(std::iter::once(Ok(text))), Some(length)))
}

/// The dimensions of a version, made once.
fn scopes(domain: &Domain, dataset: &model::Dataset) -> Arc<Scopes> {
    const KEY: &str = "dap-scopes";
    domain.datasets.get(KEY).unwrap_or_else(|| domain.datasets.put(KEY, Scopes::new(dataset)))
}

/// The items of a request. A table is a sequence; any group of columns is one in a request with clauses.
///
/// Clients differ in how they encode: some encode all signs, so that the escapes of names are escaped twice, some only
/// brackets, some nothing. The readings are tried in this order; the error is that of the first one.
fn items(dataset: &model::Dataset, query: &str) -> Result<Vec<project::Item>> {
    let first = items_of(dataset, &constraint::decoded(query));
    if first.is_ok() || !query.contains('%') {
        return first;
    }
    items_of(dataset, &constraint::without_brackets(query)).or_else(|_| items_of(dataset, query)).or(first)
}

fn items_of(dataset: &model::Dataset, constraint: &str) -> Result<Vec<project::Item>> {
    let constraint = Constraint::parse(constraint)?;
    match rows::rows(dataset, &constraint)? {
        Some(rows) => {
            let above = rows.above.clone();
            let sequence = project::Item::Sequence(rows);
            Ok(vec![above.into_iter().rev().fold(sequence, |item, name| project::Item::Structure(name, vec![item]))])
        }
        None => project::project(dataset, &constraint.projections),
    }
}

fn with_headers(body: Body, kind: &'static str, description: &'static str) -> Response {
    let mut answer = body.into_response();
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(HeaderName::from_static("content-description"), HeaderValue::from_static(description));
    headers.insert(
        HeaderName::from_static("xdods-server"),
        HeaderValue::from_static(concat!("icecore/", env!("CARGO_PKG_VERSION"))),
    );
    headers.insert(HeaderName::from_static("xdap"), HeaderValue::from_static("2.0"));
    answer
}

/// An error in the form of DAP2 or DAP4.
fn refused(failure: Failure, form: Form) -> Response {
    let (status, error) = failure.public();
    let mut text = error.message.clone();
    if !error.hint.is_empty() {
        text.push('\n');
        text.push_str(&error.hint);
    }
    let code = status.as_u16();
    let mut answer = if matches!(form, Form::Dmr | Form::Dap) {
        let text = page::escaped(&text);
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error xmlns=\"http://xml.opendap.org/ns/DAP/4.0#\" \
             httpcode=\"{code}\">\n  <Message>{text}</Message>\n</Error>\n"
        );
        with_headers(Body::from(body), ERROR, "dap4_error")
    } else {
        let mut quoted = String::new();
        das::quoted(&text, &mut quoted);
        let body = format!("Error {{\n    code = {code};\n    message = {quoted};\n}};\n");
        with_headers(Body::from(body), TEXT, "dods_error")
    };
    *answer.status_mut() = status;
    if status == StatusCode::SERVICE_UNAVAILABLE {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    answer
}
