//! Running sums in vectors, eight words of four bytes at a time.

use super::word::Word;

/// Two runs of words are summed side by side, each in half a register: nothing then crosses the halves, which is slow.
/// Runs shorter than this are not worth splitting.
const SPLIT: usize = 32;

/// Running sums from `sum` on, in place; the last of them.
#[inline(always)]
pub(in crate::codecs) fn add_up<W: Word>(words: &mut [W], sum: W) -> W {
    #[cfg(target_arch = "x86_64")]
    if W::BITS == 32 && words.len() >= SPLIT && is_x86_feature_detected!("avx2") {
        // SAFETY: words of 32 bits are `u32`.
        let plain = unsafe { words.align_to_mut::<u32>() }.1;
        let (low, high) = plain.split_at_mut(plain.len() / 2);
        // SAFETY: the processor has the instructions.
        let [sum, more] = unsafe { side_by_side::<false>(low, high, [sum.to_u64() as u32, 0]) };
        high.iter_mut().for_each(|w| *w = w.wrapping_add(sum));
        return W::from_u64(u64::from(sum.wrapping_add(more)));
    }
    one_by_one::<W, false>(words, sum)
}

/// Running sums of each row of `row` words, which come folded or not, in place.
#[inline(always)]
pub(in crate::codecs) fn add_up_rows<W: Word, const FOLDED: bool>(words: &mut [W], row: usize) {
    #[cfg(target_arch = "x86_64")]
    if W::BITS == 32 && is_x86_feature_detected!("avx2") {
        // SAFETY: words of 32 bits are `u32`.
        let plain = unsafe { words.align_to_mut::<u32>() }.1;
        for pair in plain.chunks_mut(2 * row) {
            let (low, high) = pair.split_at_mut(row.min(pair.len()));
            // SAFETY: the processor has the instructions.
            unsafe { side_by_side::<FOLDED>(low, high, [0, 0]) };
        }
        return;
    }
    for row in words.chunks_mut(row) {
        one_by_one::<W, FOLDED>(row, W::default());
    }
}

#[inline(always)]
fn one_by_one<W: Word, const FOLDED: bool>(words: &mut [W], mut sum: W) -> W {
    for word in words {
        sum = sum.add(if FOLDED { word.unfold() } else { *word });
        *word = sum;
    }
    sum
}

/// Running sums of two runs from `sums` on; the last of each. Sums within four words need not wait for those before: only
/// one addition from four to four does.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn side_by_side<const FOLDED: bool>(low: &mut [u32], high: &mut [u32], sums: [u32; 2]) -> [u32; 2] {
    use std::arch::x86_64::*;
    let both = low.len().min(high.len()) / 4 * 4;
    let (a, b) = (low[..both].as_chunks_mut::<4>().0, high[..both].as_chunks_mut::<4>().0);
    let [first, second] = sums.map(|sum| _mm_set1_epi32(sum as i32));
    let mut before = _mm256_set_m128i(second, first);
    for (a, b) in a.iter_mut().zip(b) {
        let (a, b) = (a.as_mut_ptr().cast::<__m128i>(), b.as_mut_ptr().cast::<__m128i>());
        // SAFETY: there are 16 bytes at each.
        let mut x = unsafe { _mm256_set_m128i(_mm_loadu_si128(b), _mm_loadu_si128(a)) };
        if FOLDED {
            let sign = _mm256_srai_epi32::<31>(_mm256_slli_epi32::<31>(x));
            x = _mm256_xor_si256(_mm256_srli_epi32::<1>(x), sign);
        }
        x = _mm256_add_epi32(x, _mm256_slli_si256::<4>(x));
        x = _mm256_add_epi32(x, _mm256_slli_si256::<8>(x));
        let done = _mm256_add_epi32(x, before);
        // SAFETY: as above.
        unsafe {
            _mm_storeu_si128(a, _mm256_castsi256_si128(done));
            _mm_storeu_si128(b, _mm256_extracti128_si256::<1>(done));
        }
        before = _mm256_add_epi32(before, _mm256_shuffle_epi32::<0xff>(x));
    }
    let sums = [_mm256_extract_epi32::<0>(before) as u32, _mm256_extract_epi32::<4>(before) as u32];
    [one_by_one::<u32, FOLDED>(&mut low[both..], sums[0]), one_by_one::<u32, FOLDED>(&mut high[both..], sums[1])]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_sum_as_words_do() {
        for count in [0, 1, 7, 8, 9, 16, 31, 32, 33, 71, 1000] {
            let words: Vec<u32> = (0..count).map(|i: u32| i.wrapping_mul(0x9e37_79b9) ^ i << 7).collect();
            let (mut ours, mut plain) = (words.clone(), words);
            assert_eq!(add_up(&mut ours, 0xffff_fff0), one_by_one::<_, false>(&mut plain, 0xffff_fff0));
            assert_eq!(ours, plain);
            for row in [1, 5, 24, 999] {
                let mut rows: Vec<u32> = plain.iter().map(|w| w.fold()).collect();
                add_up_rows::<_, true>(&mut rows, row);
                let mut unfolded = plain.clone();
                add_up_rows::<_, false>(&mut unfolded, row);
                let mut wanted = plain.clone();
                for row in wanted.chunks_mut(row) {
                    one_by_one::<_, false>(row, 0);
                }
                assert_eq!(rows, wanted, "rows of {row}");
                assert_eq!(unfolded, wanted, "rows of {row}, as they are");
            }
        }
    }
}
