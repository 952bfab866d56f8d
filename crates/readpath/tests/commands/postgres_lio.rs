//! `readpath lio --on` and `readpath clean --on` as a user calls them, on a given server: what is
//! counted is what is there, nothing stays and nothing else changes, whatever goes wrong.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use crate::agreement::reason;
use crate::calibrate_servers::newest;
use crate::user::{
    DEBIAN, SCHEMAS, User, cases, complaint, hangups_are_ignored, has_debian, ids, median, metric, on_server,
};
use crate::waiting::{LIMIT, TRIES};
use serde_json::Value;
use trial::Trial;

/// One small table, and as few samples as say something.
const SMALL: &str = "--payload 2MiB --row-length 250 --columns 5 --repeat 3";

/// A run that lasts until it is ended: seconds from when its schema is there.
const LONG: &str = "--payload 2MiB --row-length 250 --columns 5,25,1 --access full-scan --repeat 80";

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// Waits until a run has kept a case of the server.
fn wait_for_case(user: &User, child: &mut Child) {
    let started = Instant::now();
    while newest(user).is_none_or(|document| on_server(&document).next().is_none()) {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before");
        assert!(started.elapsed() < LIMIT, "no case was kept");
        thread::sleep(Duration::from_millis(250));
    }
}

/// What a server holds besides a run's schema: relations, schemas, roles, settings.
fn holdings(trial: &Trial) -> Vec<String> {
    let statements = [
        "SELECT string_agg(relname || relnamespace || relkind::text, ',' ORDER BY oid) FROM pg_class",
        "SELECT string_agg(nspname, ',' ORDER BY oid) FROM pg_namespace",
        "SELECT string_agg(extname, ',' ORDER BY oid) FROM pg_extension",
        "SELECT string_agg(setrole || array_to_string(setconfig, ','), ',') FROM pg_db_role_setting",
        "SELECT string_agg(name || setting, ',' ORDER BY name) FROM pg_settings WHERE source NOT IN ('session', \
         'client')",
    ];
    statements.map(|statement| trial.value(statement)).into()
}

#[test]
fn gets_are_the_blocks_of_the_table_and_nothing_stays() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER shop PASSWORD 'hush'; GRANT CREATE ON DATABASE postgres TO shop");
    let before = holdings(&trial);
    let user = User::new();
    let document = user.document(&format!("lio --on {} {SMALL}", trial.url_by_password("shop", "hush")));
    assert_eq!(holdings(&trial), before);
    assert!(!document.to_string().contains("hush"), "{document}");
    assert_eq!(document["subject"]["kind"], "postgres");
    // 28 rows of 5 columns of 50 bytes stand in a block: 24 + 5 * 51 bytes, aligned, and a pointer of 4.
    let rows = (2_u64 << 20) / 250;
    let blocks = rows.div_ceil(28) as f64;
    let scans: Vec<&Value> = on_server(&document).filter(|case| case["parameters"]["access"] == "full-scan").collect();
    assert_eq!(scans.len(), 3, "the first scan, rows and the last column");
    for scan in scans {
        assert_eq!((median(scan, "gets"), median(scan, "rows")), (blocks, rows as f64), "{scan}");
        assert_eq!(median(scan, "physical_reads"), 0.0, "{scan}");
        assert!(median(scan, "lio") > 0.0 && metric(scan, "lio")["n"] == 3, "{scan}");
        assert!(metric(scan, "lio")["source"].as_str().unwrap().contains("schedstat"), "{scan}");
    }
    let by_rowid = on_server(&document).find(|case| case["parameters"]["access"] == "rowid").unwrap();
    assert_eq!(median(by_rowid, "gets"), rows as f64);
    let by_index = on_server(&document).find(|case| case["parameters"]["access"] == "index").unwrap();
    assert!(median(by_index, "gets") >= 2.0 * rows as f64, "{by_index}");
    assert_eq!(cases(&document).filter(|case| case["parameters"]["subject"] == "engine").count(), 4);
    let own = document["own_cost"].as_array().unwrap().iter().find(|metric| metric["name"] == "share_of_server");
    // The statements are short here, this build is not optimized, and other tests run meanwhile.
    assert!((0.0..60.0).contains(&own.unwrap()["median"].as_f64().unwrap()), "{own:?}");
    let page = String::from_utf8(user.run("show last").stdout).unwrap();
    assert!(page.contains("(engine | postgres 15."), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
}

#[test]
fn a_private_server_of_the_version_of_a_given_one_has_a_name_of_its_own() {
    let Some(trial) = Trial::start(&[]) else { return };
    let document = User::new().document(&format!("lio --on postgres:{DEBIAN},{} --alone {SMALL}", trial.url()));
    let names = cases(&document).filter_map(|case| case["parameters"]["subject"].as_str());
    let names = Vec::from_iter(names.collect::<BTreeSet<&str>>());
    assert!(names.len() == 2 && names[1] == format!("{} (private)", names[0]), "{names:?}");
    assert_eq!(document["subject"]["beside"][names[0]]["kind"], "postgres", "the private one was named first");
}

#[test]
fn one_server_under_two_names_is_refused_before_any_is_started() {
    User::new().ok("lio --on postgres:15,postgres:18 --dry-run");
    if !has_debian() {
        return;
    }
    let refused = User::new().refused(&format!("lio --on postgres:{DEBIAN},postgres:{DEBIAN}/bin --dry-run"), 2);
    let names = format!("postgres:{DEBIAN} and postgres:{DEBIAN}/bin are both postgres 15.");
    assert!(refused.contains(&names), "{refused}");
}

#[test]
fn a_value_that_is_named_twice_makes_no_second_case() {
    let script = |words: &str| User::new().ok(&format!("lio --on postgres:18 --dry-run {words}"));
    assert_eq!(
        script("--row-length 250,250 --columns 5,5 --access index,index --touch rows,rows --threads 1,1"),
        script("--row-length 250 --columns 5 --access index --touch rows --threads 1")
    );
}

#[test]
fn a_rehearsal_needs_no_server_and_prints_what_would_be_sent() {
    let words = "--on postgres://me:secret@127.0.0.1:1/db --dry-run";
    let output = User::new().run(&format!("lio {words}"));
    let script = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success() && !script.contains("secret"), "{}", complaint(&output));
    for part in ["CREATE SCHEMA readpath", "COPY readpath.\"rows_25_25_sent\" FROM STDIN", "DROP SCHEMA readpath;"] {
        assert!(script.contains(part), "{script}");
    }
    let made = script.lines().filter(|line| line.starts_with("CREATE UNLOGGED TABLE")).count();
    assert_eq!(made, script.lines().filter(|line| line.starts_with("DROP TABLE")).count());
    let Some(trial) = Trial::start(&["log_statement=all"]) else { return };
    let before = trial.log().len();
    assert!(User::new().run(&format!("lio --on {} --dry-run", trial.url())).status.success());
    assert_eq!(trial.log().len(), before, "{}", trial.log());
}

#[test]
fn on_a_standby_what_is_there_is_measured_and_the_rest_is_refused_in_one_sentence() {
    let Some(mut trial) = Trial::start(&[]) else { return };
    trial.kill();
    trial.become_standby();
    trial.start_again();
    let user = User::new();
    let measured = || user.document(&format!("lio --on {} {SMALL}", trial.url()));
    let is_dear = |document: &Value| !ids(document).contains(&"absent-lio");
    // On a busy machine the scan of an empty catalog, which is taken off, may take longer than that of a small one.
    let document = (0..4).map(|_| measured()).find(is_dear).unwrap_or_else(measured);
    assert!(ids(&document).contains(&"standby") && ids(&document).contains(&"answer-standby"), "{document}");
    let catalogs: Vec<&Value> = on_server(&document).collect();
    assert_eq!(catalogs.len(), 4, "{document}");
    for catalog in catalogs {
        let name = catalog["parameters"]["table"].as_str().unwrap();
        let blocks = trial.value(&format!("SELECT pg_relation_size('{name}') / 8192"));
        assert_eq!(median(catalog, "gets").to_string(), blocks, "{catalog}");
        assert!(median(catalog, "lio") > 0.0 && metric(catalog, "lio")["n"] == 3, "{catalog}");
    }
    let page = String::from_utf8(user.run("show last").stdout).unwrap();
    assert!(page.contains("pg_attribute") && page.lines().all(|line| line.chars().count() <= 80), "{page}");
    for refused in ["scan --rows 10000", "join --repeat 2", "roundtrip", "calibrate"] {
        let output = user.run(&format!("{refused} --on {}", trial.url()));
        let said = complaint(&output);
        assert!(!output.status.success() && said.contains("is a standby") && said.contains("primary"), "{said}");
        assert!(said.contains("readpath lio"), "{said}");
    }
}

#[test]
fn an_interrupted_run_keeps_its_cases_and_leaves_no_schema() {
    let Some(trial) = Trial::start(&[]) else { return };
    let user = User::new();
    let mut child = user.command(&format!("lio --on {} {LONG} --format json", trial.url())).spawn().unwrap();
    wait_for_case(&user, &mut child);
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", complaint(&output));
    assert_eq!(trial.value(SCHEMAS), "0");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(cases(&document).next().is_some() && ids(&document).contains(&"interrupted"), "{document}");
}

#[test]
fn no_signal_that_ends_a_run_leaves_a_schema() {
    let Some(trial) = Trial::start(&[]) else { return };
    let user = User::new();
    for (name, code) in [("-HUP", 129), ("-QUIT", 131), ("-TERM", 143), ("-USR1", 138)] {
        if name == "-HUP" && hangups_are_ignored() {
            continue;
        }
        let child = user.command(&format!("lio --on {} {LONG}", trial.url())).spawn().unwrap();
        trial.wait_for(SCHEMAS, "1");
        signal(&child, name);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{name}: {}", complaint(&output));
        assert_eq!(trial.value(SCHEMAS), "0", "{name}");
    }
}

#[test]
fn the_first_signal_ends_a_command_that_waits_for_a_server() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("postgres://dba:pw@127.0.0.1:{}/shop?connect_timeout=600", listener.local_addr().unwrap().port());
    let user = User::new();
    let lio = format!("lio {SMALL}");
    let scan = "scan --rows 10000 --no-valgrind";
    listener.set_nonblocking(true).unwrap();
    let record = "record --to recording";
    for words in ["clean", lio.as_str(), "calibrate", "roundtrip", "join --rows 1000 --repeat 2", scan, record] {
        let mut child = user.command(&format!("{words} --on {url}")).spawn().unwrap();
        // The server accepts, and never answers.
        let held = loop {
            match listener.accept() {
                Ok(held) => break held,
                Err(_) => assert_eq!(child.try_wait().unwrap(), None, "{words} ended before it connected"),
            }
            thread::sleep(Duration::from_millis(5));
        };
        signal(&child, "-TERM");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(143), "{words}: {}", complaint(&output));
        drop(held);
    }
}

#[test]
fn a_servers_words_steer_no_terminal() {
    let Some(trial) = Trial::start(&[]) else { return };
    let url = trial.url().replace("/postgres", "/%1b%5b31mred%0a");
    let output = User::new().run(&format!("clean --on {url}"));
    let said = complaint(&output);
    assert!(said.contains("?[31mred") && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn a_killed_run_is_cleaned_up_by_name() {
    let Some(trial) = Trial::start(&[]) else { return };
    let user = User::new();
    let mut child = user.command(&format!("lio --on {} {LONG}", trial.url())).spawn().unwrap();
    trial.wait_for(SCHEMAS, "1");
    thread::sleep(Duration::from_millis(500));
    signal(&child, "-KILL");
    child.wait().unwrap();
    trial.wait_for("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'readpath'", "0");
    assert_eq!(trial.value(SCHEMAS), "1");
    let said = String::from_utf8(user.run(&format!("clean --on {}", trial.url())).stdout).unwrap();
    assert!(said.starts_with("The schema readpath was removed with its"), "{said}");
    assert_eq!(trial.value(SCHEMAS), "0");
    let said = String::from_utf8(user.run(&format!("clean --on {}", trial.url())).stdout).unwrap();
    assert_eq!(said, "There was no schema readpath.\n");
}

#[test]
fn whatever_cannot_be_is_one_sentence_and_leaves_nothing() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER shop PASSWORD 'hush'");
    let user = User::new();
    let refused = |words: &str, code: i32| {
        let sentence = user.refused(&format!("lio {words}"), code);
        assert_eq!(trial.value(SCHEMAS), "0", "{words}");
        assert!(!sentence.contains("wrong-one"), "{sentence}");
        sentence
    };
    let url = trial.url();
    assert!(refused(&format!("--on {}", trial.url_by_password("shop", "wrong-one")), 1).contains("password"));
    assert!(refused(&format!("--on {}", trial.url_of("shop")), 1).contains("GRANT CREATE ON DATABASE"));
    assert!(refused("--on postgres://me@127.0.0.1:1/db", 1).contains("does not respond"));
    assert!(refused(&format!("--on {url} --statement-timeout 1ms"), 1).contains("the limit of --statement-timeout"));
    for time in ["0", "0s", "900us", "30d"] {
        assert!(refused(&format!("--on {url} --statement-timeout {time}"), 2).contains("--statement-timeout"));
    }
    assert!(refused(&format!("--on {url} --payload 1TiB"), 1).contains("smaller --payload"));
    assert!(refused("--on mysql://me@host/db", 2).contains("postgres:18"));
    assert!(refused(&format!("--on {url} --threads 2"), 2).contains("--threads"));
    assert!(refused(&format!("--on {url} --access one-page"), 2).contains("--access"));
    assert!(refused("--access index", 2).contains("--on"));
    assert!(refused("--dry-run", 2).contains("--on"));
    assert!(user.refused("clean --on postgres://me@127.0.0.1:1/db", 1).contains("does not respond"));
}

#[test]
fn a_server_that_dies_in_the_middle_is_told_and_the_cases_are_kept() {
    let Some(mut trial) = Trial::start(&[]) else { return };
    let user = User::new();
    let mut child = user.command(&format!("lio --on {} {LONG} --format json", trial.url())).spawn().unwrap();
    wait_for_case(&user, &mut child);
    trial.kill();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", complaint(&output));
    assert!(complaint(&output).contains("the server is gone"), "{}", complaint(&output));
    assert!(complaint(&output).contains("remove it: readpath clean --on 'postgres://"), "{}", complaint(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(cases(&document).next().is_some() && ids(&document).contains(&"schema-left"), "{document}");
    trial.start_again();
    assert!(user.run(&format!("clean --on {}", trial.url())).status.success());
    assert_eq!(trial.value(SCHEMAS), "0");
}

/// The first figure in which two runs differ without a reason; `None` where they agree.
fn disagreement(one: &Value, other: &Value) -> Option<String> {
    let mut compared = 0;
    for (case, again) in cases(one).zip(cases(other)) {
        assert_eq!(case["parameters"], again["parameters"]);
        // Its samples are loads, a few of which differ by what the system does meanwhile.
        if case["parameters"]["visibility"] != "first-scan" {
            compared += 1;
            // What is taken off may be more on a busy machine than what was measured.
            let has_figure = |case: &Value| case["metrics"].to_string().contains("\"lio\"");
            if ![case, again].into_iter().all(has_figure) || reason((one, case), (other, again), "lio").is_none() {
                return Some(format!("{:?} {:?}: {case} {again}", ids(one), ids(other)));
            }
        }
    }
    assert!(compared > 3, "{one}");
    None
}

#[test]
fn two_runs_agree_or_say_what_moved() {
    let Some(trial) = Trial::start(&[]) else { return };
    let user = User::new();
    let words = SMALL.replace("--repeat 3", "--repeat 15 --alone");
    let run = || user.document(&format!("lio --on {} {words}", trial.url()));
    // A machine with guests beside it moves now and then and no program sees it; a figure that is unsteady by itself
    // differs each time.
    let found: Vec<String> = (0..TRIES).map_while(|_| disagreement(&run(), &run())).collect();
    assert!(found.len() < TRIES, "{found:#?}");
}

/// A small file system in memory, unmounted when it is dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    #[allow(clippy::print_stdout, reason = "a skip is counted by its line")]
    fn mount(size: &str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={size},mode=755");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(folder.path()).output();
        if !mounted.is_ok_and(|mounted| mounted.status.success()) {
            println!("skipped: a file system cannot be mounted here, which takes root");
            return None;
        }
        Some(SmallDisk(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_disk_that_is_full_before_the_rows_are_there_is_told_and_nothing_stays() {
    let Some(disk) = SmallDisk::mount("160m") else { return };
    let Some(trial) = Trial::start_in(disk.0.path(), &["shared_buffers=16MB"]) else { return };
    trial.run("CREATE USER shop; GRANT CREATE ON DATABASE postgres TO shop");
    let user = User::new();
    let words = "--payload 512MiB --row-length 250 --columns 5 --repeat 2 --access full-scan --format json";
    // The superuser sees how much is free, and is refused before anything is made.
    let refused = user.refused(&format!("lio --on {} {words}", trial.url()), 1);
    assert!(refused.contains("are free"), "{refused}");
    let output = user.run(&format!("lio --on {} {words}", trial.url_of("shop")));
    let said = complaint(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("No space left on device") && !said.contains("panicked"), "{said}");
    assert_eq!(trial.value(SCHEMAS), "0", "the server lives, and has what it had");
}

#[test]
fn other_load_on_the_server_is_seen_and_said() {
    let Some(trial) = Trial::start(&[]) else { return };
    let mut other = trial.client();
    let busy = thread::spawn(move || {
        // Until the server ends.
        let _ = other.batch_execute("SELECT count(*) FROM generate_series(1, 1000000000000)");
    });
    trial.wait_for("SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%000)' AND state = 'active'", "1");
    let document = User::new().document(&format!("lio --on {} {SMALL}", trial.url()));
    assert!(ids(&document).contains(&"server-busy"), "{:?}", ids(&document));
    drop(trial);
    busy.join().unwrap();
}

#[test]
fn a_table_beyond_the_buffers_is_told_with_its_physical_reads() {
    let Some(trial) = Trial::start(&["shared_buffers=4MB"]) else { return };
    let words = "--payload 8MiB --row-length 250 --columns 5 --repeat 2 --access full-scan";
    let document = User::new().document(&format!("lio --on {} {words}", trial.url()));
    assert!(ids(&document).contains(&"table-exceeds-buffers"), "{:?}", ids(&document));
    assert!(ids(&document).contains(&"not-all-cached"), "{:?}", ids(&document));
    assert!(on_server(&document).any(|case| median(case, "physical_reads") > 0.0));
}
