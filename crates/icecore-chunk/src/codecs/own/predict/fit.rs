//! The weights of a stencil by least squares. Only writers fit; readers use the stored weights.

use super::stencil::{Stencil, Term, strides};
use crate::codecs::word::Word;

/// Maximum number of axes of a fitted stencil.
const AXES: usize = 3;
/// Number of elements that the fit samples.
const SAMPLE: usize = 40_000;

/// The stencil over the last three of `axes` that fits the chunk best; `None` if the chunk is too small.
pub(super) fn fit<W: Word>(raw: &[W], shape: &[u64], axes: &[usize]) -> Option<Stencil> {
    let used = &axes[axes.len().saturating_sub(AXES)..];
    let backs = neighbours(used, shape)?;
    let strides = strides(shape);
    let flat = |back: &[i64]| back.iter().zip(&strides).map(|(b, s)| b * *s as i64).sum::<i64>() as usize;
    let flats: Vec<usize> = backs.iter().map(|back| flat(back)).collect();
    let count = backs.len() - 1;
    let (mut matrix, mut right, mut seen) = (vec![vec![0.0; count]; count], vec![0.0; count], 0usize);
    let inside = |at: usize| {
        let coordinate = |a: usize| (at / strides[a]) as i64 % shape[a] as i64;
        backs.iter().all(|back| (0..shape.len()).all(|a| (0..shape[a] as i64).contains(&(coordinate(a) - back[a]))))
    };
    // An odd step, so that samples are at different positions of the rows.
    for at in (0..raw.len()).step_by((raw.len() / SAMPLE).max(1) | 1).filter(|at| inside(*at)) {
        // All values relative to the first neighbour: the weights then sum to one, and a common offset has no effect.
        let base = raw[at - flats[0]].to_f64();
        let features: Vec<f64> = flats[1..].iter().map(|back| raw[at - back].to_f64() - base).collect();
        let target = raw[at].to_f64() - base;
        if !target.is_finite() || features.iter().any(|f| !f.is_finite()) {
            continue;
        }
        seen += 1;
        for i in 0..count {
            right[i] += features[i] * target;
            for j in 0..=i {
                matrix[i][j] += features[i] * features[j];
            }
        }
    }
    let weights = if seen > 4 * count { solve(matrix, right)? } else { return None };
    let first = 1.0 - weights.iter().sum::<f64>();
    let terms = backs.into_iter().zip(std::iter::once(first).chain(weights));
    Some(Stencil { axes: axes.to_vec(), terms: terms.map(|(back, weight)| Term { back, weight }).collect() })
}

/// Lorenzo's neighbours, and some more; the first one is the previous element along the last axis.
fn neighbours(axes: &[usize], shape: &[u64]) -> Option<Vec<Vec<i64>>> {
    let last = *axes.last()?;
    let at = |places: &[(usize, i64)]| {
        let mut back = vec![0i64; shape.len()];
        places.iter().for_each(|(axis, by)| back[*axis] += by);
        back
    };
    let mut out = vec![at(&[(last, 1)])];
    for set in 1u32..1 << axes.len() {
        let chosen: Vec<(usize, i64)> = (0..axes.len()).filter(|i| set >> i & 1 == 1).map(|i| (axes[i], 1)).collect();
        out.push(at(&chosen));
    }
    out.push(at(&[(last, 2)]));
    if let [.., row, last] = axes {
        out.extend([at(&[(*row, 1), (*last, -1)]), at(&[(*row, 2)])]);
    }
    if let [plane, row, last] = axes {
        out.extend([at(&[(*plane, 1), (*last, -1)]), at(&[(*plane, 1), (*row, -1)]), at(&[(*plane, 2)])]);
    }
    if axes.len() == 1 {
        out.push(at(&[(last, 3)]));
    }
    let mut unique: Vec<Vec<i64>> = Vec::new();
    let fits = |back: &[i64]| back.iter().zip(shape).all(|(back, len)| back.unsigned_abs() < *len);
    out.retain(|back| {
        fits(back) && !unique.contains(back) && {
            unique.push(back.clone());
            true
        }
    });
    (!out.is_empty()).then_some(out)
}

/// Solves the normal equations (lower triangle given) by Cholesky decomposition with slight damping.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Option<Vec<f64>> {
    let n = b.len();
    let trace: f64 = (0..n).map(|i| a[i][i]).sum();
    let damping = trace / n as f64 * 1e-10;
    for i in 0..n {
        a[i][i] += damping;
        for j in 0..=i {
            let sum: f64 = a[i][j] - (0..j).map(|k| a[i][k] * a[j][k]).sum::<f64>();
            a[i][j] = if i == j { sum.sqrt() } else { sum / a[j][j] };
        }
        if !a[i][i].is_finite() || a[i][i] <= 0.0 {
            return None;
        }
    }
    for i in 0..n {
        b[i] = (b[i] - (0..i).map(|k| a[i][k] * b[k]).sum::<f64>()) / a[i][i];
    }
    for i in (0..n).rev() {
        b[i] = (b[i] - (i + 1..n).map(|k| a[k][i] * b[k]).sum::<f64>()) / a[i][i];
    }
    b.iter().all(|w| w.is_finite()).then_some(b)
}
