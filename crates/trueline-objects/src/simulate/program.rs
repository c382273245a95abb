//! Programs as text: `enq(3) | enq(4) deq()` has one process that calls `enq(3)`, and one that
//! calls `enq(4)`, then `deq()`.
//!
//! A case also gives the calls before and after: `before enq(1); enq(3) | deq(); after deq()
//! deq()`. A file of cases has one per line; `#` starts a comment.

use std::fmt;

/// The calls of each process.
pub type Program = Vec<Vec<Call>>;

/// A call and its place in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub(crate) method: String,
    pub(crate) args: Vec<Argument>,
    /// In bytes from 1.
    pub(crate) column: usize,
}

/// An argument of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    Number(i64),
    /// `*`: a number of its own for each call; in alphabets.
    Fresh,
}

/// The calls before the processes start, by each process, and after all have ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Case {
    /// Called by process 0.
    pub before: Vec<Call>,
    /// Called by processes 1 and so on.
    pub program: Program,
    /// Called by process 0.
    pub after: Vec<Call>,
}

/// An error in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// In bytes from 1; 0 if there is no such place.
    pub column: usize,
    /// The line of a file, from 1; 0 if there is none.
    pub line: usize,
    /// What was found and what was expected.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}, ", self.line)?;
        }
        if self.column > 0 {
            write!(f, "column {}: ", self.column)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.method)?;
        for (i, arg) in self.args.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            match arg {
                Argument::Number(n) => write!(f, "{n}")?,
                Argument::Fresh => f.write_str("*")?,
            }
        }
        f.write_str(")")
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.before.is_empty() {
            write!(f, "before {}; ", join_calls(&self.before))?;
        }
        let processes: Vec<String> = self.program.iter().map(|calls| join_calls(calls)).collect();
        f.write_str(&processes.join(" | "))?;
        if !self.after.is_empty() {
            write!(f, "; after {}", join_calls(&self.after))?;
        }
        Ok(())
    }
}

/// Calls with blanks between them.
pub fn join_calls(calls: &[Call]) -> String {
    calls.iter().map(Call::to_string).collect::<Vec<_>>().join(" ")
}

/// Reads calls: `enq(3) deq()`.
pub fn calls(text: &str) -> Result<Vec<Call>, Error> {
    let mut reader = Reader { text, at: 0 };
    let calls = reader.calls()?;
    reader.expect_end("a call such as enq(3)")?;
    Ok(calls)
}

/// Reads a program: `enq(3) | enq(4) deq()`.
pub fn program(text: &str) -> Result<Program, Error> {
    let mut reader = Reader { text, at: 0 };
    let program = reader.program()?;
    reader.expect_end("a call such as enq(3), or |")?;
    Ok(program)
}

/// Reads a case: `before enq(1); enq(3) | deq(); after deq()`.
pub fn case(text: &str) -> Result<Case, Error> {
    let mut reader = Reader { text, at: 0 };
    let before = if reader.skip_word("before") {
        let before = reader.calls()?;
        if !reader.skip_sign(b';') {
            return Err(reader.error("; behind what is called before"));
        }
        before
    } else {
        Vec::new()
    };
    let program = reader.program()?;
    let after = if reader.skip_sign(b';') {
        if !reader.skip_word("after") {
            return Err(reader.error("the word after"));
        }
        reader.calls()?
    } else {
        Vec::new()
    };
    reader.expect_end("a call such as enq(3), | or ; after")?;
    Ok(Case { before, program, after })
}

/// Reads a file of cases.
pub fn cases(text: &str) -> Result<Vec<Case>, Error> {
    let mut cases = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        if !line.trim().is_empty() {
            cases.push(case(line).map_err(|error| Error { line: i + 1, ..error })?);
        }
    }
    Ok(cases)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&mut self) -> &str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    fn error(&mut self, expected: &str) -> Error {
        let rest = self.rest();
        let found: String = rest.chars().take(20).collect();
        let found = if found.is_empty() { "the end".to_string() } else { format!("{found:?}") };
        let message = format!("found {found}: expected {expected}");
        Error { column: self.at + 1, line: 0, message }
    }

    fn expect_end(&mut self, otherwise: &str) -> Result<(), Error> {
        if self.rest().is_empty() { Ok(()) } else { Err(self.error(otherwise)) }
    }

    fn skip_sign(&mut self, sign: u8) -> bool {
        let there = self.rest().as_bytes().first() == Some(&sign);
        self.at += usize::from(there);
        there
    }

    /// Skips a word that is not the name of a call.
    fn skip_word(&mut self, word: &str) -> bool {
        let there = self.rest().strip_prefix(word).is_some_and(|rest| {
            let next = rest.chars().next();
            next.is_none_or(|c| !is_name(c)) && !rest.trim_start().starts_with('(')
        });
        self.at += if there { word.len() } else { 0 };
        there
    }

    fn program(&mut self) -> Result<Program, Error> {
        let mut program = Vec::new();
        loop {
            let calls = self.calls()?;
            if calls.is_empty() {
                return Err(self.error("a call such as enq(3)"));
            }
            program.push(calls);
            if !self.skip_sign(b'|') {
                return Ok(program);
            }
        }
    }

    fn calls(&mut self) -> Result<Vec<Call>, Error> {
        let mut calls = Vec::new();
        while self.rest().starts_with(is_name) {
            calls.push(self.call()?);
        }
        Ok(calls)
    }

    fn call(&mut self) -> Result<Call, Error> {
        let rest = self.rest();
        let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
        let method = rest[..length].to_string();
        let column = self.at + 1;
        self.at += length;
        if !self.skip_sign(b'(') {
            return Err(self.error("( behind the name of an operation"));
        }
        let mut args = Vec::new();
        while !self.skip_sign(b')') {
            if !args.is_empty() && !self.skip_sign(b',') {
                return Err(self.error(", or )"));
            }
            args.push(self.argument()?);
        }
        Ok(Call { method, args, column })
    }

    fn argument(&mut self) -> Result<Argument, Error> {
        if self.skip_sign(b'*') {
            return Ok(Argument::Fresh);
        }
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
        match rest[..length].parse() {
            Ok(number) => {
                self.at += length;
                Ok(Argument::Number(number))
            }
            Err(_) => Err(self.error("a whole number")),
        }
    }
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        for text in [
            "enq(3) | enq(4) deq()",
            "before enq(1); enq(3) | deq(); after deq() deq()",
            "deq(); after deq()",
            "put(1, -2)",
            "before() | after()",
        ] {
            assert_eq!(case(text).map(|case| case.to_string()), Ok(text.to_string()));
        }
        assert_eq!(case(" enq( 3 )|deq( )").unwrap().to_string(), "enq(3) | deq()");
        let file = "# a comment\n\nenq(1) | deq() # another\n  deq()\n";
        let read: Vec<String> = cases(file).unwrap().iter().map(Case::to_string).collect();
        assert_eq!(read, ["enq(1) | deq()", "deq()"]);
    }

    #[test]
    fn errors_say_where_and_what_was_expected() {
        let wrong = |text: &str, expect: &str| {
            assert_eq!(case(text).unwrap_err().to_string(), expect, "{text}");
        };
        wrong("", "column 1: found the end: expected a call such as enq(3)");
        wrong("enq(1) |", "column 9: found the end: expected a call such as enq(3)");
        wrong("enq 1", "column 5: found \"1\": expected ( behind the name of an operation");
        wrong("enq(x)", "column 5: found \"x)\": expected a whole number");
        wrong("enq(1", "column 6: found the end: expected , or )");
        wrong(
            "enq(1) + deq()",
            "column 8: found \"+ deq()\": expected a call such as enq(3), | or ; after",
        );
        wrong("before enq(1)", "column 14: found the end: expected ; behind what is called before");
        wrong("enq(1); deq()", "column 9: found \"deq()\": expected the word after");
        assert_eq!(
            cases("deq()\nenq(").unwrap_err().to_string(),
            "line 2, column 5: found the end: expected a whole number"
        );
        assert_eq!(program("enq(1); after").unwrap_err().column, 7);
        assert_eq!(calls("enq(1) | deq()").unwrap_err().column, 8);
    }
}
