//! Decoding of pages: compression, then byte planes, zigzag, deltas, packed bits.

use icecore_grid::Result;
use twox_hash::XxHash3_64;

use super::column::{Column, ColumnType};
use super::page_list::Page;
use crate::compression::Expander;
use crate::cursor::corrupt;

/// Bytes of a page before compression; `None` if that exceeds the address space.
#[must_use]
pub fn packed_len(bits: u16, elements: usize) -> Option<usize> {
    Some(elements.checked_mul(usize::from(bits))?.div_ceil(8))
}

/// Rejects a page with more elements than any compression could store in its bytes.
pub(super) fn plausible(column: &Column, page: &Page) -> Result<()> {
    let elements = usize::try_from(page.elements).ok();
    let packed = elements.and_then(|n| packed_len(column.bits, n)).filter(|n| *n <= i32::MAX as usize);
    // A block decodes to at most 16 MiB and has a header of 9 bytes.
    let blocks = (page.len / 9).saturating_mul(1 << 24).max(page.len);
    match packed {
        Some(packed) if packed as u64 <= blocks => Ok(()),
        _ => Err(corrupt(format!("{} elements of {} bits in {} bytes", page.elements, column.bits, page.len))),
    }
}

/// Decodes a page into `out`, whose length determines the number of elements; native byte order.
///
/// `stored` ends with the checksum if `has_checksum`. Index columns decode to ends relative to the cluster's start.
pub fn decode_page(
    stored: &[u8],
    has_checksum: bool,
    column: &Column,
    out: &mut [u8],
    expander: &mut Expander,
) -> Result<()> {
    let stored = if has_checksum { verified(stored)? } else { stored };
    let size = column.kind.size();
    if !out.len().is_multiple_of(size) {
        return Err(corrupt(format!("{} bytes are not elements of {size}", out.len())));
    }
    let elements = out.len() / size;
    let packed = packed_len(column.bits, elements).ok_or_else(|| corrupt("a page longer than memory"))?;
    if !has_transform(column.kind) {
        return expander.expand_into(stored, out);
    }
    let mut bytes = Vec::new();
    expander.expand(stored, packed, &mut bytes)?;
    match column.kind {
        ColumnType::Bit => bits(&bytes, out),
        ColumnType::Real32Trunc => reals(&bytes, column, out),
        ColumnType::Real32Quant => reals(&bytes, column, out),
        kind if kind.is_split() => split(&bytes, kind, out),
        _ => swap(&bytes, size, out),
    }
    Ok(())
}

/// Whether decoding does more than copy.
fn has_transform(kind: ColumnType) -> bool {
    let packed = matches!(kind, ColumnType::Bit | ColumnType::Real32Trunc | ColumnType::Real32Quant);
    packed || kind.is_split() || (cfg!(target_endian = "big") && kind.size() > 1)
}

fn verified(stored: &[u8]) -> Result<&[u8]> {
    let (data, sum) = stored.split_last_chunk::<8>().ok_or_else(|| corrupt("a page shorter than its checksum"))?;
    let (found, expected) = (XxHash3_64::oneshot(data), u64::from_le_bytes(*sum));
    if found != expected {
        return Err(corrupt(format!("page checksum is {found:016x}, expected {expected:016x}")));
    }
    Ok(data)
}

fn bits(packed: &[u8], out: &mut [u8]) {
    for (byte, eight) in packed.iter().zip(out.chunks_mut(8)) {
        for (bit, value) in eight.iter_mut().enumerate() {
            *value = byte >> bit & 1;
        }
    }
}

/// Converts little-endian elements to native order.
fn swap(bytes: &[u8], size: usize, out: &mut [u8]) {
    for (from, to) in bytes.chunks_exact(size).zip(out.chunks_exact_mut(size)) {
        to.copy_from_slice(from);
        to.reverse();
    }
}

/// Truncated (the upper bits of a float) and quantised reals, packed from the lowest bit on.
fn reals(packed: &[u8], column: &Column, out: &mut [u8]) {
    let width = u32::from(column.bits);
    let (low, high) = column.range.unwrap_or((0.0, 1.0));
    let scale = (high - low) / ((1u64 << width) - 1) as f64;
    let truncated = column.kind == ColumnType::Real32Trunc;
    let (mut word, mut held, mut bytes) = (0u64, 0, packed.iter());
    for value in out.chunks_exact_mut(4) {
        while held < width {
            word |= u64::from(*bytes.next().unwrap_or(&0)) << held;
            held += 8;
        }
        let code = word & ((1 << width) - 1);
        (word, held) = (word >> width, held - width);
        let real =
            if truncated { f32::from_bits((code as u32) << (32 - width)) } else { (code as f64 * scale + low) as f32 };
        value.copy_from_slice(&real.to_ne_bytes());
    }
}

macro_rules! unsplit {
    ($type:ty, $bytes:ident, $kind:ident, $out:ident) => {{
        const SIZE: usize = size_of::<$type>();
        let planes: Vec<&[u8]> = $bytes.chunks_exact(($bytes.len() / SIZE).max(1)).collect();
        let mut sum: $type = 0;
        for (i, element) in $out.chunks_exact_mut(SIZE).enumerate() {
            let mut parts = [0u8; SIZE];
            for (part, plane) in parts.iter_mut().zip(&planes) {
                *part = plane.get(i).copied().unwrap_or_default();
            }
            let mut value = <$type>::from_le_bytes(parts);
            if $kind.is_zigzag() {
                value = (value >> 1) ^ (value & 1).wrapping_neg();
            } else if $kind.is_delta() {
                sum = sum.wrapping_add(value);
                value = sum;
            }
            element.copy_from_slice(&value.to_ne_bytes());
        }
    }};
}

/// Undoes the byte planes, and then the type's own encoding.
fn split(bytes: &[u8], kind: ColumnType, out: &mut [u8]) {
    match kind.size() {
        2 => unsplit!(u16, bytes, kind, out),
        4 => unsplit!(u32, bytes, kind, out),
        _ => unsplit!(u64, bytes, kind, out),
    }
}
