//! Checksums: 4 bytes at one end of the data. `crc32c`, `numcodecs.crc32`, `numcodecs.adler32`, `fletcher32` (HDF5).

use std::ops::Range;

use icecore_grid::Result;

use crate::errors::{bad_config, corrupt};
use crate::extension::{Extension, config_str};

/// Names in the metadata.
pub(crate) const NAMES: &[&str] = &[
    "crc32c",
    "numcodecs.crc32c",
    "crc32",
    "numcodecs.crc32",
    "adler32",
    "numcodecs.adler32",
    "fletcher32",
    "numcodecs.fletcher32",
    "https://codec.zarrs.dev/bytes_to_bytes/fletcher32",
];

/// The CRC-32C of `data`, continued from `before`.
pub fn crc32c(before: u32, data: &[u8]) -> u32 {
    crc32c::crc32c_append(before, data)
}

/// The CRC-32 (of zip and gzip) of `data`, continued from `before`.
pub fn crc32(before: u32, data: &[u8]) -> u32 {
    // SAFETY: the pointer and length come from a slice.
    unsafe { libdeflate_sys::libdeflate_crc32(before, data.as_ptr().cast(), data.len()) }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Crc32c,
    Crc32,
    Adler32,
    Fletcher32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Checksum {
    kind: Kind,
    at_start: bool,
}

impl Checksum {
    /// The checksum of one of [`NAMES`].
    pub fn parse(ext: &Extension) -> Result<Checksum> {
        let (kind, default) = match ext.name.rsplit(['.', '/']).next() {
            Some("crc32c") => (Kind::Crc32c, false),
            Some("crc32") => (Kind::Crc32, true),
            Some("adler32") => (Kind::Adler32, true),
            _ => (Kind::Fletcher32, false),
        };
        let at_start = match ext.get("location").map(|_| config_str(ext, "location")).transpose()? {
            None => default,
            Some("start") => true,
            Some("end") => false,
            Some(_) => return Err(bad_config(ext, "location", "start, end")),
        };
        Ok(Checksum { kind, at_start })
    }

    /// Verifies the checksum and returns the range of the data.
    pub fn verify(&self, stored: &[u8]) -> Result<Range<usize>> {
        let Some(len) = stored.len().checked_sub(4) else {
            return Err(corrupt(self.name(), format!("{} stored bytes, shorter than the checksum", stored.len())));
        };
        let (data, sum) = if self.at_start { (4..4 + len, &stored[..4]) } else { (0..len, &stored[len..]) };
        let found = self.sum(&stored[data.clone()]);
        if sum != found.to_le_bytes() {
            let said = u32::from_le_bytes([sum[0], sum[1], sum[2], sum[3]]);
            return Err(corrupt(self.name(), format!("the checksum is {said:#010x}, the data have {found:#010x}")));
        }
        Ok(data)
    }

    /// Whether the checksum is after the data.
    pub fn is_behind(&self) -> bool {
        !self.at_start
    }

    /// Appends the checksum of the bytes of `out` from `start` on.
    pub fn close(&self, out: &mut Vec<u8>, start: usize) {
        let sum = self.sum(&out[start..]).to_le_bytes();
        out.extend(sum);
    }

    /// Appends the data with their checksum.
    pub fn encode(&self, data: &[u8], out: &mut Vec<u8>) {
        let sum = self.sum(data).to_le_bytes();
        out.reserve(data.len() + sum.len());
        if self.at_start {
            out.extend(sum);
        }
        out.extend_from_slice(data);
        if !self.at_start {
            out.extend(sum);
        }
    }

    fn sum(&self, data: &[u8]) -> u32 {
        match self.kind {
            Kind::Crc32c => crc32c::crc32c(data),
            Kind::Crc32 => crc32(0, data),
            Kind::Adler32 => simd_adler32::adler32(&data),
            Kind::Fletcher32 => fletcher32(data),
        }
    }

    fn name(&self) -> &'static str {
        match self.kind {
            Kind::Crc32c => "crc32c",
            Kind::Crc32 => "crc32",
            Kind::Adler32 => "adler32",
            Kind::Fletcher32 => "fletcher32",
        }
    }
}

/// Fletcher's checksum in HDF5's variant: over big-endian 16-bit words; an odd last byte is the upper half of a word.
fn fletcher32(data: &[u8]) -> u32 {
    /// Number of words between reductions. This many keep both sums in 32 bits.
    const BLOCK: usize = 360;
    let (words, odd) = data.as_chunks::<2>();
    let (mut sum1, mut sum2) = (0u32, 0u32);
    let fold = |sum: u32| (sum & 0xffff) + (sum >> 16);
    for block in words.chunks(BLOCK) {
        for word in block {
            sum1 += u32::from(u16::from_be_bytes(*word));
            sum2 += sum1;
        }
        (sum1, sum2) = (fold(sum1), fold(sum2));
    }
    if let [last] = odd {
        sum1 += u32::from(*last) << 8;
        sum2 += sum1;
        (sum1, sum2) = (fold(sum1), fold(sum2));
    }
    (fold(sum2) << 16) | fold(sum1)
}
