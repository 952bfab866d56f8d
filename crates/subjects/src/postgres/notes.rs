//! What a session on a server reports in every experiment: what the server is, which rights are missing, which other
//! sessions were at work, which processes used the processors, and what could not be removed.

use std::collections::BTreeMap;

use measure::quantity::{counted, grouped, size_in_words, three_digits};
use measure::schema::own_cost;
use measure::schema::subjects::findings as row;
use measure::{Finding, Metric, Nanos, Parameters};
use serde_json::{Value, json};
use server::activity::Activity;
use server::identifier::name_to_paste;
use server::place::word_of_shell;
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

/// How the word of a copy of a data directory begins.
const COPY: &str = "postgres:copy:";

/// What is known of a server and noticed while it is measured.
#[derive(Debug)]
pub struct Notes {
    name: String,
    address: String,
    /// Whether the server may share this machine's processors.
    is_local: bool,
    description: Parameters,
    findings: Vec<Finding>,
    activity: Activity,
    /// Looks, and those that found another session at work, before the others' work counts.
    watched_from: (u64, u64),
    pub(super) shares: Shares,
    /// On a given server, what others had in its buffers.
    displaced: Option<Displaced>,
    /// Bytes of tables and indexes at one time: those that there was to be room for, or those that were made.
    pub(super) made: u64,
    /// Tables with rows that are not known to be visible to all, each with the blocks of these and all its blocks.
    hidden: BTreeMap<String, (u64, u64)>,
    clock: Clock,
}

/// CPU time while statements were measured, split into backend, readpath and all processes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shares {
    pub(super) elapsed: Nanos,
    pub(super) backend: Nanos,
    pub(super) own: Nanos,
    pub(super) busy: Option<Nanos>,
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
        Notes {
            name: session.name(),
            address,
            is_local: session.address().is_local(),
            description,
            findings: absent_activity(facts).into_iter().collect(),
            activity: Activity::default(),
            watched_from: (0, 0),
            shares: Shares::default(),
            displaced: None,
            made: 0,
            hidden: BTreeMap::new(),
            clock,
        }
    }

    /// The server's name in cases and sentences: `postgres 18.6`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the run document says about the server.
    pub fn description(&self) -> Parameters {
        self.description.clone()
    }

    /// Names the server by the word of `--on`, where it is reached by an address that goes with the run.
    pub fn call(&mut self, word: String) {
        self.describe("server", json!(word));
        self.address = word;
    }

    /// Adds to the description.
    pub fn describe(&mut self, key: &str, value: Value) {
        self.description.insert(key.into(), value);
    }

    /// Notes a finding, where there is one.
    pub fn find(&mut self, finding: impl Into<Option<Finding>>) {
        let finding: Option<Finding> = finding.into();
        self.findings.extend(finding);
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
        self.findings.extend(unknown_space(&free, needed, option));
        Ok(())
    }

    /// Notes that this many bytes of tables and indexes are there at one time.
    pub fn note_made(&mut self, bytes: u64) {
        self.made = self.made.max(bytes);
    }

    /// Notes what a killed run left, and on a given server what others have in its buffers.
    pub fn begin(&mut self, schema: &mut Schema, is_private: bool) -> Result<(), SubjectError> {
        self.findings.extend(leftovers_removed(schema.leftovers() as u64));
        self.displaced = Displaced::begin(schema.session(), is_private)?;
        Ok(())
    }

    /// Notes where costs are not the backend's processor time.
    pub fn note_meter(&mut self, meter: &Meter) {
        self.findings.extend(absent_backend_time(meter));
    }

    /// Notes blocks of a table with rows that are not known to be visible to all, which cost more to read. What hides
    /// them hides those of all tables: it is said at the end, once.
    pub fn note_hidden(&mut self, (hidden, blocks): (u64, u64), table: &str) {
        if hidden > 0 {
            // One that is made anew is the same table.
            self.hidden.insert(table.into(), (hidden, blocks));
        }
    }

    /// Whether there were such blocks.
    pub fn has_hidden(&self) -> bool {
        !self.hidden.is_empty()
    }

    /// Looks for other sessions at work, between measurements, and gives the findings since the last call.
    pub fn look(&mut self, session: &mut Session) -> Vec<Finding> {
        // A session that is lost says so where it is measured.
        let _ = self.activity.look(session);
        self.take()
    }

    /// Begins to count looks for [`Notes::is_busy`].
    pub fn watch_others(&mut self) {
        self.watched_from = self.activity.looks();
    }

    /// Whether other sessions were at work in a fifth or more of the looks since [`Notes::watch_others`]: quiet looks
    /// before that say nothing about it.
    pub fn is_busy(&self) -> bool {
        is_busy(self.watched_from, self.activity.looks())
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
            // Where it cannot be counted any more, the server is gone or the user wants to stop; and where nothing was
            // made, nothing was displaced.
            self.findings.extend(displaced.and_then(Result::ok).filter(|_| self.made > 0));
            Ok(schema.finish()?)
        });
        let blocks = self.hidden.values().fold((0, 0), |sum, table| (sum.0 + table.0, sum.1 + table.1));
        let tables: Vec<String> = self.hidden.into_keys().collect();
        self.findings.extend(not_all_visible(blocks, &tables));
        self.findings.extend(schema_left(&outcome, &self.address));
        self.findings.extend(server_busy(self.activity.looks(), self.activity.most()));
        self.findings.extend(self.shares.machine_busy().filter(|_| self.is_local));
        Closing { findings: self.findings, own_cost: self.shares.of_server().into_iter().collect(), outcome }
    }
}

impl Shares {
    /// The finding where other processes were busy.
    pub(super) fn machine_busy(&self) -> Option<Finding> {
        let Shares { elapsed, backend, own, busy } = *self;
        let busy = busy.filter(|_| backend > Nanos::ZERO)?.since(backend).since(own);
        let others = busy.as_seconds() / elapsed.as_seconds().max(1e-9);
        let message = || {
            format!(
                "Other processes kept {} processors of this machine busy while statements were measured: they share \
                 its caches and its memory with the server, and costs may be higher for it. Repeat the run when the \
                 machine is quiet.",
                three_digits(others)
            )
        };
        (others > OTHERS).then(|| row::MACHINE_BUSY.of(message()))
    }

    /// This program's share of the backend's time.
    fn of_server(&self) -> Option<Metric> {
        let source = "this process's CPU clock over the backend's time, while statements were measured";
        let share = self.own.as_seconds() / self.backend.as_seconds() * 100.0;
        (self.backend > Nanos::ZERO).then(|| own_cost::SHARE_OF_SERVER.single(source, share))
    }
}

/// Whether other sessions were at work in a fifth or more of the looks after `from`; of both the looks, and those that
/// found one.
pub(super) fn is_busy(from: (u64, u64), to: (u64, u64)) -> bool {
    let (looks, busy) = (to.0 - from.0, to.1 - from.1);
    busy > 0 && busy * 5 >= looks
}

/// The finding where the activity of other sessions cannot be seen.
pub(super) fn absent_activity(facts: &ServerFacts) -> Option<Finding> {
    let user = &facts.user;
    let message = format!(
        "Whether other sessions were at work is not known, because {user} may not see them: GRANT pg_read_all_stats TO \
         {} adds it.",
        name_to_paste(user)
    );
    (!facts.reads_all_stats).then(|| row::ABSENT_ACTIVITY.of(message))
}

/// The finding where it is not known whether `needed` bytes find room.
pub(super) fn unknown_space(free: &FreeSpace, needed: u64, option: &str) -> Option<Finding> {
    let FreeSpace::Unknown(reason) = free else { return None };
    let shown = if needed >= 1 << 20 { needed >> 20 << 20 } else { needed >> 10 << 10 };
    Some(row::UNKNOWN_SPACE.of(format!(
        "The server's free space is not known, because {reason}. What is made there takes up to {} at one time, none \
         of it in the write-ahead log; {option} makes it smaller.",
        size_in_words(shown)
    )))
}

/// The finding about tables that a killed run had left.
pub(super) fn leftovers_removed(tables: u64) -> Option<Finding> {
    let were = if tables == 1 { "it was" } else { "they were" };
    let message =
        format!("A killed run had left {} on the server: {were} removed.", counted(tables, "table", "tables"));
    (tables > 0).then(|| row::LEFTOVERS_REMOVED.of(message))
}

/// The finding where costs are not the backend's processor time.
pub(super) fn absent_backend_time(meter: &Meter) -> Option<Finding> {
    let Meter::Explain(reason) = meter else { return None };
    Some(row::ABSENT_BACKEND_TIME.of(format!(
        "The backend's processor time was not available, because {reason}: costs are EXPLAIN's execution times, which \
         contain waits and the counting itself. Run readpath on the server's own machine."
    )))
}

/// The finding about blocks with rows that are not known to be visible to all.
pub(super) fn not_all_visible((hidden, blocks): (u64, u64), tables: &[String]) -> Option<Finding> {
    let of = match tables {
        [one] => one.clone(),
        [one, other] => format!("{one} and {other}"),
        all => counted(all.len() as u64, "table", "tables"),
    };
    let message = format!(
        "{} of {} of {of} could not be marked as visible to all, because something on the server is older than the \
         load: an open or prepared transaction, a replication slot or a standby's query. A scan checks each row there, \
         and an index-only scan looks into the table. Repeat the run when it has ended.",
        grouped(hidden),
        counted(blocks, "block", "blocks")
    );
    (hidden > 0).then(|| row::NOT_ALL_VISIBLE.of(message))
}

/// The finding about a schema that could not be removed.
pub(super) fn schema_left(outcome: &Result<(), SubjectError>, address: &str) -> Option<Finding> {
    let error = outcome.as_ref().err()?;
    // No server runs on a copy of a data directory that could be asked.
    let remedy = match address.starts_with(COPY) {
        true => "the next run of `readpath calibrate` on this copy removes it.".into(),
        false => format!("run `readpath clean --on {}` when the server is back.", word_of_shell(address)),
    };
    Some(row::SCHEMA_LEFT.of(format!("The schema readpath could not be removed ({error}): {remedy}")))
}

/// The finding about other sessions that were at work, by the checks, those that found one, and the most at once.
pub(super) fn server_busy((checks, busy): (u64, u64), most: u64) -> Option<Finding> {
    let message = format!(
        "Other sessions were at work on the server in {busy} of {} between the measurements, up to {most} at once: \
         they share its processors and its buffers, and costs may be higher for it. Repeat the run when the server is \
         quiet.",
        counted(checks, "check", "checks")
    );
    (busy > 0).then(|| row::SERVER_BUSY.of(message))
}
