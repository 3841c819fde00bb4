//! Three-valued truth as bytes: 0 false, 1 unknown, 2 true. `and` is the minimum, `or` the maximum, `not` is 2 − x.

pub(crate) const FALSE: u8 = 0;
pub(crate) const UNKNOWN: u8 = 1;
pub(crate) const TRUE: u8 = 2;

/// The possible truth values of the rows of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Possible(u8);

impl Possible {
    pub const ANY: Self = Self(0b111);

    pub fn of(can_false: bool, can_unknown: bool, can_true: bool) -> Self {
        Self(u8::from(can_false) | u8::from(can_unknown) << UNKNOWN | u8::from(can_true) << TRUE)
    }

    pub fn only(truth: u8) -> Self {
        Self(1 << truth)
    }

    pub fn has(self, truth: u8) -> bool {
        self.0 & (1 << truth) != 0
    }

    pub fn is_only(self, truth: u8) -> bool {
        self.0 == 1 << truth
    }

    pub fn not(self) -> Self {
        Self::of(self.has(TRUE), self.has(UNKNOWN), self.has(FALSE))
    }

    /// Combines every pair of possible truth values; valid even if the two sides are correlated.
    pub fn join(self, other: Self, join: impl Fn(u8, u8) -> u8) -> Self {
        let mut all = 0;
        for a in FALSE..=TRUE {
            for b in FALSE..=TRUE {
                if self.has(a) && other.has(b) {
                    all |= 1 << join(a, b);
                }
            }
        }
        Self(all)
    }
}
