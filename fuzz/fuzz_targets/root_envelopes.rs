//! Header, footer and page list of an ntuple.

#![no_main]

use icecore_root::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = fuzzing::envelopes(data);
});
