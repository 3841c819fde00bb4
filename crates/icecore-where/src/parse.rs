//! Recursive-descent parser. Precedence: or < and < not < comparison < sum < product < sign < value.

use icecore_grid::{ErrorKind, Result};

use crate::ast::{Arithmetic, Kind, Node, Op};
use crate::message::{Place, error};
use crate::token::{Lexeme, Token, tokens};

/// Largest nesting depth: each level uses stack, here and in later passes over the tree.
const DEEPEST: usize = 100;
const MOST_LINKS: usize = 500;
const KEYWORDS: [&str; 10] = ["and", "or", "not", "between", "in", "is", "null", "like", "true", "false"];
const HINT: &str = "e.g. \"lon between 120 and 120.1 and tb > 90\"; `icecore query --help` lists the syntax";

pub(crate) fn parse(clause: &str) -> Result<Node> {
    let mut parser = Parser { clause, what: "where-clause", tokens: tokens(clause)?, at: 0, depth: 0, links: 0 };
    let node = parser.or()?;
    match parser.peek().token {
        Token::End => Ok(node),
        _ => Err(parser.unexpected("expected the end of the clause, and, or or")),
    }
}

pub(crate) fn expression(clause: &str) -> Result<Node> {
    let mut parser = Parser { clause, what: "expression", tokens: tokens(clause)?, at: 0, depth: 0, links: 0 };
    let node = parser.sum()?;
    match parser.peek().token {
        Token::End => Ok(node),
        _ => Err(parser.unexpected("expected the end of the expression, or an operator")),
    }
}

struct Parser<'a> {
    clause: &'a str,
    what: &'static str,
    tokens: Vec<Lexeme>,
    at: usize,
    depth: usize,
    /// Number of arithmetic operators so far: chains are left-deep trees, which are traversed by recursion.
    links: usize,
}

static END: Lexeme = Lexeme { token: Token::End, place: Place { start: usize::MAX, end: usize::MAX } };

impl Parser<'_> {
    fn peek(&self) -> &Lexeme {
        self.tokens.get(self.at).or(self.tokens.last()).unwrap_or(&END)
    }

    fn place(&self) -> Place {
        self.peek().place
    }

    fn next(&mut self) -> Lexeme {
        let lexeme = self.peek().clone();
        self.at += 1;
        lexeme
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.peek().token, Token::Word(w) if w.eq_ignore_ascii_case(word))
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn take(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek().token, Token::Symbol(s) if s == symbol);
        self.at += usize::from(found);
        found
    }

    fn unexpected(&self, wanted: &str) -> icecore_grid::Error {
        let what = match &self.peek().token {
            Token::End if self.tokens.len() <= 1 => format!("the {} is empty", self.what),
            Token::End => format!("unexpected end of the {}: {wanted}", self.what),
            Token::Word(w) | Token::Name(w) => format!("unexpected {w}: {wanted}"),
            Token::Text(t) => format!("unexpected string '{t}': {wanted}"),
            Token::Int(_) | Token::Float(_) => format!("unexpected number: {wanted}"),
            Token::Symbol(s) => format!("unexpected {s}: {wanted}"),
        };
        let hint = if self.is_word("null") { "x is null, or x is not null" } else { HINT };
        error(ErrorKind::Invalid, self.clause, self.place(), &what).hint(hint)
    }

    fn expect(&mut self, symbol: &str) -> Result<()> {
        if self.take(symbol) { Ok(()) } else { Err(self.unexpected(&format!("expected {symbol}"))) }
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEEPEST {
            let message = format!("more than {DEEPEST} levels of nesting");
            let hint = "join with and / or without parentheses: a or b or c; many values: x in (1, 2, 3)";
            return Err(error(ErrorKind::Invalid, self.clause, self.place(), &message).hint(hint));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn or(&mut self) -> Result<Node> {
        self.list(Self::and, &["or", "||"], Kind::Or)
    }

    fn and(&mut self) -> Result<Node> {
        self.list(Self::not, &["and", "&&"], Kind::And)
    }

    fn list(
        &mut self,
        item: impl Fn(&mut Self) -> Result<Node>,
        joints: &[&str; 2],
        kind: impl FnOnce(Vec<Node>) -> Kind,
    ) -> Result<Node> {
        let first = item(self)?;
        let mut nodes = vec![first];
        while self.take_word(joints[0]) || self.take(joints[1]) {
            nodes.push(item(self)?);
        }
        if nodes.len() == 1
            && let Some(only) = nodes.pop()
        {
            return Ok(only);
        }
        let place = nodes.first().zip(nodes.last()).map_or(self.place(), |(a, b)| a.place.to(b.place));
        Ok(Node { kind: kind(nodes), place })
    }

    fn not(&mut self) -> Result<Node> {
        let start = self.place();
        if !self.take_word("not") {
            return self.comparison();
        }
        let node = self.deeper(Self::not)?;
        let place = start.to(node.place);
        Ok(Node { kind: Kind::Not(Box::new(node)), place })
    }

    fn comparison(&mut self) -> Result<Node> {
        let left = self.sum()?;
        if let Some(op) = self.operator() {
            return self.compared(left, op);
        }
        let negated = self.take_word("not");
        let node = if self.take_word("between") {
            self.between(left)?
        } else if self.take_word("in") {
            self.within(left)?
        } else if self.take_word("like") {
            self.like(left)?
        } else if negated {
            return Err(self.unexpected("expected between, in or like after not"));
        } else if self.take_word("is") {
            return self.null(left);
        } else {
            return Ok(left);
        };
        Ok(if negated { negative(node) } else { node })
    }

    /// `a < b`, or `a < b < c`, which means `a < b and b < c`.
    fn compared(&mut self, left: Node, op: Op) -> Result<Node> {
        let right = self.sum()?;
        let place = left.place.to(right.place);
        let first = Node { kind: Kind::Compare(op, Box::new(left), Box::new(right.clone())), place };
        let Some(op) = self.operator() else { return Ok(first) };
        let last = self.sum()?;
        if self.operator().is_some() {
            self.at -= 1;
            return Err(self.unexpected("at most three values can be compared in a chain; use and"));
        }
        let (whole, part) = (place.to(last.place), right.place.to(last.place));
        let second = Node { kind: Kind::Compare(op, Box::new(right), Box::new(last)), place: part };
        Ok(Node { kind: Kind::And(vec![first, second]), place: whole })
    }

    fn operator(&mut self) -> Option<Op> {
        let Token::Symbol(symbol) = self.peek().token else { return None };
        let op = match symbol {
            "<" => Op::Less,
            "<=" => Op::LessEqual,
            "=" | "==" => Op::Equal,
            "!=" | "<>" => Op::Unequal,
            ">=" => Op::GreaterEqual,
            ">" => Op::Greater,
            _ => return None,
        };
        self.at += 1;
        Some(op)
    }

    fn between(&mut self, value: Node) -> Result<Node> {
        let low = self.sum()?;
        if !self.take_word("and") {
            return Err(self.unexpected("between needs two ends: between LOW and HIGH"));
        }
        let high = self.sum()?;
        let place = value.place.to(high.place);
        Ok(Node { kind: Kind::Between(Box::new(value), Box::new(low), Box::new(high)), place })
    }

    fn within(&mut self, value: Node) -> Result<Node> {
        self.expect("(")?;
        let items = self.arguments()?;
        let place = Place { start: value.place.start, end: self.tokens.get(self.at - 1).map_or(0, |t| t.place.end) };
        if items.is_empty() {
            return Err(error(ErrorKind::Invalid, self.clause, place, "in () needs at least one value").hint(HINT));
        }
        Ok(Node { kind: Kind::In(Box::new(value), items), place })
    }

    fn like(&mut self, value: Node) -> Result<Node> {
        let Token::Text(pattern) = self.peek().token.clone() else {
            return Err(self.unexpected("expected a pattern in single quotes after like: 'abc%'"));
        };
        let place = value.place.to(self.place());
        self.at += 1;
        Ok(Node { kind: Kind::Like(Box::new(value), pattern), place })
    }

    fn null(&mut self, value: Node) -> Result<Node> {
        let negated = self.take_word("not");
        let place = value.place.to(self.place());
        if !self.take_word("null") {
            return Err(self.unexpected("expected is null or is not null"));
        }
        let node = Node { kind: Kind::Null(Box::new(value)), place };
        Ok(if negated { negative(node) } else { node })
    }

    fn sum(&mut self) -> Result<Node> {
        self.chain(Self::product, &[("+", Arithmetic::Add), ("-", Arithmetic::Subtract)])
    }

    fn product(&mut self) -> Result<Node> {
        let operators = [("*", Arithmetic::Multiply), ("/", Arithmetic::Divide), ("%", Arithmetic::Remainder)];
        self.chain(Self::sign, &operators)
    }

    fn chain(&mut self, item: impl Fn(&mut Self) -> Result<Node>, operators: &[(&str, Arithmetic)]) -> Result<Node> {
        let mut left = item(self)?;
        while let Some((_, operator)) =
            operators.iter().find(|(s, _)| matches!(self.peek().token, Token::Symbol(t) if t == *s))
        {
            self.links += 1;
            if self.links > MOST_LINKS {
                let message = format!("more than {MOST_LINKS} arithmetic operators");
                return Err(error(ErrorKind::Invalid, self.clause, self.place(), &message));
            }
            self.at += 1;
            let right = item(self)?;
            let place = left.place.to(right.place);
            left = Node { kind: Kind::Arithmetic(*operator, Box::new(left), Box::new(right)), place };
        }
        Ok(left)
    }

    fn sign(&mut self) -> Result<Node> {
        let start = self.place();
        if self.take("+") {
            return self.deeper(Self::sign);
        }
        if !self.take("-") {
            return self.value();
        }
        let node = self.deeper(Self::sign)?;
        let place = start.to(node.place);
        let kind = match node.kind {
            Kind::Int(n) => Kind::Int(n.wrapping_neg()), // parsed without a sign, so never the smallest integer
            Kind::Float(x) => Kind::Float(-x),
            _ => Kind::Negative(Box::new(node)),
        };
        Ok(Node { kind, place })
    }

    fn value(&mut self) -> Result<Node> {
        let Lexeme { token, place } = self.next();
        let kind = match token {
            Token::Int(n) => Kind::Int(n),
            Token::Float(x) => Kind::Float(x),
            Token::Text(text) => Kind::Text(text),
            Token::Name(name) => Kind::Column(name),
            Token::Symbol("(") => {
                let node = self.deeper(Self::or)?;
                self.expect(")")?;
                return Ok(node);
            }
            Token::Word(word) if word.eq_ignore_ascii_case("true") => Kind::Bool(true),
            Token::Word(word) if word.eq_ignore_ascii_case("false") => Kind::Bool(false),
            Token::Word(word) if !KEYWORDS.iter().any(|k| word.eq_ignore_ascii_case(k)) => {
                if !self.take("(") {
                    return Ok(Node { kind: Kind::Column(word), place });
                }
                let arguments = self.arguments()?;
                let end = self.tokens.get(self.at - 1).map_or(place.end, |t| t.place.end);
                return Ok(Node { kind: Kind::Call(word, arguments), place: Place { start: place.start, end } });
            }
            _ => {
                self.at -= 1;
                return Err(self.unexpected("expected a column, a number or a string"));
            }
        };
        Ok(Node { kind, place })
    }

    /// Parses values up to the closing parenthesis; the opening one is already consumed.
    fn arguments(&mut self) -> Result<Vec<Node>> {
        let mut items = Vec::new();
        if self.take(")") {
            return Ok(items);
        }
        loop {
            items.push(self.deeper(Self::sum)?);
            if self.take(")") {
                return Ok(items);
            }
            self.expect(",")?;
        }
    }
}

fn negative(node: Node) -> Node {
    let place = node.place;
    Node { kind: Kind::Not(Box::new(node)), place }
}
