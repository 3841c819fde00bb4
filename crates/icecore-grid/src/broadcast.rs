//! NumPy's broadcasting of index lists.

use crate::error::{Error, ErrorKind, Result};
use crate::resolve_index::{advance, selection_error};

/// The common shape of all lists.
pub(crate) fn broadcast_shape<'a>(shapes: impl Iterator<Item = &'a [u64]>) -> Result<Vec<u64>> {
    let mut common: Vec<u64> = vec![];
    for shape in shapes {
        let rank = common.len().max(shape.len());
        let aligned = |of: &[u64], k: usize| (k + of.len()).checked_sub(rank).map_or(1, |at| of[at]);
        let merged: Option<Vec<u64>> = (0..rank)
            .map(|k| match (aligned(&common, k), aligned(shape, k)) {
                (a, b) if a == b || b == 1 => Some(a),
                (1, b) => Some(b),
                _ => None,
            })
            .collect();
        common = merged.ok_or_else(|| {
            selection_error(
                format!("lists of shapes {common:?} and {shape:?} cannot be broadcast together"),
                "give lists of equal shapes, or select orthogonally",
            )
        })?;
    }
    Ok(common)
}

/// The values of a list repeated to the common shape, in C order.
pub(crate) fn spread(shape: &[u64], values: Vec<u64>, common: &[u64]) -> Result<Vec<u64>> {
    let lead = common.len() - shape.len();
    if common[lead..] == *shape && common[..lead].iter().all(|&n| n == 1) {
        return Ok(values);
    }
    let count =
        common.iter().try_fold(1_u64, |product, &n| product.checked_mul(n)).and_then(|n| usize::try_from(n).ok());
    let mut out = Vec::new();
    let count = count.filter(|&n| out.try_reserve_exact(n).is_ok()).ok_or_else(|| {
        Error::new(ErrorKind::Memory, format!("not enough memory for lists broadcast to {common:?}"))
            .hint("select orthogonally, or fewer points at a time")
    })?;
    // Strides of the list along the axes of the common shape; 0 if it is repeated.
    let mut strides = vec![0; common.len()];
    let mut stride = 1;
    for (k, &len) in shape.iter().enumerate().rev() {
        if len != 1 {
            strides[lead + k] = stride;
        }
        stride *= len;
    }
    let mut at = vec![0; common.len()];
    for _ in 0..count {
        let from: u64 = at.iter().zip(&strides).map(|(&index, &stride)| index * stride).sum();
        out.push(values[from as usize]);
        advance(&mut at, common);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broadcasts_like_numpy() {
        let shape = |shapes: &[&[u64]]| broadcast_shape(shapes.iter().copied());
        assert_eq!(shape(&[&[2, 1], &[3]]).unwrap(), [2, 3]);
        assert_eq!(shape(&[&[3], &[4, 1, 1], &[1]]).unwrap(), [4, 1, 3]);
        assert_eq!(shape(&[&[1], &[0]]).unwrap(), [0]);
        assert!(shape(&[&[2], &[3]]).is_err());
        assert!(shape(&[&[2], &[0]]).is_err());
    }

    #[test]
    fn spreads_in_c_order() {
        assert_eq!(spread(&[2, 1], vec![7, 8], &[2, 3]).unwrap(), [7, 7, 7, 8, 8, 8]);
        assert_eq!(spread(&[3], vec![1, 2, 3], &[2, 3]).unwrap(), [1, 2, 3, 1, 2, 3]);
        assert_eq!(spread(&[2], vec![1, 2], &[1, 2]).unwrap(), [1, 2]);
    }
}
