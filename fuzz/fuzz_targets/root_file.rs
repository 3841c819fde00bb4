//! A ROOT file: directories, trees, ntuples, their values.

#![no_main]

use icecore_root::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = fuzzing::file(data.to_vec());
});
