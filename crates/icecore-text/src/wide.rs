//! Wider vectors and shifts by any number of bits, where the processor has them: the same code, compiled twice.

/// Whether functions with `target_feature(enable = "avx2,bmi1,bmi2,lzcnt")` may be called.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("lzcnt")
}
