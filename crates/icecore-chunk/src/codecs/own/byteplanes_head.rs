//! The table before the planes: the length and checksum of each plane, so that a partial read is verified too.

use icecore_grid::Result;

use crate::errors::corrupt;

/// Bytes of one entry: u64 length, u32 crc32c of the stored bytes, u8 "raw", 3 zero bytes; all little-endian.
const ENTRY: usize = 16;
const SUM: usize = 4;

/// One part of a chunk. Offsets count from the start of the chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Entry {
    pub offset: u64,
    pub length: u64,
    pub crc: u32,
    /// Of a plane: it is stored raw, little-endian, because its codecs would not have shortened it. Of the escapes: a
    /// number precedes the list, see `byteplanes_escape.rs`.
    pub raw: bool,
}

impl Entry {
    pub fn end(&self) -> u64 {
        self.offset + self.length
    }

    /// The bytes of this part, after its checksum was verified. `stored` starts where the chunk starts and may end
    /// after this part.
    pub fn part<'a>(&self, stored: &'a [u8]) -> Result<&'a [u8]> {
        let range = usize::try_from(self.offset).ok().zip(usize::try_from(self.end()).ok());
        let part = range.and_then(|(start, end)| stored.get(start..end)).ok_or_else(|| {
            corrupt(
                "icecore.byteplanes",
                format!("a plane at {} to {} in {} bytes", self.offset, self.end(), stored.len()),
            )
        })?;
        self.check(part)?;
        Ok(part)
    }

    /// Whether these bytes match the checksum in the table.
    pub fn check(&self, part: &[u8]) -> Result<()> {
        match crc32c::crc32c(part) {
            found if found == self.crc => Ok(()),
            found => {
                let said = self.crc;
                let what = format!("the checksum of a plane is {said:#010x}, its data have {found:#010x}");
                Err(corrupt("icecore.byteplanes", what))
            }
        }
    }
}

/// The parsed table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Head {
    /// Completely stored numbers, see `byteplanes_escape.rs`; often none.
    pub escapes: Entry,
    pub planes: Vec<Entry>,
}

/// Bytes of the table of a chunk with this many planes.
pub(crate) fn head_len(planes: usize) -> usize {
    ENTRY * (planes + 1) + SUM
}

impl Head {
    /// Reads the table at the start of `stored`.
    pub fn parse(stored: &[u8], planes: usize) -> Result<Head> {
        let len = head_len(planes);
        let flaw = |what: String| corrupt("icecore.byteplanes", what);
        let head = stored.get(..len).ok_or_else(|| flaw(format!("{} bytes, the table takes {len}", stored.len())))?;
        let (table, sum) = head.split_at(len - SUM);
        if crc32c::crc32c(table).to_le_bytes() != sum {
            return Err(flaw("the checksum of the table of planes is wrong".into()));
        }
        let mut offset = len as u64;
        let mut entries = Vec::with_capacity(planes + 1);
        for words in table.as_chunks::<ENTRY>().0 {
            let [a, b, c, d, e, f, g, h, i, j, k, l, raw, rest @ ..] = *words;
            let length = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            if raw > 1 || rest != [0; 3] || offset.checked_add(length).is_none() {
                return Err(flaw("the table of planes is malformed".into()));
            }
            entries.push(Entry { offset, length, crc: u32::from_le_bytes([i, j, k, l]), raw: raw == 1 });
            offset += length;
        }
        let escapes = entries.remove(0);
        Ok(Head { escapes, planes: entries })
    }

    /// The end of the first `count` planes.
    pub fn end(&self, count: usize) -> u64 {
        self.planes.iter().take(count).next_back().map_or(self.escapes.end(), Entry::end)
    }
}

/// Writes the table into the space reserved at the front of a chunk: the end of the escapes and of each plane, and the
/// raw flags.
pub(crate) fn write_table(chunk: &mut [u8], parts: &[(usize, bool)]) {
    let (table, _) = chunk.split_at(head_len(parts.len().saturating_sub(1)));
    let mut head = Vec::with_capacity(table.len());
    let mut start = table.len();
    for (end, raw) in parts {
        head.extend(((end - start) as u64).to_le_bytes());
        head.extend(crc32c::crc32c(&chunk[start..*end]).to_le_bytes());
        head.extend([u8::from(*raw), 0, 0, 0]);
        start = *end;
    }
    head.extend(crc32c::crc32c(&head).to_le_bytes());
    chunk[..head.len()].copy_from_slice(&head);
}
