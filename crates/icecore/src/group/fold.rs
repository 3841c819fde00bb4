//! A function of a column for each key.

use icecore_chunk::{DType, Number, with_number};
use icecore_grid::{Error, ErrorKind, Result};

use super::extremes::Extremes;
use super::moments::Moments;
use super::sums::{Sum, Whole};

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `count`
    Count,
    /// `sum` and `mean` of floats; `high` (multiples of 2³²) and `low` of whole numbers
    Sum,
    /// `mean`
    Mean,
    /// `mean` and `m2`, the sum of squared deviations
    Moments,
    /// `min` and `max`
    Extremes,
}

/// One number a key.
pub enum Part {
    Whole(Vec<i64>),
    Real(Vec<f64>),
}

/// A function of a column, with a place for each key; null and NaN are left out.
pub struct Fold {
    dtype: DType,
    places: Places,
}

enum Places {
    Count(Vec<u64>),
    Sum(Vec<Sum>),
    Mean(Vec<Sum>),
    Whole(Vec<Whole>),
    Moments(Vec<Moments>),
    Least(Vec<Extremes<i64>>),
    /// Of unsigned numbers, as the same bits.
    Unsigned(Vec<Extremes<u64>>),
    Real(Vec<Extremes<f64>>),
}

impl Fold {
    /// # Errors
    /// `unsupported` for types that are no numbers.
    pub fn new(function: Function, dtype: DType) -> Result<Self> {
        let is_float = with_number!(&dtype, T => T::FLOAT, else {
            return Err(Error::new(ErrorKind::Unsupported, format!("numbers about {}", dtype.to_json())));
        });
        let places = match function {
            Function::Count => Places::Count(Vec::new()),
            Function::Sum if !is_float => Places::Whole(Vec::new()),
            Function::Sum => Places::Sum(Vec::new()),
            Function::Mean => Places::Mean(Vec::new()),
            Function::Moments => Places::Moments(Vec::new()),
            Function::Extremes if is_float => Places::Real(Vec::new()),
            Function::Extremes if dtype == DType::UInt64 => Places::Unsigned(Vec::new()),
            Function::Extremes => Places::Least(Vec::new()),
        };
        Ok(Self { dtype, places })
    }

    /// Takes in rows whose keys have the numbers `codes`, all below `keys`. Null is where `valid` has 0.
    pub fn add(&mut self, codes: &[u32], keys: usize, values: &[u8], valid: Option<&[u8]>) {
        with_number!(&self.dtype, T => match &mut self.places {
            Places::Count(places) => fold::<T, _>(places, codes, keys, values, valid, |place, _| *place += 1),
            Places::Sum(places) | Places::Mean(places) => fold::<T, _>(places, codes, keys, values, valid, |place, value| place.add(value.float())),
            Places::Whole(places) => fold::<T, _>(places, codes, keys, values, valid, |place, value| place.add(value.int())),
            Places::Moments(places) => {
                fold::<T, _>(places, codes, keys, values, valid, |place, value| place.add(value.float()));
            }
            Places::Least(places) => {
                fold::<T, _>(places, codes, keys, values, valid, |place, value| place.add(value.int() as i64));
            }
            Places::Unsigned(places) => {
                fold::<T, _>(places, codes, keys, values, valid, |place, value| place.add(value.int() as u64));
            }
            Places::Real(places) => fold::<T, _>(places, codes, keys, values, valid, |place, value| place.add(value.float())),
        }, else {});
    }

    /// What is known, by name, for each key in order of their numbers; `count` is how many values went in. Where that is 0
    /// the others mean nothing.
    pub fn parts(&self) -> Vec<(&'static str, Part)> {
        match &self.places {
            Places::Count(p) => vec![("count", whole(p, |p| *p as i64))],
            Places::Sum(p) => {
                let count = ("count", whole(p, |p| p.count as i64));
                vec![count, ("sum", real(p, Sum::sum)), ("mean", real(p, Sum::mean))]
            }
            Places::Mean(p) => vec![("count", whole(p, |p| p.count as i64)), ("mean", real(p, Sum::mean))],
            Places::Whole(p) => {
                let count = ("count", whole(p, |p| p.count as i64));
                vec![count, ("high", whole(p, |p| p.halves().0)), ("low", whole(p, |p| p.halves().1))]
            }
            Places::Moments(p) => {
                let p: Vec<Moments> = p.iter().map(|p| p.settled()).collect();
                let count = ("count", whole(&p, |p| p.count() as i64));
                vec![count, ("mean", real(&p, Moments::mean)), ("m2", real(&p, Moments::m2))]
            }
            Places::Least(p) => extremes(p, |v| v, Part::Whole),
            Places::Unsigned(p) => extremes(p, |v| v as i64, Part::Whole),
            Places::Real(p) => extremes(p, |v| v, Part::Real),
        }
    }
}

fn whole<P>(places: &[P], of: impl Fn(&P) -> i64) -> Part {
    Part::Whole(places.iter().map(of).collect())
}

fn real<P>(places: &[P], of: impl Fn(&P) -> f64) -> Part {
    Part::Real(places.iter().map(of).collect())
}

fn extremes<T: Copy, U>(
    places: &[Extremes<T>],
    as_is: impl Fn(T) -> U,
    part: impl Fn(Vec<U>) -> Part,
) -> Vec<(&'static str, Part)> {
    vec![
        ("count", whole(places, |p| p.count as i64)),
        ("min", part(places.iter().map(|p| as_is(p.least)).collect())),
        ("max", part(places.iter().map(|p| as_is(p.greatest)).collect())),
    ]
}

fn fold<T: Number, P: Clone + Default>(
    places: &mut Vec<P>,
    codes: &[u32],
    keys: usize,
    values: &[u8],
    valid: Option<&[u8]>,
    add: impl Fn(&mut P, T),
) {
    if places.len() < keys {
        places.resize(keys, P::default());
    }
    let rows = codes.iter().zip(T::values(values));
    match valid {
        Some(valid) => {
            for ((code, value), valid) in rows.zip(valid) {
                if let Some(place) = places.get_mut(*code as usize).filter(|_| *valid != 0 && !value.is_nan()) {
                    add(place, value);
                }
            }
        }
        None => {
            for (code, value) in rows {
                if let Some(place) = places.get_mut(*code as usize).filter(|_| !value.is_nan()) {
                    add(place, value);
                }
            }
        }
    }
}
