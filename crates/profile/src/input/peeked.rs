//! A stream whose first bytes were looked at, and that is read from its first byte on all the same.

use std::io::{self, Cursor, Read};

/// The bytes that were looked at, and those behind them.
#[derive(Debug)]
pub(crate) struct Peeked<R> {
    head: Cursor<Vec<u8>>,
    /// What ends them, or what comes behind those that were handed out.
    error: Option<io::Error>,
    /// `None` where the stream ended or failed within the first bytes: it is not asked again.
    rest: Option<R>,
}

impl<R: Read> Peeked<R> {
    /// Looks at this many bytes; at fewer where the stream ends or fails before. An error comes when it is read.
    pub(crate) fn new(mut stream: R, most: usize) -> Peeked<R> {
        let mut head = Vec::with_capacity(most);
        let outcome = Read::by_ref(&mut stream).take(most as u64).read_to_end(&mut head);
        let has_more = outcome.is_ok() && head.len() == most;
        Peeked { head: Cursor::new(head), error: outcome.err(), rest: has_more.then_some(stream) }
    }

    /// The bytes that were looked at.
    pub(crate) fn head(&self) -> &[u8] {
        self.head.get_ref()
    }
}

impl<R: Read> Read for Peeked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let looked_at = self.head.read(buffer)?;
        if looked_at == buffer.len() {
            return Ok(looked_at);
        }
        // The bytes behind come along: the format of a log is seen from what the first read gives.
        let behind = match (self.error.take(), &mut self.rest) {
            (Some(error), _) => Err(error),
            (None, Some(rest)) => rest.read(&mut buffer[looked_at..]),
            (None, None) => Ok(0),
        };
        match behind {
            Err(error) if looked_at > 0 => {
                self.error = Some(error);
                Ok(looked_at)
            }
            behind => behind.map(|count| looked_at + count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails once, and then seems to have ended, as decoders do.
    struct FailingOnce(Option<io::Error>);

    impl Read for FailingOnce {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            self.0.take().map_or(Ok(0), Err)
        }
    }

    #[test]
    fn an_error_within_the_bytes_that_are_looked_at_is_not_lost() {
        for most in [2, 4, 6] {
            let stream = Cursor::new(b"WAIT").chain(FailingOnce(Some(io::Error::other("why"))));
            let mut peeked = Peeked::new(stream, most);
            assert_eq!(peeked.head(), &b"WAIT"[..most.min(4)]);
            let mut all = Vec::new();
            let error = peeked.read_to_end(&mut all).unwrap_err();
            assert_eq!((&*all, error.to_string().as_str()), (&b"WAIT"[..], "why"), "{most}");
            assert_eq!(peeked.read(&mut [0; 9]).unwrap(), 0, "it is said once");
        }
    }

    #[test]
    fn a_reader_with_little_room_gets_every_byte_once() {
        let mut peeked = Peeked::new(Cursor::new(b"one\ntwo\n"), 6);
        let mut all = Vec::new();
        let mut byte = [0];
        while peeked.read(&mut byte).unwrap() > 0 {
            all.push(byte[0]);
        }
        assert_eq!(all, b"one\ntwo\n");
    }
}
