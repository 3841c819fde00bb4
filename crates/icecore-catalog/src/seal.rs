//! Checksums of a version's metadata files, for repositories in local directories.
//!
//! Icechunk's snapshots and manifests have no checksums: a flipped bit could direct a reader to wrong bytes unnoticed.
//! So a commit also writes `seals/<snapshot>`, a list of the version's files with their lengths and CRC-32. Versions
//! committed by other software have no seal and are read without this check; object stores verify data themselves.
//!
//! `seals/repo` does the same for the root object, which changes with each update. It records the update that it
//! belongs to and is ignored for other states of the object, so a crash in between, or software without seals, is
//! harmless.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::path::Path;

use icechunk::format::ManifestId;
use icechunk::format::snapshot::Snapshot;
use icecore_grid::Result;

use crate::{error, frame};

/// The directory of the seals.
pub(crate) const FOLDER: &str = "seals";
const TITLE: &str = "icecore seal 1";

/// Names of the root object and of its seal.
pub(crate) const ROOT: &str = "repo";

/// Validity of a version's seal.
pub(crate) enum State {
    None,
    Whole(Seal),
    /// The problem with the file.
    Damaged(String),
}

/// Reads a version's seal.
pub(crate) fn state(root: &Path, snapshot: &str) -> State {
    let name = format!("{FOLDER}/{snapshot}");
    match std::fs::read_to_string(root.join(&name)) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => State::None,
        Err(e) => State::Damaged(format!("{name} cannot be read: {e}")),
        // Seals are not synchronised with the root object: a power failure may leave one without its content.
        Ok(text) if text.bytes().all(|byte| byte == 0) => State::None,
        Ok(text) => Seal::parse(&text).map_or_else(
            || State::Damaged(format!("{name} is not as it was written: its own checksum differs")),
            State::Whole,
        ),
    }
}

/// Lengths and checksums by file name (`snapshots/…`, `manifests/…`).
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seal(BTreeMap<String, (u64, u32)>);

impl Seal {
    /// The seal of a version; empty if it does not exist or is damaged itself.
    pub fn load(root: &Path, snapshot: &str) -> Self {
        match state(root, snapshot) {
            State::Whole(seal) => seal,
            State::None | State::Damaged(_) => Self::default(),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (list, last) = text.trim_end_matches('\n').rsplit_once('\n')?;
        if u32::from_str_radix(last, 16).ok()? != crc32fast::hash(list.as_bytes()) {
            return None;
        }
        let mut lines = list.lines();
        lines.next().filter(|title| *title == TITLE)?;
        lines.map(entry).collect::<Option<_>>().map(Self)
    }

    fn text(&self) -> String {
        let mut text = TITLE.to_owned();
        for (name, (length, checksum)) in &self.0 {
            // Writing to a string cannot fail.
            let _ = write!(text, "\n{name} {length} {checksum:08x}");
        }
        let own = crc32fast::hash(text.as_bytes());
        text + &format!("\n{own:08x}\n")
    }

    /// Whether the seal has a checksum for this file.
    pub fn names(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Rejects bytes that differ from those committed under this name.
    pub fn check(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let Some((length, checksum)) = self.0.get(name) else { return Ok(()) };
        let found = bytes.len() as u64;
        if found != *length {
            return Err(error::damaged(format!("{name} had {length} bytes when it was committed and has {found} now")));
        }
        let now = crc32fast::hash(bytes);
        if now != *checksum {
            return Err(error::damaged(format!(
                "{name} had the checksum {checksum:08x} when it was committed and has {now:08x} now"
            )));
        }
        Ok(())
    }

    /// Checks a file on disk, including its claimed size. A missing file is not an error here: Icechunk reports it.
    pub fn check_file(&self, root: &Path, name: &str) -> Result<()> {
        match std::fs::read(root.join(name)) {
            Ok(bytes) => {
                self.check(name, &bytes)?;
                frame::check(&bytes, bytes.len() as u64, name)
            }
            Err(_) => Ok(()),
        }
    }

    fn save(&self, root: &Path, id: &str) -> std::io::Result<()> {
        let folder = root.join(FOLDER);
        std::fs::create_dir_all(&folder)?;
        let unfinished = folder.join(format!("{id}#0"));
        std::fs::write(&unfinished, self.text())?;
        std::fs::rename(unfinished, folder.join(id))
    }

    fn add(&mut self, root: &Path, name: String) -> std::io::Result<()> {
        let bytes = std::fs::read(root.join(&name))?;
        self.0.insert(name, (bytes.len() as u64, crc32fast::hash(&bytes)));
        Ok(())
    }
}

fn entry(line: &str) -> Option<(String, (u64, u32))> {
    let mut fields = line.split(' ');
    let (name, length, checksum) = (fields.next()?, fields.next()?, fields.next()?);
    Some((name.to_owned(), (length.parse().ok()?, u32::from_str_radix(checksum, 16).ok()?)))
}

/// Writes the seal of a version that was just committed on top of `parent`: the version's own files are read back, the
/// others copied from the parent's seal.
pub(crate) fn write(root: &Path, snapshot: &Snapshot, parent: Option<&Snapshot>) -> std::io::Result<()> {
    let old = parent.map(|parent| Seal::load(root, &parent.id().to_string())).unwrap_or_default();
    let inherited: HashSet<ManifestId> = parent.map(manifests).unwrap_or_default();
    let mut seal = Seal::default();
    for id in manifests(snapshot) {
        let name = format!("manifests/{id}");
        match old.0.get(&name) {
            Some(known) => drop(seal.0.insert(name, *known)),
            None if inherited.contains(&id) => {}
            None => seal.add(root, name)?,
        }
    }
    let id = snapshot.id().to_string();
    seal.add(root, format!("snapshots/{id}"))?;
    seal.add(root, format!("transactions/{id}"))?;
    seal.save(root, &id)
}

/// Seals the root object after the update with this time; the caller holds the lock.
pub(crate) fn write_root(root: &Path, updated_at: u64, unpacked: &[u8]) -> std::io::Result<()> {
    let noted = (unpacked.len() as u64, crc32fast::hash(unpacked));
    Seal(BTreeMap::from([(update(updated_at), noted)])).save(root, ROOT)
}

/// Rejects a root object that differs from the sealed one of the same update.
pub(crate) fn check_root(root: &Path, updated_at: u64, unpacked: &[u8]) -> Result<()> {
    Seal::load(root, ROOT).check(&update(updated_at), unpacked).map_err(|e| {
        let without = format!("{FOLDER}/{ROOT}");
        e.hint(format!(
            "put back the file {ROOT} from a copy, or the newest one of the folder overwritten: that is how the \
             repository was one update before; if {without} is removed, {ROOT} is read as it is"
        ))
    })
}

fn update(updated_at: u64) -> String {
    format!("{ROOT}@{updated_at}")
}

fn manifests(snapshot: &Snapshot) -> HashSet<ManifestId> {
    snapshot.manifest_files().filter_map(std::result::Result::ok).map(|file| file.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let seal = Seal(BTreeMap::from([("snapshots/A".into(), (3, 9)), ("manifests/B".into(), (u64::MAX, u32::MAX))]));
        assert_eq!(Seal::parse(&seal.text()), Some(seal));
        assert_eq!(Seal::parse(&Seal::default().text()), Some(Seal::default()));
    }

    #[test]
    fn a_damaged_seal_is_none() {
        let text = Seal(BTreeMap::from([("snapshots/A".into(), (3, 9))])).text();
        for at in 0..text.len() {
            assert_eq!(
                Seal::parse(&text[..at]).unwrap_or_default(),
                if at + 1 == text.len() { Seal::parse(&text).unwrap() } else { Seal::default() }
            );
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let changed = String::from_utf8(bytes).unwrap();
            assert!(at + 1 == text.len() || Seal::parse(&changed).is_none(), "{changed}");
        }
    }

    #[test]
    fn damage_is_told_with_both_sides() {
        let seal = Seal(BTreeMap::from([("x".into(), (3, crc32fast::hash(b"abc")))]));
        assert!(seal.check("x", b"abc").is_ok() && seal.check("y", b"anything").is_ok());
        assert!(seal.check("x", b"ab").unwrap_err().message.contains("had 3 bytes when it was committed and has 2"));
        assert!(seal.check("x", b"abd").unwrap_err().message.contains("352441c2"));
    }
}
