//! Element types that ROOT's columns decode to.

/// An element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DType {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    Float32,
    Float64,
}

impl DType {
    /// The size in bytes.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::Bool | Self::Int8 | Self::UInt8 => 1,
            Self::Int16 | Self::UInt16 | Self::Float16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 => 8,
        }
    }

    /// The name in Zarr's and NumPy's spelling.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::UInt8 => "uint8",
            Self::UInt16 => "uint16",
            Self::UInt32 => "uint32",
            Self::UInt64 => "uint64",
            Self::Float16 => "float16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
        }
    }

    /// The type with this code of `TStreamerElement::fType` or `TLeafElement::fType`; `None` if it is not a plain
    /// number.
    pub(crate) fn of_streamer(code: i32) -> Option<Self> {
        Some(match code {
            1 | 10 => Self::Int8,
            2 => Self::Int16,
            3 => Self::Int32,
            4 | 16 => Self::Int64,
            5 => Self::Float32,
            6 | 13 | 15 => Self::UInt32,
            8 => Self::Float64,
            11 => Self::UInt8,
            12 => Self::UInt16,
            14 | 17 => Self::UInt64,
            18 => Self::Bool,
            _ => return None,
        })
    }

    /// The unsigned type of the same size.
    pub(crate) fn unsigned(self) -> Self {
        match self {
            Self::Int8 => Self::UInt8,
            Self::Int16 => Self::UInt16,
            Self::Int32 => Self::UInt32,
            Self::Int64 => Self::UInt64,
            other => other,
        }
    }
}

/// Reverses each element of `size` bytes from big-endian to native order while copying.
pub(crate) fn from_big_endian(source: &[u8], size: usize, out: &mut [u8]) {
    fn copy<const N: usize>(source: &[u8], out: &mut [u8]) {
        let (from, _) = source.as_chunks::<N>();
        let (to, _) = out.as_chunks_mut::<N>();
        for (to, from) in to.iter_mut().zip(from) {
            *to = *from;
            if cfg!(target_endian = "little") {
                to.reverse();
            }
        }
    }
    match size {
        2 => copy::<2>(source, out),
        4 => copy::<4>(source, out),
        8 => copy::<8>(source, out),
        _ => out.iter_mut().zip(source).for_each(|(to, from)| *to = *from),
    }
}
