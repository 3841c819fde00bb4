//! Search for the best recipes of a chunk, by an estimate of the size of their residuals.

use icecore_grid::Result;

use super::frame::Coded;
use super::lpc::MAX_TAPS;
use super::mask::Mask;
use super::mode::{Plan, Recipe, long_axes, lorenzo};
use super::source::Source;
use super::values::Space;
use crate::codecs::word::Word;

/// Recipes of one kind that are encoded completely: those with the best estimates. The estimate ignores common factors
/// and repeats, so every kind is represented.
const KEPT: usize = 2;
/// Maximum ratio of a recipe's estimate to the best of its kind.
const NEAR: f64 = 1.03;
/// In long chunks the estimate samples every n-th residual: an odd number, so that all positions of short rows occur.
const STRIDE: usize = 3;
const LONG: usize = 1 << 15;
/// Maximum number of axes whose combinations are tried.
const COMBINED: usize = 4;
/// Minimum length of rows that are tried as time series, and the numbers of taps.
const SERIES: u64 = 4096;
const TAPS: [usize; 2] = [32, MAX_TAPS];

/// The most promising recipes of every kind; with `slow`, also floating-point predictions, which are decoded one by
/// one.
pub(super) fn search<W: Word>(source: &mut Source<W>, slow: bool) -> Result<Vec<Coded<W>>> {
    let mut found = Vec::new();
    let steps = quick_recipes(source);
    for space in [Space::Bits, Space::Lattice, Space::Rank] {
        found.extend(best(source, steps.iter().filter(|recipe| recipe.space == space))?);
    }
    if slow && source.float {
        found.extend(best(source, slow_recipes(source.shape).iter())?);
    }
    Ok(found)
}

fn best<'a, W: Word>(source: &mut Source<W>, recipes: impl Iterator<Item = &'a Recipe>) -> Result<Vec<Coded<W>>> {
    let mut found: Vec<(u64, Coded<W>)> = Vec::new();
    for recipe in recipes {
        found.extend(source.coded(recipe)?.into_iter().map(|coded| (estimate(&coded), coded)));
        found.sort_by_key(|(bits, _)| *bits);
        found.truncate(KEPT);
    }
    let enough = found.first().map_or(0.0, |(bits, _)| *bits as f64 * NEAR);
    Ok(found.into_iter().filter(|(bits, _)| *bits as f64 <= enough).map(|(_, coded)| coded).collect())
}

/// The recipe with and without the mask, if the chunk has one.
pub(super) fn with_mask<W>(mask: Option<&Mask<W>>, recipe: Option<Recipe>) -> Vec<Recipe> {
    let Some(recipe) = recipe else { return Vec::new() };
    let plain = Recipe { mask: false, ..recipe.clone() };
    if recipe.mask && mask.is_some() { vec![recipe, plain] } else { vec![plain] }
}

/// Differences along all combinations of axes, for every representation of the values.
fn quick_recipes<W: Word>(source: &Source<W>) -> Vec<Recipe> {
    let axes = long_axes(source.shape);
    let axes = &axes[axes.len().saturating_sub(COMBINED)..];
    let mut out = Vec::new();
    for space in [Space::Bits, Space::Lattice, Space::Rank] {
        for set in 1u32..1 << axes.len() {
            let chosen: Vec<usize> = (0..axes.len()).filter(|i| set >> i & 1 == 1).map(|i| axes[i]).collect();
            out.extend(with_mask(source.mask.as_ref(), Some(Recipe { space, plan: lorenzo(&chosen), mask: true })));
        }
    }
    out
}

/// Floating-point predictions, which are decoded one element after the other.
fn slow_recipes(shape: &[u64]) -> Vec<Recipe> {
    let axes = long_axes(shape);
    let plain = |plan| Recipe { space: Space::Bits, plan, mask: false };
    let mut out = vec![plain(Plan::Stencil { axes: axes.clone(), fitted: true })];
    if axes.len() > 2 {
        out.push(plain(Plan::Stencil { axes: axes[axes.len() - 2..].to_vec(), fitted: true }));
    }
    for first in 0..axes.len().saturating_sub(1) {
        out.push(plain(Plan::Stencil { axes: axes[first..].to_vec(), fitted: false }));
    }
    if let ([.., first, second, _], true) = (axes.as_slice(), axes.len() > 2) {
        out.push(plain(Plan::Stencil { axes: vec![*first, *second], fitted: false }));
    }
    if shape.last().is_some_and(|len| *len >= SERIES) {
        out.extend(TAPS.map(|taps| plain(Plan::Lpc { taps })));
    }
    out
}

/// Estimated bits of the residuals and the header: the entropy of the residuals' bit lengths, plus their bits below the
/// first.
fn estimate<W: Word>(coded: &Coded<W>) -> u64 {
    let mut counts = [0u64; 65];
    let stride = if coded.residual.len() > LONG { STRIDE } else { 1 };
    for word in coded.residual.iter().step_by(stride) {
        counts[(W::BITS - word.fold().leading_zeros()) as usize] += 1;
    }
    let total = counts.iter().sum::<u64>() as f64;
    let bits = |(len, count): (usize, &u64)| {
        let count = *count as f64;
        if count == 0.0 { 0.0 } else { count * ((total / count).log2() + len.saturating_sub(1) as f64) }
    };
    let bits: f64 = counts.iter().enumerate().map(bits).sum();
    (bits * stride as f64) as u64 + 8 * coded.header.len() as u64
}
