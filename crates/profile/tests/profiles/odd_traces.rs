//! Traces written by hand for what real ones at hand lack: old releases, other systems, damage, bad luck.

use profile::event::{EventIndex, Evidence, Problem, ProblemKind, StatementKind, Ticks, Unit};
use profile::source::oracle::time_scale::TimeScaleProbe;
use profile::tables::{CallSums, EventSums, Profile, SessionProfile, StatementProfile};

const US: Unit = Unit::Microsecond;

fn micros(value: i64) -> Ticks {
    Ticks::from_micros(value)
}

fn one(text: &str) -> Profile {
    crate::support::profile_in(US, &[text.as_bytes()])
}

fn event<'a>(profile: &'a Profile, name: &str) -> &'a EventSums {
    let place = profile.context.events.iter().position(|event| event.name == name).expect(name);
    &profile.whole.events[&EventIndex(place as u32)]
}

fn call<'a>(profile: &'a Profile, name: &str, is_recursive: bool) -> &'a CallSums {
    let place = profile.context.call_names.iter().position(|known| known == name).expect(name);
    &profile.whole.calls[&(place as u16, is_recursive)]
}

fn statement<'a>(profile: &'a Profile, id: &str) -> &'a StatementProfile {
    let is = |statement: &&StatementProfile| profile.context.statements[statement.statement.0 as usize].id == id;
    profile.statements.iter().find(is).expect(id)
}

fn session<'a>(profile: &'a Profile, id: &str) -> &'a SessionProfile {
    let is = |session: &&SessionProfile| profile.context.sessions[session.session.expect("known").0 as usize].id == id;
    profile.sessions.iter().find(is).expect(id)
}

fn problem(profile: &Profile, kind: ProblemKind) -> Option<&Problem> {
    profile.problems.iter().find(|problem| problem.kind == kind)
}

/// A declaration without an identifier of SQL.
fn declare(cursor: u64, depth: u16, hash: u64, text: &str) -> String {
    let length = text.len();
    format!(
        "=====================\n\
         PARSING IN CURSOR #{cursor} len={length} dep={depth} uid=5 oct=3 lid=5 tim=1 hv={hash} ad='1'\n\
         {text}\nEND OF STMT\n"
    )
}

fn line(kind: &str, cursor: u64, depth: u16, (cpu, elapsed): (i64, i64), tim: i64) -> String {
    format!("{kind} #{cursor}:c={cpu},e={elapsed},p=1,cr=2,cu=3,mis=0,r=4,dep={depth},og=1,tim={tim}\n")
}

fn wait(cursor: u64, name: &str, elapsed: i64, tim: i64) -> String {
    format!("WAIT #{cursor}: nam='{name}' ela= {elapsed} file#=7 block#=9 blocks=1 obj#=5 tim={tim}\n")
}

#[test]
fn reads_whose_parameters_are_named_otherwise_still_count_their_blocks() {
    let profile = one(concat!(
        "WAIT #3: nam='db file parallel read' ela= 50 files=2 blocks=38 requests=38 obj#=5 tim=1000\n",
        "WAIT #3: nam='direct path read' ela= 60 file number=4 first dba=129 block cnt=128 obj#=5 tim=1100\n",
        "WAIT #3: nam='cell single block physical read' ela= 70 cellhash#=2 diskhash#=3 bytes=8192 obj#=5 tim=1200\n",
        "FETCH #3:c=10,e=300,p=167,cr=170,cu=0,mis=0,r=1,dep=0,og=1,plh=1,tim=1210\n",
    ));
    assert_eq!(event(&profile, "db file parallel read").blocks, 38);
    assert_eq!(event(&profile, "direct path read").blocks, 128);
    assert_eq!(event(&profile, "cell single block physical read").blocks, 0);
    let files: Vec<i64> = profile.files.keys().map(|(_, file)| *file).collect();
    assert_eq!(files, [4], "a parallel read names no file");
    assert_eq!(profile.whole.events.values().map(|sums| sums.inside_count).sum::<u64>(), 3);
}

#[test]
fn calls_that_give_space_back_and_calls_of_the_client_side_have_rows_of_their_own() {
    let text = [
        &*declare(1, 0, 11, "select 1 from dual"),
        &line("EXEC", 1, 0, (10, 100), 1000),
        &line("UNMAP", 1, 0, (1, 20), 1100),
        &line("SORT UNMAP", 1, 0, (2, 30), 1200),
        "RPC CALL:FUNCTION APP.THING(A IN NUMBER) RETURN NUMBER;\nRPC BINDS:\n",
        "RPC EXEC:c=5,e=40\n",
    ]
    .concat();
    let profile = one(&text);
    assert_eq!(call(&profile, "UNMAP", false).own.elapsed, micros(20));
    assert_eq!(call(&profile, "SORT UNMAP", false).own.elapsed, micros(30));
    assert_eq!(call(&profile, "RPC EXEC", false).own.cpu, Some(micros(5)));
    assert_eq!(profile.whole.cpu, micros(18));
    assert_eq!(profile.whole.interval, micros(300), "a call without a time does not stretch the interval");
    assert_eq!(profile.whole.unaccounted_between, micros(300 - 190));
}

#[test]
fn operations_on_large_objects_hold_the_waits_of_the_open_cursor() {
    let text = [
        &*line("FETCH", 3, 0, (1, 10), 1000),
        &wait(3, "direct path read", 400, 1500),
        "WAIT #0: nam='direct path read' ela= 100 file number=4 first dba=129 block cnt=1 obj#=5 tim=1700\n",
        "LOBREAD: type=PERSISTENT LOB,bytes=8132,c=20,e=800,p=2,cr=3,cu=0,tim=1800\n",
        &wait(3, "SQL*Net message from client", 100, 2000),
        &line("FETCH", 3, 0, (1, 10), 2100),
    ]
    .concat();
    let profile = one(&text);
    let inside: u64 = profile.whole.events.values().map(|sums| sums.inside_count).sum();
    assert_eq!(inside, 2);
    assert_eq!(statement(&profile, "LOB operations").inside, micros(500));
    assert_eq!(profile.whole.unaccounted_between, micros(2100 - 990 - 20 - 800 - 100));
}

#[test]
fn old_waits_without_a_time_are_placed_by_their_name() {
    let text = [
        &*declare(1, 0, 11, "select 1 from dual"),
        &line("EXEC", 1, 0, (10, 100), 1000),
        "WAIT #1: nam='db file sequential read' ela= 70 p1=4 p2=9 p3=1\n",
        "WAIT #1: nam='SQL*Net message to client' ela= 2 p1=1 p2=1 p3=0\n",
        &line("FETCH", 1, 0, (10, 100), 1200),
        "WAIT #1: nam='SQL*Net message from client' ela= 300 p1=1 p2=1 p3=0\n",
        "WAIT #1: nam='db file sequential read' ela= 30 p1=4 p2=9 p3=1\n",
    ]
    .concat();
    let profile = one(&text);
    let read = event(&profile, "db file sequential read");
    assert_eq!((read.inside, read.between), (micros(70), micros(30)), "no later call holds the last one");
    assert_eq!(event(&profile, "SQL*Net message to client").between, micros(2));
    assert_eq!(event(&profile, "SQL*Net message from client").between, micros(300));
    assert_eq!(profile.whole.interval, micros(300));
}

#[test]
fn before_9i_all_times_are_hundredths_of_a_second() {
    let text = [
        "/oracle/admin/udump/ora_1.trc\nOracle8i Enterprise Edition Release 8.1.7.4.0 - Production\n",
        "*** SESSION ID:(8.15) 2001-05-05 10:00:00.123\n",
        "APPNAME mod='SQL*Plus' mh=3669949024 act='load' ah=4029777240\n",
        &declare(1, 0, 11, "select 1 from dual"),
        &line("EXEC", 1, 0, (3, 5), 1000),
        "WAIT #1: nam='db file scattered read' ela=4 p1=4 p2=9 p3=8\n",
        &line("FETCH", 1, 0, (2, 10), 1020),
    ]
    .concat();
    let profile = crate::support::profile(&[text.as_bytes()]);
    assert_eq!(profile.whole.cpu, micros(50_000));
    assert_eq!(profile.whole.interval, micros(250_000));
    assert_eq!(event(&profile, "db file scattered read").inside, micros(40_000));
    assert_eq!(event(&profile, "db file scattered read").blocks, 8, "the parameters have no names, but an order");
    assert_eq!(profile.files.keys().map(|(_, file)| *file).collect::<Vec<i64>>(), [4]);
    assert_eq!(profile.context.sessions[profile.sessions[0].session.expect("known").0 as usize].id, "8.15");
    let scopes: Vec<&str> =
        profile.scopes.keys().map(|scope| &*profile.context.scopes[scope.0 as usize].module).collect();
    assert_eq!(scopes, ["SQL*Plus"]);
}

#[test]
fn the_unit_of_old_ports_stretches_elapsed_times_and_no_cpu_times() {
    let text = [
        &*declare(1, 0, 11, "select 1 from dual"),
        &wait(1, "db file sequential read", 500, 1800),
        &line("FETCH", 1, 0, (300, 1000), 2000),
        &wait(1, "SQL*Net message from client", 100, 2200),
    ]
    .concat();
    let profile = crate::support::profile_in(Unit::Shifted, &[text.as_bytes()]);
    assert_eq!(profile.whole.cpu, Ticks(300 * 125));
    assert_eq!(profile.whole.interval, Ticks(1200 * 128));
    assert_eq!(profile.whole.waits, Ticks(600 * 128));
    assert_eq!(profile.whole.unaccounted_within, Ticks(500 * 128 - 300 * 125));
}

#[test]
fn merged_files_keep_their_processes_sessions_and_cursors_apart() {
    let text = [
        "*** [ Unix process pid: 100 ]\n*** SESSION ID:(1.1) 2020-02-02 02:02:02.000\n",
        &*declare(1, 0, 11, "select 1 from dual"),
        &line("EXEC", 1, 1, (10, 100), 1000),
        "*** [ Unix process pid: 200 ]\n*** SESSION ID:(2.2) 2020-02-02 02:02:02.000\n",
        &declare(1, 0, 22, "select 2 from dual"),
        &line("EXEC", 1, 0, (10, 900), 1050),
        "*** [ Unix process pid: 100 ]\n",
        &line("FETCH", 1, 0, (10, 1000), 1100),
        "*** [ Unix process pid: 300 ]\n",
        &line("FETCH", 1, 0, (10, 50), 1200),
    ]
    .concat();
    let profile = one(&text);
    let first = session(&profile, "1.1");
    assert_eq!((first.interval, first.roots, first.orphans), (micros(1000), 1, 0), "{first:?}");
    assert_eq!(statement(&profile, "11").calls.values().map(|sums| sums.calls).sum::<u64>(), 2);
    assert_eq!(session(&profile, "2.2").cpu, micros(10), "the other session's call is no child");
    assert_eq!(session(&profile, "process 300").interval, micros(50));
    assert_eq!(statement(&profile, "undeclared-1").own.elapsed, micros(50));
    let intervals: Ticks = profile.sessions.iter().map(|session| session.interval).sum();
    assert_eq!(profile.whole.interval, intervals);
}

#[test]
fn two_files_with_the_same_cursors_do_not_mix() {
    let first = [&*declare(1, 0, 11, "select 1 from dual"), &line("EXEC", 1, 1, (10, 100), 1000)].concat();
    let second = line("FETCH", 1, 0, (10, 2000), 2000);
    let profile = crate::support::profile_in(US, &[first.as_bytes(), second.as_bytes()]);
    assert_eq!(profile.sessions.len(), 2, "a file without a name for its session has one of its own");
    assert_eq!(statement(&profile, "11").calls.len(), 1);
    assert_eq!(statement(&profile, "undeclared-1").own.elapsed, micros(2000), "no child from another file");
    assert_eq!(profile.whole.orphans, 1);
    assert_eq!(profile.whole.interval, micros(2100), "and no interval from one file to the other");
}

#[test]
fn a_session_whose_file_goes_on_in_another_goes_on() {
    let first = [
        "*** SESSION ID:(1.1) 2020-02-02 02:02:02.000\n",
        &*declare(1, 0, 11, "select 1 from dual"),
        &line("EXEC", 1, 1, (10, 100), 1000),
        "*** TRACE CONTINUES IN FILE /oracle/trace/two.trc ***\n",
    ]
    .concat();
    let second = [
        "*** TRACE CONTINUED FROM FILE /oracle/trace/one.trc ***\n",
        "*** SESSION ID:(1.1) 2020-02-02 02:02:02.000\n",
        &*line("FETCH", 1, 0, (30, 2000), 2000),
    ]
    .concat();
    let profile = crate::support::profile_in(US, &[first.as_bytes(), second.as_bytes()]);
    assert_eq!(profile.sessions.len(), 1);
    assert_eq!((profile.whole.roots, profile.whole.orphans), (1, 0), "the call's child stands in the file before");
    assert_eq!(call(&profile, "FETCH", false).own.elapsed, micros(1900));
    assert_eq!(profile.statements.len(), 1, "the cursor is still the declared one");
    let stranger = crate::support::profile_in(US, &[first.as_bytes(), &second.as_bytes()[56..]]);
    assert_eq!(stranger.sessions.len(), 2, "without the mark it is another session that has the same number");
}

#[test]
fn a_file_does_not_go_on_in_that_of_another_process() {
    let first = [
        "Unix process pid: 7, image: oracle@db1\n*** SESSION ID:(1.1) 2020-02-02 02:02:02.000\n",
        &*declare(1, 0, 11, "select 1 from dual"),
        &line("EXEC", 1, 0, (10, 100), 1000),
        "*** TRACE CONTINUES IN FILE /oracle/trace/a_ora_7_1.trc ***\n",
    ]
    .concat();
    let statements = |process: u32, name: &str| {
        let process = format!("Unix process pid: {process}, image: oracle@db1\n");
        let mark = format!("*** TRACE CONTINUED FROM FILE {name} ***\n");
        let second = process + &mark + &line("FETCH", 1, 0, (30, 2000), 4000);
        let profile = crate::support::profile_in(US, &[first.as_bytes(), second.as_bytes()]);
        (profile.sessions.len(), profile.statements.len())
    };
    assert_eq!(statements(7, "/oracle/trace/a_ora_7.trc"), (1, 1));
    // Of both processes a file in between is missing, or was not chosen.
    assert_eq!(statements(8, "/oracle/trace/a_ora_8_3.trc"), (2, 2), "its cursor 1 is another one");
}

#[test]
fn a_file_of_marks_alone_makes_one_trace_of_no_files_and_parts_none() {
    let of = |process: u32, rest: &str| format!("Unix process pid: {process}, image: oracle@db1\n{rest}");
    let session = "*** SESSION ID:(1.1) 2020-02-02 02:02:02.000\n";
    let on = "*** TRACE CONTINUES IN FILE /oracle/trace/on.trc ***\n";
    let from = "*** TRACE CONTINUED FROM FILE /oracle/trace/from.trc ***\n";
    let fetch = line("FETCH", 1, 0, (30, 2000), 4000);
    let statements = |files: [String; 3]| {
        let files = files.each_ref().map(|file| file.as_bytes());
        crate::support::profile_in(US, &files).statements.len()
    };
    let exec = declare(1, 0, 11, "select 1 from dual") + &line("EXEC", 1, 0, (10, 100), 1000);
    let first = of(7, session) + &exec;
    // A process whose traces get a name of their own leaves a file that says no more than in which one it goes on.
    let other = [first.clone(), of(8, on), of(8, &[from, session, &fetch].concat())];
    assert_eq!(statements(other), 2, "cursor 1 of process 8 is another one");
    let same = [first + on, of(9, ""), of(7, &[from, &fetch].concat())];
    assert_eq!(statements(same), 1, "the file of process 9 has nothing to do with it");
}

#[test]
fn time_between_two_files_that_no_line_covers_is_no_time_between_calls() {
    let first = [
        "*** SESSION ID:(1.1) 2020-02-02 02:02:02.000\n",
        &*line("EXEC", 1, 0, (10, 100), 1_000_000),
        "*** TRACE CONTINUES IN FILE /oracle/trace/two.trc ***\n",
    ]
    .concat();
    let second = |calls: &[String]| {
        let mark = "*** TRACE CONTINUED FROM FILE /oracle/trace/one.trc ***\n*** SESSION ID:(1.1) 2020-02-02 \
                    02:02:02.000\n";
        mark.to_owned() + &calls.concat()
    };
    let of = |calls: &[String]| {
        let profile = crate::support::profile_in(US, &[first.as_bytes(), second(calls).as_bytes()]).whole;
        (profile.unrecorded, profile.unaccounted_between, profile.interval)
    };
    // The next call begins 5 s after the last one ended, and another 1 ms after that.
    let calls = [line("EXEC", 1, 0, (10, 100), 6_000_100), line("EXEC", 1, 0, (10, 100), 6_001_200)];
    assert_eq!(of(&calls), (micros(5_000_000), micros(5_001_000), micros(5_001_300)));
    let outer = [line("EXEC", 1, 1, (10, 100), 6_000_100), line("EXEC", 1, 0, (10, 5_500_000), 6_001_200)];
    assert_eq!(of(&outer).0, Ticks::ZERO, "a call was running all the time");
    let soon = [line("EXEC", 1, 0, (10, 100), 1_900_000)];
    assert_eq!(of(&soon).0, Ticks::ZERO, "less than a second is a pause as any other");
}

#[test]
fn a_file_cut_at_both_ends_loses_nothing() {
    let text = [
        "c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim=5\n",
        &*wait(9, "db file sequential read", 100, 900),
        &line("FETCH", 9, 2, (10, 200), 1000),
        &line("EXEC", 8, 1, (20, 500), 1200),
        &wait(9, "db file sequential read", 50, 1300),
        "FETCH #9:c=10,e=2",
    ]
    .concat();
    let profile = one(&text);
    assert_eq!((profile.whole.roots, profile.whole.orphans), (1, 1), "the call of depth 1 has no traced parent");
    assert_eq!(call(&profile, "EXEC", true).own.elapsed, micros(300));
    let reads = event(&profile, "db file sequential read");
    assert_eq!((reads.inside, reads.between), (micros(100), micros(50)));
    assert_eq!(problem(&profile, ProblemKind::UnknownCursor).map(|problem| problem.count), Some(2));
    assert!(profile.unread.iter().map(|unread| unread.lines).sum::<u64>() >= 2, "{:?}", profile.unread);
}

#[test]
fn a_cursor_whose_parse_waited_ahead_of_its_declaration_is_declared() {
    let parse = [
        &*wait(9, "library cache lock", 100, 900),
        &declare(9, 0, 11, "select 1 from dual"),
        &line("PARSE", 9, 0, (10, 200), 1000),
    ];
    let profile = one(&parse.concat());
    assert_eq!(problem(&profile, ProblemKind::UnknownCursor), None);
    let known = &profile.context.statements;
    assert_eq!((known.len(), profile.statements.len()), (1, 1), "{known:?}");
    assert_eq!(statement(&profile, "11").inside, micros(100));
    // What was waited for before the parse was of another statement, which had the number.
    let before = [&*wait(9, "SQL*Net message from client", 100, 500), &parse.concat()].concat();
    let profile = one(&before);
    assert_eq!(problem(&profile, ProblemKind::UnknownCursor).map(|problem| problem.count), Some(1));
    assert_eq!(statement(&profile, "undeclared-1").between, micros(100));
    assert_eq!(statement(&profile, "11").inside, micros(100));
    // No declaration follows.
    let profile = one(&[&*wait(9, "db file sequential read", 100, 500), &line("EXEC", 8, 0, (1, 2), 700)].concat());
    assert_eq!(problem(&profile, ProblemKind::UnknownCursor).map(|problem| problem.count), Some(2));
    assert_eq!(profile.whole.events.values().map(|sums| sums.total).sum::<Ticks>(), micros(100));
}

#[test]
fn errors_are_counted_under_their_statement() {
    let text = [
        &*declare(1, 0, 11, "insert into t values (1)"),
        &line("EXEC", 1, 0, (10, 100), 1000),
        "ERROR #1:err=1 tim=1017\n",
        "PARSE ERROR #2:len=15 dep=0 uid=5 oct=3 lid=5 tim=1100 err=942\nselect * from x\n",
        &line("EXEC", 1, 0, (10, 100), 1300),
        "XCTEND rlbk=1, rd_only=0, tim=1400\n",
    ]
    .concat();
    let profile = one(&text);
    assert_eq!(profile.errors.clone().into_iter().collect::<Vec<_>>(), [(Some(1), 1), (Some(942), 1)]);
    assert_eq!(statement(&profile, "11").errors[&Some(1)], 1);
    let failed = profile.statements.iter().find(|statement| statement.errors.contains_key(&Some(942))).expect("known");
    let failed = &profile.context.statements[failed.statement.0 as usize];
    assert_eq!((failed.kind, &*failed.text), (StatementKind::ParseError, "select * from x"));
    assert_eq!((profile.whole.transactions.rollbacks, profile.whole.transactions.commits), (1, 0));
    assert_eq!(profile.whole.interval, micros(500), "the end of the transaction is a timed line");
}

#[test]
fn what_follows_a_parse_error_is_not_of_the_statement_that_had_its_cursor() {
    let failed = [
        "PARSE ERROR #2:len=15 dep=0 uid=5 oct=3 lid=5 tim=1100 err=942\nselect * from x\n",
        &wait(2, "SQL*Net message from client", 100, 1300),
        "CLOSE #2:c=0,e=5,dep=0,type=1,tim=1400\n",
    ]
    .concat();
    let before = [declare(2, 0, 11, "select 1 from dual"), line("EXEC", 2, 0, (10, 100), 1000)].concat();
    let profile = one(&[&*before, &*failed].concat());
    assert_eq!(statement(&profile, "11").between, micros(0));
    assert_eq!(statement(&profile, "parse-error-1").between, micros(100));
    let profile = one(&failed);
    assert_eq!(problem(&profile, ProblemKind::UnknownCursor), None);
    assert_eq!(statement(&profile, "parse-error-0").between, micros(100));
}

#[test]
fn the_waits_of_a_parse_that_failed_are_of_its_text_whatever_had_its_number() {
    let failed = [
        &*wait(2, "library cache lock", 700, 1900),
        "PARSE ERROR #2:len=15 dep=0 uid=5 oct=3 lid=5 tim=2000 err=942\nselect * from x\n",
        "CLOSE #2:c=0,e=5,dep=0,type=1,tim=2100\n",
    ]
    .concat();
    let before = [
        &*declare(2, 0, 11, "select 1 from dual"),
        &line("EXEC", 2, 0, (10, 100), 1000),
        &wait(2, "SQL*Net more data to client", 50, 1050),
        &wait(2, "SQL*Net message from client", 100, 1150),
    ]
    .concat();
    let profile = one(&[&*before, &*failed].concat());
    assert_eq!(statement(&profile, "11").between, micros(150), "what waited before the client's message");
    assert_eq!(statement(&profile, "parse-error-1").between, micros(700));
    let profile = one(&failed);
    assert_eq!(problem(&profile, ProblemKind::UnknownCursor), None);
    assert_eq!(statement(&profile, "parse-error-0").between, micros(700));
    // Of two texts that fail one after the other, each has its own.
    let error =
        |number: u32| format!("PARSE ERROR #2:len=15 dep=0 uid=5 oct=3 lid=5 tim={number} err=942\nselect {number}\n");
    let twice =
        [wait(2, "library cache lock", 700, 1900), error(2000), wait(2, "library cache pin", 5, 2100), error(2200)];
    let profile = one(&twice.concat());
    let between = |id: &str| statement(&profile, id).between;
    let ids: Vec<&str> = profile.context.statements.iter().map(|one| one.id.as_str()).collect();
    let failed: Vec<&str> = ids.into_iter().filter(|id| id.starts_with("parse-error")).collect();
    assert_eq!(failed.iter().map(|id| between(id)).collect::<Vec<_>>(), [700, 5].map(micros));
}

#[test]
fn an_error_under_a_number_that_no_call_has_is_that_of_the_call_before_it() {
    let text = [
        &*declare(4_577_284_448, 0, 11, "insert into t values (1)"),
        &line("EXEC", 4_577_284_448, 0, (10, 100), 1000),
        "ERROR #3:err=1 tim=1017\n",
    ]
    .concat();
    let profile = one(&text);
    assert_eq!(problem(&profile, ProblemKind::UnknownCursor), None);
    assert_eq!(statement(&profile, "11").errors[&Some(1)], 1);
    // Ahead of all calls, the number alone says which cursor it was.
    let profile = one("ERROR #3:err=1 tim=1017\n");
    assert_eq!(statement(&profile, "undeclared-1").errors[&Some(1)], 1);
}

#[test]
fn no_interval_reaches_over_a_clock_that_went_back() {
    let text = [
        &*line("EXEC", 1, 1, (10, 100), 90_000_000),
        &wait(2, "db file sequential read", 50, 90_000_100),
        &wait(2, "SQL*Net message from client", 50, 90_000_200),
        &line("EXEC", 2, 0, (10, 300), 5_000),
        &line("EXEC", 2, 0, (10, 300), 6_000),
    ]
    .concat();
    let profile = one(&text);
    assert_eq!(profile.whole.interruptions, 1);
    assert_eq!(profile.whole.interval, micros(300 + 1300));
    assert_eq!(profile.whole.orphans, 1, "no child from before the interruption");
    assert_eq!(problem(&profile, ProblemKind::ClockWentBack).expect("known").count, 1);
    assert_eq!(event(&profile, "db file sequential read").inside, micros(50), "by its name");
    assert_eq!(problem(&profile, ProblemKind::PlacedByName).expect("known").count, 2);
    let usual = [line("EXEC", 1, 0, (1, 10), 1_000_000), line("EXEC", 1, 0, (1, 10), 999_900)].concat();
    assert_eq!(one(&usual).whole.interruptions, 0, "a little disorder is usual");
}

#[test]
fn numbers_that_would_overflow_a_sum_are_refused_with_a_word() {
    let text = [
        &*line("EXEC", 1, 0, (10, 100), 1000),
        &line("EXEC", 1, 0, (10, i64::MAX), 1100),
        &line("EXEC", 1, 0, (10, 9_000_000_000_000_000), 1200),
        &line("EXEC", 1, 0, (10, 9_000_000_000_000_000), 1300),
        &line("EXEC", 1, 0, (10, 100), i64::MAX),
        &wait(1, "db file sequential read", i64::MAX / 2, 1500),
        &format!("FETCH #1:c=1,e=1,p={0},cr={0},cu={0},mis=0,r={0},dep=0,og=1,tim=1600\n", u64::MAX / 2),
        "STAT #1 id=1 cnt=18446744073709551615 pid=0 pos=1 obj=0 op='TABLE ACCESS FULL T (cr=1 pr=1 pw=0 time=1 us)'\n",
        &line("EXEC", 1, 0, (10, 100), 2000),
    ]
    .concat();
    let profile = one(&text);
    assert_eq!(call(&profile, "EXEC", false).calls, 3, "two ordinary ones, and one of 285 years");
    let refused = problem(&profile, ProblemKind::TooLarge).expect("known");
    assert!(refused.count >= 5 && refused.first_offset > 0, "{refused:?}");
}

#[test]
fn elapsed_times_below_zero_are_added_as_they_stand_and_said() {
    let profile = one(&[line("EXEC", 1, 0, (10, -500), 1000), line("EXEC", 1, 0, (10, 100), 1200)].concat());
    assert_eq!(profile.whole.response_time, micros(-400));
    assert_eq!(problem(&profile, ProblemKind::NegativeElapsed).expect("known").count, 1);
}

#[test]
fn a_session_of_one_call_below_zero_is_not_said_to_have_a_number_too_large() {
    let profile = one(&line("EXEC", 1, 0, (10, -500), 1000));
    assert_eq!((profile.whole.response_time, profile.whole.interval), (micros(-500), Ticks::ZERO));
    assert_eq!(problem(&profile, ProblemKind::NegativeElapsed).expect("known").count, 1);
    assert_eq!([ProblemKind::TooLarge, ProblemKind::TimeTooLarge].map(|kind| problem(&profile, kind)), [None, None]);
}

#[test]
fn waits_of_a_parse_before_its_declaration_are_the_parsed_statements() {
    let text = [
        &*declare(1, 0, 11, "select 1 from dual"),
        &line("EXEC", 1, 0, (10, 100), 1000),
        &wait(1, "SQL*Net message from client", 100, 1200),
        &wait(1, "library cache lock", 100, 1500),
        &declare(1, 0, 22, "select 2 from dual"),
        &line("PARSE", 1, 0, (10, 200), 1600),
    ]
    .concat();
    let profile = one(&text);
    assert_eq!(statement(&profile, "22").inside, micros(100));
    let before = statement(&profile, "11");
    assert_eq!((before.inside, before.between), (Ticks::ZERO, micros(100)), "the wait between calls was the old one's");
}

#[test]
fn more_waits_than_are_kept_are_placed_by_name_and_said() {
    let mut text = declare(1, 0, 11, "select 1 from dual");
    let waits = 600_000;
    for number in 0..waits {
        text += &wait(1, "db file sequential read", 5, 1000 + 10 * number);
    }
    let last = 1000 + 10 * waits;
    text += &line("FETCH", 1, 0, (10, last), last);
    let profile = one(&text);
    let reads = event(&profile, "db file sequential read");
    assert_eq!((reads.inside_count, reads.between_count), (600_000, 0));
    let placed = problem(&profile, ProblemKind::PlacedByName).expect("known").count;
    assert!((1..600_000).contains(&placed), "{placed}");
    let inside = statement(&profile, "11").inside;
    assert_eq!(inside, micros(5 * waits));
}

#[test]
fn attributes_belong_to_the_session_whichever_is_written_first() {
    let text = [
        // 10g writes the session last, 11g first.
        "*** ACTION NAME:(load) 2020-02-02 02:02:02.000\n*** MODULE NAME:(batch) 2020-02-02 02:02:02.000\n",
        "*** SESSION ID:(1.1) 2020-02-02 02:02:02.000\n",
        &*line("EXEC", 1, 0, (10, 100), 1000),
        "*** SESSION ID:(2.2) 2020-02-02 02:02:02.000\n*** MODULE NAME:(web) 2020-02-02 02:02:02.000\n",
        &line("EXEC", 1, 0, (20, 200), 2000),
        "*** SESSION ID:(1.1) 2020-02-02 02:02:02.000\n",
        &line("EXEC", 1, 0, (30, 300), 3000),
        "*** 2020-02-02T02:02:02.000000+00:00 (PDB1(3))\n*** CONTAINER ID:(3) 2020-02-02T02:02:02.000000+00:00\n",
        &line("EXEC", 1, 0, (40, 400), 4000),
    ]
    .concat();
    let profile = one(&text);
    let scopes: Vec<_> = profile
        .scopes
        .iter()
        .map(|(scope, sums)| {
            let scope = &profile.context.scopes[scope.0 as usize];
            (&*scope.module, &*scope.action, &*scope.container, sums.own.cpu.expect("known").micros())
        })
        .collect();
    assert_eq!(
        scopes,
        [("batch", "load", "", 40.0), ("web", "", "", 20.0), ("batch", "load", "PDB1", 40.0)],
        "by first appearance"
    );
}

#[test]
fn marks_of_a_file_that_was_limited_or_removed_are_said() {
    let text = [
        &*line("EXEC", 1, 0, (10, 100), 1000),
        "*** TRACE FILE RECREATED AFTER BEING REMOVED ***\n",
        &line("EXEC", 1, 0, (10, 100), 2000),
        "*** DUMP FILE SIZE IS LIMITED TO 10485760 BYTES ***\n",
    ]
    .concat();
    let profile = one(&text);
    assert!(problem(&profile, ProblemKind::SizeLimit).is_some());
    assert!(problem(&profile, ProblemKind::Recreated).is_some());
    assert!(!profile.whole.waits_are_traced, "and no wait says that the waits were not traced");
}

#[test]
fn a_clock_that_steps_back_and_returns_makes_the_interval_no_longer() {
    let read = |tim| wait(1, "db file sequential read", 1_000, tim);
    let whole = |text: &[String]| one(&text.concat()).whole;
    let (begin, end) = (1_000_000_000, 1_012_660_000);
    let plain = whole(&[read(begin), read(end)]).interval;
    for stray in [400_000_000, 1_605_000_000] {
        let stepped = whole(&[read(begin), read(begin + 5_000_000), read(stray), read(begin + 5_010_000), read(end)]);
        assert_eq!((stepped.interval, plain), (plain, micros(12_661_000)), "{stray}");
        assert_eq!(stepped.waits, micros(5_000), "{stray}");
    }
}

#[test]
fn lines_within_a_bind_value_are_said_to_have_been_counted() {
    let bind = |value: &str| format!("BINDS #1:\n Bind#0\n  oacdty=01 mxl=32\n  value=\"{value}\"\n");
    let call = line("EXEC", 1, 0, (10, 20), 5_000_000);
    let declared = declare(1, 0, 7, "select :1 from dual");
    let clean = one(&[&*declared, &bind("a\nb"), &call].concat());
    assert!(problem(&clean, ProblemKind::RecordInValue).is_none());
    let read = wait(1, "db file sequential read", 61, 4_000_000);
    let taken = one(&[&*declared, &bind(&format!("a\n{read}b")), &call].concat());
    assert_eq!(problem(&taken, ProblemKind::RecordInValue).expect("known").count, 1);
}

#[test]
fn long_waits_for_the_client_are_told_apart_from_short_ones() {
    let text = [
        &*wait(1, "SQL*Net message from client", 999_999, 2_000_000),
        &wait(1, "SQL*Net message from client", 1_000_000, 4_000_000),
        &wait(1, "SQL*Net message to client", 5_000_000, 10_000_000),
    ]
    .concat();
    let think = one(&text).whole.think_time;
    let count: u64 = think.values().map(|one| one.count).sum();
    let total: Ticks = think.values().map(|one| one.total).sum();
    assert_eq!((count, total), (1, micros(1_000_000)));
}

#[test]
fn plan_lines_keep_their_own_time_under_their_statement() {
    let text = [
        &*declare(1, 0, 11, "select 1 from dual"),
        &line("EXEC", 1, 0, (10, 100), 1000),
        "STAT #1 id=1 cnt=1 pid=0 pos=1 obj=0 op='SORT AGGREGATE (cr=9 pr=3 pw=0 time=500 us)'\n",
        "STAT #1 id=2 cnt=90 pid=1 pos=1 obj=77 op='TABLE ACCESS FULL T (cr=9 pr=3 pw=0 time=420 us)'\n",
    ]
    .concat();
    let profile = one(&text);
    let plans = &statement(&profile, "11").plans;
    assert_eq!(plans.len(), 1);
    let own: Vec<_> = plans[0].own().iter().map(|own| (own.expect("known").time, own.expect("known").gets)).collect();
    assert_eq!(own, [(micros(80), 0), (micros(420), 9)]);
    assert_eq!((plans[0].lines[1].object, &*plans[0].lines[1].operation), (77, "TABLE ACCESS FULL T"));
}

#[test]
fn the_unit_is_found_by_slope_and_by_sleeps_where_the_clock_has_no_epoch() {
    let stamped = |units: i64| {
        [
            "*** 2020-02-02 02:02:00.000\n",
            &*line("EXEC", 1, 0, (1, 10), 5_000_000),
            "*** 2020-02-02 02:02:10.005\n",
            &line("EXEC", 1, 0, (1, 10), 5_000_000 + units),
        ]
        .concat()
    };
    let decide = |text: &str| {
        let mut probe = TimeScaleProbe::default();
        probe.batch(&crate::support::scan(text.as_bytes()));
        probe.decide()
    };
    assert_eq!(decide(&stamped(10_000_000)).calls, Unit::Microsecond);
    let shifted = decide(&stamped(9_765_625));
    assert_eq!(shifted.calls, Unit::Shifted);
    assert!(matches!(shifted.evidence, Evidence::Slope { .. }), "{shifted:?}");
    assert_eq!(decide(&stamped(7_000_000)).evidence, Evidence::Assumed, "a hole in the trace is no unit");
    let sleeps: String = (1..4)
        .map(|number| {
            let tim = number * 2_000_000;
            format!("WAIT #1: nam='PL/SQL lock timer' ela= 977052 duration=100 p2=0 p3=0 obj#=-1 tim={tim}\n")
        })
        .collect();
    let slept = decide(&sleeps);
    assert!(matches!(slept.evidence, Evidence::LockTimer { waits: 3, .. }) && slept.waits == Unit::Shifted);
    assert_eq!(decide(&sleeps.replace("977052", "1000077")).calls, Unit::Microsecond);
}

#[test]
fn a_file_whose_waits_alone_are_scaled_is_found() {
    // 2020-02-02 02:02:00 as if it were UTC, in microseconds.
    let epoch = 1_580_608_920_000_000_i64;
    let scaled = |micros: i64| (micros as f64 / 1.024) as i64;
    let text = [
        "*** 2020-02-02 02:02:00.000\n",
        &*line("EXEC", 1, 0, (1, 10), epoch),
        "*** 2020-02-02 02:02:05.000\n",
        &wait(1, "SQL*Net message from client", 4_000_000, scaled(epoch + 5_000_000)),
        "*** 2020-02-02 02:02:05.100\n",
        &line("EXEC", 1, 0, (1, 10), epoch + 5_100_000),
    ]
    .concat();
    let mut probe = TimeScaleProbe::default();
    probe.batch(&crate::support::scan(text.as_bytes()));
    let scale = probe.decide();
    assert_eq!((scale.calls, scale.waits), (Unit::Microsecond, Unit::Shifted), "{scale:?}");
    let profile = crate::support::profile(&[text.as_bytes()]);
    assert_eq!(profile.whole.interruptions, 0, "in one unit the clock would jump at every line");
    assert_eq!(profile.whole.interval, micros(5_100_010));
}

#[test]
fn nothing_and_no_trace_give_an_empty_profile() {
    for text in ["", "\n\n", "not a trace\n", "\0\u{1}\u{2}", "*** SESSION ID:(1.1) 2020-02-02 02:02:02.000\n"] {
        let profile = one(text);
        assert!(profile.sessions.is_empty() && profile.statements.is_empty(), "{text:?}");
        assert_eq!(profile.whole.interval, Ticks::ZERO);
    }
}

/// The beginning of a file of a process.
fn preamble(process: u32) -> String {
    format!(
        "Trace file /u/x.trc\nOracle Database 12c Release 12.2.0.1.0 - 64bit Production\nNode name:\thost\n\
         Instance name: one\nUnix process pid: {process}, image: oracle@host\n\n*** SESSION ID:(7.9) 2026-11-22 \
         10:00:00.000\n"
    )
}

#[test]
fn a_trace_cut_within_a_recursive_call_counts_the_call_once() {
    let first = declare(1, 0, 11, "begin p; end;")
        + &declare(2, 1, 12, "select 1 from t")
        + &line("EXEC", 2, 1, (4_000, 5_000), 2_005_000);
    let second = line("EXEC", 2, 1, (3_000, 4_000), 2_009_000) + &line("EXEC", 1, 0, (10_000, 12_000), 2_011_000);
    let whole = one(&(preamble(5) + &first + &second));
    let split = |process: u32, second: &str| {
        crate::support::profile_in(US, &[(preamble(5) + &first).as_bytes(), (preamble(process) + second).as_bytes()])
    };
    let parts = split(5, &second);
    assert_eq!((parts.whole.cpu, parts.whole.interval), (whole.whole.cpu, whole.whole.interval));
    assert_eq!((parts.whole.cpu, parts.whole.orphans), (micros(10_000), 0));
    assert_eq!(parts.sessions.len(), 1);
    let bare = crate::support::profile_in(US, &[(preamble(5) + &first).as_bytes(), second.as_bytes()]);
    assert_eq!((bare.whole.cpu, bare.sessions.len()), (micros(10_000), 1), "cut without a second preamble");
    assert_eq!(split(6, &second).sessions.len(), 2, "another process is another session");
    let days_later = line("EXEC", 1, 0, (10_000, 12_000), 99_002_011_000);
    assert_eq!(split(5, &days_later).sessions.len(), 2, "its clock does not go on");
    assert_eq!(split(5, &line("EXEC", 2, 1, (4_000, 5_000), 2_004_000)).sessions.len(), 2, "it is the same time again");
}

#[test]
fn a_cursor_of_which_a_file_has_only_a_last_wait_is_not_said_to_stand_in_the_next_file() {
    let call = declare(1, 0, 11, "select 1 from dual") + &line("EXEC", 1, 0, (10, 20), 1_000_000);
    let first = preamble(5) + &call + &wait(8, "db file sequential read", 10, 1_000_100);
    let profile = crate::support::profile_in(US, &[first.as_bytes(), (preamble(6) + &call).as_bytes()]);
    let unknown = problem(&profile, ProblemKind::UnknownCursor).map(|problem| (problem.count, problem.first_file));
    assert_eq!(unknown, Some((1, 0)));
}

#[test]
fn a_container_has_its_name_in_all_files_of_the_instance() {
    let call = |tim: i64| line("EXEC", 1, 0, (10, 20), tim);
    let first = preamble(5) + "*** 2026-11-22T10:00:00.000000+00:00 (SHOPPDB(8))\n" + &call(1_000_000);
    let numbered = "*** CONTAINER ID:(8) 2026-11-22 10:00:01.000\n";
    let containers = |instance: &str| {
        let second = preamble(6).replace("name: one", instance) + numbered + &call(2_000_000);
        let profile = crate::support::profile_in(US, &[first.as_bytes(), second.as_bytes()]);
        let names = profile.scopes.keys().map(|index| profile.context.scopes[index.0 as usize].container.clone());
        names.collect::<std::collections::BTreeSet<String>>().into_iter().collect::<Vec<String>>()
    };
    assert_eq!(containers("name: one"), ["SHOPPDB"]);
    assert_eq!(containers("name: two"), ["8", "SHOPPDB"], "another instance has containers of its own");
}

#[test]
fn the_line_that_the_size_limit_cut_is_not_believed_where_the_mark_stands_on_it() {
    let sound = line("EXEC", 1, 0, (10, 20), 1_000_000);
    for cut in
        ["WAIT #1: nam='db file sequential read' ela= 3112", "EXEC #1:c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1"]
    {
        let profile = one(&format!("{sound}{cut}*** DUMP FILE SIZE IS LIMITED TO 700 BYTES ***\n\n"));
        assert!(problem(&profile, ProblemKind::SizeLimit).is_some(), "{cut}");
        assert_eq!((call(&profile, "EXEC", false).calls, profile.whole.waits), (1, Ticks::ZERO), "{cut}");
    }
}
