//! What a run takes of a server that is in use, on one screen: said before anything is made there, and at the head of a
//! dry run.

use std::time::Duration;

use measure::quantity::size_in_words;
use server::facts::{ASSUMED_MAJOR, MAJORS};
use server::place::word_of_shell;
use subjects::forecast::QueryUse;
use subjects::{Forecast, Recorder};

/// Columns of a screen.
const COLUMNS: usize = 80;

/// Columns of what stands before each line: the first word and its margin.
const MARGIN: usize = 13;

/// Bytes that the server's log has before and after a statement: time, process, user, database, severity.
const LOG_BYTES_A_LINE: u64 = 80;

/// What a rehearsal of the run sent to one server.
#[derive(Clone, Debug)]
pub(crate) struct Rehearsed {
    /// The server's address, without its password.
    pub(crate) server: String,
    /// The major version that it was taken for.
    major: u32,
    statements: u64,
    /// Whether these are the most that the run sends.
    is_bound: bool,
    bytes: u64,
    time: Duration,
    /// What is besides for shared buffers of the size that was assumed.
    time_by_buffers: Duration,
}

impl Rehearsed {
    /// What was recorded of one server of this major version.
    pub(crate) fn of((server, major): (&str, u32), recorder: &Recorder) -> Rehearsed {
        let (statements, bytes) = recorder.size();
        Rehearsed {
            server: server.into(),
            major,
            statements,
            is_bound: recorder.is_bound(),
            bytes,
            time: recorder.time(0.0),
            time_by_buffers: recorder.time(1.0).saturating_sub(recorder.time(0.0)),
        }
    }

    /// Whether it was what is sent to this server.
    pub(crate) fn is_of(&self, forecast: &Forecast) -> bool {
        let known = forecast.known.as_ref().map_or(ASSUMED_MAJOR, |known| known.major);
        self.server == forecast.server && self.major == known.min(*MAJORS.end())
    }
}

/// The screen, with `mark` before each line.
pub(crate) fn screen(forecast: &Forecast, rehearsed: &Rehearsed, mark: &str) -> String {
    let name = forecast.known.as_ref().map_or(String::new(), |known| format!(" ({})", known.name));
    let mut text = paragraph(&format!("This run works on {}{name}, and there", forecast.server), mark);
    let lines = if forecast.made == 0 { reading(forecast.queries) } else { making(forecast, rehearsed) };
    for (word, line) in lines {
        let wrapped = report::Style { width: COLUMNS - MARGIN - mark.len(), ..report::Style::default() }.wrap(&line, 0);
        for (number, line) in wrapped.lines().enumerate() {
            let word = if number == 0 { word } else { "" };
            text += &format!("{mark}  {word:<width$}{line}\n", width = MARGIN - 2);
        }
    }
    text
}

/// A sentence, wrapped, with `mark` before each line.
pub(crate) fn paragraph(sentence: &str, mark: &str) -> String {
    let wrapped = report::Style { width: COLUMNS - mark.len(), ..report::Style::default() }.wrap(sentence, 0);
    wrapped.lines().map(|line| format!("{mark}{line}\n")).collect()
}

fn reading(queries: QueryUse) -> Vec<(&'static str, String)> {
    let of_catalogs = if queries == QueryUse::None { ", of which catalogs are read" } else { "" };
    let makes = ("makes", format!("nothing: it is a standby{of_catalogs}"));
    let explained = explained(queries).map(|said| ("explains", said.into()));
    [makes].into_iter().chain(explained).chain([("stops", "by ^C".into())]).collect()
}

fn making(forecast: &Forecast, rehearsed: &Rehearsed) -> Vec<(&'static str, String)> {
    let Forecast { server, made, temporary, known, by_buffers, queries } = forecast;
    let displaced = match known {
        Some(known) => {
            let ours = (*made).min(known.buffers);
            let share = (ours as f64 / known.buffers.max(1) as f64 * 100.0).ceil();
            format!("up to {} of {} of shared buffers ({share} %)", mebibytes(ours), size_in_words(known.buffers))
        }
        None => format!("up to {} of shared buffers, as far as it has them", mebibytes(*made)),
    };
    let kilobytes = (rehearsed.bytes + LOG_BYTES_A_LINE * rehearsed.statements) / 1000;
    let address = word_of_shell(server);
    let lines = format!("{} {}", if rehearsed.is_bound { "up to" } else { "about" }, rounded(rehearsed.statements));
    // How many plans the user's queries have is known when they are explained.
    let besides = if *queries == QueryUse::Run { ", besides those of your queries" } else { "" };
    let time = rehearsed.time + rehearsed.time_by_buffers.mul_f64(*by_buffers);
    let log = known.as_ref().map_or("", |known| known.log_statement.as_str());
    let log = match log {
        "" => String::new(),
        setting => format!(", and it is {setting}"),
    };
    // That of a dry run, which does not ask the server, can be far more than the payload.
    let most = if known.is_none() { ", with shared buffers of any size" } else { "" };
    let mut costs = vec![
        ("makes", format!("a schema readpath with tables and indexes of up to {} at one time{most}", mebibytes(*made))),
        ("displaces", format!("{displaced}: blocks of others are read again afterwards")),
        ("sorts", format!("in temporary files of up to {} at one time", mebibytes(*temporary))),
        ("sends", format!("{lines} statements{besides} on one connection; a second one is open for a moment")),
        ("logs", format!("{lines} lines, {} kB{besides}, where log_statement is all{log}", rounded(kilobytes))),
        (
            "takes",
            format!("about {}{}", duration(time), if besides.is_empty() { "" } else { ", besides your queries" }),
        ),
        (
            "stops",
            format!("by ^C, and removes the schema, as at its end; after kill -9: readpath clean --on {address}"),
        ),
    ];
    let fired = known.as_ref().and_then(|known| known.event_triggers.as_ref());
    let fires = fired.map(|names| ("fires", format!("event triggers, by CREATE, ALTER or DROP: {names}")));
    let explained = explained(*queries).map(|said| ("explains", said.into()));
    costs.splice(costs.len() - 1..costs.len() - 1, fires.into_iter().chain(explained));
    costs
}

/// What becomes of the user's own queries.
fn explained(queries: QueryUse) -> Option<&'static str> {
    match queries {
        QueryUse::None => None,
        QueryUse::Explained => Some(
            "your queries, and runs none of them; those with parameters ($1) by their generic plans, which fit any \
             values",
        ),
        QueryUse::Run => Some(
            "your queries by up to 40 sets of constants, and runs them: each plan of those whose plan changes once a \
             round, five times where it takes under 20 ms, and the first of a round once more; then each query a few \
             times, also by up to 10 other plans; those with parameters ($1) by their generic plans, and runs none of \
             these",
        ),
    }
}

fn mebibytes(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

/// Two digits: an estimate has no more.
fn rounded(count: u64) -> u64 {
    let unit = 10_u64.pow(count.checked_ilog10().unwrap_or(0).saturating_sub(1));
    count.div_ceil(unit) * unit
}

fn duration(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{} s", rounded(seconds.max(1))),
        seconds => format!("{} minutes", rounded(seconds.div_ceil(60))),
    }
}

#[cfg(test)]
mod tests {
    use subjects::forecast::Known;

    use super::*;

    fn forecast(known: Option<Known>) -> Forecast {
        let server = format!("postgres://a-role-with-a-long-name@{}:5432/database", "host.".repeat(9));
        Forecast { server, made: (92 << 20) - 5, temporary: 3, known, by_buffers: 1.0, queries: QueryUse::Run }
    }

    #[test]
    fn generic_plans_of_queries_are_announced_and_nothing_is_said_where_none_is_given() {
        assert!(explained(QueryUse::Explained).unwrap().contains("with parameters ($1) by their generic plans"));
        assert!(explained(QueryUse::Run).unwrap().contains("with parameters ($1) by their generic plans"));
        assert_eq!(explained(QueryUse::None), None);
    }

    #[test]
    fn the_size_for_a_server_that_is_not_asked_is_said_to_be_the_most() {
        let forecast = forecast(None);
        let (server, time) = (forecast.server.clone(), Duration::from_secs(1));
        let rehearsed = Rehearsed {
            server,
            major: ASSUMED_MAJOR,
            statements: 10,
            is_bound: true,
            bytes: 1000,
            time,
            time_by_buffers: time,
        };
        let screen = screen(&forecast, &rehearsed, "-- ");
        let whole = screen.replace("-- ", "").split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(whole.contains("up to 92 MiB at one time, with shared buffers of any size"), "{screen}");
    }

    #[test]
    fn a_screen_has_eighty_columns_and_names_every_cost() {
        let known = Known {
            major: 15,
            name: "postgres 15.18".into(),
            buffers: 64 << 20,
            log_statement: "none".into(),
            event_triggers: Some("audit, schema_watch".into()),
        };
        let forecast = forecast(Some(known));
        let time = Duration::from_secs(95);
        let rehearsed = Rehearsed {
            server: forecast.server.clone(),
            major: 15,
            statements: 1491,
            is_bound: false,
            bytes: 80_000,
            time: time / 2,
            time_by_buffers: time / 2,
        };
        for mark in ["", "-- "] {
            let screen = screen(&forecast, &rehearsed, mark);
            assert!(
                screen.lines().count() < 24 && screen.lines().all(|line| line.chars().count() <= COLUMNS),
                "{screen}"
            );
            assert!(screen.lines().all(|line| line.starts_with(mark)), "{screen}");
            let whole = screen.replace(mark, "").split_whitespace().collect::<Vec<_>>().join(" ");
            for part in [
                "92 MiB",
                "(100 %)",
                "1 MiB at one time",
                "1500 statements",
                "200 kB",
                "it is none",
                "95 s",
                "fires event triggers, by CREATE, ALTER or DROP: audit, schema_watch",
                "generic",
            ] {
                assert!(whole.contains(part), "no {part}: {screen}");
            }
        }
    }
}
