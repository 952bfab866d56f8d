//! An input with the source that it belongs to, by its first bytes, and the choice of the source that all inputs get.

use std::cell::OnceCell;
use std::io::Read;
use std::path::Path;

use crate::input::bytes::Bytes;
use crate::input::{self, Given, Peeked, Problem, SharedContents, foreign, look_ahead};
use crate::source::{Input, SOURCES};

/// The place of the source that takes what no other one recognises.
pub(crate) const LAST: usize = SOURCES.len() - 1;

/// How far an archive that can be read once only is looked through, in unpacked bytes: what is seen is held until it is
/// read.
const AHEAD_MAX: usize = 32 << 20;

/// An input and the place of its source in the table.
pub(crate) struct Recognised {
    pub(crate) input: Input,
    /// `None` where it cannot be opened, or is empty.
    pub(crate) place: Option<usize>,
    /// Whether its name alone tells the place: its bytes are those of no source.
    is_by_name: bool,
    /// Whether it holds files, which may be those of several sources.
    is_archive: bool,
    /// What it has to show, once that was asked.
    shows: OnceCell<Shows>,
}

/// What an input has to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shows {
    /// Something of its source.
    Own,
    /// An archive: nothing of its source, and a trace.
    Trace,
    /// Nothing that is known of.
    Nothing,
}

impl Recognised {
    /// Looks at the beginning of an input. One that cannot be opened, or is empty, is left to the source that reads the
    /// others: it says why.
    pub(crate) fn of(given: Given) -> Recognised {
        let is_plain = matches!(&given, Given::File(path) if path.is_file());
        let opened = input::open(&given);
        // What was read of a pipe is gone: where it is opened again, the reason is another one.
        let failing = match &opened {
            Err(Problem::Unreadable { error, .. }) if is_read_once(&given) => Some(Bytes::failing(error)),
            _ => None,
        };
        let source = opened.ok();
        let can_be_opened = source.is_some();
        let contents = source.as_ref().and_then(Bytes::contents);
        let is_archive = contents.is_some();
        let whole = source.map(peeked);
        let head = whole.as_ref().map(Peeked::head).unwrap_or_default();
        let name = given.name();
        let claimed = SOURCES.iter().position(|row| (row.recognises)(&name, head));
        let by_name = if claimed.is_none() && can_be_opened { place_by_name(&given) } else { None };
        // An empty file, such as a log that was just rotated, may be any source's.
        let has_bytes = can_be_opened && !head.is_empty();
        let place = claimed.or(by_name).or(has_bytes.then_some(LAST));
        let head_hash = has_bytes.then(|| foreign::hash_of_head(head));
        let again = |whole: Peeked<Bytes>| Bytes::from_reader(whole).with_contents(contents);
        let bytes = whole.filter(|_| !is_plain).map(again).or(failing);
        let (bytes, shows) = match (bytes, place) {
            (Some(bytes), Some(place)) if is_archive && place < LAST => {
                let (bytes, shows) = looked_through(bytes, place);
                (Some(bytes), shows)
            }
            (bytes, _) => (bytes, None),
        };
        let input = Input { given, bytes, head_hash };
        let shows = shows.map_or_else(OnceCell::new, OnceCell::from);
        Recognised { input, place, is_by_name: by_name.is_some(), is_archive, shows }
    }

    /// Whether the source at this place has something to show of it.
    pub(crate) fn is_shown_by(&self, place: usize) -> bool {
        match self.shows() {
            Shows::Own => self.place == Some(place),
            Shows::Trace => place == LAST,
            Shows::Nothing => false,
        }
    }

    /// Whether it is known that nothing of its source can be shown of it.
    pub(crate) fn is_known_to_be_without(&self) -> bool {
        self.shows.get().is_some_and(|shows| *shows != Shows::Own)
    }

    /// Whether the source at this place reads it.
    pub(crate) fn is_read_by(&self, place: usize) -> bool {
        let is_of_traces = || self.is_archive && place == LAST && self.shows.get() == Some(&Shows::Trace);
        self.place.is_none_or(|own| own == place) || is_of_traces()
    }

    fn shows(&self) -> Shows {
        *self.shows.get_or_init(|| self.look_through())
    }

    /// Reads it as far as the first thing to show.
    fn look_through(&self) -> Shows {
        let Some(place) = self.place else { return Shows::Nothing };
        // What can be read once only is needed for the profile itself.
        if self.input.bytes.is_some() {
            return Shows::Own;
        }
        let Ok(mut bytes) = input::open(&self.input.given) else { return Shows::Nothing };
        let contents = bytes.contents();
        match (SOURCES[place].shows)(&mut bytes, contents.as_ref()) {
            true => Shows::Own,
            false => besides(contents.as_ref()),
        }
    }
}

/// What there is to show of an archive that has nothing of its source, all of which was seen.
fn besides(contents: Option<&SharedContents>) -> Shows {
    let has_trace = contents.is_some_and(|contents| contents.kinds().first(SOURCES[LAST].kind).is_some());
    if has_trace { Shows::Trace } else { Shows::Nothing }
}

/// The bytes of an archive that can be read once only, from the first one on, and what the source at this place has to
/// show of it; `None` where it is too large to see that ahead.
fn looked_through(bytes: Bytes, place: usize) -> (Bytes, Option<Shows>) {
    let contents = bytes.contents();
    let shows = |ahead: &mut dyn Read| (SOURCES[place].shows)(ahead, contents.as_ref());
    let (bytes, is_own, is_all) = look_ahead(bytes, AHEAD_MAX, shows);
    let shows = match (is_own, is_all) {
        (true, _) => Some(Shows::Own),
        (false, true) => Some(besides(contents.as_ref())),
        (false, false) => None,
    };
    (Bytes::from_reader(bytes).with_contents(contents), shows)
}

/// The source of inputs: the first of the table that has something to show of any. Where none has, and where there is
/// no choice, it is the first one that recognises any by its bytes, and else by its name.
pub(crate) fn place_of(inputs: &[Recognised]) -> usize {
    let first = first_of(inputs);
    let is_other = |one: &Recognised| one.place.is_some_and(|place| place != first) || (one.is_archive && first < LAST);
    if !inputs.iter().any(is_other) {
        return first;
    }
    let is_by_name = inputs.iter().all(|one| one.place.is_none() || one.is_by_name);
    let known = || inputs.iter().filter(|one| one.is_by_name == is_by_name);
    // Those of an earlier place are looked through first: what they hold of traces is known at the last one.
    let shown = (0..=LAST).find(|place| {
        let own = known().filter(|one| one.place == Some(*place)).any(|one| one.is_shown_by(*place));
        own || (*place == LAST && known().any(|one| one.shows.get() == Some(&Shows::Trace)))
    });
    shown.unwrap_or(first)
}

/// The first source of the table that recognises any input by its bytes, and else by its name.
fn first_of(inputs: &[Recognised]) -> usize {
    let first =
        |is_by_name: bool| inputs.iter().filter(|one| one.is_by_name == is_by_name).filter_map(|one| one.place).min();
    first(false).or_else(|| first(true)).unwrap_or(LAST)
}

/// Whether the beginning of a file is a log's, which only some sources can tell from any other text.
pub fn is_recognised(path: &Path) -> bool {
    let whole = input::open(&Given::File(path.into())).ok().map(peeked);
    let head = whole.as_ref().map(Peeked::head).unwrap_or_default();
    SOURCES[..LAST].iter().any(|row| (row.recognises)(&path.to_string_lossy(), head))
}

/// Whether something is there and is no plain file, so that what was read of it cannot be read again.
fn is_read_once(given: &Given) -> bool {
    given.path().is_none_or(|path| path.exists() && !path.is_file())
}

/// The place of the source whose files alone have such a name. A file that has lost its first bytes, or all of them,
/// has nothing else of its source, which says what is wrong with it.
fn place_by_name(given: &Given) -> Option<usize> {
    let path = given.path()?;
    SOURCES.iter().position(|row| (row.names)(path))
}

/// A source whose first bytes were looked at.
fn peeked(source: Bytes) -> Peeked<Bytes> {
    Peeked::new(source, foreign::HEAD_BYTES)
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_zip_archive_in_a_pipe_is_called_one_and_not_what_is_left_of_it() {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"PK\x03\x04 and so on").unwrap();
        drop(writer);
        let pipe = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let recognised = Recognised::of(Given::File(pipe.into()));
        let mut bytes = recognised.input.open().unwrap();
        for _ in 0..2 {
            let said = bytes.read(&mut [0]).unwrap_err().to_string();
            assert!(said.contains("zip archive") && said.contains("not from standard input or a pipe"), "{said}");
        }
    }
}
