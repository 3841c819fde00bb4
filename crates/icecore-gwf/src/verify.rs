//! Verify the checksums of structures and of the file.

use icecore_grid::{Error, ErrorKind, ReadAt, Result};

use crate::checksum::Cksum;
use crate::cursor::Cursor;
use crate::end::{End, read_end};
use crate::format::{ByteOrder, FILE_HEADER, Format};
use crate::head::Head;
use crate::problem::{Problem, corrupt};
use crate::window::Window;

const BLOCK: u64 = 1 << 20;

/// Reads the whole file and reports each structure with a wrong checksum (version 8), and a wrong checksum of the file
/// (6 and 8). Version 4 uses another checksum, which is not verified; this is reported as `unsupported`.
pub fn verify<S: ReadAt + ?Sized>(source: &S) -> Result<Vec<Problem>> {
    let mut window = Window::new(source);
    let format = Format::parse(window.up_to(0, FILE_HEADER)?)?;
    if format.version < 6 {
        let error = Error::new(ErrorKind::Unsupported, "checksums of version 4 are not verified");
        return Ok(vec![Problem::new(&error, "", 0)]);
    }
    let flags = window.get(0, FILE_HEADER)?.get(39).copied();
    let mut problems = Vec::new();
    if format.version >= 8 {
        structures(&mut window, format, &mut problems);
    }
    match read_end(&mut window, format) {
        Ok(end) if format.version < 8 || flags == Some(1) => whole(source, &window, format, end, &mut problems)?,
        Ok(_) => {}
        Err(error) => problems.push(Problem::new(&error, "", window.size)),
    }
    Ok(problems)
}

/// Verifies the structures at `offsets` (version 8); where they have no checksum, the checksum of the file.
pub fn verify_at<S: ReadAt + ?Sized>(source: &S, offsets: &[u64]) -> Result<Vec<Problem>> {
    let mut window = Window::new(source);
    let format = Format::parse(window.up_to(0, FILE_HEADER)?)?;
    let mut problems = Vec::new();
    for &at in offsets {
        let head = Head::parse(&mut Cursor::new(window.get(at, format.head_len())?, format))?;
        if head.check != 1 {
            return if format.version < 6 { Ok(problems) } else { verify(source) };
        }
        if !structure(&mut window, format, at)?.1 {
            problems.push(wrong(at));
        }
    }
    Ok(problems)
}

fn wrong(at: u64) -> Problem {
    Problem::new(&corrupt(format!("wrong checksum of the structure at {at}")), "", at)
}

fn structures<S: ReadAt + ?Sized>(window: &mut Window<S>, format: Format, problems: &mut Vec<Problem>) {
    let mut at = FILE_HEADER;
    while at < window.size {
        match structure(window, format, at) {
            Ok((len, sound)) => {
                if !sound {
                    problems.push(wrong(at));
                }
                at += len;
            }
            Err(error) => {
                problems.push(Problem::new(&error, "", at));
                return;
            }
        }
    }
}

fn structure<S: ReadAt + ?Sized>(window: &mut Window<S>, format: Format, at: u64) -> Result<(u64, bool)> {
    let head = Head::parse(&mut Cursor::new(window.get(at, format.head_len())?, format))?;
    // The checksum of FrEndOfFile is followed by that of the file.
    let last = if at.checked_add(head.len) == Some(window.size) { 8 } else { 4 };
    let covered = head.len.checked_sub(last).ok_or_else(|| corrupt(format!("a structure of {} bytes", head.len)))?;
    if at.checked_add(head.len).is_none_or(|end| end > window.size) {
        return Err(corrupt(format!("a structure of {} bytes at {at} exceeds the file", head.len)));
    }
    if head.check != 1 {
        return Ok((head.len, true));
    }
    let mut sum = Cksum::default();
    let mut done = 0;
    while done < covered {
        let n = (covered - done).min(BLOCK);
        sum.update(window.get(at + done, n)?);
        done += n;
    }
    let stored = Cursor::new(window.get(at + covered, 4)?, format).u32()?;
    Ok((head.len, stored == sum.finish()))
}

/// The checksum of the file: without its own 4 bytes in version 8, with zeros in their place in version 6.
fn whole<S: ReadAt + ?Sized>(
    source: &S,
    window: &Window<S>,
    format: Format,
    end: End,
    problems: &mut Vec<Problem>,
) -> Result<()> {
    let Some(stored) = end.checksum else { return Ok(()) };
    let size = window.size;
    let (hole, until) = if format.version >= 8 { (size, size - 4) } else { (size - 12, size) };
    let (mut sum, mut at, mut block) = (Cksum::default(), 0, vec![0; BLOCK.min(size) as usize]);
    while at < until {
        let stop = if at < hole { hole.min(until) } else { until };
        let n = (stop - at).min(BLOCK).min(if at == hole { 4 } else { BLOCK });
        let part = block.get_mut(..n as usize).ok_or_else(|| corrupt("block too short"))?;
        source.read_at(at, part)?;
        if at == hole {
            part.fill(0);
        }
        sum.update(part);
        at += n;
    }
    let found = sum.finish();
    if found != stored {
        let order = if format.order == ByteOrder::Big { "big" } else { "little" };
        let message = format!("checksum of the file is {found:#x}, stored {stored:#x} ({order}-endian)");
        problems.push(Problem::new(&corrupt(message), "", size));
    }
    Ok(())
}
