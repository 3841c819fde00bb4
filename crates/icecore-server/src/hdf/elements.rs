//! Elements as JSON, as items of nested lists.

use icecore::grid::Result;
use icecore::session::Values;

use super::nest::Nest;
use super::select::Reading;
use super::text;

/// Writer of elements as items of nested lists.
pub(super) fn elements(reading: &Reading, values: &Values, nest: &mut Nest, out: &mut String) -> Result<()> {
    let h5 = reading.h5();
    for element in values.bytes.chunks_exact(h5.size().max(1)) {
        nest.open(out);
        text::one(element, &h5, values, reading.not_finite, out)?;
        nest.close(out);
    }
    Ok(())
}
