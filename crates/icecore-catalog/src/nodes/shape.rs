//! Icechunk's description of an array (lengths, numbers of chunks, dimension names), from its metadata document.

use icechunk::format::snapshot::{ArrayShape, DimensionName};
use icecore_grid::{Error, ErrorKind, Result};
use serde_json::Value;

/// Shape, chunk counts and dimension names of an array.
#[derive(Debug, PartialEq)]
pub(crate) struct Outline {
    pub shape: ArrayShape,
    pub names: Option<Vec<DimensionName>>,
}

/// Reads `shape`, `chunk_grid` and `dimension_names` of a Zarr v3 array document.
///
/// # Errors
/// Format if it is not such a document; Unsupported for an unknown grid or more than 2^32 chunks along an axis.
pub(crate) fn outline(path: &str, zarr_json: &[u8]) -> Result<Outline> {
    let bad = |what: &str| Error::new(ErrorKind::Format, format!("the metadata of {path}: {what}"));
    let document: Value = serde_json::from_slice(zarr_json).map_err(|e| bad(&e.to_string()))?;
    if document.get("node_type").and_then(Value::as_str) != Some("array") {
        return Err(bad("node_type is not \"array\""));
    }
    let lengths: Option<Vec<u64>> =
        document.get("shape").and_then(Value::as_array).and_then(|s| s.iter().map(Value::as_u64).collect());
    let lengths = lengths.ok_or_else(|| bad("shape is not a list of lengths"))?;
    let grid = document.get("chunk_grid").ok_or_else(|| bad("there is no chunk_grid"))?;
    let name = grid.get("name").and_then(Value::as_str).unwrap_or("");
    let field = match name {
        "regular" => "chunk_shape",
        "rectilinear" => "chunk_shapes",
        _ => {
            return Err(Error::new(
                ErrorKind::Unsupported,
                format!("the metadata of {path}: unknown chunk grid {name:?}"),
            )
            .hint("known are regular and rectilinear"));
        }
    };
    let chunks = grid
        .get("configuration")
        .and_then(|c| c.get(field))
        .and_then(Value::as_array)
        .filter(|c| c.len() == lengths.len());
    let chunks = chunks.ok_or_else(|| bad(&format!("the chunk grid has no {field} for {} axes", lengths.len())))?;
    let mut axes = Vec::with_capacity(lengths.len());
    for (length, chunk) in lengths.iter().zip(chunks) {
        let count =
            count(*length, chunk).ok_or_else(|| bad(&format!("chunks of {chunk} do not fit an axis of {length}")))?;
        let too_many = || {
            Error::new(
                ErrorKind::Unsupported,
                format!("{path}: {count} chunks along one axis, at most {} are possible", u32::MAX),
            )
            .hint("choose larger chunks")
        };
        axes.push((*length, u32::try_from(count).map_err(|_| too_many())?));
    }
    let shape = ArrayShape::new(axes).ok_or_else(|| bad("its shape is rejected by Icechunk"))?;
    Ok(Outline { shape, names: names(&document) })
}

/// Number of chunks along an axis that hold at least one element: from a regular length, or from lengths and `[length,
/// repetitions]` pairs.
fn count(length: u64, chunk: &Value) -> Option<u64> {
    if let Some(chunk) = chunk.as_u64() {
        return (chunk > 0).then(|| length.div_ceil(chunk));
    }
    let (mut count, mut sum) = (0u64, 0u64);
    for entry in chunk.as_array()? {
        let (size, times) = match entry.as_array() {
            None => (entry.as_u64()?, 1),
            Some(run) if run.len() == 2 => (run.first()?.as_u64()?, run.get(1)?.as_u64()?),
            Some(_) => return None,
        };
        let needed = length.saturating_sub(sum).div_ceil(Some(size).filter(|size| *size > 0)?).min(times);
        count = count.checked_add(needed)?;
        sum = sum.checked_add(size.checked_mul(times)?)?;
    }
    (sum >= length).then_some(count)
}

/// Chunks along each axis of an array, counted from its metadata: Icechunk also counts chunks after the end of a
/// rectilinear axis, which are empty and would shift all flat indexes.
pub(crate) fn counts(path: &str, zarr_json: &[u8], shape: &ArrayShape) -> Vec<u32> {
    const RECTILINEAR: &[u8] = b"rectilinear";
    let is_rectilinear = zarr_json.windows(RECTILINEAR.len()).any(|word| word == RECTILINEAR);
    match is_rectilinear.then(|| outline(path, zarr_json)) {
        Some(Ok(outline)) if outline.shape.len() == shape.len() => outline.shape.num_chunks().collect(),
        _ => shape.num_chunks().collect(),
    }
}

fn names(document: &Value) -> Option<Vec<DimensionName>> {
    let names = document.get("dimension_names")?.as_array()?;
    Some(names.iter().map(|name| DimensionName::from(name.as_str())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn counts(document: &Value) -> Result<Vec<u32>> {
        outline("/a", document.to_string().as_bytes()).map(|o| o.shape.num_chunks().collect())
    }

    fn array(shape: &Value, name: &str, field: &str, chunks: &Value) -> Value {
        json!({"node_type": "array", "shape": shape, "chunk_grid": {"name": name, "configuration": {field: chunks}}})
    }

    #[test]
    fn grids() {
        assert_eq!(counts(&array(&json!([10, 0, 7]), "regular", "chunk_shape", &json!([3, 5, 7]))).unwrap(), [4, 0, 1]);
        assert_eq!(counts(&array(&json!([]), "regular", "chunk_shape", &json!([]))).unwrap(), [0u32; 0]);
        assert_eq!(
            counts(&array(&json!([10, 10]), "rectilinear", "chunk_shapes", &json!([[3, [2, 3], 9], 4]))).unwrap(),
            [5, 3]
        );
    }

    #[test]
    fn chunks_behind_the_end_do_not_count() {
        let document = array(&json!([10, 4]), "rectilinear", "chunk_shapes", &json!([[4, [4, 3]], [[2, 5]]]));
        assert_eq!(counts(&document).unwrap(), [3, 2]);
        let stored = ArrayShape::new([(10, 4), (4, 5)]).unwrap();
        assert_eq!(super::counts("/a", document.to_string().as_bytes(), &stored), [3, 2]);
        assert_eq!(super::counts("/a", b"{}", &stored), [4, 5]);
    }

    #[test]
    fn dimension_names() {
        let mut document = array(&json!([4, 4]), "regular", "chunk_shape", &json!([2, 2]));
        document["dimension_names"] = json!(["x", null]);
        let names = outline("/a", document.to_string().as_bytes()).unwrap().names.unwrap();
        assert_eq!(names, [DimensionName::Name("x".into()), DimensionName::NotSpecified]);
    }

    #[test]
    fn refused() {
        let kind = |document: &Value| counts(document).unwrap_err().kind;
        assert_eq!(kind(&json!({"node_type": "group"})), ErrorKind::Format);
        assert_eq!(kind(&array(&json!([4]), "regular", "chunk_shape", &json!([0]))), ErrorKind::Format);
        assert_eq!(kind(&array(&json!([4]), "regular", "chunk_shape", &json!([1, 1]))), ErrorKind::Format);
        assert_eq!(kind(&array(&json!([-4]), "regular", "chunk_shape", &json!([1]))), ErrorKind::Format);
        assert_eq!(kind(&array(&json!([4]), "hexagonal", "chunk_shape", &json!([1]))), ErrorKind::Unsupported);
        assert_eq!(kind(&array(&json!([1u64 << 40]), "regular", "chunk_shape", &json!([1]))), ErrorKind::Unsupported);
        assert_eq!(kind(&array(&json!([10]), "rectilinear", "chunk_shapes", &json!([[3, 3]]))), ErrorKind::Format);
        assert_eq!(
            kind(&array(&json!([10]), "rectilinear", "chunk_shapes", &json!([[[u64::MAX, 3]]]))),
            ErrorKind::Format
        );
    }
}
