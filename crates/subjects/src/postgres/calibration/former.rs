//! What a database and the server have set of their own, which comes back when advice is undone; and what is set for
//! roles, which overrides advice.

use std::collections::BTreeMap;

use measure::schema::calibrate::SET_CONSTANTS;
use serde::Serialize;
use server::{Row, ServerError};

use super::Calibration;
use crate::error::SubjectError;

/// What `ALTER DATABASE` set for all roles.
const OF_DATABASE: &str = "SELECT split_part(setting, '=', 1), substr(setting, strpos(setting, '=') + 1) FROM \
    pg_db_role_setting s, unnest(s.setconfig) setting WHERE s.setrole = 0 AND s.setdatabase = (SELECT oid FROM \
    pg_database WHERE datname = current_database())";

/// What `ALTER ROLE` set: for roles, everywhere or in this database, and for all roles. A session has the settings of
/// the role that it was opened by.
///
/// Source: PostgreSQL, `process_settings` in src/backend/utils/init/postinit.c, on which setting overrides which.
const OF_ROLES: &str = "SELECT r.rolname, s.setdatabase <> 0, coalesce(r.rolname = session_user, false), \
    split_part(setting, '=', 1), substr(setting, strpos(setting, '=') + 1) FROM pg_db_role_setting s CROSS JOIN \
    unnest(s.setconfig) setting LEFT JOIN pg_roles r ON r.oid = s.setrole WHERE s.setdatabase IN (0, (SELECT oid FROM \
    pg_database WHERE datname = current_database())) AND (s.setrole <> 0 OR s.setdatabase = 0) ORDER BY 1, 2, 4";

/// What `ALTER SYSTEM` set, in its file.
const OF_SERVER: &str = "SELECT name, setting FROM pg_file_settings WHERE sourcefile LIKE '%postgresql.auto.conf' \
    ORDER BY seqno";

/// Whether the role may read that: a question that is refused is an error in the server's log.
const MAY_READ_FILE: &str = "SELECT has_table_privilege('pg_file_settings', 'SELECT') AND \
    has_function_privilege('pg_show_all_file_settings()', 'EXECUTE')";

/// Settings that advice is about, in addition to the constants of a set.
const OTHERS: [&str; 3] = ["effective_cache_size", "effective_io_concurrency", "maintenance_io_concurrency"];

/// Settings by name, with their values as text.
type Settings = BTreeMap<String, String>;

/// A setting of a role, or of all roles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoleSetting {
    /// The role; `None` for all, whose settings give way to those of the database.
    pub role: Option<String>,
    /// Whether it holds in this database alone.
    pub in_database: bool,
    /// Whether it is of the role that opened this session.
    pub is_own: bool,
    /// The setting.
    pub setting: String,
    /// Its value.
    pub value: String,
}

/// What was set before; `None` where the role may not read it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Former {
    /// By `ALTER DATABASE`, for all roles.
    pub of_database: Option<Settings>,
    /// By `ALTER ROLE`.
    pub of_roles: Option<Vec<RoleSetting>>,
    /// By `ALTER SYSTEM`.
    pub of_server: Option<Settings>,
}

impl Calibration {
    /// What was set of the planner's constants, of the cache that it assumes and of reads ahead: for the database, for
    /// roles and for the server.
    pub fn former_settings(&mut self) -> Result<Former, SubjectError> {
        let of_database = self.readable(OF_DATABASE)?.map(ours);
        let of_roles = self.readable(OF_ROLES)?.map(of_roles);
        let of_server = match self.session().truth(MAY_READ_FILE, true)? {
            true => self.readable(OF_SERVER)?.map(ours),
            false => None,
        };
        Ok(Former { of_database, of_roles, of_server })
    }

    /// The rows of a question; `None` where the server refuses it.
    fn readable(&mut self, question: &str) -> Result<Option<Vec<Row>>, SubjectError> {
        match self.session().rows(question) {
            Err(ServerError::Statement { .. }) => Ok(None),
            rows => Ok(Some(rows?)),
        }
    }
}

/// Whether advice is about this setting: others may hold what is none of a run document's business.
fn is_ours(setting: &str) -> bool {
    SET_CONSTANTS.contains(&setting) || OTHERS.contains(&setting)
}

/// The settings of roles that advice is about.
fn of_roles(rows: Vec<Row>) -> Vec<RoleSetting> {
    let one = |row: Row| {
        let mut columns = row.into_iter();
        let role = columns.next()?;
        let mut texts = columns.flatten();
        let [in_database, is_own] = [texts.next()?, texts.next()?].map(|text| text == "t");
        let (setting, value) = (texts.next()?, texts.next()?);
        Some(RoleSetting { role, in_database, is_own, setting, value })
    };
    rows.into_iter().filter_map(one).filter(|one| is_ours(&one.setting)).collect()
}

/// Of a setting that a file has twice, the last stands.
fn ours(rows: Vec<Row>) -> Settings {
    let pair = |row: Row| {
        let mut columns = row.into_iter().flatten();
        Some((columns.next()?, columns.next()?)).filter(|(name, _)| is_ours(name))
    };
    rows.into_iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::super::queries::samples::on_debians_server;
    use super::*;

    #[test]
    fn a_role_that_may_not_read_the_servers_file_is_not_refused_it_as_an_error_in_the_servers_log() {
        let Some(mut tables) = on_debians_server() else {
            return println!("skipped: Debian's PostgreSQL 15 is not installed");
        };
        tables.session().run("CREATE ROLE clerk; SET ROLE clerk").unwrap();
        // A refusal would end it.
        tables.session().begin_transaction().unwrap();
        let former = tables.former_settings().unwrap();
        assert_eq!((former.of_server, former.of_database.is_some()), (None, true));
        assert_eq!(tables.session().number("SELECT 1", 1).unwrap(), 1);
    }

    #[test]
    fn the_last_value_of_a_setting_stands_and_other_settings_are_not_kept() {
        let row = |name: &str, value: &str| vec![Some(name.to_string()), Some(value.to_string())];
        let rows = vec![
            row("random_page_cost", "2"),
            row("effective_cache_size", "3GB"),
            row("ssl_passphrase_command", "x"),
            row("random_page_cost", "3"),
        ];
        let kept = [("effective_cache_size", "3GB"), ("random_page_cost", "3")];
        assert_eq!(ours(rows), kept.map(|(name, value)| (name.to_string(), value.to_string())).into());
    }

    #[test]
    fn settings_of_roles_and_of_all_roles_are_told_apart_and_others_are_not_kept() {
        let row = |columns: [Option<&str>; 5]| columns.map(|column| column.map(String::from)).to_vec();
        let rows = vec![
            row([Some("clerk"), Some("t"), Some("t"), Some("random_page_cost"), Some("1.1")]),
            row([Some("clerk"), Some("f"), Some("t"), Some("search_path"), Some("secret")]),
            row([None, Some("f"), Some("f"), Some("seq_page_cost"), Some("2")]),
        ];
        let of = |role: Option<&str>, is_own, setting: &str, value: &str| RoleSetting {
            role: role.map(String::from),
            in_database: is_own,
            is_own,
            setting: setting.into(),
            value: value.into(),
        };
        let expected = [of(Some("clerk"), true, "random_page_cost", "1.1"), of(None, false, "seq_page_cost", "2")];
        assert_eq!(of_roles(rows), expected);
    }
}
