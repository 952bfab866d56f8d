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

/// Has `look` read a stream from its first byte on, but no further than `most` bytes. Gives the stream, to be read from
/// its first byte on, what `look` says, and whether the stream had no more than it saw.
pub(crate) fn look_ahead<R: Read, T>(
    mut stream: R,
    most: usize,
    look: impl FnOnce(&mut dyn Read) -> T,
) -> (Peeked<R>, T, bool) {
    let mut kept = Kept { stream: &mut stream, most, kept: Vec::new(), error: None, is_over: false, is_cut: false };
    let said = look(&mut kept);
    let Kept { kept, error, is_over, is_cut, .. } = kept;
    let has_more = !is_over && error.is_none();
    (Peeked { head: Cursor::new(kept), error, rest: has_more.then_some(stream) }, said, !is_cut)
}

/// Keeps what is read of a stream.
struct Kept<'s, R> {
    stream: &'s mut R,
    most: usize,
    kept: Vec<u8>,
    /// What ended the reading of the stream.
    error: Option<io::Error>,
    is_over: bool,
    /// Whether more was wanted than is kept.
    is_cut: bool,
}

impl<R: Read> Read for Kept<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = buffer.len().min(self.most - self.kept.len());
        self.is_cut |= room < buffer.len().min(1);
        if let Some(error) = &self.error {
            return Err(io::Error::new(error.kind(), error.to_string()));
        }
        if room == 0 || self.is_over {
            return Ok(0);
        }
        match self.stream.read(&mut buffer[..room]) {
            Ok(count) => {
                self.kept.extend_from_slice(&buffer[..count]);
                self.is_over = count == 0;
                Ok(count)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let same = io::Error::new(error.kind(), error.to_string());
                self.error = Some(error);
                Err(same)
            }
        }
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
    fn what_was_looked_at_ahead_is_read_once_more_with_the_error_behind_it() {
        let looked = |most: usize, fails: bool| {
            let error = fails.then(|| io::Error::other("why"));
            let stream = Cursor::new(b"one\ntwo\n").chain(FailingOnce(error));
            let (mut again, seen, is_all) = look_ahead(stream, most, |ahead| {
                let mut seen = Vec::new();
                let _ = ahead.read_to_end(&mut seen);
                seen
            });
            let mut all = Vec::new();
            let error = again.read_to_end(&mut all).err().map(|error| error.to_string());
            assert_eq!((&*all, error), (&b"one\ntwo\n"[..], fails.then(|| "why".to_string())), "{most}");
            (seen.len(), is_all)
        };
        for fails in [false, true] {
            assert_eq!([0, 5, 8, 9].map(|most| looked(most, fails)), [(0, false), (5, false), (8, false), (8, true)]);
        }
        // As much as is wanted, and no more.
        let (mut again, seen, _) = look_ahead(Cursor::new(b"WAIT"), 9, |ahead| ahead.read(&mut [0; 2]).unwrap());
        let mut all = Vec::new();
        again.read_to_end(&mut all).unwrap();
        assert_eq!((seen, &*all), (2, &b"WAIT"[..]));
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
