//! The statements of the SQL sampler: what differs between the versions of PostgreSQL stands here.

/// Our prepared statement. It ends with the session.
pub(crate) const SAMPLE: &str = "readpath_sample";

/// The first version whose sessions show the identifier of their statement, and whose databases count active time.
pub(crate) const WITH_QUERY_ID: u32 = 14;

/// The first version that lists its wait events, and its list.
pub(crate) const WITH_EVENTS: u32 = 17;
pub(crate) const EVENTS: &str = "SELECT type, name FROM pg_wait_events";

/// Prepares the statement that looks at all sessions but our own.
///
/// The text comes with executions that began after the parameter. The last two columns are the server's time, and how
/// long the statement has worked so far, in µs: that of the last row is the statement's.
pub(crate) fn prepare(major: u32) -> String {
    let query_id = if major >= WITH_QUERY_ID { "query_id" } else { "NULL" };
    let micros = |time: &str| format!("(extract(epoch FROM {time}) * 1000000)::int8");
    format!(
        "PREPARE {SAMPLE} (timestamptz) AS SELECT pid, {}, backend_type, usename, datname, application_name, state, \
         wait_event_type, wait_event, {query_id}, {}, \
         CASE WHEN query_start > $1 AND state <> 'idle' THEN query END, {}, {} \
         FROM pg_stat_activity WHERE pid <> pg_backend_pid()",
        micros("backend_start"),
        micros("query_start"),
        micros("statement_timestamp()"),
        micros("clock_timestamp() - statement_timestamp()"),
    )
}

/// Looks once; with the texts of executions that began after this time in µs since 1970, or with all of them.
pub(crate) fn execute(since: Option<i64>) -> String {
    match since {
        Some(micros) => {
            let (seconds, rest) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
            format!("EXECUTE {SAMPLE} (to_timestamp({seconds}.{rest:06}))")
        }
        None => format!("EXECUTE {SAMPLE} ('-infinity')"),
    }
}

/// Which sessions each session that waits for a lock waits for. It stops the lock manager for a moment.
pub(crate) const BLOCKING: &str = "SELECT pid, array_to_string(pg_blocking_pids(pid), ',') FROM pg_stat_activity \
    WHERE wait_event_type = 'Lock' AND pid <> pg_backend_pid()";

/// The server's account of its sessions' time, a row for each database: its number, its active time in ms, and what
/// shows that its account was begun anew. Each row repeats the time in s of all statements under way, which is added
/// when they end, and when the server was started.
pub(crate) const ACTIVE_TIME: &str = "SELECT datid, coalesce(active_time, 0)::float8, stats_reset, \
    (SELECT coalesce(sum(extract(epoch FROM clock_timestamp() - state_change)), 0)::float8 FROM pg_stat_activity \
    WHERE backend_type = 'client backend' AND state IN ('active', 'fastpath function call') \
    AND pid <> pg_backend_pid()), \
    pg_postmaster_start_time() FROM pg_stat_database";

/// Whether our role may ask for the identifier of the server's files, and that.
pub(crate) const SHOWS_IDENTIFIER: &str = "SELECT coalesce(has_function_privilege( \
    to_regprocedure('pg_catalog.pg_control_system()')::oid, 'EXECUTE'), false)";
pub(crate) const IDENTIFIER: &str = "SELECT system_identifier FROM pg_catalog.pg_control_system()";

/// Blocks that sessions of all databases found in the buffers.
pub(crate) const HITS: &str = "SELECT coalesce(sum(blks_hit), 0)::int8 FROM pg_stat_database";

/// Where the extension that counts statements has its function, quoted; null where the server was started without its
/// library, whose settings are missing then: to call the function would be an error in the server's log.
pub(crate) const COUNTERS_PLACE: &str = "SELECT CASE WHEN current_setting('pg_stat_statements.max', true) <> '' \
    THEN quote_ident(nspname) END FROM pg_extension \
    JOIN pg_namespace ON pg_namespace.oid = extnamespace WHERE extname = 'pg_stat_statements'";

/// The counters of all statements, a row for each with its role and its database, with their texts or without.
/// Statements within functions are counted in those that called them, where the extension's version tells them apart.
pub(crate) fn counters(schema: &str, has_toplevel: bool, texts: Texts) -> String {
    let (shows, text) = match texts {
        Texts::Left => ("false", ""),
        Texts::Brought => ("true", ", query"),
    };
    let top = if has_toplevel { " AND toplevel" } else { "" };
    format!(
        "SELECT queryid, userid, dbid, calls, rows, shared_blks_hit, shared_blks_read{text} \
         FROM {schema}.pg_stat_statements({shows}) WHERE queryid IS NOT NULL{top}"
    )
}

/// How the texts of our statements begin where the server counts them: it has parameters in the place of constants.
const OWN: [&str; 7] = [
    "SELECT pid, array_to_string(pg_blocking_pids(pid), ",
    "SELECT datid, coalesce(active_time, ",
    "SELECT coalesce(sum(blks_hit), $1)::int8 FROM pg_stat_database",
    "SELECT queryid, userid, dbid, calls, rows, shared_blks_hit, shared_blks_read",
    "SELECT oid::int8, datname, datname = current_database() FROM pg_database",
    "SELECT place, pg_filenode_relation(space, node)::regclass FROM (VALUES ",
    "SELECT pid, target_desc FROM pg_aios WHERE operation = ",
];

/// Whether a text by which the server counts a statement is of one that a watch sends.
pub(crate) fn is_own(text: &str) -> bool {
    text.contains(SAMPLE) || OWN.iter().any(|begin| text.starts_with(begin))
}

/// Whether counters come with the texts of their statements, which are in a file of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Texts {
    Left,
    Brought,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_version_is_asked_for_a_column_that_it_does_not_have() {
        assert!(!prepare(13).contains("query_id") && prepare(13).contains(", NULL,"));
        assert!(prepare(14).contains(", query_id,"));
        assert!(!counters("public", false, Texts::Left).contains("toplevel"));
        assert!(counters("public", true, Texts::Brought).contains(", query FROM"));
    }

    #[test]
    fn each_statement_of_ours_is_told_from_those_of_others_by_the_servers_text_of_it() {
        // The server numbers the parameters in the place of constants.
        let counted = |text: &str| text.replace("','", "$1").replace(", 0)", ", $1)").replace("(false)", "($1)");
        let [left, brought] = [Texts::Left, Texts::Brought].map(|texts| counters("public", true, texts));
        for own in [prepare(18).as_str(), BLOCKING, ACTIVE_TIME, HITS, &left, &brought] {
            assert!(is_own(&counted(own)), "{own}");
        }
        for other in ["SELECT pid FROM pg_stat_activity", "SELECT coalesce(sum(blks_hit), $1) FROM other", ""] {
            assert!(!is_own(other), "{other}");
        }
    }

    #[test]
    fn a_time_is_given_to_its_last_microsecond() {
        assert_eq!(execute(Some(1_795_257_953_000_023)), "EXECUTE readpath_sample (to_timestamp(1795257953.000023))");
        assert_eq!(execute(None), "EXECUTE readpath_sample ('-infinity')");
    }
}
