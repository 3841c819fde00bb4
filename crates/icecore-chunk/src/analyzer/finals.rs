//! Final measurement: a few candidates on the same blocks in turn, so that other load slows all of them alike.

use std::time::Instant;

use icecore_grid::Result;

use crate::analyzer::block::{Block, Decoded};
use crate::analyzer::candidates::Candidate;
use crate::analyzer::clock::timed;
use crate::analyzer::measure::{Options, gives_back};
use crate::analyzer::measurement::{Figure, Measurement, State, median};
use crate::chain::Chain;
use crate::dtype::DType;
use crate::scratch::Scratch;

/// Number of rounds before the spread is tested, and maximum number of rounds.
const FEWEST: usize = 5;
const MOST: usize = 25;
/// Number of rounds in which encoding is timed too: it takes longer and matters less.
const ENCODINGS: usize = 3;
/// A median is accurate enough if its standard error is below this share of it: a third of the band within which costs
/// count as equal.
const KNOWN: f64 = 0.01;

/// One candidate and the seconds of each block, round by round.
struct Entry {
    chain: Chain,
    measured: Measurement,
    stored: Vec<Vec<u8>>,
    encode: Vec<Vec<f64>>,
    decode: Vec<Vec<f64>>,
}

/// Measures every candidate on every block, round after round, and keeps the medians. Ends when all medians are known to 1 %,
/// after 25 rounds, or after the budget (five rounds at least).
///
/// In the order of the candidates.
///
/// Errors: `Mismatch` for a block that does not hold what its shape and type say.
pub fn measure_in_turn(
    candidates: &[Candidate],
    blocks: &[Block<'_>],
    dtype: &DType,
    fill: &[u8],
    options: &Options,
) -> Result<Vec<Measurement>> {
    blocks.iter().try_for_each(|block| block.check(dtype))?;
    let began = Instant::now();
    let (mut scratch, mut decoded) = (Scratch::new(), Decoded::default());
    let mut failed = Vec::new();
    let mut entries = Vec::new();
    for (at, candidate) in candidates.iter().enumerate() {
        match Entry::new(candidate, blocks, (dtype, fill), &mut decoded, &mut scratch) {
            Ok(entry) => entries.push(entry),
            Err(error) => {
                let (candidate, figures) = (candidate.clone(), Vec::new());
                failed.push((at, Measurement { candidate, figures, state: State::Failed(error.message) }));
            }
        }
    }
    for round in 0..MOST {
        for entry in &mut entries {
            entry.round(blocks, round < ENCODINGS, &mut decoded, &mut scratch)?;
        }
        options.check_cancelled()?;
        let done = round + 1 >= FEWEST && (began.elapsed() > options.budget || entries.iter().all(Entry::is_known));
        if done {
            break;
        }
    }
    let mut found: Vec<Measurement> = entries.into_iter().map(|entry| entry.finished(blocks)).collect();
    failed.into_iter().for_each(|(at, measured)| found.insert(at, measured));
    Ok(found)
}

impl Entry {
    fn new(
        candidate: &Candidate,
        blocks: &[Block<'_>],
        (dtype, fill): (&DType, &[u8]),
        decoded: &mut Decoded,
        scratch: &mut Scratch,
    ) -> Result<Entry> {
        let chain = Chain::parse(&candidate.codecs, dtype, fill)?;
        let measured = Measurement { candidate: candidate.clone(), figures: Vec::new(), state: State::Measured };
        let (mut stored, mut encode) = (Vec::new(), Vec::new());
        for block in blocks {
            let (seconds, bytes) = timed(|| block.encode(&chain, scratch));
            let bytes = bytes?;
            gives_back(&chain, block, &bytes, decoded, scratch)?;
            stored.push(bytes);
            encode.push(vec![seconds]);
        }
        let decode = vec![Vec::new(); blocks.len()];
        Ok(Entry { chain, measured, stored, encode, decode })
    }

    fn round(
        &mut self,
        blocks: &[Block<'_>],
        encode: bool,
        decoded: &mut Decoded,
        scratch: &mut Scratch,
    ) -> Result<()> {
        for (at, block) in blocks.iter().enumerate() {
            let (seconds, result) = timed(|| block.decode(&self.chain, &self.stored[at], decoded, scratch));
            result?;
            self.decode[at].push(seconds);
            if encode && self.measured.candidate.class != crate::CostClass::Slow {
                let (seconds, result) = timed(|| block.encode(&self.chain, scratch));
                result?;
                self.encode[at].push(seconds);
            }
        }
        Ok(())
    }

    /// Whether the total decoding time of all blocks is accurate enough.
    fn is_known(&self) -> bool {
        let rounds = self.decode.first().map_or(0, Vec::len);
        let sums: Vec<f64> = (0..rounds).map(|round| self.decode.iter().map(|block| block[round]).sum()).collect();
        let middle = median(sums.iter().copied());
        // 1.4826 × the median deviation estimates the standard deviation; the median's standard error is 1.2533 times
        // the mean's.
        let deviation = 1.4826 * median(sums.iter().map(|sum| (sum - middle).abs()));
        1.2533 * deviation / (rounds.max(1) as f64).sqrt() <= KNOWN * middle
    }

    fn finished(mut self, blocks: &[Block<'_>]) -> Measurement {
        self.measured.figures = (0..blocks.len())
            .map(|at| Figure {
                raw: blocks[at].bytes(),
                stored: self.stored[at].len() as u64,
                encode: median(self.encode[at].iter().copied()),
                decode: median(self.decode[at].iter().copied()),
                first: self.stored[at].first().copied().unwrap_or_default(),
            })
            .collect();
        self.measured
    }
}
