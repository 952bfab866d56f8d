//! What one statement costs on a server: the processor time of its backend, or the execution time that EXPLAIN reports
//! where the backend cannot be seen.

use std::time::Instant;

use measure::Nanos;
use server::backend;
use server::{BackendAccount, Buffers, Plan, ServerError, Session};

use crate::logical_reads::{Baseline, Cache, Cost, Sources};

/// EXPLAIN with the least work of its own. From 18 on it accounts for blocks at every row unless that is turned off.
const NOTHING_ADDED: &str = "ANALYZE, BUFFERS OFF, TIMING OFF";

/// How the cost of a statement is obtained.
#[derive(Clone, Debug)]
pub enum Meter {
    /// From the account of the backend's processor time.
    Account(BackendAccount),
    /// From the execution time that EXPLAIN gives, for this reason.
    Explain(String),
}

/// How the figures of a server are obtained.
pub(super) fn sources(meter: &Meter, baseline: Baseline) -> Sources {
    let explained = "EXPLAIN (ANALYZE, BUFFERS)";
    Sources {
        cpu: meter.source().into(),
        elapsed: "sending the statement to its answer",
        gets: explained,
        physical_reads: explained,
        rows: "counted by the statement",
        lap: ["statement", "statements"],
        baseline,
        cache: Cache { name: "shared buffers", advice: "Ask for a smaller --payload." },
    }
}

impl Meter {
    /// The account where there is one.
    pub fn open(session: &mut Session) -> Result<Meter, ServerError> {
        Ok(BackendAccount::open(session)?.map_or_else(Meter::Explain, Meter::Account))
    }

    /// How the costs are obtained, for the documents.
    pub fn source(&self) -> &'static str {
        match self {
            Meter::Account(_) => backend::SOURCE,
            Meter::Explain(_) => {
                "execution time by EXPLAIN (ANALYZE, BUFFERS OFF, TIMING OFF): elapsed time, not processor time"
            }
        }
    }

    /// Runs a statement that counts `count`, `laps` times in a row, and gives the processor time of the backend, or the
    /// execution time, and what passed from sending it to its result; an error where it counts otherwise.
    pub fn measure(&self, session: &mut Session, statement: &str, count: u64, laps: u32) -> Result<Cost, ServerError> {
        match self {
            Meter::Account(account) => {
                let before = processor_time(account, session)?;
                let started = Instant::now();
                for _ in 0..laps {
                    expect(session, statement, count)?;
                }
                let elapsed = Nanos(started.elapsed().as_nanos() as u64);
                let cpu = processor_time(account, session)?.since(before);
                Ok(Cost { cpu, elapsed: if session.is_rehearsal() { cpu } else { elapsed }, ..Cost::default() })
            }
            Meter::Explain(_) => {
                let mut total = Cost::default();
                for _ in 0..laps {
                    let started = Instant::now();
                    let assumed = Plan::assumed("Aggregate", Buffers::default());
                    let plan = session.explain_with(NOTHING_ADDED, statement, assumed)?;
                    let execution =
                        plan.execution_ms.ok_or_else(|| ServerError::Plan("it has no `Execution Time`".into()))?;
                    total.cpu += Nanos((execution * 1e6) as u64);
                    total.elapsed += Nanos(started.elapsed().as_nanos() as u64);
                }
                Ok(total)
            }
        }
    }
}

/// The backend's processor time so far; in a dry run the time that its statements would take.
fn processor_time(account: &BackendAccount, session: &Session) -> Result<Nanos, ServerError> {
    match session.assumed_time() {
        Some(time) => Ok(Nanos(time.as_nanos() as u64)),
        None => account.processor_time().map_err(ServerError::Machine),
    }
}

/// Runs a statement that has to count `count`.
pub fn expect(session: &mut Session, statement: &str, count: u64) -> Result<(), ServerError> {
    let found = session.number(statement, count)?;
    if found == count {
        return Ok(());
    }
    Err(ServerError::answer(statement, &found.to_string(), "the number of rows that were loaded"))
}

#[cfg(test)]
mod tests {
    use server::{Address, Limits, Statements};

    use super::*;

    #[test]
    fn no_version_accounts_for_blocks_in_the_time_that_stands_for_a_statement() {
        let (address, statements) = (Address::parse("postgres://me@localhost/shop").unwrap(), Statements::default());
        let recorder = (statements.clone(), 18);
        let mut session = Session::rehearsal(&address, Limits::default(), Default::default(), recorder).unwrap();
        let meter = Meter::Explain("it runs elsewhere".into());
        meter.measure(&mut session, "SELECT 7", 7, 1).unwrap();
        let script = statements.script();
        assert!(script.contains("EXPLAIN (ANALYZE, BUFFERS OFF, TIMING OFF, FORMAT JSON) SELECT 7"), "{script}");
    }
}
