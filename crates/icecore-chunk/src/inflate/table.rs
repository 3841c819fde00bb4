//! Lookup tables from the lengths of Huffman codes.

/// Maximum length of a code (RFC 1951).
const LONGEST: usize = 15;
/// Number of symbols of the fixed codes, the maximum; the last two of each kind are invalid.
pub(super) const SYMBOLS: (usize, usize) = (288, 32);

// Layout of an entry, from its lowest bit on: number of bits to drop (of the code and its extra bits), number of bits
// of the code, a value, flags. Both numbers have six bits, as many as a shift uses.
const DROP: u32 = 0x3f;
const END: u32 = 1 << 6;
const CODE_AT: u32 = 8;
const FURTHER: u32 = 1 << 14;
const SPECIAL: u32 = 1 << 15;
const VALUE_AT: u32 = 16;
const LITERAL: u32 = 1 << 31;

/// Meaning of an entry.
#[derive(Clone, Copy)]
pub struct Entry(u32);

impl Entry {
    /// No code has this prefix.
    pub const NONE: Entry = Entry(SPECIAL | 1);
    /// A code without a meaning.
    pub const NOTHING: Entry = Entry(SPECIAL);
    /// The end of a block.
    pub const END: Entry = Entry(SPECIAL | END);

    pub const fn literal(value: usize) -> Entry {
        Entry((value as u32) << VALUE_AT | LITERAL)
    }

    /// A base value to which extra bits after the code are added.
    pub const fn base(value: usize, extra: usize) -> Entry {
        Entry((value as u32) << VALUE_AT | extra as u32)
    }

    #[inline(always)]
    fn coded(self, bits: usize) -> Entry {
        Entry(self.0 + ((bits as u32) << CODE_AT | bits as u32))
    }

    /// Number of bits of the code and its extra bits.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0 & DROP
    }

    /// The same, with other data above the lowest 6 bits.
    #[inline(always)]
    pub fn all(self) -> u32 {
        self.0
    }

    /// The number whose code is at the start of `held`.
    #[inline(always)]
    pub fn value(self, held: u64) -> usize {
        let extra = (held & ((1 << self.bits()) - 1)) >> (self.0 >> CODE_AT & DROP);
        self.least() + extra as usize
    }

    /// The number without its extra bits.
    #[inline(always)]
    fn least(self) -> usize {
        (self.0 >> VALUE_AT) as usize
    }

    #[inline(always)]
    pub fn byte(self) -> Option<u8> {
        (self.0 & LITERAL != 0).then_some((self.0 >> VALUE_AT) as u8)
    }

    /// Whether the entry is neither a literal nor a number.
    #[inline(always)]
    pub fn is_special(self) -> bool {
        self.0 & SPECIAL != 0
    }

    pub fn is_end(self) -> bool {
        self.0 & END != 0
    }

    /// Whether the entry refers to a subtable.
    #[inline(always)]
    fn is_further(self) -> bool {
        self.0 & FURTHER != 0
    }
}

/// A table indexed with `ROOT` bits; subtables for longer codes follow it. `SIZE` is a power of two.
pub struct Table<const ROOT: usize, const SIZE: usize>([Entry; SIZE]);

/// Literals and lengths: 288 codes need at most 144 subtables of 2⁴ entries.
pub type Lengths = Table<11, 8192>;
/// Distances: 32 codes need at most 16 subtables of 2⁶ entries.
pub type Distances = Table<9, 2048>;

/// The tables of a block.
pub struct Tables {
    pub lengths: Lengths,
    pub distances: Distances,
}

impl Tables {
    pub const fn new() -> Self {
        Tables { lengths: Lengths::new(), distances: Distances::new() }
    }
}

impl<const ROOT: usize, const SIZE: usize> Table<ROOT, SIZE> {
    pub const fn new() -> Self {
        Table([Entry::NONE; SIZE])
    }

    /// The entry for the bits at the start of `held`.
    #[inline(always)]
    pub fn find(&self, held: u64) -> Entry {
        self.further(self.first(held), held)
    }

    /// The entry of the first table, which may refer to a subtable.
    #[inline(always)]
    pub fn first(&self, held: u64) -> Entry {
        self.0[held as usize & ((1 << ROOT) - 1)]
    }

    /// Meaning of a special entry from [`Table::first`].
    #[inline(always)]
    pub fn further(&self, entry: Entry, held: u64) -> Entry {
        if entry.is_further() { self.0[entry.value(held) & (SIZE - 1)] } else { entry }
    }

    /// Builds the table from the code lengths of the symbols (in bits, 0: none) and their meanings, with the codes of
    /// RFC 1951 (3.2.2). Returns whether the code is complete; `None` if there are too many codes, or too few of more
    /// than one bit.
    pub fn build(&mut self, lengths: &[u8], meanings: &[Entry]) -> Option<bool> {
        // Counted in two halves, so that successive increments of the same counter do not depend on each other.
        let (front, back) = lengths.split_at(lengths.len() / 2);
        let mut halves = [[0u16; LONGEST + 1]; 2];
        let mut each = |first: u8, second: u8| {
            halves[0][usize::from(first) & LONGEST] += 1;
            halves[1][usize::from(second) & LONGEST] += 1;
        };
        front.iter().zip(back).for_each(|(first, second)| each(*first, *second));
        let [front_counts, mut back_counts] = halves;
        back[front.len()..].iter().for_each(|length| back_counts[usize::from(*length) & LONGEST] += 1);
        let mut counts: [u16; LONGEST + 1] = std::array::from_fn(|bits| front_counts[bits] + back_counts[bits]);
        let unused = std::mem::take(&mut counts[0]);
        let longest = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
        let left = (1..=longest).try_fold(1u32, |left, bits| (2 * left).checked_sub(counts[bits].into()))?;
        if left > 0 && longest > 1 {
            return None;
        }
        // The symbols in code order: start of the symbols of each length, and of those from the second half.
        let mut next = [[unused; LONGEST + 1]; 2];
        next[0][0] = 0;
        for bits in 1..LONGEST {
            next[0][bits + 1] = next[0][bits] + counts[bits];
        }
        next[1] = std::array::from_fn(|bits| next[0][bits] + front_counts[bits]);
        let mut ordered = [0u16; SYMBOLS.0];
        let mut put = |half: usize, length: u8, symbol: usize| {
            let place = &mut next[half][usize::from(length) & LONGEST];
            ordered[usize::from(*place)] = symbol as u16;
            *place += 1;
        };
        for (symbol, (first, second)) in front.iter().zip(back).enumerate() {
            put(0, *first, symbol);
            put(1, *second, front.len() + symbol);
        }
        for (symbol, length) in lengths.iter().enumerate().skip(2 * front.len()) {
            put(1, *length, symbol);
        }
        self.fill(&counts, longest, ordered[usize::from(unused)..lengths.len()].iter(), meanings);
        Some(left == 0)
    }

    /// Writes each symbol's entry to all indexes that begin with its code: codes of `bits` bits fill the first 2^`bits`
    /// entries, which are duplicated for one bit more. The codes come in order and are stored with their first bit
    /// lowest.
    fn fill<'a>(
        &mut self,
        counts: &[u16; LONGEST + 1],
        longest: usize,
        mut symbols: impl Iterator<Item = &'a u16>,
        meanings: &[Entry],
    ) {
        let of = |bits: usize| usize::from(counts[bits]);
        // The next code, first bit highest.
        let mut code = 0u16;
        self.0[0] = Entry::NONE;
        for bits in 1..=ROOT {
            self.0.copy_within(..1 << (bits - 1), 1 << (bits - 1));
            for symbol in symbols.by_ref().take(of(bits)) {
                self.0[held(code, bits) & ((1 << ROOT) - 1)] = meanings[usize::from(*symbol)].coded(bits);
                code += 1;
            }
            code <<= 1;
        }
        let (mut root, mut start) = (usize::MAX, 1 << ROOT);
        let size = 1 << longest.saturating_sub(ROOT);
        for bits in ROOT + 1..=longest {
            for symbol in symbols.by_ref().take(of(bits)) {
                let first = held(code, bits);
                if first & ((1 << ROOT) - 1) != root {
                    start += if root == usize::MAX { 0 } else { size };
                    root = first & ((1 << ROOT) - 1);
                    let place = Entry::base(start, longest - ROOT).coded(ROOT);
                    self.0[root] = Entry(place.0 | SPECIAL | FURTHER);
                }
                let entry = meanings[usize::from(*symbol)].coded(bits);
                let further = &mut self.0[start..start + size];
                further.iter_mut().skip(first >> ROOT).step_by(1 << (bits - ROOT)).for_each(|place| *place = entry);
                code += 1;
            }
            code <<= 1;
        }
    }
}

/// Reverses a code, so that its first bit is lowest.
#[inline(always)]
fn held(code: u16, bits: usize) -> usize {
    usize::from(code.reverse_bits() >> (16 - bits))
}
