//! Why the server refused or ended a statement of a watch, as the end of a sentence.

use server::ServerError;

/// The reason, without its full stop.
pub(crate) fn why(error: &ServerError) -> String {
    match error {
        // What its sentence advises is for measurements, with options that no watch has.
        ServerError::TooLong { statement, limit } => {
            format!("`{statement}` took longer than {} s and was ended", limit.as_secs_f64())
        }
        other => other.to_string().trim_end_matches('.').to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_watch_whose_statement_took_too_long_is_given_no_advice_for_measurements() {
        let error = ServerError::TooLong { statement: "SELECT 1".into(), limit: Duration::from_secs(5) };
        assert!(error.to_string().contains("--payload"), "{error}");
        assert_eq!(why(&error), "`SELECT 1` took longer than 5 s and was ended");
        let locked = ServerError::Locked { statement: "SELECT 1".into() };
        assert_eq!(why(&locked), locked.to_string());
    }
}
