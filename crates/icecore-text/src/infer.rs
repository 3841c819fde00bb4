//! Inference of a column's style from a sample of cells: the style that prints most of them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

use crate::frame::Frame;
use crate::style::column::{Column, Fit, LONGEST, PADDED, Quotes, Style, exchanged, is_blank, loose_cell};
use crate::style::fraction::{POINT, digits, field, mark};
use crate::style::lenient_number::{Loose, is_marker};
use crate::style::number::{NumberStyle, to_double};
use crate::style::real::{RealForm, RealStyle};
use crate::style::time::{TimeStyle, zone};
use crate::style::words::{Quote, WordStyle};
use crate::values::NO_UNSIGNED;

/// Information from a label about a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    Any,
    Number,
    Hex,
    Words,
    /// Text, even if all cells look like times.
    Text,
    /// Any type; the decimal mark of numbers is a comma.
    Comma,
}

/// Whether a cell has no value: it is blank, or a marker such as NA.
pub fn valueless(cell: &[u8]) -> bool {
    is_blank(cell) || is_marker(cell.trim_ascii().trim_matches_quotes())
}

/// Percentage of the cells with a value that must be numbers (or times) for the column to have that type.
const MOST: usize = 80;
/// Number of cells that are tried with all patterns of times.
const TRIED: usize = 8;
/// Patterns with leading zeros before those without, day first before month first: the first of equals is chosen.
const DATES: [&str; 34] = [
    "%Y-%m-%d", "%Y-%j", "%d-%b-%Y", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%Y",
    "%Y-%n-%e", "%Y/%n/%e", "%e/%n/%Y", "%n/%e/%Y", "%e-%n-%Y", "%n-%e-%Y", "%e.%n.%Y", "%d-%B-%Y", "%e-%b-%Y",
    "%e-%B-%Y", "%d %b %Y", "%d %B %Y", "%e %b %Y", "%e %B %Y", "%d%b%Y", "%d%B%Y", "%Y-%b-%d", "%Y-%B-%d", "%Y %b %d",
    "%Y %B %d", "%Y%m%d", "%Y/%j", "%Y:%j", "%Y.%m.%d", "",
];
/// Of these patterns, numbers of documents look the same.
const NUMBERED: [&str; 2] = ["%Y/%j", "%Y:%j"];
/// Patterns with seconds, after which a fraction may follow.
const TIMES: [&str; 7] = ["", "%H:%M", "%H:%M:%S", "%k:%M", "%k:%M:%S", "%H%M%S", "%H%M"];
/// Hours of a 12-hour clock with its marker.
const HALVES: [&str; 8] =
    ["%I:%M %p", "%I:%M:%S %p", "%l:%M %p", "%l:%M:%S %p", "%I:%M%p", "%I:%M:%S%p", "%l:%M%p", "%l:%M:%S%p"];

fn commonest<T: Hash + Eq + Ord + Clone>(all: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: HashMap<T, usize> = HashMap::new();
    all.for_each(|item| *counts.entry(item).or_default() += 1);
    counts.into_iter().max_by(|a, b| (a.1, &b.0).cmp(&(b.1, &a.0))).map(|(item, _)| item)
}

/// The column that prints most of `cells` unchanged.
///
/// * `fixed`: all cells have the same width, without exception.
/// * `longest`: the maximum length of a cell according to a label, if known.
pub fn infer_style(
    name: &str,
    cells: &[&[u8]],
    hint: Hint,
    fixed: bool,
    longest: Option<u32>,
    separator: u8,
) -> Column {
    if hint == Hint::Comma {
        let exchanged: Vec<Vec<u8>> = cells.iter().map(|cell| exchanged(cell)).collect();
        let others: Vec<&[u8]> = exchanged.iter().map(Vec::as_slice).collect();
        let column = infer_style(name, &others, Hint::Any, fixed, longest, separator);
        if !matches!(column.style, Style::Words(_)) {
            return Column { comma: true, ..column };
        }
        return infer_style(name, cells, Hint::Any, fixed, longest, separator);
    }
    let filled: Vec<&[u8]> = cells.iter().copied().filter(|c| !is_blank(c)).collect();
    let sample = Sample { name, all: cells, cells: &filled, fixed, longest, separator };
    let (lead, tail) = sample.literals();
    let frame = Frame { lead, tail, ..Frame::default() };
    let numbers = || sample.numbers(&frame);
    let found = match hint {
        Hint::Number => {
            let numbers = numbers();
            let whole =
                Some(&numbers).filter(|numbers| too_long(numbers)).and_then(|some| sample.unsigned(&frame, some));
            whole.or_else(|| sample.number(&frame, &numbers)).or_else(|| Some(sample.integers(&frame)))
        }
        Hint::Hex => sample.hex(&frame),
        Hint::Any => {
            let sound = |some: &Vec<Loose>| sample.mostly(&frame, some.len()) && !sample.codes();
            Some(numbers()).filter(sound).and_then(|numbers| match too_long(&numbers) {
                true => sample.unsigned(&frame, &numbers),
                false => sample.number(&frame, &numbers),
            })
        }
        _ => None,
    };
    let time = || sample.time(&frame).filter(|_| hint != Hint::Text);
    found.or_else(time).unwrap_or_else(|| sample.words(&frame))
}

/// Whether the column has only integers, including some that exceed `i64`: these are identifiers rather than
/// quantities, and doubles would confuse them.
fn too_long(numbers: &[Loose]) -> bool {
    numbers.iter().all(|n| n.places == 0 && !n.exponent) && numbers.iter().any(|n| n.digits.is_none())
}

/// The numbers that are multiples of 10^-scale as doubles, and the scale.
fn decimals(numbers: &[Loose]) -> (Vec<Loose>, u8) {
    let multiple = |n: &Loose, scale: u8| {
        n.digits.zip(scale.checked_sub(n.places)).is_some_and(|(d, more)| {
            let more = 10i64.checked_pow(u32::from(more));
            more.and_then(|m| d.checked_mul(m)).is_some_and(|k| scale == 0 || to_double(k, scale).is_some())
        })
    };
    let own = numbers.iter().filter(|n| multiple(n, n.places));
    let scale = own.map(|n| n.places).max().unwrap_or(0);
    (numbers.iter().copied().filter(|n| multiple(n, scale)).collect(), scale)
}

/// The size of a column of texts of up to this many bytes.
fn room(longest: u32) -> u32 {
    if longest > PADDED { LONGEST } else { longest }
}

struct Sample<'a> {
    name: &'a str,
    all: &'a [&'a [u8]],
    cells: &'a [&'a [u8]],
    fixed: bool,
    longest: Option<u32>,
    separator: u8,
}

impl Sample<'_> {
    fn column(&self, frame: &Frame, style: Style, scale: u8, size: u32) -> Column {
        Column { name: self.name.to_owned(), frame: frame.clone(), style, scale, size, nearest: false, comma: false }
    }

    /// The literals around most values: an opening quote with the spaces before it, a closing quote, a carriage return.
    fn literals(&self) -> (Vec<u8>, Vec<u8>) {
        let cells = if self.cells.is_empty() { self.all } else { self.cells };
        let around = |cell: &&'_ [u8]| {
            let (inner, returned) = cell.strip_suffix(b"\r").map_or((*cell, false), |inner| (inner, true));
            let spaces = inner.iter().take_while(|b| **b == b' ').count();
            let body = inner.get(spaces..).unwrap_or_default();
            let quoted = body.len() >= 2 && body.starts_with(b"\"") && body.ends_with(b"\"");
            let lead = inner.get(..=spaces).filter(|_| quoted).unwrap_or_default();
            let tail: &[u8] = match (quoted, returned) {
                (true, true) => b"\"\r",
                (true, false) => b"\"",
                (false, true) => b"\r",
                (false, false) => b"",
            };
            (lead.to_vec(), Reverse(tail.to_vec())) // if the last row lacks its carriage return, prefer the one with it
        };
        // Missing-value markers are unquoted beside quoted values, and may be all cells of the sample.
        let values = commonest(cells.iter().filter(|cell| !is_marker(cell)).map(around));
        values
            .or_else(|| commonest(cells.iter().map(around)))
            .map_or_else(Default::default, |(lead, Reverse(tail))| (lead, tail))
    }

    fn inner<'b>(&self, frame: &Frame, cell: &'b [u8]) -> &'b [u8] {
        frame.inner(cell).unwrap_or(cell)
    }

    fn numbers(&self, frame: &Frame) -> Vec<Loose> {
        self.cells.iter().filter_map(|cell| loose_cell(frame, cell)).collect()
    }

    /// Whether numbers are quoted with leading zeros: these are identifiers rather than quantities.
    fn codes(&self) -> bool {
        let mut quoted = self.cells.iter().filter(|cell| cell.contains(&b'"'));
        quoted.any(|cell| loose_cell(&Frame::default(), cell).is_some_and(|n| n.zeros))
    }

    fn mostly(&self, frame: &Frame, valued: usize) -> bool {
        let bare = |cell: &&&[u8]| is_marker(self.inner(frame, cell).trim_ascii().trim_matches_quotes());
        let without = self.cells.iter().filter(bare).count();
        valued > 0 && valued * 100 >= (self.cells.len() - without) * MOST
    }

    /// The frame with the width and the side to which most cells are padded.
    fn padded(&self, frame: &Frame) -> Frame {
        let inners: Vec<&[u8]> = self.cells.iter().map(|c| self.inner(frame, c)).collect();
        let right = inners.iter().filter(|c| c.starts_with(b" ")).count();
        let left = inners.iter().filter(|c| c.ends_with(b" ")).count();
        let padded = inners.iter().filter(|c| c.starts_with(b" ") || c.ends_with(b" "));
        let width = match commonest(padded.map(|c| c.len())) {
            Some(width) => width,
            None if self.fixed => self.all.first().map_or(0, |c| self.inner(frame, c).len()),
            None => 0,
        };
        Frame { width: width as u32, left: left > right, ..frame.clone() }
    }

    /// Number of cells that `column` prints unchanged.
    fn exact(&self, column: &Column) -> usize {
        self.count(column, |fit| fit == Fit::Exact)
    }

    /// How many cells have a value in `column`.
    fn valued(&self, column: &Column) -> usize {
        self.count(column, |fit| matches!(fit, Fit::Exact | Fit::Escape))
    }

    fn count(&self, column: &Column, what: impl Fn(Fit) -> bool) -> usize {
        let mut values = column.values(self.cells.len());
        self.cells.iter().filter(|cell| what(column.read(cell, self.separator, &mut values))).count()
    }

    /// The first of the columns that print the most cells unchanged.
    fn best(&self, candidates: Vec<Column>) -> Option<Column> {
        let mut best: Option<(usize, Column)> = None;
        for column in candidates {
            let exact = self.exact(&column);
            if best.as_ref().is_none_or(|(most, _)| exact > *most) {
                best = Some((exact, column));
            }
            if exact == self.cells.len() {
                break;
            }
        }
        best.map(|(_, column)| column)
    }

    /// The style of most numbers. If some have exponents or too many digits for it, those are stored as the nearest
    /// doubles.
    fn number(&self, frame: &Frame, numbers: &[Loose]) -> Option<Column> {
        if numbers.is_empty() {
            return None;
        }
        let frame = self.padded(frame);
        let (decimals, scale) = decimals(numbers);
        if decimals.len() == numbers.len() {
            return self.decimal(&frame, &decimals, scale);
        }
        let real = self.real(&frame, numbers);
        if decimals.len() * 2 < numbers.len() {
            return real;
        }
        let nearest = self.decimal(&frame, &decimals, scale.max(1)).map(|column| Column { nearest: true, ..column });
        self.best([nearest, real].into_iter().flatten().collect())
    }

    fn decimal(&self, frame: &Frame, numbers: &[Loose], scale: u8) -> Option<Column> {
        let usual = commonest(numbers.iter().map(|n| n.places)).unwrap_or(0);
        let zeros = commonest(numbers.iter().filter(|n| n.zeros && n.whole <= 18).map(|n| n.whole)).unwrap_or(1);
        let plus = numbers.iter().filter(|n| n.plus).count() * 2 > numbers.len();
        let size = if scale == 0 { self.bits(frame) } else { 0 };
        let mut candidates = Vec::new();
        for digits in [1, zeros, 0] {
            for (places, trim) in [(usual, false), (scale, true)] {
                let style = NumberStyle { digits, places, plus, trim };
                candidates.push(self.column(frame, Style::Number(style), scale, size));
            }
        }
        self.best(candidates)
    }

    /// A column of non-negative integers, if 64 bits hold all of them.
    fn unsigned(&self, frame: &Frame, numbers: &[Loose]) -> Option<Column> {
        if numbers.iter().any(|n| n.unsigned().is_none_or(|n| n == NO_UNSIGNED)) {
            return None;
        }
        let frame = self.padded(frame);
        let zeros = commonest(numbers.iter().filter(|n| n.zeros && n.whole <= 20).map(|n| n.whole)).unwrap_or(1);
        let plus = numbers.iter().filter(|n| n.plus).count() * 2 > numbers.len();
        let styles = [1, zeros].map(|digits| NumberStyle { digits, places: 0, plus, trim: false });
        self.best(styles.map(|style| self.column(&frame, Style::Unsigned(style), 0, 64)).into())
    }

    fn real(&self, frame: &Frame, numbers: &[Loose]) -> Option<Column> {
        let texts = || self.cells.iter().map(|c| self.inner(frame, c).trim_ascii());
        let of_power = |text: &[u8]| {
            let at = text.iter().position(|b| matches!(b, b'e' | b'E' | b'd' | b'D'))?;
            Some((char::from(text[at]), text[at + 1..].iter().filter(|b| b.is_ascii_digit()).count() as u8))
        };
        let (letter, exponent) = commonest(texts().filter_map(of_power)).unwrap_or(('e', 2));
        let places = commonest(numbers.iter().filter(|n| n.exponent).map(|n| n.places)).unwrap_or(0);
        let candidates = [RealForm::Shortest, RealForm::Scientific, RealForm::Fortran].map(|form| {
            let style = RealStyle { form, places, exponent: exponent.min(4), letter };
            self.column(frame, Style::Real(style), 0, 0)
        });
        self.best(candidates.into())
    }

    /// The smallest integer type that holds every number that fits a cell.
    fn bits(&self, frame: &Frame) -> u32 {
        let fixed = self.fixed.then_some(frame.width);
        match fixed.or(self.longest).filter(|n| *n > 0) {
            Some(1..=2) => 8,
            Some(3..=4) => 16,
            Some(5..=9) => 32,
            _ => 64,
        }
    }

    /// A column of numbers without a number in the sample.
    fn integers(&self, frame: &Frame) -> Column {
        let width = if self.fixed { self.all.first().map_or(0, |c| c.len()) as u32 } else { 0 };
        let frame = Frame { width, ..frame.clone() };
        let style = NumberStyle { digits: 1, places: 0, plus: false, trim: false };
        self.column(&frame, Style::Number(style), 0, self.bits(&frame))
    }

    fn hex(&self, frame: &Frame) -> Option<Column> {
        let frame = self.padded(frame);
        let digits = commonest(self.cells.iter().map(|c| self.inner(&frame, c).trim_ascii().len()))?;
        let styles = [1, digits.min(15) as u8].into_iter().flat_map(|n| [Style::Hex(n), Style::LowerHex(n)]);
        let candidates = styles.map(|style| self.column(&frame, style, 0, 64)).collect();
        self.best(candidates).filter(|column| self.mostly(&frame, self.valued(column)))
    }

    fn time(&self, frame: &Frame) -> Option<Column> {
        let frame = self.padded(frame);
        // Some writers omit a fraction of zero.
        let bodies =
            self.cells.iter().filter_map(|c| frame.body(c)).filter(|b| b.first().is_some_and(u8::is_ascii_digit));
        let bodies: Vec<(usize, &[u8])> = bodies.map(|body| (digits(body), body)).collect();
        let most = bodies.iter().map(|(digits, _)| *digits).max()?;
        let finest: Vec<&[u8]> = bodies.iter().filter(|b| b.0 == most).map(|b| b.1).take(TRIED).collect();
        let fraction = field(most, commonest(finest.iter().filter_map(|body| mark(body))).unwrap_or(POINT));
        let there =
            commonest(bodies.iter().filter_map(|(_, body)| zone(body).and_then(|z| std::str::from_utf8(z).ok())));
        let begins = |pattern: &str| {
            let style = TimeStyle { pattern: pattern.to_owned() };
            finest.iter().any(|body| style.begins(body))
        };
        let small = finest.iter().any(|body| body.ends_with(b"m"));
        let halves = HALVES.map(|half| if small { half.replace("%p", "%P") } else { half.to_owned() });
        let times: Vec<String> = TIMES.map(str::to_owned).into_iter().chain(halves).collect();
        let mut candidates = Vec::new();
        for date in DATES.into_iter().filter(|date| begins(date)) {
            for time in &times {
                let alone = date.is_empty() && (time.starts_with("%k") || time.starts_with("%H%M"));
                if alone || (time.is_empty() && NUMBERED.contains(&date)) {
                    continue; // 4:13 is ambiguous
                }
                let joints: &[&str] = if date.is_empty() || time.is_empty() { &[""] } else { &["T", " ", ":"] };
                let ends =
                    if date.is_empty() { vec![""] } else { ["", "Z", " UTC"].into_iter().chain(there).collect() };
                let time = time.replace("%S", &format!("%S{fraction}"));
                for (joint, end) in joints.iter().flat_map(|joint| ends.iter().map(move |end| (joint, end))) {
                    candidates.push(TimeStyle { pattern: format!("{date}{joint}{time}{end}") });
                }
            }
        }
        let fits = |style: &TimeStyle| style.sound() && finest.iter().any(|body| style.parse(body).is_some());
        let styles = candidates.into_iter().filter(fits).map(|style| self.column(&frame, Style::Time(style), 0, 64));
        let best = self.best(styles.collect()).filter(|column| self.mostly(&frame, self.valued(column)))?;
        // If no day exceeds 12, day and month are ambiguous.
        let Style::Time(style) = &best.style else { return None };
        let other = style.exchanged().map(|style| self.column(&frame, Style::Time(style), 0, 64));
        other.is_none_or(|other| self.valued(&other) < self.valued(&best)).then_some(())?;
        self.coarser(best, bodies.iter().map(|(digits, _)| *digits).collect())
    }

    /// The same times in the ticks of the finest pattern, printed by the pattern that fits most of them.
    fn coarser(&self, finest: Column, written: BTreeSet<usize>) -> Option<Column> {
        let Style::Time(style) = &finest.style else { return None };
        let mark = style.own_mark().unwrap_or(POINT);
        let columns = written.into_iter().filter_map(|digits| style.with_fraction(digits, mark)).map(|other| {
            let scale = if other.unit() == style.unit() { 0 } else { style.digits().unwrap_or(0) as u8 };
            self.column(&finest.frame, Style::Time(other), scale, 64)
        });
        self.best(std::iter::once(finest.clone()).chain(columns).collect())
    }

    fn words(&self, frame: &Frame) -> Column {
        let inner = self.padded(frame);
        let filled = self.cells.iter().filter(|c| self.inner(&inner, c).len() == inner.width as usize).count();
        // A trailing blank in some texts is part of them.
        let padded = inner.width > 0 && filled * 100 >= self.cells.len() * MOST;
        if self.fixed || (padded && !frame.lead.is_empty() && self.separator != b' ') {
            let size = inner.width.max(1);
            let size =
                if self.fixed { self.all.iter().map(|c| c.len() as u32).max().unwrap_or(size).max(1) } else { size };
            let width = if self.fixed {
                self.all.first().map_or(0, |c| self.inner(&inner, c).len()) as u32
            } else {
                inner.width
            };
            let frame = Frame { width, ..inner };
            return self.column(&frame, Style::Words(WordStyle { quote: Quote::Never }), 0, room(size));
        }
        let longest = self.all.iter().map(|c| c.len() as u32).max().unwrap_or(1);
        let size = room(self.longest.unwrap_or(0).max(longest).clamp(1, LONGEST).next_multiple_of(8));
        let spaces = Frame {
            lead: frame.lead.strip_suffix(b"\"").unwrap_or(&frame.lead).to_vec(),
            tail: frame.tail.strip_prefix(b"\"").unwrap_or(&frame.tail).to_vec(),
            // Additional blanks between cells are not part of a text.
            width: if self.separator == b' ' { inner.width } else { 0 },
            left: self.separator == b' ' && inner.left,
        };
        // Not `Never`, even if no cell has quotes: one outside the sample may, and they are not part of its text.
        let [needed, always] = [Quote::Needed, Quote::Always]
            .map(|quote| self.column(&spaces, Style::Words(WordStyle { quote }), 0, size));
        let quotes = self.cells.iter().any(|c| c.contains(&b'"'));
        let best = if quotes { self.best(vec![needed.clone(), always]) } else { None };
        best.unwrap_or(needed)
    }
}
