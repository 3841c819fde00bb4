//! Build lookup tables from the lengths of Huffman codes.

/// The longest code (RFC 1951).
const LONGEST: usize = 15;
/// Symbols of the fixed codes, more than others have; the last two of each mean nothing.
pub(super) const SYMBOLS: (usize, usize) = (288, 32);

// An entry, from its lowest bit on: bits to drop (those of the code, and extra ones), bits of the code alone, a value; and what it
// is. Both counts of bits have six, as many as a shift looks at.
const DROP: u32 = 0x3f;
const END: u32 = 1 << 6;
const CODE_AT: u32 = 8;
const FURTHER: u32 = 1 << 14;
const SPECIAL: u32 = 1 << 15;
const VALUE_AT: u32 = 16;
const LITERAL: u32 = 1 << 31;

/// What some bits mean.
#[derive(Clone, Copy)]
pub struct Entry(u32);

impl Entry {
    /// No code begins so.
    pub const NONE: Entry = Entry(SPECIAL | 1);
    /// A code that means nothing.
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

    /// Of the code and what belongs to it.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0 & DROP
    }

    /// The same, and other things above the lowest 6 bits.
    #[inline(always)]
    pub fn all(self) -> u32 {
        self.0
    }

    /// The number whose code `held` begins with.
    #[inline(always)]
    pub fn value(self, held: u64) -> usize {
        let extra = (held & ((1 << self.bits()) - 1)) >> (self.0 >> CODE_AT & DROP);
        self.least() + extra as usize
    }

    /// The number without the bits after the code.
    #[inline(always)]
    fn least(self) -> usize {
        (self.0 >> VALUE_AT) as usize
    }

    #[inline(always)]
    pub fn byte(self) -> Option<u8> {
        (self.0 & LITERAL != 0).then_some((self.0 >> VALUE_AT) as u8)
    }

    /// Neither a byte nor a number.
    #[inline(always)]
    pub fn is_special(self) -> bool {
        self.0 & SPECIAL != 0
    }

    pub fn is_end(self) -> bool {
        self.0 & END != 0
    }

    /// Whether it is only the place of a further table.
    #[inline(always)]
    fn is_further(self) -> bool {
        self.0 & FURTHER != 0
    }
}

/// A table that is entered with `ROOT` bits; longer codes go on in further ones after it. `SIZE` is a power of two.
pub struct Table<const ROOT: usize, const SIZE: usize>([Entry; SIZE]);

/// Bytes and lengths: 288 codes make at most 144 tables of 2⁴ entries after the first.
pub type Lengths = Table<11, 8192>;
/// Distances: 32 codes, at most 16 tables of 2⁶ after the first.
pub type Distances = Table<9, 2048>;

/// Those of a block.
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

    /// What `held` begins with.
    #[inline(always)]
    pub fn find(&self, held: u64) -> Entry {
        self.further(self.first(held), held)
    }

    /// The same, where it need not be special yet.
    #[inline(always)]
    pub fn first(&self, held: u64) -> Entry {
        self.0[held as usize & ((1 << ROOT) - 1)]
    }

    /// Meaning of a special entry from [`Table::first`].
    #[inline(always)]
    pub fn further(&self, entry: Entry, held: u64) -> Entry {
        if entry.is_further() { self.0[entry.value(held) & (SIZE - 1)] } else { entry }
    }

    /// Takes the codes that RFC 1951 (3.2.2) gives to symbols of these lengths (in bits, 0: none) and of these meanings. Whether
    /// every sequence of bits means something; `None` if there are too many codes, or too few of more than one bit.
    pub fn build(&mut self, lengths: &[u8], meanings: &[Entry]) -> Option<bool> {
        // By halves: a count waits for the one before of the same length, which one half's does not for the other's.
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
        // The symbols in the order of their codes: where those of a length begin, and those of its second half.
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

    /// Puts each symbol's meaning wherever the bits begin with its code: codes of `bits` bits fill the first 2^`bits` entries,
    /// which for one bit more are there twice. Codes come in their order; they are held with their first bit lowest.
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

/// A code with its first bit lowest.
#[inline(always)]
fn held(code: u16, bits: usize) -> usize {
    usize::from(code.reverse_bits() >> (16 - bits))
}
