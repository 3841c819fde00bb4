//! Decoding table of a pco chunk: tabled asymmetric numeral systems (Duda 2013), with the states arranged as in pco's
//! format.

use pco::data_types::Latent;
use pco::metadata::Bin;

use crate::codecs::word::Word;

/// Content of a state: its symbol's bin, and the transition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<W> {
    pub lower: W,
    /// Number of stream bits that select the next state, u8; number of offset bits, u8; the smallest next state, u16.
    /// Packed in one word, so that a state costs one cache line.
    pub steps: u32,
}

impl<W> Node<W> {
    pub fn bits(&self) -> u32 {
        self.steps & 0xff
    }

    pub fn offset_bits(&self) -> u32 {
        self.steps >> 8 & 0xff
    }

    pub fn next(&self) -> usize {
        (self.steps >> 16) as usize
    }
}

#[derive(Debug)]
pub(super) struct Table<W> {
    /// 2^size_log entries; every next state is a valid index, for any content of the stream.
    pub nodes: Vec<Node<W>>,
    pub size_log: u32,
    /// The largest number of offset bits.
    pub most: u32,
}

impl<W: Word + Latent> Table<W> {
    /// `None` if the weights don't fill the table; the parser of the chunk reports the error.
    pub fn new(size_log: u32, bins: &[Bin<W>]) -> Option<Table<W>> {
        let size = 1usize << size_log;
        let weight: u64 = bins.iter().map(|bin| u64::from(bin.weight)).sum();
        if size_log > 14 || weight != size as u64 {
            return None;
        }
        // Symbols are spread with an odd stride near 3/5 of the table, which visits every state once.
        let stride = (3 * size / 5) | 1;
        let mut symbols = vec![0; size];
        let each = bins.iter().enumerate().flat_map(|(symbol, bin)| std::iter::repeat_n(symbol, bin.weight as usize));
        each.enumerate().for_each(|(step, symbol)| symbols[(stride * step) & (size - 1)] = symbol);
        // A symbol of weight w has the numbers w to 2w - 1, in the order of its states; each is scaled to the range of
        // the table.
        let mut owned: Vec<u32> = bins.iter().map(|bin| bin.weight).collect();
        let node = |symbol: &usize| {
            let number = owned[*symbol];
            owned[*symbol] += 1;
            let bits = size_log - number.ilog2();
            let next = (number << bits) - size as u32;
            let bin = &bins[*symbol];
            Node { lower: bin.lower, steps: next << 16 | bin.offset_bits << 8 | bits }
        };
        let nodes = symbols.iter().map(node).collect();
        Some(Table { nodes, size_log, most: bins.iter().map(|bin| bin.offset_bits).max().unwrap_or(0) })
    }
}
