//! Groups, datasets and committed types: one object's metadata.

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use icecore::session::Node;
use serde_json::{Map, Value, json};

use super::attributes::{Attribute, attributes};
use super::reply::{self, hrefs};
use super::translate::Dataset;
use crate::app::App;
use crate::domains::{Collection, Domain};
use crate::error::{Answer, Failure};
use crate::params::Params;

/// What of an object is asked for beside its own metadata.
#[derive(Clone, Copy, Debug)]
pub(super) struct Include {
    pub attributes: bool,
    pub links: bool,
    pub path: bool,
}

impl Include {
    pub const ALL: Self = Self { attributes: true, links: true, path: false };

    fn of(params: &Params) -> Self {
        let path = params.flag("getalias");
        Self { attributes: params.flag("include_attrs"), links: params.flag("include_links"), path }
    }
}

/// The node of a number.
pub(super) fn node(domain: &Domain, number: usize) -> Answer<&Node> {
    let found = domain.session.tree().node(number);
    found.ok_or_else(|| Failure::missing("the object is gone", "open the domain again"))
}

/// An object as JSON.
pub(super) fn described(domain: &Domain, number: usize, include: Include) -> Answer<Map<String, Value>> {
    let node = node(domain, number)?;
    let mut object = Map::new();
    let mut set = |name: &str, value: Value| object.insert(name.to_owned(), value);
    set("id", json!(domain.ids.get(number)));
    set("root", json!(domain.ids.root()));
    set("created", json!(domain.time));
    set("lastModified", json!(domain.time));
    set("domain", json!(domain.name));
    let found = if node.is_array {
        match Dataset::open(domain, node) {
            Ok(dataset) => {
                let properties = dataset.properties();
                set("type", dataset.kind());
                set("shape", dataset.shape());
                set("layout", properties["layout"].clone());
                set("creationProperties", properties);
                dataset.attributes()
            }
            // One array that cannot be read must not take the others along: it is there, without elements.
            Err(error) => {
                set("type", json!({"class": "H5T_INTEGER", "base": "H5T_STD_I8LE"}));
                set("shape", json!({"class": "H5S_NULL"}));
                set("creationProperties", json!({"layout": {"class": "H5D_CONTIGUOUS"}, "filters": []}));
                let text = json!({"attributes": {"icecore_error": error.message}});
                text.as_object().map(|document| attributes(document, None)).unwrap_or_default()
            }
        }
    } else {
        set("linkCount", json!(node.children.len()));
        if include.links {
            set("links", links(domain, node));
        }
        attributes(&domain.session.document(node)?, None)
    };
    set("attributeCount", json!(found.len()));
    if include.attributes {
        set("attributes", by_name(domain, &found));
    }
    if include.path {
        set("alias", json!([node.path]));
    }
    Ok(object)
}

/// Attributes by name.
pub(super) fn by_name(domain: &Domain, found: &[(String, Attribute)]) -> Value {
    found.iter().map(|(name, attribute)| (name.clone(), attribute.json(domain.time))).collect::<Map<_, _>>().into()
}

fn links(domain: &Domain, node: &Node) -> Value {
    let members = domain.session.tree().children(node);
    let link = |(number, child): (usize, &Node)| {
        let link = json!({"class": "H5L_TYPE_HARD", "id": domain.ids.get(number), "created": domain.time});
        (child.name().to_owned(), link)
    };
    members.map(link).collect::<Map<_, _>>().into()
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
    let number = domain.object(collection, &id)?;
    app.blocking(move || {
        reply::versioned(&headers, &domain, || {
            let mut object = described(&domain, number, Include::of(&params))?;
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

/// Repositories have no committed types: every id is unknown.
pub(super) async fn datatype(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    params: Params,
) -> Answer {
    get(app, Collection::Datatypes, id, headers, params).await
}

async fn ids(app: App, collection: Collection, headers: HeaderMap, params: Params) -> Answer {
    let domain = app.domain(&params).await?;
    reply::versioned(&headers, &domain, || {
        let nodes = domain.session.tree().nodes().iter().enumerate().skip(1);
        let wanted = nodes.filter(|(_, node)| match collection {
            Collection::Groups => !node.is_array,
            Collection::Datasets => node.is_array,
            Collection::Datatypes => false,
        });
        let mut found: Vec<&str> = wanted.map(|(number, _)| domain.ids.get(number)).collect();
        found.sort_unstable();
        let page = params.page(found, |id| id)?;
        Ok(json!({collection.name(): page, "hrefs": []}))
    })
}

pub(super) async fn groups(State(app): State<App>, headers: HeaderMap, params: Params) -> Answer {
    ids(app, Collection::Groups, headers, params).await
}

pub(super) async fn datasets(State(app): State<App>, headers: HeaderMap, params: Params) -> Answer {
    ids(app, Collection::Datasets, headers, params).await
}

pub(super) async fn datatypes(State(app): State<App>, headers: HeaderMap, params: Params) -> Answer {
    ids(app, Collection::Datatypes, headers, params).await
}

/// A dataset of the request's domain.
pub(super) async fn opened(app: &App, id: &str, params: &Params) -> Answer<(std::sync::Arc<Domain>, Dataset)> {
    let domain = app.domain(params).await?;
    let number = domain.object(Collection::Datasets, id)?;
    app.blocking(move || {
        let dataset = Dataset::open(&domain, node(&domain, number)?)?;
        Ok((domain, dataset))
    })
    .await
}

pub(super) async fn kind(State(app): State<App>, Path(id): Path<String>, headers: HeaderMap, params: Params) -> Answer {
    let (domain, dataset) = opened(&app, &id, &params).await?;
    reply::versioned(&headers, &domain, || {
        Ok(json!({"type": dataset.kind(), "hrefs": related(&domain, Collection::Datasets, &id)}))
    })
}

pub(super) async fn shape(
    State(app): State<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    params: Params,
) -> Answer {
    let (domain, dataset) = opened(&app, &id, &params).await?;
    reply::versioned(&headers, &domain, || {
        let hrefs = related(&domain, Collection::Datasets, &id);
        Ok(json!({"shape": dataset.shape(), "created": domain.time, "lastModified": domain.time, "hrefs": hrefs}))
    })
}
