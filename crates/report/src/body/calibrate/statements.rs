//! What is advised as statements, with what undoes each: for a session, for a database, for the server, and for a
//! tablespace. Only what fits the state that the server is in stands as it is; the rest is commented out.

use measure::{Case, Metric, Run};
use serde_json::Value;

use super::super::subjects::values;
use super::{CONSTANTS, is_excepted, part};
use crate::page::parameters::cell;

/// The settings of reads ahead.
const READS_AHEAD: [&str; 2] = ["effective_io_concurrency", "maintenance_io_concurrency"];

/// A setting with its value as SET takes it.
type Setting = (String, String);

/// The statements, where they were asked for.
pub(super) fn of(run: &Run, sets: &[&Case]) -> String {
    if run.subject.get("sql") != Some(&Value::Bool(true)) {
        return String::new();
    }
    let states = values(sets, |case| cell(case, "state"));
    let advice =
        |state: &str| sets.iter().find(|set| cell(set, "state") == state && !cell(set, "advice").is_empty()).copied();
    let decided = |set: Option<&Case>| set.is_some_and(|set| cell(set, "advice") != "undecided");
    let told = part(run, "state").first().map(|case| cell(case, "state"));
    // The user's own queries tell more than the server's counters.
    let own = ["as-found", "own-cold"].into_iter().find(|state| decided(advice(state)));
    let active = own.map(String::from).or(told);
    let mut text = String::new();
    let is_one_of_several = |state: &String| active.as_ref() != Some(state);
    if states.iter().all(is_one_of_several) && states.iter().any(|state| decided(advice(state))) {
        text += "-- the state that your queries run in is not known: take the dashes off the one\n\
                 -- that fits\n";
    }
    for state in &states {
        match advice(state).filter(|set| cell(set, "advice") == "change") {
            Some(set) => {
                let written = exceptions(run, set) + &ways(run, state, &changed(run, set));
                text += &if is_one_of_several(state) { commented(state, &written) } else { written };
            }
            None => text += &format!("-- {}: nothing to set; the server's own constants stay\n", in_one_line(state)),
        }
    }
    text + &of_tablespaces(run) + &reads_ahead(run)
}

/// Statements that are not to be run as they are, under the sentence when they fit.
fn commented(state: &str, statements: &str) -> String {
    let fits = match state {
        "cached" => "your blocks come from the shared buffers",
        "system" => "your blocks come from the operating system's cache",
        "cold" | "own-cold" => "your blocks come from the disk",
        _ => "the server stays as it was found",
    };
    let line = |line: &str| if line.is_empty() { "\n".to_string() } else { format!("-- {line}\n") };
    // A carriage return in a name ends a comment too.
    let lines = statements.lines().flat_map(|line| line.split('\r'));
    format!("-- {}: only where {fits}\n{}", in_one_line(state), lines.map(line).collect::<String>())
}

/// A remark under a comment. A name in it can hold an end of a line, behind which a statement would be run: each line
/// gets dashes of its own.
fn remark(text: &str) -> String {
    text.split(['\n', '\r']).map(|line| format!("--   {line}\n")).collect()
}

/// A name that stands in a comment.
fn in_one_line(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The constants of a set that differ from the server's own.
fn changed(run: &Run, set: &Case) -> Vec<Setting> {
    let given = CONSTANTS.into_iter().filter_map(|name| Some((name, set.metric(name)?.median())));
    let changed = given.filter(|(name, value)| now(run, name) != Some(*value));
    changed.map(|(name, value)| (name.to_string(), plain(value))).collect()
}

/// What the queries that are exceptions from a set need before it is set.
fn exceptions(run: &Run, set: &Case) -> String {
    let is_its = |query: &&Case| ["state", "constants"].iter().all(|name| cell(query, name) == cell(set, name));
    let queries = part(run, "query");
    let names: Vec<String> = queries
        .iter()
        .copied()
        .filter(is_its)
        .filter(|query| is_excepted(query))
        .map(|query| cell(query, "query"))
        .collect();
    if names.is_empty() {
        return String::new();
    }
    let name = |name: &String| remark(&in_one_line(name));
    let own = |(setting, _): &Setting| Some(remark(&format!("SET LOCAL {setting} = {};", plain(now(run, setting)?))));
    format!(
        "-- first, because the constants below make these queries slower, or may:\n{}\
         -- in the transaction of each, or by ALTER ROLE for a role of their own:\n{}\n",
        names.iter().map(name).collect::<String>(),
        changed(run, set).iter().filter_map(own).collect::<String>()
    )
}

/// The ways to set settings: for a session, for a database, for the server.
fn ways(run: &Run, what: &str, settings: &[Setting]) -> String {
    let what = in_one_line(what);
    let database = run.subject.get("database").and_then(Value::as_str).unwrap_or("DATABASE");
    let database = format!("ALTER DATABASE {} ", quoted(database, '"'));
    let server = "ALTER SYSTEM ";
    let lines = |before: &str| -> String {
        settings.iter().map(|(name, value)| format!("{before}SET {name} = {value};\n")).collect()
    };
    let undo = |before: &str, former: Option<&Value>| -> String {
        settings.iter().map(|(name, _)| remark(&format!("{before}{}", undone(run, name, former)))).collect()
    };
    let [of_database, of_server] = ["database_settings", "server_settings"].map(|name| run.subject.get(name));
    let unknown = |former: Option<&Value>, by: &str| match former.is_some_and(Value::is_object) {
        true => String::new(),
        false => format!("-- (what {by} had set before could not be read: note it first)\n"),
    };
    format!(
        "-- {what}, for one session; RESET ALL undoes it\n{}\n\
         -- {what}, for new sessions of the database; what undoes it:\n{}{}{}\n\
         -- {what}, for the whole server; what undoes it, before pg_reload_conf():\n{}{}{}\
         SELECT pg_reload_conf();\n\n",
        lines(""),
        unknown(of_database, "ALTER DATABASE"),
        undo(&database, of_database),
        lines(&database),
        unknown(of_server, "ALTER SYSTEM"),
        undo(server, of_server),
        lines(server)
    )
}

/// What undoes a setting: its former value comes back where it was set the same way, and else RESET removes it.
fn undone(run: &Run, name: &str, former: Option<&Value>) -> String {
    match former.and_then(|former| former.get(name)).and_then(Value::as_str) {
        Some(value) => format!("SET {name} = {};", if is_number(value) { value.into() } else { quoted(value, '\'') }),
        None => format!("RESET {name};{}", value_now(run, name)),
    }
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite)
}

fn quoted(text: &str, quote: char) -> String {
    let doubled = text.replace(quote, &format!("{quote}{quote}"));
    format!("{quote}{doubled}{quote}")
}

/// The tablespaces whose constants should differ from what they have now, with how to undo each.
fn of_tablespaces(run: &Run) -> String {
    let mut text = String::new();
    for case in part(run, "tablespace") {
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
    match text.is_empty() {
        true => text,
        false => format!("-- tablespaces, in proportion to the server's own page costs; what undoes each:\n{text}\n"),
    }
}

/// What the server had.
fn now(run: &Run, name: &str) -> Option<f64> {
    let cases = part(run, "constant");
    cases.iter().find(|case| cell(case, "constant") == name).and_then(|case| case.metric("now")).map(Metric::median)
}

/// The same as a remark.
fn value_now(run: &Run, name: &str) -> String {
    now(run, name).map_or(String::new(), |now| format!(" -- it was {}", plain(now)))
}

/// How many reads ahead: the least that is as good as any, unless what is set is as good too.
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
        text += &ways(run, "reads ahead", &settings);
        text += "-- reads ahead, for a tablespace; what undoes it:\n";
        for (name, value) in &settings {
            text += &format!("-- ALTER TABLESPACE name SET ({name} = {value});\n");
            text += &format!("--   ALTER TABLESPACE name RESET ({name});\n");
        }
    } else if text.is_empty() && run.subject.contains_key("database") {
        text += "-- reads ahead: no value was tried, because a given server keeps its caches\n";
    }
    text
}

/// A number as SET takes it: six significant digits, no exponent.
fn plain(value: f64) -> String {
    let magnitude = value.abs().max(f64::MIN_POSITIVE).log10().floor();
    let text = format!("{value:.*}", (5.0 - magnitude).clamp(0.0, 12.0) as usize);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text }
}

#[cfg(test)]
mod tests {
    use measure::schema::calibrate;
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
        let parameters = json!({"part": "tablespace", "tablespace": name, "constant": constant});
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
        let text = of_tablespaces(&run);
        let undo = text.split_once(" SET (random_page_cost = 40);\n").map(|(_, undo)| undo);
        assert!(undo.is_some_and(is_commented), "{text}");
        let text = ways(&run, LINES, &[("seq_page_cost".into(), "2".into())]);
        assert!(text.starts_with("-- a DROP TABLE t; -- DROP TABLE u; --, for one session"), "{text}");
        let undo = text.split_once("what undoes it:\n").and_then(|(_, rest)| rest.split_once("\nALTER DATABASE"));
        assert!(undo.is_some_and(|(undo, _)| undo.contains("RESET") && is_commented(undo)), "{text}");
        let text = commented(LINES, "ALTER DATABASE \"a\rDROP TABLE t; --\" SET seq_page_cost = 2;\n");
        assert!(is_commented(&text), "{text}");
    }

    #[test]
    fn a_constant_that_the_planner_does_not_have_becomes_no_statement() {
        let run = run("shop", vec![tablespace("fast", "x=1); DROP TABLE t; --")]);
        assert_eq!(of_tablespaces(&run), "");
    }
}
