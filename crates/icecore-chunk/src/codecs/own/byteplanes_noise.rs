//! Decide which planes are worth compressing: PStore's test of byte frequencies.

/// Bytes that are sampled, in pieces spread over the plane: enough for the frequencies of 256 values, even if they
/// vary.
const PIECES: usize = 16;
const PIECE: usize = 512;
/// Entropy in bits per byte above which no codec is tried. Noise is above; data that zstd shortens by a percent is
/// below.
const NOISE: f64 = 7.93;

/// Whether a plane is noise: neither its bytes nor the differences of successive numbers have frequent values.
/// Differences are tested because a counter's low bytes have equal frequencies and still compress well.
pub(crate) fn is_noise(plane: &[u8], width: usize) -> bool {
    if plane.len() < PIECES * PIECE {
        return false; // too few bytes for a decision; encoding them is cheap
    }
    let stride = plane.len() / PIECES / width * width;
    let pieces = || (0..PIECES).map(move |nth| &plane[nth * stride..nth * stride + PIECE]);
    let steps = pieces().flat_map(|piece| piece.iter().zip(&piece[width..]).map(|(a, b)| b.wrapping_sub(*a)));
    entropy(pieces().flatten().copied()) > NOISE && entropy(steps) > NOISE
}

/// Shannon entropy of the byte frequencies in bits per byte, with the Miller–Madow correction for the sample's size.
fn entropy(bytes: impl Iterator<Item = u8>) -> f64 {
    let mut counts = [0u32; 256];
    bytes.for_each(|byte| counts[usize::from(byte)] += 1);
    let total: f64 = counts.iter().map(|n| f64::from(*n)).sum();
    let seen = counts.iter().filter(|n| **n > 0).count() as f64;
    let bits: f64 =
        counts.iter().filter(|n| **n > 0).map(|n| -(f64::from(*n) / total) * (f64::from(*n) / total).log2()).sum();
    bits + (seen - 1.0) / (2.0 * total * std::f64::consts::LN_2)
}
