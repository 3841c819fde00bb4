//! Smallest and largest string per key, in byte order (for UTF-8 that is the order of code points).

use icecore_grid::Result;

use super::text_keys::texts;

/// Offsets into bytes, as in Arrow's columnar format.
pub type Column = (Vec<i64>, Vec<u8>);

/// One accumulator per key; null is skipped.
#[derive(Default)]
pub struct Ends {
    places: Vec<Option<[Vec<u8>; 2]>>,
}

impl Ends {
    /// Adds rows; all key numbers are below `keys`. `offsets` into `bytes` are those of Arrow's columnar format.
    ///
    /// # Errors
    /// `internal` for offsets outside the bytes.
    pub fn add(
        &mut self,
        keys: usize,
        codes: &[u32],
        offsets: &[i64],
        bytes: &[u8],
        valid: Option<&[u8]>,
    ) -> Result<()> {
        self.places.resize(self.places.len().max(keys), None);
        for (code, text) in codes.iter().zip(texts(offsets, bytes, valid, 0..codes.len())) {
            let (Some(text), Some(place)) = (text?, self.places.get_mut(*code as usize)) else { continue };
            let [least, greatest] = place.get_or_insert_with(|| [text.to_vec(), text.to_vec()]);
            if text < least.as_slice() {
                text.clone_into(least);
            } else if text > greatest.as_slice() {
                text.clone_into(greatest);
            }
        }
        Ok(())
    }

    /// Offsets and bytes of the smallest and of the largest strings, in the order of the key numbers, and their
    /// validity (0: no value, an empty string).
    pub fn finish(self) -> ([Column; 2], Vec<u8>) {
        let column = |which: fn(&[Vec<u8>; 2]) -> &[u8]| {
            let (mut offsets, mut bytes) = (vec![0], Vec::new());
            for place in &self.places {
                bytes.extend_from_slice(place.as_ref().map_or(&[], which));
                offsets.push(bytes.len() as i64);
            }
            (offsets, bytes)
        };
        let valid = self.places.iter().map(|place| u8::from(place.is_some())).collect();
        ([column(|[least, _]| least), column(|[_, greatest]| greatest)], valid)
    }
}
