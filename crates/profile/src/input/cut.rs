//! Packed files that end early: what unpacks is read, and then the sentence that says so.

use std::io::{self, Read};

/// How much is unpacked at a time: what a decoder had unpacked of one call when it met the end is lost.
const PIECE_BYTES: usize = 4 << 10;

/// A decoder whose error comes behind all that it unpacked, and says what is wrong.
pub(crate) struct UpToCut<R> {
    decoder: R,
    packing: &'static str,
    error: Option<io::Error>,
}

impl<R: Read> UpToCut<R> {
    /// `packing` is the name of the format.
    pub(crate) fn new(decoder: R, packing: &'static str) -> UpToCut<R> {
        UpToCut { decoder, packing, error: None }
    }

    /// What a decoder says is the words of its own library.
    fn sentence(&self, error: &io::Error) -> io::Error {
        let sentence = match error.kind() {
            io::ErrorKind::UnexpectedEof => format!("what {} packed is cut: the file ends within it", self.packing),
            _ => format!("what {} packed is damaged ({error})", self.packing),
        };
        io::Error::new(error.kind(), sentence)
    }
}

impl<R: Read> Read for UpToCut<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut filled = 0;
        while filled < buffer.len() {
            let end = buffer.len().min(filled + PIECE_BYTES);
            match self.decoder.read(&mut buffer[filled..end]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if filled == 0 => return Err(self.sentence(&error)),
                Err(error) => {
                    self.error = Some(self.sentence(&error));
                    break;
                }
            }
        }
        Ok(filled)
    }
}
