//! FrVect: header and the fields after its data.

use icecore_grid::{ReadAt, Result};

use crate::cursor::{Cursor, Pointer};
use crate::head::Head;
use crate::problem::corrupt;
use crate::vect_type::VectType;
use crate::window::Window;

/// One data vector of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Vect {
    pub name: String,
    /// Byte range of the whole structure: the input of `decode_vect`.
    pub offset: u64,
    pub len: u64,
    pub compress: u16,
    pub dtype: VectType,
    pub n_data: u64,
    /// Stored bytes of the data.
    pub n_bytes: u64,
    pub shape: Vec<u64>,
    /// Step and first coordinate of the first dimension, and its unit.
    pub dx: f64,
    pub start_x: f64,
    pub unit_x: String,
    pub unit_y: String,
    /// The next vector of the same structure.
    pub next: Option<Pointer>,
}

/// The fields before the data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VectHead {
    pub compress: u16,
    pub code: u16,
    pub n_data: u64,
    pub n_bytes: u64,
}

impl VectHead {
    /// Reads from the end of the structure's header up to the data.
    pub fn parse(cursor: &mut Cursor) -> Result<VectHead> {
        cursor.skip_string()?;
        let (compress, code) = (cursor.u16()?, cursor.u16()?);
        Ok(VectHead { compress, code, n_data: cursor.long()?, n_bytes: cursor.long()? })
    }
}

/// Reads the vector at `offset` without its data.
pub(crate) fn read_vect<S: ReadAt + ?Sized>(
    window: &mut Window<S>,
    format: crate::Format,
    offset: u64,
    head: Head,
) -> Result<Vect> {
    let mut before_data = |len: u64| {
        let mut cursor = Cursor::new(window.up_to(offset, head.len.min(len))?, format);
        cursor.take(format.head_len() as usize)?;
        let name = cursor.clone().string()?;
        Ok((name, VectHead::parse(&mut cursor)?, cursor.at as u64))
    };
    let (name, fields, data_at) = before_data(256).or_else(|_: icecore_grid::Error| before_data(1 << 17))?;
    let dtype = VectType::parse(fields.code)?;
    let behind = data_at.checked_add(fields.n_bytes).filter(|end| *end < head.len);
    let behind = behind
        .ok_or_else(|| corrupt(format!("FrVect: {} bytes of data in a structure of {}", fields.n_bytes, head.len)))?;
    let tail = window.get(offset.saturating_add(behind), head.len - behind)?;
    let mut vect = read_tail(Cursor::new(tail, format), fields, dtype)?;
    (vect.name, vect.offset, vect.len) = (name, offset, head.len);
    Ok(vect)
}

fn read_tail(mut cursor: Cursor, fields: VectHead, dtype: VectType) -> Result<Vect> {
    let n_dim = cursor.count(if cursor.format.version < 6 { 22 } else { 26 })?;
    let shape = (0..n_dim).map(|_| cursor.long()).collect::<Result<Vec<u64>>>()?;
    let steps = (0..n_dim).map(|_| cursor.f64()).collect::<Result<Vec<f64>>>()?;
    let starts = (0..n_dim).map(|_| cursor.f64()).collect::<Result<Vec<f64>>>()?;
    let units = (0..n_dim).map(|_| cursor.string()).collect::<Result<Vec<String>>>()?;
    let unit_y = cursor.string()?;
    let next = cursor.pointer()?.some();
    let expected = if cursor.format.version >= 8 { 4 } else { 0 };
    if cursor.left() != expected {
        return Err(corrupt(format!("FrVect: {} bytes behind the last field, expected {expected}", cursor.left())));
    }
    let elements = shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d));
    if n_dim > 0 && elements != Some(fields.n_data) {
        return Err(corrupt(format!("FrVect: dimensions {shape:?} do not hold the {} elements", fields.n_data)));
    }
    Ok(Vect {
        name: String::new(),
        offset: 0,
        len: 0,
        compress: fields.compress,
        dtype,
        n_data: fields.n_data,
        n_bytes: fields.n_bytes,
        shape,
        dx: steps.first().copied().unwrap_or(f64::NAN),
        start_x: starts.first().copied().unwrap_or(0.0),
        unit_x: units.into_iter().next().unwrap_or_default(),
        unit_y,
        next,
    })
}
