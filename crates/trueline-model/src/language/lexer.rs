//! Splits text into tokens. Comments run from `//` to the end of the line. The only errors are
//! characters that begin no token and numbers that are too large; both have a span.

use super::diagnostic::{Diagnostic, Span};

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name or a keyword.
    Word(String),
    Number(i64),
    /// An operator or a bracket.
    Sign(&'static str),
    End,
}

/// A token and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
    /// True if it is the first of its line.
    pub(crate) starts_line: bool,
}

/// Longer signs come first, so that `<=` is not read as `<`.
const SIGNS: [&str; 32] = [
    "->", "..", "==", "!=", "<=", ">=", "&&", "||", "++", "+=", "-=", "(", ")", "[", "]", "{", "}",
    "<", ">", "+", "-", "*", "/", "%", "=", "!", "?", ":", ";", ",", ".", "@",
];

/// The byte order mark.
pub(crate) const MARK: char = '\u{feff}';

/// A larger model is an error, so that positions fit and memory stays bounded.
pub(crate) const LARGEST_SOURCE: usize = 1 << 20;

pub(crate) fn tokens(source: &str) -> Result<Vec<Token>, Diagnostic> {
    if source.len() > LARGEST_SOURCE {
        return Err(Diagnostic::new(Span::default(), "the model is larger than 1 MiB"));
    }
    let bytes = source.as_bytes();
    let mut out = Vec::new();
    // Some editors put a byte order mark in front.
    let mut at = if source.starts_with(MARK) { MARK.len_utf8() } else { 0 };
    let mut starts_line = true;
    while at < bytes.len() {
        let start = at;
        let span = |end: usize| Span { start: start as u32, end: end as u32 };
        let byte = bytes[at];
        let kind = if byte == b'\n' {
            starts_line = true;
            at += 1;
            continue;
        } else if byte.is_ascii_whitespace() {
            at += 1;
            continue;
        } else if source[at..].starts_with("//") {
            at = source[at..].find('\n').map_or(bytes.len(), |n| at + n);
            continue;
        } else if byte.is_ascii_alphabetic() || byte == b'_' {
            at += run(&bytes[at..], |b| b.is_ascii_alphanumeric() || b == b'_');
            match &source[start..at] {
                "_" => TokenKind::Sign("_"),
                word => TokenKind::Word(word.to_string()),
            }
        } else if byte.is_ascii_digit() {
            at += run(&bytes[at..], |b| b.is_ascii_digit() || b == b'_');
            let digits: String = source[start..at].chars().filter(|c| *c != '_').collect();
            match digits.parse::<i32>() {
                Ok(number) => TokenKind::Number(number.into()),
                Err(_) => {
                    let message = "this number is too large";
                    return Err(
                        Diagnostic::new(span(at), message).help("numbers go up to 2147483647")
                    );
                }
            }
        } else if let Some(sign) = SIGNS.iter().find(|sign| source[at..].starts_with(**sign)) {
            at += sign.len();
            TokenKind::Sign(sign)
        } else {
            let odd = source[at..].chars().next().unwrap_or(' ');
            let message = format!("no token begins with {odd:?}");
            return Err(Diagnostic::new(span(at + odd.len_utf8()), message));
        };
        out.push(Token { kind, span: span(at), starts_line });
        starts_line = false;
    }
    let end = Span { start: bytes.len() as u32, end: bytes.len() as u32 };
    out.push(Token { kind: TokenKind::End, span: end, starts_line: true });
    Ok(out)
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|b| !belongs(*b)).unwrap_or(bytes.len())
}

impl TokenKind {
    /// As an error message names it.
    pub(crate) fn shown(&self) -> String {
        match self {
            TokenKind::Word(word) => format!("`{word}`"),
            TokenKind::Number(number) => format!("`{number}`"),
            TokenKind::Sign(sign) => format!("`{sign}`"),
            TokenKind::End => "the end of the file".to_string(),
        }
    }
}
