//! Suggest similar names for a mistyped column.

use icecore_grid::edit_distance;

/// At most three columns with a small edit distance.
pub(crate) fn nearest<'a>(name: &str, columns: impl Iterator<Item = &'a str>) -> Vec<String> {
    let lower = name.to_lowercase();
    let mut near: Vec<(usize, &str)> = columns
        .map(|column| {
            let other = column.to_lowercase();
            let part = !lower.is_empty() && (other.contains(&lower) || lower.contains(&other));
            let apart = if part { 1 } else { edit_distance(&lower, &other) };
            (if lower == other { 0 } else { apart }, column)
        })
        .filter(|(d, other)| *d <= 1 + other.chars().count().min(lower.chars().count()) / 3)
        .collect();
    near.sort();
    let best = near.first().map_or(0, |(apart, _)| *apart);
    near.into_iter().take_while(|(apart, _)| best > 0 || *apart == 0).take(3).map(|(_, name)| name.to_owned()).collect()
}
