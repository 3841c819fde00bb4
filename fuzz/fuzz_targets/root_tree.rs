//! A decompressed tree object and class descriptions.

#![no_main]

use icecore_root::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = fuzzing::tree(data, 60).map(|_| ()).or_else(|_| fuzzing::classes(data, 60).map(|_| ()));
});
