//! What a run takes of a server that is in use, known before anything is made there.

/// What a run takes of a given server at most.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The server's address, without its password.
    pub server: String,
    /// Bytes of tables and indexes at one time; 0 where nothing is made.
    pub made: u64,
    /// Bytes of temporary files at one time, into which the entries of an index are sorted.
    pub temporary: u64,
    /// What the server says of itself; `None` in a dry run, which asks nothing.
    pub known: Option<Known>,
    /// How many times as long what grows with its shared buffers takes as in a rehearsal, which knows nothing of them.
    pub by_buffers: f64,
    /// What becomes of the user's own queries there.
    pub queries: QueryUse,
}

/// What becomes of the user's own queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueryUse {
    /// None are given.
    #[default]
    None,
    /// They are explained.
    Explained,
    /// They are explained and run: most often those whose plan changes.
    Run,
}

/// What a server says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its major version.
    pub major: u32,
    /// `postgres 15.18`.
    pub name: String,
    /// Bytes of its shared buffers.
    pub buffers: u64,
    /// Which statements it writes to its log: `none`, `ddl`, `mod` or `all`.
    pub log_statement: String,
    /// The names of its event triggers that fire where tables are made, moved and removed.
    pub event_triggers: Option<String>,
}
