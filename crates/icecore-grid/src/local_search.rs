//! Local search over one choice per axis; an exhaustive search would evaluate millions of combinations.

/// Steps tried along an axis's list of candidates.
const STEPS: [isize; 6] = [1, 2, 3, 5, 8, 13];

/// Maximum work, in evaluations times axes: limits a search to a few milliseconds for any rank.
const WORK: usize = 300_000;

/// The cheapest combination of candidates (one ascending, non-empty list per axis) that descents from several starting
/// points find. Deterministic. `weight` is the cost of one evaluation relative to one axis.
pub(crate) fn local_search(candidates: &[Vec<u64>], weight: usize, cost: impl Fn(&[u64]) -> f64) -> Vec<u64> {
    let combinations = candidates.iter().fold(1_usize, |product, list| product.saturating_mul(list.len()));
    if combinations.saturating_mul(candidates.len() * weight) <= WORK {
        return exhaust(candidates, combinations, cost);
    }
    let starts: [fn(usize) -> usize; 3] = [|_| 0, |count| count - 1, |count| count / 2];
    let work = WORK / starts.len() / (candidates.len() * weight).max(1);
    let descents = starts.iter().map(|start| {
        let at = candidates.iter().map(|list| start(list.len())).collect();
        Descent { candidates, at, cost: &cost }.run(work)
    });
    descents.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(found, _)| found).unwrap_or_default()
}

/// The best of all combinations, by exhaustive search; the first among equals.
fn exhaust(candidates: &[Vec<u64>], combinations: usize, cost: impl Fn(&[u64]) -> f64) -> Vec<u64> {
    let (mut best, mut least) = (Vec::new(), f64::INFINITY);
    let mut values = vec![0; candidates.len()];
    for number in 0..combinations {
        let mut rest = number;
        for (value, list) in values.iter_mut().zip(candidates).rev() {
            *value = list[rest % list.len()];
            rest /= list.len();
        }
        let cost = cost(&values);
        if number == 0 || cost < least {
            (best, least) = (values.clone(), cost);
        }
    }
    best
}

struct Descent<'a, F> {
    candidates: &'a [Vec<u64>],
    at: Vec<usize>,
    cost: &'a F,
}

impl<F: Fn(&[u64]) -> f64> Descent<'_, F> {
    /// Descends until no move helps, or for `work` evaluations.
    fn run(mut self, work: usize) -> (Vec<u64>, f64) {
        let moves = moves(self.candidates.len());
        let mut values = self.values();
        let mut best = (self.cost)(&values);
        let (mut left, mut idle, mut next) = (work, 0, 0);
        while left > 0 && idle < moves.len() {
            let (step, back) = moves[next];
            next = (next + 1) % moves.len();
            idle += 1;
            let before = self.at.clone();
            if self.shift(step) && back.is_none_or(|back| self.shift(back)) {
                left -= 1;
                values = self.values();
                let cost = (self.cost)(&values);
                if cost < best * (1.0 - 1e-12) {
                    (best, idle) = (cost, 0);
                    continue;
                }
            }
            self.at = before;
        }
        (self.values(), best)
    }

    fn values(&self) -> Vec<u64> {
        self.candidates.iter().zip(&self.at).map(|(list, &at)| list[at]).collect()
    }

    /// Moves along one axis; false at the end of its list.
    fn shift(&mut self, (axis, by): (usize, isize)) -> bool {
        match self.at[axis].checked_add_signed(by).filter(|&at| at < self.candidates[axis].len()) {
            Some(at) => self.at[axis] = at,
            None => return false,
        }
        true
    }
}

type Shift = (usize, isize);

/// Single moves up and down each axis, and exchanges: up one axis, down another.
fn moves(rank: usize) -> Vec<(Shift, Option<Shift>)> {
    let mut out = Vec::new();
    for by in STEPS {
        for axis in 0..rank {
            out.push(((axis, by), None));
            out.push(((axis, -by), None));
        }
    }
    // The number of exchanges grows with the square of the rank: beyond six axes only adjacent axes exchange.
    let axes = || (0..rank).flat_map(|up| (0..rank).map(move |down| (up, down)));
    let steps = || STEPS.into_iter().flat_map(|up| STEPS.map(|down| (up, down)));
    for (up, down) in axes().filter(|(up, down)| up != down && (rank <= 6 || up.abs_diff(*down) == 1)) {
        out.extend(steps().map(|(grow, shrink)| ((up, grow), Some((down, -shrink)))));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valley(at: &[u64]) -> f64 {
        let sizes: Vec<f64> = at.iter().map(|&at| at as f64).collect();
        (sizes.iter().product::<f64>() / 12_000.0).ln().abs() + (sizes[0] / sizes[1] / 3.0).ln().abs()
    }

    #[test]
    fn finds_the_bottom_of_a_valley() {
        let list: Vec<u64> = (1..=200).collect();
        let found = local_search(&[list.clone(), list.clone(), vec![10]], 1, valley);
        assert_eq!(found, [60, 20, 10]);
        let climbed = local_search(&[list.clone(), list, vec![5, 10, 20]], 1, valley);
        assert!(valley(&climbed) < 0.05, "{climbed:?}");
    }

    #[test]
    fn no_axes_and_single_candidates() {
        assert!(local_search(&[], 1, |_| 1.0).is_empty());
        assert_eq!(local_search(&[vec![7]], 1, |_| f64::INFINITY), [7]);
    }
}
