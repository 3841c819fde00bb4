//! `icecore.byteplanes`: numbers split into byte planes, most significant first. The first planes give
//! every number with a known relative error. After PStore's bytewise compression.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::{Value, json};

use super::byteplanes_escape::{Escapes, Rule};
use super::byteplanes_float::Float;
use super::byteplanes_head::{Head, head_len, write_table};
use super::byteplanes_noise::is_noise;
use crate::buffer::Buffer;
use crate::chain::Chain;
use crate::codecs::array_codec::ArrayCodec;
use crate::codecs::plane_split::{Layer, Rest, UNITS, merge, split};
use crate::codecs::planes::Planes;
use crate::dtype::DType;
use crate::errors::{bad_config, corrupt, wrong_length};
use crate::extension::{Extension, config_str, config_u64, only_keys};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["icecore.byteplanes"];

/// The parsed codec. An element is one number, or several of the same size (complex numbers, text).
#[derive(Debug)]
pub(crate) struct BytePlanes {
    planes: Vec<Plane>,
    /// Bytes of a number, and numbers per element.
    unit: usize,
    numbers: usize,
    float: Option<Float>,
    midpoint: bool,
    /// Elements that are stored exactly for a float type; `None` if the type has no planes to omit.
    rule: Option<Rule>,
}

#[derive(Debug)]
struct Plane {
    width: usize,
    /// Bits below this plane.
    shift: u32,
    chain: Chain,
    /// Whether the codecs do more than state the byte order.
    packs: bool,
    /// The chain for a plane that its codecs would not shorten.
    raw: Chain,
}

impl BytePlanes {
    /// `fill` is the array's fill value, one element in native order.
    pub fn parse(ext: &Extension, dtype: &DType, fill: &[u8]) -> Result<BytePlanes> {
        let (unit, numbers) = units(dtype).ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, format!("codec {} of {}", ext.name, dtype.to_json()))
                .hint("it splits elements that are one number, or several of the same type")
        })?;
        only_keys(ext, &["planes", "fill"])?;
        let float = Float::of(dtype);
        let midpoint = match ext.get("fill").map(|_| config_str(ext, "fill")).transpose()? {
            None | Some("midpoint") => true,
            Some("zero") => false,
            Some(_) => return Err(bad_config(ext, "fill", "midpoint, zero")),
        };
        let list = ext.get("planes").and_then(Value::as_array).filter(|l| (1..=unit).contains(&l.len()));
        let list = list.ok_or_else(|| bad_config(ext, "planes", &format!("1 to {unit} planes")))?;
        let mut below = unit;
        let mut planes = Vec::with_capacity(list.len());
        for value in list {
            let plane = Plane::parse(ext, value, below)?;
            below -= plane.width;
            planes.push(plane);
        }
        // The first plane must contain the sign and exponent completely; without them the relative error is unbounded.
        let whole = planes.first().is_some_and(|top| float.is_none_or(|f| top.shift <= f.mantissa));
        if below > 0 || !whole {
            let needed = format!("planes of {unit} bytes together, the first with the whole exponent of a float");
            return Err(bad_config(ext, "planes", &needed));
        }
        let top = planes.first().map_or(0, |top| top.shift);
        let rule = match float {
            Some(float) if top > 0 => Some(Rule::new(unit, float.exponent, top, fill)?),
            _ => None,
        };
        Ok(BytePlanes { planes, unit, numbers, float, midpoint, rule })
    }

    /// The shape of a plane: that of the chunk, plus a last axis for the numbers of an element.
    fn plane_shape(&self, shape: &[u64]) -> Vec<u64> {
        let parts = (self.numbers > 1).then_some(self.numbers as u64);
        shape.iter().copied().chain(parts).collect()
    }

    /// The first `count` planes of `stored`, which may end after them; if all planes are requested, nothing may follow
    /// them.
    fn parts<'a>(&self, head: &Head, stored: &'a [u8], count: usize) -> Result<Vec<(&'a [u8], bool)>> {
        if count == self.planes.len() && head.end(count) != stored.len() as u64 {
            let what = format!("{} bytes, the table of planes says {}", stored.len(), head.end(count));
            return Err(corrupt("icecore.byteplanes", what));
        }
        head.planes.iter().take(count).map(|entry| Ok((entry.part(stored)?, entry.raw))).collect()
    }

    /// Decodes the given planes and merges them; `fill` is the value of all unlisted numbers with its first plane.
    fn assemble(
        &self,
        parts: &[(&[u8], bool)],
        fill: Option<u64>,
        shape: &[u64],
        range: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (shape, count) = (self.plane_shape(shape), out.len() / self.unit);
        let missing = self.planes[..parts.len()].last().map_or(0, |plane| plane.shift);
        let pattern = self.float.and_then(|float| float.pattern(missing, self.midpoint));
        let rest = Rest { pattern, fill: fill.map(|value| (value, missing)) };
        // The top plane is processed last: if its codec decodes in blocks, each block is merged while it is in the
        // cache.
        let [(top, (stored, raw)), low @ ..] = &self.planes.iter().zip(parts).collect::<Vec<_>>()[..] else {
            return Ok(());
        };
        let mut decoded = Vec::with_capacity(parts.len());
        for (plane, (stored, raw)) in low {
            decoded.push((*plane, plane.decode(stored, *raw, &shape, count, &range, scratch)?));
        }
        let lower: Vec<Layer<'_>> = decoded.iter().map(|(plane, held)| plane.layer(held, count)).collect();
        let merged = !raw && top.merge_blocks((self.unit, rest), stored, &lower, &range, out, scratch)?;
        if !merged {
            let held = top.decode(stored, *raw, &shape, count, &range, scratch)?;
            let layers = [&[top.layer(&held, count)], lower.as_slice()].concat();
            merge(self.unit, &layers, rest, range, out);
            decoded.push((top, held));
        }
        for (_, held) in decoded {
            if let Held::Buffer(buffer) = held {
                scratch.give(buffer);
            }
        }
        Ok(())
    }
}

/// (bytes of a number, numbers per element).
fn units(dtype: &DType) -> Option<(usize, usize)> {
    match dtype.swap_units().as_slice() {
        [(unit, numbers)] if UNITS.contains(unit) => Some((*unit, *numbers)),
        _ => None,
    }
}

/// A decoded plane.
enum Held<'a> {
    Stored(&'a [u8]),
    Buffer(Buffer),
}

impl Plane {
    /// `below`: bytes of the number that are not in a plane yet.
    fn parse(ext: &Extension, value: &Value, below: usize) -> Result<Plane> {
        let wrong = || bad_config(ext, "planes", "planes with `bytes` (1, 2, 4 or 8) and `codecs`");
        let object = value.as_object().ok_or_else(wrong)?;
        let plane = Extension { name: ext.name, configuration: Some(object), must_understand: true };
        only_keys(&plane, &["bytes", "codecs"])?;
        let width = config_u64(&plane, "bytes")?;
        let dtype = match width {
            1 => DType::UInt8,
            2 => DType::UInt16,
            4 => DType::UInt32,
            8 => DType::UInt64,
            _ => return Err(wrong()),
        };
        let width = width as usize;
        let shift = below.checked_sub(width).ok_or_else(wrong)? as u32 * 8;
        let codecs = plane.get("codecs").ok_or_else(wrong)?;
        let parts = codecs.as_array().into_iter().flatten().filter_map(|codec| Extension::parse(codec, "codec").ok());
        if parts.into_iter().any(|codec| codec.name == ext.name) {
            return Err(bad_config(ext, "planes", "codecs without another icecore.byteplanes"));
        }
        let chain = Chain::parse(codecs, &dtype, &vec![0; width])?;
        let packs = chain.names() != ["bytes"];
        let raw = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
        Ok(Plane { width, shift, chain, packs, raw: Chain::parse(&raw, &dtype, &vec![0; width])? })
    }

    /// The numbers of `range` of this plane, which has `count` numbers.
    fn decode<'a>(
        &self,
        stored: &'a [u8],
        raw: bool,
        shape: &[u64],
        count: usize,
        range: &Range<usize>,
        scratch: &mut Scratch,
    ) -> Result<Held<'a>> {
        let len = count * self.width;
        if raw && stored.len() != len {
            return Err(wrong_length("icecore.byteplanes", stored.len(), len));
        }
        if raw && cfg!(target_endian = "little") {
            return Ok(Held::Stored(stored));
        }
        let chain = if raw { &self.raw } else { &self.chain };
        let wanted = ((range.start * self.width) as u64, (range.end * self.width) as u64);
        let mut buffer = scratch.take();
        chain.decode(stored, shape, wanted, buffer.sized(len)?, scratch)?;
        Ok(Held::Buffer(buffer))
    }

    fn layer<'a>(&self, held: &'a Held<'_>, count: usize) -> Layer<'a> {
        let data = match held {
            Held::Stored(bytes) => bytes,
            Held::Buffer(buffer) => &buffer.bytes()[..count * self.width],
        };
        Layer { data, first: 0, width: self.width, shift: self.shift }
    }

    /// Merges the numbers of `range` from this plane, block by block as its codec decodes it, with the lower planes;
    /// false if the codec does not decode in blocks.
    fn merge_blocks(
        &self,
        (unit, rest): (usize, Rest),
        stored: &[u8],
        lower: &[Layer<'_>],
        range: &Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<bool> {
        let (width, len) = (self.width, out.len() / unit * self.width);
        let Some(codec) = self.chain.only_codec().filter(|_| width > 1) else { return Ok(false) };
        let wanted = range.start * width..range.end * width;
        codec.shuffled_blocks(stored, len, width, wanted, scratch, &mut |start, bytes| {
            let (first, count) = (start / width, bytes.len() / width);
            let part = range.start.max(first)..range.end.min(first + count);
            let byte = |nth: usize| {
                let place = if cfg!(target_endian = "little") { nth } else { width - 1 - nth };
                Layer { data: &bytes[place * count..][..count], first, width: 1, shift: self.shift + 8 * nth as u32 }
            };
            let layers: Vec<Layer<'_>> = (0..width).rev().map(byte).chain(lower.iter().copied()).collect();
            merge(unit, &layers, rest, part, out);
        })
    }

    /// Appends the plane to `out`; returns whether it is raw.
    fn encode(
        &self,
        numbers: &[u8],
        unit: usize,
        shape: &[u64],
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<bool> {
        let (start, len) = (out.len(), numbers.len() / unit * self.width);
        let mut buffer = scratch.take();
        let plane = buffer.sized(len)?;
        split(unit, numbers, self.width, self.shift, plane);
        let worth = self.packs && !is_noise(plane, self.width);
        if worth {
            self.chain.append(plane, shape, out, scratch)?;
        }
        let raw = !worth || out.len() - start >= len;
        if raw {
            out.truncate(start);
            self.raw.append(plane, shape, out, scratch)?;
        }
        scratch.give(buffer);
        Ok(raw)
    }
}

impl ArrayCodec for BytePlanes {
    fn decode(
        &self,
        stored: &[u8],
        shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        self.decode_top(stored, self.planes.len(), shape, wanted, out, scratch)
    }

    fn decode_top(
        &self,
        stored: &[u8],
        planes: usize,
        shape: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let planes = planes.clamp(1, self.planes.len());
        let range = wanted.start / self.unit..wanted.end / self.unit;
        let head = Head::parse(stored, self.planes.len())?;
        let parts = self.parts(&head, stored, planes)?;
        let stored_escapes = head.escapes.part(stored)?; // verified even if they are not needed
        let needed = self.rule.as_ref().filter(|_| planes < self.planes.len());
        let decode = |rule| Escapes::decode(stored_escapes, head.escapes.raw, rule, out.len() / self.unit, scratch);
        let escapes = needed.map(decode).transpose()?;
        let fill = escapes.as_ref().and_then(|escapes| escapes.stands);
        self.assemble(&parts, fill, shape, range.clone(), out, scratch)?;
        if let Some(escapes) = escapes {
            escapes.apply(range, out);
        }
        Ok(())
    }

    fn encode(&self, raw: &[u8], shape: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        let shape = self.plane_shape(shape);
        let start = out.len();
        out.resize(start + head_len(self.planes.len()), 0);
        let (escapes, stands) = match &self.rule {
            Some(rule) => rule.encode(raw, scratch)?,
            None => Default::default(),
        };
        out.extend_from_slice(&escapes);
        let mut parts = vec![(out.len() - start, stands)];
        for plane in &self.planes {
            let raw = plane.encode(raw, self.unit, &shape, out, scratch)?;
            parts.push((out.len() - start, raw));
        }
        write_table(&mut out[start..], &parts);
        Ok(())
    }

    fn planes(&self) -> Option<&dyn Planes> {
        // Only floats in more than one plane can be truncated with an error bound.
        let divisible = self.float.is_some() && self.planes.len() > 1;
        divisible.then_some(self as &dyn Planes)
    }
}

impl Planes for BytePlanes {
    fn count(&self) -> usize {
        self.planes.len()
    }

    fn bound(&self, planes: usize) -> f64 {
        let last = self.planes.get(planes.clamp(1, self.planes.len()) - 1);
        let missing = last.map_or(0, |plane| plane.shift);
        self.float.map_or(0.0, |float| float.bound(missing, self.midpoint))
    }

    fn for_bytes(&self, bytes: usize) -> usize {
        let held = |planes: &usize| self.planes[..*planes].iter().map(|plane| plane.width).sum::<usize>() >= bytes;
        (1..self.planes.len()).find(held).unwrap_or(self.planes.len())
    }

    fn head_len(&self) -> u64 {
        head_len(self.planes.len()) as u64
    }

    fn prefix_len(&self, head: &[u8], planes: usize, chunk: u64) -> Result<u64> {
        let head = Head::parse(head, self.planes.len())?;
        match head.end(self.planes.len()) {
            end if end == chunk => Ok(head.end(planes)),
            end => {
                let what = format!("a chunk of {chunk} bytes, the table of planes says {end}");
                Err(corrupt("icecore.byteplanes", what))
            }
        }
    }
}
