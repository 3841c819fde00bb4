//! A frame file: table of contents, scan, checksums.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let bytes = data.to_vec();
    let _ = icecore_gwf::index(&bytes, usize::MAX);
    let _ = icecore_gwf::verify(&bytes);
});
