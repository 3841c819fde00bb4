//! Open file handles, limited to a part of the process's limit.

use std::fs::File;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

/// One part in this many of the process's limit; the rest is for other users of files.
const SHARE: usize = 4;
/// Maximum number of handles; more gain nothing.
const MOST: usize = 1024;

/// A child inherits its parent's open files, so one count is right for both.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// A file that is kept open.
#[derive(Debug)]
pub(super) struct Handle(File);

impl Handle {
    /// Keeps a file open, or closes it if too many are open.
    pub fn keep(file: File) -> Option<Self> {
        let most = most();
        let is_one_more = |kept: usize| (kept < most).then_some(kept + 1);
        KEPT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_one_more).ok().map(|_| Self(file))
    }
}

impl Deref for Handle {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        KEPT.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Maximum number of files that are kept open.
fn most() -> usize {
    (limit() / SHARE).clamp(1, MOST)
}

/// The process's limit of open files.
fn limit() -> usize {
    let mut found = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `found` is such a structure, and ours.
    match unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut found) } {
        0 => usize::try_from(found.rlim_cur).unwrap_or(usize::MAX),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_kept_than_may_be() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.bin");
        std::fs::write(&path, [1u8; 10]).unwrap();
        let kept: Vec<_> = (0..most() + 10).map_while(|_| Handle::keep(File::open(&path).unwrap())).collect();
        assert!(!kept.is_empty() && kept.len() <= most());
        drop(kept);
        assert!(Handle::keep(File::open(&path).unwrap()).is_some());
    }
}
