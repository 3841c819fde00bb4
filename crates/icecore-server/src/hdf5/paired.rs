//! Selections with lists on several axes: as in HSDS, entries of the lists are paired, not combined.

use icecore::grid::{Error, ErrorKind};
use icecore::session::{Pick, Picks};

use crate::http::error::{Answer, Failure};

/// The elements of such a selection.
#[derive(Debug, PartialEq)]
pub(crate) struct Paired {
    /// Coordinates, one element after another.
    pub points: Vec<u64>,
    /// Shape of the result: the lists share the axis of the first one.
    pub shape: Vec<u64>,
}

/// The elements of a selection with several lists; `None` for any other selection.
///
/// # Errors
/// `selection` for lists of different lengths, too large for more than `most` elements.
pub(crate) fn paired(picks: &Picks, most: u64) -> Answer<Option<Paired>> {
    let is_list = |pick: &&Pick| matches!(pick, Pick::List(_));
    let mut lists = picks.axes.iter().filter(is_list).map(Pick::count);
    let (Some(length), Some(_)) = (lists.next(), lists.next()) else { return Ok(None) };
    if picks.axes.iter().filter(is_list).any(|pick| pick.count() != length) {
        let lengths: Vec<u64> = picks.axes.iter().filter(is_list).map(Pick::count).collect();
        return Err(Error::new(
            ErrorKind::Selection,
            format!("the lists of the selection have the lengths {lengths:?}"),
        )
        .hint("lists on several axes are coordinates of points: give as many entries on each axis")
        .into());
    }
    // The axes of the result: the axis that a position along it belongs to, and its length.
    let first = picks.axes.iter().position(|pick| matches!(pick, Pick::List(_)));
    let kept = picks.axes.iter().enumerate().filter(|(axis, pick)| !is_list(pick) || Some(*axis) == first);
    let (axes, shape): (Vec<usize>, Vec<u64>) = kept.map(|(axis, pick)| (axis, pick.count())).unzip();
    let count = shape.iter().try_fold(1_u64, |all, n| all.checked_mul(*n)).unwrap_or(u64::MAX);
    if count > most {
        return Err(Failure::too_large(
            format!("{count} points; at most {most} are selected by lists on several axes"),
            "select fewer elements at a time",
        ));
    }
    let mut points = Vec::with_capacity(count as usize * picks.axes.len());
    for number in 0..count {
        let mut rest = number;
        let mut at = vec![0; picks.axes.len()];
        for (axis, length) in axes.iter().zip(&shape).rev() {
            if let Some(place) = at.get_mut(*axis) {
                *place = rest % length;
            }
            rest /= length;
        }
        let along = first.and_then(|axis| at.get(axis)).copied().unwrap_or(0);
        points.extend(picks.axes.iter().zip(&at).map(|(pick, at)| match pick {
            Pick::Range { start, step, .. } => start + at * step,
            Pick::List(values) => values.get(along as usize).copied().unwrap_or(0),
        }));
    }
    Ok(Some(Paired { points, shape }))
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use axum::response::IntoResponse;

    use super::*;

    #[test]
    fn entries_of_lists_are_paired() {
        let parse = |text: &str| Picks::parse(text, &[5, 6, 7], &[None, None, None]).unwrap();
        let found = paired(&parse("[1:3,[4,0],[2,6]]"), 100).unwrap().unwrap();
        assert_eq!(found.shape, [2, 2]);
        assert_eq!(found.points, [1, 4, 2, 1, 0, 6, 2, 4, 2, 2, 0, 6]);
        let found = paired(&parse("[[1,3],0:2,[2,6]]"), 100).unwrap().unwrap();
        assert_eq!((found.shape, found.points), (vec![2, 2], vec![1, 0, 2, 1, 1, 2, 3, 0, 6, 3, 1, 6]));
        assert_eq!(paired(&parse("[:,[1,2],:]"), 100).unwrap(), None);
        assert_eq!(paired(&parse("[:,[1,2],[1,2,3]]"), 100).unwrap_err().kind(), ErrorKind::Selection);
        let refused = paired(&parse("[:,[1,2],[1,2]]"), 9).unwrap_err().into_response();
        assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }
}
