//! Encode with all configured modes and codec lists, and keep the shortest result.

use icecore_grid::Result;

use super::codec_list::List;
use super::fast_encode;
use super::frame::{Coded, pack};
use super::mode::{Mode, Plan, Recipe};
use super::search::{search, with_mask};
use super::source::Source;
use super::values::Space;
use crate::codecs::word::Word;
use crate::scratch::Scratch;

/// Minimum number of elements for a probe: part of the residuals is encoded with a list before the list is tried on all
/// of them. A list is tried in full if the probe needs at most this factor times the bytes of the first list. A list
/// that searches harder shows its gain in the probe; a list that finds repeats may find more of them in the whole
/// chunk.
const PROBED: usize = 1 << 17;
const SEARCHES: f64 = 1.0;
const REPEATS: f64 = 1.25;
/// Recipes of a search that are also encoded with the lists after the first.
const FINALISTS: usize = 2;

/// Appends the shortest encoding of a chunk over all `modes` and `lists` to `out`.
pub(super) fn encode<W: Word>(
    raw: &[u8],
    shape: &[u64],
    float: bool,
    (modes, mask): (&[Mode], bool),
    lists: &[List],
    (out, scratch): (&mut Vec<u8>, &mut Scratch),
) -> Result<()> {
    if fast_encode::encode::<W>(raw, shape, float, (modes, mask), lists, (out, scratch))? {
        return Ok(());
    }
    let mut source = Source::<W>::new(raw, shape, float, mask);
    let mut shortest = Shortest { lists, best: Vec::new() };
    for mode in modes {
        match mode {
            Mode::Auto { slow } => {
                let found = search(&mut source, *slow)?.into_iter();
                let found = found.map(|coded| Ok((pack(&coded, lists, 0, scratch)?, coded)));
                let mut found = found.collect::<Result<Vec<_>>>()?;
                found.sort_by_key(|(packed, _)| packed.len());
                shortest.offer(source.coded(&plain())?, scratch)?;
                for (nth, (packed, coded)) in found.into_iter().enumerate() {
                    shortest.take(packed);
                    if nth < FINALISTS {
                        shortest.others(&coded, scratch)?;
                    }
                }
            }
            mode => {
                for recipe in with_mask(source.mask.as_ref(), mode.recipe(shape, true)) {
                    shortest.offer(source.coded(&recipe)?, scratch)?;
                }
            }
        }
    }
    if shortest.best.is_empty() {
        shortest.offer(source.coded(&plain())?, scratch)?;
    }
    out.extend_from_slice(&shortest.best);
    Ok(())
}

/// Unpredicted elements.
fn plain() -> Recipe {
    Recipe { space: Space::Raw, plan: Plan::None, mask: false }
}

struct Shortest<'a> {
    lists: &'a [List],
    best: Vec<u8>,
}

impl Shortest<'_> {
    fn take(&mut self, packed: Vec<u8>) {
        // An empty `best` means none yet: a chunk always has a header.
        if self.best.is_empty() || packed.len() < self.best.len() {
            self.best = packed;
        }
    }

    /// Tries all lists.
    fn offer<W: Word>(&mut self, all: Vec<Coded<W>>, scratch: &mut Scratch) -> Result<()> {
        for coded in &all {
            self.take(pack(coded, self.lists, 0, scratch)?);
            self.others(coded, scratch)?;
        }
        Ok(())
    }

    /// Tries all lists but the first.
    fn others<W: Word>(&mut self, coded: &Coded<W>, scratch: &mut Scratch) -> Result<()> {
        let probe = probe(coded);
        let sizes =
            |which, scratch: &mut Scratch| probe.as_ref().map(|p| Ok(pack(p, self.lists, which, scratch)?.len()));
        let first = sizes(0, scratch).transpose()?;
        for which in 1..self.lists.len() {
            let size = match first {
                Some(_) => sizes(which, scratch).transpose()?,
                None => None,
            };
            let most = if self.lists[which].signed() { SEARCHES } else { REPEATS };
            if size.zip(first).is_none_or(|(size, first)| size as f64 <= first as f64 * most) {
                self.take(pack(coded, self.lists, which, scratch)?);
            }
        }
        Ok(())
    }
}

/// Two parts of long residuals, together an eighth: the probe saves most of the time of trying lists.
fn probe<W: Word>(coded: &Coded<W>) -> Option<Coded<W>> {
    let (len, part) = (coded.residual.len(), coded.residual.len() / 16);
    if len < PROBED {
        return None;
    }
    let residual = [&coded.residual[..part], &coded.residual[len / 2..len / 2 + part]].concat();
    Some(Coded { header: Vec::new(), residual, form: coded.form })
}
