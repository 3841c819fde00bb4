//! What a block's symbols are read from: the next bits, and tables of what they mean.

use super::bits::Bits;
use super::table::Tables;

pub(super) struct SymbolSource {
    pub bits: Bits,
    pub tables: Tables,
}

impl SymbolSource {
    pub fn new() -> Self {
        SymbolSource { bits: Bits::default(), tables: Tables::new() }
    }
}
