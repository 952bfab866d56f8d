//! The server's own account of its sessions' time, to hold the samples against.
//!
//! A database adds a statement's time up when the statement ends, and a second later. What was under way at either end
//! is taken off or added by the time since it was begun.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use profile::event::Ticks;
use server::{Row, ServerError, Session};

use crate::refusal::unless_refused;
use crate::row::{parsed, text};
use crate::statements::{ACTIVE_TIME, WITH_QUERY_ID};

/// The account at one moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ActiveTime {
    /// By the databases' numbers: with one that is dropped, its account is gone.
    databases: BTreeMap<u32, OfDatabase>,
    /// Time of statements under way, in µs.
    under_way: f64,
    /// When the server was started.
    started: String,
}

/// The account of one database.
#[derive(Clone, Debug, PartialEq)]
struct OfDatabase {
    /// Active time so far, in µs.
    micros: f64,
    /// When it was begun anew; empty where it never was.
    reset: String,
}

impl ActiveTime {
    /// The account now; `Err` within holds the reason why there is none, which is no failure.
    pub(crate) fn now(session: &mut Session) -> Result<Result<ActiveTime, String>, ServerError> {
        if session.facts().major() < WITH_QUERY_ID {
            return Ok(Err("PostgreSQL counts active time from version 14 on".into()));
        }
        let rows = unless_refused(session.rows(ACTIVE_TIME))?;
        Ok(rows.and_then(|rows| ActiveTime::of(&rows).ok_or_else(|| "its answer has another shape".into())))
    }

    /// The account in the rows of an answer; `None` where they have another shape.
    fn of(rows: &[Row]) -> Option<ActiveTime> {
        let first = rows.first()?;
        let (under_way, started) = (parsed::<f64>(first, 3)? * 1e6, text(first, 4)?.to_string());
        let mut databases = BTreeMap::new();
        for row in rows {
            let reset = text(row, 2).unwrap_or_default().to_string();
            databases.insert(parsed(row, 0)?, OfDatabase { micros: parsed::<f64>(row, 1)? * 1e3, reset });
        }
        Some(ActiveTime { databases, under_way, started })
    }

    /// The time since `earlier` of all sessions but ours, for which the server worked so long meanwhile.
    pub(crate) fn since(&self, earlier: &ActiveTime, own: Duration) -> Result<Ticks, String> {
        self.change(earlier, own).map(|micros| Ticks::from_micros(micros.max(0.0) as i64))
    }

    /// The same in µs; below zero where statements have ended whose time is still to be added up.
    fn change(&self, earlier: &ActiveTime, own: Duration) -> Result<f64, String> {
        if self.started != earlier.started {
            return Err("the server was restarted meanwhile".into());
        }
        for (number, before) in &earlier.databases {
            match self.databases.get(number) {
                None => return Err("a database was dropped meanwhile, and its account with it".into()),
                // Some versions note a beginning when a database is first used.
                Some(now) if now.reset != before.reset && before.micros > 0.0 => {
                    return Err("its statistics were reset meanwhile".into());
                }
                Some(_) => {}
            }
        }
        Ok(self.micros() - earlier.micros() - own.as_secs_f64() * 1e6)
    }

    /// Whether the server has gone on since an earlier one: it is the same, was not started anew, and has lost no
    /// statistics in a crash, which leaves the time of its start as it was.
    pub(crate) fn has_gone_on_since(&self, earlier: &ActiveTime) -> bool {
        let goes_on = |(number, before): (&u32, &OfDatabase)| {
            self.databases.get(number).is_none_or(|now| now.micros >= before.micros)
        };
        self.started == earlier.started && earlier.databases.iter().all(goes_on)
    }

    /// Active time so far, statements under way included, in µs.
    fn micros(&self) -> f64 {
        self.databases.values().map(|one| one.micros).sum::<f64>() + self.under_way
    }
}

/// For how long a time below zero is taken off the times after it: a statement that was ended by force is never added
/// up.
const OWED_FOR: Duration = Duration::from_secs(300);

/// The account from one time that the server is asked to the next.
#[derive(Clone, Debug)]
pub(crate) struct ActiveTimeMeter {
    account: Result<ActiveTime, String>,
    /// How long the server had worked for our session by then, and when it was asked last.
    own: Duration,
    own_before: Duration,
    /// Since when times have come out below zero.
    owed: Option<Instant>,
}

impl ActiveTimeMeter {
    /// It begins with this account, when the server had worked so long for our session.
    pub(crate) fn begin(account: Result<ActiveTime, String>, own: Duration) -> ActiveTimeMeter {
        ActiveTimeMeter { account, own, own_before: own, owed: None }
    }

    /// Gives no time when the server is asked next, for this reason.
    pub(crate) fn forget(&mut self, reason: &str) {
        (self.account, self.owed) = (Err(reason.into()), None);
    }

    /// The time since the server was asked last, and for how much of it the server worked for our session.
    ///
    /// A time below zero is none, and is taken off the next one: otherwise the time of a statement would count twice,
    /// as it was under way and when it is added up, which may be several answers later.
    pub(crate) fn next(&mut self, now: Result<ActiveTime, String>, own: Duration) -> (Result<Ticks, String>, Duration) {
        let of_session = own.saturating_sub(std::mem::replace(&mut self.own_before, own));
        let change = match (&self.account, &now) {
            (Ok(before), Ok(now)) => now.change(before, own.saturating_sub(self.own)),
            (Err(why), _) | (_, Err(why)) => Err(why.clone()),
        };
        let is_owed = change.as_ref().is_ok_and(|micros| *micros < 0.0);
        if is_owed && self.owed.get_or_insert_with(Instant::now).elapsed() < OWED_FOR {
            return (Ok(Ticks::ZERO), of_session);
        }
        *self = ActiveTimeMeter::begin(now, own);
        (change.map(|micros| Ticks::from_micros(micros.max(0.0) as i64)), of_session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ActiveTime {
        /// That of one database with these active seconds.
        pub(crate) fn sample(seconds: f64) -> ActiveTime {
            ActiveTime::sample_since(seconds, "")
        }

        /// The same of a server that was started then.
        pub(crate) fn sample_since(seconds: f64, started: &str) -> ActiveTime {
            let databases = [(5, OfDatabase { micros: seconds * 1e6, reset: String::new() })].into();
            ActiveTime { databases, under_way: 0.0, started: started.into() }
        }
    }

    /// An account of databases, each with its number, its active seconds and when it was begun anew, of a server that
    /// was started at this time.
    fn account(started: &str, databases: &[(u32, f64, Option<&str>)]) -> ActiveTime {
        let row = |(number, seconds, reset): &(u32, f64, Option<&str>)| -> Row {
            let cells = [Some(number.to_string()), Some((seconds * 1e3).to_string()), reset.map(String::from)];
            cells.into_iter().chain([Some("0.5".into()), Some(started.into())]).collect()
        };
        ActiveTime::of(&databases.iter().map(row).collect::<Vec<Row>>()).unwrap()
    }

    #[test]
    fn our_own_session_is_taken_off_and_an_account_that_was_begun_anew_is_none() {
        let at = |seconds: f64, started: &str| account(started, &[(0, 0.0, None), (5, seconds, None)]);
        let taken = at(12.5, "a").since(&at(10.0, "a"), Duration::from_millis(500));
        assert_eq!(taken, Ok(Ticks::from_micros(2_000_000)));
        assert_eq!(at(10.1, "a").since(&at(10.0, "a"), Duration::from_secs(1)), Ok(Ticks::ZERO));
        assert!(at(3.0, "b").since(&at(10.0, "a"), Duration::ZERO).unwrap_err().contains("restarted"));
        let reset = account("a", &[(0, 0.0, None), (5, 11.0, Some("today"))]);
        assert!(reset.since(&at(10.0, "a"), Duration::ZERO).unwrap_err().contains("reset"));
        assert_eq!(reset.since(&at(0.0, "a"), Duration::ZERO), Ok(Ticks::from_micros(11_000_000)));
        assert_eq!(ActiveTime::of(&[]), None);
    }

    #[test]
    fn the_time_of_a_database_that_was_dropped_is_not_taken_off_that_of_others() {
        let two = account("a", &[(5, 10.0, None), (6, 300.0, None)]);
        let one = account("a", &[(5, 25.0, None)]);
        assert!(one.since(&two, Duration::ZERO).unwrap_err().contains("a database was dropped"));
        // One that was created meanwhile brings all of its time.
        let three = account("a", &[(5, 11.0, None), (6, 300.0, None), (7, 2.0, Some("today"))]);
        assert_eq!(three.since(&two, Duration::ZERO), Ok(Ticks::from_micros(3_000_000)));
    }

    #[test]
    fn the_time_of_a_statement_that_is_added_up_late_counts_once() {
        let at = |seconds: f64| Ok(account("a", &[(5, seconds, None)]));
        let mut accounted = ActiveTimeMeter::begin(at(10.0), Duration::ZERO);
        // A statement of five seconds ends: it is under way no more, and the database has not added it up.
        let times = [13.0, 8.0, 9.0, 15.0, 16.0].map(|seconds| accounted.next(at(seconds), Duration::ZERO).0);
        assert_eq!(times, [3, 0, 0, 2, 1].map(|seconds| Ok(Ticks::from_micros(seconds * 1_000_000))));
    }

    #[test]
    fn a_statement_that_is_never_added_up_is_not_waited_for_without_end() {
        let at = |seconds: f64| Ok(account("a", &[(5, seconds, None)]));
        let Some(long_ago) = Instant::now().checked_sub(OWED_FOR) else {
            return println!("skipped: this machine was started just now");
        };
        let mut accounted =
            ActiveTimeMeter { owed: Some(long_ago), ..ActiveTimeMeter::begin(at(900.0), Duration::ZERO) };
        let times = [7.0, 9.0].map(|seconds| accounted.next(at(seconds), Duration::ZERO).0);
        assert_eq!(times, [Ok(Ticks::ZERO), Ok(Ticks::from_micros(2_000_000))]);
    }

    #[test]
    fn what_our_session_took_is_given_with_each_answer_and_taken_off_the_time() {
        let at = |seconds: f64| Ok(account("a", &[(5, seconds, None)]));
        let (second, mut accounted) = (Duration::from_secs(1), ActiveTimeMeter::begin(at(0.0), Duration::ZERO));
        assert_eq!(accounted.next(at(3.0), second), (Ok(Ticks::from_micros(2_000_000)), second));
        // Below zero, and then both of its seconds are taken off.
        assert_eq!(accounted.next(at(3.5), 2 * second), (Ok(Ticks::ZERO), second));
        assert_eq!(accounted.next(at(6.0), 3 * second), (Ok(Ticks::from_micros(1_000_000)), second));
        accounted.forget("some of that time passed without samples");
        assert_eq!(accounted.next(at(7.0), 3 * second).0, Err("some of that time passed without samples".into()));
    }
}
