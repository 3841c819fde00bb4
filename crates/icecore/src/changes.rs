//! Changes between two versions, as boxes of elements.

use icecore_catalog::{Diff, Snapshot};
use icecore_chunk::ArrayMeta;
use icecore_grid::{Region, Result, join_boxes};

/// Chunks of one array that were written.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub path: String,
    /// Chunks (shards, if the array is sharded) whose location changed or that were deleted.
    pub chunks: u64,
    /// Their elements as disjoint boxes, clipped to the newer version's shape.
    pub boxes: Vec<Region>,
    /// Elements in the boxes.
    pub elements: u64,
}

/// The boxes of the chunks in `diff`; `to` is its newer version.
///
/// # Errors
/// The errors of reading an array's metadata and its reference table.
pub fn changes(diff: &Diff, to: &Snapshot) -> Result<Vec<Change>> {
    let mut found = Vec::new();
    for (path, chunks) in &diff.chunks {
        let Some(node) = to.node(path).filter(|node| node.is_array) else { continue };
        let grid = ArrayMeta::parse(&node.zarr_json)?.grid;
        // An array that was shrunk has chunks beyond its edge.
        let boxes = chunks.iter().filter(|chunk| grid.contains(chunk)).map(|chunk| grid.region(chunk)).collect();
        let boxes = join_boxes(boxes);
        let elements = boxes.iter().fold(0, |sum: u64, of| sum.saturating_add(of.elements()));
        found.push(Change { path: path.clone(), chunks: chunks.len() as u64, boxes, elements });
    }
    for path in &diff.remade_arrays {
        let Some(node) = to.node(path).filter(|node| node.is_array) else { continue };
        let whole = Region::whole(&ArrayMeta::parse(&node.zarr_json)?.shape);
        let (chunks, elements) = (to.table(path)?.len() as u64, whole.elements());
        let boxes = if whole.is_empty() { Vec::new() } else { vec![whole] };
        found.push(Change { path: path.clone(), chunks, boxes, elements });
    }
    Ok(found)
}
