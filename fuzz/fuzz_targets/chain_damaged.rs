//! Numbers encoded by any quick candidate: the same bits back; and damaged: an error or numbers, as many as there were.
#![no_main]

use std::sync::LazyLock;

use icecore_chunk::{Chain, CostClass, DType, Scratch, candidates};
use libfuzzer_sys::fuzz_target;

fn chains() -> Vec<Chain> {
    let mut chains = Vec::new();
    for dtype in [DType::Float32, DType::Float64, DType::Int16, DType::UInt8] {
        for candidate in candidates(&dtype, 2, false).iter().filter(|c| c.class != CostClass::Slow) {
            let fill = vec![0; dtype.size()];
            chains.push(Chain::parse(&candidate.codecs, &dtype, &fill).expect("candidates are right"));
        }
    }
    chains
}

static CHAINS: LazyLock<Vec<Chain>> = LazyLock::new(chains);

/// libdeflate includes one table in two of its files, which the address sanitizer takes for two definitions of one thing.
#[unsafe(no_mangle)]
extern "C" fn __asan_default_options() -> *const std::ffi::c_char {
    c"detect_odr_violation=0".as_ptr()
}

fuzz_target!(|input: (u16, u8, Vec<(u16, u8)>, Option<u16>, [u16; 2], &[u8])| {
    let (which, columns, flips, cut, range, values) = input;
    let chain = &CHAINS[usize::from(which) % CHAINS.len()];
    let size = chain.dtype().size();
    let columns = usize::from(columns).max(1);
    let rows = values.len() / size / columns;
    let raw = &values[..rows * columns * size];
    let shape = [rows as u64, columns as u64];
    let mut scratch = Scratch::new();
    // Some candidates refuse some numbers, as decimals those that are none.
    let Ok(mut stored) = chain.encode(raw, &shape, &mut scratch) else { return };
    let (mut whole, mut part) = (vec![1; raw.len()], vec![2; raw.len()]);
    let all = (0, raw.len() as u64);
    chain.decode(&stored, &shape, all, &mut whole, &mut scratch).expect("what was encoded");
    assert!(whole == raw, "{:?}", chain.names());
    for (at, mask) in flips {
        let at = usize::from(at) % stored.len().max(1);
        stored.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= mask);
    }
    stored.truncate(cut.map_or(stored.len(), usize::from));
    let (lo, hi) = (usize::from(range[0].min(range[1])), usize::from(range[0].max(range[1])));
    let (lo, hi) = (lo.min(raw.len()) / size * size, hi.min(raw.len()) / size * size);
    let all = chain.decode(&stored, &shape, all, &mut whole, &mut scratch);
    let some = chain.decode(&stored, &shape, (lo as u64, hi as u64), &mut part, &mut scratch);
    if all.is_ok() {
        assert!(some.is_ok() && whole[lo..hi] == part[lo..hi], "{:?}", chain.names());
    }
});
