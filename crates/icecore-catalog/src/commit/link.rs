//! References to bytes in linked files.

use std::fmt;

use icechunk::format::ChunkIndices;
use icechunk::format::manifest::{Checksum, SecondsSinceEpoch, VirtualChunkLocation, VirtualChunkRef};
use icechunk::storage::ETag;
use icecore_grid::{Error, ErrorKind, Result, redact};

use crate::error;
use crate::nodes::identity::LinkIdentity;
use crate::nodes::{identity_batches, node};
use crate::open::writer::{Pending, Writer, coordinates};
use crate::runtime::run;
use crate::stores::storage::Root;
use crate::stores::{containers, prefix};

const SECOND_NS: i64 = 1_000_000_000;

impl Writer {
    /// Allows links to files under a directory or URL prefix. The prefix is recorded with the next commit; this process
    /// can read the links at once.
    ///
    /// # Errors
    /// `invalid` if it is not a prefix; `unsupported` for schemes other than file, http(s) and s3.
    pub fn allow_container(&self, prefix: &str) -> Result<()> {
        let prefix = prefix::given(prefix)?;
        let mut pending = self.begin()?;
        if self.covering(&pending).any(|known| prefix::covers(&known, &prefix)) {
            return Ok(());
        }
        let container = containers::container(&prefix, &self.shared.options)?;
        run(self.shared.allow(std::slice::from_ref(&container)))?;
        pending.containers.push(container);
        Ok(())
    }

    /// Recorded prefixes, and those that the next commit will record.
    fn covering<'a>(&self, pending: &'a Pending) -> impl Iterator<Item = String> + use<'a> {
        let recorded = self.shared.recorded();
        recorded
            .into_iter()
            .chain(pending.containers.iter().map(|c| c.url_prefix().to_owned()))
            .filter_map(|p| prefix::recorded(&p))
    }

    /// Sets the byte ranges of chunks in files. `url_ids`, `chunks`, `offsets` and `lengths` are columns of one table:
    /// `url_ids` are indexes into `urls`, `chunks` are flat indexes in C order over the array's chunk grid. Chunks of
    /// length 0 are left unset.
    ///
    /// # Errors
    /// LinkNotAllowed if a file is under no allowed prefix; Invalid if the columns contradict each other, a chunk is
    /// outside the grid, or its bytes are outside the file; NotFound or Mismatch if the path is not an array.
    #[expect(clippy::too_many_arguments, reason = "columns of one table, as the contract with the package has them")]
    pub fn set_links(
        &self,
        path: &str,
        urls: &[String],
        identities: &[LinkIdentity],
        url_ids: &[u32],
        chunks: &[u64],
        offsets: &[u64],
        lengths: &[u64],
    ) -> Result<()> {
        let at = node::path(path)?;
        let rows = chunks.len();
        if [url_ids.len(), offsets.len(), lengths.len()] != [rows; 3] || identities.len() != urls.len() {
            let message = format!(
                "{path}: {} URLs with {} identities; {} ids, {rows} chunks, {} offsets and {} lengths",
                urls.len(),
                identities.len(),
                url_ids.len(),
                offsets.len(),
                lengths.len()
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let mut pending = self.begin()?;
        let files = self.files(&pending, urls, identities)?;
        let counts = self.counts(path)?;
        let table = Links { path, counts: &counts, files: &files, url_ids, chunks, offsets, lengths, row: 0 };
        table.check()?;
        run(async { self.store.set_virtual_refs(&at, false, table).await.map(|_| ()).map_err(error::store) })?;
        pending.touched.extend([path.to_owned(), identity_batches::PATH.to_owned()]);
        pending.references += rows;
        pending.sources.extend(urls.iter().cloned().zip(identities.iter().cloned()));
        Ok(())
    }

    fn files(&self, pending: &Pending, urls: &[String], identities: &[LinkIdentity]) -> Result<Vec<LinkedFile>> {
        let allowed: Vec<String> = self.covering(pending).collect();
        let mut files = Vec::with_capacity(urls.len());
        for (url, identity) in urls.iter().zip(identities) {
            let shown = redact(url);
            if *shown != **url && !matches!(self.shared.root, Root::Memory(_)) {
                let message = format!("{shown}: an address with a signature, a token or a password can't be stored");
                return Err(Error::new(ErrorKind::Permission, message)
                    .hint("link the bare address, or the object in its bucket (s3://bucket/key); or copy the data"));
            }
            if !prefix::normal(url).is_some_and(|url| allowed.iter().any(|p| prefix::covers(p, &url))) {
                let places = if allowed.is_empty() { "nowhere".to_owned() } else { allowed.join(", ") };
                return Err(Error::new(
                    ErrorKind::LinkNotAllowed,
                    format!("{url} is outside the prefixes that this repository may link to: {places}"),
                )
                .hint("allow its directory: --allow-links PREFIX (in Rust: allow_container)"));
            }
            let location = VirtualChunkLocation::from_url(url)
                .map_err(|e| Error::new(ErrorKind::Invalid, format!("{url}: {}", e.kind)))?;
            files.push(LinkedFile { location, checksum: checksum(url, identity), size: identity.size });
        }
        Ok(files)
    }
}

/// The part of a reference that all chunks of a file share.
struct LinkedFile {
    location: VirtualChunkLocation,
    checksum: Option<Checksum>,
    size: u64,
}

/// The checksum that Icechunk compares at each read. A local modification time is rounded up to seconds, because the
/// file's own time has fractions and must not be later. Weak ETags are omitted, because stores cannot compare them.
fn checksum(url: &str, identity: &LinkIdentity) -> Option<Checksum> {
    let is_file = url.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"));
    if let Some(etag) = identity.etag.as_ref().filter(|etag| !is_file && !etag.starts_with("W/")) {
        return Some(Checksum::ETag(ETag(etag.clone())));
    }
    let seconds = identity.mtime_ns.checked_add(SECOND_NS - 1)? / SECOND_NS;
    let seconds = u32::try_from(seconds).ok().filter(|_| identity.mtime_ns >= 0)?;
    Some(Checksum::LastModified(SecondsSinceEpoch(seconds)))
}

/// The references as an iterator: a million of them need not be in memory twice.
struct Links<'a> {
    path: &'a str,
    counts: &'a [u32],
    files: &'a [LinkedFile],
    url_ids: &'a [u32],
    chunks: &'a [u64],
    offsets: &'a [u64],
    lengths: &'a [u64],
    row: usize,
}

impl Links<'_> {
    fn check(&self) -> Result<()> {
        let chunks_in_grid = self.counts.iter().fold(1u64, |all, count| all.saturating_mul(u64::from(*count)));
        let rows = self.url_ids.iter().zip(self.chunks).zip(self.offsets.iter().zip(self.lengths));
        for ((url, chunk), (offset, length)) in rows {
            if *chunk >= chunks_in_grid {
                coordinates(self.path, *chunk, self.counts)?;
            }
            let file = self.files.get(*url as usize);
            let file = file.ok_or_else(|| {
                Error::new(
                    ErrorKind::Invalid,
                    format!("{}: chunk {chunk} is in file {url} of {}", self.path, self.files.len()),
                )
            })?;
            if offset.checked_add(*length).is_none_or(|end| end > file.size) {
                let message = format!(
                    "{}: chunk {chunk} is said to be {length} bytes from {offset} on of {}, which has {}",
                    self.path,
                    file.location.url(),
                    file.size
                );
                return Err(Error::new(ErrorKind::Invalid, message));
            }
        }
        Ok(())
    }
}

impl Iterator for Links<'_> {
    type Item = (ChunkIndices, VirtualChunkRef);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let row = self.row;
            self.row += 1;
            let (chunk, offset, length) = (*self.chunks.get(row)?, *self.offsets.get(row)?, *self.lengths.get(row)?);
            if length == 0 {
                continue;
            }
            let file = self.files.get(*self.url_ids.get(row)? as usize)?;
            let coords = coordinates(self.path, chunk, self.counts).ok()?;
            return Some((
                coords,
                VirtualChunkRef { location: file.location.clone(), offset, length, checksum: file.checksum.clone() },
            ));
        }
    }
}

impl fmt::Debug for Links<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} references of {}", self.chunks.len(), self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(url: &str, mtime_ns: i64, etag: Option<&str>) -> Option<Checksum> {
        checksum(url, &LinkIdentity { size: 1, mtime_ns, etag: etag.map(str::to_owned) })
    }

    #[test]
    fn checksums() {
        let seconds = |s| Some(Checksum::LastModified(SecondsSinceEpoch(s)));
        assert_eq!(of("file:///a", 12_700_000_000, None), seconds(13));
        assert_eq!(of("file:///a", 12_000_000_000, Some("\"x\"")), seconds(12));
        assert_eq!(of("http://h/a", 12_000_000_000, Some("\"x\"")), Some(Checksum::ETag(ETag("\"x\"".into()))));
        assert_eq!(of("http://h/a", 12_000_000_000, Some("W/\"x\"")), seconds(12));
        assert_eq!(of("http://h/a", -1, None), None);
        assert_eq!(of("file:///a", i64::MAX, None), None);
    }
}
