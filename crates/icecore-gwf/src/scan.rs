//! Sequential scan: the contents of a file whose table of contents is missing or unusable.

use std::collections::HashMap;

use icecore_grid::{Error, ErrorKind, ReadAt, Result};

use crate::channel;
use crate::cursor::Cursor;
use crate::format::{FILE_HEADER, Format};
use crate::head::Head;
use crate::problem::{Problem, corrupt};
use crate::toc::{Contents, Entry, Frame, Kind, frame_times};
use crate::vect::read_vect;
use crate::window::Window;

/// Maximum size of a channel structure or frame header that is parsed.
const MAX_STRUCTURE: u64 = 1 << 22;

/// The structures of the specification, versions 4 to 8.
const CLASSES: [&str; 21] = [
    "FrAdcData",
    "FrDetector",
    "FrEndOfFile",
    "FrEndOfFrame",
    "FrEvent",
    "FrHistory",
    "FrMsg",
    "FrProcData",
    "FrRawData",
    "FrSE",
    "FrSH",
    "FrSerData",
    "FrSimData",
    "FrSimEvent",
    "FrStatData",
    "FrSummary",
    "FrTable",
    "FrTOC",
    "FrTrigData",
    "FrVect",
    "FrameH",
];

/// Walks all structures. Unreadable ones are reported in `problems`; the scan ends at the first wrong length.
pub(crate) fn scan<S: ReadAt + ?Sized>(
    window: &mut Window<S>,
    format: Format,
    problems: &mut Vec<Problem>,
) -> Contents {
    let mut contents = Contents::default();
    let mut at = FILE_HEADER;
    let mut last = at;
    let mut seen = HashMap::new();
    while at < window.size {
        last = at;
        match step(window, format, at, &mut contents, &mut seen) {
            Ok((len, None)) => at += len,
            Ok((len, Some(problem))) => {
                problems.push(problem);
                at += len;
            }
            Err(error) => {
                problems.push(Problem::new(&error, "", at));
                return contents;
            }
        }
    }
    if !ends(window, format, last, &contents) {
        let error = corrupt("the file ends without FrEndOfFile: it is truncated or still being written");
        problems.push(Problem::new(&error, "", at));
    }
    contents
}

/// Whether the structure at `last` is FrEndOfFile.
fn ends<S: ReadAt + ?Sized>(window: &mut Window<S>, format: Format, last: u64, contents: &Contents) -> bool {
    let bytes = window.get(last, format.head_len());
    let head = bytes.and_then(|bytes| Head::parse(&mut Cursor::new(bytes, format)));
    head.is_ok_and(|head| contents.class("FrEndOfFile") == Some(head.class))
}

type Seen = HashMap<(u8, String), usize>;

fn step<S: ReadAt + ?Sized>(
    window: &mut Window<S>,
    format: Format,
    at: u64,
    contents: &mut Contents,
    seen: &mut Seen,
) -> Result<(u64, Option<Problem>)> {
    let head = Head::parse(&mut Cursor::new(window.get(at, format.head_len())?, format))?;
    if at.checked_add(head.len).is_none_or(|end| end > window.size) {
        return Err(corrupt(format!(
            "a structure of {} bytes at offset {at} exceeds the file of {}",
            head.len, window.size
        )));
    }
    let known = contents.classes.iter().find(|(id, _)| *id == head.class).map(|(_, name)| name.as_str());
    let wanted = match (head.class, known) {
        (1, _) => "FrSH",
        (2, _) => "FrSE",
        (class, None) => {
            contents.classes.push((class, String::new())); // reported once
            let error = Error::new(ErrorKind::Format, format!("a structure of class {class}, which no FrSH declares"));
            return Ok((head.len, Some(Problem::new(&error, "", at))));
        }
        // A channel's structure whose class is damaged may look like a vector.
        (_, Some("FrVect")) => {
            let vect = read_vect(window, format, at, head);
            return Ok((head.len, vect.err().map(|error| Problem::new(&error, "", at))));
        }
        (
            _,
            Some(
                name @ ("FrameH" | "FrAdcData" | "FrProcData" | "FrSimData" | "FrEvent" | "FrSimEvent" | "FrSerData"
                | "FrSummary" | "FrStatData"),
            ),
        ) => name,
        _ => return Ok((head.len, None)),
    };
    let wanted = wanted.to_string();
    let parsed = window
        .get(at, head.len.min(MAX_STRUCTURE))
        .and_then(|bytes| note(&wanted, Cursor::new(bytes, format), at, contents, seen));
    Ok((head.len, parsed.err().map(|error| Problem::new(&error, "", at))))
}

fn note(class: &str, mut cursor: Cursor, at: u64, contents: &mut Contents, seen: &mut Seen) -> Result<()> {
    cursor.take(cursor.format.head_len() as usize)?;
    match class {
        "FrSH" => {
            let name = cursor.string()?;
            let class = cursor.u16()?;
            let known = CLASSES.contains(&name.as_str());
            contents.classes.push((class, name.clone()));
            if !known {
                return Err(Error::new(ErrorKind::Format, format!("FrSH declares class {class} as {name:?}")));
            }
        }
        "FrSE" => {
            (0..3).try_for_each(|_| cursor.skip_string())?;
            if cursor.left() != if cursor.format.version >= 8 { 4 } else { 0 } {
                return Err(corrupt(format!("FrSE: {} bytes behind the last field", cursor.left())));
            }
        }
        "FrameH" => contents.frames.push(frame(&mut cursor, at)?),
        "FrEvent" | "FrSimEvent" => {
            let name = cursor.string()?;
            match contents.events.iter_mut().find(|(n, _)| *n == name) {
                Some((_, count)) => *count = count.saturating_add(1),
                None => contents.events.push((name, 1)),
            }
        }
        "FrSerData" | "FrSummary" | "FrStatData" => {
            let found = (class.to_string(), cursor.string()?);
            if !contents.others.contains(&found) {
                contents.others.push(found);
            }
        }
        "FrAdcData" => channel(&mut cursor, Kind::Adc, at, contents, seen)?,
        "FrProcData" => channel(&mut cursor, Kind::Proc, at, contents, seen)?,
        _ => channel(&mut cursor, Kind::Sim, at, contents, seen)?,
    }
    Ok(())
}

fn frame(cursor: &mut Cursor, at: u64) -> Result<Frame> {
    cursor.skip_string()?;
    let (run, number) = (cursor.i32()?, cursor.u32()?);
    cursor.u32()?; // data quality
    let (seconds, nanoseconds) = (cursor.u32()?, cursor.u32()?);
    cursor.u16()?; // leap seconds
    if cursor.format.version < 6 {
        cursor.u32()?; // local time
    }
    let (start_ns, duration_ns) = frame_times(seconds, nanoseconds, cursor.f64()?)?;
    Ok(Frame { start_ns, duration_ns, run, number, offset: at })
}

fn channel(cursor: &mut Cursor, kind: Kind, at: u64, contents: &mut Contents, seen: &mut Seen) -> Result<()> {
    let frame = contents.frames.len().checked_sub(1);
    let frame = frame.ok_or_else(|| corrupt(format!("{} before the first FrameH", kind.class_name())))?;
    let name = channel::parse(cursor, kind)?.name;
    let next = contents.entries.len();
    let index = *seen.entry((kind as u8, name.clone())).or_insert(next);
    if index == next {
        contents.entries.push(Entry { name: name.clone(), kind, positions: Vec::new() });
    }
    let entry = contents.entries.get_mut(index).ok_or_else(|| corrupt("entry lost"))?;
    if entry.positions.len() > frame {
        return Err(corrupt(format!("channel {name} appears twice in a frame; the first is kept")));
    }
    entry.positions.resize(frame, 0);
    entry.positions.push(at);
    Ok(())
}
