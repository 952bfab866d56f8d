//! What a server is: its version, its buffers, what we may do there, and whether its processes can be seen from here.

use std::ops::RangeInclusive;

use crate::wire::Row;

/// The oldest version that is known.
pub(crate) const OLDEST: u32 = 130_000;

/// The major version that a dry run assumes where none is known.
pub const ASSUMED_MAJOR: u32 = 18;

/// The shared buffers that a dry run assumes: what PostgreSQL has where nothing is set.
pub const ASSUMED_BUFFERS: u64 = 128 << 20;

/// The major versions that differ in what is sent: a later one is sent what the last of these is.
pub const MAJORS: RangeInclusive<u32> = 13..=ASSUMED_MAJOR;

/// One row with what every version since 13 shows to all users. The view of encryption would be made of all sessions,
/// with the texts of their statements.
pub(crate) const QUESTION: &str = "SELECT current_setting('server_version_num'), current_setting('server_version'), \
    current_database(), current_user, pg_backend_pid(), current_setting('block_size'), \
    pg_size_bytes(current_setting('shared_buffers')), pg_is_in_recovery(), \
    has_database_privilege(current_database(), 'CREATE'), pg_has_role('pg_read_all_stats', 'USAGE'), \
    (SELECT rolsuper FROM pg_roles WHERE rolname = current_user), \
    CASE WHEN pg_has_role('pg_read_all_settings', 'USAGE') THEN current_setting('data_directory') END, \
    (SELECT sslversion FROM pg_stat_get_activity(pg_backend_pid())), \
    (SELECT string_agg(extname || ' ' || extversion, ',') FROM pg_extension), \
    current_setting('default_transaction_read_only'), current_setting('log_statement'), \
    pg_size_bytes(current_setting('temp_file_limit')), \
    (SELECT pg_tablespace_location(coalesce(t.oid, d.dattablespace)) FROM pg_database d LEFT JOIN pg_tablespace t \
    ON t.spcname = current_setting('default_tablespace') WHERE d.datname = current_database()), \
    current_setting('track_counts'), current_setting('server_encoding'), \
    (SELECT string_agg(evtname, ', ' ORDER BY evtname) FROM pg_event_trigger WHERE evtenabled IN ('O', 'A') \
    AND evtevent IN ('ddl_command_start', 'ddl_command_end', 'sql_drop') AND coalesce(evttags && \
    '{CREATE SCHEMA,CREATE TABLE,CREATE INDEX,COMMENT,ALTER TABLE,DROP TABLE,DROP SCHEMA}', true) \
    AND coalesce(current_setting('event_triggers', true), 'on') = 'on'), \
    current_setting('log_duration') = 'on' OR '0' IN (current_setting('log_min_duration_statement'), \
    coalesce(current_setting('auto_explain.log_min_duration', true), '-1'))";

/// The encoding of a database that has none.
pub(crate) const NO_ENCODING: &str = "SQL_ASCII";

/// What a server reports about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// `150018`: the major version times 10 000, and the minor one.
    pub version_number: u32,
    /// `15.18`, without the packager's words.
    pub version: String,
    /// The database.
    pub database: String,
    /// Our user there.
    pub user: String,
    /// The process that serves the session.
    pub process: u32,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Bytes of the shared buffers.
    pub buffer_bytes: u64,
    /// Whether it is a standby, which takes no writes.
    pub is_standby: bool,
    /// Whether we may make a schema in the database.
    pub may_create: bool,
    /// Whether our transactions write nothing unless they ask to.
    pub is_read_only: bool,
    /// Which statements the server writes to its log: `none`, `ddl`, `mod` or `all`.
    pub log_statement: String,
    /// Whether it writes there how long each statement takes, however short that is.
    pub logs_durations: bool,
    /// Bytes of temporary files that one of our processes may have; `None` where there is no limit.
    pub temporary_bytes_max: Option<u64>,
    /// Whether sessions count the blocks of relations that they ask for.
    pub counts_blocks: bool,
    /// Whether the database's texts are in no encoding that the server knows.
    pub has_no_encoding: bool,
    /// The names of the database's event triggers that fire where we make, move and remove tables.
    pub event_triggers: Option<String>,
    /// Whether we see the statistics of other users' sessions.
    pub reads_all_stats: bool,
    /// Whether we may do everything.
    pub is_superuser: bool,
    /// Where its files lie on its machine; `None` where we may not see it.
    pub data_directory: Option<String>,
    /// Where our tables lie there: the data directory, or the role's or the database's own tablespace.
    pub tables_directory: Option<String>,
    /// How the session is encrypted, such as `TLSv1.3`; `None` where it is not.
    pub encryption: Option<String>,
    /// Extensions of the database, each with the version of its script, which may be older than the server.
    pub extensions: Vec<(String, String)>,
}

impl ServerFacts {
    /// What a dry run assumes of a server of this major version.
    pub(crate) fn assumed(major: u32) -> ServerFacts {
        ServerFacts {
            version_number: major * 10_000,
            version: major.to_string(),
            database: "database".into(),
            user: "user".into(),
            block_bytes: 8192,
            buffer_bytes: ASSUMED_BUFFERS,
            may_create: true,
            log_statement: "none".into(),
            counts_blocks: true,
            reads_all_stats: true,
            ..ServerFacts::default()
        }
    }

    /// The major version.
    pub fn major(&self) -> u32 {
        self.version_number / 10_000
    }

    /// `postgres 15.18`.
    pub fn name(&self) -> String {
        format!("postgres {}", self.version)
    }

    /// Whether it writes a line or more to its log for each statement.
    pub fn logs_each(&self) -> bool {
        self.log_statement == "all" || self.logs_durations
    }

    /// The version of an extension's script, where the database has the extension.
    pub fn extension(&self, name: &str) -> Option<&str> {
        self.extensions.iter().find(|(known, _)| known == name).map(|(_, version)| version.as_str())
    }
}

/// The facts in the answer to [`QUESTION`]; `None` where the row has another shape.
pub(crate) fn of_row(row: &Row) -> Option<ServerFacts> {
    let text = |at: usize| row.get(at)?.clone();
    let number = |at: usize| text(at)?.parse::<u64>().ok();
    let truth = |at: usize| Some(text(at)? == "t");
    Some(ServerFacts {
        version_number: number(0)?.try_into().ok()?,
        version: text(1)?.split_whitespace().next()?.into(),
        database: text(2)?,
        user: text(3)?,
        process: number(4)?.try_into().ok()?,
        block_bytes: number(5).filter(|bytes| is_block_size(*bytes))?,
        buffer_bytes: number(6)?,
        is_standby: truth(7)?,
        may_create: truth(8)?,
        is_read_only: text(14)? == "on",
        log_statement: text(15)?,
        logs_durations: truth(21).unwrap_or(false),
        // Minus one is no limit.
        temporary_bytes_max: text(16)?.parse().ok(),
        counts_blocks: text(18).is_none_or(|setting| setting == "on"),
        has_no_encoding: text(19).is_some_and(|encoding| encoding == NO_ENCODING),
        event_triggers: text(20),
        reads_all_stats: truth(9)?,
        is_superuser: truth(10).unwrap_or(false),
        data_directory: text(11),
        tables_directory: tables_directory(text(11), text(17)),
        encryption: text(12),
        extensions: text(13).map_or(Vec::new(), |listed| extensions(&listed)),
    })
}

/// Whether a server may be built with blocks of this many bytes: what is computed by them relies on it.
///
/// Source: `--with-blocksize` in PostgreSQL's documentation, "Installation from Source Code".
fn is_block_size(bytes: u64) -> bool {
    bytes.is_power_of_two() && (1 << 10..=32 << 10).contains(&bytes)
}

/// The place of a tablespace; that of the data directory for the tablespaces that every server has, whose place is
/// empty.
fn tables_directory(data: Option<String>, tablespace: Option<String>) -> Option<String> {
    match tablespace.filter(|place| !place.is_empty()) {
        // One within the data directory.
        Some(place) if !place.starts_with('/') => Some(format!("{}/{place}", data?)),
        place => place.or(data),
    }
}

fn extensions(listed: &str) -> Vec<(String, String)> {
    let pair = |entry: &str| entry.split_once(' ').map(|(name, version)| (name.into(), version.into()));
    listed.split(',').filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packagers_words_are_no_version() {
        let words = ["150018", "15.18 (Debian 15.18-0+deb12u1)", "d", "u", "7", "8192", "134217728", "f", "t", "f"];
        let mut row: Row = words.iter().map(|word| Some((*word).to_string())).collect();
        row.extend([Some("f".into()), None, None, Some("plpgsql 1.0,pg_buffercache 1.3".into())]);
        row.extend(["on", "ddl", "-1"].map(|setting| Some(setting.into())));
        let facts = of_row(&row).unwrap();
        assert_eq!(facts.temporary_bytes_max, None);
        row[16] = Some("65536".into());
        assert_eq!(of_row(&row).unwrap().temporary_bytes_max, Some(65536));
        assert_eq!((facts.name().as_str(), facts.major()), ("postgres 15.18", 15));
        assert_eq!((facts.may_create, facts.data_directory.as_deref()), (true, None));
        assert_eq!(facts.extension("pg_buffercache"), Some("1.3"));
        assert!(facts.is_read_only && facts.log_statement == "ddl", "{facts:?}");
        assert_eq!(of_row(&row[..5].to_vec()), None);
    }

    #[test]
    fn blocks_that_no_server_can_be_built_with_are_no_answer_and_nothing_is_computed_by_them() {
        let answered = |bytes: &str| {
            let words = ["150018", "15.18", "d", "u", "7", bytes, "134217728", "f", "t", "f", "f"];
            let mut row: Row = words.iter().map(|word| Some((*word).to_string())).collect();
            row.extend([None, None, None, Some("off".into()), Some("none".into()), Some("-1".into())]);
            of_row(&row).map(|facts| facts.block_bytes)
        };
        assert_eq!(["1024", "8192", "32768"].map(answered), [Some(1024), Some(8192), Some(32_768)]);
        assert_eq!(["0", "8", "8193", "65536", "18446744073709551615"].map(answered), [None; 5]);
    }

    #[test]
    fn tables_lie_in_the_tablespace_that_the_role_or_the_database_has() {
        let text = |word: Option<&str>| word.map(String::from);
        let of = |data, place| tables_directory(text(data), text(place));
        assert_eq!(of(Some("/data"), Some("")).as_deref(), Some("/data"));
        assert_eq!(of(None, Some("/fast")).as_deref(), Some("/fast"));
        assert_eq!(of(Some("/data"), Some("pg_tblspc/16")).as_deref(), Some("/data/pg_tblspc/16"));
        assert_eq!((of(None, Some("pg_tblspc/16")), of(None, None)), (None, None));
    }
}
