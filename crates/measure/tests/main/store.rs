//! The store against what happens to real processes: killed at any moment, and a disk that is full.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use measure::random::SplitMix64;
use measure::run::SCHEMA;
use measure::schema::reads;
use measure::store::{Store, StoreError, read_run};
use measure::{Case, Run};

const CHILD_STORE: &str = "READPATH_TEST_STORE";
const KILLS: u64 = 25;
const ID: &str = "01980000-0000-7000-8000-000000000000";

/// A run in its `state`-th state, large enough that a kill lands in the middle of a write.
fn run_in_state(state: usize) -> Run {
    Run { command: vec![state.to_string()], ..run_of_cases(1 + state % 40) }
}

fn run_of_cases(count: usize) -> Run {
    let samples: Vec<f64> = (0..1000).map(|sample| f64::from(sample) * 1.25).collect();
    let metrics = vec![reads::READ_LATENCY.of_samples("clock", &samples).unwrap()];
    Run {
        schema: SCHEMA.into(),
        id: ID.into(),
        command: vec!["readpath".into()],
        started: "2026-01-01T00:00:00Z".into(),
        experiment: "disk".into(),
        cases: vec![Case { metrics, ..Case::default() }; count],
        ..Run::default()
    }
}

#[test]
#[ignore = "not a test: the child that `a_writer_killed_at_any_moment_leaves_whole_runs` starts and kills"]
fn child_that_saves_until_killed() {
    let store = Store::open(Path::new(&env::var(CHILD_STORE).unwrap())).unwrap();
    for state in 1..=1000 {
        store.save(&run_in_state(state)).unwrap();
        println!("\nsaved {state}");
    }
}

fn spawn_child(dir: &Path) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "store::child_that_saves_until_killed", "--ignored", "--nocapture"])
        .env(CHILD_STORE, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits for the child's first save, lets it go on for `delay`, and kills it without notice; gives the last state whose
/// save had returned.
fn kill_while_saving(dir: &Path, delay: Duration) -> usize {
    let mut child = spawn_child(dir);
    let (sender, saves) = mpsc::channel();
    let output = BufReader::new(child.stdout.take().unwrap());
    let reader = thread::spawn(move || {
        let lines = output.lines().map_while(Result::ok);
        let states = lines.filter_map(|line| line.strip_prefix("saved ")?.parse().ok());
        states.for_each(|state: usize| sender.send(state).unwrap());
    });
    let first = saves.recv_timeout(Duration::from_secs(120)).unwrap();
    thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
    saves.try_iter().last().unwrap_or(first)
}

#[test]
fn a_writer_killed_at_any_moment_leaves_whole_runs() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = SplitMix64::new(1);
    let mut leftovers = 0;
    for _ in 0..KILLS {
        let acknowledged = kill_while_saving(dir.path(), Duration::from_micros(random.below(20_000)));
        let files: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        let (runs, temporary): (Vec<_>, Vec<_>) =
            files.iter().partition(|path| path.extension().is_some_and(|extension| extension == "json"));
        assert_eq!(runs.len(), 1, "{files:?}");
        let kept: usize = read_run(runs[0]).unwrap().command[0].parse().unwrap();
        assert!(kept >= acknowledged, "state {acknowledged} was saved, state {kept} is there");
        leftovers += temporary.len();
    }
    Store::open(dir.path()).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "opening sweeps what killed writers left");
    println!("{KILLS} kills, {leftovers} of them found a temporary file");
}

/// A small file system in memory, unmounted on drop.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount() -> Result<SmallDisk, String> {
        let dir = tempfile::tempdir().unwrap();
        let options = ["-t", "tmpfs", "-o", "size=256k", "none"];
        let output = Command::new("mount").args(options).arg(dir.path()).output().map_err(|error| error.to_string())?;
        let refusal = String::from_utf8_lossy(&output.stderr).trim().to_string();
        if output.status.success() { Ok(SmallDisk(dir)) } else { Err(refusal) }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_refuses_the_save_and_keeps_the_state_before() {
    let disk = match SmallDisk::mount() {
        Ok(disk) => disk,
        Err(reason) => return println!("skipped: a small file system cannot be mounted here: {reason}"),
    };
    let store = Store::open(disk.0.path()).unwrap();
    store.save(&run_of_cases(1)).unwrap();
    let error = store.save(&run_of_cases(100)).unwrap_err();
    assert!(matches!(error, StoreError::NotSaved { .. }), "{error}");
    assert_eq!(store.load_passing("last", &mut Vec::new()).unwrap(), run_of_cases(1));
    assert_eq!(fs::read_dir(disk.0.path()).unwrap().count(), 1, "the failed save left nothing");
}
