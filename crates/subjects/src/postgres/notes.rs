//! What a session on a server reports in every experiment: what the server is, which rights are missing, which other
//! sessions were at work, which processes used the processors, and what could not be removed.

use measure::quantity::{size_in_words, three_digits};
use measure::schema::own_cost;
use measure::schema::subjects::findings as row;
use measure::{Finding, Metric, Nanos, Parameters};
use serde_json::{Value, json};
use server::activity::Activity;
use server::space::{self, FreeSpace};
use server::{Schema, ServerFacts, Session};
use sys::host;
use sys::process;
use sys::time::Clock;

use super::displaced::Displaced;
use super::statement::Meter;
use crate::error::SubjectError;
use crate::subject::Closing;

/// Processors that other processes may keep busy without a finding.
const OTHERS: f64 = 0.2;

/// What is known of a server and noticed while it is measured.
#[derive(Debug)]
pub struct Notes {
    name: String,
    address: String,
    description: Parameters,
    findings: Vec<Finding>,
    activity: Activity,
    shares: Shares,
    /// On a given server, what others had in its buffers.
    displaced: Option<Displaced>,
    /// Bytes of tables and indexes at one time.
    made: u64,
    clock: Clock,
}

/// CPU time while statements were measured, split into backend, readpath and all processes.
#[derive(Clone, Copy, Debug, Default)]
struct Shares {
    elapsed: Nanos,
    backend: Nanos,
    own: Nanos,
    busy: Option<Nanos>,
}

impl Notes {
    /// Notes what the server reports about itself.
    pub fn of(session: &Session, clock: Clock) -> Notes {
        let (facts, address) = (session.facts(), session.address().shown());
        let mut description = Parameters::from_iter([
            ("kind".to_string(), json!("postgres")),
            ("server".into(), json!(address)),
            ("version".into(), json!(facts.version)),
            ("shared_buffers".into(), json!(facts.buffer_bytes)),
            ("block_bytes".into(), json!(facts.block_bytes)),
        ]);
        if let Some(encryption) = &facts.encryption {
            description.insert("encryption".into(), json!(encryption));
        }
        let (activity, shares) = (Activity::default(), Shares::default());
        let (findings, displaced, made) = (Vec::new(), None, 0);
        let mut notes =
            Notes { name: facts.name(), address, description, findings, activity, shares, displaced, made, clock };
        notes.note_rights(facts);
        notes
    }

    /// The server's name in cases and sentences: `postgres 18.6`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the run document says about the server.
    pub fn description(&self) -> Parameters {
        self.description.clone()
    }

    /// Adds to the description.
    pub fn describe(&mut self, key: &str, value: Value) {
        self.description.insert(key.into(), value);
    }

    /// Notes a finding.
    pub fn find(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// The findings since the last call.
    pub fn take(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// Refuses tables and indexes of `needed` bytes for which there is no room on the server; `option` asks for less.
    pub fn check_space(&mut self, session: &Session, needed: u64, option: &str) -> Result<(), SubjectError> {
        let free = space::check(session, needed)?;
        self.describe("tables_bytes_max", json!(needed));
        self.made = needed;
        if let FreeSpace::Unknown(reason) = free {
            let shown = if needed >= 1 << 20 { needed >> 20 << 20 } else { needed >> 10 << 10 };
            self.find(row::UNKNOWN_SPACE.of(format!(
                "The server's free space is not known, because {reason}. What is made there takes up to {} at one \
                     time, none of it in the log; {option} makes it smaller.",
                size_in_words(shown)
            )));
        }
        Ok(())
    }

    /// Notes what a killed run left, and on a given server what others have in its buffers.
    pub fn begin(&mut self, schema: &mut Schema, is_private: bool) -> Result<(), SubjectError> {
        let leftovers = schema.leftovers();
        if leftovers > 0 {
            self.find(
                row::LEFTOVERS_REMOVED
                    .of(format!("A killed run had left {leftovers} tables on the server: they were removed.")),
            );
        }
        self.displaced = if is_private { None } else { Some(Displaced::begin(schema.session())?) };
        Ok(())
    }

    /// Notes whether the activity of other sessions can be seen.
    fn note_rights(&mut self, facts: &ServerFacts) {
        if !facts.reads_all_stats {
            self.find(row::ABSENT_ACTIVITY.of(format!(
                "Whether other sessions were at work is not known, because {} may not see them: GRANT \
                     pg_read_all_stats TO {} adds it.",
                facts.user, facts.user
            )));
        }
    }

    /// Notes where costs are not the backend's processor time.
    pub fn note_meter(&mut self, meter: &Meter) {
        if let Meter::Explain(reason) = meter {
            self.find(row::ABSENT_BACKEND_TIME.of(format!(
                "The backend's processor time was not available, because {reason}: costs are EXPLAIN's execution \
                     times, which contain waits and the counting itself. Run readpath on the server's own machine."
            )));
        }
    }

    /// Notes blocks of a table with rows that are not known to be visible to all, which cost more to read.
    pub fn note_hidden(&mut self, (hidden, blocks): (u64, u64), table: &str) {
        if hidden > 0 {
            self.find(row::NOT_ALL_VISIBLE.of(format!(
                "{hidden} of {blocks} blocks of {table} could not be made visible to all, because a transaction that \
                 is older than the load is still open on the server: a scan looks at each row's history there. Repeat \
                 the run when it has ended."
            )));
        }
    }

    /// Looks for other sessions at work, between measurements, and gives the findings since the last call.
    pub fn look(&mut self, session: &mut Session) -> Vec<Finding> {
        // A session that is lost says so where it is measured.
        let _ = self.activity.look(session);
        self.take()
    }

    /// Whether other sessions were at work in a fifth of the looks or more.
    pub fn is_busy(&self) -> bool {
        let (looks, busy) = self.activity.looks();
        busy > 0 && busy * 5 >= looks
    }

    /// Adds up the processor times while `measure` runs, which gives what the backend took.
    pub fn timed<T, E>(
        &mut self,
        measure: impl FnOnce() -> Result<T, E>,
        backend: impl Fn(&T) -> Nanos,
    ) -> Result<T, E> {
        let (at, own, busy) = (self.clock.now(), process::process_cpu(), host::busy());
        let taken = measure()?;
        let shares = &mut self.shares;
        shares.elapsed += self.clock.now().since(at);
        shares.backend += backend(&taken);
        shares.own += process::process_cpu().since(own);
        let more = host::busy().zip(busy).map(|(after, before)| after.since(before));
        shares.busy = more.map(|more| shares.busy.unwrap_or(Nanos::ZERO) + more);
        Ok(taken)
    }

    /// Removes the schema, and gives the last findings.
    pub fn close(mut self, schema: Option<Schema>) -> Closing {
        let outcome = schema.map_or(Ok(()), |mut schema| {
            let displaced = self.displaced.take().map(|displaced| displaced.end(schema.session(), self.made));
            // Where it cannot be counted any more, the server is gone or the user wants to stop.
            self.findings.extend(displaced.and_then(Result::ok));
            Ok(schema.finish()?)
        });
        if let Err(error) = &outcome {
            self.find(row::SCHEMA_LEFT.of(format!(
                "The schema readpath could not be removed ({error}): run `readpath clean --on {}` when the server \
                     is back.",
                self.address
            )));
        }
        self.note_activity();
        let own_cost = self.note_shares().into_iter().collect();
        Closing { findings: self.findings, own_cost, outcome }
    }

    fn note_activity(&mut self) {
        let (looks, busy) = self.activity.looks();
        if busy > 0 {
            let most = self.activity.most();
            self.find(row::SERVER_BUSY.of(format!(
                "Other sessions were at work on the server in {busy} of {looks} looks between the measurements, \
                     up to {most} at once: they share its processors and its buffers, and costs may be higher for it. \
                     Repeat the run when the server is quiet."
            )));
        }
    }

    /// This program's share of the backend's time, and a finding where other processes were busy.
    fn note_shares(&mut self) -> Option<Metric> {
        let Shares { elapsed, backend, own, busy } = self.shares;
        if backend == Nanos::ZERO {
            return None;
        }
        let busy = busy.map_or(Nanos::ZERO, |busy| busy.since(backend).since(own));
        let others = busy.as_seconds() / elapsed.as_seconds().max(1e-9);
        if others > OTHERS {
            self.find(row::MACHINE_BUSY.of(format!(
                "Other processes kept {} processors of this machine busy while statements were measured: they \
                     share its caches and its memory with the server, and costs may be higher for it. Repeat the run \
                     when the machine is quiet.",
                three_digits(others)
            )));
        }
        let source = "this process's CPU clock over the backend's time, while statements were measured";
        let share = own.as_seconds() / backend.as_seconds() * 100.0;
        Some(own_cost::SHARE_OF_SERVER.single(source, share))
    }
}
