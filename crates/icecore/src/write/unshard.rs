//! Replace an array's chunk grid and keep the chunks that both grids have. No data is copied.
//!
//! A shard is written as a whole, so rows can't be appended to it. Chunks that have references of their own can be followed
//! by others, of any length along the first axis. Where short chunks are merged, later chunks get other numbers.

use icecore_catalog::{ChunkPlace, ChunkTable, Location, ObjectId, Place};
use icecore_chunk::{ArrayMeta, Shard};
use icecore_grid::{ChunkGrid, Error, ErrorKind, Result};
use rayon::prelude::*;

use super::pipeline::Writing;

impl Writing {
    /// Replaces an array's metadata by a document without shards, whose chunks are those of the present shards. Chunks that
    /// have another shape in the new grid have no bytes afterwards; the caller writes them.
    ///
    /// # Errors
    /// `unsupported` for linked arrays; the errors of reading the indexes of the shards, and of writing.
    pub fn unshard(&self, path: &str, old: &ArrayMeta, new: &ArrayMeta, document: &[u8]) -> Result<()> {
        self.flush()?;
        let table = self.writer().snapshot()?.table(path)?;
        if old.shard.is_none() {
            return self.renumber(path, &table, (old, new), document);
        }
        let stored: Vec<(u64, Place)> = table.iter().collect();
        let found: Vec<Vec<(u64, ChunkPlace)>> = stored
            .into_par_iter()
            .map(|(flat, place)| self.members(&table, old, new, flat, &place))
            .collect::<Result<_>>()?;
        // References of shards that no chunk replaces would be read as chunks.
        let gone = table.iter().filter_map(|(flat, _)| {
            let coords = old.grid.coords(flat);
            new.grid.contains(&coords).then(|| (new.grid.flat(&coords), ChunkPlace::Missing))
        });
        let places: std::collections::BTreeMap<u64, ChunkPlace> = gone.chain(found.into_iter().flatten()).collect();
        self.forget(path);
        self.writer().update_array(path, document)?;
        self.writer().set_chunks(path, &places.into_iter().collect::<Vec<_>>())
    }

    /// Moves the references of chunks that have another number in the new grid, and drops those of others.
    fn renumber(
        &self,
        path: &str,
        table: &ChunkTable,
        (old, new): (&ArrayMeta, &ArrayMeta),
        document: &[u8],
    ) -> Result<()> {
        let (mut gone, mut places) = (Vec::new(), Vec::new());
        for (flat, place) in table.iter() {
            let coords = old.grid.coords(flat);
            let target = same_chunk(&old.grid, &new.grid, &coords);
            if target.as_ref() == Some(&coords) {
                continue;
            }
            gone.push((flat, ChunkPlace::Missing));
            if let (Some(target), Some(place)) = (target, part(table, &place, None)?) {
                places.push((new.grid.flat(&target), place));
            }
        }
        self.forget(path);
        self.writer().set_chunks(path, &gone)?;
        self.writer().update_array(path, document)?;
        self.writer().set_chunks(path, &places)
    }

    /// The chunks of a shard that the new grid has too.
    fn members(
        &self,
        table: &ChunkTable,
        old: &ArrayMeta,
        new: &ArrayMeta,
        flat: u64,
        place: &Place,
    ) -> Result<Vec<(u64, ChunkPlace)>> {
        let (coords, shape) = (old.grid.coords(flat), old.grid.chunk_shape(&old.grid.coords(flat)));
        let fits = |coords: &[u64], shape: &[u64]| new.grid.contains(coords) && new.grid.chunk_shape(coords) == shape;
        let Some(shard) = &old.shard else { return Ok(Vec::new()) };
        let counts = shard.counts(&shape);
        let mut members = Vec::new();
        for (nth, span) in self.index(table, shard, &counts, place)?.into_iter().enumerate() {
            let inner = super::encode::unflatten(nth as u64, &counts);
            let coords: Vec<u64> =
                coords.iter().zip(&counts).zip(inner).map(|((at, count), i)| at * count + i).collect();
            if let Some(span) = span.filter(|_| fits(&coords, &shard.chunk))
                && let Some(place) = part(table, place, Some(span))?
            {
                members.push((new.grid.flat(&coords), place));
            }
        }
        Ok(members)
    }

    fn index(
        &self,
        table: &ChunkTable,
        shard: &Shard,
        counts: &[u64],
        place: &Place,
    ) -> Result<Vec<Option<(u64, u64)>>> {
        let count = counts.iter().product::<u64>() as usize;
        let size = shard.index_bytes(count) as u64;
        let begin = |length: u64| if shard.index_at_end { length.checked_sub(size) } else { Some(0) };
        let short = || Error::new(ErrorKind::Corrupt, format!("a shard is shorter than its index of {size} bytes"));
        match place {
            Place::Missing => Ok(Vec::new()),
            Place::Inline(bytes) => {
                let begin = begin(bytes.len() as u64).ok_or_else(short)? as usize;
                let index = bytes.get(begin..begin.saturating_add(size as usize)).ok_or_else(short)?;
                shard.parse_index(index, count, Some(bytes.len() as u64))
            }
            Place::Range { object, offset, length } => {
                let begin = begin(*length).ok_or_else(short)?;
                let index = self.writer().read_object(native(table, *object)?, offset + begin, size)?;
                shard.parse_index(&index, count, Some(*length))
            }
        }
    }
}

/// The chunk of the new grid that begins where a chunk of the old one does and has its shape.
fn same_chunk(old: &ChunkGrid, new: &ChunkGrid, coords: &[u64]) -> Option<Vec<u64>> {
    let axes = old.axes.iter().zip(&new.axes).zip(coords);
    axes.map(|((old, new), at)| {
        let (start, length) = old.extent(*at);
        let (found, begin, full) = new.find(start);
        (start < new.len() && (begin, full) == (start, length)).then_some(found)
    })
    .collect()
}

/// A part (offset, length) of the bytes at a place, or all of them.
fn part(table: &ChunkTable, place: &Place, span: Option<(u64, u64)>) -> Result<Option<ChunkPlace>> {
    Ok(match place {
        Place::Missing => None,
        Place::Inline(bytes) => Some(ChunkPlace::Inline(match span {
            Some((offset, length)) => bytes.slice(offset as usize..(offset + length) as usize),
            None => bytes.clone(),
        })),
        Place::Range { object, offset, length } => {
            let (from, length) = span.unwrap_or((0, *length));
            let id = ObjectId::named(native(table, *object)?)?;
            Some(ChunkPlace::Object { id, offset: offset + from, length })
        }
    })
}

fn native(table: &ChunkTable, object: u32) -> Result<&str> {
    match table.objects.get(object as usize).map(|object| &object.location) {
        Some(Location::Native(name)) => Ok(name),
        _ => Err(Error::new(ErrorKind::Unsupported, "chunks of linked files can't be moved to another grid")),
    }
}
