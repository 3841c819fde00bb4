//! What a block's symbols are read from: the next bits, and tables of what they mean.

use super::bits::Bits;
use super::table::Tables;

pub(super) struct Coded {
    pub bits: Bits,
    pub tables: Tables,
}

impl Coded {
    pub fn new() -> Self {
        Coded { bits: Bits::default(), tables: Tables::new() }
    }
}
