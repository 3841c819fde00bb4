//! The HDF REST API, as HSDS serves it and h5pyd, h5web and the hs tools use it. Read-only.
//!
//! `domain`, `folders` and `acls` answer for domains, `object`, `links` and `attribute` for what is in them, `value`, `points`
//! and `query` for elements. `types`, `attributes`, `layout` translate metadata, `wire` and `text` elements.

mod about;
mod acls;
mod attribute;
mod attributes;
mod clause;
mod domain;
mod folders;
mod layout;
mod links;
mod nest;
mod object;
mod points;
mod query;
mod reply;
mod select;
mod text;
mod translate;
mod types;
mod value;
mod wire;

use axum::Router;
use axum::routing::get;
use icecore::grid::{Error, ErrorKind};

use crate::app::App;
use crate::domains::Collection;
use crate::error::{Answer, Failure};
pub(crate) use reply::plain;

/// All routes.
pub(crate) fn routes() -> Router<App> {
    let attributes = get(attribute::list).post(attribute::named).put(refused).delete(refused);
    let attribute = get(attribute::one).put(refused).delete(refused);
    Router::new()
        .route("/", get(domain::get).put(refused).delete(refused).post(refused))
        .route("/about", get(about::get))
        .route("/info", get(about::info))
        .route("/domains", get(folders::get))
        .route("/acls", get(acls::all))
        .route("/acls/{user}", get(acls::one).put(refused))
        .route("/groups", get(object::groups).post(refused))
        .route("/datasets", get(object::datasets).post(refused))
        .route("/datatypes", get(object::datatypes).post(refused))
        .route("/groups/{id}", get(object::group).put(refused).delete(refused))
        .route("/datasets/{id}", get(object::dataset).put(refused).delete(refused))
        .route("/datatypes/{id}", get(object::datatype).put(refused).delete(refused))
        .route("/groups/{id}/links", get(links::list).post(links::named).put(refused).delete(refused))
        .route("/groups/{id}/links/{title}", get(links::one).put(refused).delete(refused))
        .route("/datasets/{id}/type", get(object::kind))
        .route("/datasets/{id}/shape", get(object::shape).put(refused))
        .route("/datasets/{id}/value", get(value::get).post(points::post).put(refused))
        .route("/datasets/{id}/query", get(query::indices))
        .route("/{collection}/{id}/attributes", attributes)
        .route("/{collection}/{id}/attributes/{name}", attribute)
}

/// The answer to requests that would change something.
async fn refused() -> Answer<()> {
    let error = Error::new(ErrorKind::ReadOnly, "this service is read-only");
    Err(error.hint("write with the icecore library or command line; the service shows the new version at once").into())
}

/// The collection of a URL.
fn collection(name: &str) -> Answer<Collection> {
    match name {
        "groups" => Ok(Collection::Groups),
        "datasets" => Ok(Collection::Datasets),
        "datatypes" => Ok(Collection::Datatypes),
        other => Err(Failure::missing(
            format!("there is no collection {other}"),
            "collections are groups, datasets and datatypes",
        )),
    }
}
