//! Metadata of a domain: its root, and with `getobjs` every object in it, so that one request opens a granule.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use bytes::Bytes;
use icecore::cancel;
use icecore::catalog::{Location, Place};
use icecore::grid::ErrorKind;
use serde_json::{Map, Value, json};

use super::folder_record::Record;
use super::object;
use super::reply::{hrefs, plain, versioned};
use crate::app::{App, Shared};
use crate::domains::{Address, Collection, Domain, Include};
use crate::hdf5::describe::{described, other};
use crate::hdf5::found::{model, root};
use crate::http::error::Answer;
use crate::http::etag;
use crate::http::params::Params;
use crate::routes::page;
use crate::unique::now;

pub(super) async fn get(State(app): State<App>, uri: Uri, headers: HeaderMap, params: Params) -> Answer {
    if let Some(to) = page::redirect(&headers, &uri, &params) {
        return Ok(to);
    }
    if params.get("h5path").is_some() {
        return object::by_path(app, headers, params).await;
    }
    let is_plain = !app.config.writable && !params.caller().is_checked && !params.flag("verbose");
    if let Some(domain) = app.domains.known(params.domain()).filter(|_| is_plain) {
        return answer(&domain, &headers, &params, false);
    }
    let shared = Arc::clone(&app);
    app.blocking(move || match shared.domains.folder(params.domain())? {
        Some(_) => Ok(plain(folder(&shared, params.domain())?.to_string())),
        None => {
            let domain = shared.opened(&params)?;
            answer(&domain, &headers, &params, shared.lives.is_busy(&domain.name))
        }
    })
    .await
}

pub(super) fn folder(app: &Shared, name: &str) -> Answer<Value> {
    let record = Record::of(app, &Address::parse(name)?);
    if !record.owner.is_empty() {
        return Ok(record.json());
    }
    Ok(json!({"class": "folder", "owner": "icecore", "created": app.started, "lastModified": app.started, "hrefs": []}))
}

/// `is_busy`: without the objects, as HSDS answers for a domain that has just been written. h5pyd never asks again for
/// objects that it got with the domain, so readers that wait for a writer would not see its changes.
fn answer(domain: &Domain, headers: &HeaderMap, params: &Params, is_busy: bool) -> Answer {
    model(domain)?;
    let whole = !is_busy && (params.flag("getobjs") || params.flag("getdnids") && params.flag("include_attrs"));
    if !whole {
        return versioned(headers, domain, || {
            let mut body = about(domain);
            if params.flag("verbose") {
                body.extend(counts(domain)?.as_ref().clone());
            }
            Ok(body.into())
        });
    }
    let tag = etag::tag(&domain.tag, "objects");
    if let Some(same) = etag::unchanged(headers, &tag) {
        return Ok(same);
    }
    let body = match domain.objects.get() {
        Some(body) => body.clone(),
        None => {
            let mut body = about(domain);
            body.insert("domain_objs".to_owned(), objects(domain)?);
            domain.objects.get_or_init(|| Bytes::from(Value::from(body).to_string())).clone()
        }
    };
    Ok(etag::with(plain(body), &tag))
}

pub(super) fn about(domain: &Domain) -> Map<String, Value> {
    let root = root(domain);
    let owner = domain.model.get().map_or("icecore", |model| &model.owner);
    let created = domain.model.get().map_or(domain.time, |model| model.created);
    let related = [
        ("self", "/".to_owned()),
        ("database", "/datasets".to_owned()),
        ("groupbase", "/groups".to_owned()),
        ("typebase", "/datatypes".to_owned()),
        ("root", format!("/groups/{root}")),
        ("acls", "/acls".to_owned()),
    ];
    let body = json!({
        "root": root,
        "class": "domain",
        "owner": owner,
        "created": created,
        "lastModified": domain.time,
        "limits": {"min_chunk_size": 1 << 20, "max_chunk_size": 4 << 20, "max_request_size": 100 << 20},
        "compressors": ["gzip", "zlib", "zstd", "lz4", "blosclz"],
        "version": "1.0.2",
        "snapshot": domain.session.snapshot_id(),
        "hrefs": hrefs(domain, &related),
    });
    body.as_object().cloned().unwrap_or_default()
}

fn objects(domain: &Domain) -> Answer<Value> {
    let mut objects = Map::new();
    if let Some(model) = model(domain)? {
        for object in model.objects() {
            objects.insert(object.id.clone(), object.json(model, &domain.name, Include::ALL).into());
        }
        return Ok(objects.into());
    }
    let beyond = domain.file_objects()?;
    let is_alias = |number: &usize| beyond.is_some_and(|all| all.is_alias(*number));
    for number in (0..domain.session.tree().nodes().len()).filter(|number| !is_alias(number)) {
        objects.insert(domain.ids.get(number).to_owned(), described(domain, number, Include::ALL)?.into());
    }
    for each in beyond.into_iter().flat_map(|all| all.others()) {
        objects.insert(each.id.clone(), other(domain, each, Include::ALL).into());
    }
    Ok(objects.into())
}

/// Counts of objects, chunks and bytes, for `hsinfo` and `hsstat`.
/// They belong to the version, so they are counted once.
pub(super) fn counts(domain: &Domain) -> Answer<Arc<Map<String, Value>>> {
    const KEY: &str = "counts";
    match domain.datasets.get(KEY) {
        Some(known) => Ok(known),
        None => Ok(domain.datasets.put(KEY, counted(domain)?)),
    }
}

fn counted(domain: &Domain) -> Answer<Map<String, Value>> {
    let nodes = domain.session.tree().nodes();
    let datasets = nodes.iter().filter(|node| node.is_array).count();
    let mut metadata = 0_u64;
    // Chunks and bytes in the repository, and in linked files.
    let mut stored = [(0_u64, 0_u64); 2];
    for node in nodes {
        cancel::check()?;
        metadata += domain.session.stored_bytes(node);
        if !node.is_array {
            continue;
        }
        let view = match domain.session.array(&node.path) {
            Ok(view) => view,
            Err(error) if matches!(error.kind, ErrorKind::Unsupported | ErrorKind::Format) => continue,
            Err(error) => return Err(error.into()),
        };
        let table = view.table()?;
        for (_, place) in table.iter() {
            let (length, is_link) = match place {
                Place::Missing => continue,
                Place::Inline(bytes) => (bytes.len() as u64, false),
                Place::Range { object, length, .. } => {
                    let object = table.objects.get(object as usize);
                    (length, object.is_some_and(|object| matches!(object.location, Location::Link(_))))
                }
            };
            let [native, linked] = &mut stored;
            let (count, bytes) = if is_link { linked } else { native };
            (*count, *bytes) = (*count + 1, *bytes + length);
        }
    }
    let [(chunks, bytes), (linked, linked_bytes)] = stored;
    let beyond = domain.file_objects()?;
    let (groups, datasets, datatypes) = match model(domain)? {
        Some(model) => {
            let count = |collection| model.count(collection);
            (count(Collection::Groups), count(Collection::Datasets), count(Collection::Datatypes))
        }
        None => {
            let others = |wanted| {
                let all = beyond.into_iter().flat_map(|all| all.others());
                all.filter(|each| each.collection == wanted).count()
            };
            let (groups, more) = (nodes.len() - datasets + others(Collection::Groups), others(Collection::Datasets));
            (groups, datasets + more, others(Collection::Datatypes))
        }
    };
    let body = json!({
        "num_groups": groups,
        "num_datasets": datasets,
        "num_datatypes": datatypes,
        "num_objects": groups + datasets + datatypes,
        "num_chunks": chunks,
        "num_linked_chunks": linked,
        "allocated_bytes": bytes,
        "linked_bytes": linked_bytes,
        "metadata_bytes": metadata,
        "total_size": bytes + linked_bytes + metadata,
        "md5_sum": domain.session.snapshot_id(),
        "scan_info": {"scan_start": now(), "scan_complete": now()},
    });
    Ok(body.as_object().cloned().unwrap_or_default())
}
