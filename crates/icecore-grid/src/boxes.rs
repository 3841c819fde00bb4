//! Join adjacent boxes.

use crate::region::Region;

/// Merges boxes that share a whole face, first along the last axis (there they are contiguous in memory), then along
/// the axes before it. The boxes must not overlap and must have the same rank. Empty boxes are dropped; the result is
/// sorted by start.
#[must_use]
pub fn join_boxes(mut boxes: Vec<Region>) -> Vec<Region> {
    boxes.retain(|of| !of.is_empty());
    let rank = boxes.first().map_or(0, |of| of.start.len());
    for axis in (0..rank).rev() {
        boxes.sort_unstable_by(|a, b| face(a, axis).cmp(face(b, axis)).then_with(|| a.start[axis].cmp(&b.start[axis])));
        let mut joined: Vec<Region> = Vec::with_capacity(boxes.len());
        for next in boxes {
            match joined.last_mut() {
                Some(last)
                    if face(last, axis).eq(face(&next, axis))
                        && last.start[axis].saturating_add(last.shape[axis]) == next.start[axis] =>
                {
                    last.shape[axis] += next.shape[axis];
                }
                _ => joined.push(next),
            }
        }
        boxes = joined;
    }
    boxes.sort_unstable_by(|a, b| a.start.cmp(&b.start));
    boxes
}

/// Two boxes can be joined along an axis if they have the same position and length along all others.
fn face(of: &Region, axis: usize) -> impl Iterator<Item = (u64, u64)> + '_ {
    let extents = of.start.iter().zip(&of.shape).enumerate();
    extents.filter(move |(at, _)| *at != axis).map(|(_, (start, shape))| (*start, *shape))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(coords: &[[u64; 2]]) -> Vec<Region> {
        coords.iter().map(|[y, x]| Region { start: vec![10 * y, 5 * x], shape: vec![10, 5] }).collect()
    }

    #[test]
    fn a_block_of_chunks_is_one_box() {
        let all: Vec<[u64; 2]> = (0..12).rev().map(|n| [2 + n / 4, n % 4]).collect();
        assert_eq!(join_boxes(cells(&all)), [Region { start: vec![20, 0], shape: vec![30, 20] }]);
    }

    #[test]
    fn an_l_is_two_boxes_and_corners_do_not_join() {
        let two = join_boxes(cells(&[[0, 0], [1, 0], [1, 1], [1, 2]]));
        assert_eq!(
            two,
            [Region { start: vec![0, 0], shape: vec![10, 5] }, Region { start: vec![10, 0], shape: vec![10, 15] }]
        );
        assert_eq!(join_boxes(cells(&[[0, 0], [1, 1]])).len(), 2);
    }

    #[test]
    fn the_clipped_edge_joins_and_empty_boxes_go() {
        let edge = vec![
            Region { start: vec![10], shape: vec![3] },
            Region { start: vec![13], shape: vec![0] },
            Region { start: vec![0], shape: vec![10] },
        ];
        assert_eq!(join_boxes(edge), [Region { start: vec![0], shape: vec![13] }]);
        assert_eq!(join_boxes(vec![Region::whole(&[])]), [Region::whole(&[])]);
        assert!(join_boxes(vec![]).is_empty());
    }

    #[test]
    fn any_set_of_cells_keeps_its_elements() {
        let mut seed = 1_u64;
        for _ in 0..200 {
            let mut picked: Vec<[u64; 2]> = Vec::new();
            for n in 0..30 {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                if seed >> 62 > 0 {
                    picked.push([n / 6, n % 6]);
                }
            }
            let joined = join_boxes(cells(&picked));
            let covers = |of: &Region, axis: usize, at: u64| (of.start[axis]..of.end()[axis]).contains(&at);
            for n in 0..30 {
                let (y, x) = (n / 6, n % 6);
                let inside = joined.iter().filter(|of| covers(of, 0, 10 * y) && covers(of, 1, 5 * x)).count();
                assert_eq!(inside, usize::from(picked.contains(&[y, x])));
            }
            assert_eq!(joined.iter().map(Region::elements).sum::<u64>(), 50 * picked.len() as u64);
            assert!(joined.len() <= picked.len());
        }
    }
}
