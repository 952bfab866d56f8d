//! `readpath record`, as users call it: a server is recorded, and any time of the recording is a profile.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use recording::segments;
use rustix::process::{Pid, Signal, kill_process};
use trial::Trial;

use crate::user::{User, complaint};
use crate::waiting;

/// A load that runs a statement again and again, and ends when it is dropped.
pub(crate) struct Busy {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// How long a load pauses after each statement: without pauses it takes a whole processor from the tests beside it.
const PAUSE: Duration = Duration::from_millis(60);

pub(crate) fn busy(trial: &Trial, statement: &'static str) -> Busy {
    let end = Arc::new(AtomicBool::new(false));
    let (mut client, is_over) = (trial.client(), Arc::clone(&end));
    let thread = thread::spawn(move || {
        while !is_over.load(Ordering::Relaxed) && client.batch_execute(statement).is_ok() {
            thread::sleep(PAUSE);
        }
    });
    Busy { end, thread: Some(thread) }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

/// A statement of some 20 ms of processor time.
pub(crate) const HEAVY: &str = "SELECT sum(sqrt(n)) FROM generate_series(1, 100000) AS heavy(n) WHERE 'secret' <> ''";
const SLEEP: &str = "SELECT pg_sleep(0.05)";

/// Enough looks for a page. The default, a thousand a second, takes much of a processor in an unoptimised build.
const FEW_LOOKS: &str = "--rate 100";

/// A recorder that is killed when it is dropped.
pub(crate) struct Recorder {
    child: Option<Child>,
    folder: PathBuf,
    /// The file of what it says on standard error.
    said: PathBuf,
}

/// Records with segments of a second.
pub(crate) fn recorder(user: &User, trial: &Trial, more: &str) -> Recorder {
    let folder = user.home.path().join("recording");
    recorder_to(user, trial, &folder, more)
}

fn recorder_to(user: &User, trial: &Trial, folder: &Path, more: &str) -> Recorder {
    let words = format!("record --on {} --to {} --segment 1s --quiet {more}", trial.url(), folder.display());
    let said = user.home.path().join("said-by-recorder");
    let child = user.command(&words).stderr(File::create(&said).unwrap()).spawn().unwrap();
    Recorder { child: Some(child), folder: folder.into(), said }
}

impl Recorder {
    fn segments(&self) -> usize {
        segments(&self.folder).map_or(0, |found| found.len())
    }

    /// What it has said on standard error.
    fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.said).unwrap()).into_owned()
    }

    /// Waits until this is so of it. It must not end before.
    fn wait_until(&mut self, what: &str, is_so: impl Fn(&Recorder) -> bool) {
        waiting::until(what, || {
            let ended = self.child.as_mut().unwrap().try_wait().unwrap();
            assert!(ended.is_none(), "{what}: it ended before: {}", self.said());
            is_so(self)
        });
    }

    /// Waits until there are this many segments.
    pub(crate) fn wait_for(&mut self, count: usize) {
        self.wait_until(&format!("{count} segments"), |recorder| recorder.segments() >= count);
    }

    pub(crate) fn end(mut self, signal: Signal) -> Output {
        let child = self.child.take().unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        Output { stderr: self.said().into_bytes(), ..output }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_recording_has_the_page_of_a_profile_also_while_it_is_written_and_two_times_of_it_compare() {
    let Some(trial) = Trial::start(&["compute_query_id=on"]) else { return };
    let _busy = (busy(&trial, HEAVY), busy(&trial, SLEEP));
    let user = User::new();
    let mut recorder = recorder(&user, &trial, FEW_LOOKS);
    recorder.wait_for(5);
    let during = user.ok("profile recording");
    for part in ["at work on average", "where the time went", "response time", "±", "statements by response time"] {
        assert!(during.contains(part), "no {part}: {during}");
    }
    assert!(during.contains("sum(sqrt(n))") && during.contains("Made from a recording: samples of "), "{during}");
    recorder.wait_for(7);
    let before = recorder.segments();
    let output = recorder.end(Signal::TERM);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    assert!(said.contains("recording: ") && said.contains("segments of "), "{said}");
    assert!(!said.contains("in the folder now"), "all of them are its own: {said}");
    let after = segments(&user.home.path().join("recording")).unwrap().len();
    assert!(after > before || after == before + 1, "the last seconds are written too: {before} and {after}");

    let part = user.document("profile recording --from -3s");
    assert_eq!(part["subject"]["kind"], "postgres");
    assert_eq!(part["subject"]["from"], "3 s before its end");
    let by = user.ok("profile recording --by session,event --where event~PgSleep");
    assert!(by.contains("Timeout:PgSleep") && !by.contains("statements by response time"), "{by}");
    let compared = user.ok("compare recording --first ..-3s --second -3s..");
    assert!(compared.contains("recording until 3 s before its end"), "{compared}");
    assert!(compared.contains(" of response time, sampled for "), "{compared}");
    assert!(!compared.contains("client execution,") && !compared.contains(" files"), "{compared}");
    assert!(!compared.contains("0 client executions") && !compared.contains("0 rows"), "{compared}");
    let at = user.ok("compare recording --at -3s --where event~PgSleep");
    assert!(at.contains("where event~PgSleep") && at.contains("Timeout:PgSleep"), "{at}");
    assert!(at.contains(" of response time, sampled for ") && !at.contains("client execution"), "{at}");
    let wrong = user.refused("profile recording --since 2026-01-01", 2);
    assert!(wrong.contains("--from and --to"), "{wrong}");
    let nothing = user.refused("profile recording --to 2001-01-01", 2);
    assert!(nothing.starts_with("readpath: nothing was recorded until 2001-01-01 00:00:00: "), "{nothing}");
    assert!(!nothing.contains("trace"), "{nothing}");
    let time_of_day = user.refused("profile recording --from 2001-01-01 --to 00:10", 2);
    assert!(time_of_day.contains("from 2001-01-01 00:00:00 to 2001-01-01 00:10:00: "), "{time_of_day}");
    let exported = user.refused("export --events recording --output events", 2);
    assert!(exported.contains("a recording is Parquet already"), "{exported}");
    let words: Vec<&str> = exported.split_whitespace().collect();
    let query = words.iter().position(|word| *word == "--sql").map(|at| words[at + 1]).expect("a query is named");
    assert!(user.ok(&format!("export --sql {query}")).contains("SELECT"), "{query} is SQL that there is");
    for words in ["--from -1s --to -5s", "--from 2026-11-22T10:00 --to 2026-11-22T09:00"] {
        let reversed = user.refused(&format!("profile recording {words}"), 2);
        assert!(reversed.contains(" is not before --to ") && !reversed.contains("recorded"), "{reversed}");
    }
    let reversed = user.refused("profile recording --from -1s --to 2001-01-01", 2);
    assert!(reversed.contains("the end is not after the beginning of the time asked for"), "{reversed}");
}

#[test]
fn the_first_minute_of_a_recorder_is_not_taken_for_a_recording_that_failed() {
    let user = User::new();
    fs::create_dir(user.home.path().join("recording")).unwrap();
    let refused = user.refused("profile recording", 1).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(refused.contains("(a recorder writes its first one within 80 s)"), "{refused}");
    for words in ["profile recording --from -10s", "compare recording --first ..-10s --second -10s.."] {
        let refused = user.refused(words, 1).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(refused.contains("no segment of a recording"), "{words}: {refused}");
    }
}

#[test]
fn a_server_that_refuses_leaves_no_folder() {
    let user = User::new();
    user.refused("record --on postgres://localhost:1/x --to recording", 1);
    assert!(!user.home.path().join("recording").exists());
}

#[test]
fn kill_9_at_any_moment_leaves_whole_segments_and_the_next_recorder_goes_on() {
    let Some(trial) = Trial::start(&["compute_query_id=on"]) else { return };
    let _busy = busy(&trial, HEAVY);
    let user = User::new();
    let mut random = measure::random::SplitMix64::new(17);
    let mut last = 0;
    for _ in 0..6 {
        let mut recorder = recorder(&user, &trial, FEW_LOOKS);
        recorder.wait_for(last + 1);
        thread::sleep(Duration::from_millis(random.below(1_300)));
        recorder.end(Signal::KILL);
        let found = segments(&user.home.path().join("recording")).unwrap();
        assert!(found.len() > last);
        for (name, _) in &found {
            let path = user.home.path().join("recording").join(name.to_string());
            let (segment, _) = recording::read(&path).unwrap();
            assert_eq!(segment.head.number, name.number);
        }
        let numbers: Vec<u64> = found.iter().map(|(name, _)| name.number).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
        last = found.len();
    }
    let page = user.ok("profile recording");
    assert!(page.contains("no recorder ran") && !page.contains("could not be asked"), "{page}");
}

#[test]
fn a_file_in_place_of_the_folder_is_called_a_file_before_a_server_is_asked() {
    let user = User::new();
    let file = user.file("shop", b"");
    let refused = user.refused(&format!("record --on postgres://me@127.0.0.1:1/db --to {file}"), 2);
    assert!(refused.contains("shop is a file, and a recording is a folder"), "{refused}");
}

#[test]
fn a_second_recorder_on_the_same_folder_and_a_folder_that_takes_no_file_are_refused() {
    let Some(trial) = Trial::start(&[]) else { return };
    let user = User::new();
    let mut first = recorder(&user, &trial, FEW_LOOKS);
    first.wait_for(1);
    let refused = user.refused(&format!("record --on {} --to recording", trial.url()), 1);
    assert!(refused.contains("another recorder writes to recording"), "{refused}");
    first.end(Signal::INT);
    // Nothing can be made there, by root neither: it is said before it records, and not a segment later.
    let refused = user.refused(&format!("record --on {} --to /proc/self", trial.url()), 1);
    assert!(refused.contains("/proc/self cannot be recorded to: ") && !refused.contains("until ^C"), "{refused}");
}

#[test]
fn a_restart_of_the_server_costs_its_time_and_the_recording_goes_on() {
    let Some(mut trial) = Trial::start(&["compute_query_id=on"]) else { return };
    let load = busy(&trial, HEAVY);
    let user = User::new();
    let mut recorder = recorder(&user, &trial, FEW_LOOKS);
    recorder.wait_for(3);
    trial.kill();
    drop(load);
    thread::sleep(Duration::from_secs(2));
    let before = recorder.segments();
    trial.start_again();
    let _load = busy(&trial, HEAVY);
    recorder.wait_for(before + 3);
    let output = recorder.end(Signal::TERM);
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    assert!(complaint(&output).contains("nothing was recorded for "), "{}", complaint(&output));
    let page = user.ok("profile recording");
    assert!(page.contains("There are no samples of "), "{page}");
}

/// How many of the kernel's events a process has open.
fn kernel_events(process: u32) -> usize {
    let opened = fs::read_dir(format!("/proc/{process}/fd")).unwrap().flatten();
    let targets = opened.filter_map(|one| fs::read_link(one.path()).ok());
    targets.filter(|target| target.to_string_lossy().contains("perf_event")).count()
}

#[test]
fn without_tiers_no_system_call_is_traced_also_after_a_restart_and_the_page_says_why() {
    let Some(mut trial) = Trial::start(&["compute_query_id=on"]) else { return };
    let user = User::new();
    let load = busy(&trial, HEAVY);
    let mut recorder = recorder(&user, &trial, "--no-tiers");
    let process = recorder.child.as_ref().unwrap().id();
    recorder.wait_for(2);
    assert_eq!(kernel_events(process), 0);
    trial.kill();
    drop(load);
    trial.start_again();
    let _load = busy(&trial, HEAVY);
    let before = recorder.segments();
    recorder.wait_for(before + 2);
    assert_eq!(kernel_events(process), 0);
    recorder.end(Signal::TERM);
    let page = user.document("profile recording").to_string();
    assert!(page.contains("--no-tiers was given") && !page.contains("\"tracing\""), "{page}");
}

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test says why")]
fn with_tiers_the_kernels_events_are_open_as_long_as_it_records() {
    let Some(trial) = Trial::start(&["compute_query_id=on"]) else { return };
    let user = User::new();
    let _busy = busy(&trial, HEAVY);
    let mut recorder = recorder(&user, &trial, "");
    let process = recorder.child.as_ref().unwrap().id();
    recorder.wait_for(2);
    let open = kernel_events(process);
    recorder.end(Signal::TERM);
    let page = user.document("profile recording").to_string();
    if page.contains("Which tier answered a read is not known") {
        println!("skipped: reads cannot be traced here");
        return;
    }
    assert!(open > 0, "{page}");
}

#[test]
fn a_full_disk_is_said_sampling_goes_on_and_the_next_segments_are_written() {
    let disk = match disks::SmallDisk::new(&std::env::temp_dir(), 8 << 20) {
        Ok(disk) => disk,
        Err(reason) => {
            println!("skipped: a small disk needs root: {reason}");
            return;
        }
    };
    let Some(trial) = Trial::start(&["compute_query_id=on"]) else { return };
    let _busy = busy(&trial, HEAVY);
    let user = User::new();
    let folder = disk.mount.join("recording");
    let mut recorder = recorder_to(&user, &trial, &folder, FEW_LOOKS);
    recorder.wait_for(2);
    disk.fill();
    recorder.wait_until("it finds no room", |recorder| recorder.said().contains("there is no room in "));
    let before = recorder.segments();
    disk.empty();
    recorder.wait_for(before + 3);
    let output = recorder.end(Signal::TERM);
    let said = complaint(&output);
    assert!(said.contains("there is no room in ") && said.contains("takes segments again"), "{said}");
    assert!(String::from_utf8_lossy(&output.stdout).contains(" could not be written"));
    assert_eq!(output.status.code(), Some(1), "segments are lost: {said}");
    let page = user.ok(&format!("profile {}", folder.display()));
    assert!(page.contains("There are no samples of "), "the minutes that are missing are named: {page}");
}

#[test]
fn what_is_beyond_the_limits_is_removed_and_texts_are_left_out_where_that_is_asked_for() {
    let Some(trial) = Trial::start(&["compute_query_id=on"]) else { return };
    let _busy = busy(&trial, HEAVY);
    let user = User::new();
    let folder = user.home.path().join("recording");
    fs::create_dir(&folder).unwrap();
    let foreign = folder.join("readpath-0000000001-20200101T000000Z-20200101T000100Z.parquet");
    fs::write(&foreign, "of another program").unwrap();
    let mut recorder = recorder(&user, &trial, "--max-size 20KiB --keep 1h --no-text --rate 50");
    recorder.wait_until("its first segments are removed", |recorder| {
        let found = segments(&recorder.folder).unwrap();
        found.get(1).is_some_and(|(name, _)| name.number > 2)
    });
    let output = recorder.end(Signal::TERM);
    assert!(String::from_utf8_lossy(&output.stdout).contains("removed"), "{}", complaint(&output));
    let found = segments(&folder).unwrap();
    let ours: u64 = found[1..].iter().map(|(_, bytes)| bytes).sum();
    assert!(foreign.is_file() && ours < 40 << 10 && found[1].0.number > 2, "{found:?}");
    for (name, _) in &found[1..] {
        let bytes = fs::read(folder.join(name.to_string())).unwrap();
        let (segment, _) = recording::read(&folder.join(name.to_string())).unwrap();
        assert!(segment.statements.iter().all(|one| one.text.is_empty()));
        assert!(!bytes.windows(6).any(|part| part == b"secret"));
    }
}

#[test]
fn a_recorder_that_cannot_read_the_servers_memory_says_so_also_where_it_is_quiet() {
    let Some(trial) = Trial::start_apart(&[]) else { return };
    let user = User::new();
    let mut recorder = recorder(&user, &trial, FEW_LOOKS);
    recorder.wait_for(1);
    let said = complaint(&recorder.end(Signal::TERM));
    assert!(said.contains("sampling by query, because the server's shared memory is not used: "), "{said}");
}

#[test]
fn what_would_be_sent_is_printed_and_what_is_no_server_is_refused() {
    let user = User::new();
    let printed = user.ok("record --on postgres://me@localhost/shop --to recording --dry-run");
    assert!(printed.contains("PREPARE readpath_sample") && !user.home.path().join("recording").exists());
    let rate = "-- 50 times a second, at varying intervals; where the server's memory can be read, 2 times a second, ";
    assert!(printed.contains(rate), "how often it is asked: {printed}");
    let assumed = "-- The version of the server is not asked, and is taken to be 18.\n";
    assert!(printed.contains(assumed), "what another version is sent can differ: {printed}");
    assert!(user.ok("top --on postgres://localhost/x --dry-run").contains(assumed));
    let refused = |words: &str| user.refused(&format!("record --to recording {words}"), 2);
    assert!(refused("--on postgres:18").contains("a server that runs"));
    assert!(refused("--on postgres://localhost/shop --rate 5000").contains("from 1 to 2000"));
    assert!(refused("--on postgres://localhost/shop --segment 5m").contains("from 1s to 60s"));
    assert!(refused("--on postgres://localhost/shop --keep 0s").contains("keeps nothing"));
    assert!(!user.home.path().join("recording").exists());
}

#[test]
fn the_unit_for_systemd_is_one_that_systemd_takes() {
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/systemd/readpath-record.service");
    let text = fs::read_to_string(unit).unwrap();
    for line in ["NoNewPrivileges=yes", "ReadOnlyPaths=/", "User=postgres", "ProtectSystem=strict"] {
        assert!(text.lines().any(|found| found == line), "{line}");
    }
    // A malformed address would be tried every 10 s without an end, and the service never called failed.
    assert!(text.lines().any(|line| line == "RestartPreventExitStatus=2"), "what a wrong command line ends with");
    let place = tempfile::tempdir().unwrap();
    let copy = place.path().join("readpath-record.service");
    // The program need not be installed where it is verified.
    fs::write(&copy, text.replace("/usr/bin/readpath", env!("CARGO_BIN_EXE_readpath"))).unwrap();
    let verified = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&copy).output();
    let Ok(output) = verified else {
        println!("skipped: systemd-analyze is not installed");
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let about: Vec<&str> = said.lines().filter(|line| line.contains("readpath-record")).collect();
    assert!(output.status.success() && about.is_empty(), "{said}");
}
