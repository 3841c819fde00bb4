//! `TLeaf`: the type and length of a value in a branch.

use icecore_grid::Result;

use crate::cursor::{Cursor, Within, corrupt};
use crate::dtype::DType;
use crate::object::{Buffer, Object, Pointer, finish, header, pointer, t_named};

/// A leaf of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    pub name: String,
    pub title: String,
    /// `TLeafF`, `TLeafElement`, …
    pub class: String,
    pub len: i32,
    pub unsigned: bool,
    /// Type code of a `TLeafElement`, −1 for other classes.
    pub code: i32,
    /// Identity of the leaf that counts an entry's values.
    pub(crate) counter: Option<usize>,
    pub(crate) id: usize,
}

/// Reads a leaf. A counter that is streamed within it goes to `inline`.
pub(crate) fn read<'a>(object: Object<'a>, buffer: Buffer<'a>, inline: &mut Vec<Leaf>, depth: usize) -> Result<Leaf> {
    if depth > 4 {
        return Err(corrupt("leaves within leaves".to_string()));
    }
    let mut cursor = Cursor::at(buffer.bytes, object.start);
    let outer = header(&mut cursor)?;
    let base = header(&mut cursor)?;
    let (name, title) = t_named(&mut cursor)?;
    let len = cursor.i32()?;
    cursor.take(9)?; // length of the type, offset, range flag
    let unsigned = cursor.u8()? != 0;
    let counter = match pointer(&mut cursor, buffer).within(|| format!("counter of leaf {name:?}"))? {
        Pointer::Null => None,
        Pointer::Seen(id) => Some(id),
        Pointer::New(object) => {
            let counter = read(object, buffer, inline, depth + 1)?;
            inline.push(counter);
            Some(object.id)
        }
    };
    finish(&mut cursor, base)?;
    let code = if object.class == "TLeafElement" {
        cursor.take(4)?;
        cursor.i32()?
    } else {
        -1
    };
    finish(&mut cursor, outer)?;
    Ok(Leaf { name, title, class: object.class.to_string(), len, unsigned, code, counter, id: object.id })
}

impl Leaf {
    /// The element type, if it is a plain number.
    pub(crate) fn dtype(&self) -> Option<DType> {
        let signed = match self.class.as_str() {
            "TLeafO" => DType::Bool,
            "TLeafB" => DType::Int8,
            "TLeafS" => DType::Int16,
            "TLeafI" => DType::Int32,
            "TLeafG" | "TLeafL" => DType::Int64,
            "TLeafF" => DType::Float32,
            "TLeafD" => DType::Float64,
            "TLeafElement" => {
                // Fixed arrays of a type have its code + 20.
                let code = if (21..40).contains(&self.code) { self.code - 20 } else { self.code };
                return DType::of_streamer(code);
            }
            _ => return None,
        };
        Some(if self.unsigned { signed.unsigned() } else { signed })
    }

    /// The dimensions in the title (`x[3][4]`), and whether one of them is a counter's name.
    pub(crate) fn dimensions(&self) -> (Vec<u64>, bool) {
        let (mut fixed, mut named) = (Vec::new(), false);
        let mut rest = self.title.as_str();
        while let Some(open) = rest.find('[') {
            let Some(close) = rest.get(open..).and_then(|r| r.find(']')) else { break };
            let inside = rest.get(open + 1..open + close).unwrap_or_default();
            match inside.parse::<u64>() {
                Ok(n) if n > 0 => fixed.push(n),
                _ if inside.contains(',') => {} // the range of a reduced number
                _ => named = true,
            }
            rest = rest.get(open + close + 1..).unwrap_or_default();
        }
        if fixed.is_empty() && self.len > 1 {
            fixed.push(self.len as u64);
        }
        (fixed, named)
    }
}
