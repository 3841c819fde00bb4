//! restore: reproduce the text of a table from its columns and escapes, through the read pipeline.
//!
//! The text is printed stretch by stretch; escapes give the number of rows of each. Chunks are decoded once, some of
//! each column at a time, in reused memory.

use std::ops::Range;
use std::sync::Arc;

use icecore_chunk::{DType, Number, with_number};
use icecore_grid::{Error, ErrorKind, Index, Mode, Result, Selection};
use icecore_text::{Column, Escapes, Format, Style, Values, View, print};
use icecore_where::text_of;
use rayon::prelude::*;

use crate::pool::pool;
use crate::read::{ArrayView, Blobs, Query, ReadOptions, Target, read};

/// Rows of every column that are decoded together, usually two chunks: the result stays in a cache.
const WINDOW: u64 = 1 << 15;
/// Maximum bytes of them, for long rows.
const MEMORY: u64 = 1 << 26;

/// A text that is being restored.
pub struct Restoring {
    format: Format,
    columns: Vec<Rows>,
    /// Number of rows in the columns, and the first row that has not been printed.
    held: Range<u64>,
    next: u64,
    end: u64,
    escapes: Vec<u8>,
    at: usize,
}

/// One column: decoded rows that are not printed yet, and the rows decoded last.
struct Rows {
    array: Arc<ArrayView>,
    values: Values,
    decoded: Vec<u8>,
}

impl Restoring {
    /// The rows `rows` of `columns` in this format; `escapes`: the array with the escapes of all stretches, and the
    /// range in it.
    ///
    /// # Errors
    /// `mismatch` if an array does not match its column's format or has fewer rows; the errors of a read.
    pub fn new(
        format: Format,
        columns: Vec<Arc<ArrayView>>,
        rows: Range<u64>,
        escapes: (&ArrayView, Range<u64>),
    ) -> Result<Self> {
        if columns.len() != format.columns.len() {
            let message = format!("{} arrays for {} columns of text", columns.len(), format.columns.len());
            return Err(damaged(message));
        }
        let both = format.columns.iter().zip(columns);
        let columns = both.map(|(column, array)| Rows::new(column, array, rows.end)).collect::<Result<_>>()?;
        let escapes = stored(escapes.0, escapes.1)?;
        Ok(Self { format, columns, held: rows.start..rows.start, next: rows.start, end: rows.end, escapes, at: 0 })
    }

    /// The text of the next stretch, in consecutive parts; `None` at the end.
    ///
    /// # Errors
    /// The errors of a read; `mismatch` if a value can't be printed; `corrupt` if escapes and format don't belong
    /// together.
    #[allow(clippy::should_implement_trait)] // it may fail
    pub fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>> {
        let rest = self.escapes.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let (escapes, used) = Escapes::decode(rest)?;
        let stop = self.next.saturating_add(u64::from(escapes.rows));
        if stop > self.end {
            return Err(damaged("the escapes count more rows than there are".to_owned()));
        }
        while self.held.end < stop {
            self.load()?;
        }
        let first = (self.next - self.held.start) as usize;
        let rows = first..first + escapes.rows as usize;
        let views: Vec<View<'_>> = self.columns.iter().map(|column| column.values.view().part(&rows)).collect();
        let parts = pool()?.install(|| print(&self.format, &views, &escapes))?;
        self.at += used;
        self.next = stop;
        Ok(Some(parts))
    }

    /// Decodes the next rows of all columns, up to the end of a chunk.
    fn load(&mut self) -> Result<()> {
        let from = self.held.end;
        let row: u64 = self.columns.iter().map(|rows| rows.array.meta().dtype.size() as u64).sum();
        let window = WINDOW.min(1 << (MEMORY / row.max(1)).max(1).ilog2());
        // Strings may be long, so not many more rows than a chunk holds.
        let window = self.columns.iter().filter_map(Rows::strings).fold(window, |most, chunk| most.min(2 * chunk));
        let until = (from / window + 1).saturating_mul(window).min(self.end);
        let selections = self.columns.iter().map(|rows| slice(&rows.array, from..until)).collect::<Result<Vec<_>>>()?;
        let count = (until - from) as usize;
        let blobs: Vec<Blobs> = self.columns.iter().map(|_| Blobs::default()).collect();
        let mut queries = Vec::with_capacity(self.columns.len());
        for ((rows, selection), blobs) in self.columns.iter_mut().zip(&selections).zip(&blobs) {
            let Rows { array, decoded, .. } = rows;
            let array: &ArrayView = array;
            let bytes = count.saturating_mul(array.meta().dtype.size());
            make_room(decoded, bytes)?;
            let target = Target::new(decoded.get_mut(..bytes).unwrap_or_default());
            queries.push(Query { array, selection, target, blobs });
        }
        read(&queries, &ReadOptions::default())?;
        drop(queries);
        let done = (self.next - self.held.start) as usize;
        let take = |(rows, blobs): (&mut Rows, Blobs)| rows.take(done, count, &blobs.into_vec());
        pool()?.install(|| self.columns.par_iter_mut().zip(blobs).try_for_each(take))?;
        self.held = self.next..until;
        Ok(())
    }
}

impl Rows {
    fn new(column: &Column, array: Arc<ArrayView>, end: u64) -> Result<Self> {
        let (meta, values) = (array.meta(), column.values(0));
        let fits = match (&values, &meta.dtype) {
            (Values::Int(_), DType::DateTime64 { .. } | DType::TimeDelta64 { .. }) => {
                matches!(column.style, Style::Time(_))
            }
            (Values::Int(_), DType::UInt64) => matches!(column.style, Style::Unsigned(_)),
            (Values::Int(_), DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64) => {
                !matches!(column.style, Style::Unsigned(_))
            }
            (Values::Real(_), DType::Float64) => true,
            (Values::Text { width, .. }, DType::Bytes(size)) => width == size,
            (Values::Strings { .. }, DType::VlenUtf8) => true,
            _ => false,
        };
        if !fits || meta.shape.len() != 1 || meta.shape.first().is_none_or(|length| *length < end) {
            let message = format!(
                "{} has shape {:?} of {}, its text has {end} rows in another form: the column was written over since",
                array.path(),
                meta.shape,
                meta.dtype.to_json()
            );
            return Err(Error::new(ErrorKind::Mismatch, message).hint("restore an earlier version of the table"));
        }
        Ok(Self { array, values, decoded: Vec::new() })
    }

    /// Rows per chunk of strings.
    fn strings(&self) -> Option<u64> {
        let meta = self.array.meta();
        let chunk = meta.shard.as_ref().map_or_else(|| meta.grid.chunk_shape(&[0]), |shard| shard.chunk.clone());
        chunk.first().filter(|rows| meta.dtype.is_vlen() && **rows > 0).copied()
    }

    /// Removes the first rows, which are printed, and adds the decoded ones.
    fn take(&mut self, done: usize, count: usize, blobs: &[Arc<[u8]>]) -> Result<()> {
        self.values.skip(done);
        let dtype = &self.array.meta().dtype;
        let bytes = self.decoded.get(..count * dtype.size()).unwrap_or_default();
        match &mut self.values {
            Values::Int(v) => with_number!(dtype, T => v.extend(T::values(bytes).map(|x| x.int() as i64)), else ()),
            Values::Real(v) => v.extend(f64::values(bytes)),
            Values::Text { bytes: texts, .. } => texts.extend_from_slice(bytes),
            strings @ Values::Strings { .. } => {
                let mut buffer = Vec::new();
                for element in bytes.chunks_exact(dtype.size()) {
                    strings.push_string(text_of(dtype, element, blobs, &mut buffer)?);
                }
            }
        }
        Ok(())
    }
}

/// Reads bytes of an array of bytes.
fn stored(array: &ArrayView, rows: Range<u64>) -> Result<Vec<u8>> {
    let meta = array.meta();
    if meta.dtype != DType::UInt8 || meta.shape.len() != 1 || meta.shape.first().is_none_or(|n| *n < rows.end) {
        let message =
            format!("{} has shape {:?}, escapes are said to be up to byte {}", array.path(), meta.shape, rows.end);
        return Err(damaged(message));
    }
    let (selection, blobs, mut bytes) = (slice(array, rows)?, Blobs::default(), Vec::new());
    make_room(&mut bytes, usize::try_from(selection.out_len()).unwrap_or(usize::MAX))?;
    read(
        &[Query { array, selection: &selection, target: Target::new(&mut bytes), blobs: &blobs }],
        &ReadOptions::default(),
    )?;
    Ok(bytes)
}

/// Selects rows of an array with one axis.
fn slice(array: &ArrayView, rows: Range<u64>) -> Result<Selection> {
    let slice = Index::Slice { start: Some(rows.start as i64), stop: Some(rows.end as i64), step: None }; // below 2⁶³, as lengths
    Selection::resolve(&array.meta().shape, &[slice], Mode::Numpy)
}

/// A buffer of at least this many bytes.
fn make_room(buffer: &mut Vec<u8>, bytes: usize) -> Result<()> {
    if buffer.len() < bytes {
        let more = buffer.try_reserve_exact(bytes - buffer.len());
        more.map_err(|_| Error::new(ErrorKind::Memory, format!("no memory for {bytes} bytes of a column")))?;
        buffer.resize(bytes, 0);
    }
    Ok(())
}

fn damaged(message: String) -> Error {
    Error::new(ErrorKind::Corrupt, message).hint("icecore verify --deep lists the damaged objects")
}
