//! Index of a file: frames, channels, and the locations of each channel's vectors.

use std::collections::{HashMap, HashSet};

use icecore_grid::{Error, ErrorKind, ReadAt, Result};

use crate::channel::{self, ChannelHead};
use crate::cursor::{Cursor, Pointer};
use crate::decode::packing;
use crate::end::read_end;
use crate::format::{FILE_HEADER, Format};
use crate::head::Head;
use crate::problem::{Problem, corrupt};
use crate::scan::scan;
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
    /// Class and name of other structures with data, which are not read.
    pub others: Vec<(String, String)>,
    /// Whether the table of contents was used; if not, the file was scanned.
    pub from_toc: bool,
    pub problems: Vec<Problem>,
}

/// One channel and its vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    pub name: String,
    pub kind: Kind,
    pub role: Role,
    /// The channel in whose structure the vectors are; empty for a channel's own data.
    pub of: String,
    pub pieces: Vec<Piece>,
}

/// The place of a vector in a channel's structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    Data,
    /// Another vector beside the channel's data.
    Other,
    /// An auxiliary vector, such as the validity of the samples.
    Auxiliary,
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
    /// Frequency (Hz) and phase (radians) of the signal that the samples were mixed with; 0 for none.
    pub shift: f64,
    pub phase: f32,
    /// 1 for a time series; see FrProcData's `type`.
    pub series: u16,
    pub vect: Vect,
}

/// Largest number of vectors of one structure that are followed.
const MAX_CHAIN: usize = 64;

/// Indexes the file in `source`. `per_channel` limits the frames in which each channel is looked up (1 suffices for a listing).
pub fn index<S: ReadAt + ?Sized>(source: &S, per_channel: usize) -> Result<FrameFile> {
    let mut window = Window::new(source);
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
    let mut channels: Vec<Channel> = contents.entries.iter().map(|e| Channel::new(e, Role::Data, &e.name)).collect();
    let mut known: HashMap<(usize, Role, String), usize> = HashMap::new();
    for (position, entry, frame) in wanted {
        let (Some(e), Some(f)) = (contents.entries.get(entry), contents.frames.get(frame)) else {
            continue;
        };
        let found = pieces(window, format, &contents, (e, position), (frame, f), &mut problems);
        for (role, name, piece) in found.unwrap_or_else(|error| {
            problems.push(Problem::new(&error, &e.name, position));
            Vec::new()
        }) {
            let index = match role {
                Role::Data => entry,
                _ => *known.entry((entry, role, name)).or_insert_with_key(|(_, role, name)| {
                    channels.push(Channel::new(e, *role, name));
                    channels.len() - 1
                }),
            };
            if let Some(channel) = channels.get_mut(index) {
                channel.pieces.push(piece);
            }
        }
    }
    channels.retain(|c| !c.pieces.is_empty());
    channels.iter_mut().for_each(|c| c.pieces.sort_by_key(|p| p.frame));
    let Contents { frames, events, others, .. } = contents;
    FrameFile { format, frames, channels, events, others, from_toc, problems }
}

impl Channel {
    fn new(entry: &Entry, role: Role, name: &str) -> Channel {
        let of = if role == Role::Data { String::new() } else { entry.name.clone() };
        Channel { name: name.to_string(), kind: entry.kind, role, of, pieces: Vec::new() }
    }
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

/// The pieces of a channel's structure: the one with its data first. Damaged vectors beside it are reported.
fn pieces<S: ReadAt + ?Sized>(
    window: &mut Window<S>,
    format: Format,
    contents: &Contents,
    (entry, position): (&Entry, u64),
    (index, frame): (usize, &Frame),
    problems: &mut Vec<Problem>,
) -> Result<Vec<(Role, String, Piece)>> {
    let (head, fields) = channel_head(window, format, contents, entry, position)?;
    let from = position.saturating_add(head.len);
    let data = chain(window, format, contents, from, Some(fields.data));
    let mut vects = data.found;
    let own = vects.iter().position(|v| v.name == entry.name).unwrap_or(0);
    if vects.is_empty() {
        return Err(data.error.unwrap_or_else(|| corrupt("no vector follows")));
    }
    let vect = vects.remove(own);
    packing(vect.compress, vect.dtype)?;
    let auxiliary = chain(window, format, contents, from, fields.aux);
    for error in [data.error, auxiliary.error].into_iter().flatten() {
        let message = format!("a vector beside the data: {}", error.message);
        problems.push(Problem::new(&Error::new(error.kind, message), &entry.name, position));
    }
    let unit = if fields.unit.is_empty() { vect.unit_y.clone() } else { fields.unit.clone() };
    let piece = Piece {
        frame: index,
        start_ns: start(frame, &fields, &vect)?,
        dt: step(&fields, &vect)?,
        unit,
        data_valid: fields.valid,
        slope: fields.slope,
        bias: fields.bias,
        shift: fields.shift,
        phase: fields.phase,
        series: fields.series,
        vect,
    };
    let beside = vects.into_iter().map(|v| (Role::Other, v));
    let beside = beside.chain(auxiliary.found.into_iter().map(|v| (Role::Auxiliary, v)));
    let mut found: Vec<(Role, String, Piece)> = Vec::new();
    for (role, vect) in beside {
        match another(frame, &fields, &piece, role, vect) {
            Ok(other) => {
                let name = unused(&entry.name, &other.vect.name, role, &found);
                found.push((role, name, other));
            }
            Err(error) => problems.push(Problem::new(&error, &entry.name, position)),
        }
    }
    found.insert(0, (Role::Data, entry.name.clone(), piece));
    Ok(found)
}

/// A vector beside the data of a channel: its own unit and rate; auxiliary ones are never invalid.
fn another(frame: &Frame, fields: &ChannelHead, data: &Piece, role: Role, vect: Vect) -> Result<Piece> {
    packing(vect.compress, vect.dtype)?;
    let span = data.dt * data.vect.n_data as f64;
    let dt = if usable(vect.dx) { vect.dx } else { span / vect.n_data as f64 };
    if !usable(dt) {
        return Err(Error::new(ErrorKind::Format, format!("the vector {} has no sample step", vect.name)));
    }
    let data_valid = if role == Role::Auxiliary { 0 } else { fields.valid };
    let start_ns = start(frame, fields, &vect)?;
    let unit = vect.unit_y.clone();
    Ok(Piece { start_ns, dt, unit, data_valid, slope: 1.0, bias: 0.0, shift: 0.0, phase: 0.0, vect, ..data.clone() })
}

/// A name for a vector in the structure of `channel`: `H1:X.dataValid`.
fn unused(channel: &str, vector: &str, role: Role, found: &[(Role, String, Piece)]) -> String {
    let prefix = channel.split_once(':').map_or("", |(prefix, _)| prefix);
    let short = vector.strip_prefix(prefix).and_then(|rest| rest.strip_prefix(':')).unwrap_or(vector);
    let short = match (role, short) {
        (Role::Auxiliary, short) if short.is_empty() || vector == channel => "aux",
        (_, short) if short.is_empty() || vector == channel => "other",
        (_, short) => short,
    };
    let first = format!("{channel}.{short}");
    let numbered = (2..).map(|n| format!("{first}_{n}"));
    std::iter::once(first.clone())
        .chain(numbered)
        .find(|name| !found.iter().any(|(_, n, _)| n == name))
        .unwrap_or(first)
}

/// Vectors that follow each other, up to the first that can't be read.
struct Chain {
    found: Vec<Vect>,
    error: Option<Error>,
}

fn chain<S: ReadAt + ?Sized>(
    window: &mut Window<S>,
    format: Format,
    contents: &Contents,
    from: u64,
    first: Option<Pointer>,
) -> Chain {
    let (mut found, mut next, mut seen) = (Vec::<Vect>::new(), first, HashSet::new());
    while let Some(pointer) = next {
        let read = if seen.insert(pointer.instance) && found.len() < MAX_CHAIN {
            // Most writers put a vector behind the one before it.
            let behind = found.last().map_or(from, |v| v.offset.saturating_add(v.len));
            let at = find(window, format, contents, behind, pointer);
            let at =
                at.or_else(
                    |error| if behind == from { Err(error) } else { find(window, format, contents, from, pointer) },
                );
            at.and_then(|(at, head)| read_vect(window, format, at, head))
        } else {
            Err(corrupt(format!("the vectors of a channel form a circle, or more than {MAX_CHAIN}")))
        };
        match read {
            Ok(vect) => {
                next = vect.next;
                found.push(vect);
            }
            Err(error) => return Chain { found, error: Some(error) },
        }
    }
    Chain { found, error: None }
}

/// LALFrame and gwpy count `startX` from the channel's time offset.
fn start(frame: &Frame, fields: &ChannelHead, vect: &Vect) -> Result<i64> {
    let offset = fields.offset + vect.start_x;
    let ns = (offset * 1e9).round();
    let fits = ns.abs() < 9e18;
    let start = fits.then_some(ns as i64).and_then(|ns| frame.start_ns.checked_add(ns));
    start
        .ok_or_else(|| Error::new(ErrorKind::Format, format!("the first sample is {offset} s after the frame's start")))
}

fn usable(step: f64) -> bool {
    step.is_finite() && step > 0.0
}

/// The vector's own step; the structure's rate if the vector has none.
fn step(fields: &ChannelHead, vect: &Vect) -> Result<f64> {
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
