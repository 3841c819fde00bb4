//! C++ type names: numbers, templates and their arguments.

use crate::dtype::DType;
use crate::streamer::squeeze;

/// A type name without spaces, `std::` and `const`.
pub(crate) fn squeeze_type(name: &str) -> String {
    let name = name.replace("const ", "");
    squeeze(&name).replace("std::", "")
}

/// The name of a template and its arguments; `None` for other names.
pub(crate) fn template(name: &str) -> Option<(&str, Vec<&str>)> {
    let (template, rest) = name.split_once('<')?;
    let rest = rest.strip_suffix('>')?;
    let (mut arguments, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for (at, letter) in rest.char_indices() {
        match letter {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                arguments.push(rest.get(start..at)?);
                start = at + 1;
            }
            _ => {}
        }
    }
    arguments.push(rest.get(start..)?);
    (depth == 0).then_some((template, arguments))
}

/// The number type of a name without spaces.
pub(crate) fn number(name: &str) -> Option<DType> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_have_arguments_at_every_depth() {
        let name = squeeze_type("std::map<const int, std::vector<std::pair<int, float> > >");
        assert_eq!(template(&name), Some(("map", vec!["int", "vector<pair<int,float>>"])));
        assert_eq!(template("vector<float,allocator<float>>"), Some(("vector", vec!["float", "allocator<float>"])));
        assert_eq!(template("int"), None);
        assert_eq!(template("vector<int>>"), None);
        assert_eq!(template("vector<int"), None);
    }
}
