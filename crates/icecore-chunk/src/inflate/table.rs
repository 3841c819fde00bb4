//! Lengths of Huffman codes → tables that are looked up by the next bits of a stream.

/// The longest code (RFC 1951).
const LONGEST: usize = 15;

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
pub(super) struct Entry(u32);

impl Entry {
    /// No code begins so.
    pub const NONE: Entry = Entry(SPECIAL | 1);
    /// The end of a block.
    pub const END: Entry = Entry(SPECIAL | END);

    pub fn literal(value: usize) -> Entry {
        Entry((value as u32) << VALUE_AT | LITERAL)
    }

    /// A number to which so many bits behind the code are added.
    pub fn base(value: usize, extra: usize) -> Entry {
        Entry((value as u32) << VALUE_AT | extra as u32)
    }

    fn coded(self, bits: usize) -> Entry {
        Entry(self.0 + ((bits as u32) << CODE_AT | bits as u32))
    }

    /// Of the code and what belongs to it.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0 & DROP
    }

    /// The number whose code `held` begins with.
    #[inline(always)]
    pub fn value(self, held: u64) -> usize {
        let extra = (held & ((1 << self.bits()) - 1)) >> (self.0 >> CODE_AT & DROP);
        self.least() + extra as usize
    }

    /// The number without the bits behind the code.
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

/// A table that is entered with `ROOT` bits; longer codes go on in further ones behind it. `SIZE` is a power of two.
pub(super) struct Table<const ROOT: usize, const SIZE: usize>([Entry; SIZE]);

/// Bytes and lengths: 288 codes make at most 144 tables of 2⁴ entries behind the first.
pub(super) type Lengths = Table<11, 8192>;
/// Distances: 32 codes, at most 16 tables of 2⁶ behind the first.
pub(super) type Distances = Table<9, 2048>;

impl<const ROOT: usize, const SIZE: usize> Table<ROOT, SIZE> {
    pub fn new() -> Self {
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

    /// What a special entry from [`Table::first`] stands for.
    #[inline(always)]
    pub fn further(&self, entry: Entry, held: u64) -> Entry {
        if entry.is_further() { self.0[entry.value(held) & (SIZE - 1)] } else { entry }
    }

    /// Takes the codes that RFC 1951 (3.2.2) gives to symbols of these lengths (in bits, 0: none). Whether every sequence of
    /// bits means something; `None` where there are too many codes, or too few of more than one bit.
    pub fn build(&mut self, lengths: &[u8], meaning: impl Fn(usize) -> Entry) -> Option<bool> {
        let mut counts = [0u16; LONGEST + 1];
        lengths.iter().for_each(|length| counts[usize::from(*length) & LONGEST] += 1);
        counts[0] = 0;
        let longest = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
        let left = (1..=longest).try_fold(1u32, |left, bits| (2 * left).checked_sub(counts[bits].into()))?;
        if left > 0 && longest > 1 {
            return None;
        }
        let mut next = [0u16; LONGEST + 1];
        for bits in 1..LONGEST {
            next[bits + 1] = (next[bits] + counts[bits]) << 1;
        }
        self.0[..1 << ROOT].fill(Entry::NONE);
        let mut free = 1 << ROOT;
        for (symbol, length) in lengths.iter().enumerate().filter(|(_, length)| **length > 0) {
            let length = usize::from(*length) & LONGEST;
            let code = usize::from(next[length].reverse_bits()) >> (16 - length);
            next[length] += 1;
            self.put(code, length, meaning(symbol).coded(length), longest, &mut free);
        }
        Some(left == 0)
    }

    /// Puts an entry wherever the bits begin with its code; `free`: where the next further table may begin.
    fn put(&mut self, code: usize, length: usize, entry: Entry, longest: usize, free: &mut usize) {
        if length <= ROOT {
            return self.0[..1 << ROOT].iter_mut().skip(code).step_by(1 << length).for_each(|place| *place = entry);
        }
        let root = code & ((1 << ROOT) - 1);
        if !self.0[root].is_further() {
            let place = Entry::base(*free, longest - ROOT).coded(ROOT);
            self.0[root] = Entry(place.0 | SPECIAL | FURTHER);
            *free += 1 << (longest - ROOT);
        }
        let start = self.0[root].least();
        let further = &mut self.0[start..start + (1 << (longest - ROOT))];
        further.iter_mut().skip(code >> ROOT).step_by(1 << (length - ROOT)).for_each(|place| *place = entry);
    }
}
