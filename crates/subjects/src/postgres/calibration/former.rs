//! What a database and the server have set of their own, which comes back when advice is undone.

use std::collections::BTreeMap;

use server::ServerError;

use super::Calibration;
use crate::error::SubjectError;

/// What `ALTER DATABASE` set for all roles.
const OF_DATABASE: &str = "SELECT split_part(setting, '=', 1), substr(setting, strpos(setting, '=') + 1) FROM \
    pg_db_role_setting s, unnest(s.setconfig) setting WHERE s.setrole = 0 AND s.setdatabase = (SELECT oid FROM \
    pg_database WHERE datname = current_database())";

/// What `ALTER SYSTEM` set, in its file.
const OF_SERVER: &str = "SELECT name, setting FROM pg_file_settings WHERE sourcefile LIKE '%postgresql.auto.conf' \
    ORDER BY seqno";

/// Settings that advice is about: others may hold what is none of a run document's business.
const OURS: [&str; 7] = [
    "seq_page_cost",
    "random_page_cost",
    "cpu_tuple_cost",
    "cpu_index_tuple_cost",
    "cpu_operator_cost",
    "effective_io_concurrency",
    "maintenance_io_concurrency",
];

/// Settings by name, with their values as text.
type Settings = BTreeMap<String, String>;

/// What was set before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Former {
    /// By `ALTER DATABASE`, for all roles.
    pub of_database: Settings,
    /// By `ALTER SYSTEM`; `None` where the role may not read it.
    pub of_server: Option<Settings>,
}

impl Calibration {
    /// What was set of the planner's constants and of reads ahead, for the database and for the server.
    pub fn former_settings(&mut self) -> Result<Former, SubjectError> {
        let of_database = ours(self.session().rows(OF_DATABASE)?);
        let of_server = match self.session().rows(OF_SERVER) {
            Err(ServerError::Statement { .. }) => None,
            rows => Some(ours(rows?)),
        };
        Ok(Former { of_database, of_server })
    }
}

/// Of a setting that a file has twice, the last stands.
fn ours(rows: Vec<Vec<Option<String>>>) -> Settings {
    let pair = |row: Vec<Option<String>>| {
        let mut columns = row.into_iter().flatten();
        Some((columns.next()?, columns.next()?)).filter(|(name, _)| OURS.contains(&name.as_str()))
    };
    rows.into_iter().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_value_of_a_setting_stands_and_other_settings_are_not_kept() {
        let row = |name: &str, value: &str| vec![Some(name.to_string()), Some(value.to_string())];
        let rows = vec![row("random_page_cost", "2"), row("ssl_passphrase_command", "x"), row("random_page_cost", "3")];
        assert_eq!(ours(rows), [("random_page_cost".to_string(), "3".to_string())].into());
    }
}
