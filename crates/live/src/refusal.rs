//! Why the server refused or ended a statement of a watch, as the end of a sentence.

use server::ServerError;

use crate::statements::SAMPLE;

/// What a watch asks by its prepared statement, whose name says nothing to a user.
const SAMPLE_ASKED: &str = "the sample of sessions";

/// The reason, without its full stop.
pub(crate) fn why(error: &ServerError) -> String {
    let reason = match error {
        // What its sentence advises is for measurements, with options that no watch has.
        ServerError::TooLong { statement, limit } => {
            format!("`{statement}` took longer than {} s and was ended", limit.as_secs_f64())
        }
        other => other.to_string().trim_end_matches('.').to_string(),
    };
    without_sample(&reason).unwrap_or(reason)
}

/// An answer; `Err` within holds the reason why the server refused or ended the statement, which is no failure: the
/// session goes on.
pub(crate) fn unless_refused<T>(answer: Result<T, ServerError>) -> Result<Result<T, String>, ServerError> {
    match answer {
        Err(error) if error.is_of_statement() => Ok(Err(why(&error))),
        answer => answer.map(Ok),
    }
}

/// A reason with what was asked in the place of our prepared statement; `None` where that is not in it.
fn without_sample(reason: &str) -> Option<String> {
    let (before, rest) = reason.split_once(&format!("`EXECUTE {SAMPLE}"))?;
    let (_, after) = rest.split_once('`')?;
    Some(format!("{before}{SAMPLE_ASKED}{after}"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::statements::execute;

    #[test]
    fn a_watch_whose_statement_took_too_long_is_given_no_advice_for_measurements() {
        let error = ServerError::TooLong { statement: "SELECT 1".into(), limit: Duration::from_secs(5) };
        assert!(error.to_string().contains("--payload"), "{error}");
        assert_eq!(why(&error), "`SELECT 1` took longer than 5 s and was ended");
        let locked = ServerError::Locked { statement: "SELECT 1".into() };
        assert_eq!(why(&locked), locked.to_string());
    }

    #[test]
    fn no_reason_quotes_the_prepared_statement_of_a_watch() {
        let statement = || execute(Some(1_795_257_953_000_023));
        let reason = || "terminating connection due to administrator command".to_string();
        let gone = ServerError::Gone { statement: statement(), reason: reason() };
        let said = "the server is gone: the connection ended during the sample of sessions (terminating connection due \
                    to administrator command)";
        assert_eq!(why(&gone), said);
        let refused = ServerError::Statement { statement: execute(None), reason: reason(), code: "57P01".into() };
        assert_eq!(
            why(&refused),
            "the server refuses the sample of sessions: terminating connection due to administrator command"
        );
        let too_long = ServerError::TooLong { statement: statement(), limit: Duration::from_secs(5) };
        assert_eq!(why(&too_long), "the sample of sessions took longer than 5 s and was ended");
        let (server, waited) = ("localhost:5432".to_string(), Duration::from_secs(30));
        let silent = ServerError::Silent { server, doing: format!("during `{}`", statement()), waited };
        assert!(why(&silent).contains("has not answered for 30 s during the sample of sessions: "), "{silent}");
    }
}
