//! A frame file written in one pass: header, frames, table of contents, end.

use std::io::Write;

use icecore_grid::{Error, ErrorKind, Result};

use super::body::{Body, NOTHING, Target};
use super::dictionary::{self as class, CLASSES, Class, type_name};
use super::encode::EncodedVect;
use super::frame::FrameFields;
use super::toc::Places;
use crate::checksum::Cksum;
use crate::toc::Kind;

/// What was done to the data, and when (GPS seconds).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    pub name: String,
    pub time: u32,
    pub comment: String,
}

/// Numbers of channels of a frame: pointers to the next channel are written before it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub adc: u32,
    pub process: u32,
    pub sim: u32,
}

/// The fields of a channel besides its vectors.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelFields {
    pub name: String,
    pub kind: Kind,
    pub unit: String,
    pub rate: f64,
    /// Seconds from the start of the frame to the first sample.
    pub offset: f64,
    pub slope: f32,
    pub bias: f32,
    pub shift: f64,
    pub phase: f32,
    pub valid: u16,
    pub bits: u32,
}

/// Writes a file; nothing before the end of the file is changed later.
pub struct FrameWriter<W: Write> {
    out: W,
    at: u64,
    sum: Cksum,
    header_sum: u32,
    known: Vec<u8>,
    places: Places,
    counts: Counts,
    done: Counts,
    vectors: u32,
    is_open: bool,
}

const HEADER: [u8; 40] = header();

const fn header() -> [u8; 40] {
    let mut bytes = [0u8; 40];
    let parts: [&[u8]; 8] = [
        b"IGWD\0\x08\x00\x02\x04\x08\x04\x08",
        &0x1234u16.to_le_bytes(),
        &0x1234_5678u32.to_le_bytes(),
        &0x0123_4567_89ab_cdefu64.to_le_bytes(),
        &std::f32::consts::PI.to_le_bytes(),
        &std::f64::consts::PI.to_le_bytes(),
        &[0], // unknown library
        &[1], // checksums
    ];
    let (mut part, mut at) = (0, 0);
    while part < parts.len() {
        let mut i = 0;
        while i < parts[part].len() {
            bytes[at] = parts[part][i];
            i += 1;
            at += 1;
        }
        part += 1;
    }
    bytes
}

impl<W: Write> FrameWriter<W> {
    /// Begins a file.
    pub fn new(out: W) -> Result<FrameWriter<W>> {
        let mut sum = Cksum::default();
        sum.update(&HEADER);
        let mut writer = FrameWriter {
            out,
            at: 0,
            sum: Cksum::default(),
            header_sum: sum.finish(),
            known: Vec::new(),
            places: Places::default(),
            counts: Counts::default(),
            done: Counts::default(),
            vectors: 0,
            is_open: false,
        };
        writer.put(&HEADER)?;
        Ok(writer)
    }

    /// Bytes written so far.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.at
    }

    /// False: the header is written first.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.at == 0
    }

    /// Begins a frame with these numbers of channels.
    pub fn begin(&mut self, frame: FrameFields, history: &[History], counts: Counts) -> Result<()> {
        check_times(&frame)?;
        if self.is_open {
            return Err(internal("a frame is begun before the last has ended"));
        }
        (self.counts, self.done, self.vectors, self.is_open) = (counts, Counts::default(), 0, true);
        self.describe(class::FRAME_H)?;
        let at = self.at;
        let first = |number: u8, count: usize| if count > 0 { (number, 0) } else { NOTHING };
        let mut body = self.start(class::FRAME_H, 0);
        body.string(&frame.name)?.i32(frame.run).u32(frame.number).u32(frame.quality);
        body.u32(frame.seconds()).u32(frame.nanoseconds()).u16(frame.leap).f64(frame.dt());
        body.nothing(4).pointer(first(class::HISTORY, history.len())).pointer(first(class::RAW, counts.adc as usize));
        body.pointer(first(class::PROC, counts.process as usize)).pointer(first(class::SIM, counts.sim as usize));
        body.nothing(5);
        self.finish_structure(body, &[])?;
        for (i, entry) in (1..).zip(history) {
            self.describe(class::HISTORY)?;
            let mut body = self.start(class::HISTORY, i - 1);
            let next = if (i as usize) < history.len() { (class::HISTORY, i) } else { NOTHING };
            body.string(&entry.name)?.u32(entry.time).string(&entry.comment)?.pointer(next);
            self.finish_structure(body, &[])?;
        }
        if counts.adc > 0 {
            self.describe(class::RAW)?;
            let mut body = self.start(class::RAW, 0);
            body.string("rawData")?.nothing(1).pointer((class::ADC, 0)).nothing(3);
            self.finish_structure(body, &[])?;
        }
        self.places.frame(frame, at);
        Ok(())
    }

    /// Writes a channel of the frame: its data, and auxiliary vectors.
    ///
    /// # Errors
    /// `invalid` if the frame has a channel of this name and kind already, or more channels than were announced.
    pub fn channel(&mut self, fields: &ChannelFields, data: &EncodedVect, aux: &[EncodedVect]) -> Result<()> {
        let (number, done, count) = self.slot(fields.kind);
        *done += 1;
        let (instance, next) = (*done - 1, if *done < count { (number, *done) } else { NOTHING });
        if !self.is_open || instance >= count {
            return Err(internal("more channels than were announced"));
        }
        self.describe(number)?;
        if !self.places.channel(fields.kind, &fields.name, self.at) {
            let message = format!("the frame has two channels {}", fields.name);
            return Err(Error::new(ErrorKind::Invalid, message).hint("rename one, or leave it out"));
        }
        let first: Target = (class::VECT, self.vectors);
        let extra = if aux.is_empty() { NOTHING } else { (class::VECT, self.vectors + 1) };
        let duration = data.n_data as f64 * data.dx;
        let body = self.start(number, instance);
        let body = match fields.kind {
            Kind::Adc => adc(body, fields, instance, first, extra, next)?,
            Kind::Proc => process(body, fields, duration, first, extra, next)?,
            Kind::Sim => simulated(body, fields, first, extra, next)?,
        };
        self.finish_structure(body, &[])?;
        self.vector(data, NOTHING)?;
        for (i, vect) in (1..).zip(aux) {
            let next = if i < aux.len() { (class::VECT, self.vectors + 1) } else { NOTHING };
            self.vector(vect, next)?;
        }
        Ok(())
    }

    fn slot(&mut self, kind: Kind) -> (u8, &mut u32, u32) {
        match kind {
            Kind::Adc => (class::ADC, &mut self.done.adc, self.counts.adc),
            Kind::Proc => (class::PROC, &mut self.done.process, self.counts.process),
            Kind::Sim => (class::SIM, &mut self.done.sim, self.counts.sim),
        }
    }

    fn vector(&mut self, vect: &EncodedVect, next: Target) -> Result<()> {
        self.describe(class::VECT)?;
        let mut head = self.start(class::VECT, self.vectors);
        self.vectors += 1;
        head.string(&vect.name)?.u16(vect.compress).u16(vect.dtype.code());
        head.u64(vect.n_data).u64(vect.data.len() as u64);
        let mut tail = Body::default();
        tail.u32(1).u64(vect.n_data).f64(vect.dx).f64(0.0).string("s")?.string(&vect.unit)?.pointer(next);
        self.structure(head, &vect.data, &tail.bytes)
    }

    /// Ends the frame.
    pub fn end(&mut self) -> Result<()> {
        if !self.is_open || self.done != self.counts {
            return Err(internal("the frame has fewer channels than were announced"));
        }
        self.is_open = false;
        self.describe(class::END_OF_FRAME)?;
        let mut body = self.start(class::END_OF_FRAME, 0);
        if let Some((frame, ..)) = self.places.frames.last() {
            body.i32(frame.run).u32(frame.number).u32(frame.seconds()).u32(frame.nanoseconds());
        }
        self.finish_structure(body, &[])
    }

    /// Writes the table of contents and the end of the file.
    pub fn finish(mut self) -> Result<W> {
        for each in CLASSES {
            self.describe(each.number)?; // the table lists all classes
        }
        let mut body = self.start(class::TOC, 0);
        self.places.write(&mut body)?;
        let toc_at = self.at;
        self.finish_structure(body, &[])?;
        let mut body = self.start(class::END_OF_FILE, 0);
        let total = self.at + 46;
        body.u32(self.places.frames.len() as u32).u64(total).u64(total - toc_at).u32(self.header_sum);
        let len = body.bytes.len() as u64 + 8;
        if let Some(head) = body.bytes.first_chunk_mut::<8>() {
            *head = len.to_le_bytes();
        }
        let mut sum = Cksum::default();
        sum.update(&body.bytes);
        body.u32(sum.finish());
        self.put(&body.bytes)?;
        let whole = self.sum.finish();
        self.put(&whole.to_le_bytes())?;
        self.out.flush().map_err(io)?;
        Ok(self.out)
    }

    /// Writes the description of a class before its first structure.
    fn describe(&mut self, number: u8) -> Result<()> {
        if self.known.contains(&number) {
            return Ok(());
        }
        let Some(found) = CLASSES.iter().find(|c| c.number == number) else { return Ok(()) };
        self.known.push(number);
        self.described(found)
    }

    fn described(&mut self, found: &Class) -> Result<()> {
        let mut body = self.start(class::SH, u32::from(found.number));
        body.string(found.name)?.u16(u16::from(found.number)).string(found.comment)?;
        self.finish_structure(body, &[])?;
        for (i, field) in (0..).zip(found.fields.split_whitespace()) {
            let (name, short) = field.split_once(':').unwrap_or((field, ""));
            let mut body = self.start(class::SE, i);
            body.string(name)?.string(&type_name(short))?.string("")?;
            self.finish_structure(body, &[])?;
        }
        Ok(())
    }

    /// Header of a structure; its length is filled in at the end.
    fn start(&self, number: u8, instance: u32) -> Body {
        let mut body = Body::default();
        body.u64(0).put(&[1, number]).u32(instance);
        body
    }

    fn finish_structure(&mut self, body: Body, tail: &[u8]) -> Result<()> {
        self.structure(body, &[], tail)
    }

    fn structure(&mut self, mut head: Body, data: &[u8], tail: &[u8]) -> Result<()> {
        let len = (head.bytes.len() + data.len() + tail.len() + 4) as u64;
        if let Some(first) = head.bytes.first_chunk_mut::<8>() {
            *first = len.to_le_bytes();
        }
        let mut sum = Cksum::default();
        for part in [&head.bytes, data, tail] {
            sum.update(part);
            self.put(part)?;
        }
        self.put(&sum.finish().to_le_bytes())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.sum.update(bytes);
        self.at += bytes.len() as u64;
        self.out.write_all(bytes).map_err(io)
    }
}

fn adc(mut body: Body, f: &ChannelFields, number: u32, data: Target, aux: Target, next: Target) -> Result<Body> {
    body.string(&f.name)?.string("")?.u32(0).u32(number).u32(f.bits).f32(f.bias).f32(f.slope).string(&f.unit)?;
    body.f64(f.rate).f64(f.offset).f64(f.shift).f32(f.phase).u16(f.valid);
    body.pointer(data).pointer(aux).pointer(next);
    Ok(body)
}

fn process(mut body: Body, f: &ChannelFields, range: f64, data: Target, aux: Target, next: Target) -> Result<Body> {
    body.string(&f.name)?.string("")?.u16(1).u16(0).f64(f.offset).f64(range).f64(f.shift).f32(f.phase);
    body.f64(0.0).f64(0.0).u16(0);
    body.pointer(data).pointer(aux).nothing(2).pointer(next);
    Ok(body)
}

fn simulated(mut body: Body, f: &ChannelFields, data: Target, input: Target, next: Target) -> Result<Body> {
    body.string(&f.name)?.string("")?.f64(f.rate).f64(f.offset).f64(f.shift).f32(f.phase);
    body.pointer(data).pointer(input).nothing(1).pointer(next);
    Ok(body)
}

fn check_times(frame: &FrameFields) -> Result<()> {
    let seconds = frame.start_ns.div_euclid(1_000_000_000);
    if u32::try_from(seconds).is_ok() && frame.duration_ns > 0 {
        return Ok(());
    }
    let message = format!("a frame can't begin at GPS {seconds} and last {} s", frame.dt());
    Err(Error::new(ErrorKind::Invalid, message).hint("frame files hold GPS seconds from 0 to 4294967295"))
}

fn internal(message: &str) -> Error {
    Error::new(ErrorKind::Internal, message)
}

fn io(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("can't write the frame file: {error}"))
        .hint("free some space, or name another directory")
}
