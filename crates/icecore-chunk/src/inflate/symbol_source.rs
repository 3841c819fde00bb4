//! Source of a block's symbols: the bit reader and the code tables.

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
