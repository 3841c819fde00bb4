//! Rebuilds four-byte numbers from their two upper bytes with AVX2: the upper 16 bits determine the lower 16.

use std::arch::x86_64::*;

/// Numbers per iteration.
const LANES: usize = 32;

/// `upper` and `second` hold the first and the second byte of each number, `out` receives the numbers. If the
/// `exponent` bits of the upper half are neither all zeros nor all ones, the lower half becomes `low`, otherwise zero.
/// Numbers with the upper half of `fill` become `fill`. Returns how many numbers were done, from the first one on; the
/// others are unchanged.
#[target_feature(enable = "avx2")]
pub(super) fn halves(upper: &[u8], second: &[u8], exponent: u16, low: u16, fill: u32, out: &mut [u8]) -> usize {
    let (zero, exponent) = (_mm256_setzero_si256(), _mm256_set1_epi16(exponent as i16));
    let low = _mm256_set1_epi16(low as i16);
    let (fill_upper, fill_low) = (_mm256_set1_epi16((fill >> 16) as i16), _mm256_set1_epi16(fill as i16));
    let (uppers, seconds) = (upper.as_chunks::<LANES>().0, second.as_chunks::<LANES>().0);
    let outs = out.as_chunks_mut::<{ 4 * LANES }>().0;
    let rounds = uppers.len().min(seconds.len()).min(outs.len());
    for ((upper, second), out) in uppers.iter().zip(seconds).zip(outs) {
        // SAFETY: both have as many bytes as a register.
        let (upper, second) =
            unsafe { (_mm256_loadu_si256(upper.as_ptr().cast()), _mm256_loadu_si256(second.as_ptr().cast())) };
        // AVX2 interleaves within 128-bit lanes: the quarters 0 2 1 3 come out as 0 1 and 2 3.
        let (upper, second) = (_mm256_permute4x64_epi64::<0xd8>(upper), _mm256_permute4x64_epi64::<0xd8>(second));
        let both = [_mm256_unpacklo_epi8(second, upper), _mm256_unpackhi_epi8(second, upper)];
        for (both, out) in both.into_iter().zip(out.as_chunks_mut::<{ 2 * LANES }>().0) {
            let both = _mm256_permute4x64_epi64::<0xd8>(both);
            let field = _mm256_and_si256(both, exponent);
            let odd = _mm256_or_si256(_mm256_cmpeq_epi16(field, zero), _mm256_cmpeq_epi16(field, exponent));
            let low = _mm256_andnot_si256(odd, low);
            let low = _mm256_blendv_epi8(low, fill_low, _mm256_cmpeq_epi16(both, fill_upper));
            // SAFETY: `out` has room for two registers.
            unsafe {
                _mm256_storeu_si256(out.as_mut_ptr().cast(), _mm256_unpacklo_epi16(low, both));
                _mm256_storeu_si256(out.as_mut_ptr().add(LANES).cast(), _mm256_unpackhi_epi16(low, both));
            }
        }
    }
    rounds * LANES
}

#[cfg(test)]
mod tests {
    use super::halves;

    /// All 65,536 upper halves, with any count of numbers: same result as one number at a time.
    #[test]
    fn all_upper_halves() {
        if !crate::cpu_features::has_avx2() {
            return;
        }
        let of = |byte: u32| (0..=u16::MAX).map(|top| top.to_be_bytes()[byte as usize]).collect::<Vec<u8>>();
        let (upper, second) = (of(0), of(1));
        let parts: Vec<_> = (0..70).map(|count| (0x7f60 + count, count)).chain([(0, 1 << 16)]).collect();
        for (fill, (start, count)) in
            [0, 0x7f61_2345].into_iter().flat_map(|fill| parts.iter().map(move |p| (fill, *p)))
        {
            let mut out = vec![0xaa; 4 * count];
            let part = start..start + count;
            // SAFETY: the processor has the instructions.
            let done = unsafe { halves(&upper[part.clone()], &second[part], 0x7f80, 0x8000, fill, &mut out) };
            assert_eq!(done, count / 32 * 32);
            for (at, number) in out.as_chunks::<4>().0.iter().enumerate() {
                let top = (start + at) as u32;
                let plain = top & 0x7f80 != 0 && top & 0x7f80 != 0x7f80;
                let expected = match (at < done, top == fill >> 16) {
                    (false, _) => 0xaaaa_aaaa,
                    (_, true) => fill,
                    _ => top << 16 | if plain { 0x8000 } else { 0 },
                };
                assert_eq!(u32::from_le_bytes(*number), expected, "{top:x}");
            }
        }
    }
}
