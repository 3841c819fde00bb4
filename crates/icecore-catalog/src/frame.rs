//! Check the header of an Icechunk file before decoding: is the claimed size plausible for its length?
//!
//! Icechunk allocates the claimed size, so one flipped bit could otherwise request gigabytes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use icechunk::format::format_constants::ICECHUNK_FILE_HEADER_LEN;
use icecore_grid::Result;

use crate::error::damaged;

/// Upper limit of the compression ratio of metadata.
const RATIO: u64 = 4096;
const SLACK: u64 = 1 << 20;
const FRAME_HEADER: usize = 18;

/// Checks the beginning of a file of `length` bytes. Icechunk itself rejects truncated and invalid files.
pub(crate) fn check(start: &[u8], length: u64, name: &str) -> Result<()> {
    match start.get(ICECHUNK_FILE_HEADER_LEN..).and_then(claimed) {
        Some(size) if size > length.saturating_mul(RATIO).saturating_add(SLACK) => {
            Err(damaged(format!("{name} has {length} bytes and claims to unpack to {size}")))
        }
        _ => Ok(()),
    }
}

/// Checks a file on disk. A missing file is not an error here: Icechunk reports it.
pub(crate) fn check_file(path: &Path) -> Result<()> {
    let Ok(mut file) = File::open(path) else { return Ok(()) };
    let length = file.metadata().map_or(0, |m| m.len());
    let mut start = Vec::with_capacity(ICECHUNK_FILE_HEADER_LEN + FRAME_HEADER);
    match file.by_ref().take((ICECHUNK_FILE_HEADER_LEN + FRAME_HEADER) as u64).read_to_end(&mut start) {
        Ok(_) => check(&start, length, &path.display().to_string()),
        Err(_) => Ok(()),
    }
}

/// The content size in a zstd frame header, RFC 8878 section 3.1.1.1.
fn claimed(frame: &[u8]) -> Option<u64> {
    let rest = frame.strip_prefix(&[0x28, 0xb5, 0x2f, 0xfd])?;
    let (&descriptor, rest) = rest.split_first()?;
    let is_single = descriptor & 0x20 != 0;
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let width = match (descriptor >> 6, is_single) {
        (0, false) => return None,
        (0, true) => 1,
        (flag, _) => 1usize << flag,
    };
    let start = usize::from(!is_single) + dictionary;
    let field = rest.get(start..start + width)?;
    let value = field.iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
    Some(if width == 2 { value + 256 } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(frame: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; ICECHUNK_FILE_HEADER_LEN];
        bytes.extend_from_slice(frame);
        bytes
    }

    #[test]
    fn sizes_are_read_from_the_frame() {
        assert_eq!(claimed(&[0x28, 0xb5, 0x2f, 0xfd, 0x20, 7]), Some(7));
        assert_eq!(claimed(&[0x28, 0xb5, 0x2f, 0xfd, 0x40, 0, 1, 0]), Some(257));
        assert_eq!(claimed(&[0x28, 0xb5, 0x2f, 0xfd, 0x80, 0, 1, 0, 0, 0]), Some(1));
        assert_eq!(claimed(&[0x28, 0xb5, 0x2f, 0xfd, 0x00, 0]), None);
        assert_eq!(claimed(&[0x28, 0xb5, 0x2f, 0xfd]), None);
        assert_eq!(claimed(b"other"), None);
    }

    #[test]
    fn a_huge_claim_is_refused() {
        let frame = [0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0, 0, 0, 0, 0, 2, 0, 0, 0];
        assert!(check(&file(&frame), 100, "x").unwrap_err().message.contains("claims to unpack"));
        assert!(check(&file(&frame[..6]), 100, "x").is_ok());
        assert!(check(&[], 0, "x").is_ok());
    }
}
