//! The parts of a packed file, unpacked side by side and handed out in order.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;

use super::frames::Parts;
use crate::input::bytes::Bytes;

/// Parts that are unpacked at a time.
const THREADS: usize = 3;

/// Bytes of an unpacked piece, and how many of one part wait for their turn.
const PIECE_BYTES: usize = 256 << 10;
const PIECES: usize = 8;

/// Unpacked bytes from which on parts are unpacked ahead: who looks at the beginning of a file does not need them.
const ALONE_BYTES: u64 = 1 << 20;

/// Unpacks what is left of a reader.
pub(super) type Unpack = fn(Bytes) -> io::Result<Bytes>;

/// The unpacked bytes of all parts.
pub(super) struct SideBySide {
    file: File,
    parts: Parts,
    unpack: Unpack,
    /// The part that is unpacked here, as long as none is unpacked ahead.
    here: Option<Bytes>,
    ahead: VecDeque<Receiver<io::Result<Vec<u8>>>>,
    /// The piece that is handed out, and how far.
    piece: Vec<u8>,
    at: usize,
    bytes: u64,
}

impl SideBySide {
    /// Nothing unpacked yet.
    pub(super) fn new(file: File, parts: Parts, unpack: Unpack) -> SideBySide {
        SideBySide { file, parts, unpack, here: None, ahead: VecDeque::new(), piece: Vec::new(), at: 0, bytes: 0 }
    }

    /// The packed bytes of the next part.
    fn part(&mut self) -> io::Result<Option<Bytes>> {
        let Some((begin, end)) = self.parts.next()? else { return Ok(None) };
        let part = Bytes::from_file(self.file.try_clone()?, begin, end).take(end - begin);
        (self.unpack)(Bytes::from_reader(part)).map(Some)
    }

    /// Begins parts ahead of their turn.
    fn fill(&mut self) -> io::Result<()> {
        while self.bytes >= ALONE_BYTES && self.here.is_none() && self.ahead.len() < THREADS {
            let Some(part) = self.part()? else { return Ok(()) };
            let (sender, receiver) = sync_channel(PIECES);
            Builder::new().name("unpack".into()).spawn(move || unpack_into(part, &sender))?;
            self.ahead.push_back(receiver);
        }
        Ok(())
    }

    /// The next piece; nothing at the end.
    fn next_piece(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            self.fill()?;
            if let Some(front) = self.ahead.front() {
                match front.recv() {
                    Ok(piece) => return piece.map(Some),
                    // The part is over.
                    Err(_) => drop(self.ahead.pop_front()),
                }
                continue;
            }
            if self.here.is_none() {
                self.here = self.part()?;
            }
            let Some(here) = &mut self.here else { return Ok(None) };
            let mut piece = std::mem::take(&mut self.piece);
            piece.clear();
            if here.append(&mut piece, PIECE_BYTES)? > 0 {
                return Ok(Some(piece));
            }
            self.here = None;
        }
    }
}

/// Unpacks a part until it ends or its reader is gone.
fn unpack_into(mut part: Bytes, sender: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut piece = Vec::new();
        let outcome = part.append(&mut piece, PIECE_BYTES);
        let is_over = !matches!(outcome, Ok(count) if count > 0);
        let is_wanted = match outcome {
            Ok(_) if is_over => return,
            Ok(_) => sender.send(Ok(piece)).is_ok(),
            Err(error) => sender.send(Err(error)).is_ok(),
        };
        if is_over || !is_wanted {
            return;
        }
    }
}

impl Read for SideBySide {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() {
            self.at = 0;
            let Some(piece) = self.next_piece()? else {
                self.piece.clear();
                return Ok(0);
            };
            self.piece = piece;
        }
        let count = buffer.len().min(self.piece.len() - self.at);
        buffer[..count].copy_from_slice(&self.piece[self.at..self.at + count]);
        self.at += count;
        self.bytes += count as u64;
        Ok(count)
    }
}
