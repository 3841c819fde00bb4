//! Frame of a value inside its cell: literals, and spaces up to a width.

use serde::{Deserialize, Serialize};

use crate::bytes;

const SPACES: [u8; 64] = [b' '; 64];

/// A cell is `lead`, the body padded with spaces to `width` (on the left, unless `left`-justified), `tail`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    #[serde(with = "bytes", default, skip_serializing_if = "Vec::is_empty")]
    pub lead: Vec<u8>,
    #[serde(with = "bytes", default, skip_serializing_if = "Vec::is_empty")]
    pub tail: Vec<u8>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub width: u32,
    #[serde(default, skip_serializing_if = "is_false")]
    pub left: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)]
pub(crate) fn is_false(b: &bool) -> bool {
    !*b
}

impl Frame {
    /// The text between the literals; `None` if the literals differ.
    #[inline]
    pub fn inner<'a>(&self, cell: &'a [u8]) -> Option<&'a [u8]> {
        cell.strip_prefix(self.lead.as_slice())?.strip_suffix(self.tail.as_slice())
    }

    /// The body, if `cell` is framed exactly as this frame prints it. The body itself must not have spaces at the
    /// padded end.
    #[inline]
    pub fn body<'a>(&self, cell: &'a [u8]) -> Option<&'a [u8]> {
        let inner = self.inner(cell)?;
        let width = self.width as usize;
        if width == 0 {
            return Some(inner);
        }
        if inner.len() < width {
            return None;
        }
        let pad = if self.left {
            inner.iter().rev().take_while(|b| **b == b' ').count()
        } else {
            inner.iter().take_while(|b| **b == b' ').count()
        };
        let body = if self.left { inner.get(..inner.len() - pad)? } else { inner.get(pad..)? };
        (inner.len() == width || pad == 0).then_some(body)
    }

    /// Appends the framed `body`.
    #[inline]
    pub fn put(&self, body: &[u8], out: &mut Vec<u8>) {
        let pad = (self.width as usize).saturating_sub(body.len());
        out.extend_from_slice(&self.lead);
        if self.left {
            out.extend_from_slice(body);
        }
        match SPACES.get(..pad) {
            Some(spaces) => out.extend_from_slice(spaces),
            None => out.extend(std::iter::repeat_n(b' ', pad)),
        }
        if !self.left {
            out.extend_from_slice(body);
        }
        out.extend_from_slice(&self.tail);
    }
}
