//! `readpath calibrate` on servers of all kinds: a standby, a role that may not see others, versions that keep the
//! partitions of generic plans, autovacuum at work, a lock that another session holds, a tablespace with costs of its
//! own, a list that has lost its texts; and a run that is killed.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use server::private::{Installation, PrivateServer, PrivateServerError, ServerSettings, Source};
use trial::Trial;

use crate::calibrate::{Meanwhile, SMALL_BUFFERS, TINY, part, shop};
use crate::postgres_versions::cache;
use crate::user::{DEBIAN, SCHEMAS, User, complaint, has_debian, ids, median};

static GO_ON: AtomicBool = AtomicBool::new(false);

/// Queries of the shop whose plans cheap blocks change.
fn shop_queries(user: &User) -> String {
    let query = |part: u32| format!("SELECT count(note) FROM shop WHERE place BETWEEN 0 AND {part}0000000;\n");
    user.file("queries.sql", (1..=6).map(query).collect::<String>().as_bytes())
}

/// What is advised on the user's own queries, in words.
fn advice(document: &Value) -> &str {
    let all = document["findings"].as_array().unwrap();
    let found = all.iter().find(|one| one["id"] == "answer-advice-as-found");
    found.unwrap_or_else(|| panic!("no advice: {document}"))["message"].as_str().unwrap()
}

/// What is said of a query that is not compared, or not run.
fn refusal<'a>(document: &'a Value, name: &str) -> &'a str {
    let found = part(document, "refused").find(|case| case["parameters"]["query"] == name);
    found.unwrap_or_else(|| panic!("nothing is said of `{name}`: {document}"))["parameters"]["verdict"]
        .as_str()
        .unwrap()
}

#[test]
fn a_role_that_may_not_see_others_has_that_said_and_three_queries_are_too_few_however_much_faster() {
    let Some(trial) = shop() else { return };
    let user = User::new();
    let file = shop_queries(&user);
    let document =
        |file: &str| user.document(&format!("calibrate --on {} {TINY} --queries {file} --run", trial.url_of("clerk")));
    let unseen = document(&file);
    assert!(advice(&unseen).contains("could not be seen"), "{}", advice(&unseen));
    assert!(advice(&unseen).contains("GRANT pg_read_all_stats"), "{}", advice(&unseen));
    assert!(ids(&unseen).contains(&"absent-activity"), "{:?}", ids(&unseen));
    trial.run("GRANT pg_read_all_stats TO clerk");
    // With each set of cheap blocks, 400 rows are looked up by the index, instead of in a scan of all 60000.
    let joined = |part: u32| {
        format!(
            "SELECT count(b.note) FROM shop a JOIN shop b ON b.place = a.place WHERE a.n BETWEEN {part}0001 AND \
             {part}0400;\n"
        )
    };
    let three = user.file("three.sql", (1..=3).map(joined).collect::<String>().as_bytes());
    let seen = document(&three);
    assert!(!advice(&seen).contains("could not be seen"), "{}", advice(&seen));
    let said = ": undecided, because only 3 queries with a different plan were timed, and a verdict needs at least 4.";
    assert!(advice(&seen).contains(said), "{}", advice(&seen));
    let usual = |case: &&Value| case["parameters"]["constants"] == "random-1.1";
    let set = part(&seen, "set").find(usual).unwrap();
    assert_eq!(median(set, "changed"), 3.0, "{set}");
    assert_eq!(set["parameters"]["verdict"], "undecided", "{set}");
    let queries = part(&seen, "query").filter(usual);
    let verdicts: Vec<&str> = queries.filter_map(|case| case["parameters"]["verdict"].as_str()).collect();
    assert_eq!(verdicts, ["faster"; 3], "{seen}");
    assert_eq!(trial.value(SCHEMAS), "0");
}

#[test]
fn on_a_standby_the_users_queries_are_compared_and_run_and_nothing_is_made() {
    let Some(trial) = shop() else { return };
    trial.run("ALTER TABLESPACE pg_default SET (seq_page_cost = 1)");
    let standby = trial.standby();
    standby.wait_for("SELECT count(*) FROM shop", "60000");
    let user = User::new();
    let refused = user.refused(&format!("calibrate --on {}", standby.url()), 1);
    assert!(
        refused.contains("is a standby") && refused.contains("primary") && refused.contains("--queries"),
        "{refused}"
    );
    let file = shop_queries(&user);
    let odd = "-- name: writes\nDELETE FROM shop;\n-- name: counts on\nSELECT nextval('numbers');\n\
               -- name: fails\nSELECT 1 / (n - 70) FROM shop;\n";
    fs::write(&file, fs::read_to_string(&file).unwrap() + odd).unwrap();
    let words = format!("calibrate --on {} {TINY} --queries {file} --format json", standby.url_of("clerk"));
    let output = user.run(&words);
    let screen = complaint(&output);
    assert!(output.status.success() && screen.contains("nothing: it is a standby"), "{screen}");
    let explained: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(ids(&explained).contains(&"standby"), "{:?}", ids(&explained));
    assert!(advice(&explained).contains("nothing was run"), "{}", advice(&explained));
    let run = user.document(&format!("calibrate --on {} {TINY} --queries {file} --run --sql", standby.url_of("clerk")));
    for document in [&explained, &run] {
        assert!(ids(document).contains(&"tablespace-costs"), "no set changes that one: {:?}", ids(document));
        let sets: Vec<&str> = part(document, "set").filter_map(|set| set["parameters"]["constants"].as_str()).collect();
        assert!(sets.contains(&"now") && sets.contains(&"random-1.1"), "{sets:?}");
        assert_eq!(refusal(document, "writes"), "it writes");
        assert!(refusal(document, "counts on").contains("nextval"), "{document}");
        let all = part(document, "set").map(|set| median(set, "queries"));
        assert!(all.into_iter().all(|queries| queries == 9.0), "{document}");
        // What is not known is absent, and no zero.
        let costs = part(document, "constant").filter(|case| case["parameters"]["constant"] != "effective_cache_size");
        assert!(costs.into_iter().all(|case| case["metrics"].as_array().unwrap().len() == 1), "{document}");
    }
    assert!(refusal(&run, "fails").contains("division by zero"), "{run}");
    assert!(part(&run, "query").any(|query| query["metrics"].to_string().contains("time_then")), "{run}");
    let page = String::from_utf8(user.run("show last").stdout).unwrap();
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("is a standby, on which no table can be made"), "{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert_eq!(trial.value(SCHEMAS), "0");
}

/// A private server of a version, which is then given; `None`, and a skip, where it cannot be fetched.
fn given(major: u32, folder: &tempfile::TempDir) -> Option<PrivateServer> {
    let source = Source { cache: cache().join("readpath/postgres"), proxy: None };
    let installation = match Installation::of(major, &source, &GO_ON) {
        Err(PrivateServerError::NotFetched { reason, .. }) => {
            println!("skipped: PostgreSQL {major} is not in the cache and cannot be fetched: {reason}");
            return None;
        }
        installation => installation.unwrap(),
    };
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    Some(PrivateServer::start(&installation, folder.path(), ServerSettings::new(32 << 20), &GO_ON).unwrap())
}

/// Queries with and without parameters, over partitions of which values would rule some out.
fn parameters_keep_their_partitions(major: u32) {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = given(major, &folder) else { return };
    for statement in [
        "CREATE TABLE shop AS SELECT n, hashint4(n) AS place, repeat('x', 50) AS note FROM generate_series(1, 60000) n",
        "CREATE INDEX ON shop (place)",
        "CREATE TABLE sales (n integer, year integer) PARTITION BY LIST (year)",
        "CREATE TABLE sales_1 PARTITION OF sales FOR VALUES IN (1)",
        "CREATE TABLE sales_2 PARTITION OF sales FOR VALUES IN (2)",
        "INSERT INTO sales SELECT n, 1 + n % 2 FROM generate_series(1, 20000) n",
        "CREATE INDEX ON sales (n)",
        "ANALYZE",
    ] {
        server.ask(statement, &GO_ON).unwrap();
    }
    let user = User::new();
    let file = shop_queries(&user);
    let more = "-- name: of a year\nSELECT count(*) FROM sales WHERE year = $1;\n\
                -- name: of a place\nSELECT count(note) FROM shop WHERE place BETWEEN $1 AND $2 AND n <> $3;\n\
                -- name: of today\nSELECT count(*) FROM sales WHERE year = extract(year FROM now())::int;\n";
    fs::write(&file, fs::read_to_string(&file).unwrap() + more).unwrap();
    let document = user.document(&format!("calibrate --on {} {TINY} --queries {file} --run", server.url()));
    for name in ["of a year", "of a place"] {
        let said = refusal(&document, name);
        assert!(said.contains("its parameters have no values") && !said.contains("before PostgreSQL 16"), "{said}");
    }
    let refused: Vec<&Value> = part(&document, "refused").collect();
    assert_eq!(refused.len(), 2, "{refused:?}");
    let queries = part(&document, "set").map(|set| median(set, "queries")).next();
    assert_eq!(queries, Some(9.0), "all are explained: {document}");
    assert!(part(&document, "query").any(|query| query["metrics"].to_string().contains("time_then")), "{document}");
    let of_place = part(&document, "query").find(|query| query["parameters"]["query"] == "of a place");
    assert!(of_place.is_none_or(|query| query["parameters"]["verdict"] == "not timed"), "{of_place:?}");
    drop(server);
}

#[test]
fn on_16_queries_with_parameters_are_explained_with_all_partitions_and_the_others_run() {
    parameters_keep_their_partitions(16);
}

#[test]
fn on_18_queries_with_parameters_are_explained_with_all_partitions_and_the_others_run() {
    parameters_keep_their_partitions(18);
}

#[test]
fn on_a_copy_of_a_data_directory_the_users_queries_run_cold_and_nothing_of_the_run_stays() {
    if !has_debian() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let installation = Installation::at(Path::new(DEBIAN)).unwrap();
    let settings = ServerSettings::new(32 << 20);
    let mut server = PrivateServer::start(&installation, folder.path(), settings.clone(), &GO_ON).unwrap();
    let table = "CREATE TABLE shop AS SELECT n, hashint4(n) AS place, repeat('x', 50) AS note FROM \
                 generate_series(1, 60000) n; CREATE INDEX shop_place ON shop (place); VACUUM ANALYZE shop";
    let foreign = "CREATE FOREIGN DATA WRAPPER nowhere; CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere; CREATE \
                   FOREIGN TABLE remote (n integer) SERVER nowhere; CREATE VIEW seen AS SELECT n FROM remote; CREATE \
                   TABLE parts (n integer) PARTITION BY LIST (n); CREATE FOREIGN TABLE part PARTITION OF parts FOR \
                   VALUES IN (1) SERVER nowhere";
    let preloaded = "ALTER DATABASE postgres SET session_preload_libraries = 'auto_explain'";
    let own = "ALTER TABLESPACE pg_default SET (effective_io_concurrency = 8)";
    let statements = table.split("; ").chain(foreign.split("; ")).chain([preloaded, own]);
    statements.for_each(|statement| drop(server.ask(statement, &GO_ON).unwrap()));
    server.stop(&GO_ON).unwrap();
    let data = server.data_directory();
    let mut configuration = fs::File::options().append(true).open(data.join("postgresql.conf")).unwrap();
    configuration.write_all(b"shared_preload_libraries = 'pg_nonesuch'\n").unwrap();
    let on = format!("postgres:copy:{}?programs={DEBIAN}", data.display());
    let user = User::new();
    let file = shop_queries(&user);
    let more = "-- name: foreign\nSELECT count(*) FROM remote;\n-- name: view\nSELECT count(*) FROM seen;\n\
                -- name: parts\nSELECT count(*) FROM parts;\n";
    fs::write(&file, fs::read_to_string(&file).unwrap() + more).unwrap();
    let words = format!("calibrate --on {on} --payload 1MiB --repeat 1 --passes 1 --cold-samples 1 --queries {file}");
    let document = user.document(&format!("{words} --run --cold-rounds 1"));
    for id in ["answer-advice-own-cold", "absent-remedies", "not-preloaded"] {
        assert!(ids(&document).contains(&id), "no {id}: {:?}", ids(&document));
    }
    for (name, table) in [("foreign", "remote"), ("view", "remote"), ("parts", "part")] {
        let said = refusal(&document, name);
        // Planning would ask the foreign server, and this one has no program that could.
        assert!(said.contains(&format!("reads the foreign table public.{table}, whose server")), "{said}");
    }
    let found = document["findings"].as_array().unwrap().iter().find(|one| one["id"] == "not-preloaded").unwrap();
    assert!(found["message"].as_str().unwrap().contains("preload (auto_explain, pg_nonesuch)"), "{found}");
    let found = document["findings"].as_array().unwrap().iter().find(|one| one["id"] == "absent-concurrency").unwrap();
    assert!(found["message"].as_str().unwrap().contains("pg_default has 8 of its own"), "{found}");
    let own = part(&document, "query").filter(|case| case["parameters"]["state"] == "own-cold");
    let timed: Vec<f64> = own.map(|case| median(case, "time_now")).collect();
    assert!(!timed.is_empty() && timed.iter().all(|millis| *millis > 0.0), "{timed:?}");
    assert!(document["subject"]["server"].as_str().unwrap().starts_with("postgres:copy:"), "{}", document["subject"]);
    let refused = user.refused(&format!("{words} --run --rounds 3"), 2);
    assert!(refused.contains("--cold-rounds"), "{refused}");
    let refused = user.refused(&format!("lio --on {on}"), 2);
    assert!(refused.contains("is for calibrate"), "{refused}");
    server.restart(settings.with("shared_preload_libraries", ""), &GO_ON).unwrap();
    let rows = server.ask(&format!("{SCHEMAS} UNION ALL SELECT count(*) FROM shop ORDER BY 1"), &GO_ON).unwrap();
    assert_eq!(rows, [[Some("0".to_string())], [Some("60000".to_string())]], "no schema of ours, and the table");
    let refused = user.refused(&format!("{words} --run"), 1);
    assert!(refused.contains("a server runs on it"), "{refused}");
}

#[test]
fn a_query_that_waits_for_a_lock_is_left_with_a_sentence() {
    let Some(trial) = shop() else { return };
    trial.run("CREATE TABLE closed (n integer); GRANT SELECT ON closed TO clerk");
    let mut other = trial.client();
    other.batch_execute("BEGIN; LOCK TABLE closed IN ACCESS EXCLUSIVE MODE").unwrap();
    let user = User::new();
    let file = shop_queries(&user);
    let more = "-- name: waits\nSELECT count(*) FROM closed;\n";
    fs::write(&file, fs::read_to_string(&file).unwrap() + more).unwrap();
    let document = user.document(&format!("calibrate --on {} {TINY} --queries {file}", trial.url_of("clerk")));
    assert!(refusal(&document, "waits").contains("waits for a lock that another session holds"), "{document}");
    let said = "1 statement could not be explained, because it waited for a lock that another session held";
    assert!(advice(&document).contains(said), "{}", advice(&document));
    assert_eq!(trial.value(SCHEMAS), "0");
}

#[test]
fn an_analyze_of_autovacuum_between_explain_and_the_run_ends_in_a_sentence_or_a_verdict() {
    let settings = [SMALL_BUFFERS, "autovacuum=on", "autovacuum_naptime=1s", "autovacuum_analyze_threshold=1"];
    let Some(trial) = Trial::start(&settings) else { return };
    trial.run(
        "CREATE TABLE shop AS SELECT n, n % 1000 AS kind, repeat('x', 90) AS note FROM generate_series(1, 20000) n; \
         CREATE INDEX ON shop (kind); ALTER TABLE shop SET (autovacuum_analyze_scale_factor = 0); ANALYZE shop",
    );
    let user = User::new();
    let query = |number: u32| format!("SELECT count(note) FROM shop WHERE kind = 5 AND n > {number};\n");
    let file = user.file("queries.sql", (1..=12).map(query).collect::<String>().as_bytes());
    // All rows are of the kind, and then few are: the server's own worker notices either.
    const OTHERS: [&str; 4] =
        ["UPDATE shop SET kind = 5", "SELECT pg_sleep(1.2)", "UPDATE shop SET kind = n % 1000", "SELECT pg_sleep(1.2)"];
    let meanwhile = Meanwhile::run(&trial, &OTHERS);
    trial.wait_for("SELECT (autoanalyze_count > 0)::text FROM pg_stat_user_tables WHERE relname = 'shop'", "true");
    let analyses = || {
        let counted = "SELECT autoanalyze_count FROM pg_stat_user_tables WHERE relname = 'shop'";
        trial.value(counted).parse::<u64>().unwrap()
    };
    let words = format!("calibrate --on {} {TINY} --queries {file} --run", trial.url());
    // A run may end before the worker comes again.
    let document = (0..9).find_map(|_| {
        let before = analyses();
        let document = user.document(&words);
        (analyses() > before).then_some(document)
    });
    let document = document.expect("autovacuum analyzed the table during a run");
    drop(meanwhile);
    let is_known = |said: &str| said.contains("plan changed") || said.contains("lock") || said.contains("takes longer");
    for case in part(&document, "refused") {
        assert!(is_known(case["parameters"]["verdict"].as_str().unwrap()), "{case}");
    }
    assert!(advice(&document).contains("undecided"), "{}", advice(&document));
    assert_eq!(trial.value(SCHEMAS), "0");
}

#[test]
fn page_costs_of_a_tablespace_hold_under_every_set_and_the_page_says_so() {
    let Some(trial) = shop() else { return };
    let mut client = trial.client();
    for statement in [
        "SET allow_in_place_tablespaces = on",
        "CREATE TABLESPACE slow LOCATION ''",
        "ALTER TABLESPACE slow SET (seq_page_cost = 0.001, random_page_cost = 1000)",
        "CREATE TABLE archive TABLESPACE slow AS SELECT * FROM shop",
        "CREATE INDEX ON archive (place) TABLESPACE slow",
        "ANALYZE archive; GRANT SELECT ON archive TO clerk",
        // Either table is then read as a whole, or by its index in the order of that.
        "ALTER DATABASE postgres SET enable_bitmapscan = off",
    ] {
        client.batch_execute(statement).unwrap();
    }
    drop(client);
    let user = User::new();
    let query = |table: &str, part: u32| {
        format!("-- name: {table} {part}\nSELECT count(note) FROM {table} WHERE place BETWEEN 0 AND {part}0000000;\n")
    };
    let queries = [5, 6].map(|part| query("shop", part) + &query("archive", part)).concat();
    let file = user.file("queries.sql", queries.as_bytes());
    let document = user.document(&format!("calibrate --on {} {TINY} --queries {file}", trial.url_of("clerk")));
    let own = part(&document, "query").filter(|case| case["parameters"]["state"] == "as-found");
    let text = |case: &Value, name: &str| case["parameters"][name].as_str().unwrap().to_string();
    let changed: Vec<[String; 2]> = own.map(|case| ["query", "constants"].map(|name| text(case, name))).collect();
    let by_usual: Vec<&str> = changed.iter().filter(|[_, set]| set == "random-1.1").map(|[name, _]| &**name).collect();
    assert_eq!(by_usual, ["shop 5", "shop 6"], "{changed:?}");
    assert!(changed.iter().all(|[name, _]| name.starts_with("shop")), "{changed:?}");
    let found = document["findings"].as_array().unwrap().iter().find(|one| one["id"] == "tablespace-costs");
    let said = found.unwrap_or_else(|| panic!("no tablespace-costs: {document}"))["message"].as_str().unwrap();
    assert!(said.contains("slow (seq_page_cost=0.001, random_page_cost=1000)"), "{said}");
    assert_eq!(trial.value(SCHEMAS), "0");
}

#[test]
fn a_list_whose_texts_the_server_has_lost_is_refused_with_what_gives_it_texts_again() {
    if !Path::new(DEBIAN).join("lib/pg_stat_statements.so").exists() {
        println!("skipped: the server has no library pg_stat_statements");
        return;
    }
    let Some(trial) = Trial::start(&["shared_preload_libraries=pg_stat_statements"]) else { return };
    trial.run("CREATE EXTENSION pg_stat_statements");
    trial.run("CREATE TABLE shop AS SELECT n FROM generate_series(1, 20000) n");
    let texts = format!("{}/pg_stat_tmp/pgss_query_texts.stat", trial.value("SHOW data_directory"));
    let user = User::new();
    let refused = || {
        let output = user.run(&format!("calibrate --on {} {TINY} --queries pg_stat_statements", trial.url()));
        assert!(!output.status.success(), "{}", complaint(&output));
        complaint(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // The next text stands behind a hole where the earlier ones were.
    trial.run(&format!("COPY (SELECT 1 WHERE false) TO '{texts}'"));
    trial.run("SELECT count(*) FROM shop");
    let said = refused();
    assert!(said.contains("cannot be read") && said.contains("file of texts is damaged"), "{said}");
    assert!(said.contains("pg_stat_statements_reset()"), "{said}");
    // A folder in place of the file can be neither read nor written.
    trial.run(&format!("COPY (SELECT 1 WHERE false) TO PROGRAM 'rm {texts} && mkdir {texts}'"));
    let said = refused();
    assert!(said.contains("has lost the texts of") && said.contains("pg_stat_statements_reset()"), "{said}");
    assert_eq!(trial.value(SCHEMAS), "0");
}

/// The newest run of a user's store, as far as it is there.
pub(crate) fn newest(user: &User) -> Option<Value> {
    let output = user.run("show last --format json");
    serde_json::from_slice(&output.stdout).ok()
}

/// Waits until a run has kept a case that fits.
fn wait_for_case(user: &User, child: &mut Child, is_it: impl Fn(&Value) -> bool) {
    let started = Instant::now();
    while !newest(user).is_some_and(|document| part(&document, "set").any(&is_it)) {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before");
        assert!(started.elapsed() < Duration::from_secs(300), "no case was kept");
        thread::sleep(Duration::from_millis(250));
    }
}

#[test]
fn a_killed_run_keeps_the_states_that_were_verified_before() {
    let Some(trial) = Trial::start(&[SMALL_BUFFERS]) else { return };
    let user = User::new();
    let words = format!("calibrate --on {} --payload 4MiB --repeat 2 --passes 1 --rounds 20", trial.url());
    let mut child = user.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // A state's cases are kept at its end, with that of the advice: the run then goes on with the next state.
    wait_for_case(&user, &mut child, |set| set["parameters"]["advice"].is_string());
    child.kill().unwrap();
    child.wait().unwrap();
    let document = newest(&user).unwrap();
    assert!(document["finished"].is_null(), "{document}");
    let advised: Vec<&Value> = part(&document, "set").filter(|set| set["parameters"]["advice"].is_string()).collect();
    assert_eq!(advised.len(), 1, "{advised:?}");
    assert!(part(&document, "query").all(|query| query["parameters"]["state"] == "cached"), "{document}");
    assert!(ids(&document).contains(&"answer-advice-cached"), "{:?}", ids(&document));
    assert!(user.run(&format!("clean --on {}", trial.url())).status.success());
    assert_eq!(trial.value(SCHEMAS), "0");
}

#[test]
fn an_interrupted_run_keeps_what_was_timed_of_the_users_queries() {
    let Some(trial) = shop() else { return };
    let user = User::new();
    let file = shop_queries(&user);
    let slow = "-- name: slow\nSELECT count(*) FROM shop a JOIN shop b ON a.kind = b.kind WHERE b.place > 0;\n";
    fs::write(&file, fs::read_to_string(&file).unwrap() + slow).unwrap();
    let long = TINY.replace("--rounds 3", "--rounds 500");
    let words = format!("calibrate --on {} {long} --queries {file} --run", trial.url());
    let child = user.command(&words).stdout(Stdio::null()).spawn().unwrap();
    trial.wait_for(
        "SELECT (count(*) > 0)::text FROM pg_stat_activity WHERE query LIKE '%EXECUTE readpath\\_%' AND query LIKE \
         '%ANALYZE%' AND pid <> pg_backend_pid()",
        "true",
    );
    // A first round takes a second, and several where other tests run.
    thread::sleep(Duration::from_secs(6));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", complaint(&output));
    let document = newest(&user).unwrap();
    let said = advice(&document);
    assert!(said.contains("undecided, because the run was ended before all plans were timed"), "{said}");
    assert!(part(&document, "set").count() > 1, "{document}");
    let is_timed =
        |case: &Value| case["metrics"].as_array().is_some_and(|all| all.iter().any(|one| one["name"] == "time_now"));
    assert!(part(&document, "query").any(is_timed), "{document}");
    assert_eq!(trial.value(SCHEMAS), "0");
}
