//! FrTOC: frames, classes, and the position of each channel in each frame.

use icecore_grid::{ReadAt, Result};

use crate::cursor::Cursor;
use crate::end::End;
use crate::format::{FILE_HEADER, Format};
use crate::head::Head;
use crate::problem::corrupt;
use crate::toc_events::events;
use crate::window::Window;

/// The structure that holds a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Adc,
    Proc,
    Sim,
}

impl Kind {
    pub(crate) fn class_name(self) -> &'static str {
        match self {
            Self::Adc => "FrAdcData",
            Self::Proc => "FrProcData",
            Self::Sim => "FrSimData",
        }
    }
}

/// One frame of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// GPS start and length in nanoseconds.
    pub start_ns: i64,
    pub duration_ns: i64,
    pub run: i32,
    pub number: u32,
    /// Offset of FrameH.
    pub offset: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub name: String,
    pub kind: Kind,
    /// One position per frame; 0 if the frame lacks the channel.
    pub positions: Vec<u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    pub frames: Vec<Frame>,
    pub classes: Vec<(u16, String)>,
    pub entries: Vec<Entry>,
    pub events: Vec<(String, u32)>,
    /// Class and name of other structures with data.
    pub others: Vec<(String, String)>,
}

impl Contents {
    pub fn class(&self, name: &str) -> Option<u16> {
        self.classes.iter().find(|(_, n)| n == name).map(|(id, _)| *id)
    }
}

/// Times of a frame as integer nanoseconds.
pub(crate) fn frame_times(seconds: u32, nanoseconds: u32, dt: f64) -> Result<(i64, i64)> {
    let duration = (dt * 1e9).round();
    if !(0.0..9e18).contains(&duration) || nanoseconds >= 1_000_000_000 {
        return Err(corrupt(format!("a frame at GPS {seconds} s + {nanoseconds} ns lasts {dt} s")));
    }
    Ok((i64::from(seconds) * 1_000_000_000 + i64::from(nanoseconds), duration as i64))
}

pub(crate) fn read_toc<S: ReadAt + ?Sized>(window: &mut Window<S>, format: Format, end: End) -> Result<Contents> {
    let size = window.size;
    let inside = end.seek_toc > format.end_len() && end.seek_toc <= size - FILE_HEADER;
    if !inside {
        return Err(corrupt(format!("the table of contents lies {} bytes before the end of {size}", end.seek_toc)));
    }
    let offset = size - end.seek_toc;
    let head = Head::parse(&mut Cursor::new(window.get(offset, format.head_len())?, format))?;
    let mut cursor = Cursor::new(window.get(offset, head.len)?, format);
    cursor.take(format.head_len() as usize)?;
    let contents = parse(&mut cursor, size)?;
    if contents.class("FrTOC") != Some(head.class) || contents.frames.len() != end.n_frames as usize {
        let (found, expected) = (contents.frames.len(), end.n_frames);
        return Err(corrupt(format!(
            "the structure at {offset} is not the table of {expected} frames (it lists {found})"
        )));
    }
    Ok(contents)
}

fn parse(cursor: &mut Cursor, size: u64) -> Result<Contents> {
    let frames = frames(cursor)?;
    let classes = classes(cursor)?;
    if cursor.format.version >= 6 {
        let n = cursor.count(10)?;
        (0..n).try_for_each(|_| cursor.skip_string())?;
        cursor.take(8 * n)?;
    }
    let mut others = static_data(cursor)?;
    let mut entries = Vec::new();
    for kind in [Kind::Adc, Kind::Proc, Kind::Sim] {
        channels(cursor, kind, frames.len(), &mut entries)?;
    }
    if let Some(entry) =
        entries.iter().find(|e| e.positions.iter().any(|p| *p != 0 && (*p < FILE_HEADER || *p >= size)))
    {
        return Err(corrupt(format!("the position of {} lies outside the file", entry.name)));
    }
    for class in ["FrSerData", "FrSummary"] {
        let n = cursor.count(2 + 8 * frames.len())?;
        let names = (0..n).map(|_| cursor.string()).collect::<Result<Vec<_>>>()?;
        others.extend(names.into_iter().map(|name| (class.to_string(), name)));
        cursor.take(8 * n * frames.len())?;
    }
    let mut happened = events(cursor)?;
    happened.append(&mut events(cursor)?);
    Ok(Contents { frames, classes, entries, events: happened, others })
}

fn frames(cursor: &mut Cursor) -> Result<Vec<Frame>> {
    cursor.u16()?; // leap seconds
    let old = cursor.format.version < 6;
    if old {
        cursor.u32()?; // local time
    }
    let n = cursor.count(if old { 64 } else { 68 })?;
    cursor.take(if old { 0 } else { 4 * n })?; // data quality
    let seconds = (0..n).map(|_| cursor.u32()).collect::<Result<Vec<_>>>()?;
    let nanoseconds = (0..n).map(|_| cursor.u32()).collect::<Result<Vec<_>>>()?;
    let dt = (0..n).map(|_| cursor.f64()).collect::<Result<Vec<_>>>()?;
    let runs = (0..n).map(|_| cursor.i32()).collect::<Result<Vec<_>>>()?;
    let numbers = (0..n).map(|_| cursor.u32()).collect::<Result<Vec<_>>>()?;
    let offsets = (0..n).map(|_| cursor.u64()).collect::<Result<Vec<_>>>()?;
    cursor.take(32 * n)?; // first FrAdcData, FrSerData, FrTable, FrMsg
    let times = seconds.into_iter().zip(nanoseconds).zip(dt).map(|((s, ns), dt)| frame_times(s, ns, dt));
    let rest = runs.into_iter().zip(numbers).zip(offsets);
    times
        .zip(rest)
        .map(|(times, ((run, number), offset))| {
            let (start_ns, duration_ns) = times?;
            Ok(Frame { start_ns, duration_ns, run, number, offset })
        })
        .collect()
}

fn classes(cursor: &mut Cursor) -> Result<Vec<(u16, String)>> {
    let n = cursor.count(4)?;
    let ids = (0..n).map(|_| cursor.u16()).collect::<Result<Vec<_>>>()?;
    ids.into_iter().map(|id| Ok((id, cursor.string()?))).collect()
}

/// Names of static data: one table in version 8, consecutive tables before.
fn static_data(cursor: &mut Cursor) -> Result<Vec<(String, String)>> {
    let n = cursor.count(8)?;
    let named = |name: String| ("FrStatData".to_string(), name);
    let mut found = Vec::new();
    if cursor.format.version < 8 {
        for _ in 0..n {
            found.push(named(cursor.string()?));
            cursor.skip_string()?;
            let n = cursor.count(20)?;
            cursor.take(20 * n)?;
        }
        return Ok(found);
    }
    for _ in 0..n {
        found.push(named(cursor.string()?));
    }
    (0..n).try_for_each(|_| cursor.skip_string())?;
    cursor.take(4 * n)?;
    let total = cursor.count(20)?;
    cursor.take(20 * total)?;
    Ok(found)
}

fn channels(cursor: &mut Cursor, kind: Kind, n_frames: usize, entries: &mut Vec<Entry>) -> Result<()> {
    let n = cursor.count(2 + 8 * n_frames)?;
    let names = (0..n).map(|_| cursor.string()).collect::<Result<Vec<String>>>()?;
    if kind == Kind::Adc {
        cursor.take(8 * n)?; // channel and group numbers
    }
    for name in names {
        let positions = (0..n_frames).map(|_| cursor.u64()).collect::<Result<Vec<u64>>>()?;
        entries.push(Entry { name, kind, positions });
    }
    Ok(())
}
