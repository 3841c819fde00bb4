//! Bodies of responses, block by block: declarations, then the elements of each variable as its block is read.

use bytes::Bytes;
use icecore::grid::{Error, ErrorKind, Result};

use super::dds::{counts, dds};
use super::element::{padding, xdr};
use super::model::{Dataset, Kind};
use super::project::{Item, Slab};
use super::row_blocks;
use super::rows::Rows;
use super::source::{Source, string_length};
use crate::http::error::Answer;
use crate::stream::Blocks;

enum Piece {
    Bytes(Vec<u8>),
    Slab(Slab),
    Rows(Rows),
}

/// The declarations and elements of a DAP2 response, and its length if it does not depend on texts.
///
/// # Errors
/// `memory` for a variable with more elements than DAP2 counts.
pub(super) fn dods(source: &Source, items: &[Item]) -> Answer<(Blocks, Option<u64>)> {
    let mut pieces = vec![Piece::Bytes(format!("{}\nData:\n", dds(&source.dataset, items)).into_bytes())];
    let mut length = pieces.iter().map(Piece::length).sum::<u64>().into();
    for item in items {
        add(&source.dataset, item, &mut pieces, &mut length)?;
    }
    let source = source.clone();
    let blocks = pieces.into_iter().flat_map(move |piece| -> Blocks {
        match piece {
            Piece::Bytes(bytes) => Box::new(std::iter::once(Ok(Bytes::from(bytes)))),
            Piece::Rows(rows) => {
                row_blocks::blocks(&rows, &source).unwrap_or_else(|failure| Box::new(std::iter::once(Err(failure))))
            }
            Piece::Slab(slab) => {
                let made = source.blocks(&slab, |values, variable| {
                    xdr(values, variable.kind2.unwrap_or(variable.kind), string_length(variable))
                });
                made.unwrap_or_else(|failure| Box::new(std::iter::once(Err(failure))))
            }
        }
    });
    Ok((Box::new(Joined::new(Box::new(blocks))), length))
}

impl Piece {
    fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Slab(_) | Self::Rows(_) => 0,
        }
    }
}

fn add(dataset: &Dataset, item: &Item, pieces: &mut Vec<Piece>, length: &mut Option<u64>) -> Result<()> {
    match item {
        Item::Array(slab) => array(dataset, slab, pieces, length),
        Item::Grid(slab, maps) => {
            array(dataset, slab, pieces, length)?;
            maps.iter().try_for_each(|map| array(dataset, map, pieces, length))
        }
        Item::Sequence(rows) => {
            pieces.push(Piece::Rows(rows.clone()));
            *length = None;
            Ok(())
        }
        Item::Structure(_, items) => items.iter().try_for_each(|item| add(dataset, item, pieces, length)),
    }
}

fn array(dataset: &Dataset, slab: &Slab, pieces: &mut Vec<Piece>, length: &mut Option<u64>) -> Result<()> {
    let Some((variable, kind)) = dataset.variable(slab.variable).and_then(|each| Some((each, each.kind2?))) else {
        return Ok(());
    };
    let counts = counts(variable, slab);
    let count = counts.iter().fold(1_u64, |all, count| all.saturating_mul(*count));
    let number = i32::try_from(count).map_err(|_| {
        let message = format!("{}: {count} elements; DAP2 sends at most {}", variable.name, i32::MAX);
        Error::new(ErrorKind::Memory, message).hint("select fewer elements, or read by DAP4")
    })?;
    let mut before = Vec::new();
    if !counts.is_empty() {
        before.extend(number.to_be_bytes());
        // Numbers have their count twice: XDR's arrays have one of their own.
        if !kind.is_text() {
            before.extend(number.to_be_bytes());
        }
    }
    let after = vec![0; if kind == Kind::UInt8 { padding(count) } else { 0 }];
    let size = match kind {
        Kind::UInt8 => Some(1),
        Kind::Float64 => Some(8),
        kind if kind.is_text() => None,
        _ => Some(4),
    };
    let bytes = size.map(|size: u64| size * count + (before.len() + after.len()) as u64);
    *length = length.zip(bytes).map(|(all, bytes)| all.saturating_add(bytes));
    pieces.extend([Piece::Bytes(before), Piece::Slab(slab.clone()), Piece::Bytes(after)]);
    Ok(())
}

/// Joins short blocks, so that a response of many small variables is not sent in as many pieces.
pub(super) struct Joined {
    blocks: Blocks,
    /// A long block, or an error, after joined ones.
    next: Option<Answer<Bytes>>,
}

impl Joined {
    /// Length from which a block is sent as it is, and at which joined blocks are sent.
    const LONG: usize = 256 << 10;

    pub fn new(blocks: Blocks) -> Self {
        Self { blocks, next: None }
    }
}

impl Iterator for Joined {
    type Item = Answer<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(next) = self.next.take() {
            return Some(next);
        }
        let mut joined = Vec::new();
        for block in self.blocks.by_ref() {
            match block {
                Ok(block) if block.len() < Self::LONG => {
                    joined.extend_from_slice(&block);
                    if joined.len() >= Self::LONG {
                        break;
                    }
                }
                other if joined.is_empty() => return Some(other),
                other => {
                    self.next = Some(other);
                    break;
                }
            }
        }
        (!joined.is_empty()).then(|| Ok(Bytes::from(joined)))
    }
}
