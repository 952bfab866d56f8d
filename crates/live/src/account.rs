//! The server's own account of its sessions' time, to hold the samples against.
//!
//! A database adds a statement's time up when the statement ends, and a second later. What was under way at either end
//! is taken off or added by the time since it was begun.

use std::time::Duration;

use profile::event::Ticks;
use server::{ServerError, Session};

use crate::statements::{ACTIVE_TIME, WITH_QUERY_ID};

/// The account at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Account {
    /// Active time so far, statements under way included, in µs.
    micros: f64,
    /// What changes when the account is begun anew.
    begun: String,
}

impl Account {
    /// The account now; `Err` within holds the reason why there is none, which is no failure.
    pub(crate) fn now(session: &mut Session) -> Result<Result<Account, String>, ServerError> {
        if session.facts().major() < WITH_QUERY_ID {
            return Ok(Err("PostgreSQL counts active time from version 14 on".into()));
        }
        let row = match session.rows(ACTIVE_TIME) {
            Ok(rows) => rows.into_iter().next(),
            Err(error) if error.is_of_statement() => return Ok(Err(error.to_string())),
            Err(error) => return Err(error),
        };
        let of_row = |row: server::Row| {
            let number = |at: usize| row.get(at)?.as_deref()?.parse::<f64>().ok();
            let micros = number(0)? * 1e3 + number(1)? * 1e6;
            Some(Account { micros, begun: row.get(2)?.clone()? })
        };
        Ok(row.and_then(of_row).ok_or_else(|| "its answer has another shape".into()))
    }

    /// The time since `earlier` of all sessions but ours, for which the server worked so long meanwhile.
    pub(crate) fn since(&self, earlier: &Account, own: Duration) -> Result<Ticks, String> {
        if self.begun != earlier.begun {
            return Err("the server was restarted, or its statistics were reset meanwhile".into());
        }
        let micros = self.micros - earlier.micros - own.as_secs_f64() * 1e6;
        Ok(Ticks::from_micros(micros.max(0.0) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_session_is_taken_off_and_an_account_that_was_begun_anew_is_none() {
        let at = |seconds: f64, begun: &str| Account { micros: seconds * 1e6, begun: begun.into() };
        let taken = at(12.5, "a").since(&at(10.0, "a"), Duration::from_millis(500));
        assert_eq!(taken, Ok(Ticks::from_micros(2_000_000)));
        assert_eq!(at(10.1, "a").since(&at(10.0, "a"), Duration::from_secs(1)), Ok(Ticks::ZERO));
        assert!(at(3.0, "b").since(&at(10.0, "a"), Duration::ZERO).unwrap_err().contains("restarted"));
    }
}
