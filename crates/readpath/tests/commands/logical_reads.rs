//! `readpath lio` as a user calls it: every axis on small tables, parameters that cannot be, ^C, damaged files.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::user::{User, complaint, ids, median};

/// A user of `readpath lio`.
fn user() -> User {
    User::calling("lio")
}

/// The document of a command that must succeed, on tables of 4 MiB where the words do not say another size.
fn document(user: &User, words: &str) -> Value {
    let payload = if words.contains("--payload") { "" } else { "--payload 4MiB" };
    user.document(&format!("{words} {payload} --repeat 2"))
}

/// The data files of the tables.
fn tables(user: &User) -> Vec<PathBuf> {
    let entries = fs::read_dir(user.home.path().join(".cache/readpath/tables"));
    let paths = entries.into_iter().flatten().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|end| end == "pages")).collect()
}

/// The cases that are not cross-checks.
fn cases(document: &Value) -> Vec<&Value> {
    let all = document["cases"].as_array().unwrap().iter();
    all.filter(|case| case["parameters"]["check"].is_null()).collect()
}

#[test]
fn the_nine_cells_are_measured_and_their_counts_add_up() {
    let user = user();
    let document = document(&user, "");
    assert_eq!(document["experiment"], "lio");
    assert_eq!(document["subject"]["kind"], "engine");
    let cases = cases(&document);
    assert_eq!(cases.len(), 9);
    for case in cases {
        let parameters = &case["parameters"];
        let row_length = parameters["row_length"].as_f64().unwrap();
        assert_eq!((&parameters["access"], &parameters["touch"]), (&"full-scan".into(), &"rows".into()));
        let (rows, gets) = (median(case, "rows"), median(case, "gets"));
        assert_eq!(rows, ((4 << 20) as f64 / row_length).floor());
        assert_eq!(gets, (rows / median(case, "rows_per_block")).round());
        assert_eq!(median(case, "physical_reads"), 0.0);
        let lio = median(case, "cpu") / gets * 1e6;
        assert!((median(case, "lio") / lio - 1.0).abs() < 0.5, "{case}");
        assert!(median(case, "get") > 0.0 && median(case, "elapsed") > 0.0);
        median(case, "row_walk");
    }
    let found = ids(&document);
    assert!(found.contains(&"answer-ratio") || found.contains(&"absent-physical"), "{found:?}");
    assert!(found.iter().any(|id| id.starts_with("sources-")), "{found:?}");
    assert_eq!(tables(&user).len(), 10, "nine tables and the companion stay for the next run");
}

#[test]
fn every_axis_multiplies_the_cases_and_renders_within_80_columns() {
    let user = user();
    let axes = "--row-length 250 --columns 5 --access full-scan,rowid,one-page --threads 1,2 --changed-rows 0,50 \
                --touch directory,rows,column-2,column-last --payload 1MiB";
    let document = document(&user, axes);
    let cases = cases(&document);
    assert_eq!(cases.len(), 3 * 4 * 2 * 2);
    for case in &cases {
        let parameters = &case["parameters"];
        let scans = parameters["access"] == "full-scan";
        let changed = parameters["changed_rows"] == 50;
        assert_eq!(median(case, "rebuilt_blocks") > 0.0, changed, "{case}");
        if scans {
            assert_eq!(median(case, "gets") - median(case, "undo_gets"), median(cases[0], "gets"), "{case}");
        }
        assert_ne!(parameters["touch"], "column-last");
    }
    for id in ["answer-changed-rows", "answer-threads", "answer-contention"] {
        assert!(ids(&document).contains(&id), "{id}: {:?}", ids(&document));
    }
    // A page is rendered from the kept document alone: to see it, nothing needs to be measured again.
    let page = user.program().args(["show", "last"]).output().unwrap().stdout;
    let page = String::from_utf8(page).unwrap();
    assert!(page.starts_with("readpath lio") && page.contains("one-page"), "{page}");
    let wide = page.lines().find(|line| line.chars().count() > 80 && !line.contains(".cache/"));
    assert_eq!(wide, None);
}

#[test]
fn memory_is_the_pool_and_at_most_64_mebibytes() {
    let user = user();
    let words = "--payload 256MiB --row-length 250 --columns 5 --changed-rows 0,10 --repeat 1 --reload --format json";
    let mut child = user.command(words).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    // The reader of the pipe must not be late, or a long document would block the child.
    let mut stdout = child.stdout.take().unwrap();
    let document = std::thread::spawn(move || std::io::read_to_string(&mut stdout).unwrap());
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(&status).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        peak = peak.max(kilobytes.unwrap_or(0) << 10);
        std::thread::sleep(Duration::from_millis(2));
    }
    let document: Value = serde_json::from_str(&document.join().unwrap()).unwrap();
    let pool = document["subject"]["pool_bytes"].as_u64().unwrap();
    assert!(pool >= 256 << 20 && peak > pool / 2, "pool {pool}, peak {peak}: too little was seen to prove anything");
    assert!(peak <= pool + (64 << 20), "{} MiB beside a pool of {} MiB", (peak - pool) >> 20, pool >> 20);
}

#[test]
fn what_cannot_be_is_refused_as_wrong_words() {
    let user = user();
    for (words, says) in [
        ("--row-length 10 --columns 25", "25 columns do not fit"),
        ("--touch column-6 --columns 5", "--columns 6"),
        ("--touch column-2", "1 column"),
        ("--touch column-0", "column-1"),
        ("--touch header", "column-last"),
        ("--access index", "full-scan"),
        ("--threads 0", "--threads 0"),
        ("--changed-rows 101", "percentage"),
        ("--changed-rows 0.5", "whole percentage"),
        ("--changed-rows 10%", "whole percentage"),
        ("--row-length 0", "at least 1 byte"),
        ("--repeat 0", "--repeat"),
        ("--row-length 9000 --columns 1", "does not fit into a page"),
        ("--payload 100 --row-length 2500", "less than one row"),
        ("--payload much", "8192"),
    ] {
        let complaint = user.refused(words, 2);
        assert!(complaint.contains(says), "{words}: {complaint}");
    }
    assert!(tables(&user).is_empty(), "a table was made for a wrong command line");
    let complaint = user.refused("--payload 900TiB --row-length 2500 --columns 1", 2);
    assert!(complaint.contains("32 TiB"), "{complaint}");
    let complaint = user.refused("--payload 3TiB --row-length 2500 --columns 1", 1);
    assert!(complaint.contains("--payload"), "{complaint}");
}

#[test]
fn a_table_is_reused_and_a_damaged_one_is_an_error_until_it_is_loaded_again() {
    let user = user();
    let one = "--row-length 250 --columns 5";
    document(&user, one);
    let paths = tables(&user);
    let times: Vec<_> = paths.iter().map(|path| fs::metadata(path).unwrap().modified().unwrap()).collect();
    document(&user, one);
    let again: Vec<_> = tables(&user).iter().map(|path| fs::metadata(path).unwrap().modified().unwrap()).collect();
    assert_eq!(times, again);
    let (path, error) = (&paths[0], "load the table again; --reload does");
    let whole = fs::read(path).unwrap();
    let last = whole.len() - 8192;
    let damaged = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at + 4000] ^= 1;
        bytes
    };
    let spoilt = [
        (whole[..whole.len() / 2].to_vec(), "bytes long and should be"),
        (damaged(0), "page 0 is damaged"),
        (damaged(8192), "page 1 is damaged"),
        (damaged(last), "is damaged"),
    ];
    for (bytes, reason) in spoilt {
        fs::write(path, &bytes).unwrap();
        let complaint = user.refused(&format!("{one} --payload 4MiB"), 1);
        assert!(complaint.contains(reason) && complaint.contains(error), "{complaint}");
        assert_eq!(fs::read(path).unwrap(), bytes, "it was replaced without a word");
    }
    document(&user, &format!("{one} --reload"));
    document(&user, one);
}

#[test]
fn an_interrupted_load_leaves_nothing_that_is_half_used() {
    let user = user();
    for after in [150, 400, 900] {
        let child = user.command("--payload 256MiB --row-length 25 --columns 25").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(after));
        let status = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(status.success());
        let output = child.wait_with_output().unwrap();
        let code = output.status.code();
        // Before the signal handler is in place, the signal ends the process as it ends any other.
        assert!(code == Some(130) || code.is_none(), "{code:?} {}", complaint(&output));
        assert!(!complaint(&output).contains("panicked"), "{}", complaint(&output));
    }
    // Whatever was left, the next run makes a whole table of it.
    let document = document(&user, "--row-length 25 --columns 25");
    assert_eq!(median(cases(&document)[0], "rows"), ((4 << 20) / 25) as f64);
}

#[test]
fn a_data_directory_that_cannot_be_is_told() {
    let user = user();
    let file = user.home.path().join("file");
    File::create(&file).unwrap();
    let words = format!("--row-length 250 --columns 5 --payload 4MiB --dir {}", file.display());
    let complaint = user.refused(&words, 1);
    assert!(complaint.contains("--dir DIR"), "{complaint}");
}

#[test]
fn a_flame_graph_is_written_whole_or_not_at_all() {
    let user = user();
    let path = user.home.path().join("graph.svg");
    let words = format!("--row-length 25 --columns 25 --touch column-last --flamegraph {}", path.display());
    let output = user.run(&format!("{words} --payload 4MiB --repeat 2"));
    assert!(output.status.success(), "{}", complaint(&output));
    let said = format!("{}: flame graph", path.display());
    assert!(complaint(&output).contains(&said), "what was written is not said: {}", complaint(&output));
    let svg = fs::read_to_string(&path).unwrap();
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("samples, "), "{svg}");
    assert!(svg.contains("<title>walk_ahead: ") && !svg.contains("fetch_by_rowid"), "a cross-check is in it: {svg}");
    fs::remove_file(&path).unwrap();
    user.refused(&format!("{words} --dir /dev/null/nowhere --payload 4MiB"), 1);
    let left: Vec<_> = fs::read_dir(user.home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let is_left = |name: &str| name.contains("graph") || name.contains("writing");
    assert!(!left.iter().any(|name| is_left(&name.to_string_lossy())), "{left:?}");
    assert!(user.refused("--flamegraph /nowhere/at/all.svg", 1).contains("/nowhere"));
}

#[test]
fn a_flame_graph_of_a_run_that_could_not_be_kept_is_not_lost_with_it() {
    let user = user();
    // A file in the place of the store's folder.
    user.file(".local", b"");
    let path = user.home.path().join("graph.svg");
    let words = format!("--row-length 25 --columns 25 --touch column-last --flamegraph {}", path.display());
    let output = user.run(&format!("{words} --payload 4MiB --repeat 2"));
    assert_eq!(output.status.code(), Some(3), "{}", complaint(&output));
    assert!(fs::read_to_string(&path).unwrap().contains("samples, "));
}

#[test]
fn a_program_without_names_of_functions_draws_no_flame_graph_of_unknown_ones() {
    let user = user();
    let stripped = user.home.path().join("readpath");
    let strip =
        Command::new("strip").arg("-o").args([&stripped, &PathBuf::from(env!("CARGO_BIN_EXE_readpath"))]).status();
    if !strip.is_ok_and(|status| status.success()) {
        println!("skipped: strip is not installed");
        return;
    }
    let output = Command::new(&stripped).args(["lio", "--flamegraph", "walk.svg"]).current_dir(&user.home).output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", complaint(&output));
    assert!(complaint(&output).contains("cargo build --release"), "{}", complaint(&output));
    assert!(!user.home.path().join("walk.svg").exists());
}

#[test]
fn a_flame_graph_that_is_there_is_replaced_only_when_that_is_asked() {
    let user = user();
    let path = user.file("walk.svg", b"of last week");
    let words = format!("--row-length 250 --columns 5 --flamegraph {path}");
    let complaint = user.refused(&words, 2);
    assert!(complaint.contains("is there already") && complaint.contains("--force"), "{complaint}");
    assert!(tables(&user).is_empty() && fs::read(&path).unwrap() == b"of last week");
    document(&user, &format!("{words} --force"));
    assert!(fs::read_to_string(&path).unwrap().starts_with("<svg"));
}

#[test]
fn a_flame_graph_never_takes_the_place_of_what_is_no_plain_file() {
    let user = user();
    let folder = user.home.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let socket = user.home.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let link = user.home.path().join("link");
    std::os::unix::fs::symlink(&socket, &link).unwrap();
    // As the files of other commands: the command line names what cannot be written.
    for (path, reason) in [(&folder, "is a folder"), (&socket, "not a regular file"), (&link, "not a regular file")] {
        let complaint = user.refused(&format!("--flamegraph {}", path.display()), 2);
        assert!(complaint.contains(reason), "{complaint}");
    }
    assert!(tables(&user).is_empty(), "something was measured before the refusal");
    let target = user.home.path().join("target.svg");
    File::create(&target).unwrap();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    document(&user, &format!("--row-length 250 --columns 5 --flamegraph {} --force", link.display()));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&target).unwrap().ends_with("</svg>\n"));
}
