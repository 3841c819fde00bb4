//! Convert eight rows of bits to one plane of bytes, 32 columns at a time, in registers.

use std::arch::x86_64::*;

/// Columns per step.
const WIDE: usize = 32;

/// Exchanges bits of `$b` with those of `$a` that are `$apart` higher.
macro_rules! exchange {
    ($apart:literal, $mask:literal, $($a:ident $b:ident),*) => {$(
        let t = _mm256_and_si256(_mm256_xor_si256(_mm256_srli_epi64::<$apart>($a), $b), _mm256_set1_epi8($mask));
        let $b = _mm256_xor_si256($b, t);
        let $a = _mm256_xor_si256($a, _mm256_slli_epi64::<$apart>(t));
    )*};
}

/// Processes the first columns of `rows` (eight of the same length) that fill whole registers and returns their number.
/// `plane` is as long as `rows`.
#[target_feature(enable = "avx2")]
pub(super) fn join_wide(rows: &[u8], plane: &mut [u8]) -> usize {
    let stride = rows.len() / 8;
    let wide = stride / WIDE;
    for (nth, out) in plane.as_chunks_mut::<{ 8 * WIDE }>().0.iter_mut().take(wide).enumerate() {
        let row = |r: usize| {
            let bytes = &rows[r * stride + nth * WIDE..][..WIDE];
            // SAFETY: there are 32 bytes.
            unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
        };
        let (a, b, c, d, e, f, g, h) = (row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7));
        // Exchange ever smaller blocks of bits: bit k of row r becomes bit r of row k.
        exchange!(4, 0x0f, a e, b f, c g, d h);
        exchange!(2, 0x33, a c, b d, e g, f h);
        exchange!(1, 0x55, a b, c d, e f, g h);
        // Then interleave, so that the bytes of a column are adjacent; the upper half of each register is 16 columns
        // further.
        let (ab, cd) = (_mm256_unpacklo_epi8(a, b), _mm256_unpacklo_epi8(c, d));
        let (ef, gh) = (_mm256_unpacklo_epi8(e, f), _mm256_unpacklo_epi8(g, h));
        let first = [_mm256_unpacklo_epi16(ab, cd), _mm256_unpackhi_epi16(ab, cd)];
        let second = [_mm256_unpacklo_epi16(ef, gh), _mm256_unpackhi_epi16(ef, gh)];
        let (ab, cd) = (_mm256_unpackhi_epi8(a, b), _mm256_unpackhi_epi8(c, d));
        let (ef, gh) = (_mm256_unpackhi_epi8(e, f), _mm256_unpackhi_epi8(g, h));
        let third = [_mm256_unpacklo_epi16(ab, cd), _mm256_unpackhi_epi16(ab, cd)];
        let fourth = [_mm256_unpacklo_epi16(ef, gh), _mm256_unpackhi_epi16(ef, gh)];
        let four = |to: usize, left: __m256i, right: __m256i, out: &mut [u8; 8 * WIDE]| {
            let (low, high) = (_mm256_unpacklo_epi32(left, right), _mm256_unpackhi_epi32(left, right));
            let (near, far) = out.split_at_mut(4 * WIDE);
            for (half, columns) in [
                (near, _mm256_permute2x128_si256::<0x20>(low, high)),
                (far, _mm256_permute2x128_si256::<0x31>(low, high)),
            ] {
                let place = &mut half[to..][..WIDE];
                // SAFETY: there are 32 bytes.
                unsafe { _mm256_storeu_si256(place.as_mut_ptr().cast(), columns) };
            }
        };
        four(0, first[0], second[0], out);
        four(WIDE, first[1], second[1], out);
        four(2 * WIDE, third[0], fourth[0], out);
        four(3 * WIDE, third[1], fourth[1], out);
    }
    wide * WIDE
}
