//! Groups, datasets and committed types: one object's metadata.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use serde_json::{Map, Value, json};

use super::paths;
use super::reply::{self, hrefs};
use crate::app::App;
use crate::domains::{Collection, Domain, Include, ids};
use crate::hdf5::found::{Found, model};
use crate::hdf5::translate::Dataset;
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;

impl Include {
    fn of(params: &Params) -> Self {
        let path = params.flag("getalias");
        Self { attributes: params.flag("include_attrs"), links: params.flag("include_links"), path }
    }
}

fn related(domain: &Domain, collection: Collection, id: &str) -> Value {
    let own = format!("/{}/{id}", collection.name());
    let root = format!("/groups/{}", domain.ids.root());
    hrefs(
        domain,
        &[
            ("self", own.clone()),
            ("home", "/".to_owned()),
            ("root", root),
            ("attributes", format!("{own}/attributes")),
            match collection {
                Collection::Groups => ("links", format!("{own}/links")),
                _ => ("data", format!("{own}/value")),
            },
        ],
    )
}

async fn get(app: App, collection: Collection, id: String, headers: HeaderMap, params: Params) -> Answer {
    let domain = app.domain(&params).await?;
    let shared = App::clone(&app);
    app.blocking(move || {
        let (domain, id) = paths::named(&shared, &params, domain, id)?;
        if let (Some(path), Some(other)) = (params.get("h5path"), ids::collection(&id).filter(|it| *it != collection)) {
            let message = format!("{path} is not in {}", collection.name());
            return Err(Failure::missing(message, format!("GET /{}/?h5path={path}", other.name())));
        }
        let found = Found::new(&domain, collection, &id)?;
        reply::versioned(&headers, &domain, || {
            let mut object = found.json(&domain, Include::of(&params))?;
            object.insert("hrefs".to_owned(), related(&domain, collection, &id));
            Ok(object.into())
        })
    })
    .await
}

pub(super) async fn group(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    params: Params,
) -> Answer {
    get(app, Collection::Groups, id, headers, params).await
}

pub(super) async fn dataset(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    params: Params,
) -> Answer {
    get(app, Collection::Datasets, id, headers, params).await
}

pub(super) async fn datatype(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    params: Params,
) -> Answer {
    get(app, Collection::Datatypes, id, headers, params).await
}

/// The object that `h5path` names, whatever it is.
pub(super) async fn by_path(app: App, headers: HeaderMap, params: Params) -> Answer {
    let domain = app.domain(&params).await?;
    let shared = App::clone(&app);
    app.blocking(move || {
        let (domain, id) = paths::named(&shared, &params, domain, String::new())?;
        let collection = ids::collection(&id).unwrap_or(Collection::Groups);
        let found = Found::new(&domain, collection, &id)?;
        reply::versioned(&headers, &domain, || {
            let mut object = found.json(&domain, Include::of(&params))?;
            object.insert("class".to_owned(), json!(collection.name().trim_end_matches('s')));
            object.insert("hrefs".to_owned(), related(&domain, collection, &id));
            Ok(object.into())
        })
    })
    .await
}

async fn all(app: App, collection: Collection, headers: HeaderMap, params: Params) -> Answer {
    if params.get("h5path").is_some() {
        return get(app, collection, String::new(), headers, params).await;
    }
    let domain = app.domain(&params).await?;
    app.blocking(move || {
        reply::versioned(&headers, &domain, || {
            let found = ids_of(&domain, collection)?;
            let page = params.page(found.iter().collect(), |id| id.as_str())?;
            Ok(json!({collection.name(): page, "hrefs": []}))
        })
    })
    .await
}

/// The sorted ids of a collection, without the root group's. They belong to the version, so they are listed once.
fn ids_of(domain: &Domain, collection: Collection) -> Answer<Arc<Vec<String>>> {
    if let Some(known) = domain.datasets.get(collection.name()) {
        return Ok(known);
    }
    let mut found = listed(domain, collection)?;
    found.sort_unstable();
    Ok(domain.datasets.put(collection.name(), found))
}

fn listed(domain: &Domain, collection: Collection) -> Answer<Vec<String>> {
    if let Some(model) = model(domain)? {
        let wanted = model.objects().filter(|each| each.collection == collection && each.id != model.root);
        return Ok(wanted.map(|each| each.id.clone()).collect());
    }
    let nodes = domain.session.tree().nodes().iter().enumerate().skip(1);
    let wanted = nodes.filter(|(_, node)| match collection {
        Collection::Groups => !node.is_array,
        Collection::Datasets => node.is_array,
        Collection::Datatypes => false,
    });
    let beyond = domain.file_objects()?;
    let wanted = wanted.filter(|(number, _)| !beyond.is_some_and(|all| all.is_alias(*number)));
    let others = beyond.into_iter().flat_map(|all| all.others()).filter(|other| other.collection == collection);
    let nodes = wanted.map(|(number, _)| domain.ids.get(number).to_owned());
    Ok(nodes.chain(others.map(|other| other.id.clone())).collect())
}

pub(super) async fn groups(State(app): State<App>, headers: HeaderMap, params: Params) -> Answer {
    all(app, Collection::Groups, headers, params).await
}

pub(super) async fn datasets(State(app): State<App>, headers: HeaderMap, params: Params) -> Answer {
    all(app, Collection::Datasets, headers, params).await
}

pub(super) async fn datatypes(State(app): State<App>, headers: HeaderMap, params: Params) -> Answer {
    all(app, Collection::Datatypes, headers, params).await
}

/// The request's dataset.
pub(super) async fn opened(app: &App, id: &str, params: &Params) -> Answer<(Arc<Domain>, Arc<Dataset>)> {
    let domain = app.domain(params).await?;
    if let Some(dataset) = domain.datasets.get(id) {
        return Ok((domain, dataset));
    }
    let (shared, id, name) = (App::clone(app), id.to_owned(), params.domain().to_owned());
    app.blocking(move || {
        let found = Found::new(&domain, Collection::Datasets, &id)?;
        // A new dataset gets its node at the first read of values.
        let (domain, found) = match found {
            Found::Object(object) if object.path.is_none() => {
                let domain = shared.lives.live(&shared.domains, &name)?.placed(&object.id)?;
                let found = Found::new(&domain, Collection::Datasets, &id)?;
                (domain, found)
            }
            found => (domain, found),
        };
        let dataset = domain.datasets.put(&id, found.dataset(&domain)?);
        Ok((domain, dataset))
    })
    .await
}

/// A part of a dataset's metadata.
async fn part(app: App, id: String, headers: HeaderMap, params: Params, name: &'static str) -> Answer {
    let domain = app.domain(&params).await?;
    app.blocking(move || {
        let found = Found::new(&domain, Collection::Datasets, &id)?;
        reply::versioned(&headers, &domain, || {
            let object = found.json(&domain, Include { attributes: false, links: false, path: false })?;
            let mut out = Map::new();
            for key in [name, "created", "lastModified"] {
                out.insert(key.to_owned(), object.get(key).cloned().unwrap_or_default());
            }
            out.insert("hrefs".to_owned(), related(&domain, Collection::Datasets, &id));
            Ok(out.into())
        })
    })
    .await
}

pub(super) async fn kind(State(app): State<App>, Path(id): Path<String>, headers: HeaderMap, params: Params) -> Answer {
    part(app, id, headers, params, "type").await
}

pub(super) async fn shape(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    params: Params,
) -> Answer {
    part(app, id, headers, params, "shape").await
}
