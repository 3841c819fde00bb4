//! The HDF REST API of HSDS, for h5pyd, h5web and the hs tools. Read-only, unless the service is writable.
//!
//! `domain`, `folders` and `acls` handle domains, `object`, `links` and `attribute` their contents, `value`, `points`
//! and `query` elements. The model behind them is `hdf5`.

mod about;
mod acls;
mod attribute;
mod body;
mod domain;
mod edit;
mod edit_attributes;
mod edit_domain;
mod edit_links;
mod edit_long;
mod edit_objects;
mod edit_value;
pub(crate) mod folder_record;
mod folders;
mod links;
mod object;
mod paths;
mod point_values;
mod points;
mod query;
mod reply;
mod select;
mod value;

use axum::Router;
use axum::routing::get;

use crate::app::App;
use crate::domains::Collection;
use crate::http::error::{Answer, Failure};

/// All routes.
pub(crate) fn routes() -> Router<App> {
    let attributes =
        get(attribute::list).post(attribute::named).put(edit_attributes::put_all).delete(edit_attributes::delete_all);
    let attribute = get(attribute::one).put(edit_attributes::put).delete(edit_attributes::delete);
    let links = get(links::list).post(links::named).put(edit_links::put_all).delete(edit_links::delete_all);
    let link = get(links::one).put(edit_links::put).delete(edit_links::delete);
    let value = get(value::get).post(points::post).put(edit_long::put);
    Router::new()
        .route("/", get(domain::get).post(paths::post).put(edit_domain::put).delete(edit_domain::delete))
        .route("/about", get(about::get))
        .route("/info", get(about::info))
        .route("/domains", get(folders::get))
        .route("/acls", get(acls::all))
        .route("/acls/{user}", get(acls::one).put(acls::put))
        .route("/groups", get(object::groups).post(edit_objects::post))
        .route("/datasets", get(object::datasets).post(edit_objects::post))
        .route("/datatypes", get(object::datatypes).post(edit_objects::post))
        .route("/groups/", get(object::groups))
        .route("/datasets/", get(object::datasets))
        .route("/datatypes/", get(object::datatypes))
        .route("/groups/{id}", get(object::group).delete(edit_objects::delete))
        .route("/datasets/{id}", get(object::dataset).delete(edit_objects::delete))
        .route("/datatypes/{id}", get(object::datatype).delete(edit_objects::delete))
        .route("/groups/{id}/links", links)
        .route("/groups/{id}/links/{title}", link)
        .route("/datasets/{id}/type", get(object::kind))
        .route("/datasets/{id}/shape", get(object::shape).put(edit_value::put_shape))
        .route("/datasets/{id}/value", value)
        .route("/datasets/{id}/query", get(query::indices))
        .route("/{collection}/{id}/attributes", attributes)
        .route("/{collection}/{id}/attributes/{name}", attribute)
        .route("/{collection}/{id}/attributes/{name}/value", get(attribute::value))
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
