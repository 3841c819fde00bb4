//! Constraint expressions of DAP2: `t.t[0:2:8][3],lon&lon>310` as projections and clauses.
//!
//! The text comes from strangers: its length is that of a URL, and parsing is one pass over it.

use icecore::grid::{Error, ErrorKind, Result};

/// A hyperslab `[start:stride:stop]`; the last index is part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slice {
    pub start: u64,
    pub stride: u64,
    /// `None`: up to the end of the axis.
    pub last: Option<u64>,
}

impl Slice {
    pub const ALL: Self = Self { start: 0, stride: 1, last: None };
}

/// One name of a path, with its hyperslabs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub name: String,
    pub slices: Vec<Slice>,
}

/// The path of a variable.
pub(super) type Projection = Vec<Step>;

/// `name<number`, or a name beside a list of values in braces.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Clause {
    pub left: String,
    pub operator: &'static str,
    pub right: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Constraint {
    /// Empty: all variables.
    pub projections: Vec<Projection>,
    pub clauses: Vec<Clause>,
}

/// Operators, longer ones first.
const OPERATORS: [&str; 7] = ["<=", ">=", "!=", "=~", "=", "<", ">"];

impl Constraint {
    /// Parses a constraint whose percent-encoding is already removed once, as servers do with a query.
    ///
    /// # Errors
    /// `selection` for text that is not a constraint; `unsupported` for functions, by name.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parts = split(text, '&').into_iter();
        let projections = match parts.next().map(str::trim) {
            None | Some("") => Vec::new(),
            Some(list) => split(list, ',').into_iter().map(projection).collect::<Result<_>>()?,
        };
        let clauses = parts.filter(|part| !part.trim().is_empty()).map(clause).collect::<Result<_>>()?;
        Ok(Self { projections, clauses })
    }
}

pub(super) fn bad(message: String) -> Error {
    Error::new(ErrorKind::Selection, message).hint("a constraint is NAME[START:STRIDE:STOP],NAME.MEMBER&NAME>NUMBER")
}

pub(super) fn missing(name: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("there is no variable {}", shown(name)))
        .hint("the document .dds lists the variables")
}

/// At most this much of a client's text is repeated in messages.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 60;
    let short: String = text.chars().take(LONGEST).map(|c| if c.is_control() { '?' } else { c }).collect();
    if short.len() < text.len() { format!("{short}…") } else { short }
}

/// Divides a text at a separator that is neither quoted nor in brackets or braces.
fn split(text: &str, at: char) -> Vec<&str> {
    let (mut parts, mut from, mut depth, mut is_quoted, mut is_escaped) = (Vec::new(), 0, 0_u32, false, false);
    for (place, character) in text.char_indices() {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth = depth.saturating_sub(1),
            c if c == at && depth == 0 => {
                parts.push(text.get(from..place).unwrap_or_default());
                from = place + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(text.get(from..).unwrap_or_default());
    parts
}

fn projection(text: &str) -> Result<Projection> {
    let text = text.trim();
    function(text)?;
    split(text, '.').into_iter().map(step).collect()
}

/// # Errors
/// `unsupported` for a function's call.
fn function(text: &str) -> Result<()> {
    let name = text.split(['[', '"']).next().and_then(|text| text.split_once('('));
    let Some((name, _)) = name else { return Ok(()) };
    let message = format!("the server function {}() is not available", shown(name.trim()));
    Err(Error::new(ErrorKind::Unsupported, message).hint("select by index: NAME[START:STRIDE:STOP]"))
}

fn step(text: &str) -> Result<Step> {
    let (name, slices) = text.split_at_checked(text.find('[').unwrap_or(text.len())).unwrap_or((text, ""));
    if name.is_empty() {
        return Err(bad(format!("{:?} is not the name of a variable", shown(text))));
    }
    Ok(Step { name: decoded(name), slices: self::slices(slices)? })
}

/// Consecutive hyperslabs.
pub(super) fn slices(text: &str) -> Result<Vec<Slice>> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let inner = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (inner, behind) = inner.ok_or_else(|| bad(format!("{:?} is not a hyperslab", shown(rest))))?;
        found.push(slice(inner)?);
        rest = behind.trim_start();
    }
    Ok(found)
}

/// The text in the brackets of a hyperslab; nothing or `*` is the whole axis.
pub(super) fn slice(text: &str) -> Result<Slice> {
    let number = |part: &str| {
        let part = part.trim();
        let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let parsed = if is_number { part.parse::<u64>().ok() } else { None };
        parsed.ok_or_else(|| bad(format!("[{}]: {:?} is not an index", shown(text), shown(part))))
    };
    let last = |part: &str| if matches!(part.trim(), "" | "*") { Ok(None) } else { number(part).map(Some) };
    let parts: Vec<&str> = text.splitn(4, ':').collect();
    let slice = match *parts.as_slice() {
        [one] if matches!(one.trim(), "" | "*") => Slice::ALL,
        [one] => number(one).map(|at| Slice { start: at, stride: 1, last: Some(at) })?,
        [from, to] => Slice { start: number(from)?, stride: 1, last: last(to)? },
        [from, by, to] => Slice { start: number(from)?, stride: number(by)?, last: last(to)? },
        _ => return Err(bad(format!("[{}] has more than three numbers", shown(text)))),
    };
    if slice.stride == 0 {
        return Err(bad(format!("[{}] has a stride of 0", shown(text))));
    }
    if slice.last.is_some_and(|last| last < slice.start) {
        return Err(bad(format!("[{}] ends before it starts", shown(text))));
    }
    Ok(slice)
}

fn clause(text: &str) -> Result<Clause> {
    let text = text.trim();
    function(text)?;
    let places = OPERATORS.iter().filter_map(|operator| Some((text.find(operator)?, *operator)));
    // Of operators at one place the longest, which is listed first.
    let found = places.reduce(|best, next| if next.0 < best.0 { next } else { best });
    let parts = found.and_then(|(at, operator)| Some((text.get(..at)?, operator, text.get(at + operator.len()..)?)));
    let Some((left, operator, right)) = parts.filter(|(left, _, right)| !left.is_empty() && !right.is_empty()) else {
        return Err(bad(format!("{:?} is not a comparison", shown(text))));
    };
    let right = right.trim();
    let values = right.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    let right = split(values.unwrap_or(right), ',').into_iter().map(|value| value.trim().to_owned()).collect();
    Ok(Clause { left: decoded(left.trim()), operator, right })
}

/// A constraint in which only the signs of its grammar are decoded: `a%20b%5B0%5D` is `a%20b[0]`.
pub(super) fn without_brackets(text: &str) -> String {
    const SIGNS: [(&str, &str); 8] = [
        ("%5B", "["),
        ("%5D", "]"),
        ("%7B", "{"),
        ("%7D", "}"),
        ("%3C", "<"),
        ("%3E", ">"),
        ("%3D", "="),
        ("%22", "\""),
    ];
    let pairs =
        SIGNS.iter().flat_map(|(escape, sign)| [(escape.to_ascii_lowercase(), *sign), ((*escape).to_owned(), *sign)]);
    pairs.fold(text.to_owned(), |text, (escape, sign)| text.replace(&escape, sign))
}

/// A name without the escapes `%XX` of identifiers.
pub(super) fn decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let hex = text.get(at + 1..at + 3).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *byte == b'%') {
            Some(decoded) => {
                out.push(decoded);
                at += 3;
            }
            None => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, slices: &[(u64, u64, Option<u64>)]) -> Step {
        let slices = slices.iter().map(|&(start, stride, last)| Slice { start, stride, last }).collect();
        Step { name: name.to_owned(), slices }
    }

    #[test]
    fn projections() {
        let parse = |text: &str| Constraint::parse(text).unwrap().projections;
        assert_eq!(parse(""), Vec::<Projection>::new());
        assert_eq!(
            parse("t.t[0:2:8][3],lon"),
            [vec![step("t", &[]), step("t", &[(0, 2, Some(8)), (3, 1, Some(3))])], vec![step("lon", &[])]]
        );
        assert_eq!(parse("a[2:*][]"), [vec![step("a", &[(2, 1, None), (0, 1, None)])]]);
        assert_eq!(parse("a%2Eb%20c"), [vec![step("a.b c", &[])]]);
    }

    #[test]
    fn clauses() {
        let parsed = Constraint::parse("lon,lat&tb>=310&s={\"a,b\",\"c\"}&x!=1e5").unwrap();
        assert_eq!(parsed.projections.len(), 2);
        let clause = |left: &str, operator, right: &[&str]| Clause {
            left: left.into(),
            operator,
            right: right.iter().map(|value| (*value).to_owned()).collect(),
        };
        assert_eq!(
            parsed.clauses,
            [clause("tb", ">=", &["310"]), clause("s", "=", &["\"a,b\"", "\"c\""]), clause("x", "!=", &["1e5"])]
        );
    }

    #[test]
    fn bad_text_is_an_error_that_names_it() {
        for (text, part) in [
            ("a[0:0:5]", "stride of 0"),
            ("a[5:2]", "ends before"),
            ("a[99999999999999999999]", "not an index"),
            ("a[-1]", "not an index"),
            ("a[0", "not a hyperslab"),
            ("a[0]b", "not a hyperslab"),
            ("a[0:1:2:3]", "more than three"),
            ("a,,b", "not the name"),
            ("a..b", "not the name"),
            ("geogrid(t,\"1<2\")", "geogrid()"),
            ("f(g(h(t)))", "f()"),
            ("a&grid(t)", "grid()"),
            ("a&b", "not a comparison"),
            ("a&>1", "not a comparison"),
        ] {
            let error = Constraint::parse(text).unwrap_err();
            assert!(error.message.contains(part) && !error.hint.is_empty(), "{text}: {error}");
        }
        let error = Constraint::parse(&"[".repeat(60_000)).unwrap_err();
        assert!(error.message.len() < 200, "{}", error.message.len());
    }

    /// Random changes of real constraints: an answer or an error, never a panic.
    #[test]
    fn mutated_constraints() {
        let seeds = ["t.t[0:2:8][3],lon&lon>310", "a%5B0%5D", "g.h.x[1:*]&s={\"a\",2}", "geogrid(t,10,20)"];
        let alphabet = "[]{}():,.&%=<>!~*\"\\0123456789ab é\u{7f}";
        let letters: Vec<char> = alphabet.chars().collect();
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = |below: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below.max(1) as u64) as usize
        };
        let (mut good, mut failed) = (0, 0);
        for round in 0..100_000 {
            let mut text: Vec<char> = seeds[round % seeds.len()].chars().collect();
            for _ in 0..=next(6) {
                let at = next(text.len() + 1);
                match next(3) {
                    0 => text.insert(at, letters[next(letters.len())]),
                    1 if at < text.len() => drop(text.remove(at)),
                    _ if at < text.len() => text[at] = letters[next(letters.len())],
                    _ => {}
                }
            }
            let text: String = text.into_iter().collect();
            match Constraint::parse(&text) {
                Ok(_) => good += 1,
                Err(error) => {
                    assert!(!error.hint.is_empty() && error.message.len() < 400, "{text}");
                    failed += 1;
                }
            }
        }
        assert!(good > 1000 && failed > 1000, "{good} {failed}");
    }
}
