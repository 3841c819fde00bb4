//! Frame files of every version, byte order, compression and type: read, scanned, damaged.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::needless_range_loop, reason = "the frame is an index into several lists")]

#[path = "frames/writer.rs"]
mod writer;

use icecore_grid::{Error, ErrorKind, Result};
use icecore_gwf::{ByteOrder, FrameFile, VectType, decode_vect, index, verify};
use writer::{Channel, DIFFERENCES, GZIP, Writer};

const TYPES: [VectType; 12] = [
    VectType::Int8,
    VectType::Int16,
    VectType::Float64,
    VectType::Float32,
    VectType::Int32,
    VectType::Int64,
    VectType::Complex64,
    VectType::Complex128,
    VectType::UInt16,
    VectType::UInt32,
    VectType::UInt64,
    VectType::UInt8,
];

fn writers() -> impl Iterator<Item = Writer> {
    [4, 6, 8].into_iter().flat_map(|version| {
        [ByteOrder::Little, ByteOrder::Big]
            .into_iter()
            .flat_map(move |order| [true, false].into_iter().map(move |toc| Writer { version, order, toc }))
    })
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 16
    }
}

/// Slow steps, a constant stretch and jumps across the whole range.
fn samples(dtype: VectType, count: usize) -> Vec<u8> {
    let (mut random, mut x, word) = (Random(7), 5u64, dtype.word());
    (0..count * dtype.size() / word)
        .flat_map(|i| {
            x = match i % 40 {
                0..20 => x.wrapping_add(random.next() % 9).wrapping_sub(4),
                20..36 => x,
                _ => random.next() << 20 ^ random.next(),
            };
            x.to_le_bytes()[..word].to_vec()
        })
        .collect()
}

fn compressions(dtype: VectType) -> Vec<u16> {
    let integer = !matches!(dtype, VectType::Float32 | VectType::Float64 | VectType::Complex64 | VectType::Complex128);
    let suppress = [(2, 5), (4, 8), (8, 10)].into_iter().filter(|(word, _)| *word == dtype.word()).map(|(_, c)| c);
    [0, GZIP].into_iter().chain(integer.then_some(DIFFERENCES)).chain(suppress).collect()
}

/// One channel of every type in every compression; the second frame lacks the last.
fn channels() -> Vec<Channel> {
    let kinds = ["FrAdcData", "FrProcData", "FrSimData"];
    let mut all: Vec<Channel> = TYPES
        .into_iter()
        .flat_map(|dtype| compressions(dtype).into_iter().map(move |compress| (dtype, compress)))
        .enumerate()
        .map(|(i, (dtype, compress))| Channel {
            kind: kinds[i % 3],
            name: format!("X1:{}_{compress}", dtype.name()),
            dtype,
            compress,
            data: samples(dtype, 256),
            rate: 256.0,
            frames: vec![0, 1],
        })
        .collect();
    all.last_mut().unwrap().frames = vec![0];
    all
}

fn inflate(input: &[u8], out: &mut [u8]) -> Result<()> {
    let fault = |_| Error::new(ErrorKind::Corrupt, "bad stream");
    let mut stream = flate2::Decompress::new(true);
    stream.decompress(input, out, flate2::FlushDecompress::Finish).map_err(|_| ()).map_err(fault)?;
    if stream.total_out() == out.len() as u64 { Ok(()) } else { Err(fault(())) }
}

fn decode_all(bytes: &[u8], file: &FrameFile) -> Vec<Result<(String, Vec<u8>)>> {
    let pieces = file.channels.iter().flat_map(|c| c.pieces.iter().map(move |p| (c, p)));
    pieces
        .map(|(channel, piece)| {
            let v = &piece.vect;
            let size = usize::try_from(v.n_data).ok().and_then(|n| n.checked_mul(v.dtype.size()));
            let size = size.filter(|n| *n < 1 << 20).ok_or_else(|| Error::new(ErrorKind::Corrupt, "too large"))?;
            let mut out = vec![0; size];
            let from = v.offset as usize;
            decode_vect(&bytes[from..from + v.len as usize], v.dtype, &mut out, &mut inflate)?;
            Ok((channel.name.clone(), out))
        })
        .collect()
}

#[test]
fn every_version_order_type_and_compression_reads_back_with_and_without_a_table_of_contents() {
    let channels = channels();
    assert_eq!(channels.len(), 12 * 2 + 8 + 10);
    for writer in writers() {
        let bytes = writer.file(2, &channels);
        let file = index(&bytes, usize::MAX).unwrap();
        let context = format!("version {} {:?} toc {}: {:?}", writer.version, writer.order, writer.toc, file.problems);
        assert_eq!((file.format.version, file.format.order, file.from_toc), (writer.version, writer.order, writer.toc));
        assert_eq!(file.problems.len(), usize::from(!writer.toc), "{context}");
        assert_eq!(file.frames.len(), 2);
        assert_eq!(file.frames[1].start_ns, 1_000_000_001_000_000_000);
        assert_eq!(file.channels.len(), channels.len(), "{context}");
        let decoded = decode_all(&bytes, &file);
        assert_eq!(decoded.len(), 2 * channels.len() - 1);
        for item in decoded {
            let (name, data) = item.unwrap();
            assert!(data == channels.iter().find(|c| c.name == name).unwrap().data, "{name} {context}");
        }
        let adc = file.channels.iter().find(|c| c.name == channels[0].name).unwrap();
        let piece = &adc.pieces[1];
        assert_eq!((piece.start_ns, piece.dt, piece.data_valid), (1_000_000_001_000_000_000, 1.0 / 256.0, 3));
        assert_eq!((piece.unit.as_str(), piece.slope, piece.bias), ("V", 2.0, 0.5));
    }
}

#[test]
fn a_listing_looks_each_channel_up_once() {
    let channels = channels();
    let file = index(&writers().next().unwrap().file(2, &channels), 1).unwrap();
    assert!(file.channels.iter().all(|c| c.pieces.len() == 1));
    assert_eq!(file.channels.len(), channels.len());
}

#[test]
fn checksums_show_a_changed_byte() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let mut bytes = Writer { version: 8, order, toc: true }.file(1, &channels()[..3]);
        assert_eq!(verify(&bytes).unwrap(), []);
        let file = index(&bytes, 1).unwrap();
        let vect = &file.channels[0].pieces[0].vect;
        bytes[vect.offset as usize + 60] ^= 4;
        let problems = verify(&bytes).unwrap();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert_eq!((problems[0].kind, problems[0].offset), (ErrorKind::Corrupt, vect.offset));
    }
}

#[test]
fn a_broken_table_of_contents_is_replaced_by_a_scan() {
    let channels = &channels()[..6];
    for version in [4, 6, 8] {
        let writer = Writer { version, order: ByteOrder::Little, toc: true };
        let whole = writer.file(2, channels);
        let without = Writer { toc: false, ..writer }.file(2, channels);
        let toc = without.len() - [28, 42, 46][usize::from(version) / 2 - 2];
        let mut bytes = whole.clone();
        bytes[toc + 40..toc + 60].fill(0xee);
        let file = index(&bytes, usize::MAX).unwrap();
        assert!(!file.from_toc);
        assert_eq!(file.problems.len(), 1, "{:?}", file.problems);
        assert_eq!(decode_all(&bytes, &file).len(), 12);
        let whole_file = index(&whole, usize::MAX).unwrap();
        assert_eq!(file.channels.len(), whole_file.channels.len());
    }
}

#[test]
fn every_truncation_is_an_error_or_reads_what_is_left() {
    let channels = &channels()[..4];
    for version in [4, 6, 8] {
        let bytes = Writer { version, order: ByteOrder::Big, toc: true }.file(2, channels);
        for len in (0..bytes.len()).step_by(7) {
            let cut = bytes[..len].to_vec();
            let Ok(file) = index(&cut, usize::MAX) else { continue };
            assert!(!file.problems.is_empty(), "{len} of {} bytes", bytes.len());
            for (name, data) in decode_all(&cut, &file).into_iter().map(Result::unwrap) {
                assert!(data == channels.iter().find(|c| c.name == name).unwrap().data);
            }
        }
    }
}

#[test]
fn bit_flips_give_errors_not_panics() {
    let channels = &channels()[..9];
    let mut random = Random(3);
    for writer in writers() {
        let whole = writer.file(2, channels);
        for _ in 0..600 {
            let mut bytes = whole.clone();
            for _ in 0..1 + random.next() % 3 {
                let at = random.next() as usize % bytes.len();
                bytes[at] ^= 1 << (random.next() % 8);
            }
            if let Ok(file) = index(&bytes, usize::MAX) {
                drop(decode_all(&bytes, &file));
            }
            drop(verify(&bytes));
        }
    }
}

#[test]
fn every_bit_of_a_vectors_header_may_be_wrong() {
    let channel = &channels()[4];
    for writer in writers().filter(|w| w.toc) {
        let whole = writer.vect(channel, 1);
        let head = whole.len().min(70);
        for at in 0..head * 8 {
            let mut bytes = whole.clone();
            bytes[at / 8] ^= 1 << (at % 8);
            let mut out = vec![0; channel.data.len()];
            drop(decode_vect(&bytes, channel.dtype, &mut out, &mut inflate));
        }
    }
}

/// Offsets of the bytes outside the vectors' data.
fn header_bytes(bytes: &[u8], file: &FrameFile) -> Vec<usize> {
    let pieces = file.channels.iter().flat_map(|c| &c.pieces);
    let data: Vec<std::ops::Range<usize>> = pieces
        .map(|p| {
            let behind = (p.vect.offset + p.vect.len) as usize;
            p.vect.offset as usize + 80..behind.saturating_sub(120)
        })
        .collect();
    (0..bytes.len()).filter(|at| !data.iter().any(|range| range.contains(at))).collect()
}

#[test]
fn every_bit_of_every_header_may_be_wrong_and_no_channel_is_lost_silently() {
    let mut channels = channels()[..3].to_vec();
    channels.iter_mut().for_each(|c| c.frames = vec![0]);
    let mut silent = Vec::new();
    for writer in writers() {
        let context = format!("version {} {:?} toc {}", writer.version, writer.order, writer.toc);
        let whole = writer.file(1, &channels);
        let before = index(&whole, usize::MAX).unwrap();
        let expected = before.problems.len();
        for at in header_bytes(&whole, &before) {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                let checked = verify(&bytes);
                let Ok(file) = index(&bytes, usize::MAX) else { continue };
                let found = decode_all(&bytes, &file);
                let names: Vec<&str> = file.channels.iter().map(|c| c.name.as_str()).collect();
                let lost = channels.iter().any(|c| !names.contains(&c.name.as_str()));
                let renamed = names.len() == channels.len();
                let noticed = file.problems.len() > expected || renamed;
                if lost && !noticed {
                    silent.push(format!("{context}: bit {bit} at {at}"));
                }
                for (name, data) in found.into_iter().flatten() {
                    let same = channels.iter().find(|c| c.name == name).is_none_or(|c| c.data == data);
                    let seen = checked.as_ref().map_or(true, |problems| !problems.is_empty());
                    assert!(same || writer.version < 8 || seen, "{context}: {name} changed by bit {bit} at {at}");
                }
            }
        }
    }
    assert!(silent.is_empty(), "{} flips, the first: {:?}", silent.len(), silent.iter().take(40).collect::<Vec<_>>());
}

/// Skipped where the real files are absent.
#[test]
fn real_files_without_their_table_of_contents_have_no_other_problem() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/frames");
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "gwf")) {
        let mut bytes = std::fs::read(&path).unwrap();
        let Ok(whole) = index(&bytes, usize::MAX) else { continue };
        let end = bytes.len() - [28, 42, 46][usize::from(whole.format.version) / 2 - 2]; // FrEndOfFile
        bytes[end..].fill(0);
        let scanned = index(&bytes, usize::MAX).unwrap();
        let others: Vec<_> = scanned.problems.iter().filter(|p| p.offset != 0 && !whole.problems.contains(p)).collect();
        assert!(others.iter().all(|p| p.offset as usize >= end), "{}: {others:?}", path.display());
        assert_eq!(scanned.channels.len(), whole.channels.len(), "{}", path.display());
    }
}
