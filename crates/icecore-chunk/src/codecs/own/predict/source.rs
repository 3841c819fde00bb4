//! A chunk to encode, and its residuals under a recipe.

use icecore_grid::Result;

use super::differences::{Kind, fill_holes, forward};
use super::fit::fit;
use super::frame::{Coded, Predictor, header};
use super::lpc::{self, Weights};
use super::mask::Mask;
use super::mode::{Plan, Recipe};
use super::stencil::{self, Stencil};
use super::values::{Mapped, Space, Values, map, put_exceptions};
use crate::codecs::word::{Word, to_words};

/// The elements and their properties.
pub(super) struct Source<'a, W> {
    raw: Vec<W>,
    pub shape: &'a [u64],
    pub float: bool,
    pub mask: Option<Mask<W>>,
    hole: Vec<bool>,
    none: Vec<bool>,
    /// Cache key of `mapped`, the integers of the last recipe, which the next one often shares: representation, with
    /// the mask or without.
    last: Option<(Space, bool)>,
    mapped: Vec<Mapped<W>>,
}

impl<'a, W: Word> Source<'a, W> {
    pub fn new(raw: &[u8], shape: &'a [u64], float: bool, mask: bool) -> Source<'a, W> {
        let raw = to_words::<W>(raw);
        let mask = if mask { Mask::find(&raw) } else { None };
        let none = vec![false; raw.len()];
        let mut hole = none.clone();
        if let Some(mask) = &mask {
            mask.mark(&mut hole);
        }
        Source { raw, shape, float, mask, hole, none, last: None, mapped: Vec::new() }
    }

    /// The residuals of a recipe: none if it does not suit the chunk, several if the values have several lattices.
    pub fn coded(&mut self, recipe: &Recipe) -> Result<Vec<Coded<W>>> {
        let masked = recipe.mask && self.mask.is_some();
        if self.last != Some((recipe.space, masked)) {
            let hole = if masked { &self.hole } else { &self.none };
            self.mapped = map(recipe.space, &self.raw, hole, self.float);
            self.last = Some((recipe.space, masked));
        }
        let steps = |predictor: &Predictor| self.mapped.iter().map(|m| self.steps(predictor, m, masked)).collect();
        match &recipe.plan {
            Plan::None => steps(&Predictor::None),
            Plan::Steps(kind, list) => steps(&Predictor::Steps(*kind, list.clone())),
            Plan::Stencil { axes, fitted } => {
                let stencil = if *fitted {
                    fit(&self.raw, self.shape, axes)
                } else {
                    Some(Stencil { axes: axes.clone(), terms: Vec::new() })
                };
                let Some(stencil) = stencil.filter(|_| W::BITS >= 32) else { return Ok(Vec::new()) };
                let residual = stencil::forward(&stencil, &self.raw, self.shape);
                Ok(vec![floats(Predictor::Stencil(stencil), residual)?])
            }
            Plan::Lpc { taps } => {
                let weights = lpc::burg(&self.raw, *taps).filter(|_| W::BITS >= 32);
                let Some(weights) = weights else { return Ok(Vec::new()) };
                let weights = Weights::new(&weights);
                let residual = lpc::forward(&weights, &self.raw, self.shape);
                Ok(vec![floats(Predictor::Lpc(weights), residual)?])
            }
        }
    }

    fn steps(&self, predictor: &Predictor, mapped: &Mapped<W>, masked: bool) -> Result<Coded<W>> {
        let (kind, list) = match predictor {
            Predictor::Steps(kind, list) => (*kind, list.as_slice()),
            _ => (Kind::Difference, &[][..]),
        };
        let (mask, hole) = (self.mask.as_ref().filter(|_| masked), if masked { &self.hole } else { &self.none });
        let mut exceptions = None;
        if !mapped.exceptions.is_empty() {
            let mut bytes = Vec::new();
            put_exceptions(&mut bytes, &mapped.exceptions, &self.raw)?;
            exceptions = Some(bytes);
        }
        let written = mask.map(Mask::written).transpose()?;
        let header = header(predictor, written.as_deref(), &mapped.values, exceptions)?;
        let residual = if masked || !mapped.exceptions.is_empty() {
            let mut hole = hole.clone();
            mapped.exceptions.iter().for_each(|at| hole[*at] = true);
            let mut words = mapped.words.clone();
            fill_holes(kind, &mut words, self.shape, list, &hole);
            forward(kind, &words, self.shape, list)
        } else {
            forward(kind, &mapped.words, self.shape, list)
        };
        let residual = match mask {
            Some(mask) => mask.compact(&residual),
            None => residual,
        };
        Ok(Coded { header, residual, form: predictor.form(&mapped.values) })
    }
}

/// Floating-point predictions restore the elements directly, so the later decoding steps are the identity.
fn floats<W: Word>(predictor: Predictor, residual: Vec<W>) -> Result<Coded<W>> {
    let header = header::<W>(&predictor, None, &Values::Raw, None)?;
    Ok(Coded { header, residual, form: predictor.form(&Values::<W>::Raw) })
}
