//! What is advised as statements, with what undoes each: for a database, for a session, for the server, and for a
//! tablespace; between two lines by which they are cut out of a page. Only what fits the state that the server is in
//! stands as it is, for the database alone; the rest is commented out.

use measure::quantity::counted;
use measure::{Case, Metric, Run, Unit};
use serde_json::Value;

use super::super::subjects::values;
use super::levels::{self, Level};
use super::sql::{Setting, has_users_data, memory, now, plain, quoted, remark};
use super::{CONSTANTS, is_excepted, is_of_set, part};
use crate::page::parameters::cell;
use crate::page::wording::one_line;

/// The costs that a tablespace can have of its own.
const PAGE_COSTS: [&str; 2] = ["seq_page_cost", "random_page_cost"];

/// The settings of reads ahead.
const READS_AHEAD: [&str; 2] = ["effective_io_concurrency", "maintenance_io_concurrency"];

/// The memory that the planner takes for the server's and its operating system's.
const CACHE_SIZE: &str = "effective_cache_size";

/// The lines before and behind all statements: what else stands on a page is no SQL.
const BEGIN: &str = "-- SQL begins";
const END: &str = "-- SQL ends";

/// What stands over statements of sets that were timed on readpath's queries alone.
const UNTRIED: &str = "-- timed on readpath's queries: some of yours can become slower, so try the set\n\
                       -- on them first, with --queries and --run\n";

/// Statements between the lines by which `sed` cuts them out of a page; nothing where there are none.
pub(super) fn enclosed(statements: &str) -> String {
    let statements = statements.trim_end();
    if statements.is_empty() { String::new() } else { format!("{BEGIN}\n{statements}\n{END}\n") }
}

/// The statements, where they were asked for.
pub(super) fn of(run: &Run, sets: &[&Case]) -> String {
    if run.subject.get("sql") != Some(&Value::Bool(true)) {
        return String::new();
    }
    let states = values(sets, |case| cell(case, "state"));
    let advice =
        |state: &str| sets.iter().find(|set| cell(set, "state") == state && !cell(set, "advice").is_empty()).copied();
    let is_change = |set: &Case| cell(set, "advice") == "change";
    let decided = |set: Option<&Case>| set.is_some_and(|set| cell(set, "advice") != "undecided");
    let told = part(run, "state").first().map(|case| cell(case, "state"));
    // The user's own queries tell more than the server's counters.
    let own = ["as-found", "own-cold"].into_iter().find(|state| decided(advice(state)));
    let active = own.map(String::from).or(told);
    let mut text = String::new();
    let is_for_ours = own.is_none() && states.iter().any(|state| advice(state).is_some_and(is_change));
    if is_for_ours {
        text += UNTRIED;
    }
    let is_one_of_several = |state: &String| active.as_ref() != Some(state);
    let mut active_set = None;
    if states.iter().all(is_one_of_several) && states.iter().any(|state| advice(state).is_some_and(is_change)) {
        text += &without_a_set(active.as_deref());
    }
    for state in &states {
        match advice(state).filter(|set| is_change(set)) {
            Some(set) => {
                let what = format!("the set {}", cell(set, "constants"));
                let caution = caution(&excepted(run, set));
                let written = exceptions(run, set) + &ways(run, &what, &settings_of(set), &caution);
                text += &match is_for_ours || is_one_of_several(state) {
                    true => commented(state, fits(state), &written),
                    false => {
                        active_set = Some(set);
                        written
                    }
                };
            }
            None => text += &nothing_to_set(state),
        }
    }
    text + &of_tablespaces(run, active_set) + &cache_size(run) + &reads_ahead(run)
}

/// That no set is advised in a state, which can have the name of a set.
fn nothing_to_set(state: &str) -> String {
    let words = match state {
        "as-found" => "your queries, as the server is",
        "own-cold" => "your queries, with nothing cached",
        "cached" => "blocks cached by the server",
        "system" => "blocks cached by the operating system",
        "cold" => "nothing cached",
        _ => "a state of the caches",
    };
    format!("-- {} ({words}): nothing to set;\n-- the server's own constants stay\n", one_line(state))
}

/// Where blocks come from in a state.
fn source_of_blocks(state: &str) -> Option<&'static str> {
    match state {
        "cached" => Some("the shared buffers"),
        "system" => Some("the operating system's cache"),
        "cold" | "own-cold" => Some("the disk"),
        _ => None,
    }
}

/// When the set of a state fits.
fn fits(state: &str) -> String {
    match source_of_blocks(state) {
        Some(source) => format!("your blocks come from {source}"),
        None => "the server stays as it was found".into(),
    }
}

/// Why no set stands as it is, by the state that the user's queries run in.
fn without_a_set(state: Option<&str>) -> String {
    match state.and_then(source_of_blocks) {
        Some(source) => format!(
            "-- your blocks come from {source}, and no set was tried\n\
             -- for that: what follows is for other states\n"
        ),
        None => "-- the state that your queries run in is not known: the set to try is the one\n\
                 -- that fits\n"
            .into(),
    }
}

/// Statements that are not to be run as they are, under the sentence when they fit.
fn commented(what: &str, fits: String, statements: &str) -> String {
    format!("-- {}: only where {fits}\n{}", one_line(what), dashed(statements))
}

/// Statements as comments.
fn dashed(statements: &str) -> String {
    let line = |line: &str| if line.is_empty() { "\n".to_string() } else { format!("-- {line}\n") };
    // A carriage return in a name ends a comment too.
    statements.lines().flat_map(|line| line.split('\r')).map(line).collect()
}

/// The constants of a set: all of them, because one that the run's session has can come from a setting of the database
/// or of the role, which others do not have.
fn settings_of(set: &Case) -> Vec<Setting> {
    let given = CONSTANTS.into_iter().filter_map(|name| Some((name, set.metric(name)?.median())));
    given.map(|(name, value)| (name.to_string(), plain(value))).collect()
}

/// The names of the queries that are exceptions from a set, each in one line.
fn excepted(run: &Run, set: &Case) -> Vec<String> {
    let queries = part(run, "query").into_iter().filter(|query| is_of_set(query, set) && is_excepted(query));
    queries.map(|query| one_line(&cell(query, "query"))).collect()
}

/// What the queries that are exceptions from a set need before it is set.
fn exceptions(run: &Run, set: &Case) -> String {
    let names = excepted(run, set);
    if names.is_empty() {
        return String::new();
    }
    let own = |(setting, _): &Setting| match now(run, setting) {
        Some(now) => remark(&format!("SET LOCAL {setting} = {};", plain(now))),
        None => remark(&format!("({setting} is left out: its own value is not in the run)")),
    };
    format!(
        "-- First let these queries keep the constants that are set now:\n{}\
         -- in the transaction of each, or by ALTER ROLE for a role of their own:\n{}\n",
        names.iter().map(|name| remark(name)).collect::<String>(),
        settings_of(set).iter().map(own).collect::<String>()
    )
}

/// What stands directly above statements that are not for these queries: what is active is run as it is.
fn caution(names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let [need, they_are] = if names.len() == 1 { ["needs", "it is"] } else { ["need", "they are"] };
    format!(
        "-- CAUTION: not for {}, which {need} the constants above:\n{}\
         -- If you cannot change how {they_are} run, do not run these statements.\n",
        counted(names.len() as u64, "query", "queries"),
        names.iter().map(|name| remark(name)).collect::<String>()
    )
}

/// The ways to set settings: for a database, and instead for a session or for the server. One is enough: only the
/// database's stands as it is, under `caution`.
fn ways(run: &Run, what: &str, settings: &[Setting], caution: &str) -> String {
    let what = one_line(what);
    let reset = |(name, _): &Setting| remark(&format!("RESET {name};"));
    let lines = |before: &str| -> String {
        settings.iter().map(|(name, value)| format!("{before}SET {name} = {value};\n")).collect()
    };
    format!(
        "-- {what}, for new sessions of the database; what undoes it:\n{}{caution}{}\n\
         -- {what}, for one session instead; what undoes it:\n{}{}\n\
         -- {what}, for the whole server instead; what undoes it:\n{}{}-- SELECT pg_reload_conf();\n\n",
        levels::remarks(run, Level::Database, settings),
        lines(&format!("{} ", Level::Database.statement(run))),
        settings.iter().map(reset).collect::<String>(),
        lines("-- "),
        levels::remarks(run, Level::Server, settings),
        lines(&format!("-- {} ", Level::Server.statement(run)))
    )
}

/// The tablespaces whose constants should differ from what they have now, with how to undo each. Times of the page
/// cache show nothing about their storage. They are in proportion to the page costs that are set: where a set stands
/// as it is that changes these, the statements do not.
fn of_tablespaces(run: &Run, active_set: Option<&Case>) -> String {
    let mut text = String::new();
    for case in part(run, "tablespace").into_iter().filter(|case| cell(case, "state") == "cold") {
        let value = |name: &str| Some(plain(case.metric(name)?.median()));
        let (Some(now), Some(given)) = (value("now"), value("given")) else { continue };
        let name = cell(case, "constant");
        // A document from elsewhere can have a statement in the place of a constant's name.
        if now == given || !CONSTANTS.contains(&name.as_str()) {
            continue;
        }
        let space = quoted(&cell(case, "tablespace"), '"');
        // What the tablespace has of its own comes back by its value, and what it has from the server by RESET.
        let has_own = case.metric("now").is_some_and(|metric| metric.source.contains("spcoptions"));
        let undo = if has_own { format!("SET ({name} = {now})") } else { format!("RESET ({name})") };
        text += &format!("ALTER TABLESPACE {space} SET ({name} = {given});\n");
        text += &remark(&format!("ALTER TABLESPACE {space} {undo}; -- it was {now}"));
    }
    let given = |name: &str| active_set?.metric(name).map(|metric| plain(metric.median()));
    let changes = |name: &&str| given(name).is_some_and(|given| Some(given) != now(run, name).map(plain));
    match (text.is_empty(), PAGE_COSTS.iter().any(changes)) {
        (true, _) => text,
        (_, false) => {
            format!("-- tablespaces, in proportion to the page costs that are set; what undoes each:\n{text}\n")
        }
        (_, true) => {
            let proportion = format!("-- in proportion to these; what undoes each:\n{text}\n");
            commented("tablespaces", "you keep the page costs that are set now".into(), &proportion)
        }
    }
}

/// What the planner should take for its memory, where that was seen. Commented out: no query was timed with it, and
/// what the page cache holds is what was read so far.
fn cache_size(run: &Run) -> String {
    let cases = part(run, "constant");
    let bytes = |name: &str| {
        let case = cases.iter().find(|case| cell(case, "constant") == CACHE_SIZE)?;
        case.metric(name).filter(|metric| metric.unit == Unit::Bytes).map(|metric| memory(metric.median()))
    };
    let Some(value) = bytes("value") else { return String::new() };
    if bytes("now").is_some_and(|now| now == value) {
        return format!("-- {CACHE_SIZE}: nothing to set; it is what is cached of the database\n");
    }
    let statement = format!("{} SET {CACHE_SIZE} = {value};", Level::Database.statement(run));
    format!(
        "-- {CACHE_SIZE}, for new sessions of the database: the shared buffers,\n\
         -- and what the page cache held of the database's files when the run began.\n\
         -- No query was timed with it, and more may be cached later; what undoes it:\n\
         {}{}\n",
        levels::undoing(run, CACHE_SIZE),
        dashed(&statement)
    )
}

/// How many reads ahead: the least that is as good as any, unless what is set is as good too. What was measured on the
/// storage of a private server need not hold for the user's.
fn reads_ahead(run: &Run) -> String {
    let cases = part(run, "constant");
    let (mut text, mut settings) = (String::new(), Vec::new());
    for name in READS_AHEAD {
        let Some(case) = cases.iter().find(|case| cell(case, "constant") == name) else { continue };
        let value = |name: &str| case.metric(name).map(Metric::median);
        let (Some(from), Some(to)) = (value("from"), value("to")) else { continue };
        match value("now") {
            Some(now) if (from..=to).contains(&now) => {
                text += &format!("-- {name}: nothing to set; {} is as good as any tried\n", plain(now));
            }
            _ => settings.push((name.to_string(), plain(from))),
        }
    }
    if !settings.is_empty() {
        let mut written = ways(run, "reads ahead", &settings, "");
        written += "-- reads ahead, for a tablespace; what undoes it:\n";
        for (name, value) in &settings {
            written += &format!("-- ALTER TABLESPACE name SET ({name} = {value});\n");
            written += &format!("--   ALTER TABLESPACE name RESET ({name});\n");
        }
        text += &match has_users_data(run) {
            true => written,
            false => commented("reads ahead", "your server's storage is like this machine's".into(), &written),
        };
    } else if text.is_empty() && has_users_data(run) {
        text += "-- reads ahead: no value was tried, because a given server keeps its caches\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use measure::schema::calibrate;
    use measure::schema::subjects::findings::STANDBY;
    use serde_json::json;

    use super::*;

    /// A name with statements behind both characters that end a comment.
    const LINES: &str = "a\nDROP TABLE t; --\rDROP TABLE u; --";

    fn run(database: &str, cases: Vec<Case>) -> Run {
        Run {
            experiment: "calibrate".into(),
            subject: [("database".to_string(), json!(database))].into_iter().collect(),
            cases,
            ..Run::default()
        }
    }

    fn tablespace(name: &str, constant: &str) -> Case {
        let parameters = json!({"part": "tablespace", "tablespace": name, "constant": constant, "state": "cold"});
        let mut case = Case::new(parameters.as_object().unwrap().clone());
        case.metrics.push(calibrate::NOW.single("pg_settings", 4.0));
        case.metrics.push(calibrate::GIVEN.single("t", 40.0));
        case
    }

    fn is_commented(text: &str) -> bool {
        text.split(['\n', '\r']).all(|line| line.is_empty() || line.starts_with("--"))
    }

    #[test]
    fn a_name_with_the_end_of_a_line_does_not_end_a_comment() {
        let run = run(LINES, vec![tablespace(LINES, "random_page_cost")]);
        let text = of_tablespaces(&run, None);
        let undo = text.split_once(" SET (random_page_cost = 40);\n").map(|(_, undo)| undo);
        assert!(undo.is_some_and(is_commented), "{text}");
        let text = ways(&run, LINES, &[("seq_page_cost".into(), "2".into())], "");
        assert!(text.starts_with("-- a DROP TABLE t; -- DROP TABLE u; --, for new sessions of the"), "{text}");
        let undo = text.split_once("what undoes it:\n").and_then(|(_, rest)| rest.split_once("\nALTER DATABASE"));
        assert!(undo.is_some_and(|(undo, _)| undo.contains("RESET") && is_commented(undo)), "{text}");
        let mut size = Case::new(json!({"part": "constant", "constant": CACHE_SIZE}).as_object().unwrap().clone());
        size.metrics.push(calibrate::VALUE_BYTES.single("the page cache", 1e9));
        let text = cache_size(&self::run(LINES, vec![size]));
        assert!(text.contains("SET effective_cache_size = ") && is_commented(&text), "{text}");
        let statement = "ALTER DATABASE \"a\rDROP TABLE t; --\" SET seq_page_cost = 2;\n";
        let text = commented(LINES, fits("cold"), statement);
        assert!(is_commented(&text), "{text}");
    }

    #[test]
    fn a_constant_whose_own_value_is_not_known_is_not_silently_missing_from_an_exception() {
        let case = |parameters: Value| Case::new(parameters.as_object().unwrap().clone());
        let query = json!({"part": "query", "state": "as-found", "constants": "cold", "query": "q0", "advice": "keep"});
        let mut known = case(json!({"part": "constant", "constant": "seq_page_cost"}));
        known.metrics.push(calibrate::NOW.single("pg_settings", 1.0));
        let mut set = case(json!({"part": "set", "state": "as-found", "constants": "cold"}));
        for (name, value) in [("seq_page_cost", 2.0), ("random_page_cost", 3.0)] {
            let mut metric = calibrate::GIVEN.single("t", value);
            metric.name = name.into();
            set.metrics.push(metric);
        }
        let text = exceptions(&run("shop", vec![case(query), known]), &set);
        assert!(text.contains("--   SET LOCAL seq_page_cost = 1;\n") && is_commented(&text), "{text}");
        assert!(text.contains("--   (random_page_cost is left out: ") && !text.contains("LOCAL random"), "{text}");
    }

    /// A set of a state, all constants of which are 0.5.
    fn set(state: &str, advice: &str) -> Case {
        let parameters = json!({"part": "set", "state": state, "constants": "in-memory", "advice": advice});
        let mut case = Case::new(parameters.as_object().unwrap().clone());
        case.metrics.extend(CONSTANTS.map(|name| calibrate::SETTING.of(name).single("t", 0.5)));
        case
    }

    fn constant(name: &str, now: f64) -> Case {
        let mut case = Case::new(json!({"part": "constant", "constant": name}).as_object().unwrap().clone());
        case.metrics.push(calibrate::NOW.single("pg_settings of the session", now));
        case
    }

    /// The SQL of a run on a given server in a state.
    fn sql(state: &str, subject: Value, cases: Vec<Case>) -> String {
        let mut run = run("shop", cases);
        run.subject.insert("sql".into(), json!(true));
        run.subject.extend(subject.as_object().unwrap().clone());
        run.cases.push(Case::new(json!({"part": "state", "state": state}).as_object().unwrap().clone()));
        let sets: Vec<&Case> = part(&run, "set");
        of(&run, &sets)
    }

    fn active(text: &str) -> Vec<&str> {
        text.lines().filter(|line| !line.is_empty() && !line.starts_with("--")).collect()
    }

    #[test]
    fn only_one_of_the_ways_is_run_where_the_page_is_piped_to_the_server() {
        let reads = json!({"part": "constant", "constant": "effective_io_concurrency"});
        let mut reads = Case::new(reads.as_object().unwrap().clone());
        reads.metrics.push(calibrate::FROM_COUNT.count("t", 8));
        reads.metrics.push(calibrate::TO_COUNT.count("t", 64));
        let text = sql("cached", json!({}), vec![set("as-found", "change"), reads.clone()]);
        let statements = active(&text);
        assert_eq!(statements.len(), CONSTANTS.len() + 1, "{text}");
        assert!(statements.iter().all(|line| line.starts_with("ALTER DATABASE \"shop\" SET ")), "{text}");
        assert!(text.contains("-- SET seq_page_cost = 0.5;") && text.contains("-- ALTER SYSTEM SET seq"), "{text}");
        let mut private = run("shop", vec![set("cached", "change"), reads]);
        private.subject = [("sql".to_string(), json!(true))].into_iter().collect();
        let text = of(&private, &part(&private, "set"));
        assert!(active(&text).is_empty() && text.contains("storage is like this machine's"), "{text}");
        assert!(text.contains("DATABASE stands for") && !text.contains("could not be read"), "{text}");
    }

    #[test]
    fn a_set_is_printed_whole_and_what_overrides_a_part_of_it_is_named() {
        let subject = json!({
            "database_settings": {"random_page_cost": "1.1"}, "server_settings": {},
            "role_settings": [
                {"role": "re\nports", "in_database": true, "is_own": false, "setting": "seq_page_cost", "value": "2"},
                {"role": "me", "in_database": false, "is_own": true, "setting": "cpu_tuple_cost", "value": "0.5"},
                {"role": null, "in_database": false, "is_own": false, "setting": "seq_page_cost", "value": "3"},
            ],
        });
        let cases = vec![
            set("as-found", "change"),
            constant("seq_page_cost", 3.0),
            constant("random_page_cost", 1.1),
            constant("cpu_tuple_cost", 0.5),
            constant("cpu_operator_cost", 0.5),
        ];
        let text = sql("cached", subject, cases);
        let (of_database, of_server) = text.split_once("for the whole server").unwrap();
        for name in CONSTANTS {
            assert!(of_database.contains(&format!("\nALTER DATABASE \"shop\" SET {name} = 0.5;\n")), "{name}: {text}");
            assert!(of_server.contains(&format!("\n-- ALTER SYSTEM SET {name} = 0.5;\n")), "{name}: {text}");
        }
        let of_role = "--   ALTER ROLE \"re\n--   ports\" IN DATABASE \"shop\" RESET seq_page_cost; -- it is 2\n";
        assert!(of_database.contains(of_role) && of_server.contains(of_role), "{text}");
        assert!(!of_database.contains("ALTER ROLE ALL") && of_server.contains("ALTER ROLE ALL RESET seq"), "{text}");
        assert!(of_database.contains("--   ALTER DATABASE \"shop\" SET random_page_cost = 1.1;\n"), "{text}");
        let of_shop = "--   ALTER DATABASE \"shop\" RESET random_page_cost; -- it is 1.1\n";
        assert!(!of_database.contains(of_shop) && of_server.contains(of_shop), "{text}");
        assert!(!text.contains("ALTER ROLE \"me\""), "it has the value of the set: {text}");
        // What the session had from them was not the server's, and does not come back.
        assert!(of_server.contains("--   ALTER SYSTEM RESET random_page_cost;\n"), "{text}");
        assert!(of_database.contains("--   ALTER DATABASE \"shop\" RESET cpu_tuple_cost;\n"), "{text}");
        assert!(of_database.contains("ALTER DATABASE \"shop\" RESET seq_page_cost; -- it was 3\n"), "{text}");
        assert!(of_server.contains("ALTER SYSTEM RESET cpu_operator_cost; -- it was 0.5\n"), "{text}");
    }

    #[test]
    fn statements_that_are_not_for_every_query_say_so_directly_above_them() {
        let query = |name: &str| {
            let parameters = json!({
                "part": "query", "state": "as-found", "constants": "in-memory", "query": name, "advice": "keep",
            });
            Case::new(parameters.as_object().unwrap().clone())
        };
        let text = |names: &[&str]| {
            let queries = names.iter().map(|name| query(name));
            sql("cached", json!({}), [set("as-found", "change")].into_iter().chain(queries).collect())
        };
        let one = text(&["refunds"]);
        let above = "-- CAUTION: not for 1 query, which needs the constants above:\n--   refunds\n\
                     -- If you cannot change how it is run, do not run these statements.\n\
                     ALTER DATABASE \"shop\" SET seq_page_cost = 0.5;\n";
        assert!(one.contains(above), "{one}");
        let two = text(&["refunds", LINES]);
        assert!(two.contains("not for 2 queries, which need the constants above:\n--   refunds\n--   a DROP"), "{two}");
        assert!(active(&two).iter().all(|line| line.starts_with("ALTER DATABASE ")), "{two}");
        assert!(!text(&[]).contains("CAUTION"), "{}", text(&[]));
    }

    #[test]
    fn what_undoes_the_settings_of_a_session_resets_nothing_else() {
        let text = sql("cached", json!({}), vec![set("as-found", "change")]);
        assert!(!text.contains("RESET ALL"), "{text}");
        let (_, session) = text.split_once("for one session instead; what undoes it:\n").unwrap();
        let resets: String = CONSTANTS.iter().map(|name| format!("--   RESET {name};\n")).collect();
        assert!(session.starts_with(&(resets + "-- SET seq_page_cost = 0.5;\n")), "{session}");
    }

    #[test]
    fn statements_can_be_cut_out_of_the_sentences_of_a_page() {
        assert_eq!(enclosed("SELECT 1;\n\n"), "-- SQL begins\nSELECT 1;\n-- SQL ends\n");
        assert_eq!(enclosed(""), "", "no lines around nothing");
    }

    #[test]
    fn a_state_without_advice_is_not_taken_for_the_set_of_its_name_and_a_set_is_named() {
        let text = sql("cached", json!({}), vec![set("as-found", "change"), set("cached", "keep")]);
        assert!(text.contains("-- cached (blocks cached by the server): nothing to set;\n"), "{text}");
        assert!(text.contains("-- the set in-memory, for new sessions of the database;"), "{text}");
        assert!(is_commented(&nothing_to_set(LINES)), "{}", nothing_to_set(LINES));
    }

    #[test]
    fn the_size_of_the_cache_is_printed_with_its_reason_and_what_undoes_it_and_is_not_run() {
        let of = |now: f64, value: f64, settings: Value| {
            let mut size = Case::new(json!({"part": "constant", "constant": CACHE_SIZE}).as_object().unwrap().clone());
            size.metrics.push(calibrate::NOW_BYTES.single("pg_settings", now));
            size.metrics.push(calibrate::VALUE_BYTES.single("the page cache", value));
            sql("cached", json!({"database_settings": settings}), vec![size])
        };
        let (mib, gib) = (f64::from(1 << 20), f64::from(1 << 30));
        let text = of(4.0 * gib, 2329.9 * mib, json!({}));
        assert!(active(&text).is_empty() && is_commented(&text), "{text}");
        assert!(text.contains("\n-- ALTER DATABASE \"shop\" SET effective_cache_size = '2329MB';\n"), "{text}");
        let undo = "--   ALTER DATABASE \"shop\" RESET effective_cache_size; -- it was '4096MB'\n";
        assert!(text.contains(undo) && text.contains("which \\drds of psql lists"), "{text}");
        let former = of(4.0 * gib, 2329.9 * mib, json!({CACHE_SIZE: "3GB"}));
        let undo = "--   ALTER DATABASE \"shop\" SET effective_cache_size = '3GB';\n";
        assert!(former.contains(undo) && !former.contains("drds"), "{former}");
        let same = of(2.0 * gib, 2.0 * gib, json!({}));
        assert!(same.contains("effective_cache_size: nothing to set") && !same.contains("ALTER"), "{same}");
    }

    #[test]
    fn settings_of_roles_that_could_not_be_read_are_not_taken_for_none() {
        let subject = json!({"database_settings": {}, "server_settings": null, "role_settings": null});
        let text = sql("cached", subject, vec![set("as-found", "change")]);
        assert!(text.contains("what ALTER ROLE has set, which overrides them, could not be read"), "{text}");
        assert!(text.contains("what ALTER SYSTEM had set before could not be read"), "{text}");
    }

    #[test]
    fn only_statements_that_the_users_queries_gain_by_stand_without_a_warning() {
        let own = sql("cached", json!({}), vec![set("as-found", "change"), set("cached", "change")]);
        assert!(!own.contains(UNTRIED), "{own}");
        let ours = sql("cached", json!({}), vec![set("cached", "change")]);
        assert!(ours.starts_with(UNTRIED) && active(&ours).is_empty() && ours.contains("-- ALTER DATABASE"), "{ours}");
        let undecided = sql("cached", json!({}), vec![set("as-found", "undecided"), set("cached", "change")]);
        assert!(undecided.starts_with(UNTRIED) && active(&undecided).is_empty(), "{undecided}");
        let kept = sql("cached", json!({}), vec![set("cached", "keep")]);
        assert!(!kept.contains(UNTRIED), "there is nothing to try: {kept}");
    }

    #[test]
    fn a_known_state_without_a_set_is_not_called_unknown() {
        let text = |state| sql(state, json!({}), vec![set("cached", "change"), set("system", "keep")]);
        let cold = text("cold");
        assert!(cold.starts_with(UNTRIED), "{cold}");
        assert!(cold.contains("-- your blocks come from the disk, and no set was tried\n"), "{cold}");
        assert!(active(&cold).is_empty() && !cold.contains("not known"), "{cold}");
        assert!(text("unknown").contains("\n-- the state that your queries run in is not known"));
        assert!(!text("cached").contains("no set was tried") && active(&text("cached")).is_empty());
    }

    #[test]
    fn a_page_says_where_its_statements_can_be_run() {
        let mut run = run("shop", vec![set("as-found", "change")]);
        run.subject.insert("sql".into(), json!(true));
        let text = |run: &Run| of(run, &part(run, "set"));
        assert!(text(&run).contains("a superuser can run it") && !text(&run).contains("primary"), "{}", text(&run));
        run.findings.push(STANDBY.of("It is a standby."));
        assert!(text(&run).contains("-- (on the primary"), "{}", text(&run));
        let mut size = Case::new(json!({"part": "constant", "constant": CACHE_SIZE}).as_object().unwrap().clone());
        size.metrics.push(calibrate::VALUE_BYTES.single("the page cache", f64::from(1 << 30)));
        run.cases = vec![size];
        assert!(cache_size(&run).contains("RESET effective_cache_size;"), "{}", cache_size(&run));
        assert!(cache_size(&run).contains("-- (on the primary"), "{}", cache_size(&run));
    }

    #[test]
    fn a_tablespace_that_was_read_from_the_page_cache_gets_no_statement() {
        let mut case = tablespace("slow", "random_page_cost");
        assert!(!of_tablespaces(&run("shop", vec![case.clone()]), None).is_empty());
        case.parameters.insert("state".into(), json!("system"));
        assert_eq!(of_tablespaces(&run("shop", vec![case]), None), "");
    }

    #[test]
    fn a_set_and_the_costs_of_tablespaces_in_proportion_to_others_do_not_both_stand_as_they_are() {
        let of = |advice: &str, page_costs: [f64; 2]| {
            let [page, random] = page_costs;
            let now = [constant("seq_page_cost", page), constant("random_page_cost", random)];
            let cases = vec![set("as-found", advice), tablespace("slow", "random_page_cost")];
            sql("cached", json!({}), [cases, now.to_vec()].concat())
        };
        let statement = "ALTER TABLESPACE \"slow\" SET (random_page_cost = 40);";
        let changed = of("change", [1.0, 4.0]);
        assert!(active(&changed).iter().all(|line| line.starts_with("ALTER DATABASE ")), "{changed}");
        assert!(changed.contains("-- tablespaces: only where you keep the page costs that are set now\n"), "{changed}");
        assert!(changed.contains(&format!("-- {statement}\n")), "{changed}");
        // The set has 0.5 for both.
        for text in [of("change", [0.5, 0.5]), of("keep", [1.0, 4.0])] {
            assert!(active(&text).contains(&statement), "{text}");
        }
    }

    #[test]
    fn a_constant_that_the_planner_does_not_have_becomes_no_statement() {
        let run = run("shop", vec![tablespace("fast", "x=1); DROP TABLE t; --")]);
        assert_eq!(of_tablespaces(&run, None), "");
    }
}
