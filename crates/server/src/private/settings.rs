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

/// The settings of one server: its buffers, and what an experiment adds to those of every server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    shared_buffers: u64,
    wanted: Vec<(String, String)>,
}

impl ServerSettings {
    /// A quiet server with this many bytes of shared buffers, rounded down to blocks of 8 KiB.
    ///
    /// Quiet means: no autovacuum, no checkpoint by time, no background writer, no parallel workers, no compilation,
    /// scans that begin at the first block, nothing flushed (nothing of it has to survive; no read is changed by that).
    pub fn new(shared_buffers: u64) -> ServerSettings {
        ServerSettings { shared_buffers, wanted: Vec::new() }
    }

    /// With one more setting, such as `io_method` or `debug_io_direct`; the last value of a name counts. A setting
    /// that the server's version does not know keeps it from starting, which the error reports.
    pub fn with(mut self, name: &str, value: &str) -> ServerSettings {
        self.wanted.push((name.into(), value.into()));
        self
    }

    /// Arguments of `postgres`: `-c name=value`, later ones win.
    pub(super) fn arguments(&self) -> Vec<String> {
        let buffers = format!("shared_buffers={}", (self.shared_buffers >> 13).max(16));
        let quiet = QUIET.iter().map(|(name, value)| format!("{name}={value}"));
        let wanted = self.wanted.iter().map(|(name, value)| format!("{name}={value}"));
        let all = quiet.chain([buffers]).chain(wanted);
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
}
