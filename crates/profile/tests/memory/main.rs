//! Memory: what a statement takes, and that no file can take it all by naming ever new things.
//!
//! The resident memory of this process is what is held against the figures, so that this is a test of its own binary,
//! and its parts run one after the other.

use std::fs;

use profile::document::{self, Order, Selection};
use profile::event::{ProblemKind, TimeScale, Unit};
use profile::observe::collector::{Collector, THINK_TIME};
use profile::observe::instruments::Instruments;
use profile::source::oracle::account::Accounting;
use profile::source::oracle::record::Batch;
use profile::source::oracle::scan::{ChunkEnd, Scanner, State};
use profile::tables::{CallSums, Profile};

const SELECTION: Selection = Selection { order: Order::ResponseTime, top: 10, statement: None, hides_texts: false };

/// Bytes that a statement with calls and waits takes without its text: docs/method.md says so.
const STATEMENT_BYTES: f64 = 1.2 * 1024.0;

/// Bytes that the sessions and statements of the test take together: docs/method.md says so.
const ALL_BYTES: f64 = 64.0 * 1024.0 * 1024.0;

/// Bytes that a cursor takes.
const CURSOR_BYTES: f64 = 150.0;

/// Resident memory of this process in bytes.
fn resident() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("a process has a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("and resident memory");
    line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number") * 1024.0
}

/// Reads parts of a trace that are made as they are read; the profile, and the memory after each part.
fn read(parts: impl Iterator<Item = String>) -> (Profile, Vec<f64>) {
    let (mut collector, mut accounting) = (Collector::new(THINK_TIME), Accounting::new());
    accounting.begin_file(TimeScale::given(Unit::Microsecond));
    let mut memory = Vec::new();
    for part in parts {
        let mut batch = Batch { bytes: part.into_bytes(), ..Batch::default() };
        Scanner::default().scan(&mut batch, State::Between, ChunkEnd::File);
        accounting.batch(&batch, &mut collector);
        drop(batch);
        memory.push(resident());
    }
    accounting.end_file(&mut collector);
    let accounted = accounting.finish(&mut collector);
    (collector.finish(accounted), memory)
}

/// A statement with all that most statements have.
fn statement(number: u64) -> String {
    let text = format!("select {number:08} from dual");
    let time = 1_000_000 + number * 1000;
    let call = |name: &str, at: u64| {
        format!("{name} #{}:c=0,e=9,p=0,cr=2,cu=0,mis=0,r=1,dep=0,og=1,plh=7,tim={}\n", number % 50 + 1, time + at)
    };
    let wait = |name: &str, at: u64| {
        format!("WAIT #{}: nam='{name}' ela= 90 a=1 b=2 c=3 tim={}\n", number % 50 + 1, time + at)
    };
    [
        format!(
            "PARSING IN CURSOR #{} len={} dep=0 uid=5 oct=3 lid=5 tim=1 hv={number} ad='1'\n",
            number % 50 + 1,
            text.len()
        ),
        format!("{text}\nEND OF STMT\n"),
        call("PARSE", 100),
        call("EXEC", 200),
        wait("SQL*Net message to client", 300),
        wait("db file sequential read", 390),
        call("FETCH", 400),
        wait("SQL*Net message from client", 700),
    ]
    .concat()
}

/// A session that executes some of many statements.
fn busy_session(number: u64) -> String {
    let begin = format!("*** SESSION ID:({number}.7) 2020-02-02 02:02:02.000\n");
    let statements = (0..40).map(|one| statement((number * 7 + one * 311) % 10_000));
    std::iter::once(begin).chain(statements).collect()
}

/// By how much each thing between the first and the last part let the memory grow.
fn growth(memory: &[f64], per_part: u64, first: usize) -> f64 {
    (memory[memory.len() - 1] - memory[first]) / (per_part * (memory.len() - 1 - first) as u64) as f64
}

fn count(profile: &Profile, kind: ProblemKind) -> u64 {
    profile.problems.iter().find(|problem| problem.kind == kind).map_or(0, |problem| problem.count)
}

#[test]
fn what_a_file_names_takes_the_memory_that_is_said_and_not_without_end() {
    let before = resident();
    let per_part = 1000;
    let sessions = read((0..160).map(|part| (0..25).map(|one| busy_session(25 * part + one)).collect()));
    let (profile, memory) = sessions;
    let cases = document::cases(&profile, &SELECTION).len() + Instruments::default().cases(&profile).len();
    let most = memory.into_iter().chain([resident()]).fold(0.0, f64::max) - before;
    assert!(most <= ALL_BYTES, "4000 sessions with 40 statements each take {:.1} MiB", most / 1_048_576.0);
    assert_eq!(profile.session_count(), 4000);
    assert_eq!(count(&profile, ProblemKind::SessionsFolded), 4001 - profile.sessions.len() as u64);
    assert!(cases < 20_000, "{cases}");
    let executions = |calls: &CallSums| calls.calls;
    assert_eq!(profile.whole.calls.values().map(executions).sum::<u64>(), 4000 * 40 * 3);
    assert_eq!(profile.session_statements.iter().map(|one| one.sums.calls).sum::<u64>(), 4000 * 40 * 3);
    drop(profile);

    let (profile, memory) =
        read((0..100).map(|part| (0..per_part).map(|one| statement(part * per_part + one)).collect()));
    assert_eq!(profile.statements.len(), (3 << 12) + 1, "and those that differ in literals");
    // Lists grow by doubling: between two such steps the growth is less, across one more, so the whole way counts.
    let grown = growth(&memory[..12], per_part, 2);
    assert!(grown <= STATEMENT_BYTES + 64.0, "a statement takes {grown:.0} bytes");
    let calls: u64 = profile.statements.iter().flat_map(|one| one.calls.values()).map(executions).sum();
    assert_eq!(calls, 300_000, "no call is lost");
    drop(profile);

    let cursor =
        |number: u64| format!("EXEC #{number}:c=0,e=9,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim={}\n", 1_000_000 + number);
    let (profile, memory) =
        read((0..300).map(|part| (1..=per_part).map(|one| cursor(part * per_part + one)).collect()));
    let shared = count(&profile, ProblemKind::CursorsShared);
    assert_eq!(shared, 300_000 - (1 << 16));
    let calls: u64 = profile.statements.iter().flat_map(|one| one.calls.values()).map(|sums| sums.calls).sum();
    assert_eq!(calls, 300_000, "no call is lost");
    let grown = growth(&memory[..65], per_part, 10);
    assert!(grown <= CURSOR_BYTES, "a cursor takes {grown:.0} bytes");

    let session =
        |number: u64| format!("*** SESSION ID:({number}.1) 2020-02-02 02:02:02.000\n{}", cursor(number % 7 + 1));
    let (profile, _) = read((0..20).map(|part| (0..per_part).map(|one| session(part * per_part + one)).collect()));
    assert_eq!(profile.session_count(), (1 << 14) + 1);
    assert_eq!(count(&profile, ProblemKind::SessionsShared), 20_000 - (1 << 14));
    assert_eq!(profile.whole.calls.values().map(|sums| sums.calls).sum::<u64>(), 20_000);
}
