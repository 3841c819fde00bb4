//! Write elements: bytes or JSON, to a selection, to points, after the end, or where a query is true.

use axum::body::Bytes;
use axum::extract::{Path, State as Extract};
use axum::http::{HeaderMap, header};
use icecore::grid::{Error, ErrorKind};
use icecore::session::{Pick, Picks};
use serde_json::{Map, Value, json};

use super::edit::edited;
use super::{query, reply};
use crate::app::App;
use crate::domains::Collection;
use crate::hdf5::incoming::{self, Elements};
use crate::hdf5::types::H5Type;
use crate::hdf5::types_parse;
use crate::http::base64::unbase64;
use crate::http::error::{Answer, Failure};
use crate::http::params::Params;
use crate::http::size::check_size;
use crate::live::{Places, State};

/// Maximum bytes of elements that a request writes, and maximum number of points.
const MOST: u64 = 256 << 20;
const MOST_POINTS: u64 = 4 << 20;

/// Destination of a write request.
pub(super) struct Sent {
    pub json: Map<String, Value>,
    pub bytes: Option<Vec<u8>>,
}

fn sent(headers: &HeaderMap, body: &Bytes) -> Answer<Sent> {
    let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], |kind| kind.as_bytes());
    if kind.starts_with(b"application/octet-stream") {
        return Ok(Sent { json: Map::new(), bytes: Some(body.to_vec()) });
    }
    let json = match reply::json_body(body)? {
        Value::Object(object) => object,
        value => Map::from_iter([("value".to_owned(), value)]),
    };
    let bytes = match json.get("value_base64").and_then(Value::as_str) {
        Some(text) => {
            let bytes = unbase64(text.trim());
            Some(bytes.ok_or_else(|| Failure::invalid("value_base64 is not base64", "encode the elements' bytes"))?)
        }
        None => None,
    };
    Ok(Sent { json, bytes })
}

pub(super) async fn put(
    Extract(app): Extract<App>,
    Path(id): Path<String>,
    headers: HeaderMap,
    params: Params,
    body: Bytes,
) -> Answer {
    edited(app, params, "update", move |state, params| {
        let sent = sent(&headers, &body)?;
        let target = Target::new(state, &id)?;
        if let Some(clause) = params.get("query") {
            return updated(state, &target, &sent, clause, params);
        }
        write(state, &target, &sent, params)?;
        Ok(json!({"hrefs": []}))
    })
    .await
    .map(|body| reply::plain(body.to_string()))
}

/// The dataset to write to.
pub(super) struct Target {
    id: String,
    pub path: String,
    dims: Vec<u64>,
    pub h5: H5Type,
    pub big: bool,
}

impl Target {
    pub fn new(state: &mut State, id: &str) -> Answer<Self> {
        let object = state.model.object(Collection::Datasets, id)?;
        let is_null =
            object.metadata.get("shape").and_then(|s| s.get("class")).and_then(Value::as_str) == Some("H5S_NULL");
        if is_null {
            return Err(Failure::invalid("the dataset has no elements (H5S_NULL)", "write to a dataset with a shape"));
        }
        let (kind, marked) = (object.metadata.get("type").cloned().unwrap_or_default(), object.marked);
        let path = state.placed_path(id)?;
        let view = state.view(&path)?;
        let parsed = if marked {
            types_parse::parse(&kind)?
        } else {
            let h5 = H5Type::of(&view.meta().dtype, &Map::new(), &Map::new());
            types_parse::Parsed { h5, big: crate::hdf5::layout::is_big(view.meta()) }
        };
        Ok(Self { id: id.to_owned(), path, dims: view.meta().shape.clone(), h5: parsed.h5, big: parsed.big })
    }

    /// The type of the sent elements: with `fields`, records of these fields only.
    fn sent_type(&self, fields: Option<&str>) -> Answer<(H5Type, Vec<usize>)> {
        let inner = match &self.h5 {
            H5Type::Sent(inner) => inner,
            other => other,
        };
        let Some(names) = fields.filter(|names| !names.is_empty()) else { return Ok((self.h5.clone(), Vec::new())) };
        let H5Type::Compound(all) = inner else {
            return Err(Failure::invalid(
                format!("fields={names}: the elements are not records"),
                "leave out `fields`",
            ));
        };
        let mut numbers = Vec::new();
        for name in names.split(':') {
            let number = all.iter().position(|(each, _)| each == name);
            numbers.push(number.ok_or_else(|| {
                Failure::invalid(format!("the records have no field {name:?}"), "see the dataset's type")
            })?);
            if numbers.len() > all.len() {
                return Err(Failure::invalid("fields: a field is named twice", "name each field once"));
            }
        }
        let kept = numbers.iter().filter_map(|number| all.get(*number).cloned()).collect();
        let kept = H5Type::Compound(kept);
        let kept = if types_parse::has_variable(&kept) { H5Type::Sent(Box::new(kept)) } else { kept };
        Ok((kept, numbers))
    }

    fn elements(&self, sent: &Sent, h5: &H5Type) -> Answer<Elements> {
        if let Some(bytes) = &sent.bytes {
            return Ok(incoming::elements(bytes, h5, self.big)?);
        }
        let value = sent
            .json
            .get("value")
            .ok_or_else(|| Failure::invalid("there is no value", "send {\"value\": …}, value_base64, or bytes"))?;
        let mut bytes = Vec::new();
        let depth = if value.is_array() { depth(value, h5) } else { 0 };
        incoming::from_json(value, depth, h5, self.big, &mut bytes)?;
        Ok(incoming::elements(&bytes, h5, self.big)?)
    }
}

/// List depth of single elements.
fn depth(value: &Value, h5: &H5Type) -> usize {
    let mut levels = 0_usize;
    let mut at = value;
    while let Value::Array(items) = at {
        levels += 1;
        match items.first() {
            Some(first) => at = first,
            None => break,
        }
    }
    fn own(h5: &H5Type) -> usize {
        match h5 {
            H5Type::Compound(fields) => 1 + fields.first().map_or(0, |(_, field)| own(field)),
            H5Type::Complex { .. } => 1,
            H5Type::Vlen(base) => 1 + own(base),
            H5Type::Bytes => 1,
            H5Type::Array { base, dims } => dims.len() + own(base),
            H5Type::Sent(inner) => own(inner),
            _ => 0,
        }
    }
    levels.saturating_sub(own(h5))
}

fn write(state: &mut State, target: &Target, sent: &Sent, params: &Params) -> Answer<()> {
    let (h5, numbers) =
        target.sent_type(params.get("fields").or_else(|| sent.json.get("fields").and_then(Value::as_str)))?;
    let elements = target.elements(sent, &h5)?;
    let places = places(state, target, sent, params)?;
    let wanted = match &places {
        Places::Picks(picks) => picks.len(),
        Places::Points(points) => (points.len() / target.dims.len().max(1)) as u64,
    };
    let elements = match elements.len() as u64 {
        count if count == wanted => elements,
        1 => {
            check_size(wanted, elements.longest(), MOST)?;
            elements.repeated(wanted as usize)
        }
        count => {
            let message = format!("{count} elements are sent, the selection has {wanted}");
            return Err(Error::new(ErrorKind::Mismatch, message).hint("send as many elements as are selected").into());
        }
    };
    let elements =
        if numbers.is_empty() { elements } else { with_fields(state, target, &places, elements, &h5, &numbers)? };
    Ok(state.write(&target.path, &places, &elements)?)
}

pub(super) fn places(state: &mut State, target: &Target, sent: &Sent, params: &Params) -> Answer<Places> {
    let rank = target.dims.len();
    if let Some(points) = sent.json.get("points").and_then(Value::as_array) {
        return Ok(Places::Points(super::points::coordinates(points, rank)?));
    }
    let append = params.number("append")?.or_else(|| sent.json.get("append").and_then(Value::as_u64));
    if let Some(rows) = append.filter(|rows| *rows > 0) {
        return appended(state, target, rows);
    }
    let select = params.get("select").or_else(|| sent.json.get("select").and_then(Value::as_str));
    let picks = match select.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => Picks::parse(text, &target.dims, &vec![None; rank])?,
        None => started(target, sent)?.unwrap_or_else(|| Picks::all(&target.dims)),
    };
    match crate::hdf5::paired::paired(&picks, MOST_POINTS)? {
        Some(paired) => Ok(Places::Points(paired.points)),
        None => Ok(Places::Picks(picks)),
    }
}

/// `start`, `stop` and `step` of a JSON body.
fn started(target: &Target, sent: &Sent) -> Answer<Option<Picks>> {
    let list = |name: &str| -> Option<Vec<u64>> {
        match sent.json.get(name)? {
            Value::Array(list) => list.iter().map(Value::as_u64).collect(),
            single => single.as_u64().map(|n| vec![n]),
        }
    };
    if !sent.json.contains_key("start") && !sent.json.contains_key("stop") {
        return Ok(None);
    }
    let start = list("start").unwrap_or_else(|| vec![0; target.dims.len()]);
    let stop = list("stop").unwrap_or_else(|| target.dims.clone());
    let step = list("step").unwrap_or_else(|| vec![1; target.dims.len()]);
    let ranges = start.iter().zip(&stop).zip(&step).map(|((a, b), c)| format!("{a}:{b}:{c}"));
    let text = format!("[{}]", ranges.collect::<Vec<_>>().join(","));
    Ok(Some(Picks::parse(&text, &target.dims, &vec![None; target.dims.len()])?))
}

fn appended(state: &mut State, target: &Target, rows: u64) -> Answer<Places> {
    let Some((first, rest)) = target.dims.split_first() else {
        return Err(Failure::invalid("a dataset of a single element cannot grow", "write its value"));
    };
    let length = first.checked_add(rows).ok_or_else(|| Failure::invalid("too many rows", "append fewer"))?;
    let dims: Vec<u64> = std::iter::once(length).chain(rest.iter().copied()).collect();
    state.resize(&target.id, &dims)?;
    let mut picks = Picks::all(&dims);
    if let Some(axis) = picks.axes.first_mut() {
        *axis = Pick::Range { start: *first, step: 1, count: rows };
    }
    Ok(Places::Picks(picks))
}

/// The stored records with some of their fields replaced.
fn with_fields(
    state: &mut State,
    target: &Target,
    places: &Places,
    new: Elements,
    h5: &H5Type,
    numbers: &[usize],
) -> Answer<Elements> {
    let old = state.read(&target.path, places)?;
    let lost = || Failure::invalid("the fields do not fit the records", "see the dataset's type");
    match (old, new) {
        (Elements::Fixed { mut bytes, size }, Elements::Fixed { bytes: from, size: part }) => {
            let H5Type::Compound(all) = &target.h5 else { return Err(lost()) };
            let offsets: Vec<usize> =
                all.iter().scan(0, |at, (_, field)| Some(std::mem::replace(at, *at + field.size()))).collect();
            for (record, piece) in bytes.chunks_exact_mut(size.max(1)).zip(from.chunks_exact(part.max(1))) {
                let mut at = 0;
                for number in numbers {
                    let (Some(offset), Some((_, field))) = (offsets.get(*number), all.get(*number)) else {
                        return Err(lost());
                    };
                    let to = record.get_mut(*offset..offset + field.size()).ok_or_else(lost)?;
                    to.copy_from_slice(piece.get(at..at + field.size()).ok_or_else(lost)?);
                    at += field.size();
                }
            }
            Ok(Elements::Fixed { bytes, size })
        }
        (Elements::Variable(old), new) => {
            let H5Type::Sent(inner) = &target.h5 else { return Err(lost()) };
            let H5Type::Compound(all) = inner.as_ref() else { return Err(lost()) };
            let pieces: Vec<Vec<u8>> = match new {
                Elements::Variable(pieces) => pieces,
                Elements::Fixed { bytes, size } => bytes.chunks_exact(size.max(1)).map(<[u8]>::to_vec).collect(),
            };
            let kept = match h5 {
                H5Type::Sent(kept) => kept.as_ref(),
                other => other,
            };
            let H5Type::Compound(kept) = kept else { return Err(lost()) };
            let mut out = Vec::new();
            for (record, piece) in old.into_iter().zip(pieces) {
                out.push(mixed(record, &piece, inner, all, kept, numbers)?);
            }
            Ok(Elements::Variable(out))
        }
        _ => Err(lost()),
    }
}

fn mixed(
    mut record: Vec<u8>,
    piece: &[u8],
    inner: &H5Type,
    all: &[(String, H5Type)],
    kept: &[(String, H5Type)],
    numbers: &[usize],
) -> Answer<Vec<u8>> {
    if record.is_empty() {
        incoming::nothing(inner, &mut record);
    }
    let mut rest = piece;
    let mut new = std::collections::HashMap::new();
    for (number, (_, field)) in numbers.iter().zip(kept) {
        new.insert(*number, incoming::element(field, &mut rest)?);
    }
    let (mut rest, mut out) = (record.as_slice(), Vec::new());
    for (number, (_, field)) in all.iter().enumerate() {
        let old = incoming::element(field, &mut rest)?;
        out.extend_from_slice(new.get(&number).copied().unwrap_or(old));
    }
    Ok(out)
}

/// Writes fields of the records that match a query.
fn updated(state: &mut State, target: &Target, sent: &Sent, clause: &str, params: &Params) -> Answer<Value> {
    let H5Type::Compound(all) = &target.h5 else {
        return Err(Failure::invalid("a query writes to records only", "write a selection of this dataset"));
    };
    let view = state.view(&target.path)?;
    let picks = match params.get("select").filter(|text| !text.trim().is_empty()) {
        Some(text) => Picks::parse(text, &target.dims, &vec![None; target.dims.len()])?,
        None => Picks::all(&target.dims),
    };
    let indices = query::places(&state.session(), &view, &picks, clause, params.number("limit")?)?;
    if indices.is_empty() {
        return Ok(json!({"index": [], "value": [], "hrefs": []}));
    }
    let places = Places::Points(indices.iter().flatten().copied().collect());
    let values = sent.json.get("value").and_then(Value::as_object).unwrap_or(&sent.json);
    let names: Vec<&str> =
        values.keys().map(String::as_str).filter(|name| all.iter().any(|(each, _)| each == name)).collect();
    if names.is_empty() {
        return Err(Failure::invalid("the body names no field", "send {FIELD: VALUE, …}"));
    }
    let (h5, numbers) = target.sent_type(Some(&names.join(":")))?;
    let record: Vec<Value> = names.iter().filter_map(|name| values.get(*name).cloned()).collect();
    let mut bytes = Vec::new();
    incoming::from_json(&Value::from(record), 0, &h5, target.big, &mut bytes)?;
    let new = incoming::elements(&bytes, &h5, target.big)?;
    check_size(indices.len() as u64, new.longest(), MOST)?;
    let new = new.repeated(indices.len());
    let elements = with_fields(state, target, &places, new, &h5, &numbers)?;
    state.write(&target.path, &places, &elements)?;
    let index: Vec<u64> = indices.iter().filter_map(|point| point.first().copied()).collect();
    Ok(json!({"index": index, "hrefs": []}))
}

/// Changes a dataset's lengths: `{"shape": [...]}`, or `{"extend": N, "extend_dim": AXIS}`.
pub(super) async fn put_shape(
    Extract(app): Extract<App>,
    Path(id): Path<String>,
    params: Params,
    body: Bytes,
) -> Answer {
    let answer = edited(app, params, "update", move |state, _| {
        let body = reply::object_body(&body)?;
        let target = Target::new(state, &id)?;
        let dims: Option<Vec<u64>> = match (body.get("shape"), body.get("extend").and_then(Value::as_u64)) {
            (Some(Value::Array(list)), _) => list.iter().map(Value::as_u64).collect(),
            (Some(single), _) => single.as_u64().map(|n| vec![n]),
            (None, Some(more)) => {
                let axis = body.get("extend_dim").and_then(Value::as_u64).unwrap_or(0) as usize;
                let mut dims = target.dims.clone();
                let longer = dims.get(axis).and_then(|len| len.checked_add(more));
                dims.get_mut(axis).zip(longer).map(|(len, longer)| *len = longer).map(|()| dims)
            }
            _ => None,
        };
        let dims = dims
            .ok_or_else(|| Failure::invalid("there is no shape, or it is too long", "send {\"shape\": [LENGTH, …]}"))?;
        state.resize(&id, &dims)?;
        Ok(json!({"shape": dims, "selection": null, "hrefs": []}))
    })
    .await?;
    Ok(reply::created(&answer))
}
