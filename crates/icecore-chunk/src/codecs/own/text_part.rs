//! `icecore.text_part`: text around the text of another column, such as paths around file names. The other column's chunk
//! is stored inside of this one, byte for byte, so that both columns can share it.

use std::ops::Range;

use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

use crate::chain::Chain;
use crate::codecs::array_codec::ArrayCodec;
use crate::dtype::DType;
use crate::errors::{bad_config, corrupt};
use crate::extension::{Extension, config_i64_or, config_str_or, config_u64, only_keys};
use crate::scratch::Scratch;

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &["icecore.text_part"];

const NAME: &str = "icecore.text_part";
/// Three sections: the other column's chunk, heads, tails. Width of the elements and number of bytes precede each.
const PREFIX: usize = 8;

/// Each element is a head, a part and a tail. Decoding joins them, so any division is exact; only if the parts are the
/// elements of the other column, their encoded bytes are that column's chunk.
#[derive(Debug)]
pub(crate) struct TextPart {
    /// Bytes of an element here, and of the other column.
    width: usize,
    length: usize,
    other: Chain,
    /// Codecs of heads and tails.
    rest: Value,
    rule: Rule,
}

/// Where writers look for the part.
#[derive(Debug)]
struct Rule {
    after: Vec<u8>,
    skip: usize,
    before: Vec<u8>,
}

impl TextPart {
    pub fn parse(ext: &Extension, dtype: &DType) -> Result<TextPart> {
        only_keys(ext, &["length", "codecs", "rest", "after", "skip", "before"])?;
        let DType::Bytes(width) = *dtype else {
            return Err(Error::new(ErrorKind::Unsupported, format!("{NAME} of {}", dtype.to_json()))
                .hint("it supports null_terminated_bytes"));
        };
        let length = match config_u64(ext, "length")? {
            length @ 1.. if length <= width as u64 => length as usize,
            _ => return Err(bad_config(ext, "length", "1 to the bytes of an element")),
        };
        let codecs = ext.get("codecs").ok_or_else(|| bad_config(ext, "codecs", "the other column's codecs"))?;
        let rest = ext.get("rest").ok_or_else(|| bad_config(ext, "rest", "codecs of heads and tails"))?;
        let skip = match config_i64_or(ext, "skip", 0)? {
            skip @ 0..=0xFFFF => skip as usize,
            _ => return Err(bad_config(ext, "skip", "0 to 65535")),
        };
        let text = |key| config_str_or(ext, key, "").map(|text| text.as_bytes().to_vec());
        let rule = Rule { after: text("after")?, skip, before: text("before")? };
        let other = Chain::parse(codecs, &DType::Bytes(length), &vec![0; length])?;
        Chain::parse(rest, &DType::Bytes(1), &[0])?;
        Ok(TextPart { width, length, other, rest: rest.clone(), rule })
    }

    fn own(&self, width: usize) -> Result<Chain> {
        Chain::parse(&self.rest, &DType::Bytes(width), &vec![0; width])
    }

    /// The range of an element that is the part. Empty if the division would lose a NUL at an end of a text.
    fn part(&self, text: &[u8]) -> Range<usize> {
        let range = self.rule.find(text);
        let ends_in_nul = |text: &[u8]| text.last() == Some(&0);
        if range.len() > self.length || ends_in_nul(&text[range.clone()]) || ends_in_nul(&text[..range.start]) {
            return text.len()..text.len();
        }
        range
    }
}

impl Rule {
    fn find(&self, text: &[u8]) -> Range<usize> {
        let behind = if self.after.is_empty() {
            Some(0)
        } else {
            (0..text.len()).rev().find(|at| text[*at..].starts_with(&self.after)).map(|at| at + self.after.len())
        };
        let Some(start) = behind.map(|at| at + self.skip).filter(|start| *start <= text.len()) else {
            return text.len()..text.len();
        };
        let end = if self.before.is_empty() {
            text.len()
        } else {
            let found = (start..text.len()).find(|at| text[*at..].starts_with(&self.before));
            found.unwrap_or(text.len())
        };
        start..end
    }
}

impl ArrayCodec for TextPart {
    fn decode(
        &self,
        stored: &[u8],
        _: &[u64],
        wanted: Range<usize>,
        out: &mut [u8],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let count = out.len() / self.width.max(1);
        let mut rest = stored;
        let mut columns = Vec::with_capacity(3);
        for nth in 0..3 {
            let (width, bytes) = section(&mut rest)?;
            if width > self.width || (nth == 1 && width != self.length) {
                return Err(corrupt(NAME, "a section of elements that are too long"));
            }
            let mut texts = vec![0; count * width];
            if width > 0 {
                let chain = if nth == 1 { &self.other } else { &self.own(width)? };
                let all = (0, texts.len() as u64);
                chain.decode(bytes, &[count as u64], all, &mut texts, scratch)?;
            }
            columns.push((width, texts));
        }
        if !rest.is_empty() {
            return Err(corrupt(NAME, "bytes behind the last section"));
        }
        for row in wanted.start / self.width..wanted.end.div_ceil(self.width) {
            let element = &mut out[row * self.width..(row + 1) * self.width];
            let mut at = 0;
            for (width, texts) in &columns {
                let text = trimmed(&texts[row * width..(row + 1) * width]);
                let place = element.get_mut(at..at + text.len());
                place.ok_or_else(|| corrupt(NAME, "an element that is too long"))?.copy_from_slice(text);
                at += text.len();
            }
            element[at..].fill(0);
        }
        Ok(())
    }

    fn encode(&self, raw: &[u8], _: &[u64], out: &mut Vec<u8>, scratch: &mut Scratch) -> Result<()> {
        let count = raw.len() / self.width;
        let rows: Vec<(&[u8], Range<usize>)> =
            raw.chunks_exact(self.width).map(trimmed).map(|text| (text, self.part(text))).collect();
        let heads = rows.iter().map(|(text, part)| &text[..part.start]);
        let parts = rows.iter().map(|(text, part)| &text[part.clone()]);
        let tails = rows.iter().map(|(text, part)| &text[part.end..]);
        self.append(heads, None, count, out, scratch)?;
        self.append(parts, Some(&self.other), count, out, scratch)?;
        self.append(tails, None, count, out, scratch)
    }

    fn contained(&self, stored: &[u8]) -> Option<Range<usize>> {
        let mut rest = stored;
        section(&mut rest).ok()?;
        let (_, bytes) = section(&mut rest).ok()?;
        let end = stored.len() - rest.len();
        Some(end - bytes.len()..end)
    }
}

impl TextPart {
    /// Appends a section of texts of the other column, or of our own: as wide as the longest.
    fn append<'a>(
        &self,
        texts: impl Iterator<Item = &'a [u8]> + Clone,
        other: Option<&Chain>,
        count: usize,
        out: &mut Vec<u8>,
        scratch: &mut Scratch,
    ) -> Result<()> {
        let width = match other {
            Some(_) => self.length,
            None => texts.clone().map(<[u8]>::len).max().unwrap_or(0),
        };
        let mut bytes = Vec::new();
        if width > 0 {
            let mut padded = vec![0; count * width];
            for (place, text) in padded.chunks_exact_mut(width).zip(texts) {
                place[..text.len()].copy_from_slice(text);
            }
            let own;
            let chain = match other {
                Some(chain) => chain,
                None => {
                    own = self.own(width)?;
                    &own
                }
            };
            chain.append(&padded, &[count as u64], &mut bytes, scratch)?;
        }
        for number in [width, bytes.len()] {
            let number = u32::try_from(number)
                .map_err(|_| Error::new(ErrorKind::Unsupported, format!("{NAME} of a chunk of 4 GiB")))?;
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&bytes);
        Ok(())
    }
}

/// Width and bytes of the next section.
fn section<'a>(rest: &mut &'a [u8]) -> Result<(usize, &'a [u8])> {
    let cut = || corrupt(NAME, "a section that is cut off");
    let (prefix, behind) = rest.split_at_checked(PREFIX).ok_or_else(cut)?;
    let number = |at: usize| u32::from_le_bytes([prefix[at], prefix[at + 1], prefix[at + 2], prefix[at + 3]]) as usize;
    let (bytes, behind) = behind.split_at_checked(number(4)).ok_or_else(cut)?;
    *rest = behind;
    Ok((number(0), bytes))
}

/// A text without the NULs that pad it.
fn trimmed(element: &[u8]) -> &[u8] {
    let end = element.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &element[..end]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    const WIDTH: usize = 24;

    fn inner() -> Value {
        json!([{"name": "bytes"}, {"name": "zstd", "configuration": {"level": 3, "checksum": false}}, {"name": "crc32c"}])
    }

    fn chain(configuration: &Value) -> Result<Chain> {
        let codecs = json!([{"name": "icecore.text_part", "configuration": configuration}, {"name": "crc32c"}]);
        Chain::parse(&codecs, &DType::Bytes(WIDTH), &[0; WIDTH])
    }

    fn paths() -> Chain {
        chain(&json!({"length": 8, "codecs": inner(), "rest": inner(), "after": "/", "before": ".xml"})).unwrap()
    }

    fn padded(texts: &[&[u8]], width: usize) -> Vec<u8> {
        let pad = |text: &&[u8]| [*text, &vec![0; width - text.len()]].concat();
        texts.iter().flat_map(pad).collect()
    }

    fn round(chain: &Chain, texts: &[&[u8]]) -> Vec<u8> {
        let (raw, shape, scratch) = (padded(texts, WIDTH), [texts.len() as u64], &mut Scratch::new());
        let stored = chain.encode(&raw, &shape, scratch).unwrap();
        let mut out = vec![1; raw.len()];
        chain.decode(&stored, &shape, (0, raw.len() as u64), &mut out, scratch).unwrap();
        assert_eq!(out, raw);
        let (from, to) = (WIDTH, 2 * WIDTH);
        let mut out = vec![1; raw.len()];
        chain.decode(&stored, &shape, (from as u64, to as u64), &mut out, scratch).unwrap();
        assert_eq!(out[from..to], raw[from..to]);
        stored
    }

    #[test]
    fn contains_the_chunk_of_the_other_column() {
        let stored = round(&paths(), &[b"a/b/one.xml", b"a/two.xml", b"three.dat"]);
        let names = Chain::parse(&inner(), &DType::Bytes(8), &[0; 8]).unwrap();
        // Without a separator nothing is a part.
        let other = names.encode(&padded(&[b"one", b"two", b""], 8), &[3], &mut Scratch::new()).unwrap();
        let part = paths().contained(&stored).unwrap();
        assert_eq!(stored[part], other);
    }

    #[test]
    fn texts_that_do_not_fit_the_rule_come_back_too() {
        let texts: [&[u8]; 8] = [
            b"",
            b"/",
            b"a/much-longer-than-8.xml",
            b"a/one\0.xml",
            b"a\0/one.xml",
            b"/.xml.xml",
            b"a/\0b",
            "a/\u{e9}.xml".as_bytes(),
        ];
        round(&paths(), &texts);
        round(&chain(&json!({"length": 1, "codecs": inner(), "rest": inner(), "skip": 3})).unwrap(), &texts);
        round(&chain(&json!({"length": 24, "codecs": inner(), "rest": inner()})).unwrap(), &texts);
    }

    #[test]
    fn damaged_chunks_and_other_settings_are_rejected() {
        let texts: [&[u8]; 3] = [b"a/b/one.xml", b"a/two.xml", b"b/three.xml"];
        let (raw, scratch) = (padded(&texts, WIDTH), &mut Scratch::new());
        let plain = json!([{"name": "bytes"}]);
        let codecs = json!([{"name": "icecore.text_part", "configuration":
            {"length": 8, "codecs": plain, "rest": plain, "after": "/", "before": "."}}]);
        let chain_without = Chain::parse(&codecs, &DType::Bytes(WIDTH), &[0; WIDTH]).unwrap();
        let stored = chain_without.encode(&raw, &[3], scratch).unwrap();
        let mut out = vec![0; raw.len()];
        for len in 0..stored.len() {
            let cut = chain_without.decode(&stored[..len], &[3], (0, raw.len() as u64), &mut out, scratch);
            assert_eq!(cut.unwrap_err().kind, ErrorKind::Corrupt, "{len}");
        }
        for at in 0..stored.len() {
            for bit in 0..8 {
                let mut flipped = stored.clone();
                flipped[at] ^= 1 << bit;
                // A letter may be another one: no codec here has a checksum.
                let _ = chain_without.decode(&flipped, &[3], (0, raw.len() as u64), &mut out, scratch);
            }
        }
        let wrong = [
            json!({"length": 0, "codecs": inner(), "rest": inner()}),
            json!({"length": 25, "codecs": inner(), "rest": inner()}),
            json!({"length": 8, "rest": inner()}),
            json!({"length": 8, "codecs": inner()}),
            json!({"length": 8, "codecs": inner(), "rest": inner(), "after": 1}),
            json!({"length": 8, "codecs": inner(), "rest": inner(), "skip": -1}),
            json!({"length": 8, "codecs": inner(), "rest": inner(), "at": 1}),
        ];
        for configuration in wrong {
            assert!(chain(&configuration).is_err(), "{configuration}");
        }
        let numbers =
            json!([{"name": "icecore.text_part", "configuration": {"length": 1, "codecs": plain, "rest": plain}}]);
        assert_eq!(Chain::parse(&numbers, &DType::Int8, &[0]).unwrap_err().kind, ErrorKind::Unsupported);
    }
}
