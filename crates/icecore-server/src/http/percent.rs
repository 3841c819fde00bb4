//! Percent-encoding of names and paths.

/// A name, percent-encoded for a URL.
pub(crate) fn encoded(name: &str) -> String {
    let one = |byte: u8| match byte {
        b'/' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    name.bytes().map(one).collect()
}
