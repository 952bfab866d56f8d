//! What is planted on a real server is found there, the profile closes, and nothing stays behind: against Debian's
//! PostgreSQL, in folders of their own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use live::{Chosen, Settings, Watch};
use measure::wait_class::Class;
use profile::event::{EventIndex, Ticks};
use profile::ingest::Ingested;
use profile::observe::collector::THINK_TIME;
use profile::observe::instruments::Instruments;
use profile::tables::class_sums::class_sums;
use server::{Address, ServerError};
use trial::Trial;

const SETTINGS: Settings = Settings {
    rate: Some(50.0),
    reads_memory: true,
    traces_reads: true,
    wall_clock: 1_795_257_953_000_000,
    think_time: THINK_TIME,
    seed: 7,
};

fn open(url: &str) -> Result<Watch, ServerError> {
    Watch::open(&Address::parse(url).unwrap(), SETTINGS, Instruments::default(), Arc::default())
}

/// Watches a server for so long.
fn watched(url: &str, seconds: f64) -> Ingested {
    let mut watch = open(url).unwrap();
    watch.run(Duration::from_secs_f64(seconds), &mut |_| ControlFlow::Continue(()));
    watch.finish(None).0
}

/// A session that runs statements again and again until it is dropped.
struct Busy {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Busy {
    fn on(trial: &Trial, statement: &'static str) -> Busy {
        let end = Arc::new(AtomicBool::new(false));
        let (mut client, is_over) = (trial.client(), Arc::clone(&end));
        let thread = thread::spawn(move || {
            // A server that is killed ends it too.
            while !is_over.load(Ordering::Relaxed) && client.batch_execute(statement).is_ok() {}
        });
        Busy { end, thread: Some(thread) }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

fn seconds(time: Ticks) -> f64 {
    time.micros() / 1e6
}

fn class(ingested: &Ingested, class: Class) -> f64 {
    let classes = class_sums(&ingested.profile.whole, &ingested.profile.context);
    classes.get(&class).map_or(0.0, |sums| seconds(sums.total))
}

fn said(ingested: &Ingested, id: &str) -> Option<String> {
    ingested.findings.iter().find(|finding| finding.id == id).map(|finding| finding.message.clone())
}

/// The texts of the statements, most time first.
fn ranked(ingested: &Ingested) -> Vec<(&str, f64)> {
    let profile = &ingested.profile;
    let mut ranked: Vec<(&str, f64)> = profile
        .statements
        .iter()
        .map(|one| {
            let served = one.response_time() - one.think_time.total - one.idle;
            (profile.context.statement(one.statement).unwrap().text.as_str(), seconds(served))
        })
        .collect();
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1));
    ranked
}

/// A statement of some 20 ms of processor time, and another of a tenth of it.
const HEAVY: &str = "SELECT sum(sqrt(n)) FROM generate_series(1, 100000) AS heavy(n)";
const LIGHT: &str = "SELECT sum(sqrt(n)) FROM generate_series(1, 2000) AS light(n); SELECT pg_sleep(0.03)";

#[test]
fn a_heavy_statement_a_blocker_a_sleep_and_an_open_transaction_are_found_in_order() {
    let Some(trial) = Trial::start(&["compute_query_id=on"]) else { return };
    trial.run("CREATE TABLE stock AS SELECT 1 AS item, 10 AS amount");
    let mut holder = trial.client();
    holder.batch_execute("BEGIN; UPDATE stock SET amount = 9").unwrap();
    let mut waiter = trial.client();
    let waiting = thread::spawn(move || waiter.batch_execute("UPDATE stock SET amount = 8"));
    let (heavy, light) = (Busy::on(&trial, HEAVY), Busy::on(&trial, LIGHT));
    let mut open = trial.client();
    open.batch_execute("BEGIN; SELECT 'left open'").unwrap();
    let found = watched(&trial.url(), 4.0);
    drop((heavy, light));
    holder.batch_execute("COMMIT").unwrap();
    waiting.join().unwrap().unwrap();

    let whole = &found.profile.whole;
    assert_eq!(whole.interval, whole.cpu + whole.waits + whole.unaccounted_within + whole.unaccounted_between);
    let runs = class(&found, Class::Cpu) + class(&found, Class::RunQueue);
    let locked = class(&found, Class::Application);
    assert!((3.4..4.6).contains(&locked), "{locked} s of locks");
    assert!((3.0..5.0).contains(&runs), "{runs} s of CPU");
    let slept = class(&found, Class::Idle);
    assert!((1.5..4.2).contains(&slept), "{slept} s of pg_sleep");
    let thought = class(&found, Class::ThinkTime);
    assert!(thought > 6.0, "{thought} s of think time: two sessions keep transactions open");
    let first: Vec<&str> = ranked(&found).iter().map(|(text, _)| *text).filter(|text| !text.contains("open")).collect();
    let place = |part: &str| first.iter().position(|text| text.contains(part)).unwrap_or(99);
    assert!(place("heavy") < place("light") && place("amount = ") < place("light"), "{first:?}");
    let tree = &found.profile.sampled.as_ref().unwrap().blockers;
    assert_eq!((tree.len(), tree[0].state.as_str(), tree[0].level, tree[1].level), (2, "idle in transaction", 0, 1));
    assert!(seconds(tree[0].time) > 3.0 && tree[1].event == "Lock:transactionid", "{tree:?}");
    assert!(said(&found, "answer-blockers").unwrap().contains("idle in transaction"));
    assert!(said(&found, "idle-in-transaction").is_some());
}

#[test]
fn the_sampled_time_of_sessions_agrees_with_the_servers_account_within_its_stated_error() {
    let Some(trial) = Trial::start(&[]) else { return };
    // The server is late with the time of sessions that touch no table.
    let heavy = "SELECT count(sqrt(n)) FROM pg_class, generate_series(1, 200) AS n";
    let light = "SELECT count(*) FROM pg_class, pg_sleep(0.01)";
    let sleep = "SELECT count(*) FROM pg_class, pg_sleep(0.2)";
    let _busy = [heavy, light, sleep].map(|statement| Busy::on(&trial, statement));
    thread::sleep(Duration::from_millis(500));
    let found = watched(&trial.url(), 5.0);
    let message = said(&found, "db-time-agrees");
    assert!(message.is_some(), "{:?}", said(&found, "db-time-differs"));
    let sampled = found.profile.sampled.as_ref().unwrap();
    let (samples, server) = (seconds(sampled.db_time), seconds(sampled.db_time_of_server.unwrap()));
    assert!((server / samples - 1.0).abs() < 0.1, "{samples} s by samples, {server} s by the server");
    assert!(sampled.own.session.unwrap() < 0.2 && sampled.own.cpu.unwrap() < 0.5, "{:?}", sampled.own);
}

#[test]
fn reads_are_those_that_the_server_counts_where_it_counts_them() {
    let settings = ["shared_preload_libraries=pg_stat_statements", "shared_buffers=1MB"];
    let Some(trial) = Trial::start(&settings) else { return };
    trial.run(
        "CREATE EXTENSION pg_stat_statements; CREATE TABLE wide AS SELECT n, repeat('x', 400) AS note FROM \
               generate_series(1, 20000) AS n; CREATE TABLE small AS SELECT 1 AS n",
    );
    let busy = [Busy::on(&trial, "SELECT count(*) FROM wide"), Busy::on(&trial, "SELECT n FROM small")];
    let found = watched(&trial.url(), 3.0);
    drop(busy);
    let sampled = found.profile.sampled.as_ref().unwrap();
    let counters = sampled.counters.as_ref().unwrap();
    let counted = |text: &str| {
        let of = |index| found.profile.context.statement(index).is_some_and(|known| known.text.contains(text));
        counters.iter().find(|(index, _)| of(**index)).map(|(_, counted)| counted.clone()).unwrap()
    };
    let (wide, small) = (counted("FROM wide"), counted("FROM small"));
    assert!(wide.reads > 500 * wide.executions && small.reads < 100, "{wide:?} {small:?}");
    assert!(small.executions > wide.executions, "executions that no sample met are counted: {small:?} {wide:?}");
    let own = found.profile.context.statements.iter().filter(|known| known.text.contains("readpath_sample"));
    assert_eq!(own.count(), 0, "our own statement is not in the profile");
}

#[test]
fn a_role_that_may_not_see_the_others_says_so_and_their_time_is_unaccounted_for() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE ROLE shop LOGIN");
    let busy = Busy::on(&trial, HEAVY);
    thread::sleep(Duration::from_millis(300));
    let found = watched(&trial.url_of("shop"), 4.0);
    drop(busy);
    let hidden = said(&found, "hidden-sessions").unwrap();
    assert!(hidden.contains("GRANT pg_read_all_stats"), "{hidden}");
    let missed = seconds(found.profile.whole.unaccounted_between);
    assert!(missed > 2.0, "{missed} s of sessions that are not seen");
    assert!(said(&found, "db-time-differs").is_some());
    // With the right they are seen.
    trial.run("GRANT pg_read_all_stats TO shop");
    let busy = Busy::on(&trial, HEAVY);
    assert_eq!(said(&watched(&trial.url_of("shop"), 1.0), "hidden-sessions"), None);
    drop(busy);
}

#[test]
fn an_account_that_is_behind_makes_no_time_less() {
    let Some(trial) = Trial::start(&[]) else { return };
    let busy = [Busy::on(&trial, HEAVY), Busy::on(&trial, "SELECT pg_sleep(0.1)")];
    let found = watched(&trial.url(), 5.0);
    drop(busy);
    let whole = &found.profile.whole;
    assert!(seconds(whole.unaccounted_between) > -2.5, "{:?}", said(&found, "db-time-differs"));
    assert!(seconds(whole.interval) > 7.0, "{} s of two sessions", seconds(whole.interval));
}

#[test]
fn a_restart_in_the_middle_costs_its_time_and_nothing_else() {
    let Some(mut trial) = Trial::start(&[]) else { return };
    let busy = Busy::on(&trial, HEAVY);
    let url = trial.url();
    let watching = thread::spawn(move || watched(&url, 8.0));
    thread::sleep(Duration::from_millis(1_500));
    trial.kill();
    drop(busy);
    trial.start_again();
    let _busy = Busy::on(&trial, HEAVY);
    let found = watching.join().unwrap();
    assert!(said(&found, "server-went-away").is_some(), "{:?}", found.findings);
    assert_eq!(said(&found, "sampling-ended"), None);
    let account = said(&found, "no-db-time").unwrap();
    assert!(account.contains("restarted"), "{account}");
    let sampled = found.profile.sampled.as_ref().unwrap();
    let (time, lost) = (seconds(sampled.time), seconds(sampled.lost));
    assert!(lost > 0.0 && (6.5..9.0).contains(&(time + lost)), "{time} s sampled, {lost} s lost");
    let runs = class(&found, Class::Cpu) + class(&found, Class::RunQueue);
    assert!(runs > 2.0, "{runs} s before and after");
}

#[test]
fn a_server_that_does_not_come_back_leaves_what_was_sampled() {
    let Some(mut trial) = Trial::start(&[]) else { return };
    let busy = Busy::on(&trial, HEAVY);
    let url = trial.url();
    let watching = thread::spawn(move || watched(&url, 4.0));
    thread::sleep(Duration::from_secs(2));
    trial.kill();
    drop(busy);
    let found = watching.join().unwrap();
    assert!(said(&found, "sampling-ended").unwrap().contains("did not come back"));
    let runs = class(&found, Class::Cpu) + class(&found, Class::RunQueue);
    assert!(runs > 1.0, "{runs} s of CPU");
}

#[test]
fn a_wish_to_stop_ends_the_watch_soon_and_keeps_what_it_saw() {
    let Some(trial) = Trial::start(&[]) else { return };
    let _busy = Busy::on(&trial, HEAVY);
    let stop = Arc::new(AtomicBool::new(false));
    let address = Address::parse(&trial.url()).unwrap();
    let mut watch = Watch::open(&address, SETTINGS, Instruments::default(), Arc::clone(&stop)).unwrap();
    let raised = thread::spawn(move || {
        thread::sleep(Duration::from_secs(1));
        stop.store(true, Ordering::Relaxed);
    });
    let begun = Instant::now();
    watch.run(Duration::from_secs(60), &mut |_| ControlFlow::Continue(()));
    let found = watch.finish(None).0;
    raised.join().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    assert!(found.profile.sampled.as_ref().unwrap().db_time_of_server.is_some(), "{:?}", found.findings);
    trial.wait_for("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'readpath'", "0");
}

#[test]
fn nothing_is_written_and_each_statement_has_a_limit() {
    let Some(trial) = Trial::start(&["log_statement=all"]) else { return };
    let mut watch = open(&trial.url()).unwrap();
    let mut settings = None;
    watch.run(Duration::from_secs(1), &mut |watch| {
        if watch.looks() == 20 {
            settings = Some(trial.value("SELECT max(application_name) FROM pg_stat_activity"));
        }
        ControlFlow::Continue(())
    });
    let found = watch.finish(None).0;
    assert_eq!(settings.as_deref(), Some("readpath"));
    assert!(said(&found, "logs-every-sample").is_some());
    let log = trial.log();
    let sent = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert!(sent("default_transaction_read_only = 'on'") == 1 && sent("statement_timeout = '5000'") >= 1);
    // Memory is looked at without a statement.
    assert!((2..20).contains(&sent("EXECUTE readpath_sample")) && sent("DISCARD ALL") == 1, "{log}");
    assert_eq!(sent("statement: CREATE") + sent("statement: INSERT") + sent("statement: UPDATE"), 0);
}

/// Watches a server as these settings say.
fn watched_with(url: &str, settings: Settings) -> Ingested {
    let address = Address::parse(url).unwrap();
    let mut watch = Watch::open(&address, settings, Instruments::default(), Arc::default()).unwrap();
    watch.run(Duration::from_secs(3), &mut |_| ControlFlow::Continue(()));
    watch.finish(None).0
}

#[test]
fn memory_and_the_server_say_the_same_of_its_sessions_and_memory_says_it_more_often() {
    let Some(trial) = Trial::start(&["compute_query_id=on"]) else { return };
    let (heavy, light) = (Busy::on(&trial, HEAVY), Busy::on(&trial, LIGHT));
    let mut open = trial.client();
    open.batch_execute("BEGIN; SELECT 'left open'").unwrap();
    let asked = watched_with(&trial.url(), Settings { reads_memory: false, ..SETTINGS });
    let read = watched_with(&trial.url(), Settings { rate: None, ..SETTINGS });
    drop((heavy, light));
    let level = said(&read, "sampled-level").unwrap();
    assert!(level.contains("samples of the server's shared memory, "), "{level}");
    assert!(said(&asked, "sampled-level").unwrap().contains("samples of pg_stat_activity, "));
    // Other programs of the machine make a session wait for a processor, more at one time than at another.
    let runnable = |found: &Ingested| class(found, Class::Cpu) + class(found, Class::RunQueue);
    let of = |found: &Ingested| [runnable(found), class(found, Class::Idle), class(found, Class::ThinkTime)];
    for (asked, read) in of(&asked).into_iter().zip(of(&read)) {
        assert!((asked - read).abs() < 0.35 + 0.1 * asked, "{asked} s and {read} s");
    }
    let first = |found: &Ingested| ranked(found).first().map(|(text, _)| text.to_string());
    assert_eq!((first(&asked).as_deref(), first(&read).as_deref()), (Some(HEAVY), Some(HEAVY)));
    let looks = |found: &Ingested| found.profile.sampled.as_ref().unwrap().looks;
    assert!(looks(&read) > 4 * looks(&asked), "{} and {}", looks(&read), looks(&asked));
    let has = |name: &str| read.profile.context.events.iter().any(|event| event.name == name);
    assert!(has("Timeout:PgSleep") && !has("Timeout:#2"), "a wait that lasts has its name");
}

/// Waits of an event, and their times in ms.
fn waits(found: &Ingested, name: &str) -> (u64, f64) {
    let context = &found.profile.context;
    let of = |event: &EventIndex| context.event_name(*event) == name;
    let sums = found.profile.whole.events.iter().find(|(event, _)| of(event)).map(|(_, sums)| sums);
    sums.map_or((0, 0.0), |sums| (sums.count, sums.total.micros() / 1e3))
}

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test says why")]
fn every_wait_is_counted_with_its_true_length_and_the_whole_closes_by_itself() {
    let Some(trial) = Trial::start(&["compute_query_id=on"]) else { return };
    let sleeper = Busy::on(&trial, "SELECT pg_sleep(0.05)");
    let address = Address::parse(&trial.url()).unwrap();
    let mut watch = Watch::open(&address, SETTINGS, Instruments::default(), Arc::default()).unwrap();
    let watched = watch.run_exact(Chosen::All, Duration::from_secs(2), &mut |_| ControlFlow::Continue(()));
    drop(sleeper);
    if let Err(why) = watched {
        return println!("skipped: {why}");
    }
    let found = watch.finish(None).0;
    let (count, millis) = waits(&found, "Timeout:PgSleep");
    // Each sleeps for 50 ms; a busy machine wakes it late.
    assert!((8..=41).contains(&count), "{count} waits of {millis} ms");
    let mean = millis / count as f64;
    assert!((45.0..150.0).contains(&mean), "{mean} ms");
    let profile = &found.profile;
    let sampled = profile.sampled.as_ref().unwrap();
    assert!(sampled.is_exact && sampled.db_time_error == Ticks::ZERO);
    let whole = &profile.whole;
    assert_eq!(whole.interval, whole.cpu + whole.waits, "no time is missing");
    // Two stores for each wait; the next request may come before it is waited for.
    let change = sampled.own.change.unwrap();
    assert!(change.changes >= 2 * (count - 1) && change.lost == 0, "{change:?}");
    assert!((0.2..1000.0).contains(&change.micros), "a debug exception takes more than a store: {change:?}");
    let level = said(&found, "sampled-level").unwrap();
    assert!(level.starts_with("Made from every wait of ") && level.contains(" µs from its session"), "{level}");
    trial.wait_for("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'readpath'", "0");
}

#[test]
fn a_session_that_is_not_there_is_a_sentence() {
    let Some(trial) = Trial::start(&[]) else { return };
    let address = Address::parse(&trial.url()).unwrap();
    let mut watch = Watch::open(&address, SETTINGS, Instruments::default(), Arc::default()).unwrap();
    let chosen = Chosen::Processes(vec![1]);
    let why = watch.run_exact(chosen, Duration::from_secs(1), &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(why.contains("there is no such session") || why.contains("takes root"), "{why}");
}
