//! Rows of a table in XDR, by the scan of the engine with its pruning.

use std::sync::Arc;

use bytes::Bytes;
use icecore::grid::Result;
use icecore::scan::{Batch, Column, Scan, ScanOptions, Table};
use icecore::session::Values;

use super::element::xdr;
use super::model::Kind;
use super::rows::Rows;
use super::source::Source;
use crate::http::error::Answer;
use crate::stream::Blocks;

/// Before each row, and after the last one.
const ROW: [u8; 4] = [0x5a, 0, 0, 0];
const END: [u8; 4] = [0xa5, 0, 0, 0];

/// The rows of a request in XDR.
pub(super) fn blocks(rows: &Rows, source: &Source) -> Answer<Blocks> {
    let session = &source.domain.session;
    let mut columns = Vec::new();
    for number in &rows.known {
        let Some(variable) = source.dataset.variable(*number) else { continue };
        let view = session.array(&variable.path)?;
        columns.push(Column::new(variable.name.clone(), view, Vec::new(), None));
    }
    let table = Arc::new(Table::new(columns)?);
    let filter = rows.clause.as_ref().map(|clause| table.filter(clause)).transpose()?;
    let place = |number: &usize| rows.known.iter().position(|known| known == number);
    let wanted: Vec<usize> = rows.columns.iter().filter_map(|(number, _)| place(number)).collect();
    let parts = rows.range.clone().map(|range| vec![range]);
    let options = ScanOptions { columns: wanted, filter, rows: parts, ..ScanOptions::default() };
    let scan = Scan::new(Arc::clone(&table), options)?;
    let kinds = rows.columns.iter().map(|(_, kind)| *kind).collect();
    Ok(Box::new(Sending { scan, table, kinds, is_over: false }))
}

struct Sending {
    scan: Scan,
    table: Arc<Table>,
    kinds: Vec<Kind>,
    is_over: bool,
}

impl Iterator for Sending {
    type Item = Answer<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        match self.scan.next_batch() {
            Ok(Some(batch)) => Some(self.encoded(batch).map_err(Into::into)),
            Ok(None) => {
                self.is_over = true;
                Some(Ok(Bytes::from_static(&END)))
            }
            Err(error) => {
                self.is_over = true;
                Some(Err(error.into()))
            }
        }
    }
}

impl Sending {
    fn encoded(&self, batch: Batch) -> Result<Bytes> {
        let rows = batch.rows;
        let mut columns = Vec::new();
        for ((elements, number), kind) in batch.columns.into_iter().zip(self.scan.columns()).zip(&self.kinds) {
            let Some(column) = self.table.columns().get(*number) else { continue };
            let values = Values::new(column.view.meta().dtype.clone(), elements.bytes, elements.blobs);
            columns.push(Encoded::new(xdr(values, *kind, 0)?, *kind));
        }
        let mut out = Vec::with_capacity(columns.iter().map(|each| each.bytes.len()).sum::<usize>() + 4 * rows);
        for _ in 0..rows {
            out.extend(ROW);
            columns.iter_mut().for_each(|column| column.next(&mut out));
        }
        Ok(Bytes::from(out))
    }
}

/// A column in XDR, taken apart row by row.
struct Encoded {
    bytes: Vec<u8>,
    size: Option<usize>,
    at: usize,
}

impl Encoded {
    fn new(bytes: Vec<u8>, kind: Kind) -> Self {
        let size = match kind {
            kind if kind.is_text() => None,
            Kind::Float64 => Some(8),
            _ => Some(4),
        };
        Self { bytes, size, at: 0 }
    }

    fn next(&mut self, out: &mut Vec<u8>) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let size = self.size.unwrap_or_else(|| {
            // A text after its length, filled to units of four bytes.
            let length = rest.first_chunk().map_or(0, |word| u32::from_be_bytes(*word) as usize);
            4 + length.next_multiple_of(4)
        });
        out.extend_from_slice(rest.get(..size).unwrap_or_default());
        self.at += size;
    }
}
