//! Properties of JSON documents that icecore relies on, whichever crates share its build: a dependency once enabled
//! these features for us, and values changed when it was removed.
#![allow(clippy::unwrap_used)]

use serde_json::Value;

#[test]
fn numbers_keep_every_bit() {
    for number in
        [9.969_209_968_386_869e36, 0.119_999_997_317_790_99, 26.987_402_748_017_467, f64::MIN_POSITIVE, f64::MAX]
    {
        let text = serde_json::to_string(&number).unwrap();
        let back: f64 = serde_json::from_str(&text).unwrap();
        assert_eq!(back.to_bits(), number.to_bits(), "{text}");
    }
}

#[test]
fn keys_keep_their_order() {
    let text = r#"{"units":"K","long_name":"t","a":{"z":1,"b":2}}"#;
    let document: Value = serde_json::from_str(text).unwrap();
    assert_eq!(document.to_string(), text);
}
