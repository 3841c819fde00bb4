//! Reductions of a column per key.

use icecore_chunk::{DType, Number, with_number};
use icecore_grid::{Error, ErrorKind, Result};

use super::extremes::Extremes;
use super::moments::Moments;
use super::sharded_accumulators::{Rows, ShardedAccumulators};
use super::sums::{Sum, Whole};

/// The reductions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `count`
    Count,
    /// `sum` and `mean` of floats; `high` (multiples of 2³²) and `low` for integers
    Sum,
    /// `mean`
    Mean,
    /// `mean` and `m2`, the sum of squared deviations
    Moments,
    /// `min` and `max`
    Extremes,
}

/// One number per key.
pub enum Part {
    Whole(Vec<i64>),
    Real(Vec<f64>),
}

/// Reduction of a column, with one accumulator per key; null and NaN are skipped.
pub struct Fold {
    dtype: DType,
    places: Places,
}

enum Places {
    Count(ShardedAccumulators<u64>),
    Sum(ShardedAccumulators<Sum>),
    Mean(ShardedAccumulators<Sum>),
    Whole(ShardedAccumulators<Whole>),
    Moments(ShardedAccumulators<Moments>),
    Least(ShardedAccumulators<Extremes<i64>>),
    /// Results of unsigned type, with the same bits.
    Unsigned(ShardedAccumulators<Extremes<u64>>),
    Real(ShardedAccumulators<Extremes<f64>>),
}

impl Fold {
    /// # Errors
    /// `unsupported` for types that are not numeric.
    pub fn new(function: Function, dtype: DType) -> Result<Self> {
        let is_float = with_number!(&dtype, T => T::FLOAT, else {
            return Err(Error::new(ErrorKind::Unsupported, format!("numbers about {}", dtype.to_json())));
        });
        let places = match function {
            Function::Count => Places::Count(ShardedAccumulators::default()),
            Function::Sum if !is_float => Places::Whole(ShardedAccumulators::default()),
            Function::Sum => Places::Sum(ShardedAccumulators::default()),
            Function::Mean => Places::Mean(ShardedAccumulators::default()),
            Function::Moments => Places::Moments(ShardedAccumulators::default()),
            Function::Extremes if is_float => Places::Real(ShardedAccumulators::default()),
            Function::Extremes if dtype == DType::UInt64 => Places::Unsigned(ShardedAccumulators::default()),
            Function::Extremes => Places::Least(ShardedAccumulators::default()),
        };
        Ok(Self { dtype, places })
    }

    /// Adds rows; all key numbers are below `keys`.
    ///
    /// # Errors
    /// `memory` if no thread can be started.
    pub fn add(&mut self, keys: usize, rows: &Rows<'_>) -> Result<()> {
        with_number!(&self.dtype, T => match &mut self.places {
            Places::Count(places) => places.add(keys, rows, |place, _: T| *place += 1),
            Places::Sum(places) | Places::Mean(places) => places.add(keys, rows, |place, value: T| place.add(value.float())),
            Places::Whole(places) => places.add(keys, rows, |place, value: T| place.add(value.int())),
            Places::Moments(places) => places.add(keys, rows, |place, value: T| place.add(value.float())),
            Places::Least(places) => places.add(keys, rows, |place, value: T| place.add(value.int() as i64)),
            Places::Unsigned(places) => places.add(keys, rows, |place, value: T| place.add(value.int() as u64)),
            Places::Real(places) => places.add(keys, rows, |place, value: T| place.add(value.float())),
        }, else Ok(()))
    }

    /// The results by name, in the order of the key numbers; `count` is the number of values. If it is 0, the other
    /// results are meaningless.
    pub fn finish(self) -> Vec<(&'static str, Part)> {
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
                let count = ("count", whole(p, |p| p.settled().count() as i64));
                vec![count, ("mean", real(p, |p| p.settled().mean())), ("m2", real(p, |p| p.settled().m2()))]
            }
            Places::Least(p) => extremes(p, |v| v, Part::Whole),
            Places::Unsigned(p) => extremes(p, |v| v as i64, Part::Whole),
            Places::Real(p) => extremes(p, |v| v, Part::Real),
        }
    }
}

fn whole<P>(places: &ShardedAccumulators<P>, of: impl Fn(&P) -> i64) -> Part {
    Part::Whole(places.iter().map(of).collect())
}

fn real<P>(places: &ShardedAccumulators<P>, of: impl Fn(&P) -> f64) -> Part {
    Part::Real(places.iter().map(of).collect())
}

fn extremes<T: Copy, U>(
    places: &ShardedAccumulators<Extremes<T>>,
    as_is: impl Fn(T) -> U,
    part: impl Fn(Vec<U>) -> Part,
) -> Vec<(&'static str, Part)> {
    vec![
        ("count", whole(places, |p| p.count as i64)),
        ("min", part(places.iter().map(|p| as_is(p.least)).collect())),
        ("max", part(places.iter().map(|p| as_is(p.greatest)).collect())),
    ]
}
