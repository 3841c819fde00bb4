//! Error messages that point to a position in the clause.

use icecore_grid::{Error, ErrorKind};

/// A range of characters of a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub start: usize,
    pub end: usize,
}

impl Place {
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }
}

/// Characters shown before and after the position, because clauses may be long.
const AROUND: usize = 50;

/// Returns an error with the message, the clause, and a line of carets below the position.
pub(crate) fn error(kind: ErrorKind, clause: &str, place: Place, message: &str) -> Error {
    let characters: Vec<char> =
        clause.chars().map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }).collect();
    let start = place.start.min(characters.len());
    let end = place.end.clamp(start, characters.len());
    let from = start.saturating_sub(AROUND);
    let to = (end.min(start + AROUND) + AROUND).min(characters.len());
    let shown: String = characters.get(from..to).unwrap_or_default().iter().collect();
    let (before, after) = (if from > 0 { "…" } else { "" }, if to < characters.len() { "…" } else { "" });
    let blanks = " ".repeat(start - from + before.chars().count());
    let carets = "^".repeat((end - start).clamp(1, AROUND));
    let position = start + 1;
    Error::new(kind, format!("{message} (character {position})\n  {before}{shown}{after}\n  {blanks}{carets}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carets_stand_below_the_place() {
        let e = error(ErrorKind::Invalid, "tb >> 3", Place { start: 3, end: 5 }, "what is this");
        assert_eq!(e.message, "what is this (character 4)\n  tb >> 3\n     ^^");
    }

    #[test]
    fn long_clauses_are_cut_and_places_outside_are_no_problem() {
        let clause = "x".repeat(500);
        let e = error(ErrorKind::Invalid, &clause, Place { start: 250, end: 251 }, "m");
        assert!(e.message.len() < 300, "{}", e.message);
        assert!(e.message.contains('…'));
        error(ErrorKind::Invalid, "ab", Place { start: 9, end: 3 }, "m");
    }
}
