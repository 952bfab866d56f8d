//! What an experiment makes on a server, known before anything is made.

/// What of a server decides how much is made there.
#[derive(Clone, Copy, Debug)]
pub(super) struct ServerSize {
    /// Bytes of a block.
    pub(super) block_bytes: u64,
    /// Bytes of the shared buffers; `None` in a dry run, which asks nothing.
    pub(super) buffers: Option<u64>,
}

/// What an experiment makes on a server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    /// Bytes of tables and indexes at one time.
    pub(super) made: u64,
    /// Bytes of temporary files at one time.
    pub(super) temporary: u64,
    /// Whether it can also read what a standby has.
    pub(super) or_standby: bool,
    /// How large what grows with the shared buffers is, over what a rehearsal takes it for, where that is another size.
    pub(super) by_buffers: Option<f64>,
}
