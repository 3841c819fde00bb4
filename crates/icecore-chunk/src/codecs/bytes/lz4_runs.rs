//! LZ4 blocks that consist mostly of runs: nearly constant byte planes, masks, fill values.
//!
//! liblz4 copies a short-distance match eight bytes at a time; this decoder doubles the length of each copy, or fills
//! memory. liblz4 decodes blocks of many short sequences, for which it is up to five times as fast.

/// Minimum compression ratio at which this decoder is used. On planes of 42 real fields it was 1.1 to 4.8 times as fast as
/// liblz4 above this ratio, and for most of them 0.2 to 0.9 times as fast below.
const WORTH: usize = 64;

pub(super) fn is_worth(stored: usize, decoded: usize) -> bool {
    decoded / WORTH >= stored
}

/// Decodes a block that fills `out` exactly; `None` if it is damaged.
pub(super) fn decode(input: &[u8], out: &mut [u8]) -> Option<()> {
    let (mut rest, mut at) = (input, 0);
    loop {
        let token = take(&mut rest, 1)?[0];
        let literals = take_length(&mut rest, token >> 4)?;
        let literals = take(&mut rest, literals)?;
        out.get_mut(at..)?.get_mut(..literals.len())?.copy_from_slice(literals);
        at += literals.len();
        if rest.is_empty() {
            return (at == out.len()).then_some(());
        }
        let distance = usize::from(u16::from_le_bytes(*take(&mut rest, 2)?.first_chunk()?));
        let count = take_length(&mut rest, token & 15)?.checked_add(4)?;
        repeat(out.get_mut(..at.checked_add(count)?)?, at, distance)?;
        at += count;
    }
}

/// Fills `out` from `at` on by repeating the `distance` bytes before it.
fn repeat(out: &mut [u8], at: usize, distance: usize) -> Option<()> {
    let start = at.checked_sub(distance).filter(|_| distance > 0)?;
    if distance == 1 {
        let byte = out[start];
        out[at..].fill(byte);
        return Some(());
    }
    let mut done = at;
    while done < out.len() {
        let count = (done - start).min(out.len() - done);
        out.copy_within(start..start + count, done);
        done += count;
    }
    Some(())
}

fn take<'a>(rest: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(count)?;
    *rest = left;
    Some(taken)
}

/// A length that begins in four bits of a token; at 15 the following bytes add to it, up to the first that is not 255.
fn take_length(rest: &mut &[u8], short: u8) -> Option<usize> {
    let mut length = usize::from(short);
    if short == 15 {
        loop {
            let byte = take(rest, 1)?[0];
            length = length.checked_add(usize::from(byte))?;
            if byte != 255 {
                break;
            }
        }
    }
    Some(length)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::decode;

    /// Matches of every short distance and many lengths, with literals between: same result as liblz4.
    #[test]
    fn as_liblz4() {
        for distance in 1..40 {
            for length in [1, 4, 5, 17, 300, 5000] {
                let pattern: Vec<u8> = (0..distance).map(|i| (i * 37 + length) as u8).collect();
                let mut raw: Vec<u8> = pattern.iter().copied().cycle().take(length + distance).collect();
                raw.extend([1, 2, 3]);
                raw.extend(std::iter::repeat_n(9, length));
                let mut block = Vec::new();
                super::super::lz4::encode_block(&raw, &mut block, 1).unwrap();
                let mut out = vec![0xaa; raw.len()];
                decode(&block, &mut out).unwrap();
                assert_eq!(out, raw);
                for cut in 0..block.len().min(40) {
                    assert_eq!(decode(&block[..cut], &mut out), None, "cut at {cut} of {}", block.len());
                }
                assert_eq!(decode(&block, &mut out[1..]), None);
                out.push(0);
                assert_eq!(decode(&block, &mut out), None);
            }
        }
    }

    /// One literal, then a match of 63 bytes: distance 1 is valid. Each other case has exactly one error.
    #[test]
    fn lies() {
        let block = |distance: u8| [0x1f, 7, distance, 0, 44, 0];
        let mut out = [0; 64];
        assert_eq!(decode(&block(1), &mut out), Some(()));
        assert_eq!(out, [7; 64]);
        for distance in [0, 2] {
            assert_eq!(decode(&block(distance), &mut out), None, "{distance}");
        }
        assert_eq!(decode(&[0x1f, 7, 1, 0, 255], &mut out), None, "a length without an end");
    }
}
