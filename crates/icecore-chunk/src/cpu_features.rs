//! Detection of instructions that not every x86-64 processor has.

#[cfg(target_arch = "x86_64")]
use std::sync::OnceLock;

/// Compiles a function portably and, for processors that have them, with BMI2 shifts (a sixth less time for bit
/// reading) and byte shuffles; the constant `SHUFFLES` tells its body which version it is.
macro_rules! with_bmi {
    ($name:ident, ($($arg:ident: $type:ty),*) -> $result:ty, $body:expr) => {
        pub(super) fn $name($($arg: $type),*) -> $result {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "bmi1,bmi2,popcnt,ssse3")]
                fn with($($arg: $type),*) -> $result {
                    #[allow(dead_code, reason = "not all ask")]
                    const SHUFFLES: bool = true;
                    $body
                }
                if crate::cpu_features::has_bmi() {
                    // SAFETY: the processor has these instructions.
                    return unsafe { with($($arg),*) };
                }
            }
            #[allow(dead_code, reason = "not all ask")]
            const SHUFFLES: bool = false;
            $body
        }
    };
}

pub(crate) use with_bmi;

/// Whether AVX2 is available and not disabled by `ICECORE_PORTABLE`, which makes tests run the portable code.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_avx2() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| !is_portable() && std::arch::is_x86_feature_detected!("avx2"))
}

/// Whether BMI1, BMI2, bit counts and byte shuffles are available; processors with the first two have the others.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_bmi() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let both = std::arch::is_x86_feature_detected!("bmi1") && std::arch::is_x86_feature_detected!("bmi2");
        let others = std::arch::is_x86_feature_detected!("popcnt") && std::arch::is_x86_feature_detected!("ssse3");
        !is_portable() && both && others
    })
}

#[cfg(target_arch = "x86_64")]
fn is_portable() -> bool {
    std::env::var_os("ICECORE_PORTABLE").is_some_and(|value| !value.is_empty() && value != "0")
}
