//! Tokenizer: names, numbers, quoted strings, symbols, each with its position.

use icecore_grid::{Error, ErrorKind, Result};

use crate::message::{Place, error};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A bare word: a keyword or a column's name.
    Word(String),
    /// A name in double quotes or backquotes.
    Name(String),
    Int(i128),
    Float(f64),
    /// In single quotes.
    Text(String),
    Symbol(&'static str),
    End,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lexeme {
    pub token: Token,
    pub place: Place,
}

/// Largest length of a clause, in characters.
const LONGEST: usize = 1 << 20;
const SYMBOLS: [&str; 18] =
    ["<=", ">=", "==", "!=", "<>", "&&", "||", "<", ">", "=", "(", ")", ",", "+", "-", "*", "/", "%"];

pub(crate) fn tokens(clause: &str) -> Result<Vec<Lexeme>> {
    let characters: Vec<char> = clause.chars().collect();
    if characters.len() > LONGEST {
        let message = format!("the where-clause has {} characters (at most {LONGEST})", characters.len());
        let hint = "use several shorter clauses, or join with the values in Polars: table.to_polars()";
        return Err(Error::new(ErrorKind::Invalid, message).hint(hint));
    }
    let mut lexer = Lexer { clause, characters, at: 0 };
    let mut found = Vec::new();
    loop {
        let lexeme = lexer.next()?;
        let end = lexeme.token == Token::End;
        found.push(lexeme);
        if end {
            return Ok(found);
        }
    }
}

struct Lexer<'a> {
    clause: &'a str,
    characters: Vec<char>,
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Result<Lexeme> {
        while self.peek(0).is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        let start = self.at;
        let token = match self.peek(0) {
            None => Token::End,
            Some('\'') => Token::Text(self.quoted('\'')?),
            Some(quote @ ('"' | '`')) => Token::Name(self.quoted(quote)?),
            Some(c) if c.is_ascii_digit() => self.number()?,
            Some('.') if self.peek(1).is_some_and(|c| c.is_ascii_digit()) => self.number()?,
            Some(c) if c.is_alphabetic() || c == '_' => self.word(),
            Some(c) => self.symbol(c)?,
        };
        Ok(Lexeme { token, place: Place { start, end: self.at } })
    }

    /// Reads a quoted string; a doubled quote is a quote character.
    fn quoted(&mut self, quote: char) -> Result<String> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            match (self.peek(0), self.peek(1)) {
                (Some(c), Some(next)) if c == quote && next == quote => {
                    text.push(quote);
                    self.at += 2;
                }
                (Some(c), _) if c == quote => {
                    self.at += 1;
                    return Ok(text);
                }
                (Some(c), _) => {
                    text.push(c);
                    self.at += 1;
                }
                (None, _) => {
                    let place = Place { start, end: start + 1 };
                    return Err(error(ErrorKind::Invalid, self.clause, place, "unclosed quote"));
                }
            }
        }
    }

    fn number(&mut self) -> Result<Token> {
        let start = self.at;
        let mut float = false;
        while let Some(c) = self.peek(0) {
            let exponent = matches!(c, 'e' | 'E')
                && (self.peek(1).is_some_and(|d| d.is_ascii_digit())
                    || (matches!(self.peek(1), Some('+' | '-')) && self.peek(2).is_some_and(|d| d.is_ascii_digit())));
            if exponent {
                float = true;
                self.at += 2;
            } else if c == '.' {
                float = true;
                self.at += 1;
            } else if c.is_ascii_digit() {
                self.at += 1;
            } else {
                break;
            }
        }
        while self.peek(0).is_some_and(|c| c.is_alphanumeric() || c == '_') {
            self.at += 1; // report `12abc` completely
        }
        let text: String = self.characters.get(start..self.at).unwrap_or_default().iter().collect();
        let number = match (float, text.parse::<i128>()) {
            (false, Ok(number)) => Some(Token::Int(number)),
            _ => text.parse::<f64>().ok().map(Token::Float),
        };
        number.ok_or_else(|| {
            let place = Place { start, end: self.at };
            error(ErrorKind::Invalid, self.clause, place, &format!("{text} is not a number"))
                .hint("put a name that begins with a digit in double quotes, a string or a time in single quotes")
        })
    }

    fn word(&mut self) -> Token {
        let start = self.at;
        while self.peek(0).is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.') {
            self.at += 1;
        }
        // The index of an item of a list column, `spectrum[3]`, is part of the name.
        let digits = (1..).take_while(|i| self.peek(*i).is_some_and(|c| c.is_ascii_digit())).count();
        if self.peek(0) == Some('[') && digits > 0 && self.peek(1 + digits) == Some(']') {
            self.at += digits + 2;
        }
        Token::Word(self.characters.get(start..self.at).unwrap_or_default().iter().collect())
    }

    fn symbol(&mut self, first: char) -> Result<Token> {
        let starts = |symbol: &&&str| symbol.chars().enumerate().all(|(i, c)| self.peek(i) == Some(c));
        if let Some(symbol) = SYMBOLS.iter().find(starts) {
            self.at += symbol.len();
            return Ok(Token::Symbol(symbol));
        }
        let place = Place { start: self.at, end: self.at + 1 };
        let hint = match first {
            '&' => "and",
            '|' => "or",
            '!' | '~' => "not (…), or !=",
            _ => "put names with such characters in double quotes, strings in single quotes",
        };
        Err(error(ErrorKind::Invalid, self.clause, place, &format!("unexpected character {first:?}")).hint(hint))
    }
}
