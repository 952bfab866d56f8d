//! Segments as files: whole or not there, damage is a sentence, and the folder keeps what is not ours.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]
#![allow(clippy::print_stdout, reason = "a test that cannot run says so")]

use std::fs;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::thread::sleep;
use std::time::Duration;

use proptest::prelude::*;
use recording::{
    Blocked, Blocks, COLUMNS, Counted, Damage, Folder, FolderError, Head, Limits, Looks, Lost, NotWritten, Own,
    Process, Read, ReadSums, Reader, Request, Sample, Segment, SegmentName, Statement, Tracing, decode, encode,
    segments,
};

const SECOND: i64 = 1_000_000;
const BEGIN: i64 = 1_795_428_900 * SECOND;
const END: i64 = BEGIN + 60 * SECOND;

/// A minute of `sessions`, each with two rows a second.
fn segment(number: u64, sessions: u32) -> Segment {
    let process = |pid: u32| Process {
        pid: pid + 1,
        started: BEGIN - 5,
        kind: "client backend".into(),
        user: "shop".into(),
        database: "orders".into(),
        application: format!("till {}", pid % 3).into(),
    };
    let counted = Counted { executions: 40, rows: 41, hits: 4_200, reads: 43 };
    let statement = |id: &str, text: &str, counted| Statement { id: id.into(), text: text.into(), counted };
    let rows = (0..60).flat_map(|second| {
        (0..sessions).flat_map(move |process| {
            [0, 1].map(|event| Sample {
                at: BEGIN + second * SECOND,
                seconds: 1,
                process,
                state: 0,
                statement: 1,
                event,
                looks: 500 + u64::from(process),
                time: (3_800 + second) << 17,
                queued: i64::from(event == 0) << 17,
            })
        })
    });
    let mut samples: Vec<Sample> = rows.collect();
    samples.sort_by_key(|one| (one.process, one.event, one.at));
    Segment {
        head: Head {
            number,
            begin: BEGIN,
            end: END,
            subject: [("rate".to_string(), 1000.into())].into_iter().collect(),
        },
        processes: (0..sessions).map(process).collect(),
        statements: vec![statement("", "", None), statement("77", "select 'ä' from t where a = $1", Some(counted))],
        events: vec![Arc::from(""), Arc::from("IO:DataFileRead")],
        looks: (0..60).map(|at| Looks { at: BEGIN + at * SECOND, looks: 1_000, time: 1_000_000_123 }).collect(),
        samples,
        blocked: vec![Blocked { at: BEGIN, pid: 1, blocker: 2 }, Blocked { at: BEGIN, pid: 2, blocker: 0 }],
        lost: vec![Lost { at: BEGIN, time: 7 << 30, reason: "the server went away".into() }],
        account: Some(123_456_789_012),
        hidden: 12,
        own: Some(Own { cpu: 1_234_567_890, session: Some(98_765_432) }),
        ..reads()
    }
}

/// Reads of one statement and one process.
fn reads() -> Segment {
    let sums = ReadSums { calls: 900, blocks: 1_200, bytes: 9_830_400, time: 77_000_001, queue: 3, service: 40_000 };
    let read = |at, reader, tier| Read { at, seconds: 10, reader, relation: 0, tier, sums, estimated: 5 };
    let reader = |statement, process: &str| Reader { statement, process: process.into() };
    Segment {
        readers: vec![reader(1, ""), reader(0, "checkpointer")],
        relations: vec!["public.orders".into(), "pg_wal".into()],
        reads: vec![read(BEGIN, 0, 0), read(BEGIN + 10 * SECOND, 1, 3)],
        requests: vec![Request {
            at: BEGIN,
            seconds: 10,
            statement: 1,
            purpose: 2,
            sums: ReadSums { blocks: 0, time: 0, ..sums },
        }],
        blocks: vec![Blocks { reader: 1, relation: 1, sketch: "0123".into() }],
        tracing: Some(Tracing { records: 9_000, lost: 3, reason: "".into() }),
        ..Segment::default()
    }
}

fn named(number: u64) -> SegmentName {
    SegmentName::new(number, BEGIN + number as i64 * 60 * SECOND, END + number as i64 * 60 * SECOND)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_segment_is_read_as_it_was_written() {
    let written = segment(42, 5);
    let bytes = encode(&written).unwrap();
    assert_eq!(decode(bytes.clone()).unwrap(), written);
    assert_eq!((&bytes[..4], &bytes[bytes.len() - 4..]), (&b"PAR1"[..], &b"PAR1"[..]));
    let none = Segment { head: written.head, ..Segment::default() };
    assert_eq!(decode(encode(&none).unwrap()).unwrap(), none);
}

#[test]
fn a_statement_that_a_server_has_counted_for_years_costs_no_segment() {
    let of_hits = |hits: u64| {
        let mut written = segment(1, 2);
        written.statements[1].counted = Some(Counted { executions: 1 << 41, rows: 1 << 42, hits, reads: 1 << 41 });
        (decode(encode(&written).unwrap()), written)
    };
    let (read, written) = of_hits(1 << 55);
    assert_eq!(read.unwrap(), written);
    for hits in [1 << 56, u64::MAX] {
        assert!(matches!(of_hits(hits).0, Err(Damage::Unsound(_))), "sums of many segments would overflow");
    }
}

#[test]
fn a_segment_that_was_cut_or_changed_anywhere_is_refused_before_it_is_decoded() {
    let bytes = encode(&segment(1, 2)).unwrap();
    for length in (0..bytes.len()).step_by(7) {
        assert!(matches!(decode(bytes[..length].to_vec()), Err(Damage::Foreign | Damage::Changed(_))), "{length}");
    }
    for place in (4..bytes.len()).step_by(11) {
        let mut changed = bytes.clone();
        changed[place] ^= 0x10;
        let refused = decode(changed).unwrap_err();
        assert!(matches!(refused, Damage::Foreign | Damage::Changed(_)), "{place}: {refused}");
    }
    let sentence = decode(bytes[..bytes.len() - 9].to_vec()).unwrap_err().to_string();
    assert!(sentence.contains("not those that were written"), "{sentence}");
}

#[test]
fn what_no_recorder_writes_is_refused_although_its_checksum_is_right() {
    let whole = segment(1, 2);
    let changed = |change: fn(&mut Segment)| {
        let mut segment = whole.clone();
        change(&mut segment);
        decode(encode(&segment).unwrap())
    };
    let hostile: [fn(&mut Segment); 17] = [
        |segment| segment.head.end = segment.head.begin + 3_600 * SECOND,
        |segment| segment.head.begin = i64::MIN,
        |segment| segment.samples[0].seconds = u32::MAX,
        |segment| segment.samples[0].time = i64::MAX,
        |segment| segment.samples[0].queued = -1,
        |segment| segment.samples[0].at = 0,
        |segment| segment.samples[0].state = 99,
        |segment| segment.looks[0].looks = u64::MAX,
        |segment| segment.lost[0].time = -1,
        |segment| segment.account = Some(-1),
        |segment| segment.own = Some(Own { cpu: i64::MAX, session: None }),
        |segment| segment.reads[0].sums.calls = 0,
        |segment| segment.reads[0].sums.time = i64::MAX,
        |segment| segment.reads[0].tier = 99,
        |segment| segment.requests[0].sums.service = -1,
        |segment| segment.requests[0].seconds = 0,
        |segment| segment.tracing = Some(Tracing { records: u64::MAX, ..Tracing::default() }),
    ];
    for (number, change) in hostile.into_iter().enumerate() {
        assert!(matches!(changed(change), Err(Damage::Unsound(_))), "{number}");
    }
    let most = changed(|segment| segment.samples.iter_mut().for_each(|one| one.time = 3_600_000_000_000));
    assert!(most.is_ok(), "{most:?}");
}

#[test]
fn a_page_of_more_values_than_there_are_rows_is_refused_before_it_is_decoded() {
    let lost = vec![Lost { at: BEGIN, time: 1, reason: "the server went away".into() }];
    let mut bytes = encode(&Segment { head: segment(1, 0).head, lost, ..Segment::default() }).unwrap();
    // The first page is the dictionary of the kinds of rows; behind its sizes stands how many texts it has.
    let texts = bytes[32..].windows(2).position(|two| two == [0x4c, 0x15]).unwrap() + 34;
    assert_eq!(bytes[texts], 2, "one text, in Thrift's way of writing numbers");
    bytes[texts] = 0x7e;
    let refused = decode(with_checksum(bytes)).unwrap_err().to_string();
    assert!(refused.contains("one of its pages"), "{refused}");
}

/// The bytes of a segment of a server whose address has this length.
fn with_address(bytes: usize) -> Result<Vec<u8>, String> {
    let head = Head {
        subject: [("server".to_string(), "x".repeat(bytes).into())].into_iter().collect(),
        ..segment(1, 0).head
    };
    encode(&Segment { head, ..Segment::default() })
}

#[test]
fn a_segment_that_no_reader_would_take_is_not_written() {
    // Twenty hosts with the longest names that there are.
    assert!(decode(with_address(20 * 260).unwrap()).is_ok());
    assert!(decode(with_address(40 << 10).unwrap()).is_ok());
    let refused = with_address(64 << 10).unwrap_err();
    assert!(refused.contains("address is longer than the 64 KiB"), "{refused}");
}

#[test]
fn a_file_whose_end_is_longer_than_any_segments_is_refused_before_its_columns_are_looked_at() {
    let (whole, pages) = (with_address(50 << 10).unwrap(), vec![0_u8; 20 << 10]);
    let mut bytes = [&whole[..32], &pages[..], &whole[32..]].concat();
    let length = bytes.len() - 8;
    bytes[length..length + 4].copy_from_slice(&(65_u32 << 10).to_le_bytes());
    let refused = decode(with_checksum(bytes)).unwrap_err().to_string();
    assert!(refused.contains("longer than that of any segment"), "{refused}");
}

#[test]
fn a_group_within_the_group_of_columns_is_refused_before_the_library_calls_itself_for_it() {
    let with_groups = |times: u8, children: &[u8]| {
        // The version, and a list of 128 times as many elements, as Thrift writes numbers: a root, groups and a column.
        let mut end = [&[0x15, 2, 0x19, 0xfc, 0x80, times, 0x48, 0, 0x15][..], children, &[0]].concat();
        (0..128 * usize::from(times) - 2).for_each(|_| end.extend([0x35, 0, 0x18, 0, 0x15, 2, 0]));
        // The column is one of numbers. There are no rows and no row groups.
        end.extend([0x15, 4, 0x25, 0, 0x18, 0, 0, 0x16, 0, 0x19, 0x0c, 0]);
        let length = (end.len() as u32).to_le_bytes();
        let begin = b"PAR1readpath-recording-001\n\n\0\0\0\0";
        decode(with_checksum([&begin[..], &end[..], &length[..], b"PAR1"].concat())).unwrap_err().to_string()
    };
    // A group of 2^31 columns, for which the library would take 16 GiB, is one of them.
    for (times, children) in [(1, &[2][..]), (35, &[2][..]), (1, &[0xfe, 0xff, 0xff, 0xff, 0x0f][..])] {
        let refused = with_groups(times, children);
        assert!(refused.contains("does not name its columns"), "{times}: {refused}");
    }
}

/// Gives bytes the checksum that goes with them, as one who means harm would.
fn with_checksum(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() > 32 {
        let checksum = crc32c::crc32c(&bytes[32..]);
        bytes[28..32].copy_from_slice(&checksum.to_le_bytes());
    }
    bytes
}

/// The bytes of a segment with 0, 1 or 2 sessions: writing them takes longer than reading them.
fn sound(sessions: u32) -> &'static Vec<u8> {
    static OF_SESSIONS: [OnceLock<Vec<u8>>; 3] = [const { OnceLock::new() }; 3];
    OF_SESSIONS[sessions as usize].get_or_init(|| encode(&segment(1, sessions)).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_that_were_made_to_harm_are_refused_or_read_and_never_leave_the_function(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
        cut in prop::option::of(any::<prop::sample::Index>()),
        sessions in 0_u32..3,
    ) {
        std::panic::set_hook(Box::new(|_| ()));
        let mut bytes = sound(sessions).clone();
        // What is behind the pages says where they are and what they hold: there most harm can be done.
        let end = bytes.len() - bytes.len() / 3;
        for (number, (place, value)) in changes.into_iter().enumerate() {
            let place = if number % 2 == 0 { end + place.index(bytes.len() - end) } else { place.index(bytes.len()) };
            bytes[place.max(32)] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()).max(32));
        }
        if let Ok(read) = decode(with_checksum(bytes)) {
            prop_assert!(read.samples.iter().all(|one| (one.process as usize) < read.processes.len()));
            prop_assert!(read.samples.iter().all(|one| (one.statement as usize) < read.statements.len()));
            prop_assert!(read.samples.iter().all(|one| (one.event as usize) < read.events.len()));
        }
    }
}

#[test]
fn a_second_recorder_on_the_same_folder_is_refused_as_long_as_the_first_one_lives() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("new/recording");
    let first = Folder::open(&path).unwrap();
    let refused = Folder::open(&path).unwrap_err();
    assert!(matches!(refused, FolderError::Locked(_)), "{refused}");
    assert!(refused.to_string().contains("another recorder writes to "));
    drop(first);
    // A process that another test starts holds a copy of the lock until it runs its program.
    let opened = (0..1000).find_map(|_| Folder::open(&path).map_err(|_| sleep(Duration::from_millis(10))).ok());
    assert_eq!(opened.unwrap().next(), 1);
}

#[test]
fn a_folder_that_takes_no_file_is_refused_before_anything_is_recorded() {
    // No user can make a file there, root neither.
    let refused = Folder::open(Path::new("/proc/self")).unwrap_err();
    assert!(matches!(refused, FolderError::Unusable { .. }), "{refused}");
    assert!(refused.to_string().starts_with("/proc/self cannot be recorded to: "), "{refused}");
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::open(place.path()).unwrap();
    assert!(names(folder.path()).is_empty(), "what it was tried with is gone");
}

#[test]
fn what_a_killed_recorder_was_writing_is_gone_and_its_segments_go_on_counting() {
    let place = tempfile::tempdir().unwrap();
    let mut folder = Folder::open(place.path()).unwrap();
    let bytes = encode(&segment(1, 2)).unwrap();
    folder.publish(named(1), &bytes).unwrap();
    folder.publish(named(2), &bytes).unwrap();
    drop(folder);
    fs::write(place.path().join(".readpath-segment.partial"), &bytes[..100]).unwrap();
    let folder = Folder::open(place.path()).unwrap();
    assert_eq!((folder.next(), names(place.path()).len()), (3, 2));
    let refused = folder.path().join(named(2).to_string());
    let mut folder = folder;
    assert!(matches!(folder.publish(named(2), b"other"), Err(NotWritten::Failed { .. })), "nothing is replaced");
    assert_eq!(fs::read(refused).unwrap(), bytes);
    assert_eq!(names(place.path()).len(), 2, "nothing of it is left");
}

#[test]
fn a_recorder_goes_on_behind_a_name_with_the_greatest_number() {
    let place = tempfile::tempdir().unwrap();
    let greatest = SegmentName { number: u64::MAX, ..named(1) };
    fs::write(place.path().join(greatest.to_string()), "of another program").unwrap();
    let mut folder = Folder::open(place.path()).unwrap();
    for minute in 2..4 {
        let name = SegmentName { number: folder.next(), ..named(minute) };
        folder.publish(name, &encode(&segment(1, 2)).unwrap()).unwrap();
    }
    let begins: Vec<i64> = segments(place.path()).unwrap().iter().map(|(name, _)| name.begin).collect();
    assert_eq!(begins, [1, 2, 3].map(|minute| named(minute).begin));
}

#[test]
fn a_link_in_the_place_of_the_draft_is_not_written_through() {
    let place = tempfile::tempdir().unwrap();
    let victim = place.path().join("victim");
    fs::write(&victim, "kept").unwrap();
    let mut folder = Folder::open(&place.path().join("recording")).unwrap();
    std::os::unix::fs::symlink(&victim, folder.path().join(".readpath-segment.partial")).unwrap();
    let bytes = encode(&segment(1, 2)).unwrap();
    folder.publish(named(1), &bytes).unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"kept");
    assert_eq!(fs::read(folder.path().join(named(1).to_string())).unwrap(), bytes);
}

#[test]
fn keep_removes_the_oldest_segments_of_ours_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let mut folder = Folder::open(place.path()).unwrap();
    let bytes = encode(&segment(1, 2)).unwrap();
    for number in 2..8 {
        folder.publish(named(number), &bytes).unwrap();
    }
    let foreign = [named(1).to_string(), "notes.parquet".into(), "readpath-old.parquet".into()];
    foreign.iter().for_each(|name| fs::write(place.path().join(name), "of another program").unwrap());
    let link = place.path().join(named(9).to_string());
    std::os::unix::fs::symlink("/etc/hostname", &link).unwrap();
    fs::create_dir(place.path().join(named(0).to_string())).unwrap();
    let numbers = || segments(place.path()).unwrap().iter().map(|(name, _)| name.number).collect::<Vec<_>>();
    assert_eq!(numbers(), [1, 2, 3, 4, 5, 6, 7]);

    let now = named(7).end;
    assert_eq!(folder.keep(Limits::default(), now).unwrap().0, 0);
    let age = Some(4 * 60 * SECOND);
    assert_eq!(folder.keep(Limits { age, bytes: None }, now).unwrap().0, 1);
    assert_eq!(numbers(), [1, 3, 4, 5, 6, 7], "what only has the name of a segment stays");
    let most = Some(3 * bytes.len() as u64);
    assert_eq!(folder.keep(Limits { age: None, bytes: most }, now).unwrap().0, 2);
    assert_eq!(numbers(), [1, 5, 6, 7]);
    assert_eq!(folder.keep(Limits { age: Some(1), bytes: Some(1) }, now + 1_000 * 60 * SECOND).unwrap().0, 2);
    assert_eq!(numbers(), [1, 7], "the newest one stays");
    assert!(foreign.iter().all(|name| place.path().join(name).is_file()) && link.is_symlink());
}

#[test]
fn a_segment_of_a_clock_that_was_ahead_keeps_no_older_one() {
    let place = tempfile::tempdir().unwrap();
    let mut folder = Folder::open(place.path()).unwrap();
    let bytes = encode(&segment(1, 2)).unwrap();
    let (minute, year) = (60 * SECOND, 365 * 86_400 * SECOND);
    let ahead = named(1).end + year;
    folder.publish(SegmentName::new(1, ahead - minute, ahead), &bytes).unwrap();
    for number in 2..8 {
        folder.publish(named(number), &bytes).unwrap();
    }
    let limits = Limits { age: Some(2 * minute), bytes: None };
    assert_eq!(folder.keep(limits, named(7).end).unwrap().0, 3);
    let left: Vec<u64> = segments(place.path()).unwrap().iter().map(|(name, _)| name.number).collect();
    assert_eq!(left, [1, 5, 6, 7]);
}

#[test]
fn a_segment_that_its_owner_protects_is_named_and_keeps_none_behind_it() {
    let place = tempfile::tempdir().unwrap();
    let mut folder = Folder::open(place.path()).unwrap();
    let bytes = encode(&segment(1, 2)).unwrap();
    for number in 1..6 {
        folder.publish(named(number), &bytes).unwrap();
    }
    let protected = place.path().join(named(2).to_string());
    let set = |flag: &str| {
        let output = std::process::Command::new("chattr").arg(flag).arg(&protected).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !set("+i") || fs::File::options().append(true).open(&protected).is_ok() {
        println!("skipped: chattr protects no file here");
        return;
    }
    let limits = Limits { age: None, bytes: Some(2 * bytes.len() as u64) };
    let kept = folder.keep(limits, named(5).end);
    assert!(set("-i"), "else the folder would stay");
    let (removed, refused) = kept.unwrap();
    let left: Vec<u64> = segments(place.path()).unwrap().iter().map(|(name, _)| name.number).collect();
    assert_eq!((removed, left), (2, vec![2, 4, 5]));
    assert_eq!(refused.map(|refused| refused.path), Some(protected));
}

#[test]
fn a_disk_that_fills_up_is_said_nothing_is_left_and_the_next_segment_is_written_when_there_is_room() {
    let disk = match disks::SmallDisk::new(&std::env::temp_dir(), 4 << 20) {
        Ok(disk) => disk,
        Err(reason) => {
            println!("skipped: a small disk needs root: {reason}");
            return;
        }
    };
    let place = disk.mount.join("recording");
    let mut folder = Folder::open(&place).unwrap();
    let bytes = encode(&segment(1, 50)).unwrap();
    folder.publish(named(1), &bytes).unwrap();
    disk.fill();
    let refused = folder.publish(named(2), &bytes).unwrap_err();
    assert!(matches!(refused, NotWritten::OutOfSpace(_)), "{refused}");
    assert_eq!(names(&place), [named(1).to_string()], "no part of it");
    disk.empty();
    folder.publish(named(folder.next()), &bytes).unwrap();
    assert_eq!(names(&place).len(), 2);
    assert!(recording::read(&place.join(named(2).to_string())).is_ok());
}

#[test]
fn the_documentation_has_every_column_of_a_segment() {
    let page = include_str!("../../../docs/events.md");
    let section = page.split("\n## ").find(|section| section.starts_with("recording\n")).unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    let said: Vec<(String, String)> = rows
        .map(|row| {
            let mut parts = row.split(" | ");
            let name = parts.next().unwrap_or_default().trim_end_matches('`');
            (name.into(), parts.next().unwrap_or_default().into())
        })
        .collect();
    let written: Vec<(String, String)> =
        COLUMNS.iter().map(|column| (column.name.to_string(), column.kind().into())).collect();
    assert_eq!(said, written);
}
