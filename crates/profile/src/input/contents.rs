//! What the files of one archive are to one another: which of them seem to be the same, and of which kinds they are.
//!
//! As with files that are given one by one, the first bytes and the size decide which are the same, and all of them are
//! read: what is in them counts once for each. Files in which nothing takes time, such as a note in each folder, add
//! nothing to any sum, and are not compared.
//!
//! The same first bytes show whether an archive mixes files of several kinds, such as traces and server logs, of which
//! one kind is read. Where each file begins among the bytes of all says in which of them a line stands.

use std::borrow::Cow;
use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::input::expand::stem_of;
use crate::input::foreign::{HEAD_BYTES, KINDS, Kind, TIMED_BYTES_MAX, hash_of_head, kind_of, may_be_timed};

/// Most files of an archive that the files behind them are compared with.
const COMPARED_MAX: usize = 1 << 16;

/// Most files of an archive whose places are kept.
const PLACED_MAX: usize = 1 << 16;

/// Longest name of a file that is compared or kept: an archive that packs well may hold any number of names of a
/// mebibyte.
const NAME_BYTES_MAX: usize = 1 << 10;

/// A name as sentences have it: the beginning of one that is too long.
pub(super) fn shown(name: &str) -> Cow<'_, str> {
    shortened(name, NAME_BYTES_MAX)
}

/// The beginning of a text that has more bytes than `most`.
pub(super) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.len() > most {
        true => Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(most)])),
        false => Cow::Borrowed(text),
    }
}

/// What was found of the files in an archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Those that seem to be the same.
    pub duplicates: Duplicates,
    /// Of which kinds they are.
    pub kinds: Kinds,
}

/// Files of an archive that seem to be the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Duplicates {
    /// The names of the first two.
    pub first: Option<[String; 2]>,
    /// How many files behind these are like one before them.
    pub further: u64,
}

/// The kinds of the files in an archive, which is read as one of them, each with the name of its first file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds(Vec<(&'static Kind, String)>);

impl Duplicates {
    fn add(&mut self, pair: [String; 2]) {
        if self.first.is_none() {
            self.first = Some(pair);
        } else {
            self.further += 1;
        }
    }
}

impl Kinds {
    /// The name of the first file of this kind.
    pub fn first(&self, kind: &Kind) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == kind).map(|(_, name)| name.as_str())
    }

    /// The kinds with the names of their first files, in the order of the table of kinds; `None` where all files are of
    /// one kind.
    pub fn mixed(&self) -> Option<Vec<(&'static Kind, &str)>> {
        let firsts = KINDS.into_iter().filter_map(|kind| Some((kind, self.first(kind)?)));
        (self.0.len() > 1).then(|| firsts.collect())
    }

    /// Takes a file of this kind, where it is the first one.
    pub(crate) fn add(&mut self, kind: &'static Kind, name: String) {
        if self.first(kind).is_none() {
            self.0.push((kind, name));
        }
    }
}

impl Contents {
    /// Adds what was found of an archive of this name that is a file of the archive.
    fn add_within(&mut self, name: &str, within: Contents) {
        let named = |file: String| format!("{name}/{file}");
        let Contents { duplicates, kinds } = within;
        if let Some(pair) = duplicates.first {
            self.duplicates.add(pair.map(named));
        }
        self.duplicates.further += duplicates.further;
        kinds.0.into_iter().for_each(|(kind, file)| self.kinds.add(kind, named(file)));
    }
}

/// A file of an archive among the bytes of all its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileWithin {
    /// Where its first byte stands.
    pub(crate) begin: u64,
    /// Its name; empty where it is too long, and for all files together behind those whose places are kept.
    pub(crate) name: String,
    /// Its kind, as far as its first bytes show it, once it was read.
    pub(crate) kind: Option<&'static Kind>,
}

/// What the reader of an archive has found so far, for the one who reads its bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedContents(Arc<Mutex<Found>>);

#[derive(Debug, Default)]
struct Found {
    contents: Contents,
    /// The files that have bytes, in their order.
    files: Vec<FileWithin>,
    compared: Compared,
}

/// The first bytes of a file, as their hash, and its size.
type Key = (u64, u64);

/// The files with which those behind them are compared: of an archive within this one its files too.
#[derive(Debug, Default)]
struct Compared {
    /// In their order, with their names, and whether each is an archive.
    files: Vec<(Key, String, bool)>,
    places: HashMap<Key, usize>,
}

impl Compared {
    /// The name of the file that is like this one.
    fn like(&self, key: Key) -> Option<&String> {
        self.places.get(&key).map(|place| &self.files[*place].1)
    }

    /// Takes a file unless one like it is known, or too many are.
    fn add(&mut self, key: Key, name: String, is_archive: bool) {
        if self.files.len() < COMPARED_MAX && self.like(key).is_none() {
            self.places.insert(key, self.files.len());
            self.files.push((key, name, is_archive));
        }
    }
}

impl Found {
    /// Compares a file with those before it, and where it is an archive each of its files. Of an archive that is like a
    /// file before it, all files are copies: they are noted as one.
    fn compare(&mut self, key: Key, name: String, within: Option<Compared>) {
        if let Some(first) = self.compared.like(key) {
            return self.contents.duplicates.add([first.clone(), name]);
        }
        let is_archive = within.is_some();
        for (key, file, is_archive) in within.into_iter().flat_map(|within| within.files) {
            let file = format!("{name}/{file}");
            // With what it is in, a name may be too long as well.
            match file.len() <= NAME_BYTES_MAX {
                // Its own files stand before it, and were compared one by one.
                true if is_archive => self.compared.add(key, file, true),
                true => self.compare(key, file, None),
                false => {}
            }
        }
        self.compared.add(key, name, is_archive);
    }

    /// Notes where a file begins.
    fn begin_file(&mut self, name: &str, begin: u64) {
        if self.files.len() > PLACED_MAX {
            return;
        }
        let is_named = self.files.len() < PLACED_MAX && name.len() <= NAME_BYTES_MAX;
        let name = if is_named { name.to_owned() } else { String::new() };
        self.files.push(FileWithin { begin, name, kind: None });
    }

    /// Notes of which kind the file is that began last.
    fn end_file(&mut self, kind: Option<&'static Kind>) {
        let is_placed = self.files.len() <= PLACED_MAX;
        if let Some(file) = self.files.last_mut().filter(|_| is_placed) {
            file.kind = kind;
        }
    }
}

impl SharedContents {
    /// Hands out what was found so far; the places of the files stay.
    pub(crate) fn take(&self) -> Contents {
        mem::take(&mut self.lock().contents)
    }

    /// Of which kinds the files are that were read so far.
    pub(crate) fn kinds(&self) -> Kinds {
        self.lock().contents.kinds.clone()
    }

    /// The number of the file that has the byte at this place; `None` in front of the first one.
    pub(crate) fn number_at(&self, offset: u64) -> Option<usize> {
        self.lock().files.partition_point(|file| file.begin <= offset).checked_sub(1)
    }

    /// The same of a place that does not lie before the file `from`, in few steps where it lies near it.
    pub(crate) fn number_from(&self, from: Option<usize>, offset: u64) -> Option<usize> {
        let found = self.lock();
        let from = from.unwrap_or_default();
        let behind = found.files.iter().skip(from).take_while(|file| file.begin <= offset).count();
        (from + behind).checked_sub(1)
    }

    /// Whether a file has the name of this trace, as far as the files were read.
    pub(crate) fn has_trace(&self, path: &str) -> bool {
        self.lock().files.iter().any(|file| stem_of(&file.name) == stem_of(path))
    }

    /// Where the next file begins behind this place, as far as it was read.
    pub(crate) fn next_begin(&self, offset: u64) -> Option<u64> {
        let found = self.lock();
        let next = found.files.partition_point(|file| file.begin <= offset);
        found.files.get(next).map(|file| file.begin)
    }

    /// The file of this number.
    pub(crate) fn file(&self, number: usize) -> Option<FileWithin> {
        self.lock().files.get(number).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Compares the files of an archive with one another while they are read.
#[derive(Default)]
pub(super) struct Comparison {
    /// The first bytes of the open file, and how many it has so far.
    head: Vec<u8>,
    bytes: u64,
    /// Whether anything in it may take time.
    is_timed: bool,
    /// Where the open file is an archive: the number of the file in it whose bytes came last.
    within: Option<usize>,
    found: SharedContents,
}

impl Comparison {
    /// Where to look for what is found.
    pub(super) fn found(&self) -> SharedContents {
        self.found.clone()
    }

    /// Takes the next bytes of the open file, which stand at `offset` among those of all files: one at least. `within`
    /// is what its reader finds of its own files where it is an archive; then the bytes are those of one of these.
    pub(super) fn add(&mut self, name: &str, within: Option<&SharedContents>, offset: u64, bytes: &[u8]) {
        match within {
            None if self.bytes == 0 => self.found.lock().begin_file(name, offset),
            None => {}
            Some(within) => self.place_within(name, within, offset),
        }
        let known = self.head.len();
        let (first, behind) = bytes.split_at(bytes.len().min(HEAD_BYTES - known));
        self.head.extend_from_slice(first);
        self.bytes += bytes.len() as u64;
        // A sign may have begun in the bytes before. Behind the first bytes one that did is missed: there is another.
        let from = known.saturating_sub(TIMED_BYTES_MAX);
        self.is_timed = self.is_timed || may_be_timed(&self.head[from..]) || may_be_timed(behind);
    }

    /// Notes the file of the open archive that begins at `offset`, where one does.
    fn place_within(&mut self, name: &str, within: &SharedContents, offset: u64) {
        let number = within.number_at(self.bytes);
        if self.bytes > 0 && number == self.within {
            return;
        }
        let before = self.kind_within(within);
        let file = number.and_then(|number| within.file(number)).filter(|file| !file.name.is_empty());
        let mut found = self.found.lock();
        if self.bytes > 0 {
            found.end_file(before);
        }
        match file {
            // With what is in it, this name is too long as well.
            Some(_) if name.len() > NAME_BYTES_MAX => found.begin_file("", offset),
            Some(file) => found.begin_file(&format!("{name}/{}", file.name), offset),
            None => found.begin_file(name, offset),
        }
        drop(found);
        self.within = number;
    }

    /// The kind of the file of the open archive whose bytes came last, once it was read.
    fn kind_within(&self, within: &SharedContents) -> Option<&'static Kind> {
        within.file(self.within?)?.kind
    }

    /// Ends the open file. `within` is what was found of its own files, where it is an archive.
    pub(super) fn end_file(&mut self, name: String, within: Option<&SharedContents>) {
        let key = (hash_of_head(&self.head), mem::take(&mut self.bytes));
        // The first bytes of an archive are those of its first files alone.
        let kind = match within {
            Some(within) => self.kind_within(within),
            None => kind_of(&self.head),
        };
        self.within = None;
        let within = within.map(|within| (within.take(), mem::take(&mut within.lock().compared)));
        self.head.clear();
        let is_timed = mem::take(&mut self.is_timed);
        let is_named = name.len() <= NAME_BYTES_MAX;
        let mut found = self.found.lock();
        if key.1 > 0 {
            found.end_file(kind);
        }
        let mut compared = None;
        match within {
            Some((contents, files)) => {
                found.contents.add_within(&shown(&name), contents);
                compared = Some(files);
            }
            None => {
                if let Some(kind) = kind.filter(|_| is_named) {
                    found.contents.kinds.add(kind, name.clone());
                }
            }
        }
        if is_timed && is_named {
            found.compare(key, name, compared);
        }
    }
}
