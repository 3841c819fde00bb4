//! Local files, read with `pread`. No memory map: if a linked file shrank, a signal would end the process.

use std::fs::{File, Metadata};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use icecore_catalog::LinkIdentity;
use icecore_grid::{Error, ErrorKind, ReadAt, Result};

use super::handles::Handle;

/// A file and its identity when it was opened. If too many files are open, each read reopens it.
#[derive(Debug)]
pub struct LocalFile {
    file: Option<Handle>,
    path: PathBuf,
    name: String,
    stamp: Stamp,
    linked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    mtime_ns: i64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        let mtime_ns = metadata.modified().map_or(-1, nanoseconds);
        Self { device: metadata.dev(), inode: metadata.ino(), size: metadata.len(), mtime_ns }
    }
}

fn nanoseconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |n| -n),
    }
}

impl LocalFile {
    /// Opens `path`; `linked` means a user's file, which may have changed since it was linked.
    pub fn open(path: &Path, linked: bool) -> Result<Self> {
        let name = path.display().to_string();
        let (file, stamp) = opened(path, &name, linked)?;
        Ok(Self { file: Handle::keep(file), path: path.to_owned(), name, stamp, linked })
    }

    /// The path, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Size in bytes when it was opened.
    pub fn size(&self) -> u64 {
        self.stamp.size
    }

    /// Whether the path still refers to the opened file, unchanged.
    ///
    /// Objects of a repository are never rewritten under the same name, so for them the open handle is enough to detect
    /// changes and removal (which includes replacement), without resolving the path again.
    pub fn is_current(&self) -> bool {
        let now = match &self.file {
            Some(file) if !self.linked => file.metadata(),
            _ => std::fs::metadata(&self.path),
        };
        now.is_ok_and(|m| m.nlink() > 0 && Stamp::of(&m) == self.stamp)
    }

    /// Rejects a file that differs from the one that was linked.
    pub fn check(&self, identity: &LinkIdentity) -> Result<()> {
        if self.stamp.size != identity.size {
            return Err(changed(
                &self.name,
                &format!("it had {} bytes when it was linked and has {} now", identity.size, self.stamp.size),
            ));
        }
        if identity.mtime_ns >= 0 && self.stamp.mtime_ns != identity.mtime_ns {
            return Err(changed(
                &self.name,
                &format!(
                    "its modification time was {} ns when it was linked and is {} ns now",
                    identity.mtime_ns, self.stamp.mtime_ns
                ),
            ));
        }
        Ok(())
    }

    /// Fills `buffer` from `offset` on, completely or with an error.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        match &self.file {
            Some(file) => self.read_from(file, offset, buffer),
            None => self.read_from(&self.again()?, offset, buffer),
        }
    }

    /// Size and modification time when it was opened.
    pub fn identity(&self) -> LinkIdentity {
        LinkIdentity { size: self.stamp.size, mtime_ns: self.stamp.mtime_ns, etag: None }
    }

    /// Reopens the file, if it is still the same.
    fn again(&self) -> Result<File> {
        let (file, stamp) = opened(&self.path, &self.name, self.linked)?;
        if stamp == self.stamp {
            return Ok(file);
        }
        Err(changed(&self.name, "it is another file now than when the read began"))
    }

    fn read_from(&self, file: &File, offset: u64, buffer: &mut [u8]) -> Result<()> {
        let end = offset.saturating_add(buffer.len() as u64);
        let size_now = || file.metadata().map_or(0, |m| m.len());
        file.read_exact_at(buffer, offset).map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof if self.linked => {
                changed(&self.name, &format!("bytes {offset}..{end} were wanted, it has {} now", size_now()))
            }
            std::io::ErrorKind::UnexpectedEof => Error::new(
                ErrorKind::Corrupt,
                format!("{} ends too early: bytes {offset}..{end} were wanted, it has {}", self.name, size_now()),
            )
            .hint("run `icecore verify` on the repository"),
            _ => Error::new(ErrorKind::Io, format!("cannot read bytes {offset}..{end} of {}: {e}", self.name)),
        })
    }
}

impl ReadAt for LocalFile {
    fn len(&self) -> u64 {
        self.stamp.size
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        LocalFile::read_at(self, offset, out)
    }
}

fn opened(path: &Path, name: &str, linked: bool) -> Result<(File, Stamp)> {
    // Opening a pipe without a writer would block.
    let file = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK)
        .open(path)
        .map_err(|e| open_error(name, linked, &e))?;
    let metadata = file.metadata().map_err(|e| open_error(name, linked, &e))?;
    if !metadata.is_file() {
        return Err(Error::new(ErrorKind::Io, format!("{name} is not a regular file")));
    }
    Ok((file, Stamp::of(&metadata)))
}

fn changed(name: &str, how: &str) -> Error {
    Error::new(ErrorKind::SourceChanged, format!("{name} changed since it was linked: {how}"))
        .hint("link it again with --replace, or bring the original file back")
}

fn open_error(name: &str, linked: bool, error: &std::io::Error) -> Error {
    let (kind, hint) = match error.kind() {
        std::io::ErrorKind::NotFound if linked => (
            ErrorKind::SourceMissing,
            "if its directory was moved: icecore relink OLD NEW --into REPO; otherwise bring the file back",
        ),
        std::io::ErrorKind::NotFound => {
            (ErrorKind::Corrupt, "an object of the repository is missing: run `icecore verify`")
        }
        std::io::ErrorKind::PermissionDenied => (ErrorKind::Permission, "check the file's permissions"),
        _ if error.raw_os_error() == Some(libc::EMFILE) => {
            (ErrorKind::Io, "this process has too many files open: raise the limit (`ulimit -n`)")
        }
        _ => (ErrorKind::Io, ""),
    };
    Error::new(kind, format!("cannot open {name}: {error}")).hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn identity(file: &LocalFile) -> LinkIdentity {
        LinkIdentity { size: file.stamp.size, mtime_ns: file.stamp.mtime_ns, etag: None }
    }

    #[test]
    fn a_changed_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.bin");
        std::fs::write(&path, [1u8; 100]).unwrap();
        let file = LocalFile::open(&path, true).unwrap();
        let was = identity(&file);
        assert!(file.check(&was).is_ok() && file.is_current());
        File::options().append(true).open(&path).unwrap().write_all(b"more").unwrap();
        assert!(!file.is_current());
        let error = LocalFile::open(&path, true).unwrap().check(&was).unwrap_err();
        assert_eq!(error.kind, ErrorKind::SourceChanged);
        assert!(error.message.contains("100 bytes") && error.message.contains("104"), "{}", error.message);
    }

    #[test]
    fn an_object_that_is_replaced_or_removed_is_opened_again() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("x.bin"), dir.path().join("y.bin"));
        for linked in [false, true] {
            std::fs::write(&path, [1u8; 100]).unwrap();
            let file = LocalFile::open(&path, linked).unwrap();
            assert!(file.is_current());
            std::fs::write(&other, [2u8; 100]).unwrap();
            std::fs::rename(&other, &path).unwrap();
            assert!(!file.is_current());
            let file = LocalFile::open(&path, linked).unwrap();
            std::fs::remove_file(&path).unwrap();
            assert!(!file.is_current());
        }
    }

    #[test]
    fn reading_past_the_end_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.bin");
        std::fs::write(&path, [1u8; 10]).unwrap();
        let mut buffer = [0u8; 8];
        assert_eq!(
            LocalFile::open(&path, true).unwrap().read_at(5, &mut buffer).unwrap_err().kind,
            ErrorKind::SourceChanged
        );
        assert_eq!(
            LocalFile::open(&path, false).unwrap().read_at(5, &mut buffer).unwrap_err().kind,
            ErrorKind::Corrupt
        );
        assert_eq!(LocalFile::open(&path.join("y"), true).unwrap_err().kind, ErrorKind::Io);
        assert_eq!(LocalFile::open(&dir.path().join("y"), true).unwrap_err().kind, ErrorKind::SourceMissing);
    }

    #[test]
    fn a_pipe_in_place_of_a_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!(LocalFile::open(&path, true).unwrap_err().kind, ErrorKind::Io);
    }
}
