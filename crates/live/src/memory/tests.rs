//! Names of waits held against those of real servers of each version: Debian's programs where they are installed, or
//! else private ones from the cache or fetched. And looks at memory of this process that stands for a server's.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::env;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use postgres::Client;
use profile::source::sampled::{Backend, CLIENT, Sample, State};
use server::Address;
use server::private::{Installation, PrivateServer, ServerSettings, Source};

use super::entry::{ENTRY_BYTES, Entry, offset};
use super::events::Events;
use super::image::Variables;
use super::names::Names;
use super::process::Process;
use super::relatives::Relatives;
use super::spans::Spans;
use super::{Change, MemorySampler, Place};
use crate::sampler::Texts;
use crate::sql::SqlSampler;

static GO_ON: AtomicBool = AtomicBool::new(false);

/// The number of the wait for the client's next request.
const CLIENT_READ: u32 = 0x0600_0000;

/// How long waits are learned from a load, and how long at most where a busy machine shows some of them late.
const LEARNED_FOR: Duration = Duration::from_secs(2);
const LEARNED_MOST: Duration = Duration::from_secs(60);

/// Waits of the load that last; of the others it depends on the machine which are met.
const LASTING: [&str; 7] = [
    "Activity:LogicalLauncherMain",
    "Client:ClientRead",
    "Lock:advisory",
    "Lock:relation",
    "Lock:transactionid",
    "Lock:tuple",
    "Timeout:PgSleep",
];

/// Kinds of waits of which the load has some that do not last.
const MET: [&str; 3] = ["LWLock:", "IPC:", "IO:"];

impl MemorySampler {
    /// One of a server that has no process yet, whose memory is this process's own.
    pub(crate) fn empty() -> MemorySampler {
        let own = std::process::id();
        MemorySampler {
            postmaster: own,
            own: 0,
            major: 15,
            text_bytes: 0,
            variables: Variables { wait_event: 0, entry: 0 },
            processes: Vec::new(),
            shown: 0,
            silent: HashMap::new(),
            // The thread that runs the tests starts no process, so that all of a test's stay.
            relatives: Relatives::of(own).unwrap(),
            has_ended: false,
            lacks_names: false,
            rest: Vec::new(),
            events: Events::of(15),
            names: Names::default(),
            named: HashSet::new(),
            processors: None,
            spans: Spans::default(),
            mapping: None,
            time: Duration::ZERO,
        }
    }

    /// One whose memory cannot be read: nothing lies where its process shows itself.
    pub(crate) fn unreadable_sample() -> MemorySampler {
        let mut sampler = MemorySampler::empty();
        sampler.add_unreadable();
        sampler
    }

    /// Adds a process whose place cannot be read.
    pub(crate) fn add_unreadable(&mut self) {
        self.processes.push(Process::new(1, 8, 8));
        self.shown = self.processes.len();
        self.lay_out();
    }

    pub(crate) fn is_mapped(&self) -> bool {
        self.mapping.is_some()
    }
}

impl Place {
    /// A process without any.
    pub(crate) fn sample() -> Place {
        let at_begin = Change { at: 0, wait: 0, state: None, state_start: None, query_start: None, query_id: None };
        Place { backend: Arc::default(), wait: 0, entry: 0, major: 15, since_1970: 0, at_begin }
    }
}

/// A sampler of sessions whose entries and waits stand in this process's own memory.
fn sampler_of(numbers: &[u32], entries: &[u8], waits: &[u32]) -> MemorySampler {
    let process = |(at, number): (usize, &u32)| {
        let [wait, entry] = [waits[at..].as_ptr() as u64, entries[at * ENTRY_BYTES..].as_ptr() as u64];
        Process::new(*number, wait, entry)
    };
    let processes = numbers.iter().enumerate().map(process).collect();
    let mut sampler = MemorySampler { processes, shown: numbers.len(), ..MemorySampler::empty() };
    sampler.lay_out();
    sampler
}

#[test]
fn a_process_that_never_shows_itself_has_the_list_of_processes_not_read_again_and_again() {
    let mut sampler = MemorySampler { shown: 1, ..MemorySampler::empty() };
    assert!(!sampler.is_whole(), "one that was started just now");
    sampler.silent.insert(7, Instant::now());
    assert!(!sampler.is_whole(), "it may wait for its client");
    sampler.silent.insert(7, Instant::now().checked_sub(Duration::from_secs(61)).unwrap());
    assert!(sampler.is_whole(), "the one that writes the log");
    sampler.has_ended = true;
    assert!(!sampler.is_whole());
}

#[test]
fn a_server_none_of_whose_processes_may_be_read_is_an_error_and_not_a_server_without_sessions() {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "sleep 60 & echo $!; wait"]).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut line).unwrap();
    let (relatives, nowhere) = (Relatives::of(child.id()).unwrap(), Variables { wait_event: 8, entry: 8 });
    let mut sampler = MemorySampler { relatives, variables: nowhere, shown: usize::MAX, ..MemorySampler::empty() };
    let found = sampler.find_processes();
    let sleeper = rustix::process::Pid::from_raw(line.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process(sleeper, rustix::process::Signal::KILL).unwrap();
    child.wait().unwrap();
    assert!(found.is_err(), "{:?}", sampler.relatives.numbers());
}

/// The entry of a session at work, in the layout of 15.
fn entry(number: u32) -> Vec<u8> {
    let mut bytes = vec![0; ENTRY_BYTES];
    let mut put = |at: usize, value: &[u8]| bytes[at..][..value.len()].copy_from_slice(value);
    put(offset::PROCESS, &number.to_le_bytes());
    put(offset::KIND, &3_i32.to_le_bytes());
    put(offset::PROCESS_START, &7_i64.to_le_bytes());
    put(offset::STATE, &2_i32.to_le_bytes());
    bytes
}

#[test]
fn sessions_that_the_server_hides_are_known_by_memory_and_not_asked_for_again_and_again() {
    let (entries, waits) = ([entry(11), entry(12)].concat(), [0; 2]);
    let start = Entry::new(&entries).start();
    let mut sampler = sampler_of(&[11, 12], &entries, &waits);
    let sample = |backend: Backend, state: State| Sample {
        backend: Arc::new(backend),
        state,
        event: None,
        query_id: None,
        query_start: None,
        text: None,
        processor: None,
    };
    let own = Backend { pid: 11, start, kind: CLIENT.into(), user: "me".into(), ..Backend::default() };
    let other = Backend { pid: 12, start: 0, user: "other".into(), ..Backend::default() };
    let shown = [sample(own, State::Active), sample(other, State::Hidden)];
    let mut seen = Vec::new();
    for _ in 0..2 {
        sampler.learn(&HashMap::new(), &shown);
        sampler.look(Texts::New, &mut seen).unwrap();
    }
    let found: Vec<(u32, State)> = seen.iter().map(|one| (one.backend.pid, one.state)).collect();
    assert_eq!(found, [(11, State::Active), (12, State::Active)]);
    assert!(!sampler.lacks_names(), "the server has told all that it tells");
    let named = Backend { pid: 12, start, kind: CLIENT.into(), user: "other".into(), ..Backend::default() };
    assert_eq!(*seen[1].backend, named, "of whom it is, the server does not hide");
    let before = Arc::clone(&seen[1].backend);
    sampler.learn(&HashMap::new(), &shown);
    sampler.look(Texts::New, &mut seen).unwrap();
    assert!(Arc::ptr_eq(&before, &seen[1].backend), "it is the same session");
}

#[test]
fn a_worker_that_has_just_begun_is_not_taken_for_another_one_that_the_server_has_named() {
    let of = |number: u32, kind: i32| {
        let mut bytes = entry(number);
        bytes[offset::KIND..][..4].copy_from_slice(&kind.to_le_bytes());
        bytes
    };
    let mut names = Names::default();
    for (bytes, kind) in [(of(11, 4), "logical replication launcher"), (of(12, 9), "checkpointer")] {
        let entry = Entry::new(&bytes);
        let backend = Backend { pid: entry.process(), start: entry.start(), kind: kind.into(), ..Backend::default() };
        names.learn(entry, &backend);
    }
    // A parallel worker has the number of the launcher.
    assert_eq!(names.backend(Entry::new(&of(13, 4))), None);
    let other = names.backend(Entry::new(&of(14, 9)));
    assert_eq!(other.map(|backend| backend.kind).as_deref(), Some("checkpointer"));
}

#[test]
fn what_a_server_shows_of_a_hundred_thousand_sessions_is_learned_of_each() {
    let numbers: Vec<u32> = (1..=100_000).collect();
    let entries = numbers.iter().map(|number| entry(*number)).collect::<Vec<_>>().concat();
    let waits = vec![0; numbers.len()];
    let mut sampler = sampler_of(&numbers, &entries, &waits);
    let idle = |pid: &u32| Sample {
        backend: Arc::new(Backend { pid: *pid, ..Backend::default() }),
        state: State::Idle,
        event: None,
        query_id: None,
        query_start: None,
        text: None,
        processor: None,
    };
    let shown: Vec<Sample> = numbers.iter().map(idle).collect();
    // Where each session is looked for among all others, this takes minutes.
    sampler.learn(&HashMap::new(), &shown);
    assert_eq!(sampler.processes.iter().filter(|process| process.is_told).count(), numbers.len());
}

/// The programs that users of this machine have, or else those of the tests, which are beside the folder of this one.
fn cache(major: u32) -> PathBuf {
    let own = env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/readpath/postgres"));
    let target = env::current_exe().unwrap().ancestors().nth(3).unwrap().to_path_buf();
    own.filter(|own| Installation::is_cached(major, own)).unwrap_or(target.join("tmp/cache/readpath/postgres"))
}

/// A server of this version; says why not where there is none.
fn server(major: u32) -> Option<PrivateServer> {
    let debian = Installation::at(Path::new(&format!("/usr/lib/postgresql/{major}/bin")));
    let source = Source { cache: cache(major), proxy: None };
    match debian.or_else(|_| Installation::of(major, &source, &GO_ON)) {
        Ok(installation) => {
            // What a quiet server leaves out waits too.
            let busy = [("fsync", "on"), ("autovacuum", "on"), ("max_parallel_workers_per_gather", "2")];
            let quiet = ServerSettings::new(4 << 20);
            let settings = busy.into_iter().fold(quiet, |settings, (name, value)| settings.with(name, value));
            Some(PrivateServer::start(&installation, Path::new(trial::DISK), settings, &GO_ON).unwrap())
        }
        Err(reason) => {
            println!("skipped: {reason}");
            None
        }
    }
}

fn client(server: &PrivateServer) -> Client {
    postgres::Config::from(server.config()).connect(postgres::NoTls).unwrap()
}

/// The samplers of a server, which know what is built in and what the server lists.
fn samplers(server: &PrivateServer) -> (SqlSampler, MemorySampler) {
    let sampler = SqlSampler::open(&Address::parse(&server.url()).unwrap(), Arc::default()).unwrap();
    let mut memory = MemorySampler::open(sampler.facts(), true, 1024).unwrap();
    if memory.major >= 17 {
        let listed = client(server).query("SELECT type, name FROM pg_wait_events", &[]).unwrap();
        memory.list_events(listed.iter().map(|row| (row.get(0), row.get(1))));
    }
    (sampler, memory)
}

#[test]
fn the_names_of_14_are_those_that_the_server_gives() {
    names_are_those_of(14);
}

#[test]
fn the_names_of_15_are_those_that_the_server_gives() {
    names_are_those_of(15);
}

#[test]
fn the_names_of_16_are_those_that_the_server_gives() {
    names_are_those_of(16);
}

#[test]
fn the_names_of_17_are_those_that_the_server_gives() {
    names_are_those_of(17);
}

#[test]
fn the_names_of_18_are_those_that_the_server_gives() {
    names_are_those_of(18);
}

#[test]
fn a_process_in_a_part_of_the_shared_memory_that_is_not_mapped_does_not_keep_the_others_from_being_read() {
    let Some(server) = server(15) else { return };
    let (_sampler, mut memory) = samplers(&server);
    if !memory.is_mapped() {
        return println!("skipped: the server's memory cannot be mapped");
    }
    // It stands for the other part: it can be read by a call, and is not in the mapping.
    let elsewhere = memory.variables.entry & !0xfff;
    memory.processes.push(Process::new(1, elsewhere, elsewhere));
    memory.lay_out();
    memory.read().unwrap();
    assert!(!memory.is_mapped());
    let shows_itself = |(at, process): (usize, &Process)| memory.spans.entry(at).process() == process.number;
    assert!(memory.processes.iter().enumerate().any(shows_itself), "{:?}", memory.processes);
}

/// What a minor version added, and the servers before it do not know.
const ADDED: [&str; 1] = ["IPC:WalReceiverUpstreamCatchup"];

fn names_are_those_of(major: u32) {
    let Some(server) = server(major) else { return };
    let (mut sampler, mut memory) = samplers(&server);
    let listed: BTreeMap<u32, Arc<str>> = memory.events.listed().collect();
    assert!(listed.len() > 200, "{} waits", listed.len());
    if let Some(named) = named_by(&server, listed.keys().copied()) {
        let is_newer = |name: &str, other: &str| ADDED.contains(&name) && other.ends_with(":unknown wait event");
        let differ = |name: &str, other: &str| name != other && !is_newer(name, other);
        let differing: Vec<_> = listed.iter().zip(&named).filter(|((_, name), other)| differ(name, other)).collect();
        assert!(differing.is_empty(), "{differing:?}");
    }
    learn_from_load(&server, &mut sampler, &mut memory);
    let learned: BTreeMap<u32, Arc<str>> = memory.events.learned().collect();
    let (all, left) = (listed.len(), memory.events.listed().count());
    assert_eq!(left, all, "a name that was learned contradicts a list: {learned:?}");
    for (wait, name) in &learned {
        assert!(listed.get(wait).is_none_or(|listed| listed == name), "{wait:x} is {name}");
    }
    let names: Vec<&str> = learned.values().map(|name| &**name).collect();
    println!("PostgreSQL {}: {names:?}", memory.major);
    assert_eq!(missing(&memory), Vec::<&str>::new(), "not among {names:?}");
}

/// Waits of the load, and kinds of them, that no name was learned of.
fn missing(memory: &MemorySampler) -> Vec<&'static str> {
    let learned: Vec<Arc<str>> = memory.events.learned().map(|(_, name)| name).collect();
    let lasting = LASTING.into_iter().filter(|name| !learned.iter().any(|known| **known == **name));
    lasting.chain(MET.into_iter().filter(|kind| !learned.iter().any(|known| known.starts_with(*kind)))).collect()
}

/// What the server calls these waits: each is written where an idle session says for what it waits. `None` where this
/// process may not do that.
fn named_by(server: &PrivateServer, waits: impl Iterator<Item = u32>) -> Option<Vec<String>> {
    let (mut idle, mut asking) = (client(server), client(server));
    let process: i32 = idle.query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    let process = process.unsigned_abs();
    let opened = File::options().read(true).write(true).open(format!("/proc/{process}/mem"));
    let memory = opened.map_err(|error| println!("skipped: the memory of process {process}: {error}")).ok()?;
    let (place, _) = Variables::of(process).unwrap().read(process).unwrap().unwrap();
    let began = Instant::now();
    let shown = || {
        let mut bytes = [0; 4];
        memory.read_exact_at(&mut bytes, place).unwrap();
        u32::from_le_bytes(bytes)
    };
    while shown() != CLIENT_READ {
        assert!(began.elapsed() < Duration::from_secs(20), "the session is never idle");
        thread::sleep(Duration::from_millis(10));
    }
    let name = "concat_ws(':', wait_event_type, wait_event)";
    let asked = format!("SELECT {name} FROM pg_stat_activity WHERE pid = {process}");
    let mut name_of = |wait: u32| {
        memory.write_all_at(&wait.to_le_bytes(), place).unwrap();
        asking.query_one(&asked, &[]).unwrap().get(0)
    };
    let names = waits.map(&mut name_of).collect();
    name_of(CLIENT_READ);
    Some(names)
}

/// Makes waits of known kinds at once and learns their names meanwhile.
fn learn_from_load(server: &PrivateServer, sampler: &mut SqlSampler, memory: &mut MemorySampler) {
    let mut holder = client(server);
    let made = "CREATE TABLE held AS SELECT 1 AS n; CREATE TABLE closed AS SELECT 1 AS n; \
                CREATE TABLE counts (n int); \
                CREATE TABLE rows AS SELECT n, repeat('x', 300) AS rest FROM generate_series(1, 100000) AS n; ANALYZE";
    holder.batch_execute(made).unwrap();
    let held = "BEGIN; UPDATE held SET n = 2; SELECT pg_advisory_xact_lock(7); LOCK TABLE closed";
    holder.batch_execute(held).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let waiting = ["UPDATE held SET n = 3", "UPDATE held SET n = 4", "SELECT pg_advisory_xact_lock(7)"];
        let others = ["SELECT n FROM closed"];
        let once = |statement| scope.spawn(move || client(server).batch_execute(statement).unwrap());
        let blocked: Vec<ScopedJoinHandle<'_, ()>> = waiting.into_iter().chain(others).map(once).collect();
        let parallel = "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; \
                        SET min_parallel_table_scan_size = 0; SELECT count(*) FROM rows WHERE sqrt(n) < 0";
        let committing = "INSERT INTO counts VALUES (1)";
        let sleeping = "SELECT pg_sleep(1)";
        for statement in [parallel, "CHECKPOINT", sleeping, committing, committing, committing, committing] {
            let is_over = &is_over;
            scope.spawn(move || {
                let mut session = client(server);
                while !is_over.load(Ordering::Relaxed) {
                    session.batch_execute(statement).unwrap();
                }
            });
        }
        let (began, mut seen) = (Instant::now(), Vec::new());
        while began.elapsed() < LEARNED_FOR || began.elapsed() < LEARNED_MOST && !missing(memory).is_empty() {
            let before = memory.waits();
            sampler.look(Texts::New, &mut seen).unwrap();
            memory.learn(&before, &seen);
        }
        is_over.store(true, Ordering::Relaxed);
        holder.batch_execute("COMMIT").unwrap();
        blocked.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
