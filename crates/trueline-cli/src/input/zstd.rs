//! Unpacks zstd frame by frame: packers may write several frames, and skippable frames between
//! them.

use std::error::Error;
use std::io::{self, BufRead, Read};

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

const FRAME: u32 = 0xfd2f_b528;
/// The first of sixteen magic numbers that mark skippable frames.
const SKIPPED: u32 = 0x184d_2a50;

/// True where these four bytes begin a zstd file.
pub(super) fn starts(head: &[u8]) -> bool {
    let magic = head.try_into().map(u32::from_le_bytes);
    magic.is_ok_and(|magic| magic == FRAME || magic & !0xf == SKIPPED)
}

type Magic<R> = io::Chain<io::Cursor<[u8; 4]>, R>;

pub(super) struct Zstd<R: BufRead>(Place<R>);

enum Place<R: BufRead> {
    Between(R),
    Inside(Box<StreamingDecoder<Magic<R>, FrameDecoder>>),
    Over,
}

impl<R: BufRead> Zstd<R> {
    pub(super) fn new(input: R) -> Zstd<R> {
        Zstd(Place::Between(input))
    }
}

/// Advances to the next frame with content, if there is one.
fn next_frame<R: BufRead>(mut input: R) -> io::Result<Place<R>> {
    while !input.fill_buf()?.is_empty() {
        let mut word = [0; 4];
        input.read_exact(&mut word).map_err(damaged)?;
        if u32::from_le_bytes(word) & !0xf != SKIPPED {
            let frame = StreamingDecoder::new(io::Cursor::new(word).chain(input));
            return Ok(Place::Inside(Box::new(frame.map_err(damaged)?)));
        }
        input.read_exact(&mut word).map_err(damaged)?;
        let length = u64::from(u32::from_le_bytes(word));
        if io::copy(&mut input.by_ref().take(length), &mut io::sink())? < length {
            return Err(damaged(io::Error::from(io::ErrorKind::UnexpectedEof)));
        }
    }
    Ok(Place::Over)
}

/// The error of the input itself, if that is the cause; otherwise a message about the content.
fn damaged(error: impl Error + 'static) -> io::Error {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<io::Error>() {
            match io.kind() {
                io::ErrorKind::UnexpectedEof => {
                    return io::Error::new(io.kind(), "the zstd data ends too early");
                }
                io::ErrorKind::TimedOut => return io.kind().into(),
                _ => {}
            }
            // `source` of a wrapping error skips the error that it wraps.
            cause = io.get_ref().map(|inner| inner as _);
        } else {
            cause = inner.source();
        }
    }
    io::Error::new(io::ErrorKind::InvalidData, format!("the zstd data is damaged: {error}"))
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let rest = match std::mem::replace(&mut self.0, Place::Over) {
                Place::Over => return Ok(0),
                Place::Between(input) => input,
                Place::Inside(mut frame) => {
                    let n = frame.read(buffer).map_err(damaged)?;
                    if n > 0 || buffer.is_empty() {
                        self.0 = Place::Inside(frame);
                        return Ok(n);
                    }
                    frame.into_inner().into_inner().1
                }
            };
            self.0 = next_frame(rest)?;
        }
    }
}
