//! Elements of a hyperslab, block by block.

use std::sync::Arc;

use bytes::Bytes;
use icecore::grid::{Error, Result};

use super::model::{Dataset, Kind, Variable};
use super::project::Slab;
use crate::app::App;
use crate::domains::Domain;
use crate::http::error::Answer;
use crate::reading;
use crate::stream::Blocks;

/// A request for elements.
#[derive(Clone)]
pub(super) struct Source {
    pub app: App,
    pub domain: Arc<Domain>,
    pub dataset: Arc<Dataset>,
}

impl Source {
    /// The elements of a hyperslab in the bytes that `encode` makes.
    pub fn blocks<E>(&self, slab: &Slab, mut encode: E) -> Answer<Blocks>
    where
        E: FnMut(icecore::session::Values, &Variable) -> Result<Vec<u8>> + Send + 'static,
    {
        let source = self.clone();
        let number = slab.variable;
        let Some(variable) = self.dataset.variable(number) else { return Ok(Box::new(std::iter::empty())) };
        let view = self.domain.session.array(&variable.path)?;
        let parts = slab.picks.clone().into_blocks(view.grid(), view.meta().dtype.size(), self.domain.session.limits());
        Ok(Box::new(parts.map(move |part| {
            let Some(variable) = source.dataset.variable(number) else { return Ok(Bytes::new()) };
            let named = |mut error: Error| {
                error.message = format!("{}: {}", variable.path, error.message);
                error
            };
            let values = reading::read(&source.app, &source.domain, &view, &part.selection()?)?;
            Ok(source.app.buffers.lend(encode(values, variable).map_err(named)?))
        })))
    }
}

/// Bytes of a text in an array of single bytes.
pub(super) fn string_length(variable: &Variable) -> u64 {
    if variable.kind == Kind::Char { variable.axes.last().map_or(1, |axis| axis.length) } else { 0 }
}
