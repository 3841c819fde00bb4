//! Codecs that change values or their type: `cast_value`, `scale_offset`, and NumCodecs' `astype`,
//! `fixedscaleoffset`, `quantize`, `packbits`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use half::f16;
use icecore_chunk::{Chain, DType, Scratch};
use icecore_grid::{Error, ErrorKind, Result};
use serde_json::{Value, json};

fn codec(name: &str, configuration: Value) -> Value {
    json!({"name": name, "configuration": configuration})
}

fn little() -> Value {
    json!({"name": "bytes", "configuration": {"endian": "little"}})
}

fn chain(list: &Value, dtype: &DType) -> Result<Chain> {
    Chain::parse(list, dtype, &vec![0; dtype.size()])
}

fn encoded(list: &Value, dtype: &DType, raw: &[u8]) -> Result<Vec<u8>> {
    let shape = [(raw.len() / dtype.size()) as u64];
    chain(list, dtype)?.encode(raw, &shape, &mut Scratch::new())
}

fn decoded(list: &Value, dtype: &DType, stored: &[u8], count: usize) -> Result<Vec<u8>> {
    let mut out = vec![0xaa; count * dtype.size()];
    let wanted = (0, out.len() as u64);
    chain(list, dtype)?.decode(stored, &[count as u64], wanted, &mut out, &mut Scratch::new())?;
    Ok(out)
}

macro_rules! raw {
    ($t:ty: $($value:expr),*) => { [$($value as $t),*].iter().flat_map(|v: &$t| v.to_le_bytes()).collect::<Vec<u8>>() };
}

fn cast(to: &str, rounding: &str, beyond: Option<&str>) -> Value {
    let mut settings = json!({"data_type": to, "rounding": rounding});
    if let Some(beyond) = beyond {
        settings["out_of_range"] = json!(beyond);
    }
    json!([codec("cast_value", settings), little()])
}

fn refused(result: Result<Vec<u8>>, kind: ErrorKind, word: &str) {
    let error = result.expect_err(word);
    assert_eq!(error.kind, kind, "{}", error.message);
    assert!(error.message.contains(word), "{}", error.message);
}

#[test]
fn floats_are_rounded_to_integers_as_asked() {
    let values = raw!(f64: 2.5, -2.5, 3.5, 2.4, -2.6, -0.0);
    for (rounding, expected) in [
        ("nearest-even", [2, -2, 4, 2, -3, 0]),
        ("nearest-away", [3, -3, 4, 2, -3, 0]),
        ("towards-zero", [2, -2, 3, 2, -2, 0]),
        ("towards-positive", [3, -2, 4, 3, -2, 0]),
        ("towards-negative", [2, -3, 3, 2, -3, 0i32]),
    ] {
        let found = encoded(&cast("int32", rounding, None), &DType::Float64, &values).unwrap();
        assert_eq!(found, expected.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>(), "{rounding}");
    }
}

#[test]
fn integers_beyond_the_range_are_clamped_wrapped_or_refused() {
    let values = raw!(i32: 127, 128, 32_768, -129, -32_769);
    let clamped = encoded(&cast("int8", "nearest-even", Some("clamp")), &DType::Int32, &values).unwrap();
    assert_eq!(clamped, raw!(i8: 127, 127, 127, -128, -128));
    let wrapped = encoded(&cast("int8", "nearest-even", Some("wrap")), &DType::Int32, &values).unwrap();
    assert_eq!(wrapped, raw!(i8: 127, -128, 0, 127, -1i8));
    let wrapped = encoded(&cast("int16", "nearest-even", Some("wrap")), &DType::Int32, &values).unwrap();
    assert_eq!(wrapped, raw!(i16: 127, 128, -32_768, -129, 32_767));
    refused(encoded(&cast("int8", "nearest-even", None), &DType::Int32, &values), ErrorKind::Codec, "element 1");
    let far = raw!(f64: 1e300, -1e300, 300.0);
    let wrapped = encoded(&cast("uint8", "nearest-even", Some("wrap")), &DType::Float64, &far).unwrap();
    assert_eq!(wrapped, [0, 0, 44]);
    let clamped = encoded(&cast("uint8", "nearest-even", Some("clamp")), &DType::Float64, &far).unwrap();
    assert_eq!(clamped, [255, 0, 255]);
    for value in [f64::NAN, f64::INFINITY] {
        for beyond in [None, Some("clamp"), Some("wrap")] {
            let result = encoded(&cast("uint8", "nearest-even", beyond), &DType::Float64, &value.to_le_bytes());
            refused(result, ErrorKind::Codec, "element 0");
        }
    }
}

#[test]
fn numbers_become_narrower_floats() {
    let one = 1.0 + f64::from(f32::EPSILON) / 2.0; // halfway between two float32
    let values = raw!(f64: one, -one, one + 1e-12, 0.1, -0.0, f64::NAN, f64::INFINITY);
    let up = 1.0f32.next_up();
    let tenth = 0.1f32;
    for (rounding, expected) in [
        ("nearest-even", [1.0, -1.0, up, tenth]),
        ("nearest-away", [up, -up, up, tenth]),
        ("towards-zero", [1.0, -1.0, 1.0, tenth.next_down()]),
        ("towards-positive", [up, -1.0, up, tenth]),
        ("towards-negative", [1.0, -up, 1.0, tenth.next_down()]),
    ] {
        let found = encoded(&cast("float32", rounding, None), &DType::Float64, &values).unwrap();
        let floats: Vec<f32> = found.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
        assert_eq!(floats[..4], expected, "{rounding}");
        assert!(floats[4] == 0.0 && floats[4].is_sign_negative() && floats[5].is_nan() && floats[6] == f32::INFINITY);
    }
    // 2²⁴ + 1 lies between two float32, 2⁶³ − 1 just below one; a float16 ends at 65504, and 65520 is the first to round up.
    let whole = raw!(i64: 16_777_217, -16_777_217, i64::MAX);
    let found = encoded(&cast("float32", "towards-zero", None), &DType::Int64, &whole).unwrap();
    assert_eq!(found, raw!(f32: 16_777_216.0, -16_777_216.0, 9.223_371_5e18));
    let half = |value: f64, rounding: &str, beyond: Option<&str>| {
        let found = encoded(&cast("float16", rounding, beyond), &DType::Float64, &value.to_le_bytes())?;
        Ok::<f64, Error>(f16::from_le_bytes([found[0], found[1]]).to_f64())
    };
    assert_eq!(half(65_519.0, "nearest-even", None).unwrap(), 65_504.0);
    assert_eq!(half(65_535.0, "towards-zero", None).unwrap(), 65_504.0);
    assert_eq!(half(-65_520.0, "nearest-even", Some("clamp")).unwrap(), f64::NEG_INFINITY);
    assert!(half(65_520.0, "nearest-even", None).is_err() && half(65_536.0, "towards-zero", None).is_err());
    // Rounded once: rounding to float32 first would give 1 + 2⁻¹⁰ · 2.
    assert_eq!(half(1.0 + 3.0 / 2048.0 - 1e-12, "nearest-even", None).unwrap(), 1.0 + 1.0 / 1024.0);
    assert_eq!(half(-1e-30, "towards-negative", None).unwrap(), -f16::MIN_POSITIVE_SUBNORMAL.to_f64());
}

#[test]
fn mapped_scalars_come_first_both_ways() {
    let map =
        json!({"encode": [["NaN", 0], ["+Infinity", 255], ["NaN", 9]], "decode": [[0, "NaN"], [255, "Infinity"]]});
    let list = json!([codec("cast_value", json!({"data_type": "uint8", "scalar_map": map})), little()]);
    let values = raw!(f32: f32::NAN, 7.0, f32::INFINITY);
    let stored = encoded(&list, &DType::Float32, &values).unwrap();
    assert_eq!(stored, [0, 7, 255]);
    assert_eq!(decoded(&list, &DType::Float32, &stored, 3).unwrap(), values);
    // Zero is not a valid value of this array: it would be stored as a number that means NaN.
    let list = json!([codec("cast_value", json!({"data_type": "uint8", "out_of_range": "wrap"})), little()]);
    let error = Chain::parse(&list, &DType::Float32, &f32::NAN.to_le_bytes()).unwrap_err();
    assert!(error.kind == ErrorKind::Format && error.message.contains("fill value"), "{error:?}");
}

#[test]
fn scale_and_offset_in_the_arrays_own_arithmetic() {
    let list = |settings: Value| json!([codec("scale_offset", settings), little()]);
    let shifted = |scale: u16| {
        let list = list(json!({"offset": 1000, "scale": scale}));
        Chain::parse(&list, &DType::UInt16, &1000u16.to_ne_bytes()).unwrap()
    };
    let (mut scratch, mut out) = (Scratch::new(), vec![0; 4]);
    let stored = shifted(2).encode(&raw!(u16: 1000, 1003), &[2], &mut scratch).unwrap();
    assert_eq!(stored, raw!(u16: 0, 6));
    shifted(2).decode(&stored, &[2], (0, 4), &mut out, &mut scratch).unwrap();
    assert_eq!(out, raw!(u16: 1000, 1003));
    let odd = shifted(4).decode(&stored, &[2], (0, 4), &mut out, &mut scratch);
    refused(odd.map(|()| Vec::new()), ErrorKind::Corrupt, "element 1 of the chunk, 6");
    refused(shifted(2).encode(&raw!(u16: 999), &[1], &mut scratch), ErrorKind::Codec, "element 0 of the chunk, 999");
    let error = chain(&list(json!({"offset": 1000})), &DType::UInt16).unwrap_err();
    assert!(error.kind == ErrorKind::Format && error.message.contains("fill value"), "{error:?}");
    let single = list(json!({"offset": 5, "scale": 0.1}));
    let stored = encoded(&single, &DType::Float32, &raw!(f32: 7.3, -1.0, f32::INFINITY)).unwrap();
    assert_eq!(stored, raw!(f32: (7.3f32 - 5.0) * 0.1f32, (-1.0f32 - 5.0) * 0.1f32, f32::INFINITY));
    let back = decoded(&single, &DType::Float32, &stored, 3).unwrap();
    let expected = |v: f32| (v - 5.0) * 0.1f32 / 0.1f32 + 5.0;
    assert_eq!(back, raw!(f32: expected(7.3), expected(-1.0), f32::INFINITY));
    for wrong in [json!({"scale": 0}), json!({"scale": "half"}), json!({"offset": 1, "dtype": "f4"})] {
        assert_eq!(chain(&list(wrong), &DType::Float32).unwrap_err().kind, ErrorKind::Format);
    }
    assert_eq!(chain(&list(json!({})), &DType::Bool).unwrap_err().kind, ErrorKind::Unsupported);
}

#[test]
fn conversions_follow_each_other_and_only_a_part_is_decoded() {
    let steps = json!([
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        codec("scale_offset", json!({"offset": -10.0, "scale": 0.1})),
        codec("cast_value", json!({"data_type": "uint8", "scalar_map": {"encode": [["NaN", 0]], "decode": [[0, "NaN"]]}})),
        little(),
        {"name": "zstd", "configuration": {"level": 1, "checksum": false}}
    ]);
    let chain = Chain::parse(&steps, &DType::Float64, &f64::NAN.to_ne_bytes()).unwrap();
    assert_eq!(chain.names(), ["transpose", "scale_offset", "cast_value", "bytes", "zstd"]);
    let shape = [30u64, 20];
    let values: Vec<f64> = (0..600).map(|i| f64::from(i % 250) * 10.0).collect();
    let raw: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
    let mut scratch = Scratch::new();
    let stored = chain.encode(&raw, &shape, &mut scratch).unwrap();
    let mut out = vec![0; raw.len()];
    chain.decode(&stored, &shape, (0, raw.len() as u64), &mut out, &mut scratch).unwrap();
    assert!(out == raw);
    let plain =
        Chain::parse(&Value::Array(steps.as_array().unwrap()[1..].to_vec()), &DType::Float64, &f64::NAN.to_ne_bytes());
    let plain = plain.unwrap();
    let stored = plain.encode(&raw, &shape, &mut scratch).unwrap();
    let (low, high) = (8 * 257, 8 * 531);
    plain.decode(&stored, &shape, (low as u64, high as u64), &mut out, &mut scratch).unwrap();
    assert!(out[low..high] == raw[low..high]);
    assert_eq!(
        plain.decode(&stored[..9], &shape, (0, 8), &mut out, &mut scratch).unwrap_err().kind,
        ErrorKind::Corrupt
    );
}

#[test]
fn numcodecs_conversions() {
    let astype = json!([codec("numcodecs.astype", json!({"encode_dtype": "<i2", "decode_dtype": "<f4"})), little()]);
    let stored = encoded(&astype, &DType::Float32, &raw!(f32: 1.9, -1.9, 300.0)).unwrap();
    assert_eq!(stored, raw!(i16: 1, -1, 300));
    assert_eq!(decoded(&astype, &DType::Float32, &stored, 3).unwrap(), raw!(f32: 1.0, -1.0, 300.0));
    assert_eq!(chain(&astype, &DType::Float64).unwrap_err().kind, ErrorKind::Unsupported);
    let quantize = json!([codec("numcodecs.quantize", json!({"digits": 3, "dtype": "<f8"})), little()]);
    assert_eq!(decoded(&quantize, &DType::Float64, &raw!(f64: 0.125, -3.0), 2).unwrap(), raw!(f64: 0.125, -3.0));
    refused(encoded(&quantize, &DType::Float64, &raw!(f64: 0.125)), ErrorKind::Unsupported, "quantize");
    let bits = json!([{"name": "numcodecs.packbits"}, {"name": "bytes"}]);
    let raw = [1u8, 0, 0, 1, 1, 0, 0, 0, 1, 1];
    let stored = encoded(&bits, &DType::Bool, &raw).unwrap();
    assert_eq!(stored, [6, 0b1001_1000, 0b1100_0000]);
    assert_eq!(decoded(&bits, &DType::Bool, &stored, 10).unwrap(), raw);
    refused(decoded(&bits, &DType::Bool, &stored, 11), ErrorKind::Corrupt, "left over");
    refused(decoded(&bits, &DType::Bool, &stored[..2], 10), ErrorKind::Corrupt, "bytes");
}

#[test]
fn fixed_scale_offset_computes_as_numpy_does() {
    let list = |config: Value| json!([codec("numcodecs.fixedscaleoffset", config), little()]);
    // float64 throughout: an offset kept as float32 would be 6e-6 away
    let kelvin = list(json!({"offset": 273.15, "scale": 10, "dtype": "<f8", "astype": "<i2"}));
    let stored = encoded(&kelvin, &DType::Float64, &raw!(f64: 280.0, 273.15, 268.97)).unwrap();
    assert_eq!(stored, raw!(i16: 69, 0, -42));
    let expected = raw!(f64: 69.0 / 10.0 + 273.15, 273.15, -42.0 / 10.0 + 273.15);
    assert_eq!(decoded(&kelvin, &DType::Float64, &stored, 3).unwrap(), expected);
    refused(encoded(&kelvin, &DType::Float64, &raw!(f64: 1e9)), ErrorKind::Codec, "element 0");
    // integers are divided in float64 and truncated
    let tenths = list(json!({"offset": -5, "scale": 0.1, "dtype": "<i4"}));
    let back = decoded(&tenths, &DType::Int32, &raw!(i32: 1, -3, 7), 3).unwrap();
    assert_eq!(back, raw!(i32: (1.0f64 / 0.1 - 5.0) as i32, (-3.0f64 / 0.1 - 5.0) as i32, (7.0f64 / 0.1 - 5.0) as i32));
    // a float32 array of integers is computed in float64, one of float32 in float32
    let wide = list(json!({"offset": 0.1, "scale": 7, "dtype": "<f4", "astype": "|u1"}));
    let expected = raw!(f32: (3.0f64 / 7.0 + 0.1) as f32, (200.0f64 / 7.0 + 0.1) as f32);
    assert_eq!(decoded(&wide, &DType::Float32, &[3, 200], 2).unwrap(), expected);
    let narrow = list(json!({"offset": 0.1, "scale": 7, "dtype": "<f4"}));
    let expected = raw!(f32: 3.0f32 / 7.0 + 0.1);
    assert_eq!(decoded(&narrow, &DType::Float32, &raw!(f32: 3.0), 1).unwrap(), expected);
    let half = list(json!({"offset": 0, "scale": 1, "dtype": "<f2", "astype": "<i4"}));
    let stored = raw!(i32: 3, -7);
    let expected: Vec<u8> = [3.0, -7.0].iter().flat_map(|x| f16::from_f64(*x).to_le_bytes()).collect();
    assert_eq!(decoded(&half, &DType::Float16, &stored, 2).unwrap(), expected);
    for (wrong, kind) in [
        (json!({"offset": 0, "scale": 0, "dtype": "<f4"}), ErrorKind::Format),
        (json!({"offset": "x", "scale": 1, "dtype": "<f4"}), ErrorKind::Format),
        (json!({"offset": 0, "scale": 1, "dtype": ">f4"}), ErrorKind::Unsupported),
        (json!({"offset": 0, "scale": 1, "dtype": "<f8"}), ErrorKind::Unsupported),
    ] {
        assert_eq!(chain(&list(wrong), &DType::Float32).unwrap_err().kind, kind);
    }
}

/// numcodecs' encoding of `[1, 5, -2]` for any byte order in the types' names, if `astype` is given: the codec `bytes`
/// determines the stored order. Without `astype` zarr-python swaps the bytes.
#[test]
fn numcodecs_types_of_either_byte_order() {
    let big = json!({"name": "bytes", "configuration": {"endian": "big"}});
    let all = |name: &str, config: Value| json!([codec(name, config), big]);
    for order in ["<", ">", "|", "="] {
        let named = |code: &str| format!("{order}{code}");
        let delta = all("numcodecs.delta", json!({"dtype": named("i4"), "astype": named("i4")}));
        let stored: Vec<u8> = [1i32, 4, -7].iter().flat_map(|k| k.to_be_bytes()).collect();
        assert_eq!(decoded(&delta, &DType::Int32, &stored, 3).unwrap(), raw!(i32: 1, 5, -2));
        let config = json!({"offset": 3, "scale": 2, "dtype": named("f8"), "astype": named("i2")});
        let stored: Vec<u8> = [-4i16, 4, -10].iter().flat_map(|k| k.to_be_bytes()).collect();
        let scaled = all("numcodecs.fixedscaleoffset", config);
        assert_eq!(decoded(&scaled, &DType::Float64, &stored, 3).unwrap(), raw!(f64: 1.0, 5.0, -2.0));
        let cast = all("numcodecs.astype", json!({"encode_dtype": named("f4"), "decode_dtype": named("f8")}));
        let stored: Vec<u8> = [1f32, 5.0, -2.0].iter().flat_map(|x| x.to_be_bytes()).collect();
        assert_eq!(decoded(&cast, &DType::Float64, &stored, 3).unwrap(), raw!(f64: 1.0, 5.0, -2.0));
    }
    for (name, config) in [
        ("numcodecs.delta", json!({"dtype": ">f4"})),
        ("numcodecs.fixedscaleoffset", json!({"offset": 0, "scale": 1, "dtype": ">f4"})),
        ("numcodecs.quantize", json!({"digits": 2, "dtype": ">f4", "astype": ">f4"})),
    ] {
        assert_eq!(chain(&all(name, config), &DType::Float32).unwrap_err().kind, ErrorKind::Unsupported);
    }
}

#[test]
fn numcodecs_conversions_need_no_encoded_fill_value() {
    for config in [
        codec("numcodecs.fixedscaleoffset", json!({"offset": 0, "scale": 10, "dtype": "<f8", "astype": "<i2"})),
        codec("numcodecs.astype", json!({"encode_dtype": "<i2", "decode_dtype": "<f8"})),
    ] {
        Chain::parse(&json!([config, little()]), &DType::Float64, &f64::NAN.to_ne_bytes()).unwrap();
    }
}
