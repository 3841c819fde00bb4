//! Element types of FrVect.

use icecore_grid::{Error, ErrorKind, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectType {
    Int8,
    Int16,
    Float64,
    Float32,
    Int32,
    Int64,
    Complex64,
    Complex128,
    UInt16,
    UInt32,
    UInt64,
    UInt8,
}

impl VectType {
    pub fn parse(code: u16) -> Result<VectType> {
        Ok(match code {
            0 => Self::Int8,
            1 => Self::Int16,
            2 => Self::Float64,
            3 => Self::Float32,
            4 => Self::Int32,
            5 => Self::Int64,
            6 => Self::Complex64,
            7 => Self::Complex128,
            9 => Self::UInt16,
            10 => Self::UInt32,
            11 => Self::UInt64,
            12 => Self::UInt8,
            8 => return Err(unsupported("strings (FrVect type 8)")),
            13 | 14 => return Err(unsupported("half-complex numbers (FrVect type 13 or 14)")),
            _ => return Err(crate::problem::corrupt(format!("unknown FrVect type {code}"))),
        })
    }

    /// The number that [`VectType::parse`] takes.
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Int8 => 0,
            Self::Int16 => 1,
            Self::Float64 => 2,
            Self::Float32 => 3,
            Self::Int32 => 4,
            Self::Int64 => 5,
            Self::Complex64 => 6,
            Self::Complex128 => 7,
            Self::UInt16 => 9,
            Self::UInt32 => 10,
            Self::UInt64 => 11,
            Self::UInt8 => 12,
        }
    }

    /// Zarr's name of the type.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Float64 => "float64",
            Self::Float32 => "float32",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
            Self::UInt16 => "uint16",
            Self::UInt32 => "uint32",
            Self::UInt64 => "uint64",
            Self::UInt8 => "uint8",
        }
    }

    /// Bytes of one element.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Self::Complex128 => 16,
            Self::Complex64 => 8,
            _ => self.word(),
        }
    }

    /// Bytes of one number; a complex element holds two.
    #[must_use]
    pub fn word(self) -> usize {
        match self {
            Self::Int8 | Self::UInt8 => 1,
            Self::Int16 | Self::UInt16 => 2,
            Self::Int32 | Self::UInt32 | Self::Float32 | Self::Complex64 => 4,
            Self::Int64 | Self::UInt64 | Self::Float64 | Self::Complex128 => 8,
        }
    }
}

fn unsupported(what: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("vectors of {what} are not supported"))
}
