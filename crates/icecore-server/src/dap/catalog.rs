//! Catalogs in the form of THREDDS: `/thredds/catalog.xml` and `.html` of folders, `/thredds/REPOSITORY/catalog.xml` of a
//! repository and its groups. Catalog browsers find the OPeNDAP addresses in them.

use std::fmt::Write;

use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::coverage::Coverage;
use super::describe::described;
use super::page::escaped;
use crate::app::{App, Shared};
use crate::domains::{Address, Domain};
use crate::hdf::folder_record;
use crate::http::caller::Caller;
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;
use crate::http::percent::encoded;

const XML: &str = "application/xml; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

/// One entry of a catalog.
struct Entry {
    name: String,
    /// Of a dataset: its address below `/dap`.
    address: Option<String>,
    /// Of a folder, or of a dataset with groups: the address of its own catalog below `/thredds`.
    catalog: Option<String>,
    coverage: Coverage,
}

/// The catalog of the path before the last part, which is `catalog.xml` or `catalog.html`.
pub(super) async fn answer(
    State(app): State<App>,
    Path(key): Path<String>,
    caller: Option<Extension<Caller>>,
) -> Answer {
    let (folder, form) = key.rsplit_once('/').unwrap_or(("", &key));
    let is_html = match form {
        "catalog.html" => true,
        "catalog.xml" => false,
        _ => {
            let hint = "GET /thredds/catalog.xml, /thredds/FOLDER/catalog.xml or .html";
            return Err(Failure::missing(format!("/thredds/{key} is not a catalog"), hint));
        }
    };
    let folder = format!("/{}", folder.trim_matches('/'));
    let params = Params::of(caller.map(|Extension(caller)| caller).unwrap_or_default());
    let shared = App::clone(&app);
    let entries = app.blocking(move || Ok((entries(&shared, &folder, &params)?, folder))).await;
    let (entries, folder) = entries?;
    let prefix = app.config.secret.as_ref().map(|secret| format!("/{secret}")).unwrap_or_default();
    let (text, kind) = match is_html {
        true => (html(&folder, &entries, &prefix), HTML),
        false => (xml(&folder, &entries, &prefix), XML),
    };
    let mut answer: Response = Body::from(text).into_response();
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(answer)
}

/// The members of a folder; of a repository the repository itself and its groups.
fn entries(app: &Shared, folder: &str, params: &Params) -> Answer<Vec<Entry>> {
    let Some(members) = app.domains.folder(folder)? else {
        let domain = app.opened_as(folder, params)?;
        return of_domain(&domain);
    };
    if params.caller().is_checked {
        folder_record::check(app, &Address::parse(folder)?, params.caller(), "read")?;
    }
    let above = folder.trim_matches('/');
    let address = |name: &str| if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") };
    Ok(members
        .into_iter()
        .map(|member| Entry {
            address: member.is_repository.then(|| address(&member.name)),
            catalog: Some(address(&member.name)),
            name: member.name,
            coverage: Coverage::default(),
        })
        .collect())
}

fn of_domain(domain: &Domain) -> Answer<Vec<Entry>> {
    let dataset = described(domain)?;
    let own = domain.name.trim_matches('/');
    let mut all = vec![Entry {
        name: own.rsplit('/').next().unwrap_or_default().to_owned(),
        address: Some(own.to_owned()),
        catalog: None,
        coverage: Coverage::of(domain, &dataset, 0),
    }];
    for number in dataset.group(0).into_iter().flat_map(|group| &group.groups) {
        let Some(group) = dataset.group(*number) else { continue };
        let address = format!("{own}/{}", group.name);
        all.push(Entry {
            name: group.name.clone(),
            address: Some(address.clone()),
            catalog: (!group.groups.is_empty()).then_some(address),
            coverage: Coverage::of(domain, &dataset, *number),
        });
    }
    Ok(all)
}

fn xml(folder: &str, entries: &[Entry], prefix: &str) -> String {
    let prefix = escaped(prefix);
    let title = escaped(if folder == "/" { "icecore" } else { folder.trim_matches('/') });
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <catalog xmlns=\"http://www.unidata.ucar.edu/namespaces/thredds/InvCatalog/v1.0\" \
         xmlns:xlink=\"http://www.w3.org/1999/xlink\" name=\"{title}\" version=\"1.2\">\n\
         \u{20} <service name=\"dap\" serviceType=\"OPENDAP\" base=\"{prefix}/dap/\"/>\n\
         \u{20} <dataset name=\"{title}\">\n\
         \u{20}   <metadata inherited=\"true\"><serviceName>dap</serviceName></metadata>\n"
    );
    for entry in entries {
        let name = escaped(&entry.name);
        if let Some(address) = &entry.address {
            let (id, path) = (escaped(address), escaped(&encoded(address)));
            let _ = writeln!(out, "  <dataset name=\"{name}\" ID=\"{id}\" urlPath=\"{path}\">");
            out.push_str(&entry.coverage.xml());
            out.push_str("  </dataset>\n");
        }
        if let Some(catalog) = &entry.catalog {
            let title = if entry.address.is_some() { format!("{name} (groups)") } else { name };
            let target = escaped(&encoded(catalog));
            let _ = writeln!(
                out,
                "  <catalogRef xlink:href=\"{prefix}/thredds/{target}/catalog.xml\" xlink:title=\"{title}\" name=\"\"/>"
            );
        }
    }
    out.push_str("  </dataset>\n</catalog>\n");
    out
}

fn html(folder: &str, entries: &[Entry], prefix: &str) -> String {
    let (title, prefix) = (escaped(folder), escaped(prefix));
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head>\n\
         <body><h1>{title}</h1>\n<ul>\n"
    );
    for entry in entries {
        let name = escaped(&entry.name);
        let dataset = entry
            .address
            .as_ref()
            .map(|address| format!("<a href=\"{prefix}/dap/{}.html\">{name}</a> ", escaped(&encoded(address))));
        let catalog = entry.catalog.as_ref().map(|catalog| {
            let text = if entry.address.is_some() { "groups".to_owned() } else { format!("{name}/") };
            format!("<a href=\"{prefix}/thredds/{}/catalog.html\">{text}</a>", escaped(&encoded(catalog)))
        });
        let _ = writeln!(out, "<li>{}{}</li>", dataset.unwrap_or_default(), catalog.unwrap_or_default());
    }
    out.push_str("</ul>\n</body></html>\n");
    out
}
