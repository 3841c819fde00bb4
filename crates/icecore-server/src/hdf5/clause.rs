//! Convert a query in HSDS's grammar to a where-clause.

use icecore::grid::{Error, ErrorKind, Result};
use icecore_where::ColumnType;

/// Maximum length of a query, in characters.
const LONGEST: usize = 64 << 10;

/// Rewrites a query: `field("x")` and names become quoted names; `==`, `&`, `|`, `~` become words; `b'…'` and bare
/// values become strings; `.isin(…)`, `.is_null()` and `.is_valid()` become their SQL forms.
///
/// # Errors
/// `invalid`, with the position of the first invalid part.
pub(crate) fn where_clause(query: &str, columns: &[ColumnType]) -> Result<String> {
    let text: Vec<char> = query.chars().collect();
    if text.len() > LONGEST {
        return Err(error(format!("a query of {} characters; at most {LONGEST} are read", text.len())));
    }
    let mut reader = Reader { text, at: 0, columns, out: String::new() };
    while let Some(next) = reader.peek(0) {
        reader.step(next)?;
    }
    Ok(reader.out)
}

fn error(message: String) -> Error {
    Error::new(ErrorKind::Invalid, message)
        .hint("for example: _ > 100 AND _ < 200, or field(\"symbol\") == 'AAPL', or symbol IN (AAPL, EBAY)")
}

struct Reader<'a> {
    text: Vec<char>,
    at: usize,
    columns: &'a [ColumnType],
    out: String,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn step(&mut self, next: char) -> Result<()> {
        match next {
            c if c.is_whitespace() => self.at += 1,
            '\'' | '"' => {
                let text = self.quoted()?;
                self.literal(&text);
            }
            'b' if matches!(self.peek(1), Some('\'' | '"')) => {
                self.at += 1;
                let text = self.quoted()?;
                self.literal(&text);
            }
            c if c.is_alphabetic() || c == '_' => self.word()?,
            '.' if self.peek(1).is_some_and(char::is_alphabetic) => self.method()?,
            '&' => self.symbol(" and ", if self.peek(1) == Some('&') { 2 } else { 1 }),
            '|' => self.symbol(" or ", if self.peek(1) == Some('|') { 2 } else { 1 }),
            '~' => self.symbol(" not ", 1),
            '=' if self.peek(1) == Some('=') => self.symbol(" = ", 2),
            '0'..='9' | '.' => self.number(),
            '(' | ')' | ',' | '<' | '>' | '=' | '!' | '-' | '+' => {
                self.out.push(next);
                self.at += 1;
            }
            other => return Err(error(format!("{other:?} at character {} of the query", self.at + 1))),
        }
        Ok(())
    }

    fn symbol(&mut self, word: &str, length: usize) {
        self.out.push_str(word);
        self.at += length;
    }

    fn number(&mut self) {
        while let Some(c) = self.peek(0).filter(|c| c.is_ascii_alphanumeric() || *c == '.') {
            self.out.push(c);
            self.at += 1;
            let exponent = matches!(c, 'e' | 'E') && matches!(self.peek(0), Some('+' | '-'));
            if let (true, Some(sign)) = (exponent, self.peek(0)) {
                self.out.push(sign);
                self.at += 1;
            }
        }
    }

    fn quoted(&mut self) -> Result<String> {
        let (quote, start) = (self.peek(0), self.at);
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.peek(0) {
                None => return Err(error(format!("the quote at character {} is never closed", start + 1))),
                closing if closing == quote => break,
                Some(c) => text.push(c),
            }
            self.at += 1;
        }
        self.at += 1;
        Ok(text)
    }

    fn literal(&mut self, text: &str) {
        self.out.push_str(&format!(" '{}' ", text.replace('\'', "''")));
    }

    fn name(&mut self, name: &str) {
        self.out.push_str(&format!(" \"{}\" ", name.replace('"', "\"\"")));
    }

    fn word(&mut self) -> Result<()> {
        let word = self.letters();
        match word.to_ascii_lowercase().as_str() {
            "field" if self.skip_blanks() == Some('(') => {
                self.at += 1;
                self.skip_blanks();
                let name = self.quoted()?;
                if self.skip_blanks() != Some(')') {
                    return Err(error(format!("field({name:?} is never closed")));
                }
                self.at += 1;
                self.name(&name);
            }
            keyword @ ("and" | "or" | "not" | "in" | "true" | "false") => {
                self.out.push_str(&format!(" {keyword} "));
            }
            // The name of a column, or a value without quotes.
            _ if self.columns.iter().any(|column| column.name == word) => self.name(&word),
            _ if self.behind_operator() => self.literal(&word),
            _ => self.name(&word),
        }
        Ok(())
    }

    fn letters(&mut self) -> String {
        let start = self.at;
        while self.peek(0).is_some_and(|c| c.is_alphanumeric() || c == '_') {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or_default().iter().collect()
    }

    fn skip_blanks(&mut self) -> Option<char> {
        while self.peek(0).is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        self.peek(0)
    }

    /// Whether a value is expected here: after a comparison, or in a list.
    fn behind_operator(&self) -> bool {
        let before = self.out.trim_end();
        before.ends_with(['=', '<', '>', ','])
            || before.strip_suffix('(').is_some_and(|rest| rest.trim_end().ends_with(" in"))
    }

    fn method(&mut self) -> Result<()> {
        self.at += 1;
        let (name, at) = (self.letters(), self.at);
        let nothing = self.peek(0) == Some('(') && self.peek(1) == Some(')');
        match (name.as_str(), nothing) {
            ("isin", _) => self.out.push_str(" in "),
            ("is_null", true) => self.symbol(" is null ", 2),
            ("is_valid", true) => self.symbol(" is not null ", 2),
            _ => return Err(error(format!(".{name} at character {at} of the query is not a predicate"))),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use icecore::chunk::DType;

    use super::*;

    fn rewritten(query: &str) -> Result<String> {
        let column = |name: &str, dtype| ColumnType { name: name.to_owned(), dtype, epoch: None };
        let columns = [column("_", DType::Float64), column("symbol", DType::Bytes(4)), column("date", DType::Int32)];
        let clause = where_clause(query, &columns)?;
        icecore_where::filter(&clause, &columns)?;
        Ok(clause.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn queries_of_hsds() {
        for (query, clause) in [
            ("_ > 100.0 AND _ < 200.0", "\"_\" >100.0 and \"_\" <200.0"),
            ("symbol == b'AAPL'", "\"symbol\" = 'AAPL'"),
            ("symbol == AAPL", "\"symbol\" = 'AAPL'"),
            ("field('symbol') == \"AAPL\"", "\"symbol\" = 'AAPL'"),
            ("symbol.isin('AAPL', 'EBAY')", "\"symbol\" in ( 'AAPL' , 'EBAY' )"),
            ("symbol IN (AAPL, EBAY)", "\"symbol\" in ( 'AAPL' , 'EBAY' )"),
            ("(symbol NOT IN (AAPL)) & (date > 20170102)", "( \"symbol\" not in ( 'AAPL' )) and (\"date\" >20170102)"),
            ("~(date == -3)", "not (\"date\" = -3)"),
            ("field('_').is_null() | _ >= 1e-3", "\"_\" is null or \"_\" >=1e-3"),
        ] {
            let got = rewritten(query).unwrap();
            assert_eq!(got.replace(' ', ""), clause.replace(' ', ""), "{query}");
        }
    }

    #[test]
    fn what_is_no_query_is_rejected() {
        for bad in ["", "_ >", "_ > 'x", "depth > 3", "_ ; 3", "symbol.upper()", "((_ > 1)", "_"] {
            assert_eq!(
                rewritten(bad).map_err(|e| e.kind == ErrorKind::Invalid || e.kind == ErrorKind::NotFound),
                Err(true),
                "{bad}"
            );
        }
    }
}
