//! Array metadata: which documents are accepted, which are rejected and with which message, and that the parser never
//! panics.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;

use icecore_chunk::{ArrayMeta, Chain, DType};
use icecore_grid::{Axis, Error};
use proptest::prelude::*;
use serde_json::{Value, json};

fn base() -> Value {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": [10, 20], "data_type": "float32", "fill_value": 0.0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [5, 7]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd", "configuration": {"level": 3}}],
        "attributes": {"units": "K"}, "dimension_names": ["y", null], "storage_transformers": [],
    })
}

fn with(changes: &[(&str, Value)]) -> Result<ArrayMeta, Error> {
    let mut meta = base();
    for (key, value) in changes {
        meta[*key] = value.clone();
    }
    ArrayMeta::parse(&serde_json::to_vec(&meta).unwrap())
}

fn kind(changes: &[(&str, Value)]) -> &'static str {
    with(changes).unwrap_err().kind.code()
}

#[test]
fn a_plain_array() {
    let meta = with(&[]).unwrap();
    assert_eq!((meta.shape.as_slice(), meta.dtype.clone()), (&[10, 20][..], DType::Float32));
    assert_eq!(meta.dims, [Some("y".to_string()), None]);
    assert_eq!(meta.grid.counts(), [2, 3]);
    assert_eq!(meta.chunk_grid().unwrap(), meta.grid);
    assert_eq!(meta.attributes, json!({"units": "K"}));
    assert_eq!(meta.chain.names(), ["bytes", "zstd"]);
    assert_eq!(meta, with(&[]).unwrap());
}

#[test]
fn scalars_and_empty_arrays() {
    let grid = |chunk: Value| json!({"name": "regular", "configuration": {"chunk_shape": chunk}});
    let scalar =
        with(&[("shape", json!([])), ("chunk_grid", grid(json!([]))), ("dimension_names", json!([]))]).unwrap();
    assert_eq!(scalar.grid.len().unwrap(), 1);
    let empty = with(&[("shape", json!([0, 20])), ("chunk_grid", grid(json!([0, 20])))]).unwrap();
    assert_eq!(empty.grid.len().unwrap(), 0);
}

#[test]
fn rectilinear_grids() {
    let grid =
        |shapes: Value| json!({"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}});
    let meta = with(&[("chunk_grid", grid(json!([[3, 4, [1, 3]], 8])))]).unwrap();
    assert_eq!(meta.grid.counts(), [5, 3]);
    assert_eq!(meta.grid.axes[0], Axis::Rectilinear { len: 10, bounds: vec![0, 3, 7, 8, 9, 10] });
    assert_eq!(meta.grid.axes[1], Axis::Regular { len: 20, chunk: 8 });
    // A run too long to list in memory.
    assert!(with(&[("chunk_grid", grid(json!([[[1, 1u64 << 60]], 8])))]).is_ok());
    for bad in [
        json!([[3, 4]]),
        json!([[3, 4, 0], 8]),
        json!([[3], 8]),
        json!(["x", 8]),
        json!([[[1, 2, 3]], 8]),
        json!([0, 8]),
        json!(5),
    ] {
        assert!(with(&[("chunk_grid", grid(bad.clone()))]).is_err(), "{bad}");
    }
    let sharded = json!([{"name": "sharding_indexed", "configuration": {"chunk_shape": [2, 4],
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}}]);
    let meta = with(&[("chunk_grid", grid(json!([[4, 2, 4], 8]))), ("codecs", sharded.clone())]).unwrap();
    assert_eq!(meta.chunk_grid().unwrap().counts(), [5, 5]);
    assert_eq!(kind(&[("chunk_grid", grid(json!([[3, 7], 8]))), ("codecs", sharded)]), "format");
}

#[test]
fn what_must_be_understood_is_named() {
    for (key, value, name) in [
        ("data_type", json!("bfloat16"), "bfloat16"),
        ("data_type", json!({"name": "acme.decimal", "configuration": {}}), "acme.decimal"),
        ("codecs", json!([{"name": "acme.pack", "configuration": {"x": 1}}]), "acme.pack"),
        ("codecs", json!(["bytes", {"name": "numcodecs.jenkins_lookup3"}]), "numcodecs.jenkins_lookup3"),
        ("codecs", json!([{"name": "numcodecs.zfpy"}]), "numcodecs.zfpy"),
        ("chunk_grid", json!({"name": "acme.hex", "configuration": {}}), "acme.hex"),
        ("chunk_key_encoding", json!({"name": "acme.keys"}), "acme.keys"),
        ("storage_transformers", json!([{"name": "acme.mirror"}]), "acme.mirror"),
        ("acme_extra", json!({"name": "x"}), "acme_extra"),
        ("acme_extra", json!(5), "acme_extra"),
        ("acme_extra", json!({"must_understand": true}), "acme_extra"),
    ] {
        let error = with(&[(key, value)]).unwrap_err();
        assert_eq!(error.kind.code(), "unsupported", "{error:?}");
        assert!(error.message.contains(name), "{error:?}");
        assert!(!error.hint.is_empty(), "{error:?}");
    }
    assert!(with(&[("acme_extra", json!({"must_understand": false, "x": 1}))]).is_ok());
    let optional = json!(["bytes", {"name": "acme.hint", "must_understand": false}, "crc32c"]);
    assert_eq!(with(&[("codecs", optional)]).unwrap().chain.names(), ["bytes", "crc32c"]);
}

/// An unknown key about a chunk's encoding is rejected: ignoring it would give wrong data or none.
#[test]
fn our_codecs_take_no_key_that_they_do_not_know() {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    for (name, own) in [
        ("icecore.h5lzf", json!({})),
        ("icecore.h5lz4", json!({})),
        ("icecore.h5bitshuffle", json!({"itemsize": 4})),
        ("icecore.fpc", json!({})),
        ("icecore.choice", json!({"choices": [[bytes]]})),
    ] {
        let chain = |configuration: &Value| {
            let codec = json!({"name": name, "configuration": configuration});
            let is_of_arrays = matches!(name, "icecore.fpc" | "icecore.choice");
            let codecs = if is_of_arrays { json!([codec]) } else { json!([bytes, codec]) };
            with(&[("data_type", json!("float32")), ("fill_value", json!(0.0)), ("codecs", codecs)])
        };
        assert!(chain(&own).is_ok(), "{name}: {:?}", chain(&own));
        let mut more = own.clone();
        more["level"] = json!(3);
        let error = chain(&more).unwrap_err();
        assert!(error.message.contains("level"), "{name}: {error:?}");
    }
}

#[test]
fn hostile_sizes_are_refused_before_anything_is_allocated() {
    let grid = |chunk: Value| json!({"name": "regular", "configuration": {"chunk_shape": chunk}});
    let huge = 1u64 << 62;
    assert!(with(&[("shape", json!([huge, huge])), ("chunk_grid", grid(json!([5, 7])))]).is_err());
    assert_eq!(kind(&[("chunk_grid", grid(json!([1u64 << 30, 1u64 << 30])))]), "unsupported");
    assert!(with(&[("chunk_grid", grid(json!([huge, huge])))]).is_err());
    assert_eq!(kind(&[("shape", json!([1u64 << 32, 1u64 << 32]))]), "unsupported");
    assert_eq!(kind(&[("shape", json!(vec![1; 65]))]), "format");
    for dtype in [
        json!("r18446744073709551608"),
        json!({"name": "raw_bytes", "configuration": {"length_bytes": 1u64 << 40}}),
        json!({"name": "raw_bytes", "configuration": {"length_bytes": 0}}),
    ] {
        assert_eq!(kind(&[("data_type", dtype)]), "unsupported");
    }
    let mut nested = json!("int8");
    for _ in 0..20 {
        nested = json!({"name": "struct", "configuration": {"fields": [{"name": "a", "data_type": nested}]}});
    }
    assert_eq!(kind(&[("data_type", nested)]), "unsupported");
    let codecs: Vec<Value> = (0..100).map(|_| json!("crc32c")).collect();
    assert_eq!(kind(&[("codecs", json!(codecs))]), "format");
    let mut within = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    for _ in 0..25 {
        within = json!([{"name": "icecore.predict", "configuration": {"codecs": [within]}}]);
    }
    assert_eq!(kind(&[("codecs", within)]), "unsupported");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(ArrayMeta::parse(deep.as_bytes()).unwrap_err().kind.code(), "format");
}

#[test]
fn malformed_documents() {
    for (key, value) in [
        ("zarr_format", json!(2)),
        ("node_type", json!("group")),
        ("shape", json!(5)),
        ("shape", json!([-1, 2])),
        ("shape", json!([1.5, 2])),
        ("data_type", json!(7)),
        ("data_type", json!({"name": 5})),
        ("fill_value", json!("zero")),
        ("fill_value", json!([1])),
        ("codecs", json!([])),
        ("codecs", json!("bytes")),
        ("codecs", json!([{"name": "zstd"}])),
        ("codecs", json!([{"name": "zstd"}, "bytes"])),
        ("codecs", json!(["bytes", "bytes"])),
        ("codecs", json!(["crc32c"])),
        ("codecs", json!([{"name": "bytes", "configuration": {"endian": "middle"}}])),
        ("codecs", json!([{"name": "bytes", "configuration": 5}])),
        ("codecs", json!(["bytes", {"name": "zstd", "configuration": {"level": 99}}])),
        ("codecs", json!(["bytes", {"name": "gzip", "configuration": {"level": "max"}}])),
        ("codecs", json!(["bytes", {"name": "blosc", "configuration": {"cname": "lzma"}}])),
        ("codecs", json!([{"name": "transpose", "configuration": {"order": [0, 0]}}, "bytes"])),
        ("dimension_names", json!(["x"])),
        ("dimension_names", json!([1, 2])),
    ] {
        assert_eq!(kind(&[(key, value.clone())]), "format", "{key} {value}");
    }
    for key in ["zarr_format", "node_type", "shape", "data_type", "chunk_grid", "fill_value", "codecs"] {
        let mut meta = base();
        meta.as_object_mut().unwrap().remove(key);
        let error = ArrayMeta::parse(&serde_json::to_vec(&meta).unwrap()).unwrap_err();
        assert!(error.message.contains(key) || error.message.contains("(none)"), "{error:?}");
    }
    assert!(with(&[("codecs", json!(["vlen-utf8"]))]).is_err());
    assert!(with(&[("data_type", json!("string")), ("fill_value", json!(""))]).is_err());
}

#[test]
fn codecs_of_texts_and_numbers_are_told_apart_in_words() {
    let said = |dtype: &str, codec: &str| {
        let error = with(&[
            ("data_type", json!(dtype)),
            ("fill_value", if dtype == "string" { json!("") } else { json!(0) }),
            ("codecs", json!([{"name": codec}])),
        ])
        .unwrap_err();
        (error.kind.code(), error.message)
    };
    let (kind, message) = said("int32", "vlen-utf8");
    assert_eq!(kind, "unsupported");
    assert!(message.contains("the codec `vlen-utf8` does not suit the data type \"int32\""), "{message}");
    let (kind, message) = said("string", "vlen-bytes");
    assert_eq!(kind, "unsupported");
    assert!(message.contains("the codec `vlen-bytes` does not suit the data type \"string\""), "{message}");
    assert!(said("string", "bytes").1.contains("a codec for numbers does not suit the data type \"string\""));
}

#[test]
fn fill_values_in_all_forms() {
    let fill = |dtype: Value, value: Value| with(&[("data_type", dtype), ("fill_value", value)]).map(|m| m.fill);
    let f4 = |value: Value| fill(json!("float32"), value).map(|b| u32::from_ne_bytes(b.try_into().unwrap()));
    assert_eq!(f4(json!("NaN")).unwrap(), 0x7fc0_0000);
    assert_eq!(f4(json!("0x7fc00001")).unwrap(), 0x7fc0_0001);
    assert_eq!(f4(json!("-Infinity")).unwrap(), f32::NEG_INFINITY.to_bits());
    assert_eq!(f4(json!(1e300)).unwrap(), f32::INFINITY.to_bits());
    assert_eq!(f4(json!(null)).unwrap(), 0);
    assert!(f4(json!("0x7fc0")).is_err() && f4(json!("0x+fc00001")).is_err() && f4(json!("nan")).is_err());
    assert_eq!(fill(json!("float16"), json!(65504)).unwrap(), 0x7bffu16.to_ne_bytes());
    assert_eq!(fill(json!("uint8"), json!(255.0)).unwrap(), [255]);
    assert!(fill(json!("uint8"), json!(256)).is_err() && fill(json!("int8"), json!(0.5)).is_err());
    assert_eq!(fill(json!("bool"), json!(1)).unwrap(), [1]);
    assert!(fill(json!("bool"), json!(2)).is_err());
    assert_eq!(fill(json!("complex64"), json!(["NaN", "0x00000001"])).unwrap()[4..], 1u32.to_ne_bytes());
    assert_eq!(fill(json!("complex128"), json!(2.5)).unwrap()[..8], 2.5f64.to_ne_bytes());
    let time = json!({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}});
    assert_eq!(fill(time.clone(), json!("NaT")).unwrap(), i64::MIN.to_ne_bytes());
    assert!(fill(time, json!("2020-01-01")).is_err());
    assert_eq!(fill(json!("r24"), json!([1, 2, 3])).unwrap(), [1, 2, 3]);
    assert!(fill(json!("r24"), json!([1, 2, 3, 4])).is_err() && fill(json!("r24"), json!([256])).is_err());
    let fields = json!([["a", "int16"], ["b", "r8"]]);
    let old = json!({"name": "structured", "configuration": {"fields": fields}});
    assert_eq!(fill(old.clone(), json!("AQID")).unwrap(), [1, 2, 3]);
    assert_eq!(fill(old.clone(), json!({"a": 258})).unwrap()[2], 0);
    assert!(fill(old, json!({"a": "x"})).is_err());
}

/// Random JSON, small and hostile.
fn any_json() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec![
        "bytes",
        "zstd",
        "blosc",
        "regular",
        "rectilinear",
        "struct",
        "float32",
        "string",
        "vlen-utf8",
        "sharding_indexed",
        "transpose",
        "NaN",
        "0x00",
        "little",
        "inline",
        "end",
        "numcodecs.delta",
        "numcodecs.pcodec",
        "packbits",
        "r16",
        "icecore.h5bitshuffle",
        "name",
        "numpy.datetime64",
        "bitround",
        "raw_bytes",
        "reshape",
        "",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-3i64..9).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        words.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let keys = prop::sample::select(vec![
            "name",
            "configuration",
            "must_understand",
            "chunk_shape",
            "chunk_shapes",
            "kind",
            "codecs",
            "index_codecs",
            "order",
            "length_bytes",
            "unit",
            "scale_factor",
            "fields",
            "data_type",
            "endian",
            "level",
            "typesize",
            "elementsize",
            "shape",
            "itemsize",
            "block_size",
            "compression",
            "keepbits",
            "dtype",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::vec((keys, inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().map(|(k, v)| (k.to_string(), v)).collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_value_of_any_key_is_safe(key in prop::sample::select(vec![
        "shape", "data_type", "chunk_grid", "fill_value", "codecs", "dimension_names", "attributes", "storage_transformers",
        "chunk_key_encoding", "other",
    ]), value in any_json()) {
        let _ = with(&[(key, value)]);
    }

    #[test]
    fn any_codec_with_any_configuration_is_safe(name in prop::sample::select(vec![
        "bytes", "transpose", "zlib", "gzip", "zstd", "numcodecs.lz4", "icecore.h5lz4", "blosc", "numcodecs.shuffle", "reshape",
        "icecore.h5bitshuffle", "imagecodecs_lzf", "bz2", "crc32", "bitround", "numcodecs.delta", "numcodecs.pcodec", "squeeze",
        "packbits", "sharding_indexed", "numcodecs.fixedscaleoffset",
    ]), config in any_json(), behind in any::<bool>()) {
        let codec = json!({"name": name, "configuration": config});
        let list = if behind { json!(["bytes", codec]) } else { json!([codec, "bytes"]) };
        let _ = Chain::parse(&list, &DType::Float32, &[0; 4]);
        let _ = Chain::parse(&json!([codec]), &DType::Float32, &[0; 4]);
    }

    #[test]
    fn any_type_is_safe(value in any_json()) {
        if let Ok(dtype) = DType::parse(&value) {
            prop_assert!(dtype.size() > 0);
            prop_assert_eq!(DType::parse(&dtype.to_json()).unwrap(), dtype);
        }
    }

    #[test]
    fn any_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(ArrayMeta::parse(&bytes).is_err());
    }

    #[test]
    fn documents_with_a_changed_byte_are_safe(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut text = serde_json::to_vec(&base()).unwrap();
        let at = at.index(text.len());
        text[at] = to;
        let _ = ArrayMeta::parse(&text);
    }
}
