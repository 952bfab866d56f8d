//! The settings with which a private server starts.

/// The settings of every server, unless an experiment changes them.
///
/// Nothing but the statement may run while it is measured: no vacuum, no checkpoint, no background writer. A scan
/// begins at the first block, and is neither compiled nor divided. Nothing has to survive, so nothing is flushed:
/// this makes loading faster and changes no read. Still, commits are not delayed: VACUUM does not mark a block as
/// visible to all as long as the commit that filled it may be lost. Segments of shared memory are files in
/// the server's directory, so that they go with it.
const QUIET: [(&str, &str); 17] = [
    ("autovacuum", "off"),
    ("jit", "off"),
    ("max_parallel_workers_per_gather", "0"),
    ("max_parallel_maintenance_workers", "0"),
    ("synchronize_seqscans", "off"),
    ("fsync", "off"),
    ("full_page_writes", "off"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("max_wal_size", "64GB"),
    ("checkpoint_timeout", "1d"),
    ("bgwriter_lru_maxpages", "0"),
    ("log_checkpoints", "off"),
    ("dynamic_shared_memory_type", "mmap"),
    ("huge_pages", "try"),
    ("maintenance_work_mem", "256MB"),
    ("max_connections", "20"),
];

/// The settings of a server on a copy of a data directory; all others are the copy's own, because queries are to be
/// planned and run as there.
///
/// Nothing reaches other servers or is reached by them: no archive, no replication, no libraries that run jobs. Nothing
/// but the statement runs while it is measured: not even the vacuum against wraparound, which old tables bring about
/// though autovacuum is off. Messages go where they are read. What is shown in a language or a format that this machine
/// may lack is not.
const ON_COPY: [(&str, &str); 35] = [
    ("external_pid_file", ""),
    ("unix_socket_group", ""),
    ("unix_socket_permissions", "0700"),
    ("ssl", "off"),
    ("archive_mode", "off"),
    ("restore_command", ""),
    ("archive_cleanup_command", ""),
    ("recovery_end_command", ""),
    ("primary_conninfo", ""),
    ("synchronous_standby_names", ""),
    ("max_wal_senders", "0"),
    ("max_logical_replication_workers", "0"),
    ("shared_preload_libraries", ""),
    ("session_preload_libraries", ""),
    ("local_preload_libraries", ""),
    ("autovacuum", "off"),
    ("autovacuum_freeze_max_age", "2000000000"),
    ("autovacuum_multixact_freeze_max_age", "2000000000"),
    ("checkpoint_timeout", "1d"),
    ("max_wal_size", "64GB"),
    ("bgwriter_lru_maxpages", "0"),
    ("huge_pages", "try"),
    ("wal_compression", "off"),
    ("logging_collector", "off"),
    ("log_destination", "stderr"),
    ("log_checkpoints", "off"),
    ("log_connections", "off"),
    ("log_disconnections", "off"),
    ("log_statement", "none"),
    ("log_min_duration_statement", "-1"),
    ("log_duration", "off"),
    ("lc_messages", "C"),
    ("lc_monetary", "C"),
    ("lc_numeric", "C"),
    ("lc_time", "C"),
];

/// The settings of one server: its buffers, and what an experiment adds to those of every server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// `None` on a copy of a data directory, which has its own.
    shared_buffers: Option<u64>,
    wanted: Vec<(String, String)>,
}

impl ServerSettings {
    /// A quiet server with this many bytes of shared buffers, rounded down to blocks of 8 KiB.
    ///
    /// Quiet means: no autovacuum, no checkpoint by time, no background writer, no parallel workers, no compilation,
    /// scans that begin at the first block, nothing flushed (nothing of it has to survive; no read is changed by that).
    pub fn new(shared_buffers: u64) -> ServerSettings {
        ServerSettings { shared_buffers: Some(shared_buffers), wanted: Vec::new() }
    }

    /// Those of a server on a copy of a data directory.
    pub(super) fn of_copy() -> ServerSettings {
        ServerSettings { shared_buffers: None, wanted: Vec::new() }
    }

    /// With one more setting, such as `io_method` or `debug_io_direct`; the last value of a name counts. A setting
    /// that the server's version does not know keeps it from starting, which the error reports.
    pub fn with(mut self, name: &str, value: &str) -> ServerSettings {
        self.wanted.push((name.into(), value.into()));
        self
    }

    /// Arguments of `postgres`: `-c name=value`, later ones win.
    pub(super) fn arguments(&self) -> Vec<String> {
        let usual: &[(&str, &str)] = if self.shared_buffers.is_some() { &QUIET } else { &ON_COPY };
        let buffers = self.shared_buffers.map(|bytes| format!("shared_buffers={}", (bytes >> 13).max(16)));
        let usual = usual.iter().map(|(name, value)| format!("{name}={value}"));
        let wanted = self.wanted.iter().map(|(name, value)| format!("{name}={value}"));
        let all = usual.chain(buffers).chain(wanted);
        all.flat_map(|setting| ["-c".to_string(), setting]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiments_settings_override_those_of_every_server() {
        let arguments = ServerSettings::new(16 << 20).with("jit", "on").arguments();
        let place = |setting: &str| arguments.iter().position(|argument| argument == setting).unwrap();
        assert!(place("jit=off") < place("jit=on"));
        assert!(arguments.contains(&"shared_buffers=2048".to_string()));
    }

    #[test]
    fn a_server_on_a_copy_keeps_what_queries_are_planned_by_and_reaches_no_other_server() {
        let arguments = ServerSettings::of_copy().arguments();
        let has = |setting: &str| arguments.iter().any(|argument| argument.starts_with(setting));
        for own in ["shared_buffers=", "jit=", "max_parallel_workers_per_gather=", "fsync=", "random_page_cost="] {
            assert!(!has(own), "{own}");
        }
        for closed in ["archive_mode=off", "max_logical_replication_workers=0", "shared_preload_libraries="] {
            assert!(has(closed), "{closed}");
        }
        for quiet in ["autovacuum=off", "autovacuum_freeze_max_age=2", "autovacuum_multixact_freeze_max_age=2"] {
            assert!(has(quiet), "{quiet}: it is not off for old tables");
        }
    }
}
