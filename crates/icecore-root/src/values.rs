//! All values of a branch, from all its baskets.

use icecore_grid::{Error, ErrorKind, ReadAt, Result};

use crate::basket::{Basket, Counts};
use crate::branch::Branch;
use crate::compression::Expander;
use crate::cursor::{Cursor, Within, corrupt, unsupported};
use crate::decode::Column;
use crate::dtype::DType;
use crate::file::File;
use crate::interpretation::Interpretation;
use crate::source::read_at;
use crate::tree::Tree;

/// The values of a branch, or of one member of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Values {
    /// Elements in native byte order, or the bytes of strings.
    pub content: Vec<u8>,
    /// Number of elements (or bytes of strings) in each entry, if it varies.
    pub counts: Option<Counts>,
}

/// Bytes of a basket that are read for its key; keys with long names need more.
const KEY: u64 = 256;

impl<S: ReadAt> File<S> {
    /// Reads all values of a branch; `member` is the number of a record's field.
    pub fn values(&self, tree: &Tree, branch: &Branch, member: usize) -> Result<Values> {
        let number = branch.baskets.len() + branch.embedded.len();
        let mut expander = Expander::default();
        let mut out = Values::default();
        let listed = matches!(branch.interpretation, Interpretation::Jagged { .. } | Interpretation::String { .. });
        out.counts = listed.then(Vec::new);
        let counter = match &branch.interpretation {
            Interpretation::Jagged { counter: Some(counter), .. } => self.counter_values(tree, counter)?,
            _ => Vec::new(),
        };
        if let Some(damage) = &branch.damage {
            return Err(damage.clone());
        }
        for basket in 0..number {
            let read = self.basket(branch, basket, &mut expander)?;
            append(&branch.interpretation, member, &read, &counter, &mut out)
                .within(|| format!("branch {:?}, basket {basket}", branch.path))?;
        }
        Ok(out)
    }

    /// Number of elements in each basket of a jagged branch, of numbers in those of a flat one, from the baskets' keys
    /// alone.
    pub fn elements_of_baskets(&self, branch: &Branch) -> Result<Vec<u64>> {
        let (dtype, inner_shape, skip): (_, &[u64], _) = match &branch.interpretation {
            Interpretation::Jagged { dtype, inner_shape, skip, .. } => (dtype, inner_shape, *skip),
            Interpretation::Flat { dtype, .. } => (dtype, &[], 0),
            _ => return Ok(Vec::new()),
        };
        let element = inner_shape.iter().try_fold(dtype.size() as u64, |n, d| n.checked_mul(*d));
        let element =
            element.filter(|n| *n > 0).ok_or_else(|| corrupt(format!("elements of shape {inner_shape:?}")))?;
        let one = |(number, range): (usize, &crate::BasketRange)| {
            let name = || format!("branch {:?}, basket {number} at offset {}", branch.path, range.offset);
            let mut len = KEY.min(range.len);
            let bounds = loop {
                let head = read_at(&self.source, range.offset, len).within(name)?;
                match Basket::bounds(&head, range.len).within(name)? {
                    (Some(bounds), _) => break bounds,
                    (None, key_len) => len = key_len,
                }
            };
            let listed = range.end_entry - range.first_entry;
            if bounds.entries != listed {
                return Err(corrupt(format!("it holds {} entries, the branch says {listed}", bounds.entries)))
                    .within(name);
            }
            let values = bounds.bytes.checked_sub(bounds.entries.saturating_mul(skip as u64));
            let values = values.filter(|n| n % element == 0);
            values
                .map(|n| n / element)
                .ok_or_else(|| {
                    corrupt(format!(
                        "{} bytes of values are not {listed} headers of {skip} and elements of {element}",
                        bounds.bytes
                    ))
                })
                .within(name)
        };
        branch.baskets.iter().enumerate().map(one).collect()
    }

    /// Decodes a branch entry by entry, in the form [`Branch::form`].
    ///
    /// `Unsupported` if the bytes are not of this form.
    pub fn columns(&self, tree: &Tree, branch: &Branch) -> Result<Column> {
        let form = branch.form.as_ref().ok_or_else(|| unsupported(format!("branch {:?}", branch.path)))?;
        if let Some(damage) = &branch.damage {
            return Err(damage.clone());
        }
        let known = |path: &Option<String>| path.as_ref().map(|path| self.counter_values(tree, path)).transpose();
        let (counts, lengths) = (known(&form.counter)?, known(&form.lengths)?.unwrap_or_default());
        let (mut column, mut lengths, mut entry) = (form.column(), lengths.iter(), 0);
        let mut expander = Expander::default();
        for number in 0..branch.baskets.len() + branch.embedded.len() {
            let basket = self.basket(branch, number, &mut expander)?;
            let mut one = |cursor: &mut Cursor, whole: bool| {
                let count = counts.as_ref().and_then(|counts| counts.get(entry)).copied();
                let done = form.entry(cursor, whole, count, &mut lengths, &mut column);
                entry += 1;
                done.map_err(undecodable).within(|| format!("branch {:?}, entry {}", branch.path, entry - 1))
            };
            if basket.has_offsets() {
                basket.spans()?.try_for_each(|span| one(&mut Cursor::new(span), true))?;
                continue;
            }
            let mut cursor = Cursor::new(basket.content());
            (0..basket.entries).try_for_each(|n| one(&mut cursor, n + 1 == basket.entries))?;
        }
        Ok(column)
    }

    fn counter_values(&self, tree: &Tree, path: &str) -> Result<Counts> {
        let Some(branch) = tree.branches.iter().find(|b| b.path == path) else { return Ok(Vec::new()) };
        let (Interpretation::Flat { dtype, .. } | Interpretation::Jagged { dtype, .. }) = &branch.interpretation else {
            return Ok(Vec::new());
        };
        let raw = self.values(tree, branch, 0)?.content;
        Ok(raw.chunks_exact(dtype.size()).map(integer).collect())
    }
}

/// A count from its bytes in native order; one too large becomes an impossible one.
fn integer(bytes: &[u8]) -> u32 {
    let add = |n: u64, b: &u8| n << 8 | u64::from(*b);
    let little = cfg!(target_endian = "little");
    let wide = if little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) };
    u32::try_from(wide).unwrap_or(u32::MAX)
}

/// Bytes that end within a value are not of the supposed form; the basket itself is intact.
fn undecodable(mut error: Error) -> Error {
    if error.kind == ErrorKind::Corrupt {
        error.kind = ErrorKind::Unsupported;
    }
    error
}

fn append(
    interpretation: &Interpretation,
    member: usize,
    basket: &Basket,
    counter: &[u32],
    out: &mut Values,
) -> Result<()> {
    let start = out.content.len();
    let bytes = |dtype: DType, shape: &[u64]| {
        shape.iter().try_fold(dtype.size(), |n, d| n.checked_mul(usize::try_from(*d).ok()?)).unwrap_or(usize::MAX)
    };
    let mut room = |len: usize| {
        let len = basket.entries.checked_mul(len).filter(|n| *n <= basket.content().len());
        let len = len.ok_or_else(|| corrupt(format!("{} bytes of values are too few", basket.content().len())))?;
        out.content.resize(start + len, 0);
        Ok(())
    };
    match interpretation {
        Interpretation::Flat { dtype, shape } => {
            room(bytes(*dtype, shape))?;
            basket.numbers(*dtype, out.content.get_mut(start..).unwrap_or_default())
        }
        Interpretation::Record { fields, size } => {
            let Some(field) = fields.get(member) else { return Ok(()) };
            let len = bytes(field.dtype, &field.shape);
            room(len)?;
            basket.member(field.dtype, *size, field.start, len, out.content.get_mut(start..).unwrap_or_default())
        }
        Interpretation::Jagged { dtype, inner_shape, skip, counter: by } => {
            let element = bytes(*dtype, inner_shape);
            let counts = out.counts.get_or_insert_default();
            let found = if by.is_some() && !basket.has_offsets() {
                let seen = counts.len();
                basket.counts_from(counter.get(seen..seen + basket.entries).unwrap_or_default(), element)?
            } else {
                basket.counts(*skip, element)?
            };
            counts.extend(found);
            basket.elements(*dtype, *skip, element, &mut out.content)
        }
        Interpretation::String { skip } => basket.strings(*skip, &mut out.content, out.counts.get_or_insert_default()),
        _ => Ok(()),
    }
}
