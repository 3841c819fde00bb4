//! One FrVect structure, decoded as the type that it names.

#![no_main]

use icecore_gwf::{decode_vect, vect_shape};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(shape) = vect_shape(data) else { return };
    let size = usize::try_from(shape.n_data).ok().and_then(|n| n.checked_mul(shape.dtype.size()));
    let Some(size) = size.filter(|n| *n <= 1 << 20) else { return };
    let mut inflate = |_: &[u8], out: &mut [u8]| {
        out.fill(7);
        Ok(())
    };
    let _ = decode_vect(data, shape.dtype, &mut vec![0; size], &mut inflate);
});
