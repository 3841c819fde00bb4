//! Split numbers into byte planes and back, in loops that the compiler vectorizes.

use std::ops::Range;

/// Numbers per block: the block stays in the first-level cache while the planes are merged one after another.
const BLOCK: usize = 2048;

/// A decoded plane: numbers of `width` bytes in native order, shifted left by `shift` bits in the whole number.
#[derive(Clone, Copy)]
pub(crate) struct Layer<'a> {
    pub data: &'a [u8],
    /// Index of the first number of its data.
    pub first: usize,
    pub width: usize,
    pub shift: u32,
}

impl<'a> Layer<'a> {
    /// The bytes of some numbers.
    fn part(&self, numbers: Range<usize>) -> &'a [u8] {
        &self.data[(numbers.start - self.first) * self.width..(numbers.end - self.first) * self.width]
    }
}

/// Masks of the low bits of floats and of the exponent bits: numbers whose exponent bits are all zeros or all ones are
/// not normal, and their low bits are treated separately.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pattern {
    pub exponent: u64,
    pub low: u64,
}

/// Replacement of the low bits that are not read.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Rest {
    pub pattern: Option<Pattern>,
    /// The fill value, and the number of low bits that are not read: all numbers with its other bits become the fill
    /// value.
    pub fill: Option<(u64, u32)>,
}

macro_rules! kernels {
    ($number:ty, $fill:ident, $odd:ident, $alike:ident, $restore:ident, $(($part:ty, $up:ident, $down:ident)),*) => {
        $(
            #[inline(always)]
            fn $up(data: &[u8], shift: u32, first: bool, out: &mut [u8]) {
                let numbers = out.as_chunks_mut::<{ size_of::<$number>() }>().0.iter_mut();
                let parts = data.as_chunks::<{ size_of::<$part>() }>().0;
                let lift = |part: &[u8; size_of::<$part>()]| (<$part>::from_ne_bytes(*part) as $number) << shift;
                if first {
                    numbers.zip(parts).for_each(|(number, part)| *number = lift(part).to_ne_bytes());
                } else {
                    numbers.zip(parts).for_each(|(number, part)| {
                        *number = (<$number>::from_ne_bytes(*number) | lift(part)).to_ne_bytes();
                    });
                }
            }

            #[inline(always)]
            fn $down(numbers: &[u8], shift: u32, out: &mut [u8]) {
                let parts = out.as_chunks_mut::<{ size_of::<$part>() }>().0.iter_mut();
                let numbers = numbers.as_chunks::<{ size_of::<$number>() }>().0;
                parts.zip(numbers).for_each(|(part, number)| {
                    *part = ((<$number>::from_ne_bytes(*number) >> shift) as $part).to_ne_bytes();
                });
            }
        )*

        #[inline(always)]
        fn $fill(pattern: Pattern, out: &mut [u8]) {
            let (exponent, low) = (pattern.exponent as $number, pattern.low as $number);
            for number in out.as_chunks_mut::<{ size_of::<$number>() }>().0 {
                let bits = <$number>::from_ne_bytes(*number);
                let field = bits & exponent;
                let plain = (field != 0) & (field != exponent);
                *number = (bits | if plain { low } else { 0 }).to_ne_bytes();
            }
        }

        #[inline(always)]
        fn $odd(pattern: Pattern, numbers: &[u8]) -> bool {
            let (exponent, low) = (pattern.exponent as $number, pattern.low as $number);
            let numbers = numbers.as_chunks::<{ size_of::<$number>() }>().0.iter();
            numbers.fold(false, |found, number| {
                let bits = <$number>::from_ne_bytes(*number);
                let field = bits & exponent;
                found | ((field == 0 || field == exponent) & (bits & low != 0))
            })
        }

        #[inline(always)]
        fn $alike(value: u64, low: u32, numbers: &[u8]) -> bool {
            let value = value as $number >> low;
            let numbers = numbers.as_chunks::<{ size_of::<$number>() }>().0.iter();
            numbers.fold(false, |found, number| found | (<$number>::from_ne_bytes(*number) >> low == value))
        }

        #[inline(always)]
        fn $restore(value: u64, low: u32, numbers: &mut [u8]) {
            let value = value as $number;
            for number in numbers.as_chunks_mut::<{ size_of::<$number>() }>().0 {
                let bits = <$number>::from_ne_bytes(*number);
                *number = if bits >> low == value >> low { value } else { bits }.to_ne_bytes();
            }
        }
    };
}

kernels!(u8, fill_1, odd_1, alike_1, restore_1, (u8, up_1_1, down_1_1));
kernels!(u16, fill_2, odd_2, alike_2, restore_2, (u8, up_2_1, down_2_1), (u16, up_2_2, down_2_2));
kernels!(
    u32,
    fill_4,
    odd_4,
    alike_4,
    restore_4,
    (u8, up_4_1, down_4_1),
    (u16, up_4_2, down_4_2),
    (u32, up_4_4, down_4_4)
);
kernels!(
    u64,
    fill_8,
    odd_8,
    alike_8,
    restore_8,
    (u8, up_8_1, down_8_1),
    (u16, up_8_2, down_8_2),
    (u32, up_8_4, down_8_4),
    (u64, up_8_8, down_8_8)
);

/// Sizes of numbers, in bytes, with the widths of the parts that they can be split into.
pub(crate) const UNITS: [usize; 4] = [1, 2, 4, 8];

#[inline(always)]
fn up(unit: usize, layer: Layer<'_>, first: bool, out: &mut [u8]) {
    let Layer { data, width, shift, .. } = layer;
    match (unit, width) {
        (1, _) => up_1_1(data, shift, first, out),
        (2, 1) => up_2_1(data, shift, first, out),
        (2, _) => up_2_2(data, shift, first, out),
        (4, 1) => up_4_1(data, shift, first, out),
        (4, 2) => up_4_2(data, shift, first, out),
        (4, _) => up_4_4(data, shift, first, out),
        (_, 1) => up_8_1(data, shift, first, out),
        (_, 2) => up_8_2(data, shift, first, out),
        (_, 4) => up_8_4(data, shift, first, out),
        _ => up_8_8(data, shift, first, out),
    }
}

#[inline(always)]
fn fill(unit: usize, pattern: Pattern, out: &mut [u8]) {
    match unit {
        1 => fill_1(pattern, out),
        2 => fill_2(pattern, out),
        4 => fill_4(pattern, out),
        _ => fill_8(pattern, out),
    }
}

/// Merges the numbers of `range` from the first planes, most significant first. `out` holds all numbers, of `unit`
/// bytes each.
pub(crate) fn merge(unit: usize, layers: &[Layer<'_>], rest: Rest, range: Range<usize>, out: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if crate::cpu_features::has_avx2() {
        // SAFETY: the processor has the instructions.
        return unsafe { merge_avx2(unit, layers, rest, range, out) };
    }
    merge_blocks(unit, layers, rest, range, out);
}

/// The same loops, for twice as wide registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn merge_avx2(unit: usize, layers: &[Layer<'_>], rest: Rest, mut range: Range<usize>, out: &mut [u8]) {
    if let ([upper, second], Some(Pattern { exponent, low })) = (layers, rest.pattern)
        && is_bytes(unit, layers)
        && (upper.shift, second.shift) == (24, 16)
        && (exponent & 0xffff, low >> 16) == (0, 0)
    {
        let [a, b] = [upper, second].map(|layer| layer.part(range.clone()));
        let place = &mut out[range.start * unit..range.end * unit];
        let fill = rest.fill.map_or(0, |(value, _)| value as u32); // zero is never changed
        range.start += super::plane_split_x86::halves(a, b, (exponent >> 16) as u16, low as u16, fill, place);
    }
    merge_blocks(unit, layers, rest, range, out);
}

#[inline(always)]
fn merge_blocks<'a>(unit: usize, layers: &[Layer<'a>], rest: Rest, range: Range<usize>, out: &mut [u8]) {
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min(start + BLOCK);
        let block = &mut out[start * unit..end * unit];
        let cut = |layer: &Layer<'a>| layer.part(start..end);
        match layers {
            [a, b] if is_bytes(unit, layers) => bytes_4([a, b].map(|l| (cut(l), l.shift)), block),
            [a, b, c] if is_bytes(unit, layers) => bytes_4([a, b, c].map(|l| (cut(l), l.shift)), block),
            [a, b, c, d] if is_bytes(unit, layers) => bytes_4([a, b, c, d].map(|l| (cut(l), l.shift)), block),
            _ => {
                for (nth, layer) in layers.iter().enumerate() {
                    up(unit, Layer { data: cut(layer), ..*layer }, nth == 0, block);
                }
            }
        }
        if let Some(pattern) = rest.pattern {
            fill(unit, pattern, block);
        }
        if let Some((value, missing)) = rest.fill {
            restore(unit, value, missing, block);
        }
        start = end;
    }
}

/// Whether the planes are single bytes of four-byte numbers.
fn is_bytes(unit: usize, layers: &[Layer<'_>]) -> bool {
    unit == 4 && layers.iter().all(|layer| layer.width == 1)
}

/// Four-byte numbers from single-byte planes, each number written once.
#[inline(always)]
fn bytes_4<const N: usize>(parts: [(&[u8], u32); N], out: &mut [u8]) {
    let out = out.as_chunks_mut::<4>().0;
    let count = parts.iter().fold(out.len(), |count, (data, _)| count.min(data.len()));
    let parts = parts.map(|(data, shift)| (&data[..count], shift));
    for (at, number) in out[..count].iter_mut().enumerate() {
        let mut bits = 0u32;
        for (data, shift) in &parts {
            bits |= u32::from(data[at]) << shift;
        }
        *number = bits.to_ne_bytes();
    }
}

/// Extracts one plane from numbers of `unit` bytes: `width` bytes each, `shift` bits up.
pub(crate) fn split(unit: usize, numbers: &[u8], width: usize, shift: u32, out: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    if crate::cpu_features::has_avx2() {
        // SAFETY: the processor has the instructions.
        return unsafe { split_avx2(unit, numbers, width, shift, out) };
    }
    split_plain(unit, numbers, width, shift, out);
}

/// The same loops, for twice as wide registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn split_avx2(unit: usize, numbers: &[u8], width: usize, shift: u32, out: &mut [u8]) {
    split_plain(unit, numbers, width, shift, out);
}

#[inline(always)]
fn split_plain(unit: usize, numbers: &[u8], width: usize, shift: u32, out: &mut [u8]) {
    match (unit, width) {
        (1, _) => down_1_1(numbers, shift, out),
        (2, 1) => down_2_1(numbers, shift, out),
        (2, _) => down_2_2(numbers, shift, out),
        (4, 1) => down_4_1(numbers, shift, out),
        (4, 2) => down_4_2(numbers, shift, out),
        (4, _) => down_4_4(numbers, shift, out),
        (_, 1) => down_8_1(numbers, shift, out),
        (_, 2) => down_8_2(numbers, shift, out),
        (_, 4) => down_8_4(numbers, shift, out),
        _ => down_8_8(numbers, shift, out),
    }
}

/// Whether any number has bits of `low` set although its `exponent` bits are all zeros or all ones.
pub(crate) fn any_odd(unit: usize, pattern: Pattern, numbers: &[u8]) -> bool {
    match unit {
        1 => odd_1(pattern, numbers),
        2 => odd_2(pattern, numbers),
        4 => odd_4(pattern, numbers),
        _ => odd_8(pattern, numbers),
    }
}

/// Whether any number equals `value` except for the lowest `low` bits (fewer than the number has).
pub(crate) fn any_alike(unit: usize, value: u64, low: u32, numbers: &[u8]) -> bool {
    match unit {
        1 => alike_1(value, low, numbers),
        2 => alike_2(value, low, numbers),
        4 => alike_4(value, low, numbers),
        _ => alike_8(value, low, numbers),
    }
}

/// Replaces each number that differs from `value` only in the lowest `low` bits by `value`.
#[inline(always)]
fn restore(unit: usize, value: u64, low: u32, numbers: &mut [u8]) {
    match unit {
        1 => restore_1(value, low, numbers),
        2 => restore_2(value, low, numbers),
        4 => restore_4(value, low, numbers),
        _ => restore_8(value, low, numbers),
    }
}
