//! Block sizes of blosc.

/// c-blosc 1's initial block size, its assumption of a first-level cache.
const CACHE: usize = 32 << 10;
/// Minimum length of a split.
const SPLIT: usize = 128;
/// Minimum and maximum length of a block that is split into the byte positions of its elements.
const SPLIT_BLOCKS: (usize, usize) = (64 << 10, 1 << 20);

/// Parameters of c-blosc's compressor.
#[derive(Clone, Copy)]
pub(super) struct Blocks<'a> {
    pub compressor: &'a str,
    pub level: i32,
    pub typesize: usize,
    /// 0: c-blosc's own choice.
    pub size: usize,
}

impl Blocks<'_> {
    /// The block size to request, so that the bits of (nearly) all of `len` bytes are shuffled.
    ///
    /// c-blosc does not shuffle a block whose number of elements is not a multiple of 8: usually the last block, or the only block
    /// of a chunk. Slightly shorter blocks leave only a few elements in the last one.
    pub fn for_bits(self, len: usize) -> usize {
        let usual = self.usual(len);
        let eight = 8 * self.typesize;
        let whole = |bytes: usize| bytes.is_multiple_of(self.typesize) && (bytes / self.typesize).is_multiple_of(8);
        if usual == 0 || whole(usual) && whole(len % usual) {
            return self.size;
        }
        let block = len / len.div_ceil(usual) / eight * eight;
        let asked = if self.splits(block / self.typesize) { block / self.typesize } else { block };
        let even = Blocks { size: asked, ..self };
        if block > 0 && even.usual(len) == block { asked } else { self.size }
    }

    /// The block size that c-blosc uses (its `compute_blocksize`); 0 for less than an element.
    fn usual(self, len: usize) -> usize {
        if len < self.typesize {
            return 0;
        }
        let mut block = match self.size {
            0 if len < CACHE => len,
            0 => self.by_level(),
            size => size.max(SPLIT),
        };
        if self.level > 0 && self.splits(block) {
            block = (block.min(256 << 10) * self.typesize).clamp(SPLIT_BLOCKS.0, SPLIT_BLOCKS.1);
        }
        let block = block.min(len);
        if block > self.typesize { block / self.typesize * self.typesize } else { block }
    }

    fn by_level(self) -> usize {
        let dense = ["lz4hc", "zlib", "zstd"].contains(&self.compressor);
        let begin = if dense { 2 * CACHE } else { CACHE };
        match self.level {
            0 => begin / 4,
            1 => begin / 2,
            2 => begin,
            3 => begin * 2,
            4 | 5 => begin * 4,
            9 if dense => begin * 16,
            _ => begin * 8,
        }
    }

    /// Whether the byte positions of the elements are compressed as separate streams.
    fn splits(self, block: usize) -> bool {
        self.compressor != "zstd" && self.typesize <= 16 && block / self.typesize >= SPLIT
    }
}

#[cfg(test)]
mod tests {
    use super::Blocks;

    #[test]
    fn few_elements_are_left_behind() {
        for compressor in ["blosclz", "lz4", "lz4hc", "zlib", "zstd"] {
            for typesize in [1, 2, 3, 4, 8] {
                for (len, size) in [(70_001, 0), (379_856, 0), (1_500_002, 0), (3_000_007, 0), (900_004, 256 << 10)] {
                    let len = len / typesize * typesize;
                    let blocks = Blocks { compressor, level: 5, typesize, size };
                    let asked = Blocks { size: blocks.for_bits(len), ..blocks };
                    let block = asked.usual(len);
                    let left = len % block;
                    let bare = if (left / typesize).is_multiple_of(8) { 0 } else { left };
                    let whole = (block / typesize).is_multiple_of(8);
                    assert!(
                        whole && bare <= 8 * typesize * (len / block),
                        "{compressor} {typesize} {len}: {block}, {left}"
                    );
                }
            }
        }
    }

    #[test]
    fn others_stay_as_they_are() {
        let blocks = Blocks { compressor: "zstd", level: 3, typesize: 4, size: 0 };
        assert_eq!(blocks.for_bits(1 << 20), 0);
        assert_eq!(blocks.for_bits(3), 0);
        assert_eq!(blocks.for_bits(62_790 * 4), 125_568, "two blocks and 24 bytes");
    }
}
