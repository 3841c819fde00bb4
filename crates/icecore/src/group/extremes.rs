//! Minimum and maximum per key.

use super::sharded_accumulators::Place;

#[derive(Clone, Copy, Default)]
pub struct Extremes<T> {
    pub count: u64,
    pub least: T,
    pub greatest: T,
}

impl<T: Copy + PartialOrd> Extremes<T> {
    #[inline(always)]
    pub fn add(&mut self, value: T) {
        if self.count == 0 || value < self.least {
            self.least = value;
        }
        if self.count == 0 || value > self.greatest {
            self.greatest = value;
        }
        self.count += 1;
    }
}

impl<T: Copy + Default + PartialOrd + Send> Place for Extremes<T> {
    fn join(&mut self, other: &Self) {
        if self.count == 0 {
            *self = *other;
        } else if other.count > 0 {
            let count = self.count + other.count;
            self.add(other.least);
            self.add(other.greatest);
            self.count = count;
        }
    }
}
