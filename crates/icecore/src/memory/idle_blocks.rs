//! Choice of the idle block for a request, and of the blocks to free when there are too many. Does not access the
//! memory.

/// An unused block of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub start: usize,
    pub bytes: usize,
}

/// Idle blocks, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Idle {
    blocks: Vec<Block>,
    bytes: usize,
}

impl Idle {
    pub const fn new() -> Self {
        Self { blocks: Vec::new(), bytes: 0 }
    }

    /// Total bytes of all blocks.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The smallest block of at least `bytes`, unless less than four fifths of it would be used.
    pub fn take(&mut self, bytes: usize) -> Option<Block> {
        let fits = |block: &Block| block.bytes >= bytes && block.bytes - bytes <= bytes / 4;
        let (at, _) = self.blocks.iter().enumerate().filter(|(_, b)| fits(b)).min_by_key(|(_, b)| b.bytes)?;
        let block = self.blocks.remove(at);
        self.bytes -= block.bytes;
        Some(block)
    }

    /// Adds a block, and returns those that exceed `cap` bytes: the oldest ones, or the block itself.
    pub fn put(&mut self, block: Block, cap: usize) -> Vec<Block> {
        if block.bytes > cap {
            return vec![block];
        }
        self.blocks.push(block);
        self.bytes += block.bytes;
        self.shrink(cap)
    }

    /// Removes the oldest blocks until the others are within `cap` bytes.
    pub fn shrink(&mut self, cap: usize) -> Vec<Block> {
        let mut count = 0;
        while self.bytes > cap
            && let Some(block) = self.blocks.get(count)
        {
            self.bytes -= block.bytes;
            count += 1;
        }
        self.blocks.drain(..count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(sizes: &[usize], cap: usize) -> (Idle, Vec<Block>) {
        let mut idle = Idle::new();
        let gone = sizes.iter().enumerate().flat_map(|(start, bytes)| idle.put(Block { start, bytes: *bytes }, cap));
        let gone = gone.collect();
        (idle, gone)
    }

    #[test]
    fn the_best_fit_is_taken_and_never_one_that_is_far_too_large() {
        let (mut idle, _) = idle(&[126, 110, 125, 99], 1000);
        assert_eq!(idle.take(100), Some(Block { start: 1, bytes: 110 }));
        assert_eq!(idle.take(100), Some(Block { start: 2, bytes: 125 }));
        assert_eq!(idle.take(100), None, "126 is more than a quarter too large, 99 too small");
        assert_eq!(idle.bytes(), 126 + 99);
    }

    #[test]
    fn the_oldest_go_first_and_the_cap_holds() {
        let (mut idle, gone) = idle(&[40, 30, 50, 120], 100);
        assert_eq!(gone, [Block { start: 0, bytes: 40 }, Block { start: 3, bytes: 120 }]);
        assert_eq!(idle.bytes(), 80);
        assert_eq!(idle.shrink(0).len(), 2);
        assert_eq!((idle.bytes(), idle.take(30)), (0, None));
    }
}
