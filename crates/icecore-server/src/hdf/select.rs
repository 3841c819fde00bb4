//! Requests for elements: parse selection, fields and form, and read.

use std::sync::Arc;

use axum::http::{HeaderMap, header};
use bytes::Bytes;
use icecore::chunk::DType;
use icecore::grid::{Error, ErrorKind, Result, Selection};
use icecore::session::{Picks, Values};

use crate::app::App;
use crate::domains::Domain;
use crate::hdf5::text::NotFinite;
use crate::hdf5::translate::Dataset;
use crate::hdf5::types::H5Type;
use crate::hdf5::wire;
use crate::http::error::Answer;
use crate::http::params::Params;
use crate::reading;

/// A dataset with its request.
pub(super) struct Reading {
    pub app: App,
    pub domain: Arc<Domain>,
    pub dataset: Arc<Dataset>,
    /// Indexes of the requested fields of a record; `None`: all.
    fields: Option<Vec<usize>>,
    pub not_finite: NotFinite,
}

/// Whether the client accepts bytes. As in HSDS, the Accept header must name them and nothing else.
pub(super) fn wants_bytes(headers: &HeaderMap) -> bool {
    headers.get(header::ACCEPT).is_some_and(|value| value.as_bytes() == b"application/octet-stream")
}

impl Reading {
    pub fn new(app: App, domain: Arc<Domain>, dataset: Arc<Dataset>, params: &Params) -> Answer<Self> {
        let names = params.get("fields").filter(|fields| !fields.is_empty());
        let fields = names.map(|names| dataset.h5.field_numbers(names)).transpose()?;
        let not_finite = if params.flag("ignore_nan") { NotFinite::Null } else { NotFinite::Words };
        Ok(Self { app, domain, dataset, fields, not_finite })
    }

    /// The requested selection; the whole dataset by default.
    pub fn picks(&self, select: Option<&str>) -> Result<Picks> {
        let meta = self.dataset.view.meta();
        match select.map(str::trim).filter(|text| !text.is_empty()) {
            Some(text) => Picks::parse(text, &meta.shape, &meta.dims),
            None => Ok(Picks::all(&meta.shape)),
        }
    }

    /// The type of the sent elements.
    pub fn h5(&self) -> H5Type {
        match (&self.dataset.h5, &self.fields) {
            (H5Type::Compound(all), Some(wanted)) => {
                H5Type::Compound(wanted.iter().filter_map(|number| all.get(*number).cloned()).collect())
            }
            (whole, _) => whole.clone(),
        }
    }

    /// Bytes of the whole response, if elements have a fixed size.
    pub fn length(&self, elements: u64) -> Option<u64> {
        let h5 = self.h5();
        h5.is_plain().then(|| elements.checked_mul(h5.size() as u64)).flatten()
    }

    /// Reads the elements of a selection, with all fields.
    pub fn whole(&self, selection: &Selection) -> Result<Values> {
        reading::read(&self.app, &self.domain, &self.dataset.view, selection)
    }

    /// Keeps the requested fields of elements.
    pub fn narrowed(&self, values: Values) -> Result<Values> {
        match (&self.dataset.h5, &self.fields) {
            (H5Type::Compound(_), Some(wanted)) => project(&values, wanted),
            _ => Ok(values),
        }
    }

    /// Converts elements to the API's bytes.
    pub fn encoded(&self, values: Values) -> Result<Bytes> {
        let bytes = wire::bytes(values, &self.h5(), self.dataset.big)?;
        Ok(self.app.buffers.lend(bytes))
    }
}

/// Records with only the given fields.
fn project(values: &Values, wanted: &[usize]) -> Result<Values> {
    let DType::Struct(all) = &values.dtype else { return Err(Error::new(ErrorKind::Internal, "not records")) };
    let mut at = 0;
    let mut places = Vec::new();
    for (_, field) in all {
        places.push(at..at + field.size());
        at += field.size();
    }
    let places: Vec<_> = wanted.iter().filter_map(|number| places.get(*number).cloned()).collect();
    let kept = DType::Struct(wanted.iter().filter_map(|number| all.get(*number).cloned()).collect());
    let mut bytes = Vec::with_capacity(values.len() * kept.size());
    for record in values.bytes.chunks_exact(at.max(1)) {
        places.iter().for_each(|place| bytes.extend_from_slice(record.get(place.clone()).unwrap_or_default()));
    }
    Ok(Values::fixed(kept, bytes))
}
