//! From elements to residuals, recipe by recipe; the one that takes the fewest bytes stays.

use icecore_grid::Result;

use super::differences::{Kind, fill_holes, forward};
use super::fit::fit;
use super::frame::{Coded, Predictor, header, pack};
use super::list::List;
use super::lpc::{self, MAX_TAPS, Weights};
use super::mask::Mask;
use super::mode::{Mode, Plan, Recipe, long_axes, lorenzo};
use super::stencil::{self, Stencil};
use super::values::{Mapped, Space, Values, map, put_exceptions};
use super::word::{Word, to_words};
use crate::scratch::Scratch;

/// Recipes of `auto` that are encoded to the end, of those that an estimate puts first.
const FINALISTS: usize = 2;
/// Axes whose combinations `auto` tries.
const COMBINED: usize = 4;

/// The shortest rows that are tried as time series, and with how many taps.
const SERIES: u64 = 4096;
const TAPS: [usize; 2] = [32, MAX_TAPS];

/// A chunk to encode.
struct Source<'a, W> {
    raw: Vec<W>,
    shape: &'a [u64],
    float: bool,
    mask: Option<Mask<W>>,
    hole: Vec<bool>,
}

/// The shortest of what all `modes` and `lists` make of a chunk.
pub(super) fn encode<W: Word>(
    raw: &[u8],
    shape: &[u64],
    float: bool,
    (modes, mask): (&[Mode], bool),
    lists: &[List],
    scratch: &mut Scratch,
) -> Result<Vec<u8>> {
    let raw = to_words::<W>(raw);
    let mask = if mask { Mask::find(&raw) } else { None };
    let mut hole = vec![false; raw.len()];
    if let Some(mask) = &mask {
        mask.mark(&mut hole);
    }
    let source = Source { raw, shape, float, mask, hole };
    let mut coded = Vec::new();
    for mode in modes {
        match mode {
            Mode::Auto { slow } => coded.extend(finalists(&source, *slow)?),
            mode => {
                for recipe in with_mask(&source, mode.recipe(shape, true)) {
                    coded.extend(run(&source, &recipe)?);
                }
            }
        }
    }
    if coded.is_empty() {
        coded.extend(run(&source, &Recipe { space: Space::Raw, plan: Plan::None, mask: false })?);
    }
    let mut best: Option<Vec<u8>> = None;
    for candidate in &coded {
        let packed = pack(candidate, lists, scratch)?;
        if best.as_ref().is_none_or(|shortest| packed.len() < shortest.len()) {
            best = Some(packed);
        }
    }
    Ok(best.unwrap_or_default())
}

/// With and without the mask, where the chunk has one.
fn with_mask<W>(source: &Source<W>, recipe: Option<Recipe>) -> Vec<Recipe> {
    let Some(recipe) = recipe else { return Vec::new() };
    let plain = Recipe { mask: false, ..recipe.clone() };
    if recipe.mask && source.mask.is_some() { vec![recipe, plain] } else { vec![plain] }
}

/// The most promising recipes, by an estimate of their length; first of all, elements as they are.
fn finalists<W: Word>(source: &Source<W>, slow: bool) -> Result<Vec<Coded<W>>> {
    let mut candidates = Vec::new();
    let mut recipes = recipes(source);
    if slow && source.float {
        recipes.extend(slow_recipes(source.shape));
    }
    for recipe in recipes {
        for coded in run(source, &recipe)? {
            candidates.push((estimate(&coded), coded));
            candidates.sort_by_key(|(bits, _)| *bits);
            candidates.truncate(FINALISTS);
        }
    }
    let mut out = run(source, &Recipe { space: Space::Raw, plan: Plan::None, mask: false })?;
    out.extend(candidates.into_iter().map(|(_, coded)| coded));
    Ok(out)
}

/// Differences along all combinations of axes, in every kind of values.
fn recipes<W: Word>(source: &Source<W>) -> Vec<Recipe> {
    let axes = long_axes(source.shape);
    let axes = &axes[axes.len().saturating_sub(COMBINED)..];
    let mut out = Vec::new();
    for space in [Space::Bits, Space::Lattice, Space::Rank] {
        for set in 1u32..1 << axes.len() {
            let chosen: Vec<usize> = (0..axes.len()).filter(|i| set >> i & 1 == 1).map(|i| axes[i]).collect();
            out.extend(with_mask(source, Some(Recipe { space, plan: lorenzo(&chosen), mask: true })));
        }
    }
    out
}

/// Predictions in floats, which are decoded one element after the other.
fn slow_recipes(shape: &[u64]) -> Vec<Recipe> {
    let axes = long_axes(shape);
    let plain = |plan| Recipe { space: Space::Bits, plan, mask: false };
    let mut out = vec![plain(Plan::Stencil { axes: axes.clone(), fitted: true })];
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

/// About how many bits the residuals need, with the header.
fn estimate<W: Word>(coded: &Coded<W>) -> u64 {
    let bits: u64 = coded.residual.iter().map(|w| u64::from(W::BITS - w.fold().leading_zeros())).sum();
    bits + coded.residual.len() as u64 / 4 + 8 * coded.header.len() as u64
}

/// What a recipe makes of the chunk: nothing where it does not suit it, several where values have several lattices.
fn run<W: Word>(source: &Source<W>, recipe: &Recipe) -> Result<Vec<Coded<W>>> {
    let mask = source.mask.as_ref().filter(|_| recipe.mask);
    let none = vec![false; if mask.is_some() { 0 } else { source.raw.len() }];
    let hole = if mask.is_some() { &source.hole } else { &none };
    let mapped = map(recipe.space, &source.raw, hole, source.float);
    match &recipe.plan {
        Plan::None => mapped.into_iter().map(|m| steps(source, Predictor::None, m, mask, hole)).collect(),
        Plan::Steps(kind, list) => {
            let predictor = Predictor::Steps(*kind, list.clone());
            mapped.into_iter().map(|m| steps(source, predictor.clone(), m, mask, hole)).collect()
        }
        Plan::Stencil { axes, fitted } => {
            let stencil = if *fitted {
                fit(&source.raw, source.shape, axes)
            } else {
                Some(Stencil { axes: axes.clone(), terms: Vec::new() })
            };
            let Some(stencil) = stencil.filter(|_| W::BITS >= 32) else { return Ok(Vec::new()) };
            let residual = stencil::forward(&stencil, &source.raw, source.shape);
            Ok(vec![floats(Predictor::Stencil(stencil), residual)?])
        }
        Plan::Lpc { taps } => {
            let Some(weights) = lpc::burg(&source.raw, *taps).filter(|_| W::BITS >= 32) else { return Ok(Vec::new()) };
            let weights = Weights::new(&weights);
            let residual = lpc::forward(&weights, &source.raw, source.shape);
            Ok(vec![floats(Predictor::Lpc(weights), residual)?])
        }
    }
}

/// Predictions in floats give elements themselves: what follows them in the chain of decoding changes nothing.
fn floats<W: Word>(predictor: Predictor, residual: Vec<W>) -> Result<Coded<W>> {
    let header = header::<W>(&predictor, None, &Values::Raw, None)?;
    Ok(Coded { header, residual, signed: true })
}

fn steps<W: Word>(
    source: &Source<W>,
    predictor: Predictor,
    mut mapped: Mapped<W>,
    mask: Option<&Mask<W>>,
    hole: &[bool],
) -> Result<Coded<W>> {
    let (kind, list) = match &predictor {
        Predictor::Steps(kind, list) => (*kind, list.as_slice()),
        _ => (Kind::Difference, &[][..]),
    };
    let mut exceptions = None;
    if mask.is_some() || !mapped.exceptions.is_empty() {
        let mut hole = hole.to_vec();
        mapped.exceptions.iter().for_each(|at| hole[*at] = true);
        fill_holes(kind, &mut mapped.words, source.shape, list, &hole);
    }
    if !mapped.exceptions.is_empty() {
        let mut bytes = Vec::new();
        put_exceptions(&mut bytes, &mapped.exceptions, &source.raw)?;
        exceptions = Some(bytes);
    }
    let header = header(&predictor, mask, &mapped.values, exceptions)?;
    let residual = forward(kind, &mapped.words, source.shape, list);
    let residual = mask.map_or_else(|| residual.clone(), |mask| mask.compact(&residual));
    Ok(Coded { header, residual, signed: predictor.signed() })
}
