//! Bytes from a reader, a chunk at a time: the input of every format.
//!
//! A [`Source`] shows the bytes that are read and not yet consumed; a parser with an incomplete
//! form calls [`more`](Source::more) and starts the form again. Cost: each byte is read, validated
//! as UTF-8 and searched for line ends once; memory is one chunk, or twice the longest form.
//!
//! **Invariants.** Shown bytes are valid UTF-8. An error of the input itself (invalid UTF-8, a
//! failing reader) is reported only when the bytes before it are consumed, so that the result never
//! depends on where the reader cuts its chunks.

use std::io::{ErrorKind, Read};

use memchr::{memchr, memchr_iter, memchr2, memrchr};

use crate::history::{Error, Position};

/// The number of bytes requested from the reader at once.
const CHUNK: usize = 256 * 1024;
/// Longer forms are parsed again only after they have doubled, so that the cost stays linear.
const DOUBLE_FROM: usize = 64 * 1024;
/// The longest line or form.
pub(crate) const LIMIT: usize = 64 * 1024 * 1024;

/// A line, or another piece between delimiters, without its end.
pub(crate) struct Piece<'a> {
    /// Its bytes, valid UTF-8.
    pub(crate) bytes: &'a [u8],
    start: Position,
}

impl Piece<'_> {
    /// The place of a byte of the piece. A piece never spans lines.
    pub(crate) fn at(&self, offset: usize) -> Position {
        Position { line: self.start.line, column: add(self.start.column, offset) }
    }

    /// An error at a byte of the piece.
    pub(crate) fn error(&self, offset: usize, message: impl Into<String>) -> Error {
        Error::at(self.at(offset), message)
    }
}

/// How the input ended, if it did.
enum End {
    Open,
    Clean,
    /// With the error after the last valid byte.
    Failed(String),
}

/// A chunk of input that moves along.
pub(crate) struct Source<R> {
    reader: R,
    buffer: Vec<u8>,
    /// The first byte that is not consumed.
    start: usize,
    /// Bytes before this one are valid UTF-8 and shown.
    valid: usize,
    /// Bytes before this one come from the reader.
    filled: usize,
    end: End,
    /// The place of `buffer[start]`.
    position: Position,
    /// Bytes of the last piece, consumed by the next call.
    taken: usize,
}

impl<R: Read> Source<R> {
    /// A source at the start of the input, behind its byte order mark if it has one.
    pub(crate) fn new(reader: R) -> Source<R> {
        let mut source = Source {
            reader,
            buffer: Vec::new(),
            start: 0,
            valid: 0,
            filled: 0,
            end: End::Open,
            position: Position { line: 1, column: 1 },
            taken: 0,
        };
        while source.data().len() < 3 && source.more() {}
        if source.data().starts_with("\u{feff}".as_bytes()) {
            source.start += 3;
        }
        source
    }

    /// The bytes that are not consumed.
    pub(crate) fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.valid]
    }

    /// True once [`Source::data`] is all that is left and the input is sound.
    pub(crate) fn is_last(&self) -> bool {
        matches!(self.end, End::Clean)
    }

    /// Waits for this many bytes, or the end, and shows at most as many.
    pub(crate) fn head(&mut self, length: usize) -> &[u8] {
        while self.data().len() < length && self.more() {}
        let data = self.data();
        &data[..data.len().min(length)]
    }

    /// Reads on; returns false at the end of the input. Then [`Source::check_end`] gives the
    /// reason.
    pub(crate) fn more(&mut self) -> bool {
        let before = self.data().len();
        let wanted = if before < DOUBLE_FROM { before + 1 } else { 2 * before };
        while self.data().len() < wanted && matches!(self.end, End::Open) {
            self.fill();
        }
        self.data().len() > before
    }

    /// The error of the input at the end of [`Source::data`], after [`Source::more`] has returned
    /// false.
    pub(crate) fn check_end(&self) -> Result<(), Error> {
        match &self.end {
            End::Failed(message) => {
                Err(Error::at(self.position(self.data().len()), message.as_str()))
            }
            _ => Ok(()),
        }
    }

    /// The place of a byte of [`Source::data`].
    pub(crate) fn position(&self, offset: usize) -> Position {
        advance(self.position, &self.data()[..offset])
    }

    /// Leaves the first bytes of [`Source::data`] behind.
    pub(crate) fn consume(&mut self, length: usize) {
        self.position = self.position(length);
        self.start += length;
    }

    /// Whether a whole line is already there, after the last piece.
    pub(crate) fn has_line(&self) -> bool {
        memchr(b'\n', &self.buffer[self.start + self.taken..self.valid]).is_some()
    }

    /// The next line, without `\n` or `\r\n`.
    pub(crate) fn line(&mut self) -> Result<Option<Piece<'_>>, Error> {
        let mut line = self.piece(b'\n')?;
        if let Some(line) = &mut line {
            line.bytes = line.bytes.strip_suffix(b"\r").unwrap_or(line.bytes);
        }
        Ok(line)
    }

    /// The bytes up to the next delimiter, line end or the end of the input.
    pub(crate) fn piece(&mut self, delimiter: u8) -> Result<Option<Piece<'_>>, Error> {
        self.leave_piece();
        let mut searched = 0;
        let length = loop {
            if let Some(i) = memchr2(delimiter, b'\n', &self.data()[searched..]) {
                self.taken = searched + i + 1;
                break searched + i;
            }
            searched = self.data().len();
            if searched > LIMIT {
                break searched;
            }
            if !self.more() {
                self.check_end()?;
                if searched == 0 {
                    return Ok(None);
                }
                self.taken = searched;
                break searched;
            }
        };
        if length > LIMIT {
            return Err(self.too_long("line"));
        }
        Ok(Some(Piece { bytes: &self.data()[..length], start: self.position }))
    }

    /// Consumes the last piece and its delimiter; only the delimiter can be a line end.
    #[inline]
    fn leave_piece(&mut self) {
        let length = std::mem::take(&mut self.taken);
        self.start += length;
        if length > 0 && self.buffer[self.start - 1] == b'\n' {
            self.position = Position { line: add(self.position.line, 1), column: 1 };
        } else {
            self.position.column = add(self.position.column, length);
        }
    }

    /// The error for a form that starts here and does not end within the limit.
    pub(crate) fn too_long(&self, what: &str) -> Error {
        let limit = LIMIT / (1024 * 1024);
        Error::at(
            self.position,
            format!("found a {what} longer than {limit} MiB: expected its end"),
        )
    }

    fn fill(&mut self) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.filled, 0);
            self.valid -= self.start;
            self.filled -= self.start;
            self.start = 0;
        }
        if self.buffer.len() - self.filled < CHUNK / 2 {
            let grown = (self.filled + CHUNK).max(self.buffer.len() + self.buffer.len() / 2);
            self.buffer.resize(grown, 0);
        }
        let read = loop {
            match self.reader.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        match read {
            Ok(0) if self.valid < self.filled => self.fail_utf8(),
            Ok(0) => self.end = End::Clean,
            Ok(n) => {
                self.filled += n;
                self.validate();
            }
            Err(error) => {
                self.end = End::Failed(format!("reading failed here: {error}"));
            }
        }
    }

    fn validate(&mut self) {
        match std::str::from_utf8(&self.buffer[self.valid..self.filled]) {
            Ok(_) => self.valid = self.filled,
            Err(error) => {
                self.valid += error.valid_up_to();
                // Without a length, the character may continue in the next chunk.
                if error.error_len().is_some() {
                    self.fail_utf8();
                }
            }
        }
    }

    fn fail_utf8(&mut self) {
        let byte = self.buffer[self.valid];
        let message = format!("found the byte 0x{byte:02x}, which is not UTF-8: expected text");
        self.end = End::Failed(message);
    }
}

/// The place behind these bytes.
fn advance(from: Position, bytes: &[u8]) -> Position {
    match memrchr(b'\n', bytes) {
        None => Position { line: from.line, column: add(from.column, bytes.len()) },
        Some(last) => Position {
            line: add(from.line, 1 + memchr_iter(b'\n', &bytes[..last]).count()),
            column: add(1, bytes.len() - 1 - last),
        },
    }
}

fn add(number: u32, more: usize) -> u32 {
    number.saturating_add(u32::try_from(more).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives out its chunks one by one; an empty chunk is an error.
    struct Chunks(Vec<&'static [u8]>);

    impl Read for Chunks {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let chunk = self.0.remove(0);
            if chunk.is_empty() {
                return Err(std::io::Error::other("the disk is gone"));
            }
            buffer[..chunk.len()].copy_from_slice(chunk);
            Ok(chunk.len())
        }
    }

    #[track_caller]
    fn check(chunks: Vec<&'static [u8]>, expect: &str) {
        let mut source = Source::new(Chunks(chunks));
        let mut seen = Vec::new();
        loop {
            match source.line() {
                Ok(Some(line)) => {
                    let Position { line: number, column } = line.at(0);
                    seen.push(format!("{number}:{column} {}", String::from_utf8_lossy(line.bytes)));
                }
                Ok(None) => break,
                Err(error) => {
                    seen.push(error.to_string());
                    break;
                }
            }
        }
        assert_eq!(seen.join("|"), expect);
    }

    #[test]
    fn lines_do_not_depend_on_chunks() {
        check(vec![b"one\r\ntw", b"o\n", b"\nfour"], "1:1 one|2:1 two|3:1 |4:1 four");
        check(vec![b"\xef", b"\xbb", b"\xbfa\nb"], "1:1 a|2:1 b");
        check(vec![], "");
    }

    #[test]
    fn a_character_may_be_cut() {
        check(vec![b"a\xc3", b"\xa4\nb"], "1:1 a\u{e4}|2:1 b");
    }

    #[test]
    fn bad_input_is_told_where_it_stands() {
        check(
            vec![b"a\nb\xffc\nd"],
            "1:1 a|2:2: found the byte 0xff, which is not UTF-8: expected text",
        );
        check(
            vec![b"\xef\xbb\xbfa\xff"],
            "1:2: found the byte 0xff, which is not UTF-8: expected text",
        );
        check(vec![b"ab\xc3"], "1:3: found the byte 0xc3, which is not UTF-8: expected text");
        check(vec![b"a\nb", b""], "1:1 a|2:2: reading failed here: the disk is gone");
    }
}
