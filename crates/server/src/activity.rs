//! What else a server does while something is measured on it.

use crate::error::ServerError;
use crate::session::Session;

/// Other sessions at work at this moment, as far as we may see them: without the right the state of others is null.
const ACTIVE: &str = "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'active' \
    AND backend_type IN ('client backend', 'autovacuum worker', 'parallel worker')";

/// What other sessions did, sampled between measurements.
#[derive(Clone, Debug, Default)]
pub struct Activity {
    looks: u64,
    busy_looks: u64,
    most: u64,
}

impl Activity {
    /// Looks once; some hundred microseconds, never inside a measurement.
    pub fn look(&mut self, session: &mut Session) -> Result<(), ServerError> {
        let active = session.number(ACTIVE, 0)?;
        self.looks += 1;
        self.busy_looks += u64::from(active > 0);
        self.most = self.most.max(active);
        Ok(())
    }

    /// The number of looks, and of those that found another session at work.
    pub fn looks(&self) -> (u64, u64) {
        (self.looks, self.busy_looks)
    }

    /// The most other sessions at work at one moment.
    pub fn most(&self) -> u64 {
        self.most
    }
}
