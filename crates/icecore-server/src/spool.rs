//! Tables of known length, for `HEAD` and for ranges of bytes: the whole file is made once on disk, and requests for parts
//! of it read that. Files have no name, and go away with the service.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use icecore::cancel;
use icecore::grid::{Error, ErrorKind};

use crate::http::error::Answer;
use crate::turn;

/// Maximum bytes of a file; larger tables are sent without a length.
const MOST: u64 = 256 << 20;
/// Maximum bytes of all files.
const TOTAL: u64 = 1 << 30;
/// Maximum number of files.
const FILES: usize = 64;
/// Bytes of a block that is sent.
const BLOCK: u64 = 1 << 20;

/// A file in blocks.
type Blocks = Box<dyn Iterator<Item = Answer<Bytes>> + Send>;

/// A file that was made.
pub(crate) struct Spooled {
    file: File,
    pub length: u64,
    pub content_type: String,
}

impl Spooled {
    /// Bytes of it, in blocks.
    pub fn blocks(self: Arc<Self>, part: Range<u64>) -> Blocks {
        let starts = (part.start..part.end).step_by(BLOCK as usize);
        Box::new(starts.map(move |start| {
            let mut block = vec![0; (part.end - start).min(BLOCK) as usize];
            self.file.read_exact_at(&mut block, start).map_err(failed)?;
            Ok(Bytes::from(block))
        }))
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the temporary file of a table: {error}"))
        .hint("free space in the directory for temporary files")
}

/// The newest files by what they were made from; None for one that was too large.
#[derive(Default)]
pub(crate) struct Spools {
    kept: Mutex<VecDeque<(String, Option<Arc<Spooled>>)>>,
    /// One file is made at a time.
    making: Mutex<()>,
}

impl Spools {
    /// The file of a key, which is made if it is not there; None if it is larger than the service keeps. Blocks.
    ///
    /// # Errors
    /// Those of `make`; `io`.
    pub fn file(&self, key: &str, make: impl FnOnce() -> Answer<(String, Blocks)>) -> Answer<Option<Arc<Spooled>>> {
        if let Some(known) = self.known(key) {
            return Ok(known);
        }
        let _turn = turn::lock(&self.making, "a table")?;
        if let Some(known) = self.known(key) {
            return Ok(known);
        }
        let (content_type, blocks) = make()?;
        let made = written(content_type, blocks)?;
        self.keep(key, made.clone());
        Ok(made)
    }

    fn known(&self, key: &str) -> Option<Option<Arc<Spooled>>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(each, _)| each == key).map(|(_, file)| file.clone())
    }

    fn keep(&self, key: &str, made: Option<Arc<Spooled>>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_front((key.to_owned(), made));
        let mut total = 0;
        let fits = |(_, file): &(String, Option<Arc<Spooled>>)| {
            total += file.as_ref().map_or(0, |file| file.length);
            total <= TOTAL
        };
        let count = kept.iter().take(FILES).map(fits).take_while(|fits| *fits).count();
        kept.truncate(count);
    }
}

fn written(content_type: String, blocks: Blocks) -> Answer<Option<Arc<Spooled>>> {
    let mut file = tempfile::tempfile().map_err(failed)?;
    let mut length = 0;
    for block in blocks {
        cancel::check()?;
        let block = block?;
        length += block.len() as u64;
        if length > MOST {
            return Ok(None);
        }
        file.write_all(&block).map_err(failed)?;
    }
    Ok(Some(Arc::new(Spooled { file, length, content_type })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(spools: &Spools, key: &str, blocks: u64) -> Option<u64> {
        let block = Bytes::from(vec![7; 64 << 20]);
        let make = || -> Answer<(String, Blocks)> {
            Ok(("text/csv".to_owned(), Box::new((0..blocks).map(move |_| Ok(block.clone())))))
        };
        spools.file(key, make).unwrap().map(|file| file.length)
    }

    #[test]
    fn files_are_made_once_and_large_ones_are_not_kept() {
        let spools = Spools::default();
        assert_eq!(made(&spools, "a", 1), Some(64 << 20));
        assert_eq!(made(&spools, "a", 2), Some(64 << 20), "the kept file");
        assert_eq!(made(&spools, "large", 5), None);
        for key in ["b", "c", "d", "e"] {
            assert_eq!(made(&spools, key, 4), Some(256 << 20));
        }
        assert!(spools.known("a").is_none(), "older files make room");
        assert!(spools.known("e").is_some());
    }

    #[test]
    fn parts_are_read_in_blocks() {
        let spools = Spools::default();
        let make = || -> Answer<(String, Blocks)> {
            Ok((String::new(), Box::new((0..3_u8).map(|n| Ok(Bytes::from(vec![n; 1 << 20]))))))
        };
        let file = spools.file("a", make).unwrap().unwrap();
        let parts: Vec<Bytes> = file.blocks((1 << 20) - 1..(2 << 20) + 1).map(Result::unwrap).collect();
        assert_eq!(parts.iter().map(Bytes::len).collect::<Vec<_>>(), [1 << 20, 2]);
        assert_eq!((parts[0][0], parts[0][1], parts[1][1]), (0, 1, 2));
    }
}
