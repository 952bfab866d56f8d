//! The findings of a server alone, read on both sides of their conditions.

use std::cell::RefCell;

use measure::quantity::{counted, grouped, size_in_words, three_digits};
use measure::schema::subjects::findings as row;
use measure::{Finding, Nanos};
use server::space::FreeSpace;
use server::{Address, Limits, ServerFacts, Session, Statements};
use sides::proptest::option;
use sides::proptest::prelude::{Just, Strategy, any, prop_oneof};
use sides::proptest::sample::select;
use sides::{Reading, reading, says};
use sys::file::witness::Cached;
use sys::time::Clock;
use sys::valgrind::Simulated;

use super::catalogs::Catalogs;
use super::cold::{Emptying, Startup};
use super::cold_table::{absent_io_time, left_in_page_cache};
use super::displaced::Displaced;
use super::notes::{self, Notes, Shares};
use super::statement::Meter;
use super::{access_paths, calibration, logical_reads, nested_loops, round_trip};
use crate::access_paths::{AccessPath, CountedRows, Counting};
use crate::error::SubjectError;
use crate::logical_reads::{Access, Asked, Cell, LogicalReads, Pass, Table, Touch};

/// A session that records its statements and sends none.
fn session() -> Session {
    session_on("localhost")
}

fn session_on(host: &str) -> Session {
    let address = Address::parse(&format!("postgres://user@{host}/database")).unwrap();
    Session::rehearsal(&address, Limits::default(), Default::default(), (Statements::default(), 18)).unwrap()
}

#[test]
fn what_keeps_this_machine_busy_is_not_said_of_a_server_on_another_one() {
    let second = Nanos(1_000_000_000);
    let says_busy = |host: &str| {
        let mut notes = Notes::of(&session_on(host), Clock::calibrate());
        let busy = Some(Nanos(9 * second.0));
        notes.shares = Shares { elapsed: second, backend: second, own: Nanos::ZERO, busy };
        notes.close(None).findings.iter().any(|finding| finding.id == "machine-busy")
    };
    assert!(says_busy("localhost") && !says_busy("db.example"));
}

#[test]
fn quiet_looks_before_queries_are_timed_do_not_hide_others_that_work_meanwhile() {
    assert!(!notes::is_busy((100, 0), (100, 0)), "no look");
    assert!(!notes::is_busy((100, 0), (106, 1)));
    assert!(notes::is_busy((100, 0), (105, 1)));
    assert!(!notes::is_busy((100, 60), (110, 60)), "they worked before");
}

#[test]
fn catalogs_that_do_not_stay_are_not_to_be_made_smaller_by_an_option() {
    let mut catalogs = Catalogs::open(session(), None, Clock::calibrate()).unwrap();
    let table = catalogs.tables().unwrap().remove(0);
    let advice = catalogs.prepare(&table, &mut |_, _| {}).unwrap().sources.cache.advice;
    assert!(advice.contains("shared_buffers") && !advice.contains("--payload"), "{advice}");
}

/// What a server's rights and other users do to a run.
fn noticed() -> Vec<Reading> {
    let facts = session().facts().clone();
    let activity = move |reads_all_stats: &bool| {
        notes::absent_activity(&ServerFacts { reads_all_stats: *reads_all_stats, ..facts.clone() })
    };
    let activity = reading(row::ABSENT_ACTIVITY, any::<bool>(), activity, |reads_all_stats| {
        (!reads_all_stats).then(|| says!["because user may not see them: GRANT pg_read_all_stats TO \"user\" adds it."])
    });
    let space = |(is_known, needed): &(bool, u64)| {
        let free = if *is_known { FreeSpace::Known(1 << 40) } else { FreeSpace::Unknown("it is far away") };
        notes::unknown_space(&free, needed << 20, "--payload")
    };
    let space = reading(row::UNKNOWN_SPACE, (any::<bool>(), 1..100_u64), space, |(is_known, needed)| {
        let size = size_in_words(needed << 20);
        let takes = format!("takes up to {size} at one time, none of it in the write-ahead log; --payload");
        (!is_known).then(|| says!["is not known, because it is far away.", takes])
    });
    let left = reading(
        row::LEFTOVERS_REMOVED,
        0..3_u64,
        |tables| notes::leftovers_removed(*tables),
        |tables| match tables {
            0 => None,
            1 => Some(says!["had left 1 table on the server: it was removed."]),
            _ => Some(says![format!("had left {tables} tables on the server: they were removed.")]),
        },
    );
    let removed = |(is_removed, is_copy): &(bool, bool)| {
        let outcome = if *is_removed { Ok(()) } else { Err(SubjectError::Failed("it went away".into())) };
        notes::schema_left(&outcome, if *is_copy { "postgres:copy:/srv/x?dbname=shop" } else { "postgres://host/shop" })
    };
    let removed = reading(row::SCHEMA_LEFT, (any::<bool>(), any::<bool>()), removed, |(is_removed, is_copy)| {
        let remedy = match is_copy {
            true => "the next run of `readpath calibrate` on this copy removes it.",
            false => "run `readpath clean --on postgres://host/shop` when the server is back.",
        };
        (!is_removed).then(|| says![format!("removed (it went away): {remedy}")])
    });
    let busy = |(checks, busy, most): &(u64, u64, u64)| notes::server_busy((*checks, *busy.min(checks)), *most);
    let busy = reading(row::SERVER_BUSY, (1..3_u64, 0..3_u64, 1..9_u64), busy, |(checks, busy, most)| {
        let of = counted(*checks, "check", "checks");
        let said = format!("in {} of {of} between the measurements, up to {most} at once", busy.min(checks));
        (*busy > 0).then(|| says![said])
    });
    let table = [String::from("the table")];
    let hidden = move |(hidden, blocks): &(u64, u64)| notes::not_all_visible((*hidden.min(blocks), *blocks), &table);
    let hidden = reading(row::NOT_ALL_VISIBLE, (0..3_u64, 1..2000_u64), hidden, |(hidden, blocks)| {
        let of = counted(*blocks, "block", "blocks");
        (*hidden > 0).then(|| says![format!("{} of {of} of the table could not be", hidden.min(blocks))])
    });
    vec![activity, space, left, removed, busy, hidden]
}

#[test]
fn what_hides_the_rows_of_nine_tables_is_said_once() {
    let mut notes = notes::Notes::of(&session(), Clock::calibrate());
    (1..=9).for_each(|table| notes.note_hidden((7, 8), &format!("table {table}")));
    let found = notes.close(None).findings;
    let said: Vec<&Finding> = found.iter().filter(|finding| row::NOT_ALL_VISIBLE.made(finding)).collect();
    assert!(said.len() == 1 && said[0].message.starts_with("63 of 72 blocks of 9 tables could not be"), "{said:?}");
}

/// How costs were obtained and what shared the machine.
fn measured() -> Vec<Reading> {
    let account = Meter::open(&mut session()).unwrap();
    assert!(matches!(account, Meter::Account(_)), "a dry run assumes that backends are seen");
    let meter = move |is_seen: &bool| {
        notes::absent_backend_time(&if *is_seen { account.clone() } else { Meter::Explain("it is hidden".into()) })
    };
    let meter = reading(row::ABSENT_BACKEND_TIME, any::<bool>(), meter, |is_seen| {
        (!is_seen).then(|| says!["was not available, because it is hidden: costs are EXPLAIN's"])
    });
    // Of two seconds, in which the backend took one and this program a half.
    let shares = |(others, backend): &(Option<f64>, f64)| {
        let seconds = |seconds: f64| Nanos((seconds * 1e9) as u64);
        let busy = others.map(|others| seconds(2.0 * others + backend + 0.5));
        Shares { elapsed: seconds(2.0), backend: seconds(*backend), own: seconds(0.5), busy }.machine_busy()
    };
    let values = (option::weighted(0.9, 0.1..0.3), prop_oneof![1 => Just(0.0), 4 => Just(1.0)]);
    let shares = reading(row::MACHINE_BUSY, values, shares, |(others, backend)| {
        let others = others.filter(|others| *others > 0.2 && *backend > 0.0)?;
        Some(says![format!("Other processes kept {} processors of this machine busy", three_digits(others))])
    });
    let displaced = |(is_private, extension, before, after, made): &(bool, bool, u64, u64, u64)| {
        let begun = Displaced::begin(&mut session(), *is_private).unwrap()?;
        let extension = if *extension { begun.extension } else { Err("it has none".into()) };
        Some(Displaced { extension, before: *before }.finding(*after, made << 20, (16 << 20, 8192)))
    };
    let values = (any::<bool>(), any::<bool>(), 0..9_u64, 0..9_u64, 1..30_u64);
    let displaced = reading(row::DISPLACED, values, displaced, |(is_private, extension, before, after, made)| {
        let ours = *made.min(&16);
        let took = format!(
            "took up to {ours} MiB of the server's 16 MiB of shared buffers ({} %).",
            three_digits(ours as f64 / 0.16)
        );
        let [lost, was] = [before.saturating_sub(*after), *before].map(|blocks| size_in_words(blocks * 8192));
        let said = match (*extension, before > after) {
            (false, _) => " What they displaced there is not known, because it has none.".into(),
            (true, true) => format!(" {lost} of the {was} that others had there are gone (pg_buffercache)"),
            (true, false) => format!(" They displaced 0 bytes: all {was} of others are still there"),
        };
        (!is_private).then(|| says![format!("{took}{said}")])
    });
    vec![meter, shares, displaced]
}

/// Catalogs of a standby, of which a pass is a scan by one thread.
fn standby() -> Reading {
    let catalogs = RefCell::new(Catalogs::open(session(), None, Clock::calibrate()).unwrap());
    let find = move |(access, threads): &(Access, usize)| {
        let catalogs = &mut *catalogs.borrow_mut();
        let table: Table = catalogs.tables().unwrap().remove(0);
        catalogs.prepare(&table, &mut |_, _| {}).unwrap();
        let pass = Pass { access: *access, touch: Touch::Rows, threads: *threads, laps: 1, as_of: None };
        catalogs.count(&pass).unwrap().err()
    };
    let values = (select(vec![Access::FullScan, Access::Index]), 1..3_usize);
    reading(row::STANDBY, values, find, |(access, threads)| {
        let said = "postgres://user@localhost/database is a standby, on which no table can be made";
        ((*access, *threads) != (Access::FullScan, 1)).then(|| says![said])
    })
}

/// Tables beside the shared buffers, by each experiment.
fn buffers() -> Vec<Reading> {
    let reads = |payload: &u64| {
        let cells = vec![Cell { row_length: 250, columns: 5, payload: payload << 20 }];
        logical_reads::exceeding(&Asked { cells, ..Asked::default() }, 8192, 16 << 20)
    };
    // A row of 250 bytes takes some 290 with its head.
    let reads = reading(row::TABLE_EXCEEDS_BUFFERS, prop_oneof![1..13_u64, 17..40_u64], reads, |payload| {
        (*payload > 16)
            .then(|| says!["The table of 250 bytes in 5 columns takes ", " and the server's shared buffers 16 MiB: "])
    });
    let paths = reading(
        row::TABLE_EXCEEDS_BUFFERS,
        (1..9_u64, 1..2000_u64),
        |(rows, buffers)| access_paths::exceeding(rows * 10_000, buffers << 20),
        |(rows, buffers)| {
            let table = super::customers::Customers::table_bytes(rows * 10_000);
            let buffers = buffers << 20;
            let stays = buffers / 4 / super::customers::Customers::table_bytes(1);
            let advice = match stays {
                10_000.. => format!("--rows {stays} would stay."),
                _ => "No table stays that can be measured: set shared_buffers to at least".into(),
            };
            let sizes =
                format!("takes {} MiB and the server's shared buffers {}: ", table >> 20, size_in_words(buffers));
            (table > buffers / 4).then(|| says![sizes, advice])
        },
    );
    let constants = reading(
        row::TABLE_EXCEEDS_BUFFERS,
        (1..33_u64, 1..7_u64),
        |(payload, half)| calibration::exceeding(payload << 20, half << 21),
        |(payload, half)| {
            let within = (half << 19).max(1 << 20);
            (payload << 20 > within).then(|| {
                let sizes = format!("The payload takes {payload} MiB and the server's shared buffers {} MiB", half * 2);
                says![sizes, format!("were measured on a table of {}.", size_in_words(within))]
            })
        },
    );
    vec![reads, paths, constants]
}

/// How a server was started, and whether that came to something.
type Started = (Option<&'static str>, bool, bool);

fn started() -> impl Strategy<Value = Started> {
    (select(vec![None, Some("sync"), Some("worker"), Some("io_uring")]), any::<bool>(), any::<bool>())
}

fn startup(io_method: Option<&str>, direct: bool) -> Startup {
    Startup { io_method: io_method.map(String::from), direct }
}

/// Ways to start a server.
fn startups() -> Vec<Reading> {
    let absent = |(method, direct, starts): &Started| {
        startup(*method, *direct).absence(if *starts { Ok(()) } else { Err("FATAL: no".into()) }).err()
    };
    let absent = reading(row::ABSENT_IO_METHOD, started(), absent, |(method, direct, starts)| {
        let past = if *direct { " past the page cache" } else { "" };
        let with = method.map_or("debug_io_direct".into(), |method| format!("io_method {method}{past}"));
        (!starts).then(|| says![format!("The server does not start with {with}: FATAL: no. Its cases are absent.")])
    });
    let advice = |(method, direct, _): &Started| startup(*method, *direct).gathers_nothing("postgres 16.4");
    let advice = reading(row::SERVER_ADVICE, started(), advice, |(method, direct, _)| {
        (*direct && method.is_none())
            .then(|| says!["Past the page cache postgres 16.4 gathers nothing: before version 18"])
    });
    let lacking = |methods: &Vec<Option<&'static str>>| {
        nested_loops::absent_io_uring(&methods.iter().map(|method| startup(*method, false)).collect::<Vec<_>>())
    };
    let offered = vec![
        vec![None],
        vec![Some("worker")],
        vec![Some("worker"), Some("sync")],
        vec![Some("worker"), Some("sync"), Some("io_uring")],
    ];
    let lacking = reading(row::ABSENT_IO_URING, select(offered), lacking, |methods| {
        (methods.len() == 2).then(|| says!["programs do not offer io_method io_uring, because they were built"])
    });
    vec![absent, advice, lacking]
}

fn emptying() -> impl Strategy<Value = Emptying> {
    select(vec![
        Emptying::Private,
        Emptying::Relation("public".into()),
        Emptying::Buffers("public".into()),
        Emptying::Never("user is not a superuser".into()),
    ])
}

/// What stayed in caches.
fn caches() -> Vec<Reading> {
    let never = |emptying: &Emptying| matches!(emptying, Emptying::Never(_));
    let reason = "Shared buffers could not be emptied, because user is not a superuser";
    let kept = reading(row::PAGE_CACHE_NOT_EMPTIED, emptying(), nested_loops::not_emptied, move |emptying| {
        let said = "The table left shared buffers before each join. Blocks that are not in shared buffers may";
        (!never(emptying) && *emptying != Emptying::Private).then(|| says![said])
    });
    let joins = reading(row::BUFFERS_NOT_EMPTIED, emptying(), nested_loops::not_emptied, move |emptying| {
        never(emptying).then(|| says![format!("{reason}: each join took keys of its own instead")])
    });
    let trips = reading(row::BUFFERS_NOT_EMPTIED, emptying(), round_trip::not_emptied, move |emptying| {
        never(emptying).then(|| says![format!("{reason}, and no statement of a session does that")])
    });
    let left = |(pages, of): &(u64, u64)| [left_in_page_cache(Cached { pages: *pages, of: *of, source: "mincore" })];
    let values = || (0..30_u64, prop_oneof![1..3_u64, 1000..2000_u64]);
    let held = |pages: u64, of: u64| format!("held {} of {}", grouped(pages), counted(of, "page", "pages"));
    let warm = reading(row::PAGE_CACHE_KEPT, values(), left, move |(pages, of)| {
        (*pages as f64 > *of as f64 * 0.01)
            .then(|| says![format!("The page cache still {} of the server's", held(*pages, *of))])
    });
    let cold = reading(row::COLD, values(), left, move |(pages, of)| {
        (*pages as f64 <= *of as f64 * 0.01)
            .then(|| says![format!("which then {} at most (mincore).", held(*pages, *of))])
    });
    let refusals = (option::of(Just("permission denied")), 13..=18_u32);
    let timing = |(reason, major): &(Option<&'static str>, u32)| absent_io_time(*reason, (*major, "shop"));
    let timing = reading(row::ABSENT_IO_TIME, refusals, timing, |(reason, major)| {
        // The right to set a parameter cannot be granted before 15.
        let granted = "with GRANT SET ON PARAMETER track_io_timing TO shop.";
        let remedy = if *major < 15 { "with ALTER ROLE shop SET track_io_timing = on." } else { granted };
        reason.map(|reason| says![format!("and may not be set ({reason}): "), remedy])
    });
    let cold_run = reading(
        row::ABSENT_COLD,
        any::<bool>(),
        |is_private| calibration::absent_cold(*is_private),
        |is_private| {
            (!is_private).then(|| {
                says![
                    "No set of constants was measured cold, and no value of effective_io_concurrency",
                    "the caches of a given server are not emptied"
                ]
            })
        },
    );
    let libraries = reading(
        row::NOT_PRELOADED,
        select(vec!["", "citus,pg_stat_statements"]),
        |libraries| calibration::not_preloaded(libraries),
        |libraries| {
            (!libraries.is_empty()).then(|| {
                says!["its settings preload (citus,pg_stat_statements)", "these are not the plans of the original"]
            })
        },
    );
    vec![kept, joins, trips, warm, cold, timing, cold_run, libraries]
}

/// Counting instructions under valgrind: what it gave, or that it failed.
fn valgrind() -> [Reading; 2] {
    let values = || option::weighted(0.7, 0..3_u64);
    let find = |rows: &Option<u64>| -> Option<Finding> {
        let of =
            |rows| CountedRows { path: AccessPath::FullScan, rows, gets: 1, how: "", events: Simulated::default() };
        // None where no path was counted.
        let counted = rows.map(|rows| (rows > 0).then(|| of(rows)).into_iter().collect());
        let outcome = counted.ok_or(SubjectError::Failed("it ended with a signal".into()));
        let (finding, counting) = access_paths::counted_by_valgrind("postgres 18.6", outcome).unwrap();
        assert_eq!(matches!(counting, Counting::None), rows.is_none());
        finding
    };
    let seen = reading(row::VALGRIND_SERVER, values(), find, |rows| {
        let rows = rows.filter(|rows| *rows > 0)?;
        Some(says![format!("what {} of a larger table add", counted(rows, "row", "rows"))])
    });
    let absent = reading(row::ABSENT_VALGRIND_SERVER, values(), find, |rows| {
        rows.is_none().then(|| says!["of postgres 18.6 were not counted under valgrind: it ended with a signal."])
    });
    [seen, absent]
}

/// What is said of a server.
pub(crate) fn readings() -> Vec<Reading> {
    let all = [noticed(), measured(), vec![standby()], buffers(), startups(), caches(), valgrind().into()];
    all.into_iter().flatten().collect()
}
