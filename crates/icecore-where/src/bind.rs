//! Bind a syntax tree to a table's columns: resolve names, check dtypes, convert constants to the columns' dtypes.

use icecore_chunk::DType;
use icecore_grid::{Error, ErrorKind, Result};

use crate::ast::{Kind, Node, Op};
use crate::clause::{Condition, Expression, Extreme, FUNCTIONS, Filter, Number};
use crate::message::{Place, error};
use crate::numbers::{Constant, Domain, INT, domain, fit_float, fit_int, float_steps};
use crate::ranges::{Ranges, tidy};
use crate::suggestion::nearest;
use crate::text::TextTest;
use crate::time;
use crate::time_parts::{Clock, PARTS, Part};
use crate::truth::{FALSE, TRUE};

/// A column of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnType {
    pub name: String,
    pub dtype: DType,
    /// For units of time (`seconds since 2018-01-01`): length of one unit and epoch since 1970, both in ns.
    pub epoch: Option<(f64, f64)>,
}

pub(crate) fn bind(clause: &str, node: &Node, columns: &[ColumnType]) -> Result<Filter> {
    let mut binder = Binder { clause, columns, used: Vec::new() };
    let root = binder.condition(node)?;
    let mut columns = binder.used;
    columns.sort_unstable();
    columns.dedup();
    Ok(Filter { root, columns })
}

pub(crate) fn expression(text: &str, node: &Node, columns: &[ColumnType]) -> Result<Expression> {
    let mut binder = Binder { clause: text, columns, used: Vec::new() };
    let root = binder.number(node)?;
    binder.check_durations(&root, &root, node.place)?;
    let mut columns = binder.used;
    columns.sort_unstable();
    columns.dedup();
    Ok(Expression { root, columns })
}

struct Binder<'a> {
    clause: &'a str,
    columns: &'a [ColumnType],
    used: Vec<usize>,
}

/// The functions of several numbers, by name.
const EXTREMES: [(&str, Extreme); 2] = [("min", Extreme::Min), ("max", Extreme::Max)];
/// The turns of a full circle within which `wrap` finds a longitude.
const TURNS: std::ops::RangeInclusive<i32> = -3..=3;

impl<'a> Binder<'a> {
    fn error(&self, kind: ErrorKind, place: Place, message: &str) -> Error {
        error(kind, self.clause, place, message)
    }

    fn condition(&mut self, node: &Node) -> Result<Condition> {
        Ok(match &node.kind {
            Kind::Bool(value) => Condition::Constant(if *value { TRUE } else { FALSE }),
            Kind::Not(inner) => Condition::Not(Box::new(self.condition(inner)?)),
            Kind::And(nodes) => Condition::And(nodes.iter().map(|n| self.condition(n)).collect::<Result<_>>()?),
            Kind::Or(nodes) => Condition::Or(nodes.iter().map(|n| self.condition(n)).collect::<Result<_>>()?),
            Kind::Compare(op, left, right) => self.compare(*op, left, right)?,
            Kind::Between(value, low, high) => self.between(value, low, high)?,
            Kind::In(value, items) => self.within(value, items)?,
            Kind::Null(value) => match &value.kind {
                Kind::Column(name) => Condition::NullColumn(self.column(name, value.place)?.0),
                _ => Condition::NullNumber(self.number(value)?),
            },
            Kind::Like(value, pattern) => self.like(value, pattern)?,
            Kind::Call(name, arguments) if name.eq_ignore_ascii_case("wrap") => self.wrap(node.place, arguments)?,
            Kind::Column(name) => {
                let (number, column) = self.column(name, node.place)?;
                if column.dtype != DType::Bool {
                    return Err(self.no_condition(node.place));
                }
                Condition::Ranges(number, Ranges::Int(vec![(1, 255)]))
            }
            _ => return Err(self.no_condition(node.place)),
        })
    }

    fn no_condition(&self, place: Place) -> Error {
        self.error(ErrorKind::Invalid, place, "this is a value, not a condition")
            .hint("compare it with something: tb > 90")
    }

    fn column(&mut self, name: &str, place: Place) -> Result<(usize, &'a ColumnType)> {
        if let Some(number) = self.columns.iter().position(|c| c.name == name) {
            self.used.push(number);
            if let Some(column) = self.columns.get(number) {
                return Ok((number, column));
            }
        }
        let near = nearest(name, self.columns.iter().map(|c| c.name.as_str()));
        let hint = match (name.to_ascii_lowercase().as_str(), near.is_empty()) {
            ("nan", _) => "use `is null` to select NaN".to_owned(),
            ("inf" | "infinity", _) => "infinity is written as 1e999".to_owned(),
            (_, true) => "`icecore info` lists the columns; put strings in single quotes".to_owned(),
            (_, false) => format!("did you mean {}? (put strings in single quotes)", near.join(" or ")),
        };
        Err(self.error(ErrorKind::NotFound, place, &format!("there is no column {name}")).hint(hint))
    }

    fn compare(&mut self, op: Op, left: &Node, right: &Node) -> Result<Condition> {
        match (&left.kind, &right.kind) {
            (Kind::Column(name), _) if is_constant(right) => self.test(op, name, left.place, right),
            (_, Kind::Column(name)) if is_constant(left) => self.test(op.mirrored(), name, right.place, left),
            (Kind::Column(a), Kind::Column(b))
                if let Some(pair) = self.pair(op, (a, left.place), (b, right.place))? =>
            {
                Ok(pair)
            }
            _ => {
                let (a, b) = (self.number(left)?, self.number(right)?);
                self.check_durations(&a, &b, left.place.to(right.place))?;
                Ok(Condition::Compare(op, a, b))
            }
        }
    }

    /// Comparison of two columns other than in floating point.
    fn pair(&mut self, op: Op, left: (&str, Place), right: (&str, Place)) -> Result<Option<Condition>> {
        let ((a, first), (b, second)) = (self.column(left.0, left.1)?, self.column(right.0, right.1)?);
        let (of_a, of_b) = (self.domain(first, left.1)?, self.domain(second, right.1)?);
        let time = |column: &ColumnType| matches!(column.dtype, DType::DateTime64 { .. });
        if time(first) != time(second) || (of_a == Domain::Text) != (of_b == Domain::Text) {
            let other = format!("{} {}", second.name, label(&second.dtype));
            return Err(self.mismatch(first, &other, left.1.to(right.1)));
        }
        if first.epoch.is_some() && second.epoch.is_some() && first.epoch != second.epoch {
            let message = format!("{} and {} have different time units or epochs", first.name, second.name);
            let hint = "compare each with a time: '2019-04-16T09:39:11Z'";
            return Err(self.error(ErrorKind::Dtype, left.1.to(right.1), &message).hint(hint));
        }
        Ok(match (of_a, of_b) {
            (Domain::Text, _) => Some(Condition::CompareTexts(op, a, b)),
            (Domain::Int, Domain::Int) => {
                let (x, y) = self.units(first, second, left.1.to(right.1))?;
                Some(Condition::CompareInts(op, (a, x), (b, y)))
            }
            _ => None,
        })
    }

    /// Factors that convert the integers of two columns to a common unit.
    fn units(&self, a: &ColumnType, b: &ColumnType, place: Place) -> Result<(i128, i128)> {
        let tick = |dtype: &DType| match dtype {
            DType::DateTime64 { unit, scale } | DType::TimeDelta64 { unit, scale } => Some(time::tick(unit, *scale)),
            _ => None,
        };
        match (tick(&a.dtype), tick(&b.dtype)) {
            (Some(Some(x)), Some(Some(y))) => Ok((x, y)),
            (Some(_), Some(_)) if a.dtype != b.dtype => {
                let message = format!("{} and {} have time units without a common unit", a.name, b.name);
                Err(self.error(ErrorKind::Unsupported, place, &message).hint("compare each with a constant"))
            }
            _ => Ok((1, 1)),
        }
    }

    /// Arithmetic uses the stored numbers, so durations in different units can't be combined.
    fn check_durations(&self, a: &Number, b: &Number, place: Place) -> Result<()> {
        let mut numbers = Vec::new();
        a.columns(&mut numbers);
        b.columns(&mut numbers);
        let is_duration = |c: &&ColumnType| matches!(c.dtype, DType::TimeDelta64 { .. });
        let mut durations = numbers.iter().filter_map(|n| self.columns.get(*n)).filter(is_duration);
        let Some(first) = durations.next() else { return Ok(()) };
        match durations.find(|other| other.dtype != first.dtype) {
            None => Ok(()),
            Some(other) => {
                let message = format!("{} and {} have durations in different units", first.name, other.name);
                let hint = "compare them without arithmetic";
                Err(self.error(ErrorKind::Dtype, place, &message).hint(hint))
            }
        }
    }

    /// Comparison of a column with a constant.
    fn test(&mut self, op: Op, name: &str, place: Place, constant: &Node) -> Result<Condition> {
        if op == Op::Unequal {
            return Ok(Condition::Not(Box::new(self.test(Op::Equal, name, place, constant)?)));
        }
        let (number, column) = self.column(name, place)?;
        if self.domain(column, place)? == Domain::Text {
            let text = self.text(column, constant)?;
            let test = if op == Op::Equal { TextTest::any(&[text]) } else { TextTest::Compare(op, text.to_owned()) };
            return Ok(Condition::Text(number, test));
        }
        Ok(Condition::Ranges(number, self.ranges(op, column, constant)?))
    }

    fn domain(&self, column: &ColumnType, place: Place) -> Result<Domain> {
        domain(&column.dtype).ok_or_else(|| {
            let message = format!("{} holds {}, which a where-clause can't compare", column.name, label(&column.dtype));
            self.error(ErrorKind::Unsupported, place, &message)
        })
    }

    /// The values of a column of numbers or times for which the comparison `op` with a constant is true.
    fn ranges(&self, op: Op, column: &ColumnType, constant: &Node) -> Result<Ranges> {
        let domain = self.domain(column, constant.place)?;
        let value = match (&constant.kind, &column.dtype) {
            (Kind::Text(text), DType::DateTime64 { unit, scale }) => {
                let ticks = time::parse(text).and_then(|ns| time::ticks(ns, unit, *scale));
                let ticks = ticks.ok_or_else(|| self.no_time(column, text, constant.place))?;
                return Ok(Ranges::Int(ticks.related(op, &INT)));
            }
            (Kind::Text(text), DType::TimeDelta64 { unit, scale }) => {
                let ticks = time::parse_duration(text).and_then(|ns| time::duration_ticks(ns, unit, *scale));
                let ticks = ticks.ok_or_else(|| self.no_duration(column, text, constant.place))?;
                return Ok(Ranges::Int(ticks.related(op, &INT)));
            }
            (Kind::Text(text), _) => match (column.epoch, time::parse(text)) {
                (Some(epoch), Some(ns)) => match time::counts(ns, epoch) {
                    Some(counts) if domain == Domain::Int => return Ok(Ranges::Int(counts.related(op, &INT))),
                    _ => Constant::Float(time::since(ns, epoch)),
                },
                (Some(_), None) => return Err(self.no_time(column, text, constant.place)),
                (None, _) => {
                    return Err(self
                        .mismatch(column, &format!("'{text}' is a string"), constant.place)
                        .hint("write numbers without quotes, and column names without or in double quotes"));
                }
            },
            (_, DType::DateTime64 { .. }) => {
                return Err(self
                    .mismatch(column, "this is a number", constant.place)
                    .hint("write times in ISO form and single quotes: '2019-04-16T09:39:11Z'"));
            }
            (Kind::Int(n), _) => Constant::Int(*n),
            (Kind::Float(x), _) => Constant::Float(*x),
            (Kind::Bool(b), _) => Constant::Int(i128::from(*b)),
            _ => return Err(self.error(ErrorKind::Internal, constant.place, "expected a constant")),
        };
        Ok(if domain == Domain::Int {
            Ranges::Int(fit_int(value).map(|f| f.related(op, &INT)).unwrap_or_default())
        } else {
            let fitted = fit_float(value, domain);
            Ranges::Float(fitted.map(|f| f.related(op, float_steps(domain))).unwrap_or_default())
        })
    }

    fn no_time(&self, column: &ColumnType, text: &str, place: Place) -> Error {
        let message = format!("{} holds times, '{text}' is not a time", column.name);
        self.error(ErrorKind::Dtype, place, &message).hint("write times in ISO form: '2019-04-16T09:39:11Z'")
    }

    fn no_duration(&self, column: &ColumnType, text: &str, place: Place) -> Error {
        let message = format!("{} holds durations, '{text}' is not a duration", column.name);
        self.error(ErrorKind::Dtype, place, &message).hint("write hours, minutes and seconds: '09:39:11.25'")
    }

    fn mismatch(&self, column: &ColumnType, other: &str, place: Place) -> Error {
        let message = format!("{} holds {}, {other}", column.name, label(&column.dtype));
        self.error(ErrorKind::Dtype, place, &message)
    }

    fn text<'n>(&self, column: &ColumnType, constant: &'n Node) -> Result<&'n str> {
        match &constant.kind {
            Kind::Text(text) => Ok(text),
            _ => Err(self
                .mismatch(column, "this is a number", constant.place)
                .hint("put it in single quotes to compare it as a string")),
        }
    }

    fn between(&mut self, value: &Node, low: &Node, high: &Node) -> Result<Condition> {
        if let Kind::Column(name) = &value.kind
            && is_constant(low)
            && is_constant(high)
        {
            let (number, column) = self.column(name, value.place)?;
            if self.domain(column, value.place)? != Domain::Text {
                let above = self.ranges(Op::GreaterEqual, column, low)?;
                let below = self.ranges(Op::LessEqual, column, high)?;
                return Ok(Condition::Ranges(number, overlap(above, below)));
            }
        }
        let ends = [self.compare(Op::GreaterEqual, value, low)?, self.compare(Op::LessEqual, value, high)?];
        Ok(Condition::And(ends.into()))
    }

    fn within(&mut self, value: &Node, items: &[Node]) -> Result<Condition> {
        let Kind::Column(name) = &value.kind else { return self.any(value, items) };
        if !items.iter().all(is_constant) {
            return self.any(value, items);
        }
        let (number, column) = self.column(name, value.place)?;
        if self.domain(column, value.place)? == Domain::Text {
            let texts = items.iter().map(|i| self.text(column, i)).collect::<Result<Vec<_>>>()?;
            return Ok(Condition::Text(number, TextTest::any(&texts)));
        }
        let (mut ints, mut floats) = (Vec::new(), Vec::new());
        for item in items {
            match self.ranges(Op::Equal, column, item)? {
                Ranges::Int(found) => ints.extend(found),
                Ranges::Float(found) => floats.extend(found),
            }
        }
        let whole = self.domain(column, value.place)? == Domain::Int;
        Ok(Condition::Ranges(number, if whole { Ranges::Int(tidy(ints)) } else { Ranges::Float(tidy(floats)) }))
    }

    fn any(&mut self, value: &Node, items: &[Node]) -> Result<Condition> {
        items.iter().map(|item| self.compare(Op::Equal, value, item)).collect::<Result<_>>().map(Condition::Or)
    }

    fn like(&mut self, value: &Node, pattern: &str) -> Result<Condition> {
        let Kind::Column(name) = &value.kind else {
            return Err(self.error(ErrorKind::Invalid, value.place, "like needs a column and a pattern"));
        };
        let (number, column) = self.column(name, value.place)?;
        if domain(&column.dtype) != Some(Domain::Text) {
            return Err(self.mismatch(column, "like needs strings", value.place));
        }
        Ok(Condition::Text(number, TextTest::like(pattern)))
    }

    /// `wrap(lon, 350, 10)`: longitudes from 350 eastwards to 10, modulo 360.
    fn wrap(&mut self, place: Place, arguments: &[Node]) -> Result<Condition> {
        const USE: &str = "wrap(lon, 350, 10): from 350 degrees eastwards to 10";
        let [Node { kind: Kind::Column(name), place: at }, low, high] = arguments else {
            return Err(self.error(ErrorKind::Invalid, place, "wrap needs a column and two numbers").hint(USE));
        };
        let (Some(low), Some(high)) = (degrees(low), degrees(high)) else {
            return Err(self.error(ErrorKind::Invalid, place, "wrap needs a column and two finite numbers").hint(USE));
        };
        let (number, column) = self.column(name, *at)?;
        let domain = self.domain(column, *at)?;
        if domain == Domain::Text || matches!(column.dtype, DType::DateTime64 { .. }) {
            return Err(self.mismatch(column, "wrap needs degrees", *at));
        }
        // Shift each end separately, so that an end that needs no shift keeps its exact value.
        let (lap, ahead) = ((low / 360.0).floor(), ((high - low) / 360.0).floor());
        let arcs = TURNS.map(f64::from).map(|turn| {
            let start = turned(low, turn - lap);
            (start, if ahead >= 1.0 { start + 360.0 } else { turned(high, turn - lap - ahead) })
        });
        Ok(Condition::Ranges(number, arc_ranges(domain, arcs)))
    }

    fn call(&mut self, name: &str, arguments: &[Node], place: Place) -> Result<Number> {
        if let Some((_, extreme)) = EXTREMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)) {
            if arguments.len() < 2 {
                let message = format!("{name} needs two or more numbers (got {})", arguments.len());
                return Err(self.error(ErrorKind::Invalid, place, &message));
            }
            let items = arguments.iter().map(|item| self.number(item)).collect::<Result<_>>()?;
            return Ok(Number::Extreme(*extreme, items));
        }
        if let Some((_, part)) = PARTS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)) {
            return self.part(*part, name, arguments, place);
        }
        let function = FUNCTIONS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
        match (function, arguments) {
            (Some((_, function)), [argument]) => Ok(Number::Call(*function, Box::new(self.number(argument)?))),
            (Some(_), _) => {
                let message = format!("{name} needs one number (got {})", arguments.len());
                Err(self.error(ErrorKind::Invalid, place, &message))
            }
            (None, _) => {
                let names = FUNCTIONS.iter().map(|(name, _)| *name).chain(EXTREMES.iter().map(|(name, _)| *name));
                let known: Vec<&str> = names.chain(PARTS.iter().map(|(name, _)| *name)).collect();
                let hint = format!("functions: {}; as a condition: wrap", known.join(", "));
                Err(self.error(ErrorKind::NotFound, place, &format!("unknown function {name}")).hint(hint))
            }
        }
    }

    /// `year(time)` and the like, of a column of times.
    fn part(&mut self, part: Part, name: &str, arguments: &[Node], place: Place) -> Result<Number> {
        let [Node { kind: Kind::Column(of), place: at }] = arguments else {
            let message = format!("{name} needs a column of times");
            return Err(self.error(ErrorKind::Invalid, place, &message).hint(format!("{name}(time)")));
        };
        let (number, column) = self.column(of, *at)?;
        let clock = match (&column.dtype, column.epoch) {
            (DType::DateTime64 { unit, scale }, _) => Clock::Ticks(unit.clone(), *scale),
            (_, Some((unit, zero))) => Clock::Units(unit, zero),
            _ => {
                let hint = "times have a datetime64 dtype, or units such as 'days since 2000-01-01'";
                return Err(self.mismatch(column, &format!("{name} needs times"), *at).hint(hint));
            }
        };
        Ok(Number::Part(part, number, clock))
    }

    fn number(&mut self, node: &Node) -> Result<Number> {
        Ok(match &node.kind {
            Kind::Int(n) => Number::Value(*n as f64),
            Kind::Float(x) => Number::Value(*x),
            Kind::Bool(b) => Number::Value(f64::from(u8::from(*b))),
            Kind::Negative(inner) => Number::Negative(Box::new(self.number(inner)?)),
            Kind::Arithmetic(operator, a, b) => {
                Number::Arithmetic(*operator, Box::new(self.number(a)?), Box::new(self.number(b)?))
            }
            Kind::Column(name) => {
                let (number, column) = self.column(name, node.place)?;
                match self.domain(column, node.place)? {
                    Domain::Text => return Err(self.mismatch(column, "expected a number", node.place)),
                    _ if matches!(column.dtype, DType::DateTime64 { .. }) => {
                        return Err(self
                            .mismatch(column, "expected a number", node.place)
                            .hint("compare times with times in single quotes"));
                    }
                    _ => Number::Column(number),
                }
            }
            Kind::Call(name, arguments) => self.call(name, arguments, node.place)?,
            Kind::Text(text) => {
                let message = format!("expected a number (got the string '{text}')");
                return Err(self.error(ErrorKind::Dtype, node.place, &message));
            }
            _ => {
                return Err(self.error(ErrorKind::Dtype, node.place, "expected a number (got a condition)"));
            }
        })
    }
}

fn is_constant(node: &Node) -> bool {
    matches!(node.kind, Kind::Int(_) | Kind::Float(_) | Kind::Text(_) | Kind::Bool(_))
}

fn degrees(node: &Node) -> Option<f64> {
    match node.kind {
        Kind::Int(n) => Some(n as f64),
        Kind::Float(x) if x.is_finite() => Some(x),
        _ => None,
    }
}

/// `degrees` shifted by full turns, rounded to nine decimal places, so that it equals other longitudes written so.
fn turned(degrees: f64, turns: f64) -> f64 {
    let short = |x: f64| (x * 1e9).round() / 1e9;
    let sum = degrees + 360.0 * turns;
    if turns != 0.0 && short(degrees) == degrees { short(sum) } else { sum }
}

fn arc_ranges(domain: Domain, arcs: impl Iterator<Item = (f64, f64)>) -> Ranges {
    if domain == Domain::Int {
        return Ranges::Int(tidy(arcs.map(|(a, b)| (a.ceil() as i128, b.floor() as i128)).collect()));
    }
    let round = |x| fit_float(Constant::Float(x), domain).map_or(x, |f| f.floor);
    Ranges::Float(tidy(arcs.map(|(a, b)| (round(a), round(b))).collect()))
}

/// The intersection of two ranges.
fn overlap(above: Ranges, below: Ranges) -> Ranges {
    fn both<T: Copy + PartialOrd>(above: &[(T, T)], below: &[(T, T)]) -> Vec<(T, T)> {
        match (above, below) {
            ([a], [b]) if a.0 <= b.1 => vec![(a.0, b.1)],
            _ => Vec::new(),
        }
    }
    match (above, below) {
        (Ranges::Int(a), Ranges::Int(b)) => Ranges::Int(both(&a, &b)),
        (Ranges::Float(a), Ranges::Float(b)) => Ranges::Float(both(&a, &b)),
        (other, _) => other, // both come from the same column, so they have the same variant
    }
}

fn label(dtype: &DType) -> String {
    match dtype {
        DType::Bytes(_) | DType::Utf32(_) | DType::VlenUtf8 => "strings".to_owned(),
        DType::DateTime64 { .. } => "times".to_owned(),
        DType::TimeDelta64 { .. } => "durations".to_owned(),
        other => {
            let json = other.to_json();
            json.as_str().or_else(|| json.get("name")?.as_str()).unwrap_or("values").to_owned()
        }
    }
}
