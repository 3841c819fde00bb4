//! Texts that are not UTF-8: HDF5 allows them, Zarr's strings do not, so their array becomes one of byte strings.

use icecore::chunk::DType;
use icecore::grid::{Error, ErrorKind, Result};
use icecore::session::Picks;
use serde_json::{Value, json};

use super::save::parsed;
use super::state::State;
use super::values::Places;
use crate::hdf5::incoming::Elements;
use crate::http::base64::base64;

/// Maximum number of elements of an array that is converted, which is held in memory.
const MOST: u64 = 1 << 24;

impl State {
    /// Converts the strings of a dataset to byte strings if some of the new elements are not UTF-8. Its HDF5 type stays.
    pub(super) fn widen(&mut self, path: &str, new: &Elements) -> Result<()> {
        let Elements::Variable(new) = new else { return Ok(()) };
        if new.iter().all(|text| std::str::from_utf8(text).is_ok()) {
            return Ok(());
        }
        let is_hdf5 = self.model.objects().any(|object| object.marked && object.path.as_deref() == Some(path));
        let view = self.view(path)?;
        let shape = view.meta().shape.clone();
        if !is_hdf5 || view.meta().dtype != DType::VlenUtf8 || shape.iter().product::<u64>() > MOST {
            return Ok(());
        }
        let all = Places::Picks(Picks::all(&shape));
        let old = self.read(path, &all)?;
        let writer = std::sync::Arc::clone(self.writing()?.writer());
        let document = writer.array_document(path)?;
        let document = document.ok_or_else(|| Error::new(ErrorKind::NotFound, format!("{path} has been deleted")))?;
        let mut document = parsed(path, &document)?;
        let fill = document.get("fill_value").and_then(Value::as_str).unwrap_or_default();
        let fill = json!(base64(fill.as_bytes()));
        document.insert("fill_value".to_owned(), fill);
        document.insert("data_type".to_owned(), json!("variable_length_bytes"));
        if let Some(first) = document.get_mut("codecs").and_then(|codecs| codecs.get_mut(0)) {
            *first = json!({"name": "vlen-bytes"});
        }
        self.writing()?.delete(path)?;
        writer.add_array(path, Value::from(document).to_string().as_bytes())?;
        (self.has_written, self.stale) = (true, true);
        self.write(path, &all, &old)
    }
}
