//! Fields of a structure, little-endian.

use icecore_grid::{Error, ErrorKind, Result};

/// Longest string of the format, without its final NUL.
const LONGEST: usize = u16::MAX as usize - 1;

/// A structure under construction: its header is completed by [`Body::finish`].
#[derive(Debug, Clone, Default)]
pub(crate) struct Body {
    pub bytes: Vec<u8>,
}

/// Class and instance of a structure; (0, 0) points at nothing.
pub(crate) type Target = (u8, u32);

pub(crate) const NOTHING: Target = (0, 0);

impl Body {
    pub fn u16(&mut self, value: u16) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub fn i32(&mut self, value: i32) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub fn f32(&mut self, value: f32) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub fn f64(&mut self, value: f64) -> &mut Self {
        self.put(&value.to_le_bytes())
    }

    pub fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    pub fn pointer(&mut self, target: Target) -> &mut Self {
        self.u16(u16::from(target.0)).u32(target.1)
    }

    pub fn nothing(&mut self, count: usize) -> &mut Self {
        (0..count).for_each(|_| {
            self.pointer(NOTHING);
        });
        self
    }

    /// Appends a string with its length and a final NUL.
    pub fn string(&mut self, text: &str) -> Result<&mut Self> {
        if text.len() > LONGEST || text.contains('\0') {
            let shown: String = text.chars().take(40).collect();
            let what = if text.len() > LONGEST {
                format!("has {} bytes, a frame file holds at most {LONGEST}", text.len())
            } else {
                "contains a NUL character, which frame files use as the end of a name".to_string()
            };
            return Err(Error::new(ErrorKind::Invalid, format!("the text {shown:?}… {what}"))
                .hint("rename the channel, or leave it out"));
        }
        self.u16(text.len() as u16 + 1).put(text.as_bytes()).put(&[0]);
        Ok(self)
    }
}
