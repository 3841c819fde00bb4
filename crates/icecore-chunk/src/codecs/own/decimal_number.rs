//! Conversion between numbers k·10⁻ᵈ and integers k.

/// Powers of ten that are exact in float64.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

/// Integers up to this magnitude are exact in a float64.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Number of decimals d. For |k| up to 2⁵³ and d from -22 to 22 both operands of the single division (or
/// multiplication) are exact, so its result is the float64 nearest to k·10⁻ᵈ, like that of a parser for the printed
/// number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Decimals {
    power: f64,
    /// d is negative: multiples of a power of ten.
    multiples: bool,
}

impl Decimals {
    pub const MAX: i64 = 22;

    /// `None` if `d` is out of range.
    pub fn new(d: i64) -> Option<Decimals> {
        let power = *POWERS.get(usize::try_from(d.unsigned_abs()).ok()?)?;
        Some(Decimals { power, multiples: d < 0 })
    }

    /// The float64 nearest to k·10⁻ᵈ.
    #[inline(always)]
    pub fn value(self, k: i64) -> f64 {
        if self.multiples { k as f64 * self.power } else { k as f64 / self.power }
    }

    /// The float32 nearest to that.
    #[inline(always)]
    pub fn value32(self, k: i64) -> f32 {
        self.value(k) as f32
    }

    /// The k whose value is `v` bit for bit.
    #[inline]
    pub fn index(self, v: f64) -> Option<i64> {
        // In most cases the nearest integer is the result.
        let k = self.nearest(v);
        if k != i64::MIN && self.value(k).to_bits() == v.to_bits() {
            return Some(k);
        }
        self.near(v)?.into_iter().find(|k| self.value(*k).to_bits() == v.to_bits())
    }

    /// The integer nearest to v·10ᵈ, or the smallest integer if there is none. Avoids the library's rounding, which is
    /// a function call.
    #[inline(always)]
    pub fn nearest(self, v: f64) -> i64 {
        let scaled = if self.multiples { v / self.power } else { v * self.power };
        let k = (scaled + 0.5f64.copysign(scaled)) as i64;
        if scaled.abs() < EXACT { k } else { i64::MIN }
    }

    /// The k whose float32 value is `v` bit for bit.
    pub fn index32(self, v: f32) -> Option<i64> {
        self.near(f64::from(v))?.into_iter().find(|k| self.value32(*k).to_bits() == v.to_bits())
    }

    /// The integers near v·10ᵈ: the product is rounded, so its neighbours are tried too.
    fn near(self, v: f64) -> Option<[i64; 3]> {
        let scaled = if self.multiples { v / self.power } else { v * self.power };
        if scaled.abs() < EXACT {
            let k = scaled.round_ties_even() as i64;
            return Some([k, k - 1, k + 1]);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_numbers_come_back() {
        for d in 0..=12 {
            let decimals = Decimals::new(d).unwrap();
            for k in (-3_000i64..3_000).chain([123_456_789_012_345, -98_765_432_109_876]) {
                let printed = format!("{k}e-{d}");
                let value: f64 = printed.parse().unwrap();
                assert_eq!(decimals.value(k), value, "{printed}");
                assert_eq!(decimals.index(value), Some(k), "{printed}");
                if k.abs() < 1 << 20 {
                    let value: f32 = printed.parse().unwrap();
                    assert_eq!(decimals.index32(value), Some(k), "{printed}");
                }
            }
        }
        assert_eq!(Decimals::new(-3).unwrap().index(12_000.0), Some(12));
        for none in [-0.0, f64::NAN, f64::INFINITY, 0.123, 1e300, f64::MIN_POSITIVE] {
            assert_eq!(Decimals::new(2).unwrap().index(none), None, "{none}");
        }
        assert_eq!(Decimals::new(23), None);
    }
}
