//! Bodies of DAP4: a document and the elements in chunks, each behind a header of four bytes.

use bytes::Bytes;
use icecore::chunk::crc32;

use super::constraint4::Chosen;
use super::element::little;
use super::project::Slab;
use super::send::Joined;
use super::source::{Source, string_length};
use crate::http::error::Answer;
use crate::stream::Blocks;

const LAST: u8 = 1;
const LITTLE_ENDIAN: u8 = 4;
/// Of a response without checksums; netCDF-C expects them otherwise.
const NO_CHECKSUMS: u8 = 8;
/// Maximum bytes of a chunk: its length has 24 bits.
const LONGEST: usize = 0xff_ffff;

/// The chunked response. With `has_checksums`, the CRC-32 of each variable follows it.
pub(super) fn dap(source: &Source, chosen: Chosen, dmr: &str, has_checksums: bool) -> Answer<Blocks> {
    let mut first = Vec::new();
    // The document ends with a line end, as that of MIME headers.
    let text = format!("{}\r\n", dmr.trim_end());
    let flags = if has_checksums { 0 } else { NO_CHECKSUMS };
    chunk(text.as_bytes(), flags, &mut first);
    let source = source.clone();
    let elements = chosen.slabs.into_values().flat_map(move |slab| {
        let made = variable(&source, &slab, has_checksums);
        made.unwrap_or_else(|failure| Box::new(std::iter::once(Err(failure))))
    });
    let elements = Joined::new(Box::new(elements)).map(move |block| {
        let block = block?;
        let mut out = Vec::with_capacity(block.len() + 8);
        chunk(&block, flags, &mut out);
        Ok(Bytes::from(out))
    });
    let mut end = Vec::new();
    header(0, LAST | flags, &mut end);
    let (first, end) = (Ok(Bytes::from(first)), Ok(Bytes::from(end)));
    Ok(Box::new(std::iter::once(first).chain(elements).chain(std::iter::once(end))))
}

fn header(length: usize, flags: u8, out: &mut Vec<u8>) {
    let length = (length & LONGEST) as u32;
    out.extend((u32::from(flags | LITTLE_ENDIAN) << 24 | length).to_be_bytes());
}

fn chunk(bytes: &[u8], flags: u8, out: &mut Vec<u8>) {
    for part in bytes.chunks(LONGEST) {
        header(part.len(), flags, out);
        out.extend_from_slice(part);
    }
}

fn variable(source: &Source, slab: &Slab, has_checksum: bool) -> Answer<Blocks> {
    let elements = source.blocks(slab, |values, variable| little(values, variable.kind, string_length(variable)))?;
    if !has_checksum {
        return Ok(elements);
    }
    Ok(Box::new(Summed { elements, sum: 0, is_over: false }))
}

/// Blocks with their checksum behind them.
struct Summed {
    elements: Blocks,
    sum: u32,
    is_over: bool,
}

impl Iterator for Summed {
    type Item = Answer<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.elements.next() {
            Some(Ok(block)) => {
                self.sum = crc32(self.sum, &block);
                Some(Ok(block))
            }
            None if !std::mem::replace(&mut self.is_over, true) => {
                Some(Ok(Bytes::copy_from_slice(&self.sum.to_le_bytes())))
            }
            other => other,
        }
    }
}

/// Parameters of a DAP4 request: the constraint, and whether checksums are wanted. They are unless a client says no:
/// netCDF-C expects them without asking.
pub(super) fn parameters(query: &str) -> (String, bool) {
    let (mut constraint, mut has_checksums) = (String::new(), true);
    for part in query.split('&') {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match name {
            "dap4.ce" => constraint = super::constraint::decoded(value),
            "dap4.checksum" => has_checksums = value != "false",
            _ => {}
        }
    }
    (constraint, has_checksums)
}
