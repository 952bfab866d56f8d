//! A given server is treated as production: what is made there is removed on every way out, what is not ours stays, and
//! every failure is one sentence. Against Debian's PostgreSQL, in folders of their own.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use server::activity::Activity;
use server::{
    Address, BackendAccount, Defaults, Limits, Plan, Schema, ServerError, Session, Statements, schema, space,
};
use trial::{TRIES, Trial};

/// How long a statement sleeps that a test ends.
const LONG: &str = "SELECT pg_sleep(250)";

/// How soon it ends on a machine that does other things too.
const SOON: Duration = Duration::from_secs(120);

fn open(url: &str) -> Result<Session, ServerError> {
    Session::open(&Address::parse(url).unwrap(), Limits::default(), Arc::default())
}

fn refusal(url: &str) -> String {
    let error = open(url).err().unwrap().to_string();
    assert!(!error.contains('\n') && !error.contains("secret"), "{error}");
    error
}

/// Schemas that are not the server's own.
const SCHEMAS: &str = "SELECT coalesce(string_agg(nspname, ','), '') FROM pg_namespace WHERE nspname = 'readpath'";

#[test]
fn every_refused_connection_is_one_sentence() {
    let Some(trial) = Trial::start(&["max_connections=12"]) else { return };
    trial.run("CREATE USER shop PASSWORD 'right'");
    assert!(refusal(&trial.url_by_password("shop", "secret")).contains("password"));
    assert!(refusal(&trial.url_by_password("shop", "secret").replace(":secret", "")).contains("PGPASSWORD"));
    assert!(open(&trial.url_by_password("shop", "right")).is_ok());
    assert!(refusal(&trial.url_of("nobody_here")).contains("nobody_here"));
    assert!(refusal(&trial.url().replace("/postgres", "/no_such_db")).contains("no_such_db"));
    let encrypted = format!("{}?sslmode=require", trial.url_by_password("shop", "right"));
    assert!(refusal(&encrypted).contains("does not support TLS"));
    assert!(refusal("postgres://me@127.0.0.1:1/db").contains("does not respond"));
    for asked in ["target_session_attrs=standby", "channel_binding=require"] {
        let unmet = refusal(&format!("{}?{asked}", trial.url()));
        let parameter = asked.split('=').next().unwrap();
        assert!(unmet.contains(parameter) && !unmet.contains("does not respond"), "{unmet}");
    }
    let _others: Vec<postgres::Client> =
        std::iter::from_fn(|| postgres::Client::connect(&trial.url_by_password("shop", "right"), postgres::NoTls).ok())
            .collect();
    let full = refusal(&trial.url_by_password("shop", "right"));
    assert!(full.contains("repeat when others have left"), "{full}");
}

#[test]
fn a_connection_is_encrypted_as_the_address_asks_for_and_to_no_other_server() {
    let Some(mut trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER shop PASSWORD 'right'");
    let Some(authority) = trial.encrypt("db.example") else { return };
    let address = trial.url_by_password("shop", "right");
    let encryption = |query: &str| open(&format!("{address}?{query}")).unwrap().facts().encryption.clone();
    assert_eq!(encryption("sslmode=disable"), None);
    assert_eq!(encryption("sslmode=prefer").as_deref(), Some("TLSv1.3"));
    assert_eq!(encryption("sslmode=require").as_deref(), Some("TLSv1.3"));
    let authority = authority.display();
    assert_eq!(encryption(&format!("sslmode=verify-ca&sslrootcert={authority}")).as_deref(), Some("TLSv1.3"));
    let refused = |query: String| refusal(&format!("{address}?{query}"));
    let name = refused(format!("sslmode=verify-full&sslrootcert={authority}"));
    assert!(name.contains("not valid for") && name.contains("db.example"), "{name}");
    // The system does not know the test's authority.
    assert!(refused("sslmode=verify-ca".into()).contains("UnknownIssuer"));
    assert!(refused("sslmode=require&sslrootcert=/no/such/file".into()).contains("/no/such/file"));
    // A self-signed certificate vouches for itself where it is named.
    let own = trial.encrypt_by_itself("localhost");
    let by_name = address.replace("127.0.0.1", "localhost");
    let named = format!("sslmode=verify-full&sslrootcert={}", own.display());
    assert!(open(&format!("{by_name}?{named}")).unwrap().facts().encryption.is_some());
    assert!(refused(named).contains("not valid for"));
    // As to libpq: on a socket there is nothing to encrypt.
    assert_eq!(open(&format!("{}?sslmode=require", trial.url())).unwrap().facts().encryption, None);
    // ^C goes the same way.
    let stop = Arc::new(AtomicBool::new(false));
    let encrypted = Address::parse(&format!("{address}?sslmode=require")).unwrap();
    let mut session = Session::open(&encrypted, Limits::default(), Arc::clone(&stop)).unwrap();
    let raised = thread::spawn(move || {
        thread::sleep(Duration::from_millis(200));
        stop.store(true, Ordering::Relaxed);
    });
    let started = Instant::now();
    assert!(session.run(LONG).unwrap_err().is_stop());
    assert!(started.elapsed() < SOON);
    raised.join().unwrap();
}

#[test]
fn what_is_made_is_gone_and_nothing_else_is() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE TABLE theirs (a integer); INSERT INTO theirs VALUES (1)");
    let relations = "SELECT string_agg(relname || relnamespace, ',' ORDER BY oid) FROM pg_class";
    let settings = "SELECT string_agg(name || setting, ',' ORDER BY name) FROM pg_settings \
                    WHERE source NOT IN ('session', 'client')";
    let before = [relations, settings].map(|statement| trial.value(statement));
    let mut made = Schema::create(open(&trial.url()).unwrap()).unwrap();
    let table = made.create_table("rows", "id integer, name text", "fillfactor = 50").unwrap();
    let mut rows = [b"1\ta\n2\tb\n".to_vec(), b"3\t\\N\n".to_vec()].into_iter();
    assert_eq!(made.session().copy(&format!("COPY {table} FROM STDIN"), &mut rows).unwrap(), 3);
    assert_eq!(made.session().number(&format!("SELECT count(name) FROM {table}"), 0).unwrap(), 2);
    made.drop_table("rows").unwrap();
    made.create_table("again", "id integer", "").unwrap();
    assert_eq!(trial.value(SCHEMAS), "readpath");
    let process = made.session().number("SELECT pg_backend_pid()", 0).unwrap();
    let second = Schema::create(open(&trial.url()).unwrap()).err().unwrap();
    let at_work = format!("another readpath is at work in the database postgres (process {process} of the server): ");
    assert!(second.to_string().contains(&at_work), "{second}");
    made.finish().unwrap();
    assert_eq!([relations, settings].map(|statement| trial.value(statement)), before);
}

#[test]
fn a_schema_that_another_run_made_between_two_sessions_stays() {
    let Some(trial) = Trial::start(&[]) else { return };
    let mut made = Schema::create(open(&trial.url()).unwrap()).unwrap();
    // As for the moment between two sessions, no session holds the lock.
    made.session().run("SELECT pg_advisory_unlock_all()").unwrap();
    let other = Schema::create(open(&trial.url()).unwrap()).unwrap();
    assert!(made.reopen().unwrap_err().to_string().contains("another readpath is at work"));
    drop(made);
    assert_eq!(trial.value(SCHEMAS), "readpath");
    other.finish().unwrap();
    assert_eq!(trial.value(SCHEMAS), "");
}

#[test]
fn a_schema_of_another_user_stays_as_it_is() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE SCHEMA readpath; CREATE TABLE readpath.theirs (a integer)");
    let refused = |url: &str| Schema::create(open(url).unwrap()).err().unwrap().to_string();
    assert!(refused(&trial.url()).contains("did not make"));
    assert!(schema::clean(open(&trial.url()).unwrap()).unwrap_err().to_string().contains("stays as it is"));
    trial.run("DROP SCHEMA readpath CASCADE");
    // Another user's table in our schema, and another user's view on our table.
    let mut made = Schema::create(open(&trial.url()).unwrap()).unwrap();
    made.create_table("rows", "id integer", "").unwrap();
    trial.run("CREATE TABLE readpath.theirs (a integer)");
    assert!(made.finish().unwrap_err().to_string().contains("theirs"));
    trial.run("DROP TABLE readpath.theirs; CREATE VIEW public.theirs AS SELECT * FROM readpath.rows");
    let error = schema::clean(open(&trial.url()).unwrap()).unwrap_err().to_string();
    assert!(error.contains("refuses `DROP TABLE"), "{error}");
    trial.run("DROP VIEW public.theirs");
    assert_eq!(schema::clean(open(&trial.url()).unwrap()).unwrap(), Some(1));
    assert_eq!(schema::clean(open(&trial.url()).unwrap()).unwrap(), None);
}

#[test]
fn a_user_without_rights_is_told_what_to_grant_and_one_with_them_needs_no_more() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER shop");
    let refused = Schema::create(open(&trial.url_of("shop")).unwrap()).err().unwrap().to_string();
    assert!(refused.contains("GRANT CREATE ON DATABASE postgres TO shop"), "{refused}");
    trial.run("GRANT CREATE ON DATABASE postgres TO shop");
    let mut made = Schema::create(open(&trial.url_of("shop")).unwrap()).unwrap();
    let facts = made.session().facts().clone();
    assert!(!facts.is_superuser && !facts.reads_all_stats && facts.data_directory.is_none(), "{facts:?}");
    assert!(matches!(space::check(made.session(), 1 << 60), Ok(space::FreeSpace::Unknown(_))));
    made.create_table("rows", "id integer", "").unwrap();
    drop(made);
    assert_eq!(trial.value(SCHEMAS), "");
    let full = space::check(&open(&trial.url()).unwrap(), 1 << 60).unwrap_err().to_string();
    assert!(full.contains("more than half of the") && full.contains("smaller --payload"), "{full}");
}

#[test]
fn room_is_looked_for_in_the_tablespace_in_which_tables_are_made() {
    let Some(trial) = Trial::start(&[]) else { return };
    let place_of = |user: &str| open(&trial.url_of(user)).unwrap().facts().tables_directory.clone();
    let data = trial.value("SHOW data_directory");
    let mut client = trial.client();
    client.batch_execute("SET allow_in_place_tablespaces = on").unwrap();
    client.batch_execute("CREATE TABLESPACE fast LOCATION ''").unwrap();
    trial.run("CREATE USER shop; GRANT pg_read_all_settings TO shop; ALTER ROLE shop SET default_tablespace = 'fast'");
    let fast = trial.value("SELECT pg_tablespace_location(oid) FROM pg_tablespace WHERE spcname = 'fast'");
    assert_eq!(place_of("postgres").as_ref(), Some(&data));
    assert_eq!(place_of("shop"), Some(format!("{data}/{fast}")));
}

#[test]
fn a_limit_of_temporary_files_that_sorting_would_break_is_known_before_it_does() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER shop; CREATE USER clerk; ALTER ROLE clerk SET temp_file_limit = '64kB'");
    let check = |user: &str, needed| space::check_temporary(&open(&trial.url_of(user)).unwrap(), needed);
    assert!(check("shop", 1 << 40).is_ok() && check("clerk", 64 << 10).is_ok());
    let refused = check("clerk", (64 << 10) + 1).unwrap_err().to_string();
    assert!(refused.contains("clerk may have 64 kB (temp_file_limit)"), "{refused}");
    let advice = refused.split_once("have a superuser run ").unwrap().1;
    trial.run(advice);
    assert!(check("clerk", (64 << 10) + 1).is_ok(), "{advice}");
}

#[test]
fn a_statement_that_takes_too_long_or_waits_too_long_ends() {
    let Some(trial) = Trial::start(&[]) else { return };
    // The session is opened within the same limits.
    let limits = Limits { statement: Duration::from_secs(4), lock: Duration::from_secs(1) };
    let address = Address::parse(&trial.url()).unwrap();
    let mut session = Session::open(&address, limits, Arc::default()).unwrap();
    let error = session.run("SELECT pg_sleep(60)").unwrap_err();
    assert!(error.to_string().contains("longer than 4 s"), "{error}");
    trial.run("CREATE TABLE theirs (a integer)");
    let mut other = trial.client();
    let mut held = other.transaction().unwrap();
    held.batch_execute("LOCK TABLE theirs").unwrap();
    let error = session.run("SELECT * FROM public.theirs").unwrap_err();
    assert!(error.to_string().contains("lock"), "{error}");
    assert!(session.run("SELECT nonsense").unwrap_err().to_string().contains("refuses `SELECT nonsense`"));
}

#[test]
fn a_wish_to_stop_ends_the_statement_and_removes_the_schema() {
    let Some(trial) = Trial::start(&[]) else { return };
    let stop = Arc::new(AtomicBool::new(false));
    let address = Address::parse(&trial.url()).unwrap();
    let session = Session::open(&address, Limits::default(), Arc::clone(&stop)).unwrap();
    let mut made = Schema::create(session).unwrap();
    made.create_table("rows", "id integer", "").unwrap();
    let raised = Arc::clone(&stop);
    let user = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        raised.store(true, Ordering::Relaxed);
    });
    let started = Instant::now();
    assert!(made.session().run(LONG).unwrap_err().is_stop());
    assert!(started.elapsed() < SOON);
    user.join().unwrap();
    assert!(made.session().run("SELECT 1").unwrap_err().is_stop());
    made.finish().unwrap();
    assert_eq!(trial.value(SCHEMAS), "");
}

/// The log of a server after a COPY into such a column that the user stops behind this many rows.
fn log_of_stopped_copy(column: &str, stop_behind: u32) -> Option<String> {
    let trial = Trial::start(&[])?;
    let stop = Arc::new(AtomicBool::new(false));
    let address = Address::parse(&trial.url()).unwrap();
    let mut made = Schema::create(Session::open(&address, Limits::default(), Arc::clone(&stop)).unwrap()).unwrap();
    let table = made.create_table("rows", column, "").unwrap();
    let mut rows = (0..).map(|number: u32| {
        stop.store(number > stop_behind, Ordering::Relaxed);
        b"1\n".to_vec()
    });
    assert!(made.session().copy(&format!("COPY {table} FROM STDIN"), &mut rows).unwrap_err().is_stop());
    made.finish().unwrap();
    Some(trial.log())
}

#[test]
fn a_wish_to_stop_during_a_copy_leaves_no_error_without_a_reason_in_the_servers_log() {
    let Some(log) = log_of_stopped_copy("id integer", 1000) else { return };
    assert!(!log.contains("COPY from stdin failed"), "{log}");
}

#[test]
fn a_wish_to_stop_during_a_copy_leaves_no_row_in_the_servers_log() {
    // The server has twenty rows left when the user stops, and takes ten milliseconds and more for each.
    let slow = "id integer CHECK (pg_catalog.pg_sleep(0.01) IS NOT NULL)";
    let Some(log) = log_of_stopped_copy(slow, 20) else { return };
    assert!(!log.contains("COPY rows"), "{log}");
}

#[test]
fn a_wish_to_stop_before_a_transaction_rolls_back_none() {
    let Some(trial) = Trial::start(&[]) else { return };
    let stop = Arc::new(AtomicBool::new(false));
    let address = Address::parse(&trial.url()).unwrap();
    let mut made = Schema::create(Session::open(&address, Limits::default(), Arc::clone(&stop)).unwrap()).unwrap();
    stop.store(true, Ordering::Relaxed);
    assert!(made.session().begin_transaction().unwrap_err().is_stop());
    assert!(made.session().begin_read_only(SOON).unwrap_err().is_stop());
    made.finish().unwrap();
    assert!(!trial.log().contains("no transaction in progress"), "{}", trial.log());
}

#[test]
fn a_session_that_was_ended_by_others_still_leaves_nothing() {
    let Some(trial) = Trial::start(&[]) else { return };
    let mut made = Schema::create(open(&trial.url()).unwrap()).unwrap();
    made.create_table("rows", "id integer", "").unwrap();
    let process = made.session().facts().process;
    trial.run(&format!("SELECT pg_terminate_backend({process})"));
    let error = made.session().run("SELECT 1").unwrap_err();
    assert!(error.is_gone(), "{error}");
    made.finish().unwrap();
    assert_eq!(trial.value(SCHEMAS), "");
}

#[test]
fn a_session_that_was_ended_by_a_limit_still_leaves_nothing() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER shop; GRANT CREATE ON DATABASE postgres TO shop");
    let mut made = Schema::create(open(&trial.url_of("shop")).unwrap()).unwrap();
    made.create_table("rows", "id integer", "").unwrap();
    made.session().set("idle_session_timeout", "1s").unwrap();
    trial.wait_for("SELECT count(*) FROM pg_stat_activity WHERE usename = 'shop'", "0");
    made.finish().unwrap();
    assert_eq!(trial.value(SCHEMAS), "");
}

#[test]
fn a_server_that_dies_and_returns_is_tidied_up() {
    let Some(mut trial) = Trial::start(&[]) else { return };
    let mut made = Schema::create(open(&trial.url()).unwrap()).unwrap();
    made.create_table("rows", "id integer", "").unwrap();
    trial.kill();
    let error = made.session().run("SELECT 1").unwrap_err();
    assert!(error.to_string().starts_with("the server is gone"), "{error}");
    let tidied = thread::spawn(move || made.finish());
    trial.start_again();
    tidied.join().unwrap().unwrap();
    assert_eq!(trial.value(SCHEMAS), "");
}

#[test]
fn a_server_that_returns_is_tidied_up_and_no_other_one_of_its_address() {
    let Some(mut own) = Trial::start(&[]) else { return };
    let Some(other) = Trial::start(&[]) else { return };
    let user = "CREATE USER shop PASSWORD 'right'; GRANT CREATE ON DATABASE postgres TO shop";
    [&own, &other].into_iter().for_each(|trial| trial.run(user));
    // As a killed run leaves it there.
    let mut left = Schema::create(open(&other.url_of("shop")).unwrap()).unwrap();
    let process = left.session().facts().process;
    std::mem::forget(left);
    other.run(&format!("SELECT pg_terminate_backend({process})"));
    other.wait_for(&format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {process}"), "0");
    let second = other.url_by_password("shop", "right");
    let host = second.split_once('@').unwrap().1;
    let both = own.url_by_password("shop", "right").replace("/postgres", &format!(",{host}"));
    let mut made = Schema::create(open(&both).unwrap()).unwrap();
    assert_eq!(own.value(SCHEMAS), "readpath", "{both} leads to the first");
    own.kill();
    made.session().run("SELECT 1").unwrap_err();
    let tidied = thread::spawn(move || made.finish());
    own.start_again();
    tidied.join().unwrap().unwrap();
    assert_eq!([own.value(SCHEMAS), other.value(SCHEMAS)], ["", "readpath"]);
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next_one() {
    let Some(trial) = Trial::start(&[]) else { return };
    let mut made = Schema::create(open(&trial.url()).unwrap()).unwrap();
    made.create_table("rows", "id integer", "").unwrap();
    let process = made.session().facts().process;
    // As kill -9 does: nothing of ours runs any more.
    std::mem::forget(made);
    trial.run(&format!("SELECT pg_terminate_backend({process})"));
    let gone = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {process}");
    trial.wait_for(&gone, "0");
    assert_eq!(trial.value(SCHEMAS), "readpath");
    let next = Schema::create(open(&trial.url()).unwrap()).unwrap();
    assert_eq!(next.leftovers(), 1);
    next.finish().unwrap();
    assert_eq!(trial.value(SCHEMAS), "");
}

#[test]
fn a_rehearsal_sends_nothing_and_notes_what_a_run_sends() {
    let address = Address::parse("postgres://me:secret@127.0.0.1:1/db").unwrap();
    let statements = Statements::default();
    let session = Session::rehearsal(&address, Limits::default(), Arc::default(), (statements.clone(), 18)).unwrap();
    let mut made = Schema::create(session).unwrap();
    let table = made.create_table("rows", "id integer", "").unwrap();
    let explained = made.session().explain(&format!("SELECT * FROM {table}"), Plan::default()).unwrap();
    assert_eq!(explained, Plan::default());
    made.finish().unwrap();
    let script = statements.script();
    for part in ["SET statement_timeout = '300000';", "CREATE SCHEMA readpath;", "CREATE UNLOGGED TABLE", "EXPLAIN ("] {
        assert!(script.contains(part), "{script}");
    }
    let end = "DROP TABLE readpath.\"rows\";\nDROP SCHEMA readpath;\nDISCARD ALL;";
    assert!(script.trim_end().ends_with(end), "{script}");
    let Some(trial) = Trial::start(&[]) else { return };
    // Every statement of the rehearsal is one that the server takes; the transaction is that of a second connection,
    // and the session is discarded by a statement of its own.
    trial.run(&script.replace("BEGIN; ", "").replace("DISCARD ALL", ""));
    assert_eq!(trial.value(SCHEMAS), "");
}

#[test]
fn the_backends_time_is_seen_where_it_runs_here() {
    let Some(trial) = Trial::start(&[]) else { return };
    let mut session = open(&trial.url()).unwrap();
    assert!(session.facts().version.starts_with("15."), "{:?}", session.facts());
    let account = BackendAccount::open(&mut session).unwrap().unwrap();
    let mut taken = |statement: &str| {
        let before = account.processor_time().unwrap();
        session.run(statement).unwrap();
        account.processor_time().unwrap().since(before)
    };
    let took = taken("SELECT count(*) FROM generate_series(1, 300000)");
    // What a hypervisor takes while the process runs may be counted as its own.
    let slept: Vec<_> =
        (0..TRIES).map(|_| taken("SELECT pg_sleep(0.2)")).take_while(|slept| slept.as_seconds() > 0.01).collect();
    assert!(took.as_seconds() > 0.005 && slept.len() < TRIES, "{took:?} {slept:?}");
    let plan = session.explain("SELECT * FROM pg_class", Plan::default()).unwrap();
    assert!(plan.buffers().unwrap().gets() > 0 && plan.execution_ms.is_some(), "{plan:?}");
}

#[test]
fn the_work_of_others_is_seen() {
    let Some(trial) = Trial::start(&[]) else { return };
    let mut session = open(&trial.url()).unwrap();
    let mut activity = Activity::default();
    activity.look(&mut session).unwrap();
    assert_eq!((activity.looks(), activity.most()), ((1, 0), 0));
    let mut other = trial.client();
    let busy = thread::spawn(move || other.batch_execute(LONG));
    let asleep = format!("FROM pg_stat_activity WHERE query = '{LONG}' AND state = 'active'");
    trial.wait_for(&format!("SELECT count(*) {asleep}"), "1");
    activity.look(&mut session).unwrap();
    assert_eq!((activity.looks(), activity.most()), ((2, 1), 1));
    trial.run(&format!("SELECT pg_cancel_backend(pid) {asleep}"));
    busy.join().unwrap().unwrap_err();
}

/// Where Debian has its pooler.
const POOLER: &str = "/usr/sbin/pgbouncer";

#[test]
fn a_pooler_that_changes_sessions_is_refused_before_anything_is_set() {
    if !Path::new(POOLER).is_file() {
        println!("skipped: pgbouncer is not installed");
        return;
    }
    let Some(trial) = Trial::start(&[]) else { return };
    for mode in ["transaction", "statement"] {
        let pooler = trial.pooler(POOLER, mode);
        let refused = refusal(&pooler.url());
        assert!(refused.contains("pooler in transaction or statement mode"), "{mode}: {refused}");
        assert_eq!(pooled(&pooler), UNTOUCHED, "{mode}");
    }
    // In session mode the next client gets the session that we had.
    let sessions = trial.pooler(POOLER, "session");
    let mut made = Schema::create(open(&sessions.url()).unwrap()).unwrap();
    made.session().set("work_mem", "64MB").unwrap();
    let process = made.session().facts().process;
    made.finish().unwrap();
    assert_eq!(pooled(&sessions), UNTOUCHED);
    let next = value(&sessions, "SELECT pg_backend_pid()");
    assert_eq!(next, process.to_string(), "the session went to no other client: nothing is shown");
}

/// Settings and locks of a session that nothing was set in.
const UNTOUCHED: &str = "\"$user\", public 0 0 4MB 0";

fn pooled(pooler: &trial::Pooler) -> String {
    value(
        pooler,
        "SELECT concat_ws(' ', current_setting('search_path'), current_setting('statement_timeout'), \
         current_setting('lock_timeout'), current_setting('work_mem'), \
         (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'))",
    )
}

fn value(pooler: &trial::Pooler, statement: &str) -> String {
    let mut client = postgres::Client::connect(&pooler.url(), postgres::NoTls).unwrap();
    let answer = client.simple_query(statement).unwrap();
    let row = answer.iter().find_map(|message| match message {
        postgres::SimpleQueryMessage::Row(row) => row.get(0).map(String::from),
        _ => None,
    });
    row.unwrap()
}

#[test]
fn limits_of_the_role_hold_where_they_are_smaller() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial
        .run("CREATE USER slow; ALTER ROLE slow SET statement_timeout = '4s'; ALTER ROLE slow SET lock_timeout = '1h'");
    trial.run("GRANT CREATE ON DATABASE postgres TO slow");
    let mut made = Schema::create(open(&trial.url_of("slow")).unwrap()).unwrap();
    let shown = |session: &mut Session, name: &str| session.text(&format!("SHOW {name}"), None).unwrap().unwrap();
    assert_eq!(shown(made.session(), "statement_timeout"), "4s");
    assert_eq!(shown(made.session(), "lock_timeout"), "5s");
    let error = made.session().run("SELECT pg_sleep(60)").unwrap_err().to_string();
    assert!(error.contains("longer than 4 s, the limit that the session began with"), "{error}");
    // The removal keeps to it too.
    made.session().abandon().unwrap();
    assert_eq!(shown(made.session(), "statement_timeout"), "4s");
    made.finish().unwrap();
}

#[test]
fn a_limit_that_the_session_of_a_pool_came_with_holds_where_it_is_smaller() {
    if !Path::new(POOLER).is_file() {
        println!("skipped: pgbouncer is not installed");
        return;
    }
    let Some(trial) = Trial::start(&[]) else { return };
    let sessions = trial.pooler(POOLER, "session");
    assert_eq!(value(&sessions, "SET statement_timeout = '4s'; SHOW statement_timeout"), "4s");
    assert_eq!(open(&sessions.url()).unwrap().statement_limit(), Duration::from_secs(4));
}

#[test]
fn a_role_whose_own_limit_ends_every_statement_is_no_pooler_and_the_limit_is_named() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER slow; ALTER ROLE slow SET statement_timeout = '1ms'");
    let by_address = format!("{}?options=-c%20statement_timeout%3D1", trial.url());
    for url in [trial.url_of("slow"), by_address] {
        // A busy machine may take longer than that for one of the first statements, again and again.
        let mut session = (0..TRIES).find_map(|_| open(&url).ok()).unwrap();
        assert_eq!(session.statement_limit(), Duration::from_millis(1));
        let error = session.run(LONG).unwrap_err().to_string();
        assert!(error.contains("longer than 0.001 s, the limit that the session began with"), "{error}");
    }
}

#[test]
fn a_role_or_a_database_with_room_for_one_session_leaves_no_refusal_of_a_second_one_in_the_servers_log() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER single CONNECTION LIMIT 1");
    drop(open(&trial.url_of("single")).unwrap());
    trial.run("CREATE USER shop");
    trial.run("CREATE DATABASE small CONNECTION LIMIT 1");
    drop(open(&trial.url_of("shop").replace("/postgres", "/small")).unwrap());
    assert!(!trial.log().contains("too many connections"), "{}", trial.log());
    // One with room for a second session is let in as before.
    trial.run("ALTER USER single CONNECTION LIMIT 2");
    let mut session = open(&trial.url_of("single")).unwrap();
    assert_eq!(session.text("SELECT current_user", None).unwrap().as_deref(), Some("single"));
}

#[test]
fn limits_of_the_role_for_waiting_sessions_do_not_end_a_session_between_two_steps() {
    let Some(trial) = Trial::start(&[]) else { return };
    for limit in ["idle_session_timeout", "idle_in_transaction_session_timeout"] {
        trial.run(&format!("DROP USER IF EXISTS slow; CREATE USER slow; ALTER ROLE slow SET {limit} = '1min'"));
        let mut session = open(&trial.url_of("slow")).unwrap();
        assert_eq!(session.text(&format!("SHOW {limit}"), None).unwrap().as_deref(), Some("0"));
        assert_eq!(session.text("SHOW statement_timeout", None).unwrap().as_deref(), Some("5min"));
    }
}

#[test]
fn a_server_notices_within_minutes_that_the_machine_of_a_session_is_gone() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER shop PASSWORD 'right'");
    let after = |url: &str| open(url).unwrap().text("SHOW tcp_keepalives_idle", None).unwrap();
    let by_network = trial.url_by_password("shop", "right");
    assert_eq!((after(&trial.url()).as_deref(), after(&by_network).as_deref()), (Some("0"), Some("60")));
    trial.run("ALTER ROLE shop SET tcp_keepalives_idle = 30");
    assert_eq!(after(&by_network).as_deref(), Some("30"), "the role's own is shorter");
}

#[test]
fn the_event_triggers_that_our_tables_would_fire_are_known_and_no_others() {
    let Some(trial) = Trial::start(&[]) else { return };
    let found = || open(&trial.url()).unwrap().facts().event_triggers.clone();
    assert_eq!(found(), None);
    trial.run("CREATE FUNCTION noted() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'");
    for (name, event) in [
        ("watch", "ddl_command_end"),
        ("audit", "sql_drop WHEN TAG IN ('DROP VIEW', 'DROP TABLE')"),
        ("moves", "ddl_command_end WHEN TAG IN ('ALTER TABLE')"),
        ("views", "ddl_command_start WHEN TAG IN ('CREATE VIEW')"),
        ("rewrites", "table_rewrite"),
        ("disabled", "ddl_command_start"),
    ] {
        trial.run(&format!("CREATE EVENT TRIGGER {name} ON {event} EXECUTE FUNCTION noted()"));
    }
    trial.run("ALTER EVENT TRIGGER disabled DISABLE");
    assert_eq!(found().as_deref(), Some("audit, moves, watch"));
}

#[test]
fn a_standby_is_preferred_to_the_host_before_it_and_others_are_taken_where_there_is_none() {
    let Some(primary) = Trial::start(&[]) else { return };
    let standby = primary.standby();
    let host = |trial: &Trial| trial.url().replace("postgres://postgres@", "").replace("/postgres", "");
    let is_standby = |hosts: &[&Trial]| {
        let hosts = hosts.iter().map(|trial| host(trial)).collect::<Vec<_>>().join(",");
        let address = format!("postgres://postgres@{hosts}/postgres?target_session_attrs=prefer-standby");
        open(&address).unwrap().facts().is_standby
    };
    assert!(is_standby(&[&primary, &standby]));
    assert!(!is_standby(&[&primary]));
}

#[test]
fn a_schema_on_a_server_that_stays_away_is_named_with_its_address() {
    let Some(mut trial) = Trial::start(&[]) else { return };
    let mut made = Schema::create(open(&trial.url()).unwrap()).unwrap();
    let address = made.session().address().shown();
    assert!(schema::standing().contains(&address));
    trial.kill();
    assert!(made.finish().is_err());
    assert!(schema::standing().contains(&address), "{:?}", schema::standing());
    trial.start_again();
    // The address is one that `--on` takes.
    assert_eq!(schema::clean(open(&address).unwrap()).unwrap(), Some(0));
    // What is removed is not named.
    Schema::create(open(&address).unwrap()).unwrap().finish().unwrap();
    assert!(!schema::standing().contains(&address));
}

#[test]
fn an_address_is_completed_as_psql_completes_it() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE USER shop PASSWORD 'ri:g\\ht'");
    let by_password = trial.url_by_password("shop", "x");
    let port = by_password.rsplit(':').next().unwrap().split('/').next().unwrap().to_string();
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str, mode: u32, text: &str| {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    let open = |url: &str, variables: &[(&str, &str)]| {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
        let defaults = Defaults::new(variable, Some(home.path().into()));
        let address = Address::parse(url).and_then(|address| address.completed(&defaults))?;
        Session::open(&address, Limits::default(), Arc::default())
    };
    let user = |session: Result<Session, ServerError>| session.unwrap().facts().user.clone();
    let place = [("PGHOST", "127.0.0.1"), ("PGPORT", port.as_str()), ("PGDATABASE", "postgres"), ("PGUSER", "shop")];
    assert!(open("postgres://", &place).err().unwrap().to_string().contains("~/.pgpass"));
    assert_eq!(user(open("postgres://", &[&place[..], &[("PGPASSWORD", "ri:g\\ht")]].concat())), "shop");
    // What the address says comes first.
    let url = trial.url();
    assert_eq!(user(open(&url, &place)), "postgres");
    file(".pgpass", 0o644, &format!("127.0.0.1:{port}:*:shop:ri\\:g\\\\ht\n"));
    let open_to_all = open("postgres://", &place).err().unwrap().to_string();
    assert!(open_to_all.contains(".pgpass is not read") && open_to_all.contains("0600"), "{open_to_all}");
    file(".pgpass", 0o600, &format!("# shop\n127.0.0.1:{port}:*:shop:ri\\:g\\\\ht\n"));
    assert_eq!(user(open("postgres://", &place)), "shop");
    file(
        ".pg_service.conf",
        0o644,
        &format!("[other]\nhost=nowhere\n[till]\nhost=127.0.0.1\nport={port}\nuser=shop\n"),
    );
    assert_eq!(user(open("postgres:///postgres?service=till", &[])), "shop");
    assert_eq!(user(open("postgres:///postgres", &[("PGSERVICE", "till"), ("PGHOST", "nowhere")])), "shop");
    let none = open("postgres://", &[("PGSERVICE", "none")]).err().unwrap().to_string();
    assert!(none.contains("no service file defines the service none"), "{none}");
}

#[test]
fn tables_are_of_rows_where_the_database_makes_others_of_another_kind() {
    let Some(trial) = Trial::start(&[]) else { return };
    trial.run("CREATE ACCESS METHOD other TYPE TABLE HANDLER heap_tableam_handler");
    trial.run("ALTER DATABASE postgres SET default_table_access_method = 'other'");
    let mut made = Schema::create(open(&trial.url()).unwrap()).unwrap();
    made.create_table("rows", "id integer", "").unwrap();
    let kind = "SELECT amname FROM pg_am a JOIN pg_class c ON c.relam = a.oid WHERE c.relname = 'rows'";
    assert_eq!(trial.value(kind), "heap");
    made.finish().unwrap();
}

#[test]
fn a_text_of_another_encoding_ends_no_run() {
    let Some(trial) = Trial::start(&[]) else { return };
    for (name, encoding) in [("latin", "LATIN1"), ("utf", "UTF8"), ("raw", "SQL_ASCII")] {
        trial.run(&format!("CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"));
    }
    let url = trial.url();
    let database = |name: &str| format!("{}{name}", url.strip_suffix("postgres").unwrap());
    // Names of roles are those of all databases, in the encoding of the one in which they were made.
    let mut latin = postgres::Client::connect(&database("latin"), postgres::NoTls).unwrap();
    latin.batch_execute("CREATE ROLE \"caf\u{e9}\"").unwrap();
    for name in ["utf", "raw"] {
        let rows = open(&database(name)).unwrap().rows("SELECT rolname, 7 FROM pg_roles WHERE oid >= 16384").unwrap();
        assert_eq!(rows, [[Some("(text in another encoding)".to_string()), Some("7".into())]], "{name}");
    }
}

#[test]
fn a_standby_is_told_from_a_primary() {
    let Some(mut trial) = Trial::start(&[]) else { return };
    trial.kill();
    trial.become_standby();
    trial.start_again();
    let mut session = open(&trial.url()).unwrap();
    assert!(session.facts().is_standby);
    assert_eq!(session.number("SELECT count(*) FROM pg_class WHERE relname = 'pg_class'", 1).unwrap(), 1);
    let refused = Schema::create(session).err().unwrap().to_string();
    assert!(refused.contains("is a standby"), "{refused}");
}
