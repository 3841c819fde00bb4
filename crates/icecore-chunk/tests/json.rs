//! What icecore relies on in JSON documents, whichever crates share its build: a dependency once brought these features
//! along, and values changed when it went.
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
