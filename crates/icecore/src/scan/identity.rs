//! Digest of the data that a summary was computed from, to detect outdated summaries.

use icecore_catalog::{Location, Place};
use icecore_grid::Result;

use super::column::Column;
use crate::store::stores;

/// Digest of a column's identity: its length, type, nulls, and the location of each chunk. Equal in every version with
/// the same references; different as soon as any chunk is written or linked again.
///
/// # Errors
/// The errors of loading the references.
pub fn digest(column: &Column) -> Result<u64> {
    let meta = column.view.meta();
    let mut hash = Fnv::default();
    hash.text(&meta.dtype.to_json().to_string());
    hash.text(&meta.codecs.to_string());
    meta.shape.iter().for_each(|n| hash.number(*n));
    hash.bytes(&meta.fill);
    column.nulls.iter().for_each(|null| hash.bytes(null));
    let table = column.view.table()?;
    for (flat, place) in table.iter() {
        hash.number(flat);
        match place {
            Place::Missing => {}
            Place::Inline(bytes) => hash.bytes(&bytes),
            Place::Range { object, offset, length } => {
                match table.objects.get(object as usize).map(|o| &o.location) {
                    Some(Location::Native(name)) => hash.text(name),
                    Some(Location::Link(url)) => {
                        hash.text(url);
                        if let Some(identity) = column.view.snapshot().source_identity(url)? {
                            hash.number(identity.size);
                            hash.number(identity.mtime_ns as u64);
                            hash.text(identity.etag.as_deref().unwrap_or(""));
                        }
                    }
                    None => {}
                }
                hash.number(offset);
                hash.number(length);
            }
        }
    }
    Ok(hash.0)
}

/// Checks that local linked files are unchanged since they were summarised, because skipped rows are not read.
///
/// # Errors
/// `source-changed`, `source-missing`, `link-not-allowed`.
pub fn check_sources(column: &Column) -> Result<()> {
    let links = column.view.table()?.objects.iter().filter(|o| matches!(o.location, Location::Link(_)));
    for object in links {
        stores().open(column.view.repo(), column.view.snapshot(), object)?;
    }
    Ok(())
}

/// FNV-1a with 64 bits (G. Fowler, L. C. Noll, P. Vo). It distinguishes versions; it is not cryptographic.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        bytes.iter().for_each(|b| self.byte(*b));
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn number(&mut self, number: u64) {
        number.to_le_bytes().iter().for_each(|b| self.byte(*b));
    }

    fn byte(&mut self, byte: u8) {
        self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    }
}
