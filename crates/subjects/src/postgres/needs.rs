//! What an experiment makes on a server, known before anything is made.

/// What an experiment makes on a server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    /// Bytes of tables and indexes at one time.
    pub(super) made: u64,
    /// Bytes of temporary files at one time.
    pub(super) temporary: u64,
    /// Whether it can also read what a standby has.
    pub(super) or_standby: bool,
}
