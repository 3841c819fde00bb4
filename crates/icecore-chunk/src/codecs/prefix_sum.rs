//! Prefix sums with vector instructions: eight four-byte words at a time.

use super::word::Word;

/// Running sums from `sum` on, in place; returns the last one.
#[inline(always)]
pub(in crate::codecs) fn add_up<W: Word>(words: &mut [W], sum: W) -> W {
    #[cfg(target_arch = "x86_64")]
    if W::BITS == 32 && crate::cpu_features::has_avx2() {
        // SAFETY: words of 32 bits are `u32`.
        let plain = unsafe { words.align_to_mut::<u32>() }.1;
        // SAFETY: the processor has the instructions.
        return W::from_u64(u64::from(unsafe { eights(plain, sum.to_u64() as u32) }));
    }
    one_by_one(words, sum)
}

#[inline(always)]
fn one_by_one<W: Word>(words: &mut [W], mut sum: W) -> W {
    for word in words {
        sum = sum.add(*word);
        *word = sum;
    }
    sum
}

/// The sums within eight words do not depend on earlier words, so only one addition per eight words is serial.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn eights(words: &mut [u32], sum: u32) -> u32 {
    use std::arch::x86_64::*;
    let (body, rest) = words.as_chunks_mut::<8>();
    let mut before = _mm256_set1_epi32(sum as i32);
    let last = _mm256_set1_epi32(7);
    for eight in body.iter_mut() {
        let place = eight.as_mut_ptr().cast::<__m256i>();
        // SAFETY: there are 32 bytes.
        let mut x = unsafe { _mm256_loadu_si256(place) };
        x = _mm256_add_epi32(x, _mm256_slli_si256::<4>(x));
        x = _mm256_add_epi32(x, _mm256_slli_si256::<8>(x));
        // The lower half's sum is added to all of the upper half.
        let low = _mm256_shuffle_epi32::<0xff>(_mm256_permute2x128_si256::<0x08>(x, x));
        x = _mm256_add_epi32(x, low);
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(place, _mm256_add_epi32(x, before)) };
        before = _mm256_add_epi32(before, _mm256_permutevar8x32_epi32(x, last));
    }
    let sum = body.last().map_or(sum, |eight| eight[7]);
    one_by_one(rest, sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_sum_as_words_do() {
        for count in [0, 1, 7, 8, 9, 16, 31, 1000] {
            let words: Vec<u32> = (0..count).map(|i: u32| i.wrapping_mul(0x9e37_79b9) ^ i << 7).collect();
            let (mut ours, mut plain) = (words.clone(), words);
            assert_eq!(add_up(&mut ours, 0xffff_fff0), one_by_one(&mut plain, 0xffff_fff0));
            assert_eq!(ours, plain);
        }
    }
}
