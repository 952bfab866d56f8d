//! The beginning and the end of a trace, looked at before it is read: what its unit of time is, and where in time it
//! stands among the segments of one trace.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use measure::sorting;
use sys::file::awaited::unless_called_off;

use crate::input::bytes::Bytes;
use crate::input::foreign::{TIMED_BYTES_MAX, may_be_traced};
use crate::input::{self, Given, Problem};
use crate::source::oracle::chunk::Chunks;
use crate::source::oracle::record::{Batch, Body};
use crate::source::oracle::scan::{Scanner, State};

/// How many bytes are looked at on either side.
pub const PROBE_BYTES: usize = 1 << 20;

/// How many bytes are looked at together where a call is searched for.
const PIECE_BYTES: usize = 64 << 10;

/// The records at both ends of a file.
#[derive(Debug, Default)]
pub struct Probe {
    /// The records at its beginning.
    pub head: Batch,
    /// Whether the head holds the file to its end.
    pub is_whole: bool,
    /// The records at its end, where that can be reached without reading all that comes before: not in a compressed
    /// file or an archive, and not in one that the head holds whole.
    pub tail: Option<Batch>,
}

/// Whether anything in these bytes may be a call or a wait. They are read as far as the first one.
pub(super) fn may_hold_calls(bytes: &mut dyn Read) -> bool {
    let mut read = vec![0; TIMED_BYTES_MAX + PIECE_BYTES];
    let mut known = 0;
    loop {
        let more = match unless_called_off().and_then(|()| bytes.read(&mut read[known..])) {
            Ok(more) if more > 0 => more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            _ => return false,
        };
        known += more;
        if may_be_traced(&read[..known]) {
            return true;
        }
        // A sign of one may have begun in the bytes before.
        let kept = known.min(TIMED_BYTES_MAX);
        read.copy_within(known - kept..known, 0);
        known = kept;
    }
}

/// Looks at both ends of a file.
pub fn probe(path: &Path) -> Result<Probe, Problem> {
    let looked = probe_head(path)?;
    let tail = tail(path, looked.head.bytes.len() as u64);
    Ok(Probe { tail: tail.map_err(|error| Problem::unreadable(&Given::File(path.into()), error))?, ..looked })
}

/// Looks at the beginning of a file alone.
pub(super) fn probe_head(path: &Path) -> Result<Probe, Problem> {
    let given = Given::File(path.into());
    let (head, is_whole) = first_chunk(input::open(&given)?, 0).map_err(|error| Problem::unreadable(&given, error))?;
    Ok(Probe { head, is_whole, tail: None })
}

impl Probe {
    /// How many records at the beginning are of the first file: another preamble begins another one.
    pub fn head_records(&self) -> usize {
        self.head.next_file(0, false).unwrap_or(self.head.records.len())
    }

    /// The first time of a call or a wait; `None` where no line near the beginning has one.
    pub fn first_time(&self) -> Option<i64> {
        self.head.records.iter().find_map(|record| match &record.body {
            Body::Call(call) => call.end,
            Body::Wait(wait) => wait.end,
            _ => None,
        })
    }
}

/// The first chunk of a source that begins at `offset` of its file, and whether the source ends with it.
fn first_chunk(source: Bytes, offset: u64) -> io::Result<(Batch, bool)> {
    let mut batch = Batch::default();
    // A byte more, so that the end of what is no longer than a probe is seen.
    let mut chunks = Chunks::new(source, PROBE_BYTES + 1);
    if let Some(chunk) = chunks.next(&mut batch.bytes)? {
        batch.offset = offset + chunk.offset;
        Scanner::default().scan(&mut batch, State::Between, chunk.end);
    }
    Ok((batch, chunks.is_over()))
}

fn tail(path: &Path, head_bytes: u64) -> io::Result<Option<Batch>> {
    if !path.is_file() {
        return Ok(None);
    }
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    if size <= head_bytes || input::is_packed(&file)? {
        return Ok(None);
    }
    let offset = size.saturating_sub(PROBE_BYTES as u64).max(head_bytes);
    first_chunk(Bytes::from_file(file, offset, size), offset).map(|(tail, _)| Some(tail))
}

/// Puts the segments of one trace, `x.trc`, `x_1.trc`, `x_2.trc`, into the order of their times: after a rotation the
/// names say nothing. Other files, and what has no `path`, stay where they are.
///
/// A segment is known by its name, and by the presence of the name without the number. Where the time of a segment
/// cannot be found, it stays behind those that have one.
pub(super) fn order_segments<T>(inputs: Vec<T>, path: impl Fn(&T) -> Option<&Path>) -> Vec<T> {
    let mut groups: BTreeMap<PathBuf, Vec<usize>> = BTreeMap::new();
    let names: Vec<Option<PathBuf>> = inputs.iter().map(|input| path(input).map(Path::to_path_buf)).collect();
    // A folder can have tens of thousands of traces.
    let known: HashSet<&PathBuf> = names.iter().flatten().collect();
    for (place, name) in names.iter().enumerate() {
        let Some(name) = name else { continue };
        let base = base_of(name).filter(|base| known.contains(base));
        groups.entry(base.unwrap_or_else(|| name.clone())).or_default().push(place);
    }
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    for places in groups.values().filter(|places| places.len() > 1) {
        let first_time = |place: &usize| probe(names[*place].as_ref()?).ok()?.first_time();
        let mut segments: Vec<(Option<i64>, usize)> = places.iter().map(|place| (first_time(place), *place)).collect();
        sorting::by_key(&mut segments, |(time, _)| (time.is_none(), *time));
        for (place, (_, segment)) in places.iter().zip(segments) {
            order[*place] = segment;
        }
    }
    let mut inputs: Vec<Option<T>> = inputs.into_iter().map(Some).collect();
    order.into_iter().filter_map(|place| inputs[place].take()).collect()
}

/// `x.trc` for `x_1.trc`; `None` for a name without a number.
fn base_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let (stem, ending) = name.split_at(name.find(".trc")?);
    let (base, number) = stem.rsplit_once('_')?;
    let is_number = !number.is_empty() && number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| path.with_file_name(format!("{base}{ending}")))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn exec(time: i64) -> String {
        format!("EXEC #5:c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim={time}\n")
    }

    #[test]
    fn both_ends_of_a_long_file_are_seen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.trc");
        let text: String = (0..60_000).map(|time| exec(1_000_000 + time)).collect();
        std::fs::write(&path, &text).unwrap();
        let probe = probe(&path).unwrap();
        assert_eq!(probe.first_time(), Some(1_000_000));
        let tail = probe.tail.unwrap();
        let last = tail.records.last().unwrap();
        assert!(matches!(&last.body, Body::Call(call) if call.end == Some(1_059_999)));
        assert_eq!(last.offset as usize, text.trim_end().rfind('\n').unwrap() + 1);
    }

    #[test]
    fn a_call_is_found_wherever_it_stands_and_no_other_text_is_one() {
        let holds = |text: String| may_hold_calls(&mut io::Cursor::new(text));
        let read = TIMED_BYTES_MAX + PIECE_BYTES;
        for before in (read - 6..read + 2).chain([0, 9 * PIECE_BYTES]) {
            assert!(holds("x".repeat(before) + "ela= 9"), "{before}");
        }
        assert!(!holds("x".repeat(3 * PIECE_BYTES)) && !holds(String::new()));
    }

    #[test]
    fn segments_are_ordered_by_time_and_others_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, time: i64| {
            let path = folder.path().join(name);
            std::fs::write(&path, exec(time)).unwrap();
            path
        };
        let paths = vec![
            write("db_ora_7.trc", 500),
            write("a.trc", 90),
            write("db_ora_7_1.trc", 700),
            write("db_ora_7_2.trc", 600),
            write("b_1.trc", 10),
        ];
        let paths = order_segments(paths, |path| Some(path.as_path()));
        let names: Vec<_> = paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["db_ora_7.trc", "a.trc", "db_ora_7_2.trc", "db_ora_7_1.trc", "b_1.trc"]);
    }

    #[test]
    fn a_folder_of_eighty_thousand_traces_is_ordered_in_seconds_and_not_in_minutes() {
        let of_process = |number: u32| [format!("/none/p{number}_ora.trc"), format!("/none/p{number}_ora_1.trc")];
        let paths: Vec<PathBuf> = (0..40_000).flat_map(of_process).map(PathBuf::from).collect();
        let before = paths.clone();
        let start = Instant::now();
        let paths = order_segments(paths, |path| Some(path.as_path()));
        let took = start.elapsed();
        assert!(paths == before, "those without a time stay where they are");
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
}
