//! Requests for elements: parse selection, fields and form, and read.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

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
use crate::http::size::check_size;

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
        let fields = names.map(|names| fields(&dataset.h5, names)).transpose()?;
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
        let begun = Instant::now();
        let view = &self.dataset.view;
        check_size(selection.out_len(), view.meta().dtype.size(), self.app.config.limits.elements)?;
        let (values, report) = self.domain.session.read_into(view, selection, self.app.buffers.take())?;
        let metrics = &self.app.metrics;
        metrics.blocks.fetch_add(1, Ordering::Relaxed);
        metrics.value_bytes.fetch_add(values.bytes.len() as u64, Ordering::Relaxed);
        metrics.fetched_bytes.fetch_add(report.bytes_fetched, Ordering::Relaxed);
        metrics.chunks.fetch_add(report.chunks, Ordering::Relaxed);
        metrics.read_micros.fetch_add(begun.elapsed().as_micros() as u64, Ordering::Relaxed);
        Ok(values)
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

fn fields(h5: &H5Type, names: &str) -> Result<Vec<usize>> {
    let H5Type::Compound(all) = h5 else {
        return Err(Error::new(ErrorKind::Invalid, format!("fields={names}: the elements are not records"))
            .hint("leave out `fields` for this dataset"));
    };
    let known: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let number = |name: &str| {
        known.iter().position(|each| *each == name).ok_or_else(|| {
            Error::new(ErrorKind::Invalid, format!("the records have no field {name:?}"))
                .hint(format!("the fields are {}", known.join(", ")))
        })
    };
    let numbers: Vec<usize> = names.split(':').map(number).collect::<Result<_>>()?;
    if numbers.len() > numbers.iter().collect::<HashSet<_>>().len() {
        return Err(Error::new(ErrorKind::Invalid, "fields: a field is named twice").hint("name each field once"));
    }
    Ok(numbers)
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
