//! Commands under limits of the kernel: of threads, memory, descriptors, disk. They end in a sentence or in a correct
//! run, and soon.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::user::{DEBIAN, User, complaint, has_debian};

/// Numbers of users that no account of this machine has: each command is another one's, so that only its own threads
/// count.
static STRANGERS: AtomicU32 = AtomicU32::new(543_210_000);

/// How long a command may take under a limit, on a machine that does other things too.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a command to its end. Panics where it does not end.
pub(crate) fn ended(mut command: Command) -> Output {
    let child = command.spawn().unwrap();
    let process = child.id();
    let waiting = thread::spawn(move || child.wait_with_output().unwrap());
    let start = Instant::now();
    while !waiting.is_finished() {
        if start.elapsed() > LIMIT {
            let _ = Command::new("kill").args(["-9", &process.to_string()]).status();
            panic!("it did not end: {command:?}");
        }
        thread::sleep(Duration::from_millis(20));
    }
    waiting.join().unwrap()
}

/// The command of `user` under limits as prlimit(1) takes them. The number of processes does not limit root: root
/// becomes a user of no other process, and keeps what the folders of the test need.
fn limited(user: &User, limits: &str, words: &str) -> Command {
    let own = user.command(words);
    let mut command = Command::new("prlimit");
    command.args(limits.split_whitespace());
    if limits.contains("--nproc") && rustix::process::geteuid().is_root() {
        let capability = ["--inh-caps=+dac_override", "--ambient-caps=+dac_override"];
        let stranger = STRANGERS.fetch_add(1, Ordering::Relaxed);
        command.args(["setpriv", "--clear-groups", &format!("--reuid={stranger}"), &format!("--regid={stranger}")]);
        command.args(capability);
        for folder in [user.home.path(), user.temporary.path()] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
        }
    }
    command.arg(own.get_program()).args(own.get_args()).env_clear();
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    command
}

/// The limit of threads at which a command can have about `more` of them.
fn thread_limit(more: u64) -> String {
    if rustix::process::geteuid().is_root() {
        return format!("--nproc={more}");
    }
    let own = rustix::process::getuid().as_raw();
    let threads_of = |status: String| {
        let field =
            |name| status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
        (field("Uid:") == Some(u64::from(own))).then(|| field("Threads:")).flatten()
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let statuses = processes.filter_map(|process| fs::read_to_string(process.path().join("status")).ok());
    let taken: u64 = statuses.filter_map(threads_of).sum();
    format!("--nproc={}", taken + more)
}

/// Whether limits can be set; a skip where they cannot.
fn can_limit() -> bool {
    let is_there = ["prlimit", "setpriv"].iter().all(|program| Command::new(program).arg("--version").output().is_ok());
    if !is_there {
        println!("skipped: prlimit and setpriv of util-linux are not installed");
    }
    is_there
}

/// What a command must never leave, whatever ended it.
fn assert_tidy(user: &User) {
    let left: Vec<_> = fs::read_dir(user.temporary.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A trace of two dozen chunks, so that a dozen workers read it.
fn traces(user: &User) -> PathBuf {
    let whole = include_str!("../traces/shop_ora_4711.trc");
    let text = whole.repeat((6 << 20) / whole.len());
    let path = user.home.path().join("shop_ora_1.trc");
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_thread_that_cannot_be_started_is_one_sentence_and_not_a_hang() {
    if !can_limit() {
        return;
    }
    let user = User::new();
    fs::write(user.home.path().join("a.dat"), vec![7; 8 << 20]).unwrap();
    let home = user.home.path().display();
    for words in [
        format!("disk {home}/a.dat --workers 128 --duration 200ms"),
        "lio --payload 8MiB --row-length 250 --columns 5 --threads 1,128".into(),
        "scan --rows 10000 --no-valgrind --threads 128".into(),
    ] {
        let output = ended(limited(&user, &thread_limit(12), &format!("{words} -q --no-store")));
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(1), "{words}: {said}");
        assert!(said.contains("a thread could not be started") && !said.contains("panicked"), "{words}: {said}");
        assert_eq!(said.matches("could not be started").count(), 1, "{words}: {said}");
    }
    assert_tidy(&user);
}

#[test]
fn reads_that_take_more_threads_than_there_can_be_are_advised_to_be_fewer_at_once() {
    if !can_limit() {
        return;
    }
    let user = User::new();
    fs::write(user.home.path().join("a.dat"), vec![7; 8 << 20]).unwrap();
    let home = user.home.path().display();
    let words = format!("disk {home}/a.dat --buffered --depth 128 --io-method threads --duration 200ms -q --no-store");
    let output = ended(limited(&user, &thread_limit(12), &words));
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("one of 128 could not be started") && said.contains("use a smaller depth"), "{said}");
    assert!(!said.contains("--io-method sync"), "that method holds one read in flight: {said}");
}

#[test]
fn a_profile_by_fewer_threads_than_were_asked_for_is_the_same() {
    if !can_limit() {
        return;
    }
    let user = User::new();
    let trace = traces(&user);
    assert!(Command::new("gzip").args(["-1", "-k"]).arg(&trace).status().unwrap().success());
    for file in [trace.display().to_string(), format!("{}.gz", trace.display())] {
        let profile = |workers| format!("profile {file} --workers {workers} -q --no-store");
        let expected = user.run(&profile(2));
        for more in [2, 4, 12] {
            let output = ended(limited(&user, &thread_limit(more), &profile(128)));
            assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
            assert!(output.stdout == expected.stdout, "{file} with {more} threads");
        }
    }
}

/// A small run of each experiment; `HOME` stands for the user's.
const SMALL: [&str; 10] = [
    "ladder --dir HOME --size 1TiB",
    "disk HOME/a.dat --duration 100ms",
    "disk model:ssd --duration 100ms",
    "roundtrip HOME/a.dat --blocks 16",
    "lio --payload 1MiB --row-length 250 --columns 5 --repeat 1",
    "lio --on sqlite --payload 1MiB --row-length 250 --columns 5 --repeat 1",
    "scan --rows 5000 --path full-scan --no-valgrind --repeat 1",
    "join --rows 2000 --repeat 1",
    "profile HOME/shop_ora_4711.trc",
    "run HOME/jobs.toml",
];

/// Runs a command that may not get what it needs: it ends in a sentence or in a run, and leaves nothing.
fn assert_ends_well(user: &User, limits: &str, words: &str) {
    ends_in_a_run(user, limits, words);
}

/// The same; whether it ended in a run.
fn ends_in_a_run(user: &User, limits: &str, words: &str) -> bool {
    let words = words.replace("HOME", &user.home.path().display().to_string());
    let output = ended(limited(user, limits, &format!("{words} -q --no-store")));
    let said = complaint(&output);
    let is_sentence = said.starts_with("readpath: ") && !said.contains("panicked");
    match output.status.code() {
        Some(0) => assert!(!output.stdout.is_empty(), "{words} with {limits}: no page"),
        Some(1 | 2) => assert!(is_sentence, "{words} with {limits}: {said}"),
        _ => panic!("{words} with {limits}: {} {said}", output.status),
    }
    assert_tidy(user);
    output.status.success()
}

/// A user with a file to read and a trace.
fn equipped() -> User {
    let user = User::new();
    fs::write(user.home.path().join("a.dat"), vec![7; 8 << 20]).unwrap();
    fs::write(user.home.path().join("jobs.toml"), "[disk]\npaths = 'null:'\nduration = '50ms'\n").unwrap();
    fs::write(user.home.path().join("shop_ora_4711.trc"), include_str!("../traces/shop_ora_4711.trc")).unwrap();
    user
}

#[test]
fn with_too_few_threads_every_experiment_ends_in_a_sentence_or_a_run() {
    if !can_limit() {
        return;
    }
    let user = equipped();
    for more in [1, 3] {
        SMALL.iter().for_each(|words| assert_ends_well(&user, &thread_limit(more), words));
    }
}

#[test]
fn runs_of_a_job_file_that_cannot_be_started_are_listed_and_keep_no_other_from_being_tried() {
    if !can_limit() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: the threads of a user's other programs come and go, and no limit is exact to one");
    }
    let user = User::new();
    let text = "[first]\nexperiment = 'null'\n\n[second]\nexperiment = 'null'\n";
    fs::write(user.home.path().join("jobs.toml"), text).unwrap();
    let words = format!("run {}/jobs.toml -q --no-store", user.home.path().display());
    // Besides the thread that waits for signals there is room for none, or for the one that starts the process.
    for more in [2, 3] {
        let output = ended(limited(&user, &thread_limit(more), &words));
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("the process of run first could not be started: "), "{said}");
        assert!(said.contains("2 of 2 runs failed: first (not started); second (not started)."), "{said}");
    }
    assert_tidy(&user);
}

#[test]
fn a_name_that_no_thread_can_look_up_is_one_sentence() {
    if !can_limit() {
        return;
    }
    // A library that looks up names starts a thread for each, or panics.
    for words in ["clean --on postgres://me@localhost:1/shop -q", "lio --on postgres:18 --alone -q --no-store"] {
        for more in [1, 2, 3] {
            let user = User::new();
            let mut command = limited(&user, &thread_limit(more), words);
            command.env("HTTPS_PROXY", "http://localhost:1");
            let output = ended(command);
            let said = complaint(&output);
            assert_eq!(output.status.code(), Some(1), "{words} with {more}: {said}");
            assert!(said.starts_with("readpath: ") && !said.contains("panicked"), "{words} with {more}: {said}");
            assert_tidy(&user);
        }
    }
}

#[test]
fn a_file_that_is_named_and_is_a_pipe_is_refused_and_not_waited_for() {
    let user = User::new();
    let pipe = user.home.path().join("g.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let server = "--on postgres://me@localhost:1/shop";
    for words in [
        "disk model:./g.toml".into(),
        "join --on model:./g.toml".into(),
        format!("calibrate {server} --queries g.toml"),
        format!("calibrate {server} --queries /dev/zero"),
        format!("clean {server}?sslmode=verify-ca&sslrootcert=g.toml"),
    ] {
        let mut command = user.command(&words);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = ended(command);
        let said = complaint(&output);
        assert!(matches!(output.status.code(), Some(1 | 2)), "{words}: {said}");
        assert!(said.contains("not a regular file"), "{words}: {said}");
    }
}

#[test]
fn with_too_little_memory_every_experiment_ends_in_a_sentence_or_a_run() {
    if !can_limit() {
        return;
    }
    let user = equipped();
    for limit in ["--as=60000000", "--as=250000000"] {
        SMALL.iter().for_each(|words| assert_ends_well(&user, limit, words));
    }
}

#[test]
fn too_little_memory_is_no_wrong_command_line() {
    if !can_limit() {
        return;
    }
    let user = equipped();
    let mut refused = 0;
    for mebibytes in [40, 50, 60, 70, 90, 120, 160] {
        let limit = format!("--as={}", mebibytes << 20);
        if !ended(limited(&user, &limit, "--version")).status.success() {
            continue;
        }
        for words in [
            "lio --payload 16MiB --row-length 250 --columns 5 --repeat 1 --threads 4",
            "scan --rows 100000 --repeat 1 --no-valgrind",
            "join --rows 10000 --outer-rows 100 --repeat 1",
        ] {
            let output = ended(limited(&user, &limit, &format!("{words} -q --no-store")));
            let said = complaint(&output);
            match output.status.code() {
                Some(0) => {}
                Some(1) => {
                    assert!(said.starts_with("readpath: ") && !said.contains("panicked"), "{words}, {limit}: {said}");
                    refused += 1;
                }
                _ => panic!("{words} with {limit}: {} {said}", output.status),
            }
        }
    }
    assert_tidy(&user);
    assert!(refused > 0, "the limits are too high to refuse anything");
}

#[test]
fn memory_that_is_refused_in_the_middle_is_one_sentence_at_every_limit() {
    if !can_limit() {
        return;
    }
    let user = equipped();
    traces(&user);
    let words = format!("profile {} --workers 2 -q --no-store", user.home.path().display());
    let mut refused = 0;
    for mebibytes in (20..80).step_by(2) {
        let limit = format!("--as={}", mebibytes << 20);
        // Below the size of the program itself the loader ends it.
        if !ended(limited(&user, &limit, "--version")).status.success() {
            continue;
        }
        let output = ended(limited(&user, &limit, &words));
        let said = complaint(&output);
        match output.status.code() {
            Some(0) => {}
            Some(1) => {
                let lines = said.lines().count();
                assert!(said.starts_with("readpath: ") && lines == 1, "{mebibytes} MiB: {said}");
                refused += 1;
            }
            _ => panic!("{mebibytes} MiB: {} {said}", output.status),
        }
    }
    assert!(refused > 0, "the limits are too high to refuse anything");
}

#[test]
fn with_too_few_descriptors_every_experiment_ends_in_a_sentence_or_a_run() {
    if !can_limit() {
        return;
    }
    let user = equipped();
    for limit in ["--nofile=6", "--nofile=9", "--nofile=12"] {
        SMALL.iter().for_each(|words| assert_ends_well(&user, limit, words));
    }
    // At one of these limits the folder of the tables is made and can no longer be opened. From some limit on, all that
    // is opened can be.
    let words = "lio --on sqlite --payload 1MiB --row-length 250 --columns 5 --repeat 1";
    let mut runs = 0;
    for limit in (4..16).map(|limit| format!("--nofile={limit}")) {
        // With fewer than the loader needs for the libraries, it ends the program.
        if runs < 3 && ended(limited(&user, &limit, "--version")).status.success() {
            runs = if ends_in_a_run(&user, &limit, words) { runs + 1 } else { 0 };
        }
    }
}

#[test]
fn a_page_of_many_traces_takes_no_descriptors_for_each_of_them() {
    if !can_limit() {
        return;
    }
    let user = User::new();
    let home = user.home.path().display();
    let traces: Vec<String> = (0..40).map(|number| format!("{home}/{number}.trc")).collect();
    traces.iter().for_each(|trace| fs::write(trace, include_str!("../traces/shop_ora_4711.trc")).unwrap());
    let words = format!("report {} -o {home}/page.html -q", traces.join(" "));
    let output = ended(limited(&user, "--nofile=48", &words));
    assert_eq!(output.status.code(), Some(0), "{}", complaint(&output));
    assert_tidy(&user);
}

#[test]
fn a_limit_on_the_size_of_files_kills_no_experiment() {
    if !can_limit() {
        return;
    }
    let user = equipped();
    let (limit, home) = ("--fsize=500000 --core=0", user.home.path().display());
    SMALL.iter().for_each(|words| assert_ends_well(&user, limit, words));
    let output = ended(limited(&user, limit, &format!("ladder --size 16MiB --dir {home} -q --no-store")));
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(1), "{} {said}", output.status);
    assert!(said.starts_with("readpath: ") && said.contains("ulimit -f"), "{said}");
    // The signal ends a command that is measured, as it does without readpath.
    let words = format!("counters -q --no-store -- dd if=/dev/zero of={home}/large bs=1000000 count=1");
    let output = ended(limited(&user, limit, &words));
    assert_eq!(output.status.code(), Some(128 + 25), "{}", complaint(&output));
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_where_its_signal_is_ignored_too() {
    if !can_limit() {
        return;
    }
    let user = equipped();
    let home = user.home.path().display();
    // A shell that ignores the signal, and becomes the command.
    let ignoring = |words: &str| {
        let own = limited(&user, "--fsize=500000 --core=0", words);
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]).arg(own.get_program()).args(own.get_args());
        command.env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        ended(command)
    };
    let output = ignoring(&format!("ladder --size 16MiB --dir {home} -q --no-store"));
    let said = complaint(&output);
    assert!(output.status.code() == Some(1) && said.contains("ulimit -f"), "{} {said}", output.status);
    // A command that is measured gets the error, as it would without readpath.
    let words = format!("counters -q --no-store -- dd if=/dev/zero of={home}/large bs=1000000 count=1");
    let output = ignoring(&words);
    assert_eq!(output.status.code(), Some(1), "{}", complaint(&output));
    let written = fs::metadata(user.home.path().join("large")).unwrap().len();
    assert_eq!(written, 500_000, "the command ran, and wrote up to the limit");
}

#[test]
fn a_private_server_with_too_little_of_anything_is_a_sentence_or_a_run() {
    if !can_limit() || !has_debian() {
        return;
    }
    let user = equipped();
    let small = ["lio --on SERVER --payload 1MiB --row-length 250 --columns 5 --repeat 1", "calibrate --on SERVER"];
    for limit in ["--as=80000000", "--nofile=12"] {
        for words in small {
            assert_ends_well(&user, limit, &words.replace("SERVER", &format!("postgres:{DEBIAN}")));
        }
    }
}

#[test]
fn on_a_full_disk_every_experiment_that_writes_ends_in_a_sentence_and_leaves_nothing() {
    let user = User::new();
    let small = user.temporary.path().join("small");
    let script = "mount -t tmpfs -o size=3m,mode=777 tmpfs \"$0\" && mkdir \"$0/home\" \"$0/tmp\" || exit 99
                  export HOME=\"$0/home\" TMPDIR=\"$0/tmp\"; \"$@\"; code=$?; ls -A \"$0/tmp\"; exit $code";
    fs::create_dir(&small).unwrap();
    for words in [
        "ladder --size 16MiB --dir SMALL",
        "lio --payload 16MiB --row-length 250 --columns 5 --repeat 1",
        "lio --on sqlite --payload 8MiB --row-length 250 --columns 5 --repeat 1",
        // Direct reads are refused there before anything is written.
        "join --rows 200000 --repeat 1 --buffered",
    ] {
        let own = user.command(&format!("{words} -q --no-store").replace("SMALL", &small.display().to_string()));
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "/bin/sh", "-c", script]).arg(&small);
        command.arg(own.get_program()).args(own.get_args()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let output = ended(command);
        if output.status.code() == Some(99) || complaint(&output).starts_with("unshare") {
            println!("skipped: no file system can be mounted here");
            return;
        }
        let said = complaint(&output);
        assert_eq!(output.status.code(), Some(1), "{words}: {said}");
        assert!(said.contains("free") || said.contains("left"), "{words}: {said}");
        assert!(output.stdout.is_empty(), "{words}: {}", String::from_utf8_lossy(&output.stdout));
    }
}
