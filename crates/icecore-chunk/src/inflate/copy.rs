//! Copies of matches: repeat earlier output.

/// Maximum length of a match (RFC 1951).
pub(super) const LONGEST: usize = 258;
/// Bytes after a match that [`quickly`] may overwrite.
pub(super) const BEYOND: usize = 24;
/// For each distance below 8: the factor that repeats so many bytes through a word, and the bytes of whole repetitions.
const REPEATED: [(u64, usize); 8] = {
    let mut table = [(0, 8); 8];
    let mut distance = 1;
    while distance < 8 {
        let (mut times, mut at) = (0, 0);
        while at < 64 {
            times |= 1 << at;
            at += 8 * distance;
        }
        table[distance] = (times, 8 / distance * distance);
        distance += 1;
    }
    table
};

/// Copies `length` bytes from `distance` before `at`, where `history` precedes `out`; false if that is too far.
#[cold]
pub(crate) fn exactly(history: &[u8], out: &mut [u8], mut at: usize, mut length: usize, distance: usize) -> bool {
    if let Some(before) = distance.checked_sub(at).filter(|before| *before > 0) {
        let Some(start) = history.len().checked_sub(before) else { return false };
        let part = length.min(before);
        out[at..at + part].copy_from_slice(&history[start..start + part]);
        (at, length) = (at + part, length - part);
    }
    let start = at - distance.min(at);
    if distance == 1 && length > 0 {
        let byte = out[start];
        out[at..at + length].fill(byte);
        return true;
    }
    // Copies what exists already, which doubles each time.
    let mut done = 0;
    while done < length {
        let part = (at + done - start).min(length - done);
        out.copy_within(start..start + part, at + done);
        done += part;
    }
    true
}

/// Copies `length` bytes from `distance` before `at`, in whole words: most matches are short, and a branch on the
/// length would be mispredicted.
///
/// # Safety
/// `distance` is at least 1, `distance` bytes before `at` are readable, and `length` + [`BEYOND`] bytes from `at` are
/// writable.
#[inline(always)]
pub(super) unsafe fn quickly(at: *mut u8, length: usize, distance: usize) {
    // SAFETY: three words end less than 24 bytes behind `length`; none reads what it writes itself, because it begins at
    // least its own length before. At a distance below 8 a word is read from there: it ends at most 7 bytes behind `at`.
    unsafe {
        let from = at.sub(distance);
        let word = |i: usize| at.add(i).cast::<[u8; 8]>().write(from.add(i).cast::<[u8; 8]>().read());
        let three = |i: usize| [i, i + 8, i + 16].into_iter().for_each(word);
        if distance >= 8 {
            word(0);
            if length <= 8 {
                return;
            }
            word(8);
            let mut done = 16;
            while done < length {
                three(done);
                done += 24;
            }
        } else {
            // A word of whole repetitions: an element of 2 or 4 bytes that occurs again and again, such as a fill value.
            let (times, step) = REPEATED[distance & 7];
            let period = u64::from_le_bytes(from.cast::<[u8; 8]>().read()) & ((1 << (8 * distance)) - 1);
            let word = period.wrapping_mul(times).to_le_bytes();
            let mut done = 0;
            // No call of a library: it would take the registers of the loop around it.
            if step == 8 {
                while done < length {
                    at.add(done).cast::<[[u8; 8]; 3]>().write([word; 3]);
                    done += 24;
                }
                return;
            }
            while done < length {
                (0..3).for_each(|i| at.add(done + i * step).cast::<[u8; 8]>().write(word));
                done += 3 * step;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distance_and_length_repeats_earlier_bytes() {
        for distance in 1..=40 {
            for length in 3..=LONGEST {
                let mut naive: Vec<u8> = (0..distance).map(|i| (i * 37 + 11) as u8).collect();
                let mut fast = naive.clone();
                fast.resize(distance + length + BEYOND, 0xa5);
                (0..length).for_each(|i| naive.push(naive[i]));
                // SAFETY: `distance` bytes lie before, `length` + `BEYOND` behind.
                unsafe { quickly(fast.as_mut_ptr().add(distance), length, distance) };
                assert!(fast.starts_with(&naive), "distance {distance}, length {length}");
            }
        }
    }
}
