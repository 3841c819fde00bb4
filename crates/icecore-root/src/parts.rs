//! Arrays of a nested column, each with its path below the branch.

use crate::decode::Column;
use crate::dtype::DType;

/// An array of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// `/content/x`; empty for the branch itself.
    pub path: String,
    pub kind: PartKind,
    /// Numbers in native byte order, or characters.
    pub bytes: Vec<u8>,
    /// Lengths of lists or texts.
    pub lengths: Vec<u32>,
}

/// What an array holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartKind {
    Numbers {
        dtype: DType,
        shape: Vec<u64>,
    },
    Text,
    /// Lengths of the lists whose elements are at `content`, beside it.
    Lists,
    /// Members, below it; there is no array.
    Record {
        tuple: bool,
    },
}

impl Column {
    /// The arrays, each list before its elements.
    #[must_use]
    pub fn parts(self) -> Vec<Part> {
        let mut out = Vec::new();
        self.collect(String::new(), &mut out);
        out
    }

    fn collect(self, path: String, out: &mut Vec<Part>) {
        let part = |kind, bytes, lengths| Part { path: path.clone(), kind, bytes, lengths };
        match self {
            Self::Numbers { dtype, shape, bytes } => {
                out.push(part(PartKind::Numbers { dtype, shape }, bytes, Vec::new()));
            }
            Self::Text { lengths, bytes } => out.push(part(PartKind::Text, bytes, lengths)),
            Self::List { lengths, content } => {
                out.push(part(PartKind::Lists, Vec::new(), lengths));
                content.collect(format!("{path}/content"), out);
            }
            Self::Record { tuple, fields } => {
                out.push(part(PartKind::Record { tuple }, Vec::new(), Vec::new()));
                for (name, field) in fields {
                    let name = name.replace('/', "_");
                    field.collect(format!("{path}/{}", if name.is_empty() { "_" } else { &name }), out);
                }
            }
        }
    }
}
