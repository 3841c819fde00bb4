//! Fixed cells that are counted in characters: UTF-8 letters take several bytes, and rows then differ in length.
//!
//! A row is divided into stretches of so many characters. Inside, each stretch has room for so many bytes; spaces fill it.
//! A byte that is not UTF-8 counts as a character.

/// Length in bytes of the character at the beginning of a text.
fn length(text: &[u8]) -> usize {
    let continued = |count: usize| text.get(1..=count).is_some_and(|rest| rest.iter().all(|b| b & 0xc0 == 0x80));
    match text.first() {
        Some(0xc2..=0xdf) if continued(1) => 2,
        Some(0xe0..=0xef) if continued(2) => 3,
        Some(0xf0..=0xf4) if continued(3) => 4,
        _ => 1,
    }
}

/// The lengths in bytes of the characters of a text.
pub(crate) fn lengths(text: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let mut rest = text;
    std::iter::from_fn(move || {
        let length = (!rest.is_empty()).then(|| length(rest))?;
        rest = rest.get(length..).unwrap_or_default();
        Some(length)
    })
}

/// Number of characters of a text.
fn count(text: &[u8]) -> usize {
    if text.is_ascii() { text.len() } else { lengths(text).count() }
}

/// Appends a row with each stretch filled up to its room, at most up to the end of the row; false (and the text is then
/// unspecified) if a stretch has more bytes than room, or the row more characters than the stretches.
pub(crate) fn widen(stretches: &[(u32, u32)], row: &[u8], out: &mut Vec<u8>) -> bool {
    let mut rest = row;
    for (characters, room) in stretches {
        let bytes = lengths(rest).take(*characters as usize).sum();
        let Some((own, behind)) = rest.split_at_checked(bytes).filter(|_| bytes <= *room as usize) else {
            return false;
        };
        out.extend_from_slice(own);
        out.resize(out.len() + *room as usize - bytes, b' ');
        rest = behind;
    }
    rest.is_empty()
}

/// Appends a widened row without the spaces that fill its stretches; false if a stretch has other characters there.
pub(crate) fn narrow(stretches: &[(u32, u32)], row: &[u8], out: &mut Vec<u8>) -> bool {
    let mut rest = row;
    for (characters, room) in stretches {
        let Some((own, behind)) = rest.split_at_checked(*room as usize) else { return false };
        let more = count(own).saturating_sub(*characters as usize);
        let (kept, filled) = own.split_at(own.len().saturating_sub(more));
        if filled.iter().any(|b| *b != b' ') {
            return false;
        }
        out.extend_from_slice(kept);
        rest = behind;
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_as_they_were() {
        let stretches = [(3, 5), (1, 3), (4, 4)];
        for row in ["abc|12.5", "Þór│12.5", "a  │    ", "Þó │ 1  "] {
            let (mut wide, mut again) = (Vec::new(), Vec::new());
            assert!(widen(&stretches, row.as_bytes(), &mut wide), "{row}");
            assert_eq!(wide.len(), 12);
            assert!(narrow(&stretches, &wide, &mut again));
            assert_eq!(again, row.as_bytes());
        }
        for row in ["Þóö│12.5".to_owned(), "abc|12.55".to_owned(), "abc|1é.5".to_owned()] {
            assert!(!widen(&stretches, row.as_bytes(), &mut Vec::new()), "{row}");
        }
        assert!(!narrow(&[(2, 4)], b"abcd", &mut Vec::new()));
    }

    #[test]
    fn other_bytes_are_characters() {
        assert_eq!(lengths(b"a\xe9\xc3\xa9\xf0\x9f").collect::<Vec<_>>(), [1, 1, 2, 1, 1]);
    }
}
