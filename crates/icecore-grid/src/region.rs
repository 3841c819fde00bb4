//! Boxes in index space.

/// A box: `start` and `shape`, in elements, one entry per axis. A region with any zero in its shape is empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Region {
    /// First index on each axis.
    pub start: Vec<u64>,
    /// Number of elements on each axis.
    pub shape: Vec<u64>,
}

impl Region {
    /// The whole of an array of this shape.
    #[must_use]
    pub fn whole(shape: &[u64]) -> Self {
        Self { start: vec![0; shape.len()], shape: shape.to_vec() }
    }

    /// Number of elements, `u64::MAX` where it does not fit.
    #[must_use]
    pub fn elements(&self) -> u64 {
        if self.is_empty() {
            return 0;
        }
        self.shape.iter().fold(1, |product: u64, &n| product.saturating_mul(n))
    }

    /// True where no element lies inside.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// First index past the box, per axis.
    #[must_use]
    pub fn end(&self) -> Vec<u64> {
        self.start.iter().zip(&self.shape).map(|(&start, &n)| start.saturating_add(n)).collect()
    }

    /// The part that both boxes cover; `None` where they do not meet or differ in rank.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        if self.start.len() != other.start.len() {
            return None;
        }
        let start: Vec<u64> = self.start.iter().zip(&other.start).map(|(&a, &b)| a.max(b)).collect();
        let ends = self.end().into_iter().zip(other.end()).map(|(a, b)| a.min(b));
        let shape: Vec<u64> = ends.zip(&start).map(|(end, &start)| end.saturating_sub(start)).collect();
        let both = Self { start, shape };
        (!both.is_empty()).then_some(both)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn region(start: &[u64], shape: &[u64]) -> Region {
        Region { start: start.to_vec(), shape: shape.to_vec() }
    }

    #[test]
    fn intersects() {
        let (a, b) = (region(&[0, 5], &[4, 5]), region(&[2, 0], &[10, 6]));
        assert_eq!(a.intersect(&b), Some(region(&[2, 5], &[2, 1])));
        assert_eq!(a.intersect(&region(&[4, 5], &[1, 1])), None);
        assert_eq!(a.intersect(&region(&[0], &[1])), None);
    }

    #[test]
    fn a_scalar_has_one_element_and_huge_boxes_saturate() {
        assert_eq!(Region::whole(&[]).elements(), 1);
        assert_eq!(Region::whole(&[u64::MAX, 2]).elements(), u64::MAX);
        assert_eq!(Region::whole(&[u64::MAX, 2, 0]).elements(), 0);
    }
}
