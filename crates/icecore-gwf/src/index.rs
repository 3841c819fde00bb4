//! Index of a file: frames, channels, and the locations of each channel's vectors.

use std::collections::HashSet;

use icecore_grid::{Error, ErrorKind, Result};

use crate::channel::{self, ChannelHead};
use crate::cursor::{Cursor, Pointer};
use crate::decode::packing;
use crate::end::read_end;
use crate::format::{FILE_HEADER, Format};
use crate::head::Head;
use crate::problem::{Problem, corrupt};
use crate::scan::scan;
use crate::source::ReadAt;
use crate::toc::{Contents, Entry, Frame, Kind, read_toc};
use crate::vect::{Vect, read_vect};
use crate::window::Window;

/// Bytes read at the end at once: the table of contents of a typical file.
const TAIL: u64 = 16 << 10;

/// Content of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameFile {
    pub format: Format,
    pub frames: Vec<Frame>,
    pub channels: Vec<Channel>,
    /// Names of events and their numbers.
    pub events: Vec<(String, u32)>,
    /// Whether the table of contents was used; if not, the file was scanned.
    pub from_toc: bool,
    pub problems: Vec<Problem>,
}

/// One channel and its vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    pub name: String,
    pub kind: Kind,
    pub pieces: Vec<Piece>,
}

/// A channel's data in one frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// Index into [`FrameFile::frames`].
    pub frame: usize,
    /// GPS time of the first sample in nanoseconds.
    pub start_ns: i64,
    /// Seconds between samples.
    pub dt: f64,
    pub unit: String,
    /// Non-zero if the writer marks the data as invalid.
    pub data_valid: u16,
    pub slope: f32,
    pub bias: f32,
    /// 1 for a time series; see FrProcData's `type`.
    pub series: u16,
    pub vect: Vect,
    /// Auxiliary vector (a mask of the samples), if there is one.
    pub aux: Option<Vect>,
}

/// Indexes the file in `source`. `per_channel` limits the frames in which each channel is looked up (1 suffices for a listing).
pub fn index<S: ReadAt + ?Sized>(source: &S, per_channel: usize) -> Result<FrameFile> {
    let mut window = Window::new(source)?;
    let format = Format::parse(window.up_to(0, FILE_HEADER)?)?;
    let mut problems = Vec::new();
    let toc = window.fill_tail(TAIL).and_then(|()| read_end(&mut window, format)).and_then(|end| match end.seek_toc {
        0 => Err(Error::new(ErrorKind::Format, "the file has no table of contents")),
        _ => read_toc(&mut window, format, end),
    });
    match toc {
        Ok(contents) => {
            let file = collect(&mut window, format, contents, per_channel, true, Vec::new());
            if !file.problems.iter().any(|p| p.kind == ErrorKind::Corrupt) {
                return Ok(file);
            }
            problems.push(unusable(file.problems.first().map_or("", |p| &p.message)));
        }
        Err(error) => problems.push(unusable(&error.message)),
    }
    let contents = scan(&mut window, format, &mut problems);
    Ok(collect(&mut window, format, contents, per_channel, false, problems))
}

fn unusable(why: &str) -> Problem {
    let message = format!("the table of contents is not usable, the file was scanned: {why}");
    Problem { kind: ErrorKind::Format, channel: String::new(), offset: 0, message }
}

fn collect<S: ReadAt + ?Sized>(
    window: &mut Window<S>,
    format: Format,
    contents: Contents,
    per_channel: usize,
    from_toc: bool,
    mut problems: Vec<Problem>,
) -> FrameFile {
    let mut wanted = wanted(&contents, per_channel, &mut problems);
    wanted.sort_unstable();
    let mut channels: Vec<Channel> =
        contents.entries.iter().map(|e| Channel { name: e.name.clone(), kind: e.kind, pieces: Vec::new() }).collect();
    for (position, entry, frame) in wanted {
        let (Some(e), Some(channel), Some(f)) =
            (contents.entries.get(entry), channels.get_mut(entry), contents.frames.get(frame))
        else {
            continue;
        };
        match piece(window, format, &contents, e, position, (frame, f)) {
            Ok(piece) => channel.pieces.push(piece),
            Err(error) => problems.push(Problem::new(&error, &e.name, position)),
        }
    }
    channels.retain(|c| !c.pieces.is_empty());
    channels.iter_mut().for_each(|c| c.pieces.sort_by_key(|p| p.frame));
    FrameFile { format, frames: contents.frames, channels, events: contents.events, from_toc, problems }
}

/// (position, entry, frame) of all structures to read; duplicates are reported.
fn wanted(contents: &Contents, per_channel: usize, problems: &mut Vec<Problem>) -> Vec<(u64, usize, usize)> {
    let mut names = HashSet::new();
    let mut wanted = Vec::new();
    for (index, entry) in contents.entries.iter().enumerate() {
        let present = || entry.positions.iter().enumerate().filter(|(_, p)| **p != 0);
        if !names.insert(entry.name.as_str()) {
            let error =
                Error::new(ErrorKind::Exists, format!("channel {} appears twice; the first is kept", entry.name));
            problems.push(Problem::new(&error, &entry.name, present().next().map_or(0, |(_, p)| *p)));
            continue;
        }
        wanted.extend(present().take(per_channel).map(|(frame, position)| (*position, index, frame)));
    }
    wanted
}

fn piece<S: ReadAt + ?Sized>(
    window: &mut Window<S>,
    format: Format,
    contents: &Contents,
    entry: &Entry,
    position: u64,
    (index, frame): (usize, &Frame),
) -> Result<Piece> {
    let (head, fields) = channel_head(window, format, contents, entry, position)?;
    let from = position.saturating_add(head.len);
    let (at, found) = find(window, format, contents, from, fields.data)?;
    let vect = read_vect(window, format, at, found)?;
    packing(vect.compress, vect.dtype)?;
    let aux = match fields.aux {
        None => None,
        Some(pointer) => {
            let (at, found) = find(window, format, contents, from, pointer)?;
            Some(read_vect(window, format, at, found)?)
        }
    };
    let unit = if fields.unit.is_empty() { vect.unit_y.clone() } else { fields.unit.clone() };
    Ok(Piece {
        frame: index,
        start_ns: start(frame, &fields)?,
        dt: step(&fields, &vect)?,
        unit,
        data_valid: fields.valid,
        slope: fields.slope,
        bias: fields.bias,
        series: fields.series,
        vect,
        aux,
    })
}

fn start(frame: &Frame, fields: &ChannelHead) -> Result<i64> {
    let offset = (fields.offset * 1e9).round();
    let fits = offset.abs() < 9e18;
    let start = fits.then_some(offset as i64).and_then(|ns| frame.start_ns.checked_add(ns));
    start.ok_or_else(|| Error::new(ErrorKind::Format, format!("the time offset is {} s", fields.offset)))
}

/// The vector's own step; the structure's rate if the vector has none.
fn step(fields: &ChannelHead, vect: &Vect) -> Result<f64> {
    let usable = |x: f64| x.is_finite() && x > 0.0;
    if usable(vect.dx) {
        return Ok(vect.dx);
    }
    if usable(fields.rate) && usable(1.0 / fields.rate) {
        return Ok(1.0 / fields.rate);
    }
    let message = format!("the sample step is {} s and the rate {} Hz", vect.dx, fields.rate);
    Err(Error::new(ErrorKind::Format, message).hint("the channel is left out: its samples have no times"))
}

fn channel_head<S: ReadAt + ?Sized>(
    window: &mut Window<S>,
    format: Format,
    contents: &Contents,
    entry: &Entry,
    position: u64,
) -> Result<(Head, ChannelHead)> {
    let head = Head::parse(&mut Cursor::new(window.get(position, format.head_len())?, format))?;
    let expected = entry.kind.class_name();
    if contents.class(expected) != Some(head.class) {
        return Err(corrupt(format!("the structure at {position} is of class {}, not {expected}", head.class)));
    }
    let mut cursor = Cursor::new(window.get(position, head.len)?, format);
    cursor.take(format.head_len() as usize)?;
    let fields = channel::parse(&mut cursor, entry.kind)?;
    if fields.name != entry.name {
        return Err(corrupt(format!("the structure at {position} belongs to {}", fields.name)));
    }
    Ok((head, fields))
}

/// Walks from `at` to the structure that `pointer` identifies, at most to the end of the frame.
fn find<S: ReadAt + ?Sized>(
    window: &mut Window<S>,
    format: Format,
    contents: &Contents,
    mut at: u64,
    pointer: Pointer,
) -> Result<(u64, Head)> {
    if contents.class("FrVect") != Some(pointer.class) {
        return Err(Error::new(ErrorKind::Format, "the channel has no data vector"));
    }
    let last = contents.class("FrEndOfFrame");
    loop {
        let head = Head::parse(&mut Cursor::new(window.get(at, format.head_len())?, format))?;
        if head.class == pointer.class && head.instance == pointer.instance {
            return Ok((at, head));
        }
        if Some(head.class) == last {
            return Err(corrupt(format!("FrVect {} does not follow in its frame", pointer.instance)));
        }
        at = at.checked_add(head.len).ok_or_else(|| corrupt("a length exceeds the file"))?;
    }
}
