//! What calls and waits name by index: sessions, statements, events, scopes.

/// Index of a session in [`Context::sessions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionIndex(pub u32);

/// Index of a statement in [`Context::statements`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatementIndex(pub u32);

/// Index of an event in [`Context::events`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventIndex(pub u32);

/// Index of a combination of module, action, service, client and container in [`Context::scopes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeIndex(pub u32);

/// What stands behind a statement's row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StatementKind {
    /// A statement that the source declares, with its text.
    #[default]
    Declared,
    /// A cursor that was opened before the source began, or whose declaration is lost.
    UnknownCursor,
    /// Calls and waits that belong to no cursor: logon, commits sent by the client, waits between calls.
    NoCursor,
    /// Operations on large objects, which name no cursor.
    LargeObjects,
    /// Calls of PL/SQL on the client's side.
    ClientCalls,
    /// A text that could not be parsed.
    ParseError,
}

/// A statement as the source declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// The identifier that a person would search for: the sqlid, else the hash as a number, else what the source has.
    pub id: String,
    /// The text, shortened where it is longer than a limit.
    pub text: String,
    /// Bytes of the whole text.
    pub text_bytes: u64,
    /// Command type, 0 where not known.
    pub command: i64,
    /// Depth at its first declaration.
    pub depth: u16,
    /// Parsing schema, 0 where not known.
    pub user: i64,
    /// What stands behind it.
    pub kind: StatementKind,
}

/// A session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Such as `190.17`; empty where no line names it.
    pub id: String,
}

/// What the calls and waits between two marks share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Module.
    pub module: String,
    /// Action.
    pub action: String,
    /// Service.
    pub service: String,
    /// Client identifier.
    pub client: String,
    /// Container (pluggable database).
    pub container: String,
}

/// An event that is waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Event {
    /// Such as `db file sequential read`.
    pub name: String,
    /// Names of the parameters.
    pub parameters: Vec<String>,
}

/// Everything that calls and waits name by index.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Sessions in the order of their first line.
    pub sessions: Vec<Session>,
    /// Statements in the order of their first line.
    pub statements: Vec<Statement>,
    /// Events in the order of their first line.
    pub events: Vec<Event>,
    /// Scopes in the order of their first line.
    pub scopes: Vec<Scope>,
    /// Names of calls.
    pub call_names: Vec<String>,
}
