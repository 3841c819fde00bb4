//! Lists a frame file and writes each channel's elements to a directory, for comparison with other readers.
#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::fs::File;
use std::io::{Read, Write};

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("usage: dump FILE [DIRECTORY]");
    let to = args.next();
    let file = std::fs::read(&path).expect("the file opens");
    let found = icecore_gwf::index(&file, usize::MAX).expect("the file is indexed");
    println!("{:?} toc={} frames={} events={:?}", found.format, found.from_toc, found.frames.len(), found.events);
    found.problems.iter().for_each(|p| println!("problem {p:?}"));
    println!("verify {:?}", icecore_gwf::verify(&file));
    for (i, channel) in found.channels.iter().enumerate() {
        for piece in &channel.pieces {
            let v = &piece.vect;
            let text =
                format!("{}\t{:?}\t{}\t{}\t{}", channel.name, channel.kind, piece.frame, piece.start_ns, piece.dt);
            println!("{i}\t{text}\t{}\t{}\t{}\t{}", v.dtype.name(), v.n_data, v.compress, piece.unit);
            if let Some(to) = &to {
                write(&file, piece, &format!("{to}/{i}_{}.bin", piece.frame));
            }
        }
    }
}

fn write(file: &[u8], piece: &icecore_gwf::Piece, to: &str) {
    let v = &piece.vect;
    let from = v.offset as usize;
    let stored = file.get(from..from + v.len as usize).expect("the vector is read");
    let mut out = vec![0; v.n_data as usize * v.dtype.size()];
    let mut inflate = |from: &[u8], to: &mut [u8]| {
        flate2::read::ZlibDecoder::new(from).read_exact(to).expect("a zlib stream");
        Ok(())
    };
    icecore_gwf::decode_vect(stored, v.dtype, &mut out, &mut inflate).expect("the vector decodes");
    File::create(to).expect("created").write_all(&out).expect("written");
}
