//! Elements as text, one row of the last axis a line: `[0][1], 2.5, 3.5`.

use std::fmt::Write;

use bytes::Bytes;
use icecore::chunk::{DType, half::f16};
use icecore::grid::Result;
use icecore::session::Values;

use super::das::quoted;
use super::dds::{counts, dds, identifier};
use super::element::text;
use super::model::Kind;
use super::project::{Item, Slab};
use super::send::Joined;
use super::source::{Source, string_length};
use crate::http::error::{Answer, Failure};
use crate::stream::Blocks;

/// The declarations and the text of a response.
///
/// # Errors
/// `memory` for more elements than are sent as text.
pub(super) fn ascii(source: &Source, items: &[Item]) -> Answer<Blocks> {
    let head = format!("{}---------------------------------------------\n", dds(&source.dataset, items));
    let mut slabs = Vec::new();
    items.iter().for_each(|item| collect(source, item, "", &mut slabs));
    let count = slabs.iter().fold(0_u64, |all, (_, slab)| all.saturating_add(slab.picks.len()));
    let limit = source.app.config.limits.json_elements;
    if count > limit {
        let message = format!("{count} elements as text; at most {limit} are sent");
        return Err(Failure::too_large(message, "ask for .dods, or select less"));
    }
    let source = source.clone();
    let blocks = slabs.into_iter().flat_map(move |(name, slab)| -> Blocks {
        variable(&source, &name, &slab).unwrap_or_else(|failure| Box::new(std::iter::once(Err(failure))))
    });
    Ok(Box::new(Joined::new(Box::new(std::iter::once(Ok(Bytes::from(head))).chain(blocks)))))
}

fn collect(source: &Source, item: &Item, above: &str, out: &mut Vec<(String, Slab)>) {
    let name = |slab: &Slab| source.dataset.variable(slab.variable).map_or("", |each| each.name.as_str());
    match item {
        Item::Array(slab) => out.push((format!("{above}{}", identifier(name(slab))), slab.clone())),
        Item::Grid(slab, maps) => {
            let grid = identifier(name(slab));
            let all = std::iter::once(slab).chain(maps);
            out.extend(all.map(|each| (format!("{above}{grid}.{}", identifier(name(each))), each.clone())));
        }
        // Rows as text are at /tables.
        Item::Sequence(_) => {}
        Item::Structure(name, items) => {
            let above = format!("{above}{}.", identifier(name));
            items.iter().for_each(|item| collect(source, item, &above, out));
        }
    }
}

fn variable(source: &Source, name: &str, slab: &Slab) -> Answer<Blocks> {
    let Some(variable) = source.dataset.variable(slab.variable) else { return Ok(Box::new(std::iter::empty())) };
    let counts = counts(variable, slab);
    let mut head = String::from(name);
    counts.iter().for_each(|count| {
        let _ = write!(head, "[{count}]");
    });
    head.push_str(if counts.is_empty() { "" } else { "\n" });
    let mut position = 0_u64;
    let blocks = source.blocks(slab, move |values, variable| {
        let mut out = String::new();
        let size = match variable.kind {
            Kind::Char => usize::try_from(string_length(variable)).unwrap_or(1),
            _ => values.dtype.size(),
        };
        for element in values.bytes.chunks_exact(size.max(1)) {
            place(&counts, position, &mut out);
            position += 1;
            one(&values, element, &mut out)?;
        }
        Ok(out.into_bytes())
    })?;
    let head = std::iter::once(Ok(Bytes::from(head)));
    Ok(Box::new(head.chain(blocks).chain(std::iter::once(Ok(Bytes::from_static(b"\n\n"))))))
}

/// What stands before an element: a comma, or the indexes of a new line.
fn place(counts: &[u64], position: u64, out: &mut String) {
    let row = counts.last().copied().unwrap_or(1).max(1);
    if counts.len() > 1 && position.is_multiple_of(row) {
        out.push_str(if position > 0 { "\n" } else { "" });
        let mut rest = position / row;
        let mut indexes = Vec::new();
        for count in counts.iter().rev().skip(1) {
            indexes.push(rest % count.max(&1));
            rest /= count.max(&1);
        }
        indexes.iter().rev().for_each(|index| {
            let _ = write!(out, "[{index}]");
        });
    }
    out.push_str(if counts.len() == 1 && position == 0 { "" } else { ", " });
}

fn one(values: &Values, element: &[u8], out: &mut String) -> Result<()> {
    macro_rules! number {
        ($kind:ty) => {
            if let Some(bytes) = element.first_chunk() {
                let _ = write!(out, "{:?}", <$kind>::from_ne_bytes(*bytes));
            }
        };
    }
    match &values.dtype {
        DType::Bool | DType::UInt8 => number!(u8),
        DType::Int8 => number!(i8),
        DType::Int16 => number!(i16),
        DType::UInt16 => number!(u16),
        DType::Int32 => number!(i32),
        DType::UInt32 => number!(u32),
        DType::Int64 | DType::DateTime64 { .. } | DType::TimeDelta64 { .. } => number!(i64),
        DType::UInt64 => number!(u64),
        DType::Float16 => {
            if let Some(bytes) = element.first_chunk() {
                let _ = write!(out, "{:?}", f16::from_ne_bytes(*bytes).to_f32());
            }
        }
        DType::Float32 => number!(f32),
        DType::Float64 => number!(f64),
        _ => quoted(&String::from_utf8_lossy(&text(values, element)?), out),
    }
    Ok(())
}
