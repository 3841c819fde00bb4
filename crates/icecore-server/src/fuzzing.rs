//! Entrances for fuzz targets: parsers of requests, without a server.

use icecore::session::Picks;
use icecore_where::ColumnType;

use crate::hdf5::{clause, creation, incoming, types_parse};
use crate::http::json::json_body;

/// A selection of an array.
pub fn selection(text: &str, shape: &[u64]) {
    let dims = vec![None; shape.len()];
    if let Ok(picks) = Picks::parse(text, shape, &dims) {
        assert_eq!(picks.axes.len(), shape.len());
        let _ = picks.selection();
    }
}

/// A query over some columns.
pub fn query(text: &str, columns: &[ColumnType]) {
    if let Ok(clause) = clause::where_clause(text, columns) {
        let _ = icecore_where::filter(&clause, columns);
    }
}

/// The body of `POST /datasets`: a document that can be parsed, or an error; and the elements of its `value`.
pub fn dataset(body: &[u8]) {
    let Ok(serde_json::Value::Object(body)) = json_body(body) else { return };
    let kind = body.get("type").cloned().unwrap_or_default();
    let Ok(metadata) = creation::metadata(&body, &kind) else { return };
    let Ok(document) = creation::document(&metadata, serde_json::json!({})) else { return };
    let _ = icecore::chunk::ArrayMeta::parse(document.to_string().as_bytes());
    let (Ok(parsed), Some(value)) = (types_parse::parse(&kind), body.get("value")) else { return };
    let mut bytes = Vec::new();
    if incoming::from_json(value, 1, &parsed.h5, parsed.big, &mut bytes).is_ok() {
        let elements = incoming::elements(&bytes, &parsed.h5, parsed.big);
        assert!(elements.is_ok(), "elements that were made from JSON are whole");
    }
}
