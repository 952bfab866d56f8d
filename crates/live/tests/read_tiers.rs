//! Which tier answered the reads of a real server: held against what the kernel counts of its processes and devices,
//! against Debian's PostgreSQL, in folders of their own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use live::{Settings, Watch};
use measure::schema::tiers;
use profile::ingest::Ingested;
use profile::observe::collector::THINK_TIME;
use profile::observe::instruments::Instruments;
use profile::tables::read_tiers::{Purpose, ReadTier, ReadTiers, Reader, ReaderRow};
use server::Address;
use sys::tracepoint::{FirstByte, Tracer, Wanted};
use trial::Trial;

/// Opens a watch on a server of this machine.
fn open(url: &str) -> Watch {
    let address = Address::parse(url).unwrap();
    let wall_clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64;
    let settings =
        Settings { rate: None, reads_memory: true, traces_reads: true, wall_clock, think_time: THINK_TIME, seed: 7 };
    Watch::open(&address, settings, Instruments::default(), Arc::default()).unwrap()
}

/// Small buffers, so that the kernel has to be asked; all in one process.
const SMALL: [&str; 4] = ["shared_buffers=1MB", "compute_query_id=on", "max_parallel_workers_per_gather=0", "jit=off"];

/// A server with a table of some 5,000 blocks and an index, on a disk; says why not and gives `None` where there is no
/// tracing or no server.
#[allow(clippy::print_stdout, reason = "a skip is counted by its line")]
fn traced_server(settings: &[&str]) -> Option<Trial> {
    let any = Wanted {
        name: "sched/sched_process_fork",
        filter: String::new(),
        fields: &[],
        is_optional: false,
        in_idle: None,
    };
    if let Err(reason) = Tracer::open(&[any]) {
        println!("skipped: {reason}");
        return None;
    }
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
    Some(trial)
}

/// Whether ends of requests are recorded of idle processors for certain.
fn sees_idle() -> bool {
    let in_idle = Some(FirstByte { field: "rwbs", byte: b'R' });
    let [any, end] = [("sched/sched_process_fork", None), ("block/block_rq_complete", in_idle)]
        .map(|(name, in_idle)| Wanted { name, filter: String::new(), fields: &[], is_optional: false, in_idle });
    Tracer::open(&[any, end]).is_ok_and(|tracer| tracer.sees_idle(1))
}

/// Says that this kernel misses ends of requests, where a profile shows that.
#[allow(clippy::print_stdout, reason = "a skip is counted by its line")]
fn lacks_ends(found: &Ingested) -> bool {
    let lacks = tiers(found).lost > 0 && !sees_idle();
    if lacks {
        println!("skipped: this kernel records nothing of an idle processor, and so misses ends of requests");
    }
    lacks
}

/// Writes the server's files to the disk, and drops them from the page cache.
fn drop_caches(trial: &Trial) {
    fn files(folder: &Path, act: &dyn Fn(&fs::File)) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => files(&entry.path(), act),
                false => fs::File::open(entry.path()).iter().for_each(act),
            }
        }
    }
    let data = trial.value("SHOW data_directory");
    files(&Path::new(&data).join("base"), &|file| {
        file.sync_all().unwrap();
        rustix::fs::fadvise(file.as_fd(), 0, None, rustix::fs::Advice::DontNeed).unwrap();
    });
}

/// Watches a server while `load` runs, and a moment longer.
fn watched(trial: &Trial, load: impl FnOnce() + Send) -> Ingested {
    let mut watch = open(&trial.url());
    thread::scope(|scope| {
        let loading = scope.spawn(load);
        let mut until = None;
        watch.run(Duration::from_secs(120), &mut |_| {
            if loading.is_finished() && until.is_none() {
                until = Some(Instant::now() + Duration::from_millis(200));
            }
            match until.is_some_and(|until| Instant::now() > until) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        loading.join().unwrap();
    });
    watch.finish(None).0
}

fn tiers(found: &Ingested) -> &ReadTiers {
    found.profile.sampled.as_ref().unwrap().reads.as_ref().expect("reads were traced")
}

fn said(found: &Ingested, id: &str) -> Option<String> {
    found.findings.iter().find(|finding| finding.id == id).map(|finding| finding.message.clone())
}

/// The row of the statement whose text holds this.
fn of_statement<'a>(found: &'a Ingested, part: &str) -> &'a ReaderRow {
    let context = &found.profile.context;
    let is_it = |row: &&ReaderRow| match row.reader {
        Reader::Statement(index) => context.statement(index).is_some_and(|known| known.text.contains(part)),
        _ => false,
    };
    let rows = &tiers(found).readers;
    rows.iter().find(is_it).unwrap_or_else(|| panic!("no reads of {part}: {rows:?}"))
}

/// What the kernel counts of a session's process: bytes that were read from storage, and bytes that it asked for.
fn counted(process: u32) -> (u64, u64) {
    let text = fs::read_to_string(format!("/proc/{process}/io")).unwrap();
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
    };
    (value("read_bytes:"), value("rchar:"))
}

/// Runs a statement in a session of its own; gives what the kernel counted of its process meanwhile.
fn run_counted(trial: &Trial, statement: &str) -> (u64, u64) {
    let mut client = trial.client();
    // What a session reads of the catalogue first is not the statement's.
    client.batch_execute("SELECT count(*) FROM rows WHERE false; SELECT count(*) FROM other WHERE false").unwrap();
    let process: i32 = client.query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    let before = counted(process.cast_unsigned());
    client.batch_execute(statement).unwrap();
    let after = counted(process.cast_unsigned());
    // A sample behind the last read shows whose it was.
    thread::sleep(Duration::from_millis(200));
    (after.0 - before.0, after.1 - before.1)
}

/// Whether two numbers differ by at most a hundredth.
fn agree(one: u64, other: u64) -> bool {
    (one as f64 - other as f64).abs() <= 0.01 * other as f64
}

/// Rows by their words, in no order of the table's: each a random read.
const RANDOM: &str =
    "SET enable_bitmapscan = off; SET enable_seqscan = off; SELECT count(rest) FROM rows WHERE word > '8'";
/// The same of few rows, so that most blocks are read once.
const FEW: &str = "SET enable_bitmapscan = off; SET enable_seqscan = off; \
    SELECT count(rest) FROM (SELECT rest FROM rows WHERE word > '8' LIMIT 1500) AS reader";
const SCAN: &str = "SELECT count(rest) FROM other";

#[test]
#[ignore = "two of seven runs agreed with the kernel's counts; why the others did not is not known"]
fn cold_and_warm_reads_are_those_that_the_kernel_counts() {
    let Some(trial) = traced_server(&SMALL) else { return };
    for statement in [RANDOM, SCAN] {
        drop_caches(&trial);
        let mut kernels = (0, 0);
        let cold = watched(&trial, || kernels = run_counted(&trial, statement));
        if lacks_ends(&cold) {
            return;
        }
        let part = statement.rsplit("; ").next().unwrap();
        let row = of_statement(&cold, part);
        let all = row.tiers.all();
        assert!(
            agree(all.bytes, kernels.1),
            "{} bytes of reads, {} by the kernel, {} lost: {:?}",
            all.bytes,
            kernels.1,
            tiers(&cold).lost,
            tiers(&cold).readers
        );
        assert_eq!(all.bytes, all.blocks * 8192);
        let sent: u64 = tiers(&cold).requests.iter().map(|(_, sums)| sums.bytes).sum();
        assert!(agree(sent, kernels.0), "{sent} bytes of requests, {} by the kernel", kernels.0);
        let device = row.tiers.of(ReadTier::Device);
        assert!(device.reads > 0 && device.service > device.queue, "{device:?}");
        let ahead = tiers(&cold).requests_of(Purpose::Ahead).bytes;
        match statement {
            RANDOM => assert!(device.reads > 1000, "{device:?}"),
            _ => assert!(ahead > 20 << 20, "a scan is read ahead: {ahead} bytes"),
        }
        assert!(device.queue + device.service <= device.time, "{device:?}");

        let mut kernels = (0, 0);
        let warm = watched(&trial, || kernels = run_counted(&trial, statement));
        let row = of_statement(&warm, part);
        assert!(kernels.0 < kernels.1 / 100, "all is in the page cache but {} bytes", kernels.0);
        let rows = &tiers(&warm).readers;
        assert_eq!(tiers(&warm).lost, 0, "{:?}", said(&warm, "lost-records"));
        assert!(agree(row.tiers.all().bytes, kernels.1), "{} bytes by the kernel: {rows:?}", kernels.1);
        let waited = tiers(&warm).requests_of(Purpose::Waited).requests;
        assert!(row.tiers.of(ReadTier::PageCache).reads + 2 * waited >= row.tiers.all().reads, "{:?}", row.tiers);
        assert_eq!(tiers(&warm).lost, 0, "{:?}", said(&warm, "lost-records"));
    }
}

#[test]
fn what_leans_on_the_page_cache_is_found_before_what_reads_from_the_device() {
    let Some(trial) = traced_server(&SMALL) else { return };
    drop_caches(&trial);
    // It alone is in the page cache.
    trial.run("SELECT count(rest) FROM other");
    let found = watched(&trial, || {
        thread::scope(|scope| {
            scope.spawn(|| (0..5).for_each(|_| trial.run("SELECT count(rest) AS leaner FROM other")));
            scope.spawn(|| trial.run(FEW));
        });
    });
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
    let sentence = said(&found, tiers::findings::WITHOUT_CACHE.id).unwrap();
    let id = found.profile.context.statement_id(match leaner.reader {
        Reader::Statement(index) => index,
        _ => unreachable!(),
    });
    assert!(
        sentence.starts_with(&format!("Switching the file-system cache off would cost statement {id} ")),
        "{sentence}"
    );
    assert!(sentence.contains("shared_buffers"), "{sentence}");
    let names: Vec<&str> = tiers(&found).relations.iter().map(|row| row.name.as_str()).collect();
    assert!(names.contains(&"public.rows") && names.contains(&"public.other"), "{names:?}");
}

#[test]
fn a_server_that_is_started_again_is_traced_again() {
    let Some(mut trial) = traced_server(&SMALL) else { return };
    let url = trial.url();
    let watching = thread::spawn(move || {
        let mut watch = open(&url);
        watch.run(Duration::from_secs(12), &mut |_| ControlFlow::Continue(()));
        watch.finish(None).0
    });
    thread::sleep(Duration::from_secs(1));
    run_counted(&trial, "SELECT count(rest) FROM other");
    thread::sleep(Duration::from_millis(500));
    trial.kill();
    trial.start_again();
    thread::sleep(Duration::from_secs(3));
    run_counted(&trial, "SELECT count(word) FROM other");
    let found = watching.join().unwrap();
    assert!(said(&found, "server-went-away").is_some(), "{:?}", found.findings);
    for part in ["count(rest)", "count(word)"] {
        assert!(of_statement(&found, part).tiers.all().reads > 1000, "{part}");
    }
    let level = said(&found, "sampled-level").unwrap();
    assert!(level.contains("tell which tier answered each read"), "{level}");
}
