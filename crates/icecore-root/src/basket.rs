//! A basket: key, header, and values, which decode to native byte order.

use icecore_grid::{Error, ErrorKind, Result};

use crate::compression::Expander;
use crate::cursor::{Cursor, corrupt};
use crate::dtype::{DType, from_big_endian};
use crate::embedded::{Embedded, relative};

/// `u16 version, i32 size, i32 length of offsets, i32 entries, i32 end, u8 flag` at the end of a basket's key.
const HEADER: usize = 19;

/// A decompressed basket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basket {
    /// Entries in the basket.
    pub entries: usize,
    content: Vec<u8>,
    offsets: Option<Vec<u32>>,
}

/// Description of a basket's values, from its key.
pub(crate) struct Bounds {
    pub entries: u64,
    /// Bytes of values, without offsets.
    pub bytes: u64,
}

/// The lengths at the beginning of a basket's key.
struct KeyHead {
    stored_len: usize,
    object_len: usize,
    key_len: usize,
}

impl KeyHead {
    /// `start` holds the first bytes of a basket of `len` bytes.
    fn read(start: &[u8], len: usize) -> Result<Self> {
        let mut cursor = Cursor::new(start);
        let (stored_len, _version, object_len) = (cursor.i32()?, cursor.i16()?, cursor.i32()?);
        cursor.take(4)?;
        let key_len = cursor.i16()?;
        let lengths = (usize::try_from(stored_len), usize::try_from(object_len), usize::try_from(key_len));
        let (Ok(stored_len), Ok(object_len), Ok(key_len)) = lengths else {
            return Err(corrupt(format!("basket lengths {stored_len}, {object_len}, {key_len} must not be negative")));
        };
        if stored_len > len || key_len > stored_len || key_len < HEADER + 18 {
            return Err(corrupt(format!(
                "basket of {stored_len} bytes with a key of {key_len}; {len} bytes are available"
            )));
        }
        Ok(Self { stored_len, object_len, key_len })
    }

    fn bounds(&self, start: &[u8]) -> Result<Bounds> {
        let mut cursor = Cursor::at(start, self.key_len - HEADER + 10);
        let (entries, last) = (cursor.i32()?, cursor.i32()?);
        let border = usize::try_from(last).ok().and_then(|last| last.checked_sub(self.key_len));
        match (u64::try_from(entries), border.filter(|b| *b <= self.object_len)) {
            (Ok(entries), Some(border)) => Ok(Bounds { entries, bytes: border as u64 }),
            _ => Err(corrupt(format!(
                "basket of {entries} entries whose values end at byte {last} (key {}, data {})",
                self.key_len, self.object_len
            ))),
        }
    }
}

/// The number of elements in each entry of a jagged branch.
pub type Counts = Vec<u32>;

impl Basket {
    /// Decompresses a basket from its bytes in the file, its key included.
    ///
    /// Errors are `Corrupt` if the key contradicts itself or the bytes, `Codec` for an unknown compression.
    pub fn read(stored: &[u8], expander: &mut Expander) -> Result<Self> {
        let head = KeyHead::read(stored, stored.len())?;
        let bounds = head.bounds(stored)?;
        let (entries, border) = (bounds.entries as usize, bounds.bytes as usize);
        let mut content = Vec::new();
        let payload = stored.get(head.key_len..head.stored_len).unwrap_or_default();
        expander.expand(payload, head.object_len, &mut content)?;
        let offsets =
            if border == head.object_len { None } else { read_offsets(&content, entries, head.key_len, border)? };
        content.truncate(border);
        Ok(Self { entries, content, offsets })
    }

    /// Number of entries and bytes of values, from the first bytes of a basket of `len` bytes; `None` if its key is
    /// longer, with the key's length.
    pub(crate) fn bounds(start: &[u8], len: u64) -> Result<(Option<Bounds>, u64)> {
        let head = KeyHead::read(start, usize::try_from(len).unwrap_or(usize::MAX))?;
        let known = if head.key_len <= start.len() { Some(head.bounds(start)?) } else { None };
        Ok((known, head.key_len as u64))
    }

    /// A basket inside the tree's object.
    #[must_use]
    pub fn embedded(basket: &Embedded) -> Self {
        let entries = usize::try_from(basket.entries).unwrap_or(usize::MAX);
        Self { entries, content: basket.content.clone(), offsets: basket.offsets.clone() }
    }

    /// The values' bytes as stored: big-endian, without offsets.
    #[must_use]
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Copies values of fixed size to `out`, in native byte order; `out` has exactly their length.
    pub fn numbers(&self, dtype: DType, out: &mut [u8]) -> Result<()> {
        if self.content.len() != out.len() {
            return Err(corrupt(format!(
                "basket holds {} bytes of values, expected {}",
                self.content.len(),
                out.len()
            )));
        }
        from_big_endian(&self.content, dtype.size(), out);
        Ok(())
    }

    /// One member of a record of `size` bytes per entry: `len` bytes from `start`.
    pub fn member(&self, dtype: DType, size: usize, start: usize, len: usize, out: &mut [u8]) -> Result<()> {
        if size == 0
            || start.checked_add(len).is_none_or(|end| end > size)
            || self.entries.checked_mul(size) != Some(self.content.len())
        {
            return Err(corrupt(format!(
                "basket holds {} bytes, {} records of {size}",
                self.content.len(),
                self.entries
            )));
        }
        if self.entries.checked_mul(len) != Some(out.len()) {
            return Err(corrupt(format!("{} values of {len} bytes into {} bytes", self.entries, out.len())));
        }
        for (record, room) in self.content.chunks_exact(size).zip(out.chunks_exact_mut(len.max(1))) {
            from_big_endian(record.get(start..start + len).unwrap_or_default(), dtype.size(), room);
        }
        Ok(())
    }

    /// Elements per entry. `skip` bytes precede the elements of each entry; `element` is an element's size.
    ///
    /// If the basket stores no offsets, [`counts_from`](Self::counts_from) computes the counts from the counter's
    /// values.
    pub fn counts(&self, skip: usize, element: usize) -> Result<Counts> {
        let spans = self.spans()?;
        spans.enumerate().map(|(entry, span)| Ok(elements(entry, span.len(), skip, element)? as u32)).collect()
    }

    /// Checks the counter's values against the basket's length.
    pub fn counts_from(&self, counter: &[u32], element: usize) -> Result<Counts> {
        let total = counter.iter().fold(0usize, |sum, n| sum.saturating_add(*n as usize));
        if counter.len() != self.entries || total.checked_mul(element) != Some(self.content.len()) {
            return Err(Error::new(
                ErrorKind::Mismatch,
                format!(
                    "the counter has {} entries and {total} elements, the basket {} entries and {} bytes ({element} an element)",
                    counter.len(),
                    self.entries,
                    self.content.len()
                ),
            )
            .hint("counter and branch disagree: the file is damaged, or was written while its counter changed"));
        }
        Ok(counter.to_vec())
    }

    /// Whether the basket stores the offsets of its entries.
    #[must_use]
    pub fn has_offsets(&self) -> bool {
        self.offsets.is_some()
    }

    /// Appends the elements of all entries to `out` in native byte order, without the `skip` bytes before each entry's
    /// elements.
    ///
    /// A `skip` of 10 is a vector's header, whose element count is checked.
    pub fn elements(&self, dtype: DType, skip: usize, per_element: usize, out: &mut Vec<u8>) -> Result<()> {
        let (start, size) = (out.len(), dtype.size());
        if skip == 0 {
            if !self.content.len().is_multiple_of(per_element.max(1)) {
                return Err(corrupt(format!("{} bytes are not elements of {per_element}", self.content.len())));
            }
            reserve(out, self.content.len())?;
            out.resize(start + self.content.len(), 0);
            from_big_endian(&self.content, size, out.get_mut(start..).unwrap_or_default());
            return Ok(());
        }
        reserve(out, self.content.len())?;
        for (entry, span) in self.spans()?.enumerate() {
            let count = elements(entry, span.len(), skip, per_element)?;
            let (head, values) = span.split_at(skip.min(span.len()));
            if skip == VECTOR_HEADER {
                vector_header(entry, head, count)?;
            }
            let at = out.len();
            out.resize(at + values.len(), 0);
            from_big_endian(values, size, out.get_mut(at..).unwrap_or_default());
        }
        Ok(())
    }

    /// Appends each entry's string to `bytes` and its length to `lengths`; `skip` bytes precede each.
    pub fn strings(&self, skip: usize, bytes: &mut Vec<u8>, lengths: &mut Counts) -> Result<()> {
        let Some(offsets) = &self.offsets else { return self.strings_in_a_row(skip, bytes, lengths) };
        for (entry, pair) in offsets.windows(2).enumerate() {
            let [start, end] = [pair[0] as usize, pair[1] as usize];
            let span = self.content.get(start..end).unwrap_or_default();
            if span.is_empty() {
                lengths.push(0);
                continue;
            }
            let mut cursor = Cursor::new(span);
            one_string(entry, &mut cursor, skip, bytes, lengths)?;
            if cursor.left() != 0 {
                return Err(corrupt(format!("entry {entry}: {} bytes follow its string", cursor.left())));
            }
        }
        Ok(())
    }

    fn strings_in_a_row(&self, skip: usize, bytes: &mut Vec<u8>, lengths: &mut Counts) -> Result<()> {
        let mut cursor = Cursor::new(&self.content);
        for entry in 0..self.entries {
            one_string(entry, &mut cursor, skip, bytes, lengths)?;
        }
        if cursor.left() != 0 {
            return Err(corrupt(format!("{} bytes follow the last string", cursor.left())));
        }
        Ok(())
    }

    /// The bytes of each entry.
    pub(crate) fn spans(&self) -> Result<impl Iterator<Item = &[u8]>> {
        let offsets = match (&self.offsets, self.entries) {
            (Some(offsets), _) => offsets.clone(),
            (None, 0) => Vec::new(),
            (None, 1) => vec![0, self.content.len() as u32],
            (None, n) => {
                return Err(Error::new(ErrorKind::Unsupported, format!("the basket's {n} entries have no offsets"))
                    .hint("their lengths follow from the counter branch"));
            }
        };
        let pairs = offsets.into_iter();
        let pairs = pairs.clone().zip(pairs.skip(1));
        Ok(pairs.map(|(a, b)| self.content.get(a as usize..b as usize).unwrap_or_default()))
    }
}

/// Byte count, version, and number of elements before a vector's elements.
const VECTOR_HEADER: usize = 10;

fn vector_header(entry: usize, head: &[u8], count: usize) -> Result<()> {
    let mut cursor = Cursor::at(head, 6);
    let stored = cursor.u32()?;
    if stored as usize != count {
        return Err(corrupt(format!("entry {entry}: its vector says {stored} elements, it has {count}")));
    }
    Ok(())
}

fn elements(entry: usize, len: usize, skip: usize, element: usize) -> Result<usize> {
    let values = len.checked_sub(skip).filter(|n| element > 0 && n % element == 0);
    values.map(|n| n / element.max(1)).ok_or_else(|| {
        corrupt(format!("entry {entry}: {len} bytes are not a header of {skip} and elements of {element}"))
    })
}

fn one_string(entry: usize, cursor: &mut Cursor, skip: usize, out: &mut Vec<u8>, lengths: &mut Counts) -> Result<()> {
    let damaged = |e: Error| corrupt(format!("the string of entry {entry}: {}", e.message));
    cursor.take(skip).map_err(damaged)?;
    let len = match cursor.u8().map_err(damaged)? {
        255 => cursor.u32().map_err(damaged)? as usize,
        short => usize::from(short),
    };
    out.extend_from_slice(cursor.take(len).map_err(damaged)?);
    lengths.push(len as u32);
    Ok(())
}

/// The array after the values: its length, the offsets, and one more offset, which is 0 in real files.
fn read_offsets(data: &[u8], entries: usize, key_len: usize, border: usize) -> Result<Option<Vec<u32>>> {
    let mut cursor = Cursor::at(data, border);
    let count = cursor.i32()?;
    let count = usize::try_from(count).ok().filter(|n| *n <= cursor.left() / 4);
    let count =
        count.ok_or_else(|| corrupt(format!("the list of offsets is shorter than its count ({entries} entries)")))?;
    relative(cursor.i32s(count)?, entries, key_len, border).map(Some)
}

fn reserve(out: &mut Vec<u8>, more: usize) -> Result<()> {
    out.try_reserve(more).map_err(|_| Error::new(ErrorKind::Memory, format!("no memory for {more} bytes of values")))
}
