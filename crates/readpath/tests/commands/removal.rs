//! What is kept can be removed, and what a killed run left is removed by the next one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::children::{first_child, is_running};
use crate::user::{User, complaint};

/// A run that takes no time.
const PROFILE: &str = concat!("profile ", env!("CARGO_MANIFEST_DIR"), "/tests/traces/shop_ora_4711.trc -q");

/// Tables of a mebibyte.
const LIO: &str = "lio --payload 1MiB --row-length 250 --columns 5 --repeat 1 -q --no-store";

/// What a command that succeeds prints.
fn said(user: &User, words: &str) -> String {
    let output = user.run(words);
    assert!(output.status.success(), "{words}: {}", complaint(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn tables(user: &User) -> PathBuf {
    user.home.path().join(".cache/readpath/tables")
}

#[test]
fn kept_runs_are_the_owners_alone_and_are_removed_when_asked_and_no_others() {
    let user = User::new();
    let store = user.home.path().join(".local/share/readpath/runs");
    (0..4).for_each(|_| drop(said(&user, PROFILE)));
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&store), 0o700);
    assert!(names(&store).iter().all(|name| mode(&store.join(name)) == 0o600));
    assert!(said(&user, "runs rm last last~1").starts_with("2 runs were removed from"));
    assert_eq!(names(&store).len(), 2);
    assert!(said(&user, "runs rm --older-than 1d").starts_with("No run was removed"));
    for (words, code) in [("runs rm", 2), ("runs rm last --all", 2), ("runs rm --older-than soon", 2), ("runs rm 7", 2)]
    {
        user.refused(words, code);
    }
    assert!(said(&user, "runs rm --all").contains("2 runs were removed"));
    assert!(names(&store).is_empty());
}

#[test]
fn a_file_of_another_program_among_the_runs_is_named_and_stays() {
    let user = User::new();
    said(&user, PROFILE);
    fs::write(user.store().join("package.json"), "{}").unwrap();
    let refusal = user.refused("runs rm last pack", 2);
    assert!(refusal.contains("package.json is no run of readpath: nothing was removed."), "{refusal}");
    assert_eq!(names(&user.store()).len(), 2);
}

#[test]
fn a_removal_that_a_script_wants_as_json_is_refused_and_removes_nothing() {
    let user = User::new();
    said(&user, PROFILE);
    for words in ["runs rm --all --format json", "runs --format json rm last", "--format json runs rm --all"] {
        let refusal = user.refused(words, 2);
        let said = "--format has no effect here: removing runs prints one sentence";
        assert!(refusal.contains(said), "{words}: {refusal}");
    }
    assert_eq!(names(&user.home.path().join(".local/share/readpath/runs")).len(), 1);
    said(&user, "runs rm --all");
}

#[test]
fn a_shared_store_stays_as_open_as_its_owner_made_it_and_the_usual_one_is_closed() {
    let user = User::new();
    let (shared, usual) = (user.home.path().join("shared"), user.home.path().join(".local/share/readpath/runs"));
    for folder in [&shared, &usual] {
        fs::create_dir_all(folder).unwrap();
        fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    said(&user, &format!("{PROFILE} --store {}", shared.display()));
    said(&user, PROFILE);
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!((mode(&shared), mode(&usual)), (0o755, 0o700));
    assert_eq!(mode(&shared.join(&names(&shared)[0])) & 0o444, 0o444);
}

#[test]
fn tables_and_leftovers_are_removed_when_asked_and_a_dry_run_removes_nothing() {
    let user = User::new();
    said(&user, LIO);
    let left = user.temporary.path().join("readpath-valgrind-1-0");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("counts.1"), "left").unwrap();
    let before = names(&tables(&user));
    assert!(said(&user, "clean --dry-run").contains("KiB of tables in"));
    assert!(before.len() > 1 && names(&tables(&user)) == before && left.is_dir());
    let text = said(&user, "clean");
    assert!(text.contains("of tables in") && text.contains("readpath-valgrind-1-0, left by a killed run"), "{text}");
    assert!(!user.home.path().join(".cache/readpath").exists() && !left.exists());
    assert!(said(&user, "clean").contains("There are no tables in"));
    said(&user, LIO);
}

#[test]
fn a_folder_that_is_in_use_stays_and_all_else_is_removed() {
    let user = User::new();
    let cache = user.home.path().join(".cache/readpath");
    let (tables, programs) = (cache.join("tables"), cache.join("postgres"));
    for folder in [&tables, &programs] {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("file"), [7; 2048]).unwrap();
    }
    let left = user.temporary.path().join("readpath-valgrind-1-0");
    fs::create_dir(&left).unwrap();
    let lock = fs::File::create(tables.join("readpath.lock")).unwrap();
    lock.try_lock().unwrap();
    let output = user.run("clean");
    let (printed, complaint) = (String::from_utf8_lossy(&output.stdout).into_owned(), complaint(&output));
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(printed.contains("2 KiB of programs of PostgreSQL in") && printed.contains("readpath-valgrind-1-0"));
    assert!(!printed.contains("of tables in"), "{printed}");
    assert!(complaint.contains("another run is at work in") && complaint.contains("repeat when that run has ended"));
    assert!(tables.join("file").is_file() && !programs.exists() && !left.exists());
    drop(lock);
    assert!(said(&user, "clean").contains("of tables in"));
    assert!(!cache.exists());
}

#[test]
fn programs_that_a_run_without_a_home_kept_among_temporary_files_are_removed_too() {
    let user = User::new();
    let name = format!("readpath-programs-{}", rustix::process::geteuid().as_raw());
    let kept = user.temporary.path().join(name);
    fs::create_dir_all(kept.join("18.6.0")).unwrap();
    fs::set_permissions(&kept, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    fs::write(kept.join("18.6.0/postgres"), [7; 2048]).unwrap();
    let output = user.command("clean").env_remove("HOME").output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(printed.contains("2 KiB of programs of PostgreSQL in"), "{printed}{}", complaint(&output));
    assert!(!kept.exists());
}

#[test]
fn what_cleans_a_copy_is_named_in_a_sentence_that_does_not_read_as_an_error_of_that_command() {
    let said = User::new().refused("clean --on postgres:copy:/srv/copy?dbname=shop", 2);
    assert!(said.starts_with("readpath: clean starts no server on a copy of a data directory: "), "{said}");
    assert!(said.contains("`readpath calibrate --on 'postgres:copy:/srv/copy?dbname=shop'` removes"), "{said}");
}

#[test]
fn no_empty_folder_is_left_in_the_cache_and_what_is_not_ours_stays_there() {
    let user = User::new();
    let cache = user.home.path().join(".cache/readpath");
    let larger = user.home.path().join("larger-disk");
    for folder in [&cache.join("postgres"), &larger] {
        fs::create_dir_all(folder).unwrap();
    }
    std::os::unix::fs::symlink(&larger, cache.join("tables")).unwrap();
    said(&user, LIO);
    said(&user, "clean");
    assert_eq!(names(&cache), ["tables"], "a link to a larger disk stays");
    assert!(larger.is_dir() && names(&larger).is_empty());
    fs::remove_file(cache.join("tables")).unwrap();
    fs::create_dir(cache.join("tables")).unwrap();
    user.file(".cache/readpath/note", b"of the user");
    said(&user, "clean --dry-run");
    assert_eq!(names(&cache).len(), 2);
    said(&user, "clean");
    assert_eq!(names(&cache), ["note"]);
}

#[test]
fn a_damaged_list_of_tables_is_mended_by_loading_them_again() {
    let user = User::new();
    said(&user, LIO);
    fs::write(tables(&user).join("manifest.json"), "{ torn").unwrap();
    let refusal = user.refused(LIO, 1);
    assert!(refusal.contains("manifest.json is damaged") && refusal.contains("--reload does"), "{refusal}");
    said(&user, &format!("{LIO} --reload"));
    said(&user, LIO);
}

#[test]
fn files_of_the_user_in_a_directory_that_is_named_for_tables_stay_whatever_is_asked_for() {
    let user = User::new();
    let files = [("mine/manifest.json", "{\"name\": \"mine\"}"), ("own/segment-00000.pages", "my own pages")];
    for (name, text) in files {
        let file = user.file(name, text.as_bytes());
        let folder = Path::new(&file).parent().unwrap().display().to_string();
        let join = format!("join --rows 20000 --buffered -q --no-store --dir {folder}");
        for words in [format!("{LIO} --dir {folder}"), join] {
            for words in [format!("{words} --reload"), words] {
                let refusal = user.refused(words.as_str(), 1);
                let said = "was not made by readpath, whose tables would take its place: name an empty directory";
                assert!(refusal.contains(name) && refusal.contains(said), "{words}: {refusal}");
                assert!(!refusal.contains("--reload does"), "{words}: {refusal}");
            }
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        assert_eq!(names(Path::new(&folder)).len(), 1);
    }
}

/// Kills readpath, and waits until its child is gone.
fn assert_child_ends_with(user: &User, words: &str) {
    let mut readpath = user.command(words).spawn().unwrap();
    let child = first_child(readpath.id()).expect("a child");
    readpath.kill().unwrap();
    readpath.wait().unwrap();
    let start = Instant::now();
    while is_running(child) {
        // Less than the child takes by itself.
        assert!(start.elapsed() < Duration::from_secs(20), "{words}: the child goes on");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_counted_command_ends_with_a_killed_readpath() {
    assert_child_ends_with(&User::new(), "counters -q --no-store -- sleep 300");
}

#[test]
fn valgrind_ends_with_a_killed_readpath_and_its_folder_is_removed_by_the_next() {
    if !Path::new("/usr/bin/valgrind").exists() {
        println!("skipped: valgrind is not installed");
        return;
    }
    let user = User::new();
    assert_child_ends_with(&user, "scan --rows 300000 --path full-scan -q --no-store");
    // Valgrind writes the command line that its client is to see to a file, opens it and unlinks it; killed in between
    // it leaves that.
    let left = || names(user.temporary.path()).into_iter().filter(|name| !name.starts_with("valgrind_proc_"));
    assert_eq!(left().count(), 1, "{:?}", names(user.temporary.path()));
    said(&user, "counters --valgrind -q --no-store -- true");
    assert_eq!(left().count(), 0, "{:?}", names(user.temporary.path()));
}
