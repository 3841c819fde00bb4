//! Suggest similar names for a mistyped column.

/// At most three columns with a small edit distance.
pub(crate) fn nearest<'a>(name: &str, columns: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lower = name.to_lowercase();
    let mut near: Vec<(usize, &str)> = columns
        .map(|column| {
            let other = column.to_lowercase();
            let part = !lower.is_empty() && (other.contains(&lower) || lower.contains(&other));
            let apart = if part { 1 } else { distance(&lower, &other) };
            (if lower == other { 0 } else { apart }, column)
        })
        .filter(|(d, other)| *d <= 1 + other.chars().count().min(lower.chars().count()) / 3)
        .collect();
    near.sort();
    let best = near.first().map_or(0, |(apart, _)| *apart);
    near.into_iter().take_while(|(apart, _)| best > 0 || *apart == 0).take(3).map(|(_, name)| name.to_owned()).collect()
}

/// Levenshtein distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        for (j, y) in b.iter().enumerate() {
            let (left, above) = (row.get(j).copied().unwrap_or(0), row.get(j + 1).copied().unwrap_or(0));
            let best = (diagonal + usize::from(x != *y)).min(left + 1).min(above + 1);
            diagonal = above;
            if let Some(cell) = row.get_mut(j + 1) {
                *cell = best;
            }
        }
    }
    row.last().copied().unwrap_or(0)
}
