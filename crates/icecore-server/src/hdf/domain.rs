//! A domain: its root, and with `getobjs` every object in it, so that one request opens a granule.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use bytes::Bytes;
use icecore::catalog::{Location, Place};
use icecore::grid::ErrorKind;
use serde_json::{Map, Value, json};

use super::object::{Include, described};
use super::reply::{hrefs, plain, versioned};
use crate::app::{App, Shared};
use crate::domains::Domain;
use crate::error::Answer;
use crate::etag;
use crate::params::Params;

pub(super) async fn get(State(app): State<App>, headers: HeaderMap, params: Params) -> Answer {
    if let Some(domain) = app.domains.known(params.domain())
        && !params.flag("verbose")
    {
        return answer(&domain, &headers, &params);
    }
    let shared = Arc::clone(&app);
    app.blocking(move || match shared.domains.folder(params.domain())? {
        Some(_) => Ok(plain(folder(&shared).to_string())),
        None => {
            let domain = shared.domains.open(params.domain())?;
            answer(&domain, &headers, &params)
        }
    })
    .await
}

fn folder(app: &Shared) -> Value {
    json!({"class": "folder", "owner": "icecore", "created": app.started, "lastModified": app.started, "hrefs": []})
}

fn answer(domain: &Domain, headers: &HeaderMap, params: &Params) -> Answer {
    let whole = params.flag("getobjs") || params.flag("getdnids") && params.flag("include_attrs");
    if !whole {
        return versioned(headers, domain, || {
            let mut body = about(domain);
            if params.flag("verbose") {
                body.extend(counts(domain)?);
            }
            Ok(body.into())
        });
    }
    let tag = etag::tag(domain.session.snapshot_id(), "objects");
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

fn about(domain: &Domain) -> Map<String, Value> {
    let root = domain.ids.root();
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
        "owner": "icecore",
        "created": domain.time,
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
    for number in 0..domain.session.tree().nodes().len() {
        objects.insert(domain.ids.get(number).to_owned(), described(domain, number, Include::ALL)?.into());
    }
    Ok(objects.into())
}

/// Counts of objects, chunks and bytes, as `hsinfo` and `hsstat` show them.
fn counts(domain: &Domain) -> Answer<Map<String, Value>> {
    let nodes = domain.session.tree().nodes();
    let datasets = nodes.iter().filter(|node| node.is_array).count();
    let mut metadata = 0_u64;
    // Stored in the repository, and in linked files: chunks and bytes.
    let mut stored = [(0_u64, 0_u64); 2];
    for node in nodes {
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
    let body = json!({
        "num_groups": nodes.len() - datasets,
        "num_datasets": datasets,
        "num_datatypes": 0,
        "num_objects": nodes.len(),
        "num_chunks": chunks,
        "num_linked_chunks": linked,
        "allocated_bytes": bytes,
        "linked_bytes": linked_bytes,
        "metadata_bytes": metadata,
        "total_size": bytes + linked_bytes + metadata,
        "md5_sum": domain.session.snapshot_id(),
        "scan_info": {"scan_start": domain.time, "scan_complete": domain.time},
    });
    Ok(body.as_object().cloned().unwrap_or_default())
}
