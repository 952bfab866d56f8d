//! Lines that were not read of one input: by kind, and of an archive by the file in which they stand too.
//!
//! An archive may hold files of another source than the one that reads it. Their lines are counted as what they are,
//! and not as faults of the files that are read.

use std::collections::BTreeMap;

use crate::event::Unread;
use crate::input::{FileWithin, Kind, SharedContents};

/// Most lists of lines of one file and one kind that an archive has: further ones are counted for the archive alone.
pub(crate) const LISTED_MAX: usize = 1 << 12;

/// Counts the lines of one input that were not read.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnreadLines {
    all: Vec<Unread>,
    /// The files of an archive; `None` where the input is none.
    files: Option<SharedContents>,
    /// The lines of each of them by its number, which are not in `all`.
    within: BTreeMap<usize, Vec<Unread>>,
}

impl UnreadLines {
    /// No lines yet, of an input with these files where it is an archive.
    pub(crate) fn of(files: Option<SharedContents>) -> UnreadLines {
        UnreadLines { files, ..UnreadLines::default() }
    }

    /// Counts lines that begin where their first one stands.
    pub(crate) fn add(&mut self, unread: &Unread) {
        let all = match self.files.as_ref().and_then(|files| files.number_at(unread.first_offset)) {
            Some(number) => self.within.entry(number).or_default(),
            None => &mut self.all,
        };
        Unread::add(all, unread);
    }

    /// All lines by kind, and those of them that are known to stand in a file of an archive: by file and kind, with the
    /// file's name and the place in that file. The input is read as files of the kind `read`.
    pub(crate) fn finish(self, read: &Kind) -> (Vec<Unread>, Vec<(String, Unread)>) {
        let UnreadLines { mut all, files, within } = self;
        let mut by_file = Vec::new();
        for (number, lines) in within {
            let file = files.as_ref().and_then(|files| files.file(number));
            let foreign = file.as_ref().and_then(|file| file.kind).filter(|kind| *kind != read).map(|kind| kind.lines);
            let mut of_file: Vec<Unread> = Vec::new();
            for one in lines {
                let kind = foreign.unwrap_or(one.kind);
                Unread::add(&mut of_file, &Unread { kind, ..one });
            }
            for one in of_file {
                Unread::add(&mut all, &one);
                let is_listed = |file: &&FileWithin| by_file.len() < LISTED_MAX && !file.name.is_empty();
                if let Some(file) = file.as_ref().filter(is_listed) {
                    let first_offset = one.first_offset.saturating_sub(file.begin);
                    by_file.push((file.name.clone(), Unread { first_offset, ..one }));
                }
            }
        }
        (all, by_file)
    }
}
