//! Entry points for fuzzers and tests on damaged data: parsers whose input is compressed or checksummed in a file.

use icecore_grid::{ReadAt, Result};

use crate::ntuple;
use crate::streamer::Streamers;
use crate::tree::Tree;
use crate::{Basket, DType, Expander, File};

/// Parses a decompressed `TTree` object.
pub fn tree(bytes: &[u8], key_len: usize) -> Result<Tree> {
    Tree::read(bytes, key_len, "TTree", &Streamers::default())
}

/// Parses decompressed class descriptions.
pub fn classes(bytes: &[u8], key_len: usize) -> Result<usize> {
    Ok(Streamers::read(bytes, key_len)?.iter().count())
}

/// Reads all values of a basket in every way.
pub fn basket(bytes: &[u8]) -> Result<()> {
    let basket = Basket::read(bytes, &mut Expander::default())?;
    let _ = basket.counts(10, 4);
    let _ = basket.elements(DType::Float32, 10, 4, &mut Vec::new());
    let _ = basket.elements(DType::Int16, 0, 2, &mut Vec::new());
    basket.strings(0, &mut Vec::new(), &mut Vec::new())
}

/// Parses a header, a footer and a page list, each after 2 bytes of length; their checksums are corrected first.
pub fn envelopes(bytes: &[u8]) -> Result<()> {
    let mut rest = bytes;
    let mut next = || {
        let (len, behind) = rest.split_first_chunk::<2>().unwrap_or((&[0, 0], &[]));
        let (part, behind) = behind.split_at(usize::from(u16::from_le_bytes(*len)).min(behind.len()));
        rest = behind;
        part
    };
    ntuple::read_envelopes([next(), next(), next()])
}

/// Reads the whole content of a file. Errors are expected, panics are not.
pub fn file(bytes: Vec<u8>) -> Result<()> {
    let file = File::open(bytes)?;
    let mut expander = Expander::default();
    for key in file.keys().iter().take(100) {
        if let Ok(tree) = file.tree(key) {
            for branch in &tree.branches {
                for number in 0..branch.baskets.len() + branch.embedded.len() {
                    let Ok(basket) = file.basket(branch, number, &mut expander) else { continue };
                    let _ = basket.counts(10, 8);
                    let _ = basket.elements(DType::Float64, 10, 8, &mut Vec::new());
                    let _ = basket.strings(0, &mut Vec::new(), &mut Vec::new());
                }
            }
        }
        if let Ok(ntuple) = file.ntuple(key) {
            for cluster in 0..ntuple.clusters.len() {
                for column in 0..ntuple.columns.len() {
                    let _ = ntuple.read_column(file.source() as &dyn ReadAt, cluster, column);
                }
            }
        }
    }
    Ok(())
}
