//! Why a server could not do what was asked; each variant is a sentence for the user.

use std::time::Duration;

use thiserror::Error;
use tokio_postgres::error::{Severity, SqlState};

use crate::identifier::name_to_paste;
use crate::one_line::one_line;

/// Characters of a statement that a sentence repeats.
const STATEMENT_CHARACTERS: usize = 100;

/// Why a certificate is not accepted that was issued by none that is trusted here.
const UNKNOWN_ISSUER: &str =
    "its certificate was not issued by a certificate authority that is trusted here (UnknownIssuer)";

/// What the driver says of a server that is not what the address or the environment asks for, and what that is.
const UNMET: [(&str, &str); 3] = [
    ("database does not allow writes", "target_session_attrs asks for one that does"),
    ("database is not read only", "target_session_attrs asks for one that is"),
    ("server did not use channel binding", "channel_binding asks for it"),
];

/// What the driver says where a server ends the connection without a word: at the wish to encrypt, at the first
/// message, and while encryption is agreed upon.
const ENDED: [&str; 3] = ["early eof", "connection closed", "tls handshake eof"];

/// How a server says that it refuses a session because that is not encrypted: from 14 on, and before.
const UNENCRYPTED: [&str; 2] = ["no encryption", "SSL off"];

/// How the driver begins to say that bytes are none of PostgreSQL's messages.
const NO_MESSAGES: [&str; 6] = [
    "bytes remaining on stream",
    "invalid message length",
    "invalid utf-8 sequence",
    "unexpected EOF",
    "unknown authentication tag",
    "unknown message tag",
];

/// What went wrong with a server.
#[derive(Debug, Error)]
pub enum ServerError {
    /// `--on` names no server.
    #[error("{0}")]
    Place(String),
    /// The host does not respond.
    #[error("{server} does not respond: {reason}; see whether the server runs and listens there")]
    Unreachable {
        /// The server's address, without its password.
        server: String,
        /// The system's message.
        reason: String,
    },
    /// Something answers that is no PostgreSQL server.
    #[error("what answers at {server} is no PostgreSQL server: check the host and the port of the address")]
    Foreign {
        /// The address, without its password.
        server: String,
    },
    /// The server responds and refuses the connection.
    #[error("{server} refuses the connection: {reason}{advice}")]
    Refused {
        /// The server's address, without its password.
        server: String,
        /// The server's message.
        reason: String,
        /// What to do, with its punctuation before it.
        advice: String,
    },
    /// No connection is encrypted as the server or the user asks for.
    #[error(
        "{server} cannot be reached with the encryption that it or its address requires: {reason}; sslmode= and \
        sslrootcert= after the address set whether a connection is encrypted, and which certificate authority is \
        trusted"
    )]
    Encryption {
        /// The server's address, without its password.
        server: String,
        /// What is in the way.
        reason: String,
    },
    /// Older than the versions that are known.
    #[error("{server} is PostgreSQL {version}: versions from 13 on are supported")]
    Version {
        /// The server's address, without its password.
        server: String,
        /// Its version.
        version: String,
    },
    /// A pooler stands between and hands out another session for each transaction or statement.
    #[error(
        "{server} is a pooler in transaction or statement mode: each statement may run in another session, and \
         settings would stay behind in sessions of others; give the address of the server itself, or a pool in session \
         mode"
    )]
    Pooler {
        /// The pooler's address, without its password.
        server: String,
    },
    /// The connection ended while a statement was under way.
    #[error("the server is gone: the connection ended during `{statement}` ({reason})")]
    Gone {
        /// The statement, shortened.
        statement: String,
        /// What ended it.
        reason: String,
    },
    /// The server holds the connection and sends nothing.
    #[error(
        "{server} has not answered for {:.0} s {doing}: see whether a PostgreSQL server listens there, and whether it \
         is stopped or overloaded", waited.as_secs_f64()
    )]
    Silent {
        /// The server's address, without its password.
        server: String,
        /// What it was to answer.
        doing: String,
        /// How long it was waited for.
        waited: Duration,
    },
    /// A statement took too long.
    #[error(
        "`{statement}` took longer than {} s, the limit of --statement-timeout, and was ended: give more time with \
         that option, or ask for a smaller --payload, fewer --rows or fewer --blocks",
        limit.as_secs_f64()
    )]
    TooLong {
        /// The statement, shortened.
        statement: String,
        /// The time limit.
        limit: Duration,
    },
    /// A statement took longer than the limit that the address, the role or the database gives each.
    #[error(
        "`{statement}` took longer than {} s, the limit that the session began with, and was ended: a larger \
         statement_timeout (or transaction_timeout) in options= of the address, of the role or of the database gives \
         it more time",
        limit.as_secs_f64()
    )]
    OwnLimit {
        /// The statement, shortened.
        statement: String,
        /// The time limit.
        limit: Duration,
    },
    /// A lock was not granted.
    #[error("`{statement}` waited too long for a lock that another session holds; repeat when it is gone")]
    Locked {
        /// The statement, shortened.
        statement: String,
    },
    /// Another session ended a statement, or a limit that was not asked for yet.
    #[error("`{statement}` was cancelled on the server by another session or by a statement_timeout ({reason})")]
    Cancelled {
        /// The statement, shortened.
        statement: String,
        /// The server's message.
        reason: String,
    },
    /// The server refuses the statement.
    #[error("the server refuses `{statement}`: {reason}")]
    Statement {
        /// The statement, shortened.
        statement: String,
        /// The server's message.
        reason: String,
        /// The server's code for it.
        code: String,
    },
    /// A statement returned something else than it must.
    #[error("`{statement}` answered `{answer}`, where {wanted} was expected")]
    Answer {
        /// The statement, shortened.
        statement: String,
        /// What it returned.
        answer: String,
        /// What it should have returned, in words.
        wanted: &'static str,
    },
    /// The plan of a statement cannot be read.
    #[error("the plan that EXPLAIN gave cannot be read: {0}")]
    Plan(String),
    /// No right to make the schema.
    #[error(
        "{user} may not create the schema readpath in the database {database}, where all that is measured would lie: \
         have its owner run GRANT CREATE ON DATABASE {} TO {}",
        name_to_paste(database),
        name_to_paste(user)
    )]
    NoRight {
        /// Who is connected.
        user: String,
        /// To which database.
        database: String,
    },
    /// The role writes nothing.
    #[error(
        "transactions of {user} in the database {database} are read-only (default_transaction_read_only), and all that \
         is measured has to be made first: give the address of a role that may write"
    )]
    ReadOnly {
        /// Who is connected.
        user: String,
        /// To which database.
        database: String,
    },
    /// A standby takes no writes.
    #[error(
        "{server} is a standby, on which no table can be created: give the address of its primary; what a standby has \
        can be measured with readpath lio, and readpath calibrate --queries compares plans there"
    )]
    Standby {
        /// The server's address, without its password.
        server: String,
    },
    /// A schema of this name belongs to another user.
    #[error(
        "the database has a schema readpath that this program did not make ({reason}): it stays as it is; use another \
         database, or have its owner rename it"
    )]
    ForeignSchema {
        /// What shows that.
        reason: String,
    },
    /// Another run is at work in the same database.
    #[error("another readpath is at work in the database {database}{holder}: wait until it has ended")]
    InUse {
        /// The database.
        database: String,
        /// The process of the server that works for it, in words behind the database; empty where it has ended.
        holder: String,
    },
    /// Too little room for the tables.
    #[error(
        "the tables and their indexes take up to {} MiB at one time, which is more than half of the {} MiB that are \
         free in {place}: ask for a smaller --payload or fewer --rows", needed.div_ceil(1 << 20), free >> 20
    )]
    Space {
        /// Bytes.
        needed: u64,
        /// Bytes.
        free: u64,
        /// The server's data directory.
        place: String,
    },
    /// Sorting takes more temporary files than the role may have.
    #[error(
        "sorting takes up to {} kB of temporary files at one time and {user} may have {} kB (temp_file_limit): ask for \
         a smaller --payload or fewer --rows, or have a superuser run ALTER ROLE {} SET temp_file_limit = '{} kB'",
        needed.div_ceil(1024), limit >> 10, name_to_paste(user), needed.div_ceil(1024)
    )]
    Temporary {
        /// Bytes.
        needed: u64,
        /// Bytes.
        limit: u64,
        /// Who is connected.
        user: String,
    },
    /// This machine could not provide something.
    #[error("{0}")]
    Machine(String),
    /// The user asked to stop, which is no failure.
    #[error("stopped")]
    Stopped,
}

impl ServerError {
    /// Whether the user asked to stop.
    pub fn is_stop(&self) -> bool {
        matches!(self, ServerError::Stopped)
    }

    /// Whether the connection has ended; the server may still run.
    pub fn is_gone(&self) -> bool {
        matches!(self, ServerError::Gone { .. } | ServerError::Silent { .. })
    }

    /// Whether the server refused or ended a statement alone: the session goes on.
    pub fn is_of_statement(&self) -> bool {
        use ServerError::{Cancelled, Locked, OwnLimit, Statement, TooLong};
        matches!(self, Statement { .. } | TooLong { .. } | OwnLimit { .. } | Locked { .. } | Cancelled { .. })
    }

    /// Whether the server refuses because it cannot convert a text to UTF-8, as its own encoding does not have it.
    pub(crate) fn is_of_encoding(&self) -> bool {
        let codes = [SqlState::UNTRANSLATABLE_CHARACTER, SqlState::CHARACTER_NOT_IN_REPERTOIRE];
        matches!(self, ServerError::Statement { code, .. } if codes.iter().any(|known| known.code() == code))
    }

    /// The sentence for a command that measures nothing: it has no option by which a statement gets more time or less
    /// work.
    pub fn without_options(&self) -> String {
        match self {
            ServerError::TooLong { statement, limit } => format!(
                "`{statement}` took longer than {} s and was ended: repeat when the server is less busy",
                limit.as_secs_f64()
            ),
            other => other.to_string(),
        }
    }

    /// The connection had ended before the statement.
    pub(crate) fn closed(statement: &str) -> ServerError {
        ServerError::Gone { statement: shortened(statement), reason: "it was closed before".into() }
    }

    /// A statement as what a server was to answer.
    pub(crate) fn during(statement: &str) -> String {
        format!("during `{}`", shortened(statement))
    }

    /// A statement returned something else than it must.
    pub fn answer(statement: &str, answer: &str, wanted: &'static str) -> ServerError {
        ServerError::Answer { statement: shortened(statement), answer: shortened(answer), wanted }
    }

    /// Why connecting failed.
    /// `file_refused` says why a password file was not read.
    pub(crate) fn connecting(server: String, file_refused: Option<&str>, error: &tokio_postgres::Error) -> ServerError {
        let Some(answer) = error.as_db_error() else {
            let reason = innermost(error);
            if let Some((_, asked)) = UNMET.iter().find(|(unmet, _)| *unmet == reason) {
                return ServerError::Refused { server, reason, advice: format!("; {asked}") };
            }
            let is_ended = ENDED.contains(&reason.as_str());
            let reason = if is_ended { "it closed the connection before it answered".into() } else { reason };
            return match reason.as_str() {
                "password missing" => ServerError::Refused {
                    server,
                    reason: "it asks for a password".into(),
                    advice: match file_refused {
                        Some(refused) => format!("; {refused}"),
                        None => "; write it into ~/.pgpass or into the address, or set PGPASSWORD".into(),
                    },
                },
                _ if is_foreign(error, &reason) => ServerError::Foreign { server },
                _ if error.to_string().starts_with("error performing TLS handshake") => {
                    let reason = match reason.contains("UnknownIssuer") {
                        true => UNKNOWN_ISSUER.into(),
                        false => reason,
                    };
                    ServerError::Encryption { server, reason }
                }
                _ => ServerError::Unreachable { server, reason },
            };
        };
        let code = answer.code();
        let reason = one_line(answer.message());
        let advice = match *code {
            SqlState::INVALID_PASSWORD => "; check the user and the password of the address",
            SqlState::INVALID_CATALOG_NAME => "; name a database at the end of the address",
            SqlState::TOO_MANY_CONNECTIONS => "; repeat when others have left",
            SqlState::CANNOT_CONNECT_NOW => "; repeat in a moment",
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION => "; check the user of the address and pg_hba.conf",
            _ => "",
        };
        let is_plain = UNENCRYPTED.iter().any(|words| reason.contains(words));
        if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION && is_plain {
            return ServerError::Encryption { server, reason };
        }
        ServerError::Refused { server, reason, advice: advice.into() }
    }

    /// Why a statement failed.
    pub(crate) fn of_statement(statement: &str, error: &tokio_postgres::Error) -> ServerError {
        let statement = shortened(statement);
        let Some(answer) = error.as_db_error() else {
            return ServerError::Gone { statement, reason: innermost(error) };
        };
        let reason = one_line(answer.message());
        match *answer.code() {
            // Such as that of a limit for idle sessions or for transactions: the session has ended.
            _ if matches!(answer.parsed_severity(), Some(Severity::Fatal | Severity::Panic)) => {
                ServerError::Gone { statement, reason }
            }
            SqlState::QUERY_CANCELED => ServerError::Cancelled { statement, reason },
            SqlState::LOCK_NOT_AVAILABLE => ServerError::Locked { statement },
            SqlState::ADMIN_SHUTDOWN | SqlState::CRASH_SHUTDOWN | SqlState::CANNOT_CONNECT_NOW => {
                ServerError::Gone { statement, reason }
            }
            _ => ServerError::Statement { statement, reason, code: answer.code().code().into() },
        }
    }
}

/// A statement on one line, cut where it is long.
fn shortened(statement: &str) -> String {
    let line = one_line(statement);
    match line.char_indices().nth(STATEMENT_CHARACTERS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The innermost reason of an error: the outer ones only report that there was one.
fn innermost(error: &tokio_postgres::Error) -> String {
    let mut reason: &dyn std::error::Error = error;
    while let Some(inner) = reason.source() {
        reason = inner;
    }
    reason.to_string()
}

/// Whether something has answered, and not in PostgreSQL's protocol.
fn is_foreign(error: &tokio_postgres::Error, reason: &str) -> bool {
    match error.to_string().as_str() {
        "unexpected message from server" | "error parsing response from server" => true,
        "error communicating with the server" => NO_MESSAGES.iter().any(|begin| reason.starts_with(begin)),
        // What agreed to encrypt sends no records of TLS.
        "error performing TLS handshake" => reason.contains("InvalidContentType"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_its_limit_ended_is_answered_with_the_option_that_moves_it_and_with_those_for_less_work() {
        let error = ServerError::TooLong { statement: "SELECT 1".into(), limit: Duration::from_millis(1500) };
        let said = error.to_string();
        let begin = "`SELECT 1` took longer than 1.5 s, the limit of --statement-timeout, and was ended: ";
        assert!(said.starts_with(begin), "{said}");
        assert!(said.contains("give more time with that option, or ask for"), "{said}");
        for option in ["--payload", "--rows", "--blocks"] {
            assert!(said.contains(option), "no {option}, by which a command takes less: {said}");
        }
    }

    #[test]
    fn a_command_that_has_no_option_for_less_work_names_none() {
        let error = ServerError::TooLong { statement: "SELECT 1".into(), limit: Duration::from_secs(5) };
        let said = error.without_options();
        assert!(
            said.starts_with("`SELECT 1` took longer than 5 s and was ended: repeat") && !said.contains("--"),
            "{said}"
        );
        let locked = ServerError::Locked { statement: "SELECT 1".into() };
        assert_eq!(locked.without_options(), locked.to_string());
    }

    #[test]
    fn a_statement_that_a_limit_of_the_role_or_the_address_ended_is_answered_with_both_and_with_no_option() {
        let error = ServerError::OwnLimit { statement: "SELECT 1".into(), limit: Duration::from_millis(1) };
        let said = error.without_options();
        let begin = "`SELECT 1` took longer than 0.001 s, the limit that the session began with, and was ended: ";
        assert!(said.starts_with(begin), "{said}");
        assert!(said.contains("statement_timeout") && !said.contains("--"), "{said}");
        assert!(said.contains("in options= of the address, of the role or"), "{said}");
    }
}
