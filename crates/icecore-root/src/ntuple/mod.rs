//! `RNTuple`: fields, columns, clusters and the pages of each column.

mod anchor;
mod column;
mod envelope;
mod frame;
mod page;
mod page_list;
mod schema;
#[cfg(test)]
mod tests;

use icecore_grid::{Error, ErrorKind, ReadAt, Result};

pub use column::{Column, ColumnType};
pub use page::{decode_page, packed_len};
pub use page_list::{Cluster, ColumnPages, Page};
pub use schema::{Alias, Field, Role};

use crate::compression::Expander;
use crate::cursor::{Cursor, Within, corrupt};
use anchor::Anchor;

/// An ntuple.
#[derive(Debug, Clone, PartialEq)]
pub struct NTuple {
    pub name: String,
    pub description: String,
    pub writer: String,
    pub entries: u64,
    /// Fields of header and schema extension; the index is the field's id.
    pub fields: Vec<Field>,
    /// Physical columns of header and schema extension; the index is the column's id.
    pub columns: Vec<Column>,
    /// Columns of projected fields, which are aliases of other columns.
    pub aliases: Vec<Alias>,
    pub clusters: Vec<Cluster>,
    /// The pages of all clusters; [`ColumnPages::pages`] is a range of it.
    pub pages: Vec<Page>,
}

impl NTuple {
    /// Reads all envelopes: two requests, and one for each cluster group.
    pub(crate) fn read(source: &dyn ReadAt, anchor: &[u8]) -> Result<Self> {
        let anchor = Anchor::read(anchor).within(|| "anchor")?;
        let mut expander = Expander::default();
        let bytes = envelope::fetch(source, &anchor.header, &mut expander).within(|| "header")?;
        let (mut schema, header_sum) = (schema::Schema::default(), envelope::checksum(&bytes).within(|| "header")?);
        let (name, description, writer) = read_header(&bytes, &mut schema).within(|| "header")?;
        let bytes = envelope::fetch(source, &anchor.footer, &mut expander).within(|| "footer")?;
        let groups = read_footer(&bytes, header_sum, &mut schema).within(|| "footer")?;
        let schema = schema.finish()?;
        let mut out = Self {
            name,
            description,
            writer,
            entries: 0,
            fields: schema.fields,
            columns: schema.columns,
            aliases: schema.aliases,
            clusters: Vec::new(),
            pages: Vec::new(),
        };
        for (number, group) in groups.iter().enumerate() {
            let name = || format!("cluster group {number}");
            let bytes = envelope::fetch(source, &group.pages, &mut expander).within(name)?;
            page_list::read(&bytes, header_sum, group, &mut out).within(name)?;
        }
        out.check(source.len())?;
        Ok(out)
    }

    /// Rejects clusters that leave gaps or overlap, and pages beyond the end of the file.
    fn check(&mut self, len: u64) -> Result<()> {
        self.clusters.sort_by_key(|cluster| cluster.first_entry);
        for (number, cluster) in self.clusters.iter().enumerate() {
            if cluster.first_entry != self.entries {
                return Err(corrupt(format!(
                    "cluster {number} begins with entry {}, expected {}",
                    cluster.first_entry, self.entries
                )));
            }
            let next = self.entries.checked_add(cluster.entries);
            self.entries = next.ok_or_else(|| corrupt(format!("cluster {number}: too many entries")))?;
        }
        let outside = self.pages.iter().find(|p| p.offset.checked_add(p.stored_len()).is_none_or(|end| end > len));
        match outside {
            Some(page) => Err(corrupt(format!(
                "a page of {} bytes at offset {} reaches beyond the end of the file ({len} bytes)",
                page.len, page.offset
            ))),
            None => Ok(()),
        }
    }

    /// The columns of a field, by representation; all representations have the same number of columns.
    pub fn columns_of(&self, field: usize) -> impl Iterator<Item = (usize, &Column)> {
        self.columns.iter().enumerate().filter(move |(_, column)| column.field == field)
    }

    /// The pages of a column in a cluster.
    #[must_use]
    pub fn pages_of(&self, cluster: usize, column: usize) -> &[Page] {
        let pages = self.clusters.get(cluster).and_then(|c| c.columns.get(column)).map(|c| c.pages.clone());
        pages.and_then(|range| self.pages.get(range)).unwrap_or_default()
    }

    /// Reads and decodes the elements of a column in a cluster.
    ///
    /// Elements of a deferred column before its first page are zero. A suppressed column is `Unsupported` here, because
    /// another representation of its field has the values.
    pub fn read_column(&self, source: &dyn ReadAt, cluster: usize, column: usize) -> Result<Vec<u8>> {
        let kind =
            self.columns.get(column).ok_or_else(|| Error::new(ErrorKind::Invalid, format!("no column {column}")))?;
        let listed = self.clusters.get(cluster).and_then(|c| c.columns.get(column));
        if listed.is_some_and(|listed| listed.first_element.is_none()) {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("column {column} is suppressed in cluster {cluster}"),
            )
            .hint("read the representation of its field that is not suppressed"));
        }
        let (mut expander, mut out, mut stored) = (Expander::default(), Vec::new(), Vec::new());
        for (number, page) in self.pages_of(cluster, column).iter().enumerate() {
            let name = || format!("column {column}, cluster {cluster}, page {number} at offset {}", page.offset);
            let len = page.elements.checked_mul(kind.kind.size() as u64).and_then(|n| usize::try_from(n).ok());
            let len = len.ok_or_else(|| corrupt("too many elements")).within(name)?;
            stored = read_page(source, page, stored).within(name)?;
            let start = out.len();
            page::plausible(kind, page).within(name)?;
            out.try_reserve(len).map_err(|_| Error::new(ErrorKind::Memory, format!("no memory for {len} bytes")))?;
            out.resize(start + len, 0);
            let room = out.get_mut(start..).unwrap_or_default();
            decode_page(&stored, page.has_checksum, kind, room, &mut expander).within(name)?;
        }
        Ok(out)
    }
}

/// Reads a header, a footer and a page list after correcting their checksums.
pub(crate) fn read_envelopes(parts: [&[u8]; 3]) -> Result<()> {
    let header = envelope::sealed(parts[0], None);
    let mut schema = schema::Schema::default();
    let names = read_header(&header, &mut schema)?;
    let sum = envelope::checksum(&header)?;
    // The header's checksum follows the envelope's header, and in a footer its flags.
    let footer = envelope::sealed(parts[1], Some((16, sum)));
    let list = envelope::sealed(parts[2], Some((8, sum)));
    let groups = read_footer(&footer, sum, &mut schema);
    let schema = schema.finish()?;
    let (name, description, writer) = names;
    let mut out = NTuple {
        name,
        description,
        writer,
        entries: 0,
        fields: schema.fields,
        columns: schema.columns,
        aliases: schema.aliases,
        clusters: Vec::new(),
        pages: Vec::new(),
    };
    for group in groups? {
        page_list::read(&list, sum, &group, &mut out)?;
    }
    out.check(u64::MAX)
}

fn read_page(source: &dyn ReadAt, page: &Page, mut stored: Vec<u8>) -> Result<Vec<u8>> {
    let len = usize::try_from(page.stored_len()).map_err(|_| corrupt("a page longer than memory"))?;
    if page.offset.checked_add(page.stored_len()).is_none_or(|end| end > source.len()) {
        return Err(corrupt("it reaches beyond the end of the file"));
    }
    stored.resize(len, 0);
    source.read_at(page.offset, &mut stored)?;
    Ok(stored)
}

fn read_header(bytes: &[u8], schema: &mut schema::Schema) -> Result<(String, String, String)> {
    let mut cursor = envelope::open(bytes, envelope::HEADER)?;
    frame::feature_flags(&mut cursor)?;
    let names = (frame::string(&mut cursor)?, frame::string(&mut cursor)?, frame::string(&mut cursor)?);
    schema.read(&mut cursor)?;
    Ok(names)
}

fn read_footer(bytes: &[u8], header_sum: u64, schema: &mut schema::Schema) -> Result<Vec<page_list::Group>> {
    let mut cursor = envelope::open(bytes, envelope::FOOTER)?;
    frame::feature_flags(&mut cursor)?;
    let sum = cursor.u64_le()?;
    if sum != header_sum {
        return Err(corrupt(format!("it belongs to the header {sum:016x}, the header is {header_sum:016x}")));
    }
    let mut extension = Cursor::new(frame::record(&mut cursor)?);
    schema.read(&mut extension).within(|| "schema extension")?;
    frame::list(&mut cursor, |inner| page_list::Group::read(&mut Cursor::new(frame::record(inner)?)))
}
