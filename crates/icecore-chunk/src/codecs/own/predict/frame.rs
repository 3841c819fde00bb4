//! Format of a chunk: a header with the predictor, then the residuals encoded with a codec list.

use icecore_grid::Result;

use super::codec_list::{Form, List};
use super::differences::{Kind, MAX_STEPS, Step};
use super::lpc::{self, MAX_TAPS, Weights};
use super::mask::Mask;
use super::side_data::{NAME, Side, put_number};
use super::stencil::{self, MAX_TERMS, Stencil, Term};
use super::sums::{Ends, inverse};
use super::values::{Values, read_exceptions};
use crate::chain::Chain;
use crate::codecs::word::{Word, as_bytes, with_words};
use crate::errors::corrupt;
use crate::scratch::Scratch;

const MASKED: u8 = 1;
const EXCEPTIONS: u8 = 2;

/// Description of the prediction.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Predictor {
    None,
    Steps(Kind, Vec<Step>),
    Stencil(Stencil),
    Lpc(Weights),
}

/// A chunk ready for a list of codecs.
pub(super) struct Coded<W> {
    /// The header without its first byte, which is the number of the list.
    pub header: Vec<u8>,
    pub residual: Vec<W>,
    pub form: Form,
}

/// The beginning of a header: flags, predictor, serialised mask, values; `Side` reads the rest in this order.
pub(super) fn header<W: Word>(
    predictor: &Predictor,
    mask: Option<&[u8]>,
    values: &Values<W>,
    exceptions: Option<Vec<u8>>,
) -> Result<Vec<u8>> {
    let mut out = vec![if mask.is_some() { MASKED } else { 0 } | if exceptions.is_some() { EXCEPTIONS } else { 0 }];
    predictor.write(&mut out);
    if let Some(mask) = mask {
        out.extend_from_slice(mask);
    }
    values.write(&mut out)?;
    out.extend(exceptions.unwrap_or_default());
    Ok(out)
}

impl Predictor {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Predictor::None => out.push(0),
            Predictor::Steps(kind, steps) => {
                out.push(if *kind == Kind::Xor { 1 } else { 2 });
                put_number(out, steps.len() as u64);
                for step in steps {
                    put_number(out, step.axis as u64);
                    put_number(out, step.lag);
                }
            }
            Predictor::Stencil(stencil) => {
                out.push(3);
                put_number(out, stencil.axes.len() as u64);
                stencil.axes.iter().for_each(|axis| put_number(out, *axis as u64));
                put_number(out, stencil.terms.len() as u64);
                for term in &stencil.terms {
                    term.back.iter().for_each(|back| put_number(out, (*back as u64).fold()));
                    out.extend_from_slice(&term.weight.to_le_bytes());
                }
            }
            Predictor::Lpc(weights) => {
                out.push(4);
                put_number(out, weights.list().len() as u64);
                weights.list().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
            }
        }
    }

    fn read(side: &mut Side, shape: &[u64], floats: bool) -> Result<Predictor> {
        match side.byte()? {
            0 => Ok(Predictor::None),
            1 => Predictor::read_steps(Kind::Xor, side, shape),
            2 => Predictor::read_steps(Kind::Difference, side, shape),
            3 if floats => Predictor::read_stencil(side, shape),
            4 if floats => {
                let taps = count(side, MAX_TAPS)?;
                let weights = (0..taps).map(|_| side.f64()).collect::<Result<Vec<_>>>()?;
                Ok(Predictor::Lpc(Weights::new(&weights)))
            }
            other => Err(corrupt(NAME, format!("a predictor of kind {other}"))),
        }
    }

    fn read_steps(kind: Kind, side: &mut Side, shape: &[u64]) -> Result<Predictor> {
        let count = count(side, MAX_STEPS)?;
        let mut steps = Vec::new();
        for _ in 0..count {
            let (axis, lag) = (side.number()?, side.number()?);
            let axis = usize::try_from(axis).ok().filter(|axis| *axis < shape.len() && lag > 0);
            let axis =
                axis.ok_or_else(|| corrupt(NAME, format!("a step along an axis outside the shape {shape:?}")))?;
            steps.push(Step { axis, lag });
        }
        Ok(Predictor::Steps(kind, steps))
    }

    fn read_stencil(side: &mut Side, shape: &[u64]) -> Result<Predictor> {
        let axes = count(side, MAX_STEPS)?;
        let axes = (0..axes).map(|_| side.number().map(|axis| axis as usize)).collect::<Result<Vec<_>>>()?;
        let mut terms = Vec::new();
        for _ in 0..count(side, MAX_TERMS)? {
            let back =
                shape.iter().map(|_| side.number().map(|back| back.unfold() as i64)).collect::<Result<Vec<_>>>()?;
            terms.push(Term { back, weight: side.f64()? });
        }
        let stencil = Stencil { axes, terms };
        if stencil.is_causal(shape) {
            return Ok(Predictor::Stencil(stencil));
        }
        Err(corrupt(NAME, format!("a stencil for chunks of {shape:?} that looks ahead")))
    }

    fn sums_floats(&self) -> bool {
        matches!(self, Predictor::Stencil(_) | Predictor::Lpc(_))
    }

    /// Form of the residuals.
    pub fn form<W>(&self, values: &Values<W>) -> Form {
        match (self, values) {
            (Predictor::None, Values::Raw) => Form::Elements,
            (Predictor::None | Predictor::Steps(Kind::Xor, _), _) => Form::Bits,
            _ => Form::Signed,
        }
    }
}

/// Reads a count of at most `max`.
fn count(side: &mut Side, max: usize) -> Result<usize> {
    let count = side.number()?;
    let sane = usize::try_from(count).ok().filter(|count| *count <= max);
    sane.ok_or_else(|| corrupt(NAME, format!("a predictor with {count} parts, at most {max} can be")))
}

/// Decodes stored bytes to a chunk of `shape`.
pub(super) fn decode<W: Word>(
    stored: &[u8],
    shape: &[u64],
    float: bool,
    lists: &[List],
    out: &mut [u8],
    scratch: &mut Scratch,
) -> Result<()> {
    let count = out.len() / size_of::<W>();
    let mut side = Side::new(stored);
    let (which, flags) = (side.byte()?, side.byte()?);
    let list = lists
        .get(usize::from(which))
        .ok_or_else(|| corrupt(NAME, format!("codec list {which} is used, the metadata has {}", lists.len())))?;
    if flags & !(MASKED | EXCEPTIONS) != 0 {
        return Err(corrupt(NAME, format!("flags {flags:#x}")));
    }
    let predictor = Predictor::read(&mut side, shape, float && W::BITS >= 32)?;
    let mask = if flags & MASKED != 0 { Some(Mask::<W>::read(&mut side, count)?) } else { None };
    let values = Values::<W>::read(&mut side, count)?;
    if predictor.sums_floats() && values != Values::Raw {
        return Err(corrupt(NAME, "a floating-point predictor with values of another type"));
    }
    let exceptions = if flags & EXCEPTIONS != 0 { read_exceptions::<W>(&mut side, count)? } else { Vec::new() };
    let form = predictor.form(&values);
    fetch(list.chain(form), side.rest(), mask.as_ref(), out, scratch)?;
    let folded = list.folds(form);
    with_words(out, |words: &mut [W]| {
        let sortable = matches!((&predictor, &values), (Predictor::Steps(..), Values::Sortable));
        match &predictor {
            Predictor::None => {}
            Predictor::Steps(kind, steps) => inverse(*kind, words, shape, steps, Ends { folded, sortable }),
            Predictor::Stencil(stencil) => stencil::inverse(stencil, words, shape, folded),
            Predictor::Lpc(weights) => lpc::inverse(weights, words, shape, folded),
        }
        if let (Some(mask), Values::Rank(_)) = (&mask, &values) {
            mask.clear(words);
        }
        if !sortable {
            values.apply(words, float)?;
        }
        if let Some(mask) = &mask {
            mask.apply(words);
        }
        exceptions.iter().for_each(|(at, bits)| words[*at] = *bits);
        Ok(())
    })
}

/// Decodes the residuals into `out`, spread around the mask.
fn fetch<W: Word>(
    chain: &Chain,
    packed: &[u8],
    mask: Option<&Mask<W>>,
    out: &mut [u8],
    scratch: &mut Scratch,
) -> Result<()> {
    let all = |bytes: &[u8]| (0, bytes.len() as u64);
    let Some(mask) = mask else {
        let count = (out.len() / size_of::<W>()) as u64;
        return chain.decode(packed, &[count], all(out), out, scratch);
    };
    let mut buffer = scratch.take();
    let bytes = buffer.sized(mask.others * size_of::<W>())?;
    chain.decode(packed, &[mask.others as u64], all(bytes), bytes, scratch)?;
    with_words(bytes, |others: &mut [W]| with_words(out, |words| mask.expand(others, words)));
    scratch.give(buffer);
    Ok(())
}

/// Encodes with list number `which`.
pub(super) fn pack<W: Word>(coded: &Coded<W>, lists: &[List], which: usize, scratch: &mut Scratch) -> Result<Vec<u8>> {
    let (list, shape) = (&lists[which], [coded.residual.len() as u64]);
    let chain = list.chain(coded.form);
    let packed = if list.folds(coded.form) {
        let folded: Vec<W> = coded.residual.iter().map(|w| w.fold()).collect();
        chain.encode(as_bytes(&folded), &shape, scratch)?
    } else {
        chain.encode(as_bytes(&coded.residual), &shape, scratch)?
    };
    let mut out = Vec::with_capacity(1 + coded.header.len() + packed.len());
    out.push(which as u8);
    out.extend_from_slice(&coded.header);
    out.extend_from_slice(&packed);
    Ok(out)
}
