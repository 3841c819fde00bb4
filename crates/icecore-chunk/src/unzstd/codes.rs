//! Meaning of sequence codes (RFC 8878, 3.1.1.3.2.1).

/// Upper limit of the number of codes of any kind.
pub(super) const CODES: usize = 64;

/// A kind of code: literal lengths, offsets, match lengths.
pub(super) struct Kind {
    /// The largest code.
    pub most: usize,
    /// The largest table, as a power of two.
    pub log: u32,
    /// The predefined distribution.
    pub usual: &'static [i16],
    pub usual_log: u32,
    /// Meaning of each code: a base value and a number of extra bits.
    pub meanings: [(u32, u8); CODES],
}

macro_rules! each {
    ($meaning:ident, $most:expr) => {{
        let mut meanings = [(0, 0); CODES];
        let mut code = 0;
        while code <= $most {
            meanings[code] = $meaning(code);
            code += 1;
        }
        meanings
    }};
}

pub(super) static LITERALS: Kind = Kind {
    most: 35,
    log: 9,
    usual: &[
        4, 3, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1,
    ],
    usual_log: 6,
    meanings: each!(literals, 35),
};

pub(super) static OFFSETS: Kind = Kind {
    // The format allows 31 too, but matches from 2 GiB back are left to libzstd.
    most: 30,
    log: 8,
    usual: &[1, 1, 1, 1, 1, 1, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1],
    usual_log: 5,
    meanings: each!(offset, 30),
};

pub(super) static MATCHES: Kind = Kind {
    most: 52,
    log: 9,
    usual: &[
        1, 4, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, -1, -1, -1,
    ],
    usual_log: 6,
    meanings: each!(matches, 52),
};

const fn literals(code: usize) -> (u32, u8) {
    const MORE: [(u32, u8); 20] = [
        (16, 1),
        (18, 1),
        (20, 1),
        (22, 1),
        (24, 2),
        (28, 2),
        (32, 3),
        (40, 3),
        (48, 4),
        (64, 6),
        (128, 7),
        (256, 8),
        (512, 9),
        (1024, 10),
        (2048, 11),
        (4096, 12),
        (8192, 13),
        (16384, 14),
        (32768, 15),
        (65536, 16),
    ];
    if code < 16 { (code as u32, 0) } else { MORE[code - 16] }
}

const fn matches(code: usize) -> (u32, u8) {
    const MORE: [(u32, u8); 21] = [
        (35, 1),
        (37, 1),
        (39, 1),
        (41, 1),
        (43, 2),
        (47, 2),
        (51, 3),
        (59, 3),
        (67, 4),
        (83, 4),
        (99, 5),
        (131, 7),
        (259, 8),
        (515, 9),
        (1027, 10),
        (2051, 11),
        (4099, 12),
        (8195, 13),
        (16387, 14),
        (32771, 15),
        (65539, 16),
    ];
    if code < 32 { (code as u32 + 3, 0) } else { MORE[code - 32] }
}

const fn offset(code: usize) -> (u32, u8) {
    (1 << code, code as u8)
}
