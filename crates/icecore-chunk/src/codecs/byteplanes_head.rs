//! The table in front of the planes: what each of them takes, and a checksum for each, so that a part read alone is checked too.

use icecore_grid::Result;

use crate::refuse::corrupt;

/// Bytes of one entry: u64 length, u32 crc32c of the stored bytes, u8 "raw", 3 zero bytes; all little-endian.
const ENTRY: usize = 16;
const SUM: usize = 4;

/// One part of a chunk. Offsets count from the start of the chunk.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Entry {
    pub offset: u64,
    pub length: u64,
    pub crc: u32,
    /// Of a plane: its numbers as they are, little-endian: its codecs would not have made it shorter. Of the escapes: a
    /// number stands in front of them, see `byteplanes_escape.rs`.
    pub raw: bool,
}

impl Entry {
    pub fn end(&self) -> u64 {
        self.offset + self.length
    }

    /// The bytes of this part, with the right checksum. `stored` starts where the chunk starts and may end behind this part.
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

    /// Do these bytes have the checksum of the table?
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
    /// Numbers that are kept whole, see `byteplanes_escape.rs`; often none.
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

/// A chunk: the table, the escapes, then the planes (stored bytes, raw).
pub(crate) fn join(escapes: (Vec<u8>, bool), planes: Vec<(Vec<u8>, bool)>) -> Vec<u8> {
    let parts = || std::iter::once(&escapes).chain(&planes).map(|(bytes, raw)| (bytes, *raw));
    let total: usize = parts().map(|(bytes, _)| bytes.len()).sum();
    let mut out = Vec::with_capacity(head_len(planes.len()) + total);
    for (bytes, raw) in parts() {
        out.extend((bytes.len() as u64).to_le_bytes());
        out.extend(crc32c::crc32c(bytes).to_le_bytes());
        out.extend([u8::from(raw), 0, 0, 0]);
    }
    out.extend(crc32c::crc32c(&out).to_le_bytes());
    for (bytes, _) in parts() {
        out.extend_from_slice(bytes);
    }
    out
}
