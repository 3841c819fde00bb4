//! Positions of cells in rows of equal length.

/// Start and end of a cell.
pub(crate) fn ends((start, length): (u32, u32)) -> (usize, usize) {
    (start as usize, start as usize + length as usize)
}

/// For each cell, whether it begins inside an earlier cell, or at the same place as an earlier one in the list.
pub(crate) fn inside(cells: &[(u32, u32)]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|i| cells[*i].0);
    let (mut inside, mut end) = (vec![false; cells.len()], 0);
    for i in order {
        let (from, to) = ends(cells[i]);
        if from < end {
            inside[i] = true;
        } else {
            end = to;
        }
    }
    inside
}
