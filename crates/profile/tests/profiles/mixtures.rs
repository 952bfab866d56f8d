//! Mixtures of releases, units, containers and forms of a line, in any split over files, give the sum of their parts.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use measure::wait_class::Class;
use profile::choice::Period;
use profile::event::{Context, Observer, Ticks, Wait};
use profile::ingest::{Chosen, IngestSettings, Ingested, ingest};
use profile::observe::collector::THINK_TIME;
use profile::source::{BindValues, ReadOptions, SourceSettings};
use profile::tables::class_sums::class_sums;
use profile::tables::{Profile, SessionProfile};
use proptest::prelude::*;

use crate::mixtures_made::{Made, RELEASES, Release};

struct Nothing;

impl Observer for Nothing {}

fn read(paths: &[PathBuf], chunk_bytes: usize) -> Ingested {
    hear(paths, chunk_bytes, &mut Nothing)
}

fn hear(paths: &[PathBuf], chunk_bytes: usize, observer: &mut (dyn Observer + Send)) -> Ingested {
    let reading = ReadOptions { workers: 2, chunk_bytes };
    let settings = IngestSettings {
        think_time: THINK_TIME,
        source: SourceSettings { unit: None, reading, binds: BindValues::Dropped, period: Period::default() },
    };
    ingest(Chosen::of(paths), &settings, observer, &mut |_, _| ControlFlow::Continue(()))
}

/// The profile of some files.
fn profile(files: &[Vec<u8>]) -> Ingested {
    profile_in_chunks(files, ReadOptions::CHUNK_BYTES)
}

fn profile_in_chunks(files: &[Vec<u8>], chunk_bytes: usize) -> Ingested {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |(place, bytes): (usize, &Vec<u8>)| {
        let path = folder.path().join(format!("f{place}.trc"));
        fs::write(&path, bytes).expect("room for a small file");
        path
    };
    let paths: Vec<PathBuf> = files.iter().enumerate().map(path).collect();
    let read = read(&paths, chunk_bytes);
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    crate::support::assert_adds_up(&read.profile);
    read
}

/// What can be added up, by name.
type Sums = BTreeMap<String, [i64; 2]>;

fn add(sums: &mut Sums, name: impl Into<String>, values: [i64; 2]) {
    let sum = sums.entry(name.into()).or_default();
    *sum = [sum[0] + values[0], sum[1] + values[1]];
}

fn sums(profile: &Profile) -> Sums {
    let (mut sums, whole, context) = (Sums::new(), &profile.whole, &profile.context);
    let mut time = |name: &str, time: Ticks| add(&mut sums, name, [time.0, 0]);
    time("interval", whole.interval);
    time("response time", whole.response_time);
    time("cpu", whole.cpu);
    time("waits", whole.waits);
    time("within", whole.unaccounted_within);
    time("between", whole.unaccounted_between);
    for (class, of) in class_sums(whole, context) {
        add(&mut sums, format!("class {class:?}"), [of.calls as i64, of.total.0]);
        for (event, calls, total) in of.events {
            add(&mut sums, format!("class {class:?} event {}", context.event_name(event)), [calls as i64, total.0]);
        }
    }
    for (event, of) in &whole.events {
        let name = context.event_name(*event);
        add(&mut sums, format!("event {name}"), [of.count as i64, of.total.0]);
        add(&mut sums, format!("event {name} blocks"), [of.blocks as i64, of.inside.0]);
    }
    add(&mut sums, "commits", [whole.transactions.commits as i64, whole.transactions.rollbacks as i64]);
    for (scope, of) in &profile.scopes {
        let container = &context.scopes[scope.0 as usize].container;
        add(&mut sums, format!("container {container}"), [of.calls as i64, of.own.elapsed.0]);
    }
    for statement in &profile.statements {
        let known = &context.statements[statement.statement.0 as usize];
        let calls = statement.calls.values().map(|sums| sums.calls as i64).sum();
        add(&mut sums, format!("statement {} {}", known.id, known.text), [calls, statement.response_time().0]);
        add(&mut sums, format!("think time of {}", known.id), [0, statement.think_time.total.0]);
    }
    sums
}

fn sum_of_parts(files: &[Vec<u8>]) -> Sums {
    let mut all = Sums::new();
    for file in files {
        for (name, values) in sums(&profile(std::slice::from_ref(file)).profile) {
            add(&mut all, name, values);
        }
    }
    all
}

fn made(release: Release, number: u64, rounds: &[(i64, bool)]) -> Made {
    Made { release, number, rounds: rounds.to_vec(), is_of_windows: false }
}

fn total(whole: &SessionProfile, profile: &Profile, class: Class) -> f64 {
    class_sums(whole, &profile.context).get(&class).map_or(0.0, |sums| sums.total.micros())
}

#[test]
fn think_time_is_counted_once_whatever_the_parameters_of_its_event_are_called() {
    let one = made(Release::Eleven, 1, &[(5_000, false), (5_000, true), (20, true), (20, false)]).bytes();
    let read = profile(&[one]).profile;
    assert_eq!(total(&read.whole, &read, Class::ThinkTime), 1e7);
    assert_eq!(total(&read.whole, &read, Class::Network), 40_000.0);
    let classes = class_sums(&read.whole, &read.context);
    let served: Ticks = classes.iter().filter(|(class, _)| !class.is_idle()).map(|(_, sums)| sums.total).sum();
    assert!(served > Ticks::ZERO, "{served:?}");
}

#[test]
fn a_preamble_begins_another_file_with_its_own_unit() {
    let rounds = [(1_500, false), (2_000, false), (1_700, false)];
    let ten = made(Release::Ten, 1, &rounds).bytes();
    let eleven = made(Release::Eleven, 2, &rounds).bytes();
    for order in [[&ten, &eleven], [&eleven, &ten]] {
        let parts = order.map(|bytes| bytes.clone());
        for chunk_bytes in [300, 1000, ReadOptions::CHUNK_BYTES] {
            let together = profile_in_chunks(&[parts.concat()], chunk_bytes);
            let scales: Vec<f64> = together.files.iter().map(|file| file.scale.calls.micros()).collect();
            assert_eq!(scales.len(), 2, "{chunk_bytes}");
            assert_eq!(scales.iter().filter(|scale| **scale == 1.024).count(), 1);
            assert_eq!(sums(&together.profile), sum_of_parts(&parts), "{chunk_bytes}");
            let bytes: u64 = together.files.iter().map(|file| file.bytes).sum();
            assert_eq!(bytes as usize, parts.concat().len());
        }
    }
}

#[test]
fn a_file_that_its_process_began_again_goes_on() {
    let whole = made(Release::Eleven, 3, &[(20, false), (30, false)]);
    let text = String::from_utf8(whole.bytes()).expect("a text");
    let preamble = &text[..text.find("\n\n***").expect("a stamp") + 1];
    let second = text.rfind("PARSE #").expect("a second round");
    let mark = "*** TRACE FILE RECREATED AFTER BEING REMOVED ***\n";
    let again = [&text[..second], preamble, mark, &text[second..]].concat();
    let read = profile(&[again.into_bytes()]);
    assert_eq!((read.files.len(), read.profile.sessions.len()), (1, 1));
    assert_eq!(sums(&read.profile), sums(&profile(&[text.into_bytes()]).profile));
}

#[test]
fn two_undeclared_cursors_have_two_identifiers_that_can_be_given_back() {
    let undeclared = |number: u64| {
        let text = String::from_utf8(made(Release::Eleven, number, &[(20, false)]).bytes()).expect("a text");
        let (begin, end) = (text.find("=====").expect("a line"), text.find("END OF STMT\n").expect("an end") + 12);
        [&text[..begin], &text[end..]].concat().into_bytes()
    };
    let read = profile(&[undeclared(1), undeclared(2)]).profile;
    let ids: Vec<&str> =
        read.statements.iter().map(|statement| read.context.statement_id(statement.statement)).collect();
    assert_eq!(ids, ["undeclared-1", "undeclared-2"]);
    for id in ids {
        assert_eq!(profile::document::find_statement(&read, id).len(), 1, "{id}");
        assert!(id.len() <= 13, "{id} is shortened in a table");
    }
    let texts: Vec<&str> = read.context.statements.iter().map(|statement| &*statement.text).collect();
    assert_eq!(texts, [1, 2].map(|number| { format!("(session {number}.1, cursor #2, not declared in the trace)") }));
}

#[test]
fn two_texts_of_one_hash_can_be_told_apart() {
    let declare = |text: &str| {
        let length = text.len();
        format!(
            "=====================\nPARSING IN CURSOR #1 len={length} dep=0 uid=5 oct=3 lid=5 tim=1 hv=7 ad='1'\n\
             {text}\nEND OF STMT\nEXEC #1:c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim=1000\n"
        )
    };
    let text = [declare("select one from dual"), declare("select two from dual")].concat();
    let read = profile(&[text.into_bytes()]).profile;
    let ids: Vec<&str> =
        read.statements.iter().map(|statement| read.context.statement_id(statement.statement)).collect();
    assert_eq!(ids, ["7", "7-2"]);
    assert!(ids.iter().all(|id| profile::document::find_statement(&read, id).len() == 1));
}

#[test]
fn the_line_that_a_size_limit_cut_is_not_taken_for_a_whole_one() {
    let mark = "*** DUMP FILE SIZE IS LIMITED TO 10240 BYTES ***\n";
    let begin = "EXEC #1:c=10,e=100,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim=1000100\n";
    for cut in [
        "WAIT #1: nam='SQL*Net message from client' ela= 3112",
        "EXEC #1:c=10,e=100,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim=10",
        "WAIT #1: nam='db file sequential read' ela= 9 file#=1 block#=2 blocks=1 obj#=5 tim=1000",
    ] {
        for (between, chunk_bytes) in [("\n", 1), ("\n\n", 1), ("\n", 70), ("\n\n", ReadOptions::CHUNK_BYTES)] {
            let text = [begin, cut, between, mark].concat();
            let read = profile_in_chunks(&[text.into_bytes()], chunk_bytes).profile;
            assert_eq!(read.whole.waits, Ticks::ZERO, "{cut} {chunk_bytes}");
            assert_eq!((read.whole.interval, read.whole.roots), (Ticks::from_micros(100), 1), "{cut} {chunk_bytes}");
            assert_eq!(read.unread.iter().map(|unread| unread.lines).sum::<u64>(), 1, "{cut} {chunk_bytes}");
        }
    }
}

#[test]
fn a_container_has_one_name_wherever_its_number_stands() {
    let text = String::from_utf8(made(Release::Nineteen, 1, &[(20, false), (1_500, false)]).bytes()).expect("a text");
    // The first stamps name no container, so that its number comes before its name.
    let late = text.replacen(" (SHOP(3))", "", 1);
    let root =
        text.replacen("*** CONTAINER ID", "*** 2024-01-31T00:01:40.000000+00:00 (CDB$ROOT(1))\n*** CONTAINER ID", 1);
    for text in [text, late, root] {
        let read = profile(&[text.into_bytes()]).profile;
        let names: Vec<&str> =
            read.scopes.keys().map(|scope| &*read.context.scopes[scope.0 as usize].container).collect();
        assert_eq!(names, ["SHOP"]);
    }
}

#[test]
fn a_number_of_a_container_does_not_have_the_name_that_the_file_behind_gives_it() {
    let text =
        |number: u64| String::from_utf8(made(Release::Nineteen, number, &[(20, false)]).bytes()).expect("a text");
    let files = [text(1).into_bytes(), text(2).replace("(SHOP(3))", "(STORE(3))").into_bytes()];
    for chunk_bytes in [300, ReadOptions::CHUNK_BYTES] {
        let together = profile_in_chunks(&[files.concat()], chunk_bytes);
        assert_eq!(sums(&together.profile), sum_of_parts(&files), "{chunk_bytes}");
    }
}

/// Counts waits by the file that they are said to stand in.
#[derive(Default)]
struct ByFile {
    names: Vec<String>,
    waits: BTreeMap<String, u64>,
}

impl Observer for ByFile {
    fn begin_file(&mut self, name: &str) {
        self.names.push(name.into());
    }

    fn wait(&mut self, _context: &Context, wait: &Wait) {
        let name = &self.names[self.names.len() - 1 - wait.files_back as usize];
        *self.waits.entry(name.clone()).or_default() += 1;
    }
}

#[test]
fn the_last_wait_of_a_trace_is_not_said_to_stand_in_the_next_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let paths = [("a.trc", 1, 2), ("b.trc", 2, 1)].map(|(name, number, rounds)| {
        let path = folder.path().join(name);
        fs::write(&path, made(Release::Eleven, number, &vec![(20, false); rounds]).bytes()).expect("room");
        path
    });
    let mut heard = ByFile::default();
    hear(&paths, ReadOptions::CHUNK_BYTES, &mut heard);
    let waits: Vec<u64> = heard.waits.into_values().collect();
    assert_eq!(waits, [4, 2], "two in each round, the last one behind all calls");
}

#[test]
fn a_wait_that_a_call_of_a_later_file_settles_still_stands_in_its_own_file() {
    let wait = |block: u32, end: u32| {
        format!("WAIT #1: nam='db file sequential read' ela= 50 file#=4 block#={block} blocks=1 obj#=1 tim={end}\n")
    };
    let call = |kind: &str, end: u32| format!("{kind} #1:c=0,e=90,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim={end}\n");
    let (session, from) =
        ("*** SESSION ID:(1.1) 2020-02-02 02:02:02.000\n", "*** TRACE CONTINUED FROM FILE x.trc ***\n");
    let on = "*** TRACE CONTINUES IN FILE y.trc ***\n";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let texts = [
        [session, &call("EXEC", 1_000_000), &wait(1, 1_000_200), &wait(2, 1_000_300), on].concat(),
        [from, session, &wait(3, 1_000_400), on].concat(),
        [from, session, &wait(4, 1_000_500), &call("FETCH", 1_000_550), &wait(5, 1_000_700)].concat(),
    ];
    let paths = ["a.trc", "b.trc", "c.trc"].map(|name| folder.path().join(name));
    paths.iter().zip(texts).for_each(|(path, text)| fs::write(path, text).expect("room"));
    let mut heard = ByFile::default();
    hear(&paths, ReadOptions::CHUNK_BYTES, &mut heard);
    assert_eq!(heard.waits.into_values().collect::<Vec<u64>>(), [2, 1, 2]);
}

#[test]
fn a_file_without_a_line_is_none_of_those_that_something_stands_in() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let paths = ["a.trc", "b.trc"].map(|name| folder.path().join(name));
    fs::write(&paths[0], made(Release::Eleven, 1, &[(20, false)]).bytes()).expect("room");
    fs::write(&paths[1], "").expect("room");
    let mut heard = ByFile::default();
    let read = hear(&paths, ReadOptions::CHUNK_BYTES, &mut heard);
    assert_eq!((heard.names.len(), read.begun.len(), read.problems.len()), (1, 2, 1), "{:?}", read.problems);
}

#[test]
fn a_damaged_digit_of_a_time_makes_no_years() {
    let rounds = [(500, false), (20, false), (1_500, false), (20, false)];
    for release in [Release::Ten, Release::Eleven, Release::Nineteen] {
        let sound = String::from_utf8(made(release, 1, &rounds).bytes()).expect("a text");
        let expected = profile(&[sound.clone().into_bytes()]).profile.whole.interval;
        let times: Vec<usize> =
            sound.match_indices(" tim=").chain(sound.match_indices(",tim=")).map(|(at, _)| at + 5).collect();
        for at in times {
            for digit in [b'6', b'9', b'0'] {
                let mut damaged = sound.clone().into_bytes();
                let length = damaged[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                // A digit worth an hour and more.
                let place = at + length.saturating_sub(11).min(2);
                damaged[place] = digit;
                let whole = profile(&[damaged]).profile.whole;
                let off = (whole.interval - expected).micros().abs();
                assert!(
                    off < 3e6,
                    "{release:?} {at} {digit}: {} instead of {}",
                    whole.interval.micros(),
                    expected.micros()
                );
            }
        }
    }
}

#[test]
fn a_statement_of_a_windows_file_is_the_same_without_returns() {
    let rounds = [(20, false)];
    let plain = made(Release::Ten, 1, &rounds);
    let windows = Made { is_of_windows: true, number: 2, ..plain.clone() };
    let read = profile(&[plain.bytes(), windows.bytes()]).profile;
    let declared: Vec<&str> =
        read.context.statements.iter().map(|one| &*one.text).filter(|text| !text.is_empty()).collect();
    assert_eq!(declared, ["select name\nfrom products"]);
}

#[test]
fn the_wall_clock_is_that_of_the_ends_of_the_interval() {
    let read = profile(&[made(Release::Ten, 1, &[(20, false), (1_500, false)]).bytes()]).profile;
    let (first, last) = (read.first_clock.expect("stamps"), read.last_clock.expect("stamps"));
    let interval = read.whole.interval.micros();
    assert!(((last - first) as f64 - interval).abs() < 10.0, "{first} {last} {interval}");
    let begin = 1_706_659_200_000_000 + 100_000_000;
    assert!((first - begin).abs() < 20_000, "{first} {begin}");
}

#[test]
fn ends_of_transactions_are_counted_by_session_and_for_the_whole() {
    let rounds = [(20, false), (20, false), (20, false)];
    let files = [made(Release::Eleven, 1, &rounds).bytes(), made(Release::Eleven, 2, &rounds[..1]).bytes()];
    let read = profile(&files).profile;
    let commits: Vec<u64> = read.sessions.iter().map(|session| session.transactions.commits).collect();
    assert_eq!((commits, read.whole.transactions.commits), (vec![3, 1], 4));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn any_mixture_in_any_split_over_files_is_the_sum_of_its_parts(
        parts in prop::collection::vec(
            (0_usize..4, prop::collection::vec((5_i64..4_000, any::<bool>()), 1..5), any::<bool>()),
            1..5
        ),
        splits in prop::collection::vec(any::<bool>(), 5),
        chunk_bytes in 200_usize..3_000,
    ) {
        let made: Vec<Vec<u8>> = parts
            .into_iter()
            .zip(1..)
            .map(|((release, rounds, is_of_windows), number)| {
                Made { release: RELEASES[release], number, rounds, is_of_windows }.bytes()
            })
            .collect();
        let expected = sum_of_parts(&made);
        let mut files: Vec<Vec<u8>> = Vec::new();
        for (bytes, begins) in made.iter().zip(splits) {
            match files.last_mut() {
                Some(last) if !begins => last.extend_from_slice(bytes),
                _ => files.push(bytes.clone()),
            }
        }
        let together = profile_in_chunks(&files, chunk_bytes);
        prop_assert_eq!(together.files.len(), made.len());
        prop_assert_eq!(sums(&together.profile), expected);
    }
}

#[test]
fn of_thousands_of_traces_behind_one_another_no_call_is_lost_and_not_every_name_is_kept() {
    let one = |number: u64| {
        format!(
            "Trace file a_{number}.trc\nOracle Database 11g Release 11.2.0.3.0\n\
             Unix process pid: {number}, image: x\n\n*** SESSION ID:({number}.1) 2020-02-02 02:02:02.000\n\
             EXEC #1:c=0,e=9,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim={}\n",
            1_000_000 + number
        )
    };
    let all: Vec<u8> = (1..=5000).flat_map(|number| one(number).into_bytes()).collect();
    let bytes = all.len() as u64;
    let read = profile(&[all]);
    assert_eq!(read.files.len(), 1 << 12);
    assert!(read.files[(1 << 12) - 1].name.ends_with("and all behind it"));
    assert_eq!(read.files.iter().map(|file| file.bytes).sum::<u64>(), bytes);
    assert_eq!(read.files.iter().map(|file| file.timed_records).sum::<u64>(), 5000);
    assert_eq!(read.profile.whole.roots, 5000);
}
