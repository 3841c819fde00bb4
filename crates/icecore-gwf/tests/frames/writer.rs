//! Writes small frame files of every version, byte order, compression and type.

use std::io::Write;

use icecore_gwf::{ByteOrder, Cksum, VectType};

pub const GZIP: u16 = 1;
pub const DIFFERENCES: u16 = 3;

const CLASSES: [(u16, &str); 8] = [
    (3, "FrameH"),
    (4, "FrAdcData"),
    (5, "FrProcData"),
    (6, "FrSimData"),
    (7, "FrVect"),
    (8, "FrEndOfFrame"),
    (9, "FrTOC"),
    (10, "FrEndOfFile"),
];

#[derive(Clone)]
pub struct Channel {
    pub kind: &'static str,
    pub name: String,
    pub dtype: VectType,
    pub compress: u16,
    /// Native elements.
    pub data: Vec<u8>,
    pub rate: f64,
    /// Number of frames that contain it.
    pub frames: Vec<usize>,
}

#[derive(Clone, Copy)]
pub struct Writer {
    pub version: u8,
    pub order: ByteOrder,
    pub toc: bool,
}

#[derive(Default)]
struct Out(Vec<u8>);

impl Writer {
    fn put(self, out: &mut Out, native: &[u8]) {
        let mut bytes = native.to_vec();
        if (self.order == ByteOrder::Big) != cfg!(target_endian = "big") {
            bytes.reverse();
        }
        out.0.extend(bytes);
    }

    fn u16(self, out: &mut Out, x: u16) {
        self.put(out, &x.to_ne_bytes());
    }

    fn u32(self, out: &mut Out, x: u32) {
        self.put(out, &x.to_ne_bytes());
    }

    fn u64(self, out: &mut Out, x: u64) {
        self.put(out, &x.to_ne_bytes());
    }

    fn f32(self, out: &mut Out, x: f32) {
        self.put(out, &x.to_ne_bytes());
    }

    fn f64(self, out: &mut Out, x: f64) {
        self.put(out, &x.to_ne_bytes());
    }

    fn long(self, out: &mut Out, x: u64) {
        if self.version < 6 { self.u32(out, x as u32) } else { self.u64(out, x) }
    }

    fn string(self, out: &mut Out, text: &str) {
        self.u16(out, text.len() as u16 + 1);
        out.0.extend(text.as_bytes());
        out.0.push(0);
    }

    fn pointer(self, out: &mut Out, class: u16, instance: u32) {
        self.u16(out, class);
        if self.version < 6 { self.u16(out, instance as u16) } else { self.u32(out, instance) }
    }

    /// The structure with its header, and its checksum in version 8.
    fn structure(self, class: u16, instance: u32, body: &Out) -> Vec<u8> {
        let mut out = Out::default();
        let (head, tail) = (if self.version < 6 { 8 } else { 14 }, if self.version >= 8 { 4 } else { 0 });
        self.long(&mut out, (body.0.len() + head + tail) as u64);
        match self.version {
            8 => out.0.extend([1, class as u8]),
            _ => self.u16(&mut out, class),
        }
        if self.version < 6 {
            self.u16(&mut out, instance as u16)
        } else {
            self.u32(&mut out, instance)
        }
        out.0.extend(&body.0);
        if self.version >= 8 {
            let mut sum = Cksum::default();
            sum.update(&out.0);
            self.u32(&mut out, sum.finish());
        }
        out.0
    }

    fn header(self) -> Vec<u8> {
        let mut out = Out(b"IGWD\0".to_vec());
        out.0.extend([self.version, 0, 2, 4, 8, 4, 8]);
        self.u16(&mut out, 0x1234);
        self.u32(&mut out, 0x1234_5678);
        self.u64(&mut out, 0x0123_4567_89ab_cdef);
        self.f32(&mut out, std::f32::consts::PI);
        self.f64(&mut out, std::f64::consts::PI);
        out.0.extend([0, u8::from(self.version >= 8)]);
        out.0
    }

    /// Frames of one second from GPS 1000000000.
    pub fn file(self, n_frames: usize, channels: &[Channel]) -> Vec<u8> {
        let mut bytes = self.header();
        for (i, (id, name)) in CLASSES.iter().enumerate() {
            let mut body = Out::default();
            self.string(&mut body, name);
            self.u16(&mut body, *id);
            self.string(&mut body, "");
            bytes.extend(self.structure(1, i as u32, &body));
        }
        let mut positions = vec![vec![0u64; n_frames]; channels.len()];
        let mut offsets = Vec::new();
        for frame in 0..n_frames {
            offsets.push(bytes.len() as u64);
            bytes.extend(self.structure(3, frame as u32, &self.frame(frame)));
            for (i, channel) in channels.iter().enumerate().filter(|(_, c)| c.frames.contains(&frame)) {
                positions[i][frame] = bytes.len() as u64;
                let instance = (frame * channels.len() + i) as u32;
                let class = CLASSES.iter().find(|(_, name)| *name == channel.kind).unwrap().0;
                bytes.extend(self.structure(class, instance, &self.channel(channel, instance)));
                bytes.extend(self.vect(channel, instance));
            }
            let mut body = Out::default();
            [0, frame as u32, 0, 0].iter().for_each(|x| self.u32(&mut body, *x));
            bytes.extend(self.structure(8, frame as u32, &body));
        }
        let at = bytes.len();
        if self.toc {
            bytes.extend(self.structure(9, 0, &self.contents(&offsets, channels, &positions)));
        }
        let end = bytes.len() + [28, 42, 46][usize::from(self.version) / 2 - 2];
        self.end(bytes, n_frames, end, if self.toc { end - at } else { 0 })
    }

    fn frame(self, frame: usize) -> Out {
        let mut body = Out::default();
        self.string(&mut body, "TEST");
        [0, frame as u32, 0, 1_000_000_000 + frame as u32, 0].iter().for_each(|x| self.u32(&mut body, *x));
        self.u16(&mut body, 37);
        if self.version < 6 {
            self.u32(&mut body, 0);
        }
        self.f64(&mut body, 1.0);
        (0..12).for_each(|_| self.pointer(&mut body, 0, 0));
        body
    }

    fn channel(self, channel: &Channel, instance: u32) -> Out {
        let mut body = Out::default();
        self.string(&mut body, &channel.name);
        self.string(&mut body, "a comment");
        let offset = |body: &mut Out| if self.version < 6 { self.u64(body, 0) } else { self.f64(body, 0.0) };
        match channel.kind {
            "FrAdcData" => {
                (0..3).for_each(|_| self.u32(&mut body, 7));
                self.f32(&mut body, 0.5);
                self.f32(&mut body, 2.0);
                self.string(&mut body, "V");
                self.f64(&mut body, channel.rate);
                offset(&mut body);
                self.f64(&mut body, 0.0);
                if self.version > 4 {
                    self.f32(&mut body, 0.0);
                }
                self.u16(&mut body, 3);
            }
            "FrProcData" if self.version < 6 => {
                self.f64(&mut body, channel.rate);
                offset(&mut body);
                self.f64(&mut body, 0.0);
            }
            "FrProcData" => {
                self.u16(&mut body, 1);
                self.u16(&mut body, 0);
                (0..3).for_each(|_| self.f64(&mut body, 0.0));
                self.f32(&mut body, 0.0);
                (0..2).for_each(|_| self.f64(&mut body, 0.0));
                self.u16(&mut body, 0);
            }
            _ if self.version < 6 => self.f32(&mut body, channel.rate as f32),
            _ => {
                self.f64(&mut body, channel.rate);
                (0..2).for_each(|_| self.f64(&mut body, 0.0));
                self.f32(&mut body, 0.0);
            }
        }
        self.pointer(&mut body, 7, instance);
        let rest = match channel.kind {
            "FrAdcData" => 2,
            "FrProcData" if self.version >= 6 => 4,
            _ => 3,
        };
        (0..rest).for_each(|_| self.pointer(&mut body, 0, 0));
        body
    }

    /// The FrVect structure of a channel.
    pub fn vect(self, channel: &Channel, instance: u32) -> Vec<u8> {
        let little = self.order == ByteOrder::Little;
        let data = compressed(&channel.data, channel.dtype, channel.compress, self.order);
        let count = channel.data.len() / channel.dtype.size();
        let mut body = Out::default();
        self.string(&mut body, &channel.name);
        self.u16(&mut body, channel.compress | if little { 256 } else { 0 });
        self.u16(&mut body, code(channel.dtype));
        self.long(&mut body, count as u64);
        self.long(&mut body, data.len() as u64);
        body.0.extend(data);
        self.u32(&mut body, 1);
        self.long(&mut body, count as u64);
        self.f64(&mut body, 1.0 / channel.rate);
        self.f64(&mut body, 0.0);
        self.string(&mut body, "s");
        self.string(&mut body, "strain");
        self.pointer(&mut body, 0, 0);
        self.structure(7, instance, &body)
    }

    fn contents(self, offsets: &[u64], channels: &[Channel], positions: &[Vec<u64>]) -> Out {
        let (n, mut body) = (offsets.len(), Out::default());
        self.u16(&mut body, 37);
        if self.version < 6 {
            self.u32(&mut body, 0);
        }
        self.u32(&mut body, n as u32);
        if self.version >= 6 {
            (0..n).for_each(|_| self.u32(&mut body, 0));
        }
        (0..n).for_each(|i| self.u32(&mut body, 1_000_000_000 + i as u32));
        (0..n).for_each(|_| self.u32(&mut body, 0));
        (0..n).for_each(|_| self.f64(&mut body, 1.0));
        (0..n).for_each(|_| self.u32(&mut body, 0));
        (0..n).for_each(|i| self.u32(&mut body, i as u32));
        offsets.iter().for_each(|x| self.u64(&mut body, *x));
        (0..4 * n).for_each(|_| self.u64(&mut body, 0));
        self.u32(&mut body, CLASSES.len() as u32);
        CLASSES.iter().for_each(|(id, _)| self.u16(&mut body, *id));
        CLASSES.iter().for_each(|(_, name)| self.string(&mut body, name));
        // Static data; detectors before it from version 6 on, a total after it in version 8.
        (1..self.version / 2).for_each(|_| self.u32(&mut body, 0));
        for kind in ["FrAdcData", "FrProcData", "FrSimData"] {
            let own: Vec<usize> = (0..channels.len()).filter(|i| channels[*i].kind == kind).collect();
            self.u32(&mut body, own.len() as u32);
            own.iter().for_each(|i| self.string(&mut body, &channels[*i].name));
            if kind == "FrAdcData" {
                (0..2 * own.len()).for_each(|_| self.u32(&mut body, 0));
            }
            own.iter().flat_map(|i| &positions[*i]).for_each(|x| self.u64(&mut body, *x));
        }
        (0..if self.version >= 8 { 6 } else { 4 }).for_each(|_| self.u32(&mut body, 0));
        body
    }

    fn end(self, mut bytes: Vec<u8>, n_frames: usize, size: usize, seek: usize) -> Vec<u8> {
        let mut body = Out::default();
        self.u32(&mut body, n_frames as u32);
        self.long(&mut body, size as u64);
        if self.version < 8 {
            self.u64(&mut body, 0);
            self.long(&mut body, seek as u64);
            bytes.extend(self.structure(10, 0, &body));
            return bytes;
        }
        self.u64(&mut body, seek as u64);
        self.u32(&mut body, 0);
        self.u32(&mut body, 0); // the position of the file's checksum: the structure's own comes before it
        let mut end = Out(self.structure(10, 0, &body));
        let at = end.0.len() - 8;
        let mut sum = Cksum::default();
        sum.update(&end.0[..at]);
        end.0.truncate(at);
        self.u32(&mut end, sum.finish());
        bytes.extend(&end.0);
        let mut sum = Cksum::default();
        sum.update(&bytes);
        let mut last = Out::default();
        self.u32(&mut last, sum.finish());
        bytes.extend(last.0);
        bytes
    }
}

fn code(dtype: VectType) -> u16 {
    (0..16).find(|code| VectType::parse(*code).ok() == Some(dtype)).unwrap()
}

fn compressed(native: &[u8], dtype: VectType, compress: u16, order: ByteOrder) -> Vec<u8> {
    let word = dtype.word();
    let swap = (order == ByteOrder::Big) != cfg!(target_endian = "big");
    let ordered = |bytes: &[u8]| -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        if swap {
            bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
        }
        bytes
    };
    match compress {
        0 => ordered(native),
        GZIP => zlib(&ordered(native)),
        DIFFERENCES => zlib(&ordered(&differences(native, word))),
        _ if dtype.size() > word => ordered(&suppressed(&split(native, word), word)),
        _ => ordered(&suppressed(native, word)),
    }
}

/// All real parts, then all imaginary parts.
fn split(native: &[u8], word: usize) -> Vec<u8> {
    let part = |skip: usize| native.chunks(word).skip(skip).step_by(2).flatten().copied();
    part(0).chain(part(1)).collect()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn words(native: &[u8], word: usize) -> impl Iterator<Item = u64> + '_ {
    native.chunks_exact(word).map(move |bytes| {
        let mut eight = [0; 8];
        eight[..word].copy_from_slice(bytes);
        u64::from_le_bytes(eight)
    })
}

fn differences(native: &[u8], word: usize) -> Vec<u8> {
    let mut last = 0u64;
    words(native, word)
        .flat_map(|x| {
            let step = x.wrapping_sub(last);
            last = x;
            step.to_le_bytes()[..word].to_vec()
        })
        .collect()
}

/// Blocks of seven differences, each value in the block's number of bits.
fn suppressed(native: &[u8], word: usize) -> Vec<u8> {
    let (bits, field) = (8 * word as u32, [4, 5, 6][word.ilog2() as usize - 1]);
    let mask = u64::MAX >> (64 - bits);
    let steps: Vec<u64> = words(&differences(native, word), word).collect();
    let mut stream: Vec<bool> = Vec::new();
    let mut push = |x: u64, n: u32| stream.extend((0..n).map(|i| x >> i & 1 == 1));
    push(7, 16);
    for block in steps.chunks(7) {
        if block.iter().all(|x| *x == 0) {
            push(0, field);
            continue;
        }
        let fits = |n: u32| {
            let bias = (1u64 << (n - 1)) - 1;
            n == bits || block.iter().all(|x| (x.wrapping_add(bias) & mask) < 1 << n)
        };
        let n = (2..=bits).find(|n| fits(*n)).unwrap();
        push(u64::from(n) - 1, field);
        block.iter().for_each(|x| push(x.wrapping_add((1 << (n - 1)) - 1) & mask, n));
    }
    stream.resize(stream.len().next_multiple_of(8 * word), false);
    stream.chunks(8).map(|byte| byte.iter().rev().fold(0, |x, bit| x << 1 | u8::from(*bit))).collect()
}
