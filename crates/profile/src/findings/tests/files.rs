//! What is said of the files that a profile was made of.

use measure::schema::profile::findings as row;
use sides::proptest::collection::vec;
use sides::proptest::option;
use sides::proptest::prelude::Strategy;
use sides::proptest::sample::select;
use sides::{Reading, reading, says};

use super::made::profile;
use super::trace::{ingested, said};
use crate::event::{Evidence, TimeScale, Unit, Unread};
use crate::follow::{Reread, findings};
use crate::ingest::Ingested;
use crate::input::{Contents, Duplicates, Kinds, Problem};
use crate::source::{FileHeader, SOURCES, SourceFile, oracle, postgres_log, recorded};

pub(super) fn readings() -> Vec<Reading> {
    let [one_by_one, further] = left_out();
    let of_files =
        vec![one_by_one, further, cut_short(), other_part(), same_content(), unit(), units_of_several(), unread()];
    of_files.into_iter().chain([same_within_archive(), mixed()]).chain(not_read()).collect()
}

fn of_files(files: Vec<SourceFile>) -> Ingested {
    Ingested { files, ..ingested(profile(10, &[])) }
}

fn named(name: &str) -> SourceFile {
    SourceFile { name: name.into(), ..SourceFile::default() }
}

/// Files that are no traces.
fn left_out() -> [Reading; 2] {
    let of = |count: &usize| {
        let problem = |number| Problem::NotATrace { name: format!("n{number}"), what: "a picture" };
        let problems = (0..*count).map(problem).collect();
        said(Ingested { problems, ..ingested(profile(10, &[])) })
    };
    let one_by_one = reading(row::FILE_LEFT_OUT, 0..9_usize, of, |count| {
        let named = (0..(*count).min(5))
            .map(|number| format!("n{number} is neither an SQL trace nor a server log: a picture."));
        (*count > 0).then(|| named.collect())
    });
    let further = reading(row::FILES_LEFT_OUT, 0..9_usize, of, |count| match count.checked_sub(5)? {
        0 => None,
        1 => Some(says!["1 further file was left out."]),
        more => Some(says![format!("{more} further files were left out.")]),
    });
    [one_by_one, further]
}

#[test]
fn the_name_of_a_file_that_is_no_log_is_written_as_it_is() {
    let problems = vec![Problem::NoLogs { count: 1, first: "logs/pg.log".into() }];
    let all = said(Ingested { problems, ..ingested(profile(10, &[])) });
    assert!(all.iter().any(|one| one.message.starts_with("logs/pg.log has the name of a server log")), "{all:?}");
}

/// Files of another name or time, and what is followed.
fn not_read() -> [Reading; 3] {
    let of = |count: &u64| said(Ingested { left_out: *count, ..ingested(profile(10, &[])) });
    let not_chosen = reading(row::FILES_NOT_CHOSEN, 0..3_u64, of, |count| match count {
        0 => None,
        1 => Some(says!["1 file has another name or time"]),
        more => Some(says![format!("{more} files have another name or time")]),
    });
    let of = |count: &usize| findings(&vec!["it was cut".to_string(); *count], Reread::Added);
    let anew = reading(row::FOLLOWED_ANEW, 0..12_usize, of, |count| {
        let sentence = "While it was followed, it was cut: it was read from its beginning.";
        (*count > 0).then(|| vec![sentence.to_string(); (*count).min(8)])
    });
    let of = |way: &Reread| findings(&[], *way);
    let whole = reading(row::FOLLOWED_WHOLE, select(vec![Reread::Added, Reread::Whole]), of, |way| match way {
        Reread::Added => None,
        Reread::Whole => Some(says!["reads all of what is followed again"]),
    });
    [not_chosen, anew, whole]
}

fn cut_short() -> Reading {
    let of = |(bytes, reason): &(u64, Option<&'static str>)| {
        let cut_short = reason.map(String::from);
        said(of_files(vec![named("a.trc"), SourceFile { bytes: *bytes, cut_short, ..named("b.trc") }]))
    };
    let values = (1..4_u64, option::of(select(vec!["the archive ends early", "an input error"])));
    reading(row::FILE_CUT_SHORT, values, of, |(bytes, reason)| {
        let bytes = if *bytes == 1 { "1 byte".to_owned() } else { format!("{bytes} bytes") };
        reason.map(|reason| says![format!("Only part of b.trc was read ({bytes}): {reason}.")])
    })
}

/// The files that a given one comes from and goes on in; `b.trc` was given packed.
fn other_part() -> Reading {
    let of = |(from, to): &(Option<&'static str>, Option<&'static str>)| {
        let header = FileHeader {
            continued_from: from.map(String::from),
            continues_in: to.map(String::from),
            ..FileHeader::default()
        };
        said(of_files(vec![SourceFile { header, ..named("/traces/a.trc") }, named("b.trc.gz")]))
    };
    let parts = || option::of(select(vec!["/u01/b.trc", "/u01/c.trc", "D:\\traces\\c.trc"]));
    reading(row::OTHER_PART_MISSING, (parts(), parts()), of, |(from, to)| {
        let is_missing = |part: &Option<&str>| part.is_some_and(|part| part.ends_with("c.trc"));
        let said = |what: &str| format!("/traces/a.trc {what} c.trc, which was not given: its part of the time");
        let from = is_missing(from).then(|| said("continues"));
        let to = is_missing(to).then(|| said("goes on in"));
        let said: Vec<String> = from.into_iter().chain(to).collect();
        (!said.is_empty()).then_some(said)
    })
}

/// The hashes and the bytes of two files.
fn same_content() -> Reading {
    let file = || (option::of(0..2_u64), 0..3_u64);
    let of = |files: &[(Option<u64>, u64); 2]| {
        let file = |(name, (head_hash, bytes)): (&str, &(Option<u64>, u64))| SourceFile {
            head_hash: *head_hash,
            bytes: *bytes,
            ..named(name)
        };
        said(of_files(["a.trc", "b.trc"].into_iter().zip(files).map(file).collect()))
    };
    let values = (file(), file()).prop_map(|(one, other)| [one, other]);
    reading(row::SAME_CONTENT, values, of, |[one, other]| {
        let is_same = one == other && one.0.is_some() && one.1 > 0;
        let said = "a.trc and b.trc begin with the same bytes and have the same size: they seem to be the same";
        is_same.then(|| says![said])
    })
}

/// Whether an archive holds a trace, a server log and a segment of a recording, and the place of the source that reads
/// it.
type Archive = (bool, bool, bool, usize);

fn mixed() -> Reading {
    let of = |(has_trace, has_log, has_segment, place): &Archive| {
        let mut kinds = Kinds::default();
        // The order in the archive is not that of the sentence.
        let files = [
            (recorded::ROW.kind, "d.parquet", *has_segment),
            (postgres_log::ROW.kind, "c.log", *has_log),
            (oracle::ROW.kind, "b.trc", *has_trace),
        ];
        files.into_iter().filter(|file| file.2).for_each(|(kind, name, _)| kinds.add(kind, name.into()));
        let contents = Contents { kinds, ..Contents::default() };
        let source = SOURCES[*place].name;
        said(Ingested { source, ..of_files(vec![SourceFile { contents, ..named("a.tar") }]) })
    };
    let any = || proptest::bool::ANY;
    let values = (any(), any(), any(), 0..SOURCES.len());
    reading(row::MIXED_ARCHIVE, values, of, |(has_trace, has_log, has_segment, place)| {
        let found = match (has_trace, has_log, has_segment) {
            (true, true, false) => "b.trc seems to be a trace and c.log a server log",
            (true, false, true) => "b.trc seems to be a trace and d.parquet a recording",
            (false, true, true) => "c.log seems to be a server log and d.parquet a recording",
            (true, true, true) => "b.trc seems to be a trace, c.log a server log and d.parquet a recording",
            _ => return None,
        };
        let read = SOURCES[*place].kind.plural;
        let all = [("traces", has_trace), ("server logs", has_log), ("recordings", has_segment)];
        let others = all.into_iter().filter(|(kind, has)| **has && *kind != read).map(|(kind, _)| kind);
        let others = others.collect::<Vec<_>>().join(" and ");
        let said = format!("an archive is read as one kind, here as {read}, and its {others} are not in the profile.");
        Some(says![format!("In a.tar, {found}: {said}")])
    })
}

/// Two archives: whether files of each seem to be the same, and how many further ones.
fn same_within_archive() -> Reading {
    let of = |archives: &[Option<u64>; 2]| {
        let archive = |(name, further): (&str, &Option<u64>)| {
            let first = further.map(|_| ["b.trc".into(), "c/b.trc".into()]);
            let duplicates = Duplicates { first, further: further.unwrap_or(0) };
            SourceFile { contents: Contents { duplicates, ..Contents::default() }, ..named(name) }
        };
        said(of_files(["a.tar", "a.zip"].into_iter().zip(archives).map(archive).collect()))
    };
    let values = (option::of(0..3_u64), option::of(0..3_u64)).prop_map(|(one, other)| [one, other]);
    reading(row::SAME_CONTENT, values, of, |archives| {
        let sentence = |(name, further): (&str, &Option<u64>)| {
            let further = match (*further)? {
                0 => String::new(),
                1 => " (1 further file is like one before)".into(),
                more => format!(" ({more} further files are like one before)"),
            };
            Some(format!(
                "In {name}, b.trc and c/b.trc begin with the same bytes and have the same size{further}: they seem to \
                 be the same, and each call and wait in them is counted twice."
            ))
        };
        let said: Vec<String> = ["a.tar", "a.zip"].into_iter().zip(archives).filter_map(sentence).collect();
        (!said.is_empty()).then_some(said)
    })
}

const UNITS: [(Unit, &str); 3] =
    [(Unit::Microsecond, "1 µs"), (Unit::Shifted, "1.024 µs"), (Unit::Centisecond, "10 ms")];

const EVIDENCE: [(Evidence, &str); 6] = [
    (Evidence::Assumed, "(assumed) and"),
    (Evidence::Given, "(as given on the command line) and"),
    (Evidence::Version, "(its release is older than 9) and"),
    (Evidence::Epoch, "(only then does the clock agree with a stamp of the wall clock) and"),
    (
        Evidence::Slope { seconds: 86_461.4, ratio: 1.02399 },
        "(against the wall clock a unit lasts 1.0240 µs, over 86\u{202f}461 s) and",
    ),
    (
        Evidence::LockTimer { waits: 3_000, mean: 976_562.4 },
        "(3\u{202f}000 sleeps of whole seconds last 976\u{202f}562 units each) and",
    ),
];

/// The units of calls and of waits, and how they were found, each with what is said of it.
type Scale = ((Unit, &'static str), (Unit, &'static str), (Evidence, &'static str));

fn unit() -> Reading {
    let units = || select(UNITS.to_vec());
    let of = |((calls, _), (waits, _), (evidence, _)): &Scale| {
        let scale = TimeScale { calls: *calls, waits: *waits, evidence: *evidence };
        said(of_files(vec![SourceFile { scale, ..named("a.trc") }]))
    };
    let values = (units(), units(), select(EVIDENCE.to_vec()));
    reading(row::TIME_UNIT, values, of, |((calls, of_calls), (waits, of_waits), (_, evidence))| {
        let units = if calls == waits {
            format!("in units of {of_calls} ")
        } else {
            format!("in units of {of_calls} in calls and {of_waits} in waits ")
        };
        let is_plain = [calls, waits].iter().all(|unit| **unit == Unit::Microsecond);
        // Before 9i one clock had both, and no unit that was taken for another one.
        let of_cpu = match calls {
            Unit::Centisecond => "CPU time is in these units too.",
            _ => "CPU time has a clock of its own. TKPROF and TVD$XTAT do not convert; --time-scale 1 ",
        };
        (!is_plain).then(|| says![format!("Times in a.trc are {units}{evidence} were converted. {of_cpu}")])
    })
}

/// How many files have another unit.
fn units_of_several() -> Reading {
    let of = |units: &Vec<(Unit, &str)>| {
        let file = |(place, (unit, _)): (usize, &(Unit, &str))| SourceFile {
            scale: TimeScale::given(*unit),
            ..named(&format!("{place}.trc"))
        };
        said(of_files(units.iter().enumerate().map(file).collect()))
    };
    reading(row::TIME_UNIT, vec(select(UNITS.to_vec()), 0..4), of, |units| {
        let of = |(unit, words): &(Unit, &str)| {
            let files: Vec<usize> = (0..units.len()).filter(|place| units[*place].0 == *unit).collect();
            let (first, count) = (files.first()?, files.len());
            let what =
                if count == 1 { format!("{first}.trc") } else { format!("{count} files (the first is {first}.trc)") };
            Some(format!("Times in {what} are in units of {words} "))
        };
        let said: Vec<String> = UNITS[1..].iter().filter_map(of).collect();
        (!said.is_empty()).then_some(said)
    })
}

/// Kinds of lines, three of which are named.
const KINDS: [&str; 4] = ["memory dump", "cut record", "heading", "stack dump"];

/// Lines of each kind that were not read.
fn unread() -> Reading {
    let of = |lines: &Vec<u64>| {
        let unread = |(kind, lines): (&'static str, &u64)| Unread { kind, lines: *lines, ..Unread::default() };
        let unread: Vec<Unread> = KINDS.into_iter().zip(lines).map(unread).filter(|unread| unread.lines > 0).collect();
        let last: Vec<Unread> = unread.iter().skip(1).next_back().cloned().into_iter().collect();
        said(of_files(vec![SourceFile { unread, ..named("a.trc") }, SourceFile { unread: last, ..named("b.trc") }]))
    };
    reading(row::UNREAD_LINES, vec(counts(), 0..5), of, |lines| {
        let mut kinds: Vec<(&str, u64)> =
            KINDS.into_iter().zip(lines.iter().copied()).filter(|kind| kind.1 > 0).collect();
        // The last of several stands in both files.
        if kinds.len() > 1 {
            kinds.last_mut()?.1 *= 2;
        }
        kinds.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
        let mut list: Vec<String> = kinds.iter().take(3).map(|(kind, lines)| format!("{kind}: {lines}")).collect();
        list.extend(kinds.get(3).map(|(_, lines)| format!("others: {lines}")));
        let all: u64 = kinds.iter().map(|(_, lines)| lines).sum();
        let lines = if all == 1 { "1 line was".into() } else { format!("{all} lines were") };
        (all > 0).then(|| says![format!("{lines} not read ({}). --explain-unread", list.join(", "))])
    })
}

/// A number of lines, often none.
fn counts() -> impl Strategy<Value = u64> {
    (0..6_u64).prop_map(|lines| lines.saturating_sub(2))
}
