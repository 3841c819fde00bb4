//! Choose a candidate for each goal from its measurements.

use serde_json::{Value, json};

use crate::analyzer::cost_class::CostClass;
use crate::analyzer::measurement::{Figure, Measurement, State};

/// A user's goal for the stored bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// The fewest bytes; among equals the least time, where a write counts a hundredth, as below.
    Archive,
    /// The shortest time to data: bytes / `bandwidth` (bytes per second) + decoding time of one core, plus a hundredth
    /// of the encoding time, because a chunk is read about a hundred times. Among chains within 5 % the one with the
    /// fewest bytes.
    Balanced { bandwidth: f64 },
    /// The fewest bytes among the chains that decode at 2.5 GB/s or more and encode at 200 MB/s or more; half of either
    /// speed must save a fifth of the bytes. Among chains within 3 % the one that encodes fastest.
    Speed,
}

/// Decoding speed of one core (bytes per second) above which `speed` prefers fewer bytes to more speed. With a hard
/// limit the machine's other load would decide, so below it half the speed must save a fifth of the cost.
const SPEED: f64 = 2.5e9;
const LACKING: f64 = 0.322; // log₂ 5/4
/// The same for encoding: data that is read fast should also be written as fast as a simulation produces it.
const IN_STEP: f64 = 200e6;
/// Number of reads per write that `balanced` assumes.
const READS: f64 = 100.0;
/// Encoding speed that `balanced` requires, in bytes per second; half of it must save a fifth of the time.
const WRITE_SPEED: f64 = 20e6;
/// Costs that differ by less than this may change order with the machine's other load.
const NEAR: f64 = 1.15;
/// Number of the cheapest measurements that are repeated, in addition to the shortest.
const MOST_RIVALS: usize = 4;
/// Share of the cost that another list must save to be added to `icecore.choice`.
const WORTH: f64 = 0.01;
const MOST_LISTS: usize = 4;

/// The chain to store an array with.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// Indexes into the measurements: one, or several among which each chunk chooses.
    pub picks: Vec<usize>,
    pub label: String,
    pub codecs: Value,
    /// Figures of the blocks as this choice stores them.
    pub raw: u64,
    pub stored: u64,
    pub encode: f64,
    pub decode: f64,
    /// Cost per byte of data under the goal; the smaller of two costs for the same goal is better.
    pub cost: f64,
}

/// The best complete measurement; `None` if nothing was measured.
///
/// With `adaptive`, up to 4 chains form one `icecore.choice`, if the blocks disagree enough.
pub fn choose(measured: &[Measurement], goal: Goal, adaptive: bool) -> Option<Choice> {
    let whole = complete(measured);
    let costs = costs(&whole.iter().map(|i| &measured[*i]).collect::<Vec<_>>(), goal);
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let near = whole.iter().zip(&costs).filter(|(_, cost)| **cost <= least * close(goal)).map(|(i, _)| *i);
    let first = settle(measured, near.collect(), goal)?;
    let picks = match (adaptive, goal) {
        (false, _) | (_, Goal::Speed) => vec![first],
        _ => grow(measured, &whole, first, goal),
    };
    Some(describe(measured, picks, goal))
}

/// Chooses among candidates whose costs count as equal. Similar times count as equal too, then bytes decide, because
/// they do not depend on the machine's load; then the cost class and the name.
fn settle(measured: &[Measurement], near: Vec<usize>, goal: Goal) -> Option<usize> {
    let time = |i: &usize| match goal {
        Goal::Archive => measured[*i].decode() + measured[*i].encode() / READS,
        Goal::Balanced { .. } => 0.0,
        Goal::Speed => measured[*i].encode(),
    };
    let least = near.iter().map(time).fold(f64::INFINITY, f64::min);
    let quick = near.into_iter().filter(|i| time(i) <= least * NEAR);
    quick.min_by_key(|i| {
        let m = &measured[*i];
        (m.stored(), m.candidate.class, m.candidate.label.clone())
    })
}

/// Removes chains that read more slowly than the one that `balanced` would choose among `bases` (indexes), and those
/// that read as fast within the noise, in favour of that one. So `speed`, which chooses from the rest, never reads more
/// slowly than `balanced`.
pub fn leave_out_slower(measured: &mut [Measurement], bases: &[usize], bandwidth: f64) {
    let others: Vec<Measurement> = bases.iter().filter_map(|i| measured.get(*i).cloned()).collect();
    let Some(base) = choose(&others, Goal::Balanced { bandwidth }, false) else { return };
    let kept = bases[base.picks[0]];
    let limit = measured[kept].decode() / close(Goal::Speed);
    for (index, m) in measured.iter_mut().enumerate() {
        if index != kept && m.state == State::Measured && m.decode() > limit {
            m.state = State::Pruned;
        }
    }
}

/// Indexes of the cheapest measurements, cheapest first, and of the shortest among those with a similar cost: timing
/// noise may have decided between these. Empty for `Archive`.
pub fn rivals(measured: &[Measurement], goal: Goal) -> Vec<usize> {
    let whole = complete(measured);
    let costs = costs(&whole.iter().map(|i| &measured[*i]).collect::<Vec<_>>(), goal);
    let mut ordered: Vec<(f64, usize)> = costs.into_iter().zip(whole).collect();
    ordered.sort_by(|a, b| a.0.total_cmp(&b.0));
    let least = ordered.first().map_or(0.0, |(cost, _)| *cost);
    let near = ordered.into_iter().take_while(|(cost, _)| goal != Goal::Archive && *cost <= least * NEAR);
    let mut found: Vec<usize> = near.map(|(_, index)| index).collect();
    let shortest = found.iter().copied().min_by_key(|index| measured[*index].stored());
    found.truncate(MOST_RIVALS);
    found.extend(shortest.filter(|index| !found.contains(index)));
    found
}

/// Indexes of the measurements that no other one beats in both bytes and decoding time.
pub fn frontier(measured: &[Measurement]) -> Vec<usize> {
    let whole = complete(measured);
    let beats = |a: &Measurement, b: &Measurement| {
        let (bytes, time) = ((a.stored(), b.stored()), (a.decode(), b.decode()));
        bytes.0 <= bytes.1 && time.0 <= time.1 && (bytes.0 < bytes.1 || time.0 < time.1)
    };
    whole.iter().copied().filter(|i| !whole.iter().any(|j| beats(&measured[*j], &measured[*i]))).collect()
}

/// Measurements that cover all blocks.
fn complete(measured: &[Measurement]) -> Vec<usize> {
    let most = measured.iter().map(|m| m.figures.len()).max().unwrap_or(0);
    let whole = |m: &Measurement| m.state == State::Measured && m.figures.len() == most && most > 0;
    measured.iter().enumerate().filter(|(_, m)| whole(m)).map(|(i, _)| i).collect()
}

/// Cost of each under a goal; infinite if the goal excludes it.
fn costs(measured: &[&Measurement], goal: Goal) -> Vec<f64> {
    let fast = |m: &Measurement| m.candidate.class == CostClass::Fast;
    let any_fast = measured.iter().any(|m| fast(m));
    let in_class = |m: &Measurement| !any_fast || fast(m);
    measured
        .iter()
        .map(|m| match goal {
            Goal::Speed if !in_class(m) => f64::INFINITY,
            _ => cost(m.stored() as f64, m.encode(), m.decode(), m.raw() as f64, goal),
        })
        .collect()
}

/// The measurements (all of the same blocks) that are too far behind for every goal and are not the shortest on any
/// block. The fewer the blocks, the larger the margin.
pub(crate) fn hopeless(measured: &[&Measurement], goals: &[Goal]) -> Vec<bool> {
    let blocks = measured.iter().map(|m| m.figures.len()).max().unwrap_or(0);
    let room = |goal: Goal| match (goal, blocks) {
        (Goal::Archive, 0 | 1) => 1.12,
        (Goal::Archive, 2 | 3) => 1.06,
        (Goal::Archive, _) => 1.04,
        // Times of a few blocks are unreliable: on a shared core single measurements are a third longer.
        (_, 0..=3) => 1.4,
        _ => NEAR,
    };
    let mut behind = vec![true; measured.len()];
    for goal in goals {
        let costs = costs(measured, *goal);
        let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
        behind.iter_mut().zip(costs).for_each(|(b, cost)| *b &= cost > least * room(*goal));
    }
    for block in 0..if blocks > 1 { blocks } else { 0 } {
        let stored = |m: &Measurement| m.figures.get(block).map_or(u64::MAX, |f| f.stored);
        let best = measured.iter().enumerate().min_by_key(|(_, m)| stored(m));
        best.into_iter().for_each(|(index, _)| behind[index] = false);
    }
    behind
}

/// Costs closer than this count as equal. Then the shorter chain wins; for `Speed` the one that encodes faster, for
/// `Archive` the one that encodes and decodes faster.
fn close(goal: Goal) -> f64 {
    match goal {
        Goal::Archive => 1.0,
        Goal::Balanced { .. } => 1.05,
        Goal::Speed => 1.03,
    }
}

/// Adds the chains that help most if each chunk uses the shortest one, as in `icecore.choice`.
fn grow(measured: &[Measurement], whole: &[usize], first: usize, goal: Goal) -> Vec<usize> {
    let mut picks = vec![first];
    let blocks = measured[first].figures.len();
    while picks.len() < MOST_LISTS && blocks > 1 {
        let now = mixed_cost(measured, &picks, goal);
        let with = |i: usize| mixed_cost(measured, &[picks.as_slice(), &[i]].concat(), goal);
        let others = whole.iter().filter(|i| !picks.contains(i)).map(|i| (with(*i), *i));
        match others.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((cost, index)) if cost < now * (1.0 - WORTH) => picks.push(index),
            _ => break,
        }
    }
    picks
}

/// The figures of each block, stored by the shortest of `picks`; the encoding time is the sum over all.
fn mixed(measured: &[Measurement], picks: &[usize]) -> Vec<Figure> {
    let several = u64::from(picks.len() > 1);
    (0..measured[picks[0]].figures.len())
        .filter_map(|block| {
            let figures = picks.iter().map(|i| measured[*i].figures[block]);
            let encode = figures.clone().map(|f| f.encode).sum();
            let best = figures.min_by_key(|f| f.stored)?;
            Some(Figure { stored: best.stored + several, encode, ..best })
        })
        .collect()
}

fn mixed_cost(measured: &[Measurement], picks: &[usize], goal: Goal) -> f64 {
    let figures = mixed(measured, picks);
    let stored = figures.iter().map(|f| f.stored).sum::<u64>() as f64;
    let raw = figures.iter().map(|f| f.raw).sum::<u64>();
    let (encode, decode) = figures.iter().fold((0.0, 0.0), |(e, d), f| (e + f.encode, d + f.decode));
    cost(stored, encode, decode, raw as f64, goal)
}

/// Cost of a goal for stored bytes and seconds per amount of data.
fn cost(stored: f64, encode: f64, decode: f64, raw: f64, goal: Goal) -> f64 {
    let short_of = |speed: f64, seconds: f64| (seconds * speed / raw).max(1.0).powf(LACKING);
    match goal {
        Goal::Archive => stored,
        Goal::Balanced { bandwidth } => (stored / bandwidth + decode + encode / READS) * short_of(WRITE_SPEED, encode),
        Goal::Speed => stored * short_of(SPEED, decode) * short_of(IN_STEP, encode),
    }
}

fn describe(measured: &[Measurement], picks: Vec<usize>, goal: Goal) -> Choice {
    let figures = mixed(measured, &picks);
    let sum = |value: fn(&Figure) -> f64| figures.iter().map(value).sum::<f64>();
    let labels: Vec<&str> = picks.iter().map(|i| measured[*i].candidate.label.as_str()).collect();
    let codecs = match picks.as_slice() {
        [one] => measured[*one].candidate.codecs.clone(),
        several => {
            let lists: Vec<&Value> = several.iter().map(|i| &measured[*i].candidate.codecs).collect();
            json!([{"name": "icecore.choice", "configuration": {"choices": lists}}])
        }
    };
    Choice {
        label: labels.join(" | "),
        codecs,
        raw: figures.iter().map(|f| f.raw).sum(),
        stored: figures.iter().map(|f| f.stored).sum(),
        encode: sum(|f| f.encode),
        decode: sum(|f| f.decode),
        cost: mixed_cost(measured, &picks, goal) / figures.iter().map(|f| f.raw).sum::<u64>().max(1) as f64,
        picks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analyzer::candidates::Candidate;

    fn made(label: &str, class: CostClass, figures: &[(u64, f64, f64)]) -> Measurement {
        let codecs = json!([{"name": label}]);
        let candidate = Candidate { label: label.into(), codecs, class, short: false, kin: None };
        let figures = figures.iter().map(|(stored, encode, decode)| Figure {
            raw: 1000,
            stored: *stored,
            encode: *encode,
            decode: *decode,
            first: 0,
        });
        Measurement { candidate, figures: figures.collect(), state: State::Measured }
    }

    /// 1000 bytes, with encoding and decoding in microseconds.
    fn one(label: &str, class: CostClass, stored: u64, encode: f64, decode: f64) -> Measurement {
        made(label, class, &[(stored, encode * 1e-6, decode * 1e-6)])
    }

    fn field() -> Vec<Measurement> {
        vec![
            one("raw", CostClass::Fast, 1000, 0.1, 0.1),
            one("lz4", CostClass::Fast, 700, 1.0, 0.3),
            one("blosc", CostClass::Fast, 660, 2.0, 0.5),
            one("pco", CostClass::Usual, 500, 6.0, 0.6),
            one("pco-12", CostClass::Slow, 495, 100.0, 0.65),
            one("lzma", CostClass::Slow, 480, 300.0, 30.0),
        ]
    }

    fn label(measured: &[Measurement], goal: Goal) -> String {
        choose(measured, goal, false).unwrap().label
    }

    #[test]
    fn each_goal_its_own() {
        assert_eq!(label(&field(), Goal::Archive), "lzma");
        assert_eq!(label(&field(), Goal::Balanced { bandwidth: 200e6 }), "pco");
        assert_eq!(label(&field(), Goal::Speed), "lz4", "660 B at 2 GB/s count as 709, lz4 is written faster");
        let slow: Vec<Measurement> = field().into_iter().map(|m| slower(m, 2.0)).collect();
        assert_eq!(label(&slow, Goal::Speed), "lz4", "700 B at 1.7 GB/s count as 798, 660 B of blosc at 1 GB/s as 886");
        assert_eq!(label(&slow[..1], Goal::Speed), "raw");
        let mut written_late = field();
        written_late[1].figures.iter_mut().for_each(|figure| figure.encode *= 20.0);
        assert_eq!(
            label(&written_late, Goal::Speed),
            "blosc",
            "700 B at 50 MB/s to write count as 1094, 660 B of blosc as 709"
        );
    }

    #[test]
    fn rivals_are_near() {
        let names = |measured: &[Measurement], goal| -> Vec<String> {
            rivals(measured, goal).iter().map(|i| measured[*i].candidate.label.clone()).collect()
        };
        assert_eq!(names(&field(), Goal::Archive), [""; 0]);
        let slow: Vec<Measurement> = field().into_iter().map(|m| slower(m, 2.0)).collect();
        assert_eq!(names(&slow, Goal::Speed), ["lz4", "blosc"], "798 and 886");
        assert_eq!(names(&slow[..1], Goal::Speed), ["raw"]);
        assert_eq!(names(&[], Goal::Speed), [""; 0]);
        let many: Vec<Measurement> =
            (0..9).map(|i| one(&i.to_string(), CostClass::Fast, 700 - 10 * i, 1.0, 0.1 + 0.1 * i as f64)).collect();
        let goal = Goal::Balanced { bandwidth: 200e6 };
        assert_eq!(names(&many, goal), ["0", "1", "2", "3", "8"], "3.61, 3.66, … and 4.01 µs");
    }

    fn slower(mut measured: Measurement, times: f64) -> Measurement {
        measured.figures.iter_mut().for_each(|figure| figure.decode *= times);
        measured
    }

    #[test]
    fn bandwidth_decides() {
        assert_eq!(label(&field(), Goal::Balanced { bandwidth: 1e6 }), "pco");
        assert_eq!(label(&field(), Goal::Balanced { bandwidth: 1e12 }), "raw");
        let mut slow_only =
            vec![one("lzma", CostClass::Slow, 480, 300.0, 30.0), one("bz2", CostClass::Slow, 470, 200.0, 60.0)];
        assert_eq!(label(&slow_only, Goal::Balanced { bandwidth: 1e5 }), "bz2");
        slow_only.push(one("pco", CostClass::Usual, 500, 6.0, 0.6));
        assert_eq!(label(&slow_only, Goal::Balanced { bandwidth: 1e3 }), "pco", "the others write at 3 and 5 MB/s");
    }

    #[test]
    fn slow_writing_must_be_worth_it() {
        let goal = Goal::Balanced { bandwidth: 200e6 };
        let quick = one("lz4", CostClass::Fast, 500, 1.0, 0.4);
        let hard = |stored| one("lz4hc", CostClass::Usual, stored, 40.0, 0.3);
        let why = "0.15 µs less to read, 0.39 µs more a hundredth to write";
        assert_eq!(label(&[quick.clone(), hard(490)], goal), "lz4", "{why}");
        assert_eq!(label(&[quick.clone(), hard(470)], goal), "lz4hc", "5 % are one, and it is shorter");
        assert_eq!(label(&[quick, hard(400)], goal), "lz4hc");
    }

    #[test]
    fn equal_times_are_settled_by_bytes_class_and_name() {
        let goal = Goal::Speed;
        let a = one("a", CostClass::Fast, 700, 1.0, 0.3);
        let close = |label, stored, encode| one(label, CostClass::Fast, stored, encode, 0.3);
        assert_eq!(label(&[a.clone(), close("b", 690, 1.1)], goal), "b", "written as fast within 15 %: fewer bytes");
        assert_eq!(label(&[a.clone(), close("b", 690, 1.3)], goal), "a", "written faster");
        assert_eq!(label(&[close("b", 700, 1.0), a.clone()], goal), "a", "by name");
        let usual = Measurement { candidate: Candidate { class: CostClass::Usual, ..a.candidate.clone() }, ..a };
        let balanced = Goal::Balanced { bandwidth: 200e6 };
        assert_eq!(label(&[usual, close("b", 700, 1.0)], balanced), "b", "by class");
    }

    #[test]
    fn speed_reads_no_more_slowly_than_balanced() {
        let pruned = |mut measured: Vec<Measurement>, bases: &[usize]| -> Vec<String> {
            leave_out_slower(&mut measured, bases, 200e6);
            let left = measured.into_iter().filter(|m| m.state == State::Measured);
            left.map(|m| m.candidate.label).collect()
        };
        let all = || {
            vec![
                one("slower", CostClass::Fast, 300, 1.0, 0.9),
                one("as fast", CostClass::Fast, 390, 1.0, 0.295),
                one("balanced", CostClass::Fast, 400, 1.0, 0.3),
                one("rival", CostClass::Fast, 470, 1.0, 0.2),
                one("raw", CostClass::Fast, 1000, 0.1, 0.1),
            ]
        };
        assert_eq!(pruned(all(), &[2, 3]), ["balanced", "rival", "raw"]);
        assert_eq!(label(&all(), Goal::Speed), "slower", "what speed would choose by itself");
        let mut left = all();
        leave_out_slower(&mut left, &[2, 3], 200e6);
        assert_eq!(label(&left, Goal::Speed), "balanced");
        assert_eq!(pruned(all(), &[]).len(), 5, "nothing to compare with");
    }

    #[test]
    fn ties_and_failures() {
        let mut tied = vec![one("a", CostClass::Usual, 500, 1.0, 3.0), one("b", CostClass::Usual, 500, 9.0, 2.0)];
        assert_eq!(label(&tied, Goal::Archive), "b");
        tied[1].figures.iter_mut().for_each(|figure| figure.encode *= 20.0);
        assert_eq!(label(&tied, Goal::Archive), "a", "1.8 µs more for a hundredth of writing, 1 µs less to read");
        tied[1].state = State::Failed("it lies".into());
        assert_eq!(label(&tied, Goal::Archive), "a");
        tied[0].state = State::Pruned;
        assert_eq!(choose(&tied, Goal::Archive, true), None);
        assert_eq!(choose(&[], Goal::Archive, true), None);
    }

    #[test]
    fn half_measured_ones_do_not_win() {
        let both = vec![
            made("half", CostClass::Fast, &[(10, 1e-6, 1e-6)]),
            made("whole", CostClass::Fast, &[(500, 1e-6, 1e-6), (500, 1e-6, 1e-6)]),
        ];
        assert_eq!(label(&both, Goal::Archive), "whole");
    }

    #[test]
    fn frontier_is_what_nothing_beats() {
        let labels: Vec<usize> = frontier(&field());
        assert_eq!(labels, [0, 1, 2, 3, 4, 5]);
        let mut more = field();
        more.push(one("worse", CostClass::Usual, 505, 6.0, 0.7));
        assert_eq!(frontier(&more), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn chunks_that_disagree_get_a_list() {
        let a = made("a", CostClass::Usual, &[(100, 1e-6, 1e-7), (900, 1e-6, 1e-7)]);
        let b = made("b", CostClass::Usual, &[(800, 1e-6, 1e-7), (150, 1e-6, 1e-7)]);
        let c = made("c", CostClass::Usual, &[(400, 1e-6, 1e-7), (600, 1e-6, 1e-7)]);
        let all = vec![a, b, c];
        assert_eq!(choose(&all, Goal::Archive, false).unwrap().label, "b");
        let choice = choose(&all, Goal::Archive, true).unwrap();
        assert_eq!((choice.label.as_str(), choice.stored), ("b | a", 252));
        assert_eq!(choice.codecs[0]["configuration"]["choices"].as_array().unwrap().len(), 2);
        assert!((choice.encode - 4e-6).abs() < 1e-12, "both are tried on each chunk");
        assert_eq!(choose(&all, Goal::Speed, true).unwrap().picks.len(), 1);
    }

    #[test]
    fn hopeless_for_every_goal() {
        let field = field();
        let all: Vec<&Measurement> = field.iter().collect();
        let goals = [Goal::Archive, Goal::Balanced { bandwidth: 200e6 }, Goal::Speed];
        let behind = hopeless(&all, &goals);
        assert_eq!(behind, [true, false, false, false, false, false]);
        assert_eq!(hopeless(&all, &[]), [true; 6], "nothing is wanted");
    }
}
