//! Sorting entries in bounded memory.
//!
//! Entries gather in a buffer. When it is full it is sorted and written, as a *run*, to a file without a name in the
//! data directory; in the end the runs are merged. 70 million numbers fill a buffer of 256 MiB seven times, the last
//! time in part, and take 1.3 GB of such a file. Where all entries fit into the buffer there is no file.
//!
//! What is compared first is a number, the first eight bytes of the key; a key that is a number needs nothing else.

use std::cmp::Ordering as Order;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::key::{KEY_BYTES_MAX, Key, KeyKind, NUMBER_BYTES, Place};
use crate::error::{StorageError, io_error};
use crate::page::id::RowId;

/// Bytes that the buffer of entries may take.
pub const SORT_BYTES: usize = 256 << 20;

/// Bytes that are written to the file, or read from one run, at once.
const PIECE_BYTES: usize = 1 << 20;

/// Entries between two looks at the flag that stops the sorting.
const ENTRIES_BETWEEN_LOOKS: u64 = 1 << 14;

/// Bytes of a stored entry besides its key: length and place.
const STORED_BYTES: usize = 2 + 8;

/// Takes one entry after the other: its stored key, and where its row is.
type Each<'a> = dyn FnMut(&[u8], Place) -> Result<(), StorageError> + 'a;

/// An entry in the buffer.
#[derive(Clone, Copy, Debug)]
struct Item {
    /// The first eight bytes of the key, zeros where it is shorter.
    head: u64,
    place: Place,
    /// Where the rest of the key begins.
    tail_start: u32,
    key_bytes: u16,
}

impl Item {
    fn tail<'a>(&self, tails: &'a [u8]) -> &'a [u8] {
        let length = usize::from(self.key_bytes).saturating_sub(NUMBER_BYTES);
        &tails[self.tail_start as usize..][..length]
    }

    /// The order of key and place. Of keys that are equal but for zeros that one lacks, the shorter comes first.
    #[inline]
    fn order(&self, other: &Item, tails: &[u8]) -> Order {
        self.head.cmp(&other.head).then_with(|| {
            let of_tails = self.tail(tails).cmp(other.tail(tails));
            of_tails.then(self.key_bytes.cmp(&other.key_bytes)).then(self.place.cmp(&other.place))
        })
    }

    fn key_into(&self, tails: &[u8], key: &mut Vec<u8>) {
        key.clear();
        key.extend_from_slice(&self.head.to_be_bytes()[..usize::from(self.key_bytes).min(NUMBER_BYTES)]);
        key.extend_from_slice(self.tail(tails));
    }
}

/// Takes entries in any order.
#[derive(Debug)]
pub struct KeySorter<'a> {
    keys: KeyKind,
    bytes_max: usize,
    directory: PathBuf,
    stop: &'a AtomicBool,
    items: Vec<Item>,
    tails: Vec<u8>,
    spilled: Option<Spilled>,
    entries: u64,
    key_bytes: u64,
}

/// The runs in the file.
#[derive(Debug)]
struct Spilled {
    file: File,
    /// Where each run begins; the last one ends at `end`.
    starts: Vec<u64>,
    end: u64,
}

impl<'a> KeySorter<'a> {
    /// A sorter that uses `bytes_max` bytes of memory, and a piece of 1 MiB a run in the end, and puts what is more
    /// into a file without a name in `directory`.
    pub fn new(keys: KeyKind, bytes_max: usize, directory: &Path, stop: &'a AtomicBool) -> KeySorter<'a> {
        KeySorter {
            keys,
            bytes_max,
            directory: directory.into(),
            stop,
            items: Vec::new(),
            tails: Vec::new(),
            spilled: None,
            entries: 0,
            key_bytes: 0,
        }
    }

    /// Takes an entry. Errors for a key that cannot be, with [`StorageError::Stopped`] when the flag was raised, and
    /// when a run cannot be written.
    #[inline]
    pub fn add(&mut self, key: Key<'_>, row: RowId) -> Result<(), StorageError> {
        let key = key.encode(self.keys)?;
        if self.entries.is_multiple_of(ENTRIES_BETWEEN_LOOKS) && self.stop.load(Ordering::Relaxed) {
            return Err(StorageError::Stopped);
        }
        let tail = key.get(NUMBER_BYTES..).unwrap_or(&[]);
        let grown = (self.items.len() + 1) * size_of::<Item>() + self.tails.len() + tail.len();
        if grown > self.bytes_max && !self.items.is_empty() {
            self.spill()?;
        }
        let (held, items_max) = (self.items.len(), self.bytes_max / size_of::<Item>());
        if held == self.items.capacity() {
            // Doubled as any vector, but never to more than is allowed.
            self.items
                .reserve_exact(held.max(PIECE_BYTES / size_of::<Item>()).min(items_max.saturating_sub(held)).max(1));
        }
        let tail_start = self.tails.len() as u32;
        self.tails.extend_from_slice(tail);
        self.items.push(Item { head: head_of(&key), place: Place::of(row), tail_start, key_bytes: key.len() as u16 });
        self.entries += 1;
        self.key_bytes += key.len() as u64;
        Ok(())
    }

    /// What the keys are.
    pub fn keys(&self) -> KeyKind {
        self.keys
    }

    /// Entries so far.
    pub fn entries(&self) -> u64 {
        self.entries
    }

    /// Bytes of all keys so far.
    pub fn key_bytes(&self) -> u64 {
        self.key_bytes
    }

    /// Gives all entries, in order.
    pub(crate) fn finish(mut self, each: &mut Each<'_>) -> Result<(), StorageError> {
        if self.spilled.is_some() {
            self.spill()?;
        }
        match self.spilled.take() {
            Some(spilled) => {
                let failed = io_error(&self.directory, "reading a sorted run");
                // The buffer is not needed for the merge.
                let stop = self.stop;
                drop(self);
                spilled.merge(&failed, &mut checked(stop, each))
            }
            None => {
                self.sort();
                let mut key = Vec::with_capacity(KEY_BYTES_MAX);
                let mut each = checked(self.stop, each);
                self.items.iter().try_for_each(|item| {
                    item.key_into(&self.tails, &mut key);
                    each(&key, item.place)
                })
            }
        }
    }

    fn sort(&mut self) {
        let tails = &self.tails;
        self.items.sort_unstable_by(|one, other| one.order(other, tails));
    }

    /// Writes the buffer as a run and empties it.
    fn spill(&mut self) -> Result<(), StorageError> {
        self.sort();
        let failed = io_error(&self.directory, "writing a sorted run");
        let spilled = match &mut self.spilled {
            Some(spilled) => spilled,
            None => {
                let file = sys::file::scratch_file(&self.directory).map_err(&failed)?;
                self.spilled.insert(Spilled { file, starts: Vec::new(), end: 0 })
            }
        };
        spilled.starts.push(spilled.end);
        let mut writer = BufWriter::with_capacity(PIECE_BYTES, &spilled.file);
        let mut key = Vec::with_capacity(KEY_BYTES_MAX);
        for item in &self.items {
            item.key_into(&self.tails, &mut key);
            let written = writer
                .write_all(&(key.len() as u16).to_le_bytes())
                .and_then(|()| writer.write_all(&key))
                .and_then(|()| writer.write_all(&item.place.0.to_le_bytes()));
            written.map_err(&failed)?;
            spilled.end += (STORED_BYTES + key.len()) as u64;
        }
        writer.flush().map_err(&failed)?;
        drop(writer);
        self.items.clear();
        self.tails.clear();
        Ok(())
    }
}

fn head_of(key: &[u8]) -> u64 {
    let mut head = [0; NUMBER_BYTES];
    let length = key.len().min(NUMBER_BYTES);
    head[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(head)
}

/// The same, with a look at the flag that stops now and then.
fn checked<'a>(
    stop: &'a AtomicBool,
    each: &'a mut Each<'_>,
) -> impl FnMut(&[u8], Place) -> Result<(), StorageError> + 'a {
    let mut count = 0_u64;
    move |key, place| {
        count += 1;
        if count.is_multiple_of(ENTRIES_BETWEEN_LOOKS) && stop.load(Ordering::Relaxed) {
            return Err(StorageError::Stopped);
        }
        each(key, place)
    }
}

impl Spilled {
    /// Gives the entries of all runs, always the lowest of the runs' first ones. There are few runs, so they are looked
    /// at one by one.
    fn merge(&self, failed: &impl Fn(std::io::Error) -> StorageError, each: &mut Each<'_>) -> Result<(), StorageError> {
        let ends = self.starts.iter().skip(1).copied().chain([self.end]);
        let mut runs = Vec::new();
        for (start, end) in self.starts.iter().zip(ends) {
            let mut run = Run { file: &self.file, next: *start, end, piece: Vec::new(), at: 0, head: 0, key_bytes: 0 };
            if run.advance().map_err(failed)? {
                runs.push(run);
            }
        }
        while let Some(first) = (0..runs.len()).reduce(|one, other| match runs[other].order(&runs[one]) {
            Order::Less => other,
            _ => one,
        }) {
            let run = &mut runs[first];
            each(run.key(), run.place())?;
            if !run.advance().map_err(failed)? {
                runs.swap_remove(first);
            }
        }
        Ok(())
    }
}

/// A run that is being read; it stands at one entry.
struct Run<'a> {
    file: &'a File,
    /// What was not read yet.
    next: u64,
    end: u64,
    piece: Vec<u8>,
    /// The entry in the piece, behind its length.
    at: usize,
    head: u64,
    key_bytes: usize,
}

impl Run<'_> {
    fn key(&self) -> &[u8] {
        &self.piece[self.at..][..self.key_bytes]
    }

    fn place(&self) -> Place {
        let bytes = self.piece[self.at + self.key_bytes..].first_chunk().copied();
        Place(u64::from_le_bytes(bytes.unwrap_or_default()))
    }

    #[inline]
    fn order(&self, other: &Run<'_>) -> Order {
        let heads = self.head.cmp(&other.head);
        heads.then_with(|| self.key().cmp(other.key())).then_with(|| self.place().cmp(&other.place()))
    }

    /// Goes to the next entry; `false` behind the last one. Errors when the file is not what was written.
    fn advance(&mut self) -> std::io::Result<bool> {
        let mut at = match self.piece.is_empty() {
            true => 0,
            false => self.at + self.key_bytes + 8,
        };
        if self.piece.len() - at < STORED_BYTES + KEY_BYTES_MAX && self.next < self.end {
            self.piece.drain(..at);
            at = 0;
            let kept = self.piece.len();
            let more = ((self.end - self.next) as usize).min(PIECE_BYTES);
            self.piece.resize(kept + more, 0);
            self.file.read_exact_at(&mut self.piece[kept..], self.next)?;
            self.next += more as u64;
        }
        if at == self.piece.len() {
            return Ok(false);
        }
        let length = self.piece[at..].first_chunk().map(|bytes| usize::from(u16::from_le_bytes(*bytes)));
        match length {
            Some(length) if length <= KEY_BYTES_MAX && at + STORED_BYTES + length <= self.piece.len() => {
                (self.at, self.key_bytes) = (at + 2, length);
                self.head = head_of(self.key());
                Ok(true)
            }
            _ => Err(std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not what was written there")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::id::{PageId, SegmentId};
    use measure::random::SplitMix64;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    static STOP: AtomicBool = AtomicBool::new(false);
    static DIRECTORY: LazyLock<tempfile::TempDir> = LazyLock::new(|| tempfile::tempdir().unwrap());

    fn row(number: u64) -> RowId {
        RowId { page: PageId { segment: SegmentId(0), number: (number >> 16) as u32 }, slot: number as u16 }
    }

    fn sorted(sorter: KeySorter<'_>) -> Vec<(Vec<u8>, Place)> {
        let mut found = Vec::new();
        let mut each = |key: &[u8], place| {
            found.push((key.to_vec(), place));
            Ok(())
        };
        sorter.finish(&mut each).unwrap();
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn runs_of_any_size_give_the_order_of_a_plain_sort(
            texts in vec(prop_oneof![vec(0..3_u8, 0..12), vec(any::<u8>(), 0..40)], 0..400),
            bytes_max in prop_oneof![Just(100_usize), 1000..20_000_usize, Just(SORT_BYTES)],
        ) {
            let mut sorter = KeySorter::new(KeyKind::Text, bytes_max, DIRECTORY.path(), &STOP);
            let mut model = Vec::new();
            for (number, text) in texts.iter().enumerate() {
                let row = row(mix_of(number as u64));
                sorter.add(Key::Text(text), row).unwrap();
                model.push((text.clone(), Place::of(row)));
            }
            model.sort();
            prop_assert_eq!(sorter.entries(), model.len() as u64);
            prop_assert_eq!(sorted(sorter), model);
        }
    }

    fn mix_of(number: u64) -> u64 {
        measure::random::mix(number) & 0xFFFF_FFFF
    }

    #[test]
    fn a_sort_that_does_not_fit_its_memory_loses_nothing_and_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut sorter = KeySorter::new(KeyKind::Number, 3 << 20, directory.path(), &STOP);
        let mut random = SplitMix64::new(3);
        let mut model: Vec<(i64, u64)> = (0..500_000).map(|at| (random.next_u64() as i64 >> 45, at)).collect();
        for (number, at) in &model {
            sorter.add(Key::Number(*number), row(*at)).unwrap();
        }
        assert!(sorter.spilled.as_ref().is_some_and(|spilled| spilled.starts.len() >= 3));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
        model.sort_unstable();
        let found = sorted(sorter);
        assert_eq!(found.len(), model.len());
        for ((key, place), (number, at)) in found.iter().zip(&model) {
            assert_eq!(key[..], Key::Number(*number).encode(KeyKind::Number).unwrap()[..]);
            assert_eq!(*place, Place::of(row(*at)));
        }
    }

    #[test]
    fn a_stop_ends_the_sorting() {
        let stop = AtomicBool::new(true);
        let mut sorter = KeySorter::new(KeyKind::Number, SORT_BYTES, Path::new("/nowhere"), &stop);
        assert!(matches!(sorter.add(Key::Number(1), row(1)), Err(StorageError::Stopped)));
    }
}
