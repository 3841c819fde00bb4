//! Measure candidates on sampled chunks: size, encoding and decoding time, and exact reproduction.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use icecore_grid::{Error, ErrorKind, Result};

use crate::analyzer::block::{Block, Decoded};
use crate::analyzer::candidates::Candidate;
use crate::analyzer::choose::{Goal, hopeless};
use crate::analyzer::clock::timed;
use crate::analyzer::cost_class::CostClass;
use crate::analyzer::measurement::{Figure, Measurement, State};
use crate::analyzer::unused_lists::without_unused_lists;
use crate::chain::Chain;
use crate::dtype::DType;
use crate::scratch::Scratch;

/// Operations longer than this are timed once. Shorter ones are timed several times and the minimum counts, because
/// other load only adds time. Decoding is timed more often, because the choice depends on it.
const ONCE_ENCODED: f64 = 1e-3;
const ONCE_DECODED: f64 = 5e-3;
const ENCODINGS: usize = 2;
const DECODINGS: usize = 6;
/// The same without other load.
const DECODINGS_ALONE: usize = 20;
/// lzma is within 1.3 × of zstd-3 on nearly all data without long repeats; with long repeats both are far ahead of the
/// others.
const FAR: f64 = 1.4;
/// Minimum number of blocks, whatever the time budget.
const FEWEST: usize = 3;

/// Limits of a measurement.
#[derive(Debug, Clone)]
pub struct Options {
    /// Number of threads that measure concurrently; each figure is the CPU time of one thread.
    pub threads: usize,
    /// No block starts after this time.
    pub budget: Duration,
    /// A candidate that none of these goals can choose any more is not run on further blocks.
    pub goals: Vec<Goal>,
    /// Drop only slow candidates, because a report shows the others on every block. Otherwise fast ones may be dropped
    /// after two blocks.
    pub prune_slow_only: bool,
    /// When set, no further candidate starts, and the measurement ends with `interrupted`.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Options {
    fn cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    pub(crate) fn check_cancelled(&self) -> Result<()> {
        match self.cancelled() {
            true => Err(Error::new(ErrorKind::Interrupted, "measuring was interrupted")),
            false => Ok(()),
        }
    }
}

/// Runs the candidates on the blocks, one block after another, `threads` candidates at a time; several blocks at once
/// if there are fewer candidates than threads.
///
/// All remaining candidates are measured on the same blocks. After each block, candidates without a chance for any goal
/// are dropped. For `Archive`, candidates with many codec lists are measured again at the end without the lists that no
/// block used.
///
/// Errors: `Mismatch` for a block that does not match its shape and type, `Interrupted` after cancellation.
pub fn measure(
    candidates: &[Candidate],
    blocks: &[Block<'_>],
    dtype: &DType,
    fill: &[u8],
    options: &Options,
) -> Result<Vec<Measurement>> {
    blocks.iter().try_for_each(|block| block.check(dtype))?;
    let began = Instant::now();
    let mut runs: Vec<Run> = candidates.iter().map(|c| Run::new(c, dtype, fill)).collect();
    let threads = options.threads.max(1);
    let worker = || Worker { alone: threads == 1, ..Worker::default() };
    let mut workers: Vec<Worker> = (0..threads).map(|_| worker()).collect();
    let mut rest = blocks;
    while !rest.is_empty() {
        let done = blocks.len() - rest.len();
        if done >= FEWEST && began.elapsed() > options.budget {
            break;
        }
        // Few candidates leave threads idle on one block.
        let live = runs.iter().filter(|run| run.live()).count().max(1);
        let (now, later) = rest.split_at(threads.div_ceil(live).min(rest.len()));
        if done == 0 {
            on_blocks(&mut runs, now, &mut workers, options, |class| class != CostClass::Slow);
            spare(&mut runs, if options.goals.contains(&Goal::Archive) { f64::INFINITY } else { FAR });
            on_blocks(&mut runs, now, &mut workers, options, |class| class == CostClass::Slow);
        } else {
            on_blocks(&mut runs, now, &mut workers, options, |_| true);
        }
        options.check_cancelled()?;
        prune(&mut runs, options);
        rest = later;
    }
    let mut found: Vec<Measurement> = runs.into_iter().map(|run| run.measured).collect();
    if options.goals.contains(&Goal::Archive) {
        let lean =
            found.iter().filter_map(|m| lean(m, &found, blocks.first()?, (dtype, fill), &mut workers[0])).collect();
        found.extend::<Vec<_>>(lean);
    }
    Ok(found)
}

/// A slow candidate without its unused lists: stored size and decoding are the same; the encoding time is measured on
/// the first block.
fn lean(
    measured: &Measurement,
    others: &[Measurement],
    block: &Block<'_>,
    (dtype, fill): (&DType, &[u8]),
    worker: &mut Worker,
) -> Option<Measurement> {
    let (first, class) = (measured.figures.first()?, measured.candidate.class);
    let candidate =
        without_unused_lists(measured).filter(|_| measured.state == State::Measured && class == CostClass::Slow)?;
    if others.iter().any(|other| other.candidate.codecs == candidate.codecs) {
        return None;
    }
    let run = Run::new(&candidate, dtype, fill);
    let again = figure(run.chain.as_ref()?, block, worker).ok().filter(|again| again.stored == first.stored)?;
    let less = again.encode / first.encode.max(f64::MIN_POSITIVE);
    let figures = measured.figures.iter().map(|figure| Figure { encode: figure.encode * less, ..*figure }).collect();
    Some(Measurement { candidate, figures, state: State::Measured })
}

struct Run {
    chain: Option<Chain>,
    measured: Measurement,
}

#[derive(Default)]
struct Worker {
    scratch: Scratch,
    decoded: Decoded,
    /// Run alone on the machine: the measurement is worth repeating.
    alone: bool,
}

impl Run {
    fn new(candidate: &Candidate, dtype: &DType, fill: &[u8]) -> Run {
        let measured = Measurement { candidate: candidate.clone(), figures: Vec::new(), state: State::Measured };
        match Chain::parse(&candidate.codecs, dtype, fill) {
            Ok(chain) => Run { chain: Some(chain), measured },
            Err(error) => {
                Run { chain: None, measured: Measurement { state: State::Failed(error.message), ..measured } }
            }
        }
    }

    fn live(&self) -> bool {
        self.measured.state == State::Measured
    }

    fn take(&mut self, figure: Result<Figure>) {
        match figure {
            Ok(figure) if self.live() => self.measured.figures.push(figure),
            Ok(_) => {}
            Err(error) => self.measured.state = State::Failed(error.message),
        }
    }
}

/// Every remaining candidate of some classes on some blocks: slow ones start first, so that the threads end together.
fn on_blocks(
    runs: &mut [Run],
    blocks: &[Block<'_>],
    workers: &mut [Worker],
    options: &Options,
    wanted: impl Fn(CostClass) -> bool,
) {
    let of = |run: &Run| run.measured.candidate.class;
    let mut order: Vec<usize> = (0..runs.len()).filter(|i| runs[*i].live() && wanted(of(&runs[*i]))).collect();
    order.sort_by_key(|i| std::cmp::Reverse(of(&runs[*i])));
    let pairs: Vec<(usize, &Block<'_>)> = order.iter().flat_map(|i| blocks.iter().map(|block| (*i, block))).collect();
    let figures: Vec<OnceLock<Result<Figure>>> = pairs.iter().map(|_| OnceLock::new()).collect();
    let (next, all) = (AtomicUsize::new(0), &*runs);
    let work = |worker: &mut Worker| {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let (Some((run, block)), false) = (pairs.get(at), options.cancelled()) else { break };
            if let Some(chain) = &all[*run].chain {
                figures[at].get_or_init(|| figure(chain, block, worker));
            }
        }
    };
    let Some((first, others)) = workers.split_first_mut() else { return };
    std::thread::scope(|scope| {
        // If no more threads can be started, the existing ones do the work.
        let start = |w| drop(std::thread::Builder::new().spawn_scoped(scope, || work(w)));
        others.iter_mut().for_each(start);
        work(first);
    });
    for ((run, _), figure) in pairs.iter().zip(figures) {
        figure.into_inner().into_iter().for_each(|figure| runs[*run].take(figure));
    }
}

/// Encodes and decodes one block, and compares.
fn figure(chain: &Chain, block: &Block<'_>, worker: &mut Worker) -> Result<Figure> {
    let (first, stored) = timed(|| block.encode(chain, &mut worker.scratch));
    let stored = stored?;
    let Worker { scratch, decoded, alone } = worker;
    let encode = repeated(first, ONCE_ENCODED, ENCODINGS, || block.encode(chain, scratch).map(drop))?;
    // The first decoding also faults in the output's memory, so it is not timed.
    gives_back(chain, block, &stored, decoded, scratch)?;
    let (first, result) = timed(|| block.decode(chain, &stored, decoded, scratch));
    result?;
    let decodings = if *alone { DECODINGS_ALONE } else { DECODINGS };
    let decode = repeated(first, ONCE_DECODED, decodings, || block.decode(chain, &stored, decoded, scratch))?;
    let first = stored.first().copied().unwrap_or_default();
    Ok(Figure { raw: block.bytes(), stored: stored.len() as u64, encode, decode, first })
}

/// Decodes a block and compares it with the original, bit for bit.
pub(crate) fn gives_back(
    chain: &Chain,
    block: &Block<'_>,
    stored: &[u8],
    decoded: &mut Decoded,
    scratch: &mut Scratch,
) -> Result<()> {
    block.decode(chain, stored, decoded, scratch)?;
    if block.equals(decoded) {
        return Ok(());
    }
    let message = format!("{} does not reproduce its input", chain.names().join(" → "));
    Err(Error::new(ErrorKind::Codec, message))
}

/// The minimum of `first` and further runs, `times` in all; no further runs if it takes longer than `once`.
fn repeated(first: f64, once: f64, times: usize, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut least = first;
    for _ in 1..if first > once { 1 } else { times } {
        let (seconds, result) = timed(&mut work);
        result?;
        least = least.min(seconds);
    }
    Ok(least)
}

/// Drops slow candidates before they are run, if their faster relative needs more than the allowed factor times the
/// bytes of the best candidate, or more than `most`.
/// may, or than `most`.
fn spare(runs: &mut [Run], most: f64) {
    let stored: HashMap<String, u64> = runs
        .iter()
        .map(|run| &run.measured)
        .filter(|m| m.state == State::Measured && !m.figures.is_empty())
        .map(|m| (m.candidate.label.clone(), m.stored()))
        .collect();
    let Some(least) = stored.values().min().copied() else { return };
    for run in runs {
        let measured = &mut run.measured;
        let kin = measured.candidate.kin.and_then(|(kin, far)| Some((*stored.get(kin)? as f64, far.min(most))));
        if measured.state == State::Measured && kin.is_some_and(|(kin, far)| kin > least as f64 * far) {
            measured.state = State::Pruned;
        }
    }
}

fn prune(runs: &mut [Run], options: &Options) {
    let live: Vec<&Measurement> = runs.iter().filter(|run| run.live()).map(|run| &run.measured).collect();
    let behind = hopeless(&live, &options.goals);
    let labels: Vec<String> = live
        .iter()
        .zip(behind)
        .filter(|(m, behind)| *behind && (costly(m) || !options.prune_slow_only && m.figures.len() > 1))
        .map(|(m, _)| m.candidate.label.clone())
        .collect();
    for run in runs {
        if labels.contains(&run.measured.candidate.label) {
            run.measured.state = State::Pruned;
        }
    }
}

/// Slower than 50 MB/s when writing, or 200 MB/s when reading.
fn costly(measured: &Measurement) -> bool {
    let raw = measured.raw() as f64;
    measured.candidate.class == CostClass::Slow || measured.encode() > raw / 50e6 || measured.decode() > raw / 200e6
}
