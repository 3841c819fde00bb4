//! Sums per key.

use super::sharded_accumulators::Place;

/// Sum of floats, with its rounding error (D. E. Knuth's two-sum), and their count.
#[derive(Clone, Copy, Default)]
pub struct Sum {
    pub count: u64,
    sum: f64,
    rest: f64,
}

impl Sum {
    #[inline(always)]
    pub fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        let added = sum - self.sum;
        self.rest += (self.sum - (sum - added)) + (value - added);
        self.sum = sum;
        self.count += 1;
    }

    pub fn sum(&self) -> f64 {
        if self.sum.is_finite() { self.sum + self.rest } else { self.sum } // there is no rest of an infinity
    }

    pub fn mean(&self) -> f64 {
        self.sum() / self.count as f64
    }
}

impl Place for Sum {
    fn join(&mut self, other: &Self) {
        let count = self.count + other.count;
        self.add(other.sum);
        self.rest += other.rest;
        self.count = count;
    }
}

/// Exact sum of integers.
#[derive(Clone, Copy, Default)]
pub struct Whole {
    pub count: u64,
    sum: i128,
}

impl Whole {
    #[inline(always)]
    pub fn add(&mut self, value: i128) {
        self.sum += value;
        self.count += 1;
    }

    /// The multiple of 2³² and the non-negative remainder.
    pub fn halves(&self) -> (i64, i64) {
        ((self.sum >> 32) as i64, (self.sum & 0xFFFF_FFFF) as i64)
    }
}

impl Place for Whole {
    fn join(&mut self, other: &Self) {
        self.sum += other.sum;
        self.count += other.count;
    }
}
