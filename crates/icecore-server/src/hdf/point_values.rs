//! Read elements at coordinates.

use icecore::grid::Selection;

use super::body;
use super::select::Reading;
use crate::hdf5::nest::{Nest, empty};
use crate::http::error::Answer;

/// The elements at some coordinates, as a result of a shape.
pub(super) fn read(reading: &Reading, coordinates: &[u64], shape: &[u64], as_bytes: bool) -> Answer {
    let rank = reading.dataset.view.meta().shape.len();
    let columns: Vec<Vec<u64>> =
        (0..rank).map(|axis| coordinates.iter().skip(axis).step_by(rank).copied().collect()).collect();
    let selection = Selection::points(&reading.dataset.view.meta().shape, &columns)?;
    let values = reading.narrowed(reading.whole(&selection)?)?;
    if as_bytes {
        return Ok(body::binary(reading.encoded(values)?));
    }
    let mut out = String::from("{\"value\":");
    if values.is_empty() {
        empty(shape, &mut out);
    }
    body::elements(reading, &values, &mut Nest::new(shape), &mut out)?;
    out.push_str(",\"hrefs\":[]}");
    Ok(body::json(out))
}
