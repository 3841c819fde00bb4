//! The least and the greatest value of the rows of a key.

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
