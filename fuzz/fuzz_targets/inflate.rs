//! Any bytes as a DEFLATE stream, in pieces of any length: complete where another decoder, at once, says so, and then the same.
#![no_main]

use flate2::{Decompress, FlushDecompress, Status};
use icecore_chunk::Inflate;
use libfuzzer_sys::fuzz_target;

const MOST: usize = 1 << 17;

fn at_once(stored: &[u8]) -> Option<(Vec<u8>, bool)> {
    let mut stream = Decompress::new(false);
    let mut text = vec![0; MOST];
    let status = stream.decompress(stored, &mut text, FlushDecompress::None).ok()?;
    text.truncate(stream.total_out() as usize);
    Some((text, status == Status::StreamEnd))
}

fuzz_target!(|input: ([u16; 3], [u16; 3], &[u8])| {
    let (pieces, rooms, stored) = input;
    let mut stream = Inflate::default();
    let (mut text, mut at, mut turn) = (Vec::new(), 0, 0);
    let ours = loop {
        let piece = (usize::from(pieces[turn % 3]) % 700).min(stored.len() - at);
        let mut room = vec![0xa5; (usize::from(rooms[turn % 3]) % 9000 + 1).min(MOST - text.len())];
        turn += 1;
        // Every third piece at least is one.
        let piece = if turn % 3 == 0 { piece.max(1).min(stored.len() - at) } else { piece };
        let Ok((taken, made)) = stream.inflate(&stored[at..at + piece], &mut room) else { break None };
        assert!(taken <= piece && made <= room.len());
        text.extend_from_slice(&room[..made]);
        at += taken;
        if stream.ended() || at == stored.len() && made == 0 || text.len() == MOST {
            break Some(stream.ended());
        }
    };
    let (other, ended) = at_once(stored).unwrap_or_default();
    if text.len() < MOST && other.len() < MOST {
        // Which damage shows first is each decoder's own.
        assert!((ours == Some(true)) == ended, "complete for one of the two");
        assert!(!ended || text == other);
    }
});
