//! Packed files that end early: what unpacks is read, and then the sentence that says so.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

/// How much is unpacked at a time: what a decoder had unpacked of one call when it met the end is lost.
const PIECE_BYTES: usize = 4 << 10;

/// What the decoder of gzip says where something else stands in the place of a member.
const NO_MEMBER: &str = "invalid gzip header";

/// What is said of a member behind another one that ends within its header: a few bytes that are none, mostly.
const PART_OF_MEMBER: &str = "a gzip header that ends early";

/// An error that says what is wrong in a sentence of ours. A decoder that reads bytes which end in it passes it on: the
/// fault is not one of its own format.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Explained(String);

impl Explained {
    /// The error with this sentence.
    pub(crate) fn error(kind: io::ErrorKind, sentence: impl Into<String>) -> io::Error {
        io::Error::new(kind, Explained(sentence.into()))
    }

    fn is_in(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Explained>())
    }
}

/// A decoder of gzip that tells such bytes from data that are cut.
pub(crate) struct Members<R>(pub(crate) MultiGzDecoder<R>);

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let outcome = self.0.read(buffer);
        let is_in_header = self.0.header().is_none();
        outcome.map_err(|error| match error.kind() {
            _ if Explained::is_in(&error) => error,
            io::ErrorKind::UnexpectedEof if is_in_header => io::Error::new(error.kind(), PART_OF_MEMBER),
            _ => error,
        })
    }
}

/// A decoder whose error comes behind all that it unpacked, and says what is wrong.
pub(crate) struct UpToCut<R> {
    decoder: R,
    packing: &'static str,
    piece_bytes: usize,
    /// Whether anything was unpacked.
    is_begun: bool,
    error: Option<io::Error>,
}

impl<R: Read> UpToCut<R> {
    /// `packing` is the name of the format.
    pub(crate) fn new(decoder: R, packing: &'static str) -> UpToCut<R> {
        UpToCut { decoder, packing, piece_bytes: PIECE_BYTES, is_begun: false, error: None }
    }

    /// The same of a decoder that loses nothing that it unpacked.
    pub(crate) fn of_careful(decoder: R, packing: &'static str) -> UpToCut<R> {
        UpToCut { piece_bytes: usize::MAX, ..UpToCut::new(decoder, packing) }
    }

    /// What a decoder says is the words of its own library; what the kernel says of the file stays, as does what was
    /// said of the bytes that the decoder reads.
    fn sentence(&self, error: io::Error) -> io::Error {
        let sentence = match error.kind() {
            _ if error.raw_os_error().is_some() || Explained::is_in(&error) => return error,
            io::ErrorKind::UnexpectedEof if self.is_begun && error.to_string() == PART_OF_MEMBER => {
                format!("what follows its {0} data is no whole {0} data", self.packing)
            }
            io::ErrorKind::UnexpectedEof => format!("the {} data is truncated", self.packing),
            // Such as the zeros that fill the last block of a tape.
            _ if self.is_begun && error.to_string() == NO_MEMBER => {
                format!("what follows its {0} data is no {0} data", self.packing)
            }
            _ => format!("the {} data is damaged ({error})", self.packing),
        };
        Explained::error(error.kind(), sentence)
    }
}

impl<R: Read> Read for UpToCut<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut filled = 0;
        while filled < buffer.len() {
            let end = buffer.len().min(filled.saturating_add(self.piece_bytes));
            match self.decoder.read(&mut buffer[filled..end]) {
                Ok(0) => break,
                Ok(count) => {
                    filled += count;
                    self.is_begun = true;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if filled == 0 => return Err(self.sentence(error)),
                Err(error) => {
                    self.error = Some(self.sentence(error));
                    break;
                }
            }
        }
        Ok(filled)
    }
}
