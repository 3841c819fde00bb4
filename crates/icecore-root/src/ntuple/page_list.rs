//! Page lists: for each cluster of a cluster group, the pages of each column.

use std::ops::Range;

use icecore_grid::Result;

use super::envelope::{self, Link};
use super::frame::{link, list, list_of, locator, record};
use super::{NTuple, envelope::PAGE_LIST};
use crate::cursor::{Cursor, Within, corrupt, unsupported};

/// A range of entries that is stored together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    pub first_entry: u64,
    pub entries: u64,
    /// By column id. Columns of a later schema extension are absent at the end.
    pub columns: Vec<ColumnPages>,
}

/// The pages of a column in a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnPages {
    /// Index of the first element in the whole column; `None` if the column is suppressed.
    pub first_element: Option<u64>,
    /// Elements in the cluster.
    pub elements: u64,
    pub compression: u32,
    /// Range of [`NTuple::pages`].
    pub pages: Range<usize>,
}

/// A page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    pub elements: u64,
    pub offset: u64,
    /// Bytes without the checksum.
    pub len: u64,
    /// Whether an XXH3 of 8 bytes follows.
    pub has_checksum: bool,
}

impl Page {
    /// Bytes with the checksum.
    #[must_use]
    pub fn stored_len(&self) -> u64 {
        self.len.saturating_add(if self.has_checksum { 8 } else { 0 })
    }
}

/// A cluster group of the footer.
pub(super) struct Group {
    clusters: usize,
    pub pages: Link,
}

impl Group {
    pub fn read(cursor: &mut Cursor) -> Result<Self> {
        cursor.take(16)?; // first entry and number of entries: the clusters have them
        let clusters = cursor.u32_le()? as usize;
        Ok(Self { clusters, pages: link(cursor)? })
    }
}

/// Reads the page list of a group and appends its clusters to `out`.
pub(super) fn read(bytes: &[u8], header_sum: u64, group: &Group, out: &mut NTuple) -> Result<()> {
    let mut cursor = envelope::open(bytes, PAGE_LIST)?;
    let sum = cursor.u64_le()?;
    if sum != header_sum {
        return Err(corrupt(format!("it belongs to the header {sum:016x}, the header is {header_sum:016x}")));
    }
    let summaries = list(&mut cursor, |inner| summary(&mut Cursor::new(record(inner)?)))?;
    let (columns, pages) = (out.columns.len(), &mut out.pages);
    let clusters = list(&mut cursor, |inner| list(inner, |inner| column_pages(inner, pages)))?;
    if summaries.len() != clusters.len() || clusters.len() != group.clusters {
        return Err(corrupt(format!(
            "{} clusters, {} summaries and {} page lists",
            group.clusters,
            summaries.len(),
            clusters.len()
        )));
    }
    for ((first_entry, entries), listed) in summaries.into_iter().zip(clusters) {
        if listed.len() > columns {
            return Err(corrupt(format!("pages of {} columns, the schema has {columns}", listed.len())));
        }
        out.clusters.push(Cluster { first_entry, entries, columns: listed });
    }
    Ok(())
}

fn summary(cursor: &mut Cursor) -> Result<(u64, u64)> {
    let (first, entries) = (cursor.u64_le()?, cursor.u64_le()?);
    match entries >> 56 {
        0 => Ok((first, entries)),
        flags => Err(unsupported(format!("cluster flags {flags:#x} (sharded clusters)"))),
    }
}

pub(super) fn column_pages(cursor: &mut Cursor, pages: &mut Vec<Page>) -> Result<ColumnPages> {
    let start = pages.len();
    let (found, mut rest) = list_of(cursor, page).within(|| "pages")?;
    let elements = found.iter().try_fold(0u64, |n, page| n.checked_add(page.elements));
    let elements = elements.ok_or_else(|| corrupt("too many elements"))?;
    pages.extend(found);
    let first = rest.i64_le()?;
    let first_element = u64::try_from(first).ok();
    let compression = if first_element.is_some() { rest.u32_le()? } else { 0 };
    Ok(ColumnPages { first_element, elements, compression, pages: start..pages.len() })
}

fn page(cursor: &mut Cursor) -> Result<Page> {
    // A negative count means that a checksum follows the page.
    let count = cursor.i32_le()?;
    let (offset, len) = locator(cursor)?;
    Ok(Page { elements: u64::from(count.unsigned_abs()), offset, len, has_checksum: count < 0 })
}
