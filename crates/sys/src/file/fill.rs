//! Filling a new file with several writers in parallel. Each makes a segment and then waits for the disk, so that the
//! disk is busy while the next segments are made.
//!
//! The caller opens the file and makes its contents.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use crate::memory::{Arena, SLOT_ALIGNMENT};
use crate::threads::start;

/// Bytes of one write: large enough that a disk's rate counts and not its latency.
pub const SEGMENT_BYTES: u64 = 4 << 20;

/// Writes in flight. Each writer makes its data (7 GB/s where this was written) and then waits for the disk; four keep
/// the disk busy meanwhile, and their buffers are 16 MiB.
const WRITERS: usize = 4;

/// Allocates the file's blocks in advance, `bytes` rounded up to a whole block: the extents are few, a full disk shows
/// at once, and parallel writers need not wait for the file to grow.
pub fn reserve(file: &File, bytes: u64) -> Result<(), Errno> {
    let length = bytes.next_multiple_of(SLOT_ALIGNMENT as u64);
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, length) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => rustix::fs::ftruncate(file, length),
        allotted => allotted,
    }
}

/// A file to fill, open for writing.
pub struct Filling<'a, M> {
    file: &'a File,
    bytes: u64,
    /// Fills the buffer with the file's contents from this offset on.
    make: M,
    stop: &'a AtomicBool,
    /// First byte that no writer has taken yet.
    next: AtomicU64,
}

impl<'a, M: Fn(u64, &mut [u8]) + Sync> Filling<'a, M> {
    /// Of `bytes` bytes, which `make` makes segment by segment; each segment begins at a multiple of
    /// [`SEGMENT_BYTES`].
    ///
    /// The last write is rounded up to a whole block, as direct writes require: the file may be longer afterwards.
    pub fn new(file: &'a File, bytes: u64, make: M, stop: &'a AtomicBool) -> Filling<'a, M> {
        Filling { file, bytes, make, stop, next: AtomicU64::new(0) }
    }

    /// Fills the file, calling `progress` with the bytes written so far on the calling thread. Raising the stop flag
    /// ends it within one write a writer and is no error. Returns the kernel's first error.
    pub fn run(&self, progress: &mut dyn FnMut(u64)) -> io::Result<()> {
        thread::scope(|scope| {
            let (sender, receiver) = channel();
            for number in 0..WRITERS {
                let sender = sender.clone();
                match start(scope, move || self.write_segments(&sender)) {
                    Err(refused) if number == 0 => return Err(refused.into()),
                    // Fewer writers fill the file too.
                    Err(_) => break,
                    Ok(_) => {}
                }
            }
            // The receiver ends when the last writer has dropped its sender.
            drop(sender);
            self.follow(&receiver, progress)
        })
    }

    /// Adds up what the writers report; the first error stops the others.
    fn follow(&self, receiver: &Receiver<io::Result<u64>>, progress: &mut dyn FnMut(u64)) -> io::Result<()> {
        let mut written = 0;
        let mut outcome = Ok(());
        for report in receiver {
            match report {
                Ok(bytes) => {
                    written += bytes;
                    progress(written);
                }
                Err(error) => {
                    self.next.store(self.bytes, Ordering::Relaxed);
                    outcome = outcome.and(Err(error));
                }
            }
        }
        outcome
    }

    /// One writer: takes segments until none are left, and reports each.
    fn write_segments(&self, reports: &Sender<io::Result<u64>>) {
        let mut arena = match Arena::new(1, SEGMENT_BYTES as usize) {
            Ok(arena) => arena,
            Err(error) => return drop(reports.send(Err(error))),
        };
        while !self.stop.load(Ordering::Relaxed) {
            let offset = self.next.fetch_add(SEGMENT_BYTES, Ordering::Relaxed);
            if offset >= self.bytes {
                return;
            }
            let wanted = SEGMENT_BYTES.min(self.bytes - offset);
            let buffer = &mut arena.slot_mut(0)[..wanted.next_multiple_of(SLOT_ALIGNMENT as u64) as usize];
            (self.make)(offset, buffer);
            let written = self.file.write_all_at(buffer, offset).map(|()| wanted);
            let failed = written.is_err();
            // The receiver outlives the writers, so a report always arrives.
            if reports.send(written).is_err() || failed {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_made_once_and_stands_where_it_belongs() {
        let file = tempfile::tempfile().unwrap();
        let bytes = 3 * SEGMENT_BYTES + 12_345;
        let stop = AtomicBool::new(false);
        let make = |offset: u64, buffer: &mut [u8]| {
            let words = buffer.chunks_mut(8).zip(offset / 8..);
            words.for_each(|(word, number)| word.copy_from_slice(&number.to_le_bytes()[..word.len()]));
        };
        let mut heard = Vec::new();
        reserve(&file, bytes).unwrap();
        Filling::new(&file, bytes, make, &stop).run(&mut |written| heard.push(written)).unwrap();
        assert_eq!(heard.last(), Some(&bytes));
        assert!(heard.is_sorted());
        let mut word = [0; 8];
        for number in (0..bytes / 8).step_by(511) {
            file.read_exact_at(&mut word, number * 8).unwrap();
            assert_eq!(u64::from_le_bytes(word), number);
        }
    }

    #[test]
    fn the_first_error_of_a_writer_ends_all_of_them() {
        let file = File::open("/proc/self/exe").unwrap();
        let stop = AtomicBool::new(false);
        let filling = Filling::new(&file, 1 << 40, |_, _| (), &stop);
        assert!(filling.run(&mut |_| panic!("a file for reading was written")).is_err());
    }
}
