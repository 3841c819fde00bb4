//! A served chunk: its part of the array, padded to the chunk's full size.

use bytes::Bytes;
use icecore::chunk::DType;
use icecore::grid::{Error, ErrorKind, Result};
use icecore::session::{Pick, Picks, Values};

use super::grid::chunk_shape;
use crate::app::App;
use crate::domains::Domain;
use crate::http::error::{Answer, Failure};

pub(super) fn chunk(app: &App, domain: &Domain, path: &str, place: &[u64]) -> Answer<Bytes> {
    let view = domain.session.array(path)?;
    let meta = view.meta();
    let lengths = chunk_shape(&view);
    let outside = || {
        let counts: Vec<u64> = meta.shape.iter().zip(&lengths).map(|(len, chunk)| len.div_ceil(*chunk)).collect();
        Failure::missing(format!("{path} has no chunk {place:?}"), format!("it has {counts:?} chunks along its axes"))
    };
    if place.len() != meta.shape.len() {
        return Err(outside());
    }
    let mut picks = Picks::all(&meta.shape);
    for ((pick, at), (length, len)) in picks.axes.iter_mut().zip(place).zip(lengths.iter().zip(&meta.shape)) {
        let start = at.checked_mul(*length).filter(|start| start < len).ok_or_else(outside)?;
        *pick = Pick::Range { start, step: 1, count: (*length).min(len - start) };
    }
    let (values, _) = domain.session.read_into(&view, &picks.selection()?, app.buffers.take())?;
    if values.dtype.is_vlen() {
        return Ok(Bytes::from(texts(&values, &picks.out_shape(), &lengths, &meta.fill)?));
    }
    let mut bytes = padded(values.bytes, &picks.out_shape(), &lengths, &meta.fill);
    little(&mut bytes, &values.dtype);
    Ok(app.buffers.lend(bytes))
}

/// Copies elements of a part of a chunk into the whole chunk.
fn padded(bytes: Vec<u8>, part: &[u64], whole: &[u64], fill: &[u8]) -> Vec<u8> {
    if part == whole {
        return bytes;
    }
    let size = fill.len().max(1);
    let count: usize = whole.iter().product::<u64>() as usize;
    let mut out = fill.repeat(count);
    let run = part.last().copied().unwrap_or(1) as usize * size;
    for (number, row) in bytes.chunks_exact(run.max(1)).enumerate() {
        let at = start(number as u64, part, whole) as usize * size;
        if let Some(to) = out.get_mut(at..at + run) {
            to.copy_from_slice(row);
        }
    }
    out
}

/// Start of a row of the part in the whole chunk, in elements.
fn start(row: u64, part: &[u64], whole: &[u64]) -> u64 {
    let (mut rest, mut at) = (row, 0);
    let mut stride = whole.last().copied().unwrap_or(1);
    for (count, length) in part.iter().zip(whole).rev().skip(1) {
        at += rest % count.max(&1) * stride;
        rest /= count.max(&1);
        stride *= length;
    }
    at
}

/// Converts native to little-endian byte order.
fn little(bytes: &mut [u8], dtype: &DType) {
    if cfg!(target_endian = "little") {
        return;
    }
    for element in bytes.chunks_exact_mut(dtype.size().max(1)) {
        let mut rest = element;
        for (unit, count) in dtype.swap_units() {
            let Some((run, behind)) = rest.split_at_mut_checked(unit * count) else { break };
            run.chunks_exact_mut(unit.max(1)).for_each(<[u8]>::reverse);
            rest = behind;
        }
    }
}

/// Encodes strings as the codecs `vlen-utf8` and `vlen-bytes` define: a count, then each string after its length.
fn texts(values: &Values, part: &[u64], whole: &[u64], fill: &[u8]) -> Result<Vec<u8>> {
    let count: u64 = whole.iter().product();
    let mut places: Vec<Option<usize>> = vec![None; count as usize];
    let run = part.last().copied().unwrap_or(1).max(1);
    for number in 0..values.len() as u64 {
        let at = start(number / run, part, whole) + number % run;
        if let Some(place) = places.get_mut(at as usize) {
            *place = Some(number as usize);
        }
    }
    let too_many = || Error::new(ErrorKind::Unsupported, "a chunk of more than 2³² texts");
    let mut out = u32::try_from(count).map_err(|_| too_many())?.to_le_bytes().to_vec();
    let size = values.dtype.size();
    for place in places {
        let bytes = match place.and_then(|number| values.bytes.get(number * size..(number + 1) * size)) {
            Some(view) => values.resolve(view)?,
            None => fill,
        };
        out.extend(u32::try_from(bytes.len()).map_err(|_| too_many())?.to_le_bytes());
        out.extend_from_slice(bytes);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_at_the_beginning_of_each_row() {
        let part: Vec<u8> = (1..=4).collect();
        assert_eq!(padded(part.clone(), &[2, 2], &[2, 3], &[9]), [1, 2, 9, 3, 4, 9]);
        assert_eq!(padded(part.clone(), &[2, 2], &[3, 2], &[9]), [1, 2, 3, 4, 9, 9]);
        assert_eq!(padded(part.clone(), &[1, 2], &[2, 2], &[8, 9]), [1, 2, 3, 4, 8, 9, 8, 9]);
        assert_eq!(padded(part, &[2, 1, 2], &[2, 2, 2], &[9]), [1, 2, 9, 9, 3, 4, 9, 9]);
    }
}
