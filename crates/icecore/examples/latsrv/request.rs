//! Parse a request's header: method, path, the headers that the server uses.

use std::io::{self, Read};

const MAX_HEAD: usize = 16 << 10;

/// The header of a request. Header names are lower case.
pub struct Head {
    pub method: String,
    /// Percent-decoded, without the query.
    pub path: String,
    pub keep_alive: bool,
    headers: Vec<(String, String)>,
}

impl Head {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// Whether there is a body, which would have to be read before the next request; no request here has one.
    pub fn has_body(&self) -> bool {
        self.header("transfer-encoding").is_some() || self.header("content-length").is_some_and(|n| n != "0")
    }
}

/// The next request's header, or `None` if the client closed between two requests. `pending` keeps bytes of later
/// requests.
pub fn read_head(stream: &mut impl Read, pending: &mut Vec<u8>) -> io::Result<Option<Head>> {
    let mut block = [0u8; 4096];
    loop {
        if let Some(end) = pending.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = parse(&pending[..end]);
            pending.drain(..end + 4);
            return head.map(Some).ok_or_else(|| io::Error::other("not an HTTP request"));
        }
        if pending.len() > MAX_HEAD {
            return Err(io::Error::other("the head of the request is too long"));
        }
        match stream.read(&mut block)? {
            0 if pending.is_empty() => return Ok(None),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => pending.extend_from_slice(&block[..n]),
        }
    }
}

fn parse(bytes: &[u8]) -> Option<Head> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut lines = text.split("\r\n");
    let mut first = lines.next()?.split(' ');
    let (method, target, version) = (first.next()?, first.next()?, first.next()?);
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_string()))
        .collect();
    let connection = headers.iter().find(|(n, _)| n == "connection").map_or("", |(_, v)| v.as_str());
    let keep_alive = version == "HTTP/1.1" && !connection.eq_ignore_ascii_case("close");
    let path = percent_decode(target.split(['?', '#']).next()?)?;
    Some(Head { method: method.to_string(), path, keep_alive, headers })
}

fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            out.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            out.push(b);
        }
    }
    String::from_utf8(out).ok()
}

/// Meaning of a `Range` header for `length` bytes.
#[derive(Debug, PartialEq)]
pub enum Range {
    /// No range, or one that the standard allows a server to ignore (several ranges, another unit, invalid syntax).
    Whole,
    /// Offset and length, not empty.
    Part(u64, u64),
    Unsatisfiable,
}

pub fn parse_range(header: Option<&str>, length: u64) -> Range {
    let Some((first, last)) = header.and_then(|h| h.strip_prefix("bytes=")).and_then(|h| h.trim().split_once('-'))
    else {
        return Range::Whole;
    };
    match (first.parse::<u64>(), last.parse::<u64>()) {
        (Ok(first), Ok(last)) if first > last => Range::Whole,
        (Ok(first), _) if first >= length => Range::Unsatisfiable,
        (Ok(first), Ok(last)) => Range::Part(first, last.min(length - 1) - first + 1),
        (Ok(first), Err(_)) if last.is_empty() => Range::Part(first, length - first),
        (Err(_), Ok(suffix)) if first.is_empty() => match suffix.min(length) {
            0 => Range::Unsatisfiable,
            n => Range::Part(length - n, n),
        },
        _ => Range::Whole,
    }
}
