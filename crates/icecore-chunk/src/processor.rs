//! Instructions that not every x86-64 processor has.

use std::sync::OnceLock;

/// AVX2, unless `ICECORE_PORTABLE` says to do without: then the code of all other processors runs, to be tested.
#[inline]
pub(crate) fn has_avx2() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| !is_portable() && std::arch::is_x86_feature_detected!("avx2"))
}

/// Both sets of instructions for bits.
#[inline]
pub(crate) fn has_bmi() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let both = std::arch::is_x86_feature_detected!("bmi1") && std::arch::is_x86_feature_detected!("bmi2");
        !is_portable() && both
    })
}

fn is_portable() -> bool {
    std::env::var_os("ICECORE_PORTABLE").is_some_and(|value| !value.is_empty() && value != "0")
}
