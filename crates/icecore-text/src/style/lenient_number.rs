//! Lenient parser of numbers: accepts any common notation.

/// A parsed number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loose {
    /// All digits as one signed number; `None` if 64 bits don't hold it, or with an exponent.
    pub digits: Option<i64>,
    /// The same without a sign.
    pub size: Option<u64>,
    /// Number of digits after the point.
    pub places: u8,
    /// Number of digits before the point.
    pub whole: u8,
    /// Whether there are redundant leading zeros.
    pub zeros: bool,
    pub plus: bool,
    pub exponent: bool,
    /// The nearest double; infinite if written so, or if the number exceeds the range.
    pub value: f64,
}

/// Exact powers of ten.
pub(crate) const POW10: [i64; 19] = {
    let mut all = [1i64; 19];
    let mut i = 1;
    while i < 19 {
        all[i] = all[i - 1] * 10;
        i += 1;
    }
    all
};

impl Loose {
    /// The value, if it is an integer and not a negative zero.
    pub fn unsigned(&self) -> Option<u64> {
        let unit = POW10.get(self.places as usize)?.unsigned_abs();
        self.size.filter(|size| self.value >= 0.0 && size % unit == 0).map(|size| size / unit)
    }
}

/// Spellings of infinity: pandas, R and C, Microsoft's C.
const INFINITE: [&[u8]; 3] = [b"inf", b"infinity", b"1.#inf"];

/// A cell of only one of these has no value: dashes and dots of printed tables, stars of numbers that Fortran had no room for.
const RUNS: [u8; 4] = [b'-', b'.', b'*', b'?'];
/// Markers of missing values, in lower case: those of pandas, R, C and SQL. Runs of one of [`RUNS`] are markers, too.
const MARKERS: [&[u8]; 15] = [
    b"\\n",
    b"na",
    b"n/a",
    b"<na>",
    b"#na",
    b"#n/a",
    b"nan",
    b"-nan",
    b"nat",
    b"null",
    b"none",
    b"1.#ind",
    b"-1.#ind",
    b"1.#qnan",
    b"-1.#qnan",
];

/// Whether a cell is a marker of a missing value.
pub(crate) fn is_marker(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    let is_run = text.first().is_some_and(|first| RUNS.contains(first) && text.iter().all(|byte| byte == first));
    is_run || MARKERS.iter().any(|marker| marker.eq_ignore_ascii_case(text))
}

/// Parses a number with spaces around it: `12`, `-0.5`, `.5`, `+1.`, `1.5E-03`, `1D5`, `-inf`. `None` for anything
/// else.
pub fn loose(text: &[u8]) -> Option<Loose> {
    let text = text.trim_ascii();
    let (sign, rest) = match text.first()? {
        b'-' => (-1, text.get(1..)?),
        b'+' => (1, text.get(1..)?),
        _ => (1, text),
    };
    if INFINITE.iter().any(|name| name.eq_ignore_ascii_case(rest)) {
        let plus = text.first() == Some(&b'+');
        let value = f64::INFINITY * sign as f64;
        return Some(Loose {
            digits: None,
            size: None,
            places: 0,
            whole: 0,
            zeros: false,
            plus,
            exponent: true,
            value,
        });
    }
    let whole = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let mut at = whole;
    let mut places = 0;
    if rest.get(at) == Some(&b'.') {
        places = rest.get(at + 1..)?.iter().take_while(|b| b.is_ascii_digit()).count();
        at += 1 + places;
    }
    if whole + places == 0 || whole + places > 60 {
        return None;
    }
    let exponent = at < rest.len();
    if exponent && !is_exponent(rest.get(at..)?) {
        return None;
    }
    let mut only = rest.get(..at)?.iter().filter(|b| b.is_ascii_digit()).map(|b| u64::from(b - b'0'));
    let add = |sum: u64, digit: u64| sum.checked_mul(10)?.checked_add(digit);
    let size = if exponent { None } else { only.try_fold(0, add) };
    let digits = size.and_then(|size| i64::try_from(i128::from(size) * sign).ok());
    let value = double(text)?;
    // 12E4567 is an identifier rather than a quantity; 1.80e+308 is the largest double in three digits.
    if value.is_infinite() && !rest.iter().any(|b| matches!(b, b'.' | b'+')) {
        return None;
    }
    Some(Loose {
        digits,
        size,
        places: places as u8,
        whole: whole as u8,
        zeros: whole > 1 && rest.first() == Some(&b'0'),
        plus: text.first() == Some(&b'+'),
        exponent,
        value,
    })
}

fn is_exponent(text: &[u8]) -> bool {
    let Some((b'e' | b'E' | b'd' | b'D', rest)) = text.split_first() else { return false };
    let digits = rest.strip_prefix(b"-").or_else(|| rest.strip_prefix(b"+")).unwrap_or(rest);
    !digits.is_empty() && digits.len() <= 4 && digits.iter().all(u8::is_ascii_digit)
}

/// The nearest double; Fortran's `D` is an `E`.
fn double(text: &[u8]) -> Option<f64> {
    let text: Vec<u8> = text.iter().map(|b| if matches!(b, b'd' | b'D') { b'e' } else { *b }).collect();
    std::str::from_utf8(&text).ok()?.parse().ok()
}
