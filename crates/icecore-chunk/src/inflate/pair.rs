//! Decode two whole streams together.

use super::call::Place;
use super::decoder_state::room;
use super::kernels;
use super::stream::Inflate;

/// State of decoding two streams; kept between calls, because its tables are large.
#[derive(Default)]
pub(crate) struct Pair([Inflate; 2]);

impl Pair {
    /// Decodes the stream at the start of each of `inputs`, alternating between them. Returns each stream's length in
    /// bytes if it is valid and fills its output exactly.
    pub fn inflate(&mut self, inputs: [&[u8]; 2], outs: [&mut [u8]; 2]) -> [Option<usize>; 2] {
        let ([input, second], [out, other]) = (inputs, outs);
        let mut places = [Place { input, from: 0, out, at: 0 }, Place { input: second, from: 0, out: other, at: 0 }];
        self.0.iter_mut().for_each(Inflate::begin);
        let [one, two] = &mut self.0;
        let [here, there] = &mut places;
        loop {
            match (one.up_to_symbols(here), two.up_to_symbols(there)) {
                (true, true) if room(here, false) && room(there, false) => {
                    let turns = kernels::two([one.coded(), two.coded()], [here, there]);
                    one.note(turns[0]);
                    two.note(turns[1]);
                }
                (true, _) => one.go_on(here),
                (false, true) => two.go_on(there),
                (false, false) => return [one.whole(here), two.whole(there)],
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::Pair;

    fn deflated(text: &[u8]) -> Vec<u8> {
        let mut stream = DeflateEncoder::new(Vec::new(), Compression::new(6));
        stream.write_all(text).unwrap();
        stream.try_finish().unwrap();
        let packed = std::mem::take(stream.get_mut());
        // Miri rejects the way in which zlib-rs 0.6 frees its state, which is not what it is to check here.
        std::mem::forget(stream);
        packed
    }

    #[test]
    fn each_stream_fills_its_output_whatever_the_other_is() {
        // Miri takes a millisecond for a byte.
        let (many, few, rounds) = if cfg!(miri) { (60, 80, 1) } else { (30_000u32, 5000u32, 2) };
        let long: Vec<u8> = (0..many).flat_map(|i| (f64::from(i) * 0.37).sqrt().to_le_bytes()).collect();
        let short: Vec<u8> = (0..few).flat_map(|i| format!("{},", i * i % 977).into_bytes()).collect();
        let (a, b) = (deflated(&long), deflated(&short));
        let mut cut = a.clone();
        cut.truncate(a.len() - 40);
        let mut pair = Pair::default();
        let (mut out, mut other) = (vec![0; long.len()], vec![0; short.len()]);
        for _ in 0..rounds {
            let used = pair.inflate([&[&a[..], b"behind"].concat(), &b], [&mut out, &mut other]);
            assert_eq!(used, [Some(a.len()), Some(b.len())]);
            assert!(out == long && other == short);
            assert_eq!(pair.inflate([&b, &cut], [&mut other, &mut out]), [Some(b.len()), None]);
            assert!(other == short);
            // An output that is too short, or too long.
            assert_eq!(pair.inflate([&a, &b], [&mut out[1..], &mut [0; 1 << 16]]), [None; 2]);
        }
    }
}
