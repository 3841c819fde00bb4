//! The description of the service by OpenAPI 3.1 at `/openapi.json`, and as a page at `/docs`.
//!
//! `OPERATIONS` is the source of both. A test compares it with the routes.

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::routes::schemas;

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/openapi.json", get(document)).route("/docs", get(page))
}

/// Method, path, group of the page, summary, names of the query's parameters, content types of the reply.
type Operation =
    (&'static str, &'static str, &'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const JSON: &[&str] = &["application/json"];
const VALUES: &[&str] = &["application/json", "application/octet-stream"];
const TABLES: &[&str] = &[
    "text/csv",
    "application/vnd.apache.parquet",
    "application/vnd.apache.arrow.file",
    "application/vnd.apache.arrow.stream",
];
const DAP: &[&str] = &[
    "text/plain",
    "text/html",
    "application/octet-stream",
    "application/vnd.opendap.dap4.dataset-metadata+xml",
    "application/vnd.opendap.dap4.data",
];
const DOMAIN: &[&str] = &["domain"];
const PAGED: &[&str] = &["domain", "Limit", "Marker"];
const SCAN: &[&str] = &["columns", "where", "within", "xy", "source", "limit"];

const OPERATIONS: &[Operation] = &[
    ("get", "/", "domains", "A domain; with getobjs=1 all its objects", &["domain", "getobjs", "include_attrs"], JSON),
    (
        "post",
        "/",
        "domains",
        "Objects by their paths: {\"h5paths\": […]}",
        &["domain", "parent_id", "follow_soft_links"],
        JSON,
    ),
    ("put", "/", "domains", "Make a domain or folder; with flush=1 commit its changes", &["domain", "flush"], JSON),
    ("delete", "/", "domains", "Remove a domain with all its versions, or an empty folder", DOMAIN, JSON),
    ("get", "/about", "service", "Name and version of the service", &[], JSON),
    ("get", "/info", "service", "The same as /about", &[], JSON),
    (
        "get",
        "/domains",
        "domains",
        "The members of a folder",
        &["domain", "pattern", "verbose", "Limit", "Marker"],
        JSON,
    ),
    ("get", "/acls", "users", "The access control lists of a domain", DOMAIN, JSON),
    ("get", "/acls/{user}", "users", "What a user may do with a domain", DOMAIN, JSON),
    ("put", "/acls/{user}", "users", "Set what a user may do with a domain", DOMAIN, JSON),
    ("get", "/groups", "objects", "The ids of all groups", PAGED, JSON),
    ("post", "/groups", "objects", "Make a group", DOMAIN, JSON),
    ("get", "/datasets", "objects", "The ids of all datasets", PAGED, JSON),
    ("post", "/datasets", "objects", "Make a dataset", DOMAIN, JSON),
    ("get", "/datatypes", "objects", "The ids of all committed types", PAGED, JSON),
    ("post", "/datatypes", "objects", "Make a committed type", DOMAIN, JSON),
    ("get", "/groups/{id}", "objects", "A group", DOMAIN, JSON),
    ("delete", "/groups/{id}", "objects", "Remove a group", DOMAIN, JSON),
    ("get", "/datasets/{id}", "objects", "A dataset: its type, shape, layout and creation properties", DOMAIN, JSON),
    ("delete", "/datasets/{id}", "objects", "Remove a dataset", DOMAIN, JSON),
    ("get", "/datatypes/{id}", "objects", "A committed type", DOMAIN, JSON),
    ("delete", "/datatypes/{id}", "objects", "Remove a committed type", DOMAIN, JSON),
    ("get", "/groups/{id}/links", "links", "The links of a group", PAGED, JSON),
    ("post", "/groups/{id}/links", "links", "Links by their titles", DOMAIN, JSON),
    ("put", "/groups/{id}/links", "links", "Make several links", DOMAIN, JSON),
    ("delete", "/groups/{id}/links", "links", "Remove several links", &["domain", "titles"], JSON),
    ("get", "/groups/{id}/links/{title}", "links", "A link", DOMAIN, JSON),
    ("put", "/groups/{id}/links/{title}", "links", "Make a hard, soft or external link", DOMAIN, JSON),
    ("delete", "/groups/{id}/links/{title}", "links", "Remove a link", DOMAIN, JSON),
    ("get", "/datasets/{id}/type", "datasets", "The type of a dataset", DOMAIN, JSON),
    ("get", "/datasets/{id}/shape", "datasets", "The shape of a dataset", DOMAIN, JSON),
    ("put", "/datasets/{id}/shape", "datasets", "Extend or shrink a dataset", DOMAIN, JSON),
    (
        "get",
        "/datasets/{id}/value",
        "datasets",
        "Elements of a selection, or rows that match a query",
        &["domain", "select", "query", "fields", "reduce_dim", "Limit"],
        VALUES,
    ),
    ("post", "/datasets/{id}/value", "datasets", "Elements at points", DOMAIN, VALUES),
    ("put", "/datasets/{id}/value", "datasets", "Write elements", &["domain", "select"], JSON),
    ("get", "/datasets/{id}/query", "datasets", "The rows that match a query", &["domain", "query", "Limit"], JSON),
    ("get", "/{collection}/{id}/attributes", "attributes", "The attributes of an object", PAGED, JSON),
    ("post", "/{collection}/{id}/attributes", "attributes", "Attributes by name", DOMAIN, JSON),
    ("put", "/{collection}/{id}/attributes", "attributes", "Write several attributes", DOMAIN, JSON),
    ("delete", "/{collection}/{id}/attributes", "attributes", "Remove several attributes", DOMAIN, JSON),
    ("get", "/{collection}/{id}/attributes/{name}", "attributes", "An attribute with its value", DOMAIN, JSON),
    ("get", "/{collection}/{id}/attributes/{name}/value", "attributes", "The elements of an attribute", DOMAIN, VALUES),
    ("put", "/{collection}/{id}/attributes/{name}", "attributes", "Write an attribute", DOMAIN, JSON),
    ("delete", "/{collection}/{id}/attributes/{name}", "attributes", "Remove an attribute", DOMAIN, JSON),
    ("get", "/zarr/{key}", "zarr", "A key of Zarr v3: REPOSITORY[@VERSION]/PATH/zarr.json or …/c/0/1", &[], VALUES),
    (
        "get",
        "/tables/{key}",
        "tables",
        "Rows of a table: REPOSITORY[@VERSION]/PATH[.csv|.parquet|.arrow|.arrows]",
        SCAN,
        TABLES,
    ),
    (
        "get",
        "/dap/{key}",
        "opendap",
        "OPeNDAP: REPOSITORY[@VERSION][/GROUP] with .dds, .das, .dods, .ascii, .info, .ver, .html, .dmr or .dap",
        &["dap4.ce", "dap4.checksum"],
        DAP,
    ),
    (
        "get",
        "/thredds/{key}",
        "opendap",
        "A catalog of THREDDS: [FOLDER/]catalog.xml or .html",
        &[],
        &["application/xml", "text/html"],
    ),
    (
        "get",
        "/nc/{key}",
        "opendap",
        "A selection as a netCDF-4 file: REPOSITORY[@VERSION][/GROUP].nc; other parameters are dimensions",
        &["var", "bbox"],
        &["application/x-netcdf"],
    ),
    ("get", "/products", "products", "The products of the service", &[], JSON),
    ("get", "/products/{name}", "products", "The parameters of a product, as JSON Schema", &[], JSON),
    (
        "post",
        "/products/{name}",
        "products",
        "Compute a product of {\"sources\": […], \"parameters\": {…}}",
        &[],
        TABLES,
    ),
    ("get", "/view", "page", "The way to the page", &[], &["text/html"]),
    ("get", "/view/", "page", "The page that shows archives", &[], &["text/html"]),
    ("get", "/view/{key}", "page", "A file of the page", &[], &["text/html"]),
    (
        "get",
        "/view/api/{name}",
        "page",
        "What the page shows: meta, attr, data, versions, trend, map, plan, storage",
        &["file", "path"],
        VALUES,
    ),
    ("get", "/health", "service", "Whether a chunk can be read", &[], JSON),
    ("get", "/metrics", "service", "Counters for Prometheus", &[], &["text/plain"]),
    ("get", "/openapi.json", "service", "This description", &[], JSON),
    ("get", "/docs", "service", "This description as a page", &[], &["text/html"]),
];

async fn document() -> Response {
    let kind = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, kind)], described().to_string()).into_response()
}

fn described() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for operation in OPERATIONS {
        let (method, path, ..) = operation;
        let known = paths.entry(*path).or_insert_with(|| json!({}));
        known[*method] = one(operation);
    }
    json!({
        "openapi": "3.1.0",
        "info": {"title": "icecore", "version": env!("CARGO_PKG_VERSION"),
                 "description": "HDF REST as HSDS serves it, plain Zarr v3, OPeNDAP, tables and products."},
        "paths": paths,
        "components": {"schemas": schemas::all()},
    })
}

fn one((method, path, group, summary, query, kinds): &Operation) -> Value {
    let inside = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let text = json!({"type": "string"});
    let named =
        |place: &str, name: &str| json!({"name": name, "in": place, "required": place == "path", "schema": text});
    let parameters: Vec<Value> =
        inside.map(|name| named("path", name)).chain(query.iter().map(|name| named("query", name))).collect();
    let schema = |kind: &&str| {
        (
            kind.to_string(),
            json!({"schema": if *kind == "application/json" { schemas::reply(method, path) } else { text.clone() }}),
        )
    };
    let content: Map<String, Value> = kinds.iter().map(schema).collect();
    let failed = json!({"description": "An error", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}});
    let mut operation = json!({
        "operationId": format!("{method}{}", path.replace(['/', '{', '}', '.'], "_")),
        "tags": [group], "summary": summary, "parameters": parameters,
        "responses": {"2XX": {"description": "Done", "content": content}, "4XX": failed, "503": failed},
    });
    if matches!(*method, "put" | "post") {
        operation["requestBody"] = json!({"content": {"application/json": {"schema": {"type": "object"}}}});
    }
    operation
}

async fn page() -> Html<String> {
    let mut rows = String::new();
    let mut group = "";
    for (method, path, of, summary, query, _) in OPERATIONS {
        if group != *of {
            rows += &format!("<tr><th colspan=\"3\">{of}</th></tr>");
            group = of;
        }
        let parameters = if query.is_empty() { String::new() } else { format!("?{}", query.join("&amp;")) };
        let summary = summary.replace('<', "&lt;");
        rows += &format!(
            "<tr><td>{}</td><td><code>{path}<i>{parameters}</i></code></td><td>{summary}</td></tr>",
            method.to_uppercase()
        );
    }
    Html(format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>icecore</title><style>\
         body{{font:15px sans-serif;margin:2em;color-scheme:light dark}}td,th{{padding:.2em .8em;text-align:left}}i{{opacity:.6}}\
         </style><h1>icecore {}</h1><p>HDF REST, Zarr v3, tables and products. <a href=\"openapi.json\">openapi.json</a></p>\
         <table>{rows}</table></html>",
        env!("CARGO_PKG_VERSION")
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn unslashed(path: &str) -> &str {
        if path == "/" { path } else { path.trim_end_matches('/') }
    }

    /// `.route("…", …)` of the sources, with methods.
    fn routed() -> BTreeSet<String> {
        let sources = [
            include_str!("../hdf/mod.rs"),
            include_str!("../zarr/mod.rs"),
            include_str!("delegated.rs"),
            include_str!("../serve.rs"),
            include_str!("openapi.rs"),
            include_str!("page.rs"),
            include_str!("../dap/mod.rs"),
        ];
        let parts = sources
            .iter()
            .flat_map(|source| source.split("#[cfg(test)]").next())
            .flat_map(|s| s.split(".route(\"").skip(1));
        // A collection is described once, with and without a slash behind it.
        let paths = parts.filter_map(|part| part.split('"').next());
        paths.map(|path| unslashed(path).replace("{*", "{")).collect()
    }

    #[test]
    fn every_route_is_described() {
        let described: BTreeSet<String> = OPERATIONS.iter().map(|(_, path, ..)| unslashed(path).to_owned()).collect();
        assert_eq!(described, routed());
        assert!(described.len() > 25);
    }

    #[test]
    fn operations_have_names_of_their_own() {
        let document = described();
        let ids: Vec<&str> = document["paths"]
            .as_object()
            .unwrap()
            .values()
            .flat_map(|path| path.as_object().unwrap().values())
            .map(|o| o["operationId"].as_str().unwrap())
            .collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), OPERATIONS.len());
    }

    #[test]
    fn every_reference_leads_to_a_schema() {
        let document = described();
        let text = document.to_string();
        let named: BTreeSet<&str> =
            text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(named.len() > 10);
        assert!(named.iter().all(|name| document["components"]["schemas"].get(name).is_some()), "{named:?}");
    }
}
