//! Columns: stored elements of a field.

use icecore_grid::{Error, ErrorKind, Result};

use crate::cursor::{Cursor, corrupt, unsupported};
use crate::dtype::DType;

/// A column's type in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnType {
    Bit,
    Byte,
    Char,
    Int8,
    UInt8,
    Int16,
    UInt16,
    Int32,
    UInt32,
    Int64,
    UInt64,
    Real16,
    Real32,
    Real64,
    Index32,
    Index64,
    Switch,
    SplitInt16,
    SplitUInt16,
    SplitInt32,
    SplitUInt32,
    SplitInt64,
    SplitUInt64,
    SplitReal16,
    SplitReal32,
    SplitReal64,
    SplitIndex32,
    SplitIndex64,
    Real32Trunc,
    Real32Quant,
}

use ColumnType as T;

/// In the order of the codes in the file.
const TYPES: [(ColumnType, &str); 30] = [
    (T::Bit, "Bit"),
    (T::Byte, "Byte"),
    (T::Char, "Char"),
    (T::Int8, "Int8"),
    (T::UInt8, "UInt8"),
    (T::Int16, "Int16"),
    (T::UInt16, "UInt16"),
    (T::Int32, "Int32"),
    (T::UInt32, "UInt32"),
    (T::Int64, "Int64"),
    (T::UInt64, "UInt64"),
    (T::Real16, "Real16"),
    (T::Real32, "Real32"),
    (T::Real64, "Real64"),
    (T::Index32, "Index32"),
    (T::Index64, "Index64"),
    (T::Switch, "Switch"),
    (T::SplitInt16, "SplitInt16"),
    (T::SplitUInt16, "SplitUInt16"),
    (T::SplitInt32, "SplitInt32"),
    (T::SplitUInt32, "SplitUInt32"),
    (T::SplitInt64, "SplitInt64"),
    (T::SplitUInt64, "SplitUInt64"),
    (T::SplitReal16, "SplitReal16"),
    (T::SplitReal32, "SplitReal32"),
    (T::SplitReal64, "SplitReal64"),
    (T::SplitIndex32, "SplitIndex32"),
    (T::SplitIndex64, "SplitIndex64"),
    (T::Real32Trunc, "Real32Trunc"),
    (T::Real32Quant, "Real32Quant"),
];

impl ColumnType {
    fn of(code: u16) -> Option<Self> {
        TYPES.get(usize::from(code)).map(|(kind, _)| *kind)
    }

    /// The type with this name in the specification.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        TYPES.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// The name in the specification.
    #[must_use]
    pub fn name(self) -> &'static str {
        TYPES.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// The type of a decoded element; `None` for a switch, which is an index of 8 bytes and a tag of 4.
    #[must_use]
    pub fn dtype(self) -> Option<DType> {
        Some(match self {
            T::Bit => DType::Bool,
            T::Byte | T::Char | T::UInt8 => DType::UInt8,
            T::Int8 => DType::Int8,
            T::Int16 | T::SplitInt16 => DType::Int16,
            T::UInt16 | T::SplitUInt16 => DType::UInt16,
            T::Int32 | T::SplitInt32 => DType::Int32,
            T::UInt32 | T::SplitUInt32 | T::Index32 | T::SplitIndex32 => DType::UInt32,
            T::Int64 | T::SplitInt64 => DType::Int64,
            T::UInt64 | T::SplitUInt64 | T::Index64 | T::SplitIndex64 => DType::UInt64,
            T::Real16 | T::SplitReal16 => DType::Float16,
            T::Real32 | T::SplitReal32 | T::Real32Trunc | T::Real32Quant => DType::Float32,
            T::Real64 | T::SplitReal64 => DType::Float64,
            T::Switch => return None,
        })
    }

    /// Bytes of a decoded element.
    #[must_use]
    pub fn size(self) -> usize {
        self.dtype().map_or(12, DType::size)
    }

    /// Whether the elements are ends of collections, counted within the cluster.
    #[must_use]
    pub fn is_index(self) -> bool {
        matches!(self, T::Index32 | T::Index64 | T::SplitIndex32 | T::SplitIndex64)
    }

    pub(super) fn is_split(self) -> bool {
        self as u16 >= T::SplitInt16 as u16 && self as u16 <= T::SplitIndex64 as u16
    }

    pub(super) fn is_zigzag(self) -> bool {
        matches!(self, T::SplitInt16 | T::SplitInt32 | T::SplitInt64)
    }

    pub(super) fn is_delta(self) -> bool {
        matches!(self, T::SplitIndex32 | T::SplitIndex64)
    }

    /// Whether a stored element may have `bits` bits.
    fn allows(self, bits: u16) -> bool {
        match self {
            T::Bit => bits == 1,
            T::Switch => bits == 96,
            T::Real32Trunc => (10..=31).contains(&bits),
            T::Real32Quant => (1..=32).contains(&bits),
            other => usize::from(bits) == other.size() * 8,
        }
    }
}

/// A physical column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub kind: ColumnType,
    /// Bits of a stored element.
    pub bits: u16,
    /// Id of the field that the column belongs to.
    pub field: usize,
    /// Which representation of the field the column belongs to.
    pub representation: u16,
    /// Index of the first element of a column that was added while entries were written.
    pub first_element: Option<u64>,
    /// Minimum and maximum of a quantised column.
    pub range: Option<(f64, f64)>,
}

impl Column {
    /// A single column of `kind`, for the codec of a page.
    pub fn new(kind: ColumnType, bits: u16, range: Option<(f64, f64)>) -> Result<Self> {
        if !kind.allows(bits) {
            return Err(Error::new(ErrorKind::Format, format!("{} with {bits} bits", kind.name()))
                .hint("the RNTuple specification lists the bits of each column type"));
        }
        let range = range.filter(|(low, high)| low.is_finite() && high.is_finite() && low < high);
        if kind == T::Real32Quant && range.is_none() {
            return Err(corrupt("a quantised column without a range"));
        }
        Ok(Self { kind, bits, field: 0, representation: 0, first_element: None, range })
    }

    pub(super) fn read(cursor: &mut Cursor) -> Result<Self> {
        const DEFERRED: u16 = 1;
        const RANGE: u16 = 2;
        let (code, bits) = (cursor.u16_le()?, cursor.u16_le()?);
        let (field, flags, representation) = (cursor.u32_le()? as usize, cursor.u16_le()?, cursor.u16_le()?);
        // A negative index marks a deferred column, or a suppressed one at its start.
        let first = if flags & DEFERRED != 0 { Some(cursor.i64_le()?.unsigned_abs()) } else { None };
        let range = if flags & RANGE != 0 { Some((cursor.f64_le()?, cursor.f64_le()?)) } else { None };
        let kind = ColumnType::of(code).ok_or_else(|| unsupported(format!("column type {code:#x}")))?;
        Ok(Self { field, representation, first_element: first, ..Self::new(kind, bits, range)? })
    }
}
