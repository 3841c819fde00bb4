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

    /// True if no element is inside.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// First index past the box, per axis.
    #[must_use]
    pub fn end(&self) -> Vec<u64> {
        self.start.iter().zip(&self.shape).map(|(&start, &n)| start.saturating_add(n)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_has_one_element_and_huge_boxes_saturate() {
        assert_eq!(Region::whole(&[]).elements(), 1);
        assert_eq!(Region::whole(&[u64::MAX, 2]).elements(), u64::MAX);
        assert_eq!(Region::whole(&[u64::MAX, 2, 0]).elements(), 0);
    }
}
