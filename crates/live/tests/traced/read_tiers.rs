//! Which tier answered the reads of a real server: held against what the kernel counts of its processes and devices,
//! against Debian's PostgreSQL, in folders of their own.

use std::fs;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};
use std::thread;
use std::time::Duration;

use live::Chosen;
use measure::schema::tiers as schema;
use profile::event::EventIndex;
use profile::ingest::Ingested;
use profile::tables::read_tiers::{Purpose, ReadTier, Reader, ReaderRow, RequestSums};
use server::Address;
use sys::tracepoint::{FirstByte, Tracer, Wanted};
use trial::{TRIES, Trial};

use crate::traced_watch::{self, found_of_statement, of_statement, tiers};

/// Small buffers, so that the kernel has to be asked; all in one process, and by an index where there is one.
const SMALL: [&str; 6] = [
    "shared_buffers=1MB",
    "compute_query_id=on",
    "max_parallel_workers_per_gather=0",
    "jit=off",
    "enable_seqscan=off",
    "enable_bitmapscan=off",
];

/// A server with a table of some 5,000 blocks and an index, on a disk; says why not and gives `None` where there is no
/// tracing or no server.
fn traced_server(settings: &[&str]) -> Option<(Trial, MutexGuard<'static, ()>)> {
    let alone = traced_watch::leave()?;
    let trial = Trial::start_in(Path::new(trial::DISK), settings)?;
    for statement in [
        "CREATE TABLE rows AS SELECT n, md5(n::text) AS word, repeat('x', 300) AS rest FROM \
         generate_series(1, 100000) AS n ORDER BY hashint4(n); CREATE INDEX words ON rows (word); \
         CREATE TABLE other AS SELECT * FROM rows",
        "VACUUM (FREEZE, ANALYZE) rows",
        "VACUUM (FREEZE) other",
        "CHECKPOINT",
    ] {
        trial.run(statement);
    }
    Some((trial, alone))
}

/// Whether ends of requests are recorded of idle processors for certain.
fn sees_idle() -> bool {
    let in_idle = Some(FirstByte { field: "rwbs", byte: b'R' });
    let [any, end] = [("sched/sched_process_fork", None), ("block/block_rq_complete", in_idle)]
        .map(|(name, in_idle)| Wanted { name, filter: String::new(), fields: &[], is_optional: false, in_idle });
    Tracer::open(&[any, end]).is_ok_and(|tracer| tracer.sees_idle(1))
}

/// Whether this kernel misses ends of requests, where a profile shows that.
fn lacks_ends(found: &Ingested) -> bool {
    tiers(found).lost > 0 && !sees_idle()
}

/// Writes the files of the tables and their index to the disk, and drops them from the page cache: not those of the
/// catalogue, which each session reads, that of the watch too.
fn drop_caches(trial: &Trial) {
    let data = trial.value("SHOW data_directory");
    for relation in ["rows", "words", "other"] {
        let file = trial.value(&format!("SELECT pg_relation_filepath('{relation}')"));
        let file = fs::File::open(Path::new(&data).join(file)).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(file.as_fd(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
    }
}

/// Watches a server while `load` runs, and a moment longer.
fn watched(trial: &Trial, load: impl FnOnce() + Send) -> Ingested {
    traced_watch::watched(&Address::parse(&trial.url()).unwrap(), load)
}

fn said(found: &Ingested, id: &str) -> Option<String> {
    found.findings.iter().find(|finding| finding.id == id).map(|finding| finding.message.clone())
}

/// What the kernel has counted of a process.
#[derive(Clone, Copy, Debug)]
struct Counted {
    /// Bytes that it had storage read, by `read_bytes`: ahead of its reads too.
    storage: u64,
    /// Bytes that its reads brought, by `rchar`.
    brought: u64,
}

impl Counted {
    fn of(process: u32) -> Counted {
        let text = fs::read_to_string(format!("/proc/{process}/io")).unwrap();
        let value = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
        };
        Counted { storage: value("read_bytes:"), brought: value("rchar:") }
    }
}

/// Which of the server's files are in the page cache when a statement begins: none, or those that earlier ones read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cache {
    Cold,
    Warm,
}

/// Runs a statement in a session of its own, whose catalogue is known to it by then; gives what the kernel counted of
/// its process meanwhile, which is the statement's alone.
fn run_counted(trial: &Trial, cache: Cache, statement: &str) -> Counted {
    let mut client = trial.client();
    client.batch_execute(&format!("EXPLAIN {statement}")).unwrap();
    let process: i32 = client.query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    if cache == Cache::Cold {
        drop_caches(trial);
    }
    let before = Counted::of(process.cast_unsigned());
    client.batch_execute(statement).unwrap();
    let after = Counted::of(process.cast_unsigned());
    // A sample behind the last read shows whose it was.
    thread::sleep(Duration::from_millis(200));
    Counted { storage: after.storage - before.storage, brought: after.brought - before.brought }
}

/// Whether two numbers differ by at most a hundredth.
fn agree(one: u64, other: u64) -> bool {
    (one as f64 - other as f64).abs() <= 0.01 * other as f64
}

/// Bytes that were asked of the device.
fn sent(found: &Ingested) -> u64 {
    tiers(found).requests.iter().map(|(_, sums)| sums.bytes).sum()
}

/// The requests of this purpose.
fn requests_of(found: &Ingested, purpose: Purpose) -> RequestSums {
    let mut requests = tiers(found).requests.iter();
    requests.find(|(known, _)| *known == purpose).map_or_else(RequestSums::default, |(_, sums)| *sums)
}

/// Rows by their words, in no order of the table's: each a random read.
const RANDOM: &str = "SELECT count(rest) FROM rows WHERE word > '8'";
/// The same of few rows, so that most blocks are read once.
const FEW: &str = "SELECT count(rest) FROM (SELECT rest FROM rows WHERE word > '8' LIMIT 1500) AS reader";
const SCAN: &str = "SELECT count(rest) FROM other";

/// Runs a statement under a watch; gives what was found, and what the kernel counted of the statement. A run whose
/// records found no room, as on a busy machine, says so, and is made again, five times at most; so is one whose samples
/// came so late that none met the statement. Of a cold run, requests are missing now and then on a busy machine: such a
/// run is the last one where all five are. A warm run finds its files in the page cache, by the kernel's count of what
/// came from storage: where the kernel had dropped some of them, the run has read them again, and the next one is warm.
fn watched_and_counted(trial: &Trial, cache: Cache, statement: &str) -> Option<(Ingested, Counted)> {
    for run in 1..=5 {
        let mut kernels = None;
        let found = watched(trial, || kernels = Some(run_counted(trial, cache, statement)));
        let is_whole = tiers(&found).lost == 0;
        if (is_whole || lacks_ends(&found)) && found_of_statement(&found, statement).is_some() {
            let kernels = kernels.unwrap();
            let is_as_wanted = match cache {
                Cache::Cold => run == 5 || agree(sent(&found), kernels.storage),
                Cache::Warm => kernels.storage < kernels.brought / 100,
            };
            if is_as_wanted {
                return Some((found, kernels));
            }
        }
        assert!(is_whole || said(&found, "lost-records").is_some(), "{:?}", found.findings);
    }
    println!(
        "skipped: this machine is too busy: records were lost, no sample met the statement, or the kernel had dropped \
         the pages of a warm one, in each of five runs"
    );
    None
}

/// The reads of a statement against what the kernel counted of it.
fn assert_brought(found: &Ingested, kernels: Counted, statement: &str) {
    let (all, rows) = (of_statement(found, statement).tiers.all(), &tiers(found).readers);
    let lost = tiers(found).lost;
    let of_kernel = kernels.brought;
    assert!(
        agree(all.bytes, of_kernel),
        "{} bytes of reads, {of_kernel} by the kernel, {lost} lost: {rows:?}",
        all.bytes
    );
    assert_eq!(all.bytes, all.blocks * 8192);
}

#[test]
fn cold_and_warm_reads_are_those_that_the_kernel_counts() {
    let Some((trial, _alone)) = traced_server(&SMALL) else { return };
    for statement in [RANDOM, SCAN] {
        let Some((cold, kernels)) = watched_and_counted(&trial, Cache::Cold, statement) else { return };
        if lacks_ends(&cold) {
            println!("skipped: this kernel records nothing of an idle processor, and so misses ends of requests");
            return;
        }
        assert_brought(&cold, kernels, statement);
        let (sent, requests) = (sent(&cold), &tiers(&cold).requests);
        assert!(agree(sent, kernels.storage), "{sent} bytes sent, {} by the kernel: {requests:?}", kernels.storage);
        let device = of_statement(&cold, statement).tiers.of(ReadTier::Device);
        assert!(device.reads > 0 && device.service > device.queue, "{device:?}");
        let ahead = requests_of(&cold, Purpose::Ahead).bytes;
        match statement {
            RANDOM => assert!(device.reads > 1000, "{device:?}"),
            _ => assert!(ahead > 20 << 20, "a scan is read ahead: {ahead} bytes"),
        }
        assert!(device.queue + device.service <= device.time, "{device:?}");

        let Some((warm, kernels)) = watched_and_counted(&trial, Cache::Warm, statement) else { return };
        assert_brought(&warm, kernels, statement);
        let waited = requests_of(&warm, Purpose::Waited).requests;
        let of_warm = of_statement(&warm, statement).tiers;
        assert!(of_warm.of(ReadTier::PageCache).reads + 2 * waited >= of_warm.all().reads, "{of_warm:?}");
    }
}

/// A scan that works for some 300 µs between two of its reads: its waits are far enough apart to watch each.
const SLOW_SCAN: &str = "SELECT max(md5(repeat(rest, 20))) FROM other";

/// A slow scan under an exact watch; the reason where there is none.
fn exactly_watched(trial: &Trial) -> Result<Ingested, String> {
    let mut watch = traced_watch::open(&Address::parse(&trial.url()).unwrap());
    let is_there = AtomicBool::new(false);
    let watched = thread::scope(|scope| {
        let loading = scope.spawn(|| {
            let mut client = trial.client();
            is_there.store(true, Ordering::Release);
            thread::sleep(Duration::from_millis(500));
            client.batch_execute(SLOW_SCAN).unwrap();
        });
        while !is_there.load(Ordering::Acquire) {
            thread::sleep(Duration::from_millis(5));
        }
        watch.run_exact(Chosen::All, Duration::from_secs(60), &mut |_| (), &mut |_| match loading.is_finished() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        })
    });
    watched.map_err(|why| why.to_string())?;
    Ok(watch.finish(None).0)
}

#[test]
fn an_exact_watch_shows_the_reads_inside_each_wait() {
    let Some((trial, _alone)) = traced_server(&SMALL) else { return };
    // Of the reads within the waits and of all, those within, with the waits themselves.
    let sums = |found: &Ingested| {
        let is_read = |event: EventIndex| found.profile.context.event_name(event) == "IO:DataFileRead";
        let within = tiers(found).waits.iter().find(|row| row.event.is_some_and(is_read))?.tiers.all();
        let waits = found.profile.whole.events.iter().find(|(event, _)| is_read(**event))?.1;
        Some((found_of_statement(found, SLOW_SCAN)?.tiers.all(), within, waits.count, waits.total))
    };
    let mut seen = Vec::new();
    // On a busy machine some of both are lost.
    for _ in 0..TRIES {
        let found = match exactly_watched(&trial) {
            Ok(found) => found,
            Err(why) => return println!("skipped: {why}"),
        };
        let Some((all, within, waits, waited)) = sums(&found) else { continue };
        // A wait is longer than the read within it.
        assert!(within.time < waited, "{within:?} within {waited:?}");
        let close = |one: u64, other: u64| one.abs_diff(other) * 50 <= one.max(other);
        if all.reads > 4000 && close(all.reads, within.reads) && close(waits, within.reads) {
            return;
        }
        seen.push((all.reads, within.reads, waits));
    }
    panic!("reads of the statement, those within its waits, and the waits: {seen:?}");
}

const LEANER: &str = "SELECT count(rest) AS leaner FROM other";

/// A statement whose table alone is in the page cache, beside one that reads from the device. A run is made again, five
/// times at most, where records found no room, no sample met a statement, or the kernel had dropped some of the table.
fn leaner_and_reader(trial: &Trial) -> Option<Ingested> {
    for _ in 0..5 {
        drop_caches(trial);
        trial.run("SELECT count(rest) FROM other");
        let mut kernels = Vec::new();
        let found = watched(trial, || {
            thread::scope(|scope| {
                scope.spawn(|| kernels.extend((0..5).map(|_| run_counted(trial, Cache::Warm, LEANER))));
                scope.spawn(|| trial.run(FEW));
            });
        });
        let is_cached = kernels.iter().all(|kernel| kernel.storage < kernel.brought / 100);
        let is_met = ["leaner", "AS reader"].iter().all(|part| found_of_statement(&found, part).is_some());
        if tiers(&found).lost == 0 && is_cached && is_met {
            return Some(found);
        }
    }
    println!(
        "skipped: this machine is too busy: records were lost, no sample met a statement, or the kernel had dropped \
         pages of one, in each of five runs"
    );
    None
}

#[test]
fn what_leans_on_the_page_cache_is_found_before_what_reads_from_the_device() {
    let Some((trial, _alone)) = traced_server(&SMALL) else { return };
    let Some(found) = leaner_and_reader(&trial) else { return };
    let (leaner, reader) = (of_statement(&found, "leaner"), of_statement(&found, "AS reader"));
    let cached = |row: &ReaderRow| row.tiers.of(ReadTier::PageCache).reads;
    assert!(cached(leaner) * 100 >= leaner.tiers.all().reads * 99, "{:?}", leaner.tiers);
    assert!(reader.tiers.of(ReadTier::Device).reads > 20, "{:?}", reader.tiers);
    let leaning = leaner.leaning.as_ref().unwrap();
    let blocks: u64 = trial.value("SELECT pg_relation_size('other') / 8192").parse().unwrap();
    let off = leaning.blocks.abs_diff(blocks);
    assert!(off <= leaning.blocks_error + blocks / 50, "{} of {blocks} blocks", leaning.blocks);
    assert_eq!(leaning.relations[0], "public.other", "{leaning:?}");
    let more = |row: &ReaderRow| row.leaning.as_ref().and_then(|leaning| leaning.more());
    assert!(more(leaner).is_some() && more(reader).is_some(), "{leaning:?}, {:?}", reader.leaning);
    let sentence = said(&found, schema::findings::WITHOUT_CACHE.id).unwrap();
    let id = found.profile.context.statement_id(match leaner.reader {
        Reader::Statement(index) => index,
        _ => unreachable!(),
    });
    assert!(sentence.starts_with(&format!("Switching the page cache off would cost statement {id} ")), "{sentence}");
    assert!(sentence.contains("shared_buffers"), "{sentence}");
    let names: Vec<&str> = tiers(&found).relations.iter().map(|row| row.name.as_str()).collect();
    assert!(names.contains(&"public.rows") && names.contains(&"public.other"), "{names:?}");
}

/// Watches a server that ends in the middle, with one statement before and one after.
fn watched_over_a_restart() -> Option<Ingested> {
    let (mut trial, _alone) = traced_server(&SMALL)?;
    let (url, is_over) = (trial.url(), Arc::new(AtomicBool::new(false)));
    let ends = Arc::clone(&is_over);
    let watching = thread::spawn(move || {
        let mut watch = traced_watch::open(&Address::parse(&url).unwrap());
        watch.run(Duration::from_secs(120), &mut |_| match ends.load(Ordering::Acquire) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        });
        watch.finish(None).0
    });
    let watched = "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'readpath'";
    trial.wait_for(watched, "t");
    thread::sleep(Duration::from_secs(1));
    run_counted(&trial, Cache::Warm, "SELECT count(rest) FROM other");
    thread::sleep(Duration::from_millis(500));
    trial.kill();
    trial.start_again();
    trial.wait_for(watched, "t");
    thread::sleep(Duration::from_secs(2));
    run_counted(&trial, Cache::Warm, "SELECT count(word) FROM other");
    thread::sleep(Duration::from_millis(500));
    is_over.store(true, Ordering::Release);
    Some(watching.join().unwrap())
}

#[test]
fn a_server_that_is_started_again_is_traced_again() {
    let parts = ["count(rest)", "count(word)"];
    let Some(mut found) = watched_over_a_restart() else { return };
    let is_whole =
        |found: &Ingested, part: &str| found_of_statement(found, part).is_some_and(|row| row.tiers.all().reads > 1000);
    // On a busy machine no look may meet one of the statements, or records are lost.
    for _ in 1..TRIES {
        if parts.into_iter().all(|part| is_whole(&found, part)) {
            break;
        }
        found = watched_over_a_restart().unwrap();
    }
    assert!(said(&found, "server-went-away").is_some(), "{:?}", found.findings);
    for part in parts {
        assert!(of_statement(&found, part).tiers.all().reads > 1000, "{part}");
    }
    let level = said(&found, "sampled-level").unwrap();
    assert!(level.contains("tell which tier answered each read"), "{level}");
}
