//! Unshuffle of elements of 2, 4 and 8 bytes with SSE2 and AVX2: byte planes are interleaved pairwise, log2(size)
//! times.

/// One instruction set: the vector type, its length and its operations.
macro_rules! unshuffle_with {
    ($module:ident, $feature:literal, $vector:ident, $lanes:literal, $load:ident, $lo8:ident, $hi8:ident, $lo16:ident,
     $hi16:ident, $lo32:ident, $hi32:ident, $store:ident) => {
        pub(in crate::codecs) mod $module {
            use std::arch::x86_64::*;

            /// # Safety
            /// `src` and `dst` hold `count` elements of 2 bytes, `hi` is at most `count`, the processor has the feature.
            #[target_feature(enable = $feature)]
            pub unsafe fn unshuffle2(src: *const u8, dst: *mut u8, count: usize, lo: usize, hi: usize) -> usize {
                let mut at = lo;
                while at + $lanes <= hi {
                    // SAFETY: `at + lanes` elements are within both, as the caller promises.
                    unsafe {
                        let [a, b] = planes::<2>(src, count, at);
                        super::$store(dst.add(2 * at), &[$lo8(a, b), $hi8(a, b)]);
                    }
                    at += $lanes;
                }
                at
            }

            /// # Safety
            /// As `unshuffle2`, for elements of 4 bytes.
            #[target_feature(enable = $feature)]
            pub unsafe fn unshuffle4(src: *const u8, dst: *mut u8, count: usize, lo: usize, hi: usize) -> usize {
                let mut at = lo;
                while at + $lanes <= hi {
                    // SAFETY: as above.
                    unsafe {
                        let [a, b, c, d] = planes::<4>(src, count, at);
                        let (ab, cd) = ([$lo8(a, b), $hi8(a, b)], [$lo8(c, d), $hi8(c, d)]);
                        let out = [$lo16(ab[0], cd[0]), $hi16(ab[0], cd[0]), $lo16(ab[1], cd[1]), $hi16(ab[1], cd[1])];
                        super::$store(dst.add(4 * at), &out);
                    }
                    at += $lanes;
                }
                at
            }

            /// # Safety
            /// As `unshuffle2`, for elements of 8 bytes.
            #[target_feature(enable = $feature)]
            pub unsafe fn unshuffle8(src: *const u8, dst: *mut u8, count: usize, lo: usize, hi: usize) -> usize {
                let mut at = lo;
                while at + $lanes <= hi {
                    // SAFETY: as above.
                    unsafe {
                        let p = planes::<8>(src, count, at);
                        let first = quads([p[0], p[1], p[2], p[3]]);
                        let last = quads([p[4], p[5], p[6], p[7]]);
                        let out = [
                            $lo32(first[0], last[0]),
                            $hi32(first[0], last[0]),
                            $lo32(first[1], last[1]),
                            $hi32(first[1], last[1]),
                            $lo32(first[2], last[2]),
                            $hi32(first[2], last[2]),
                            $lo32(first[3], last[3]),
                            $hi32(first[3], last[3]),
                        ];
                        super::$store(dst.add(8 * at), &out);
                    }
                    at += $lanes;
                }
                at
            }

            /// Interleaves four planes to groups of 4 bytes.
            #[inline]
            #[target_feature(enable = $feature)]
            fn quads(p: [$vector; 4]) -> [$vector; 4] {
                let (ab, cd) = ([$lo8(p[0], p[1]), $hi8(p[0], p[1])], [$lo8(p[2], p[3]), $hi8(p[2], p[3])]);
                [$lo16(ab[0], cd[0]), $hi16(ab[0], cd[0]), $lo16(ab[1], cd[1]), $hi16(ab[1], cd[1])]
            }

            #[inline]
            #[target_feature(enable = $feature)]
            unsafe fn planes<const N: usize>(src: *const u8, count: usize, at: usize) -> [$vector; N] {
                // SAFETY: plane k begins at k·count and `at + lanes` is at most `count`.
                std::array::from_fn(|k| unsafe { $load(src.add(k * count + at).cast()) })
            }
        }
    };
}

unshuffle_with!(
    sse2,
    "sse2",
    __m128i,
    16,
    _mm_loadu_si128,
    _mm_unpacklo_epi8,
    _mm_unpackhi_epi8,
    _mm_unpacklo_epi16,
    _mm_unpackhi_epi16,
    _mm_unpacklo_epi32,
    _mm_unpackhi_epi32,
    store128
);
unshuffle_with!(
    avx2,
    "avx2",
    __m256i,
    32,
    _mm256_loadu_si256,
    _mm256_unpacklo_epi8,
    _mm256_unpackhi_epi8,
    _mm256_unpacklo_epi16,
    _mm256_unpackhi_epi16,
    _mm256_unpacklo_epi32,
    _mm256_unpackhi_epi32,
    store256
);

use std::arch::x86_64::*;

#[inline]
#[target_feature(enable = "sse2")]
unsafe fn store128<const N: usize>(dst: *mut u8, vectors: &[__m128i; N]) {
    for (k, v) in vectors.iter().enumerate() {
        // SAFETY: the caller has room for all vectors.
        unsafe { _mm_storeu_si128(dst.add(16 * k).cast(), *v) };
    }
}

/// AVX2 interleaves within 128-bit lanes: this reorders the results of both lanes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store256<const N: usize>(dst: *mut u8, vectors: &[__m256i; N]) {
    for k in 0..N / 2 {
        let (a, b) = (vectors[2 * k], vectors[2 * k + 1]);
        // SAFETY: the caller has room for all vectors.
        unsafe {
            _mm256_storeu_si256(dst.add(32 * k).cast(), _mm256_permute2x128_si256::<0x20>(a, b));
            _mm256_storeu_si256(dst.add(16 * N + 32 * k).cast(), _mm256_permute2x128_si256::<0x31>(a, b));
        }
    }
}
