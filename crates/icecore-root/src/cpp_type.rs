//! C++ type names of numbers, vectors of numbers, and strings.

use crate::dtype::DType;
use crate::streamer::squeeze;

/// A type whose values can be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CppType {
    Vector(DType),
    String,
    TString,
}

pub(crate) fn parse(name: &str) -> Option<CppType> {
    let plain = squeeze(name).replace("std::", "");
    let plain = plain.strip_prefix("const").unwrap_or(&plain);
    match plain {
        "string" => return Some(CppType::String),
        "TString" => return Some(CppType::TString),
        _ => {}
    }
    let vectors = ["vector<", "ROOT::VecOps::RVec<", "ROOT::RVec<"];
    let inner = vectors.iter().find_map(|v| plain.strip_prefix(v)?.strip_suffix('>'))?;
    // An allocator may follow the element type.
    let inner = inner.split_once(",allocator<").map_or(inner, |(element, _)| element);
    number(inner).map(CppType::Vector)
}

/// The number type of a name without spaces.
fn number(name: &str) -> Option<DType> {
    Some(match name {
        "bool" | "Bool_t" => DType::Bool,
        "char" | "Char_t" | "signedchar" | "int8_t" => DType::Int8,
        "unsignedchar" | "UChar_t" | "uint8_t" | "byte" => DType::UInt8,
        "short" | "Short_t" | "int16_t" | "shortint" => DType::Int16,
        "unsignedshort" | "UShort_t" | "uint16_t" | "unsignedshortint" => DType::UInt16,
        "int" | "Int_t" | "int32_t" => DType::Int32,
        "unsigned" | "unsignedint" | "UInt_t" | "uint32_t" => DType::UInt32,
        "long" | "longlong" | "Long_t" | "Long64_t" | "int64_t" | "longint" | "longlongint" => DType::Int64,
        "unsignedlong" | "unsignedlonglong" | "ULong_t" | "ULong64_t" | "uint64_t" | "size_t" => DType::UInt64,
        "float" | "Float_t" => DType::Float32,
        "double" | "Double_t" => DType::Float64,
        _ => return None,
    })
}
