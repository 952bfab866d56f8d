//! The same on a PostgreSQL server: the engine's rows in tables of its own, read from shared buffers.
//!
//! One table is there at a time. Each is filled, scanned for the first time, made visible to all, and read by every way
//! that was asked for; then it is removed, and with the last one the schema.

mod answers;
mod measuring;
mod standby;

use std::time::Duration;

use measure::Finding;
use measure::quantity::size_in_words;
use server::activity::Activity;
use server::{Address, Limits, ServerFacts, Session, Statements};
use subjects::logical_reads::{Access, Cell, SubjectError, Touch};
use subjects::postgres::layout::Layout;
use subjects::postgres::logical_reads::{ServerReads, ServerTable, Way};
use subjects::postgres::statement::Meter;

use super::{LioParameters, TouchAxis, measuring::Measured, shape};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::on_server;

pub(super) use measuring::MeasuredOnServer;

/// A table beyond this part of the shared buffers displaces what others had there.
const BUFFERS_PART: u64 = 4;

/// The server that the experiment is run on.
#[derive(Clone, Debug)]
pub struct OnServer {
    /// How to reach it.
    pub address: Address,
    /// How long things may take there.
    pub limits: Limits,
    /// Ways to the blocks.
    pub ways: Vec<Way>,
}

impl OnServer {
    /// Refuses what a server cannot be asked, with a sentence that says what can.
    pub(super) fn check(&self, parameters: &LioParameters) -> Result<(), ExperimentError> {
        let refuse = |sentence: &str| Err(ExperimentError::Parameters(sentence.into()));
        if parameters.threads != [1] {
            return refuse("--threads cannot go with --on: one session reads");
        }
        if parameters.changed_rows != [0] {
            return refuse("--changed-rows cannot go with --on: versions of rows are kept otherwise there");
        }
        if parameters.sampled {
            return refuse("--flamegraph cannot go with --on: it shows this program's time and not the server's");
        }
        if parameters.touches.contains(&TouchAxis::Every(Touch::Directory)) {
            return refuse("--touch directory cannot go with --on: write rows, column-N or column-last");
        }
        Ok(())
    }

    /// The engine's ways among those of the server.
    pub fn engine_accesses(&self) -> Vec<Access> {
        let access = |way: &Way| match way {
            Way::FullScan => Some(Access::FullScan),
            Way::Rowid => Some(Access::Rowid),
            Way::Index => None,
        };
        self.ways.iter().filter_map(access).collect()
    }
}

/// What every step is given.
struct Bench<'a> {
    parameters: &'a LioParameters,
    machine: &'a Machine,
    ways: &'a [Way],
    reads: ServerReads,
    activity: Activity,
    shares: on_server::share::Shares,
    name: String,
    found: Vec<MeasuredOnServer>,
}

/// Measures on the server, and leaves nothing there. What was measured before ^C or a failure is kept.
pub(super) fn run(
    on: &OnServer,
    parameters: &LioParameters,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<Vec<MeasuredOnServer>, ExperimentError> {
    journal.step("connecting to the server", Duration::from_secs(1));
    let session = Session::open(&on.address, on.limits, machine.stop.share()).map_err(SubjectError::from)?;
    if session.facts().is_standby {
        return standby::run(session, parameters, machine, journal).map(|()| Vec::new());
    }
    describe(&session, parameters, &on.ways, journal)?;
    let mut bench = begin(session, on, parameters, machine)?;
    report_rights(&mut bench, journal);
    let outcome = bench.measure_all(journal);
    let Bench { reads, activity, shares, found, name, .. } = bench;
    let removed = reads.finish();
    if let Err(error) = &removed {
        journal.find(on_server::schema_left(error, &on.address));
    }
    outcome?;
    removed?;
    answers::report(&found, &name, journal);
    on_server::report_activity(&activity, journal);
    shares.report(journal);
    Ok(found)
}

/// Notes every statement that [`run`] would send.
pub(super) fn rehearse(
    on: &OnServer,
    parameters: &LioParameters,
    machine: &Machine,
    statements: &Statements,
) -> Result<(), ExperimentError> {
    let stop = machine.stop.share();
    let session = Session::rehearsal(&on.address, on.limits, stop, statements.clone()).map_err(SubjectError::from)?;
    let mut bench = begin(session, on, parameters, machine)?;
    bench.measure_all(&mut on_server::Nobody)?;
    Ok(bench.reads.finish()?)
}

fn begin<'a>(
    session: Session,
    on: &'a OnServer,
    parameters: &'a LioParameters,
    machine: &'a Machine,
) -> Result<Bench<'a>, ExperimentError> {
    let name = session.facts().name();
    let reads = ServerReads::open(session)?;
    let activity = Activity::default();
    Ok(Bench {
        parameters,
        machine,
        ways: &on.ways,
        reads,
        activity,
        shares: on_server::share::Shares::default(),
        name,
        found: Vec::new(),
    })
}

/// Says on what is measured, after it was seen that there is room for it.
fn describe(
    session: &Session,
    parameters: &LioParameters,
    ways: &[Way],
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let facts = session.facts();
    let layouts: Vec<Layout> = parameters.cells().into_iter().map(Layout::of).collect::<Result<_, _>>()?;
    let needed = layouts.iter().map(|layout| ServerReads::bytes_needed(layout, facts.block_bytes)).max().unwrap_or(0);
    on_server::check_space(session, needed, "--payload", journal)?;
    on_server::describe(session, journal);
    let is_indexed = |layout: &Layout| ways.contains(&Way::Index) && layout.has_key();
    let read = |layout: &&Layout| {
        let index = if is_indexed(layout) { layout.index_bytes() } else { 0 };
        layout.blocks(facts.block_bytes) * facts.block_bytes + index
    };
    if let Some(layout) = layouts.iter().max_by_key(read) {
        let index = if is_indexed(layout) { " with its index" } else { "" };
        let what = format!("The table of {}{index}", shape(&layout.cell()));
        report_large(&what, read(&layout), facts.buffer_bytes, journal);
    }
    Ok(())
}

/// What takes much of the shared buffers is read from elsewhere, or takes the place of others' blocks.
fn report_large(what: &str, bytes: u64, buffer_bytes: u64, journal: &mut dyn Journal) {
    let what = format!(
        "{what} takes {} and the server's shared buffers {}",
        size_in_words(bytes >> 20 << 20),
        size_in_words(buffer_bytes)
    );
    if bytes > buffer_bytes {
        journal.find(Finding::warning(
            "table-exceeds-buffers",
            format!(
                "{what}: its blocks come from the operating system again and again, and their cost contains that. Ask \
                 for a smaller --payload."
            ),
        ));
    } else if bytes > buffer_bytes / BUFFERS_PART {
        journal.find(Finding::info(
            "table-displaces-others",
            format!(
                "{what}: while it is measured, blocks of others have to make room, and are read again afterwards. Ask \
                 for a smaller --payload where that matters."
            ),
        ));
    }
}

/// What more rights would add, and what was found on the server.
fn report_rights(bench: &mut Bench<'_>, journal: &mut dyn Journal) {
    let leftovers = bench.reads.schema().leftovers();
    if leftovers > 0 {
        journal.find(Finding::info(
            "leftovers-removed",
            format!("An earlier run that was killed had left {leftovers} tables on the server: they were removed."),
        ));
    }
    report_unseen(bench.reads.schema().session().facts(), journal);
    if let Meter::Explain(reason) = bench.reads.meter() {
        report_explained(reason, journal);
    }
}

/// Whether others are at work is not everybody's to see.
fn report_unseen(facts: &ServerFacts, journal: &mut dyn Journal) {
    if !facts.reads_all_stats {
        journal.find(Finding::info(
            "absent-activity",
            format!(
                "Whether other sessions were at work is not known, because {} may not see them: GRANT \
                 pg_read_all_stats TO {} adds it.",
                facts.user, facts.user
            ),
        ));
    }
}

/// Costs are not what they would be on the server's own machine.
fn report_explained(reason: &str, journal: &mut dyn Journal) {
    journal.find(Finding::warning(
        "absent-backend-time",
        format!(
            "The backend's processor time could not be had, because {reason}: costs are EXPLAIN's execution times, \
             which contain waits and the counting itself. Run readpath on the server's own machine."
        ),
    ));
}

impl Bench<'_> {
    fn measure_all(&mut self, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        for cell in self.parameters.cells() {
            self.cell(cell, journal)?;
        }
        Ok(())
    }

    /// One table from its load to its removal.
    fn cell(&mut self, cell: Cell, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        let layout = Layout::of(cell)?;
        let what = shape(&cell);
        let mut shown = 0;
        let mut progress = |sent: u64, of: u64| {
            // A line a tenth; more would be drawn for nobody.
            if sent * 10 / of.max(1) > shown {
                shown = sent * 10 / of.max(1);
                journal.step(&format!("sending rows of {what}, {sent} of {of}"), Duration::from_secs(1));
            }
        };
        self.reads.send(&layout, &mut progress)?;
        measuring::first_scans(self, &layout, journal)?;
        journal.step(&format!("making the rows of {what} visible to all"), Duration::from_secs(1));
        let table = self.reads.settle(&layout)?;
        self.report_hidden(&table, journal)?;
        let mut prepared = Vec::new();
        for way in self.ways {
            if *way == Way::Index && !layout.has_key() {
                report_no_key(&cell, journal);
                continue;
            }
            journal.step(&format!("preparing {} for {what}", way.name()), Duration::from_secs(1));
            self.reads.prepare(&table, *way, self.parameters.seed)?;
            prepared.push(*way);
        }
        for way in &prepared {
            for touch in &self.parameters.touches {
                measuring::case(self, &table, *way, touch.of(&cell), journal)?;
            }
        }
        Ok(self.reads.remove(&table, &prepared)?)
    }

    /// Blocks with rows that are not known to be visible to all cost more to read.
    fn report_hidden(&mut self, table: &ServerTable, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
        let visible = self.reads.visible_blocks(table)?;
        if visible < table.blocks {
            journal.find(Finding::warning(
                "not-all-visible",
                format!(
                    "{} of {} blocks of {} could not be made visible to all, because a transaction that is older than \
                     the load is still open on the server: a scan looks at each row's history there. Repeat the run \
                     when it has ended.",
                    table.blocks - visible,
                    table.blocks,
                    shape(&table.layout.cell())
                ),
            ));
        }
        Ok(())
    }
}

fn report_no_key(cell: &Cell, journal: &mut dyn Journal) {
    journal.find(Finding::info(
        "absent-index",
        format!(
            "Rows of {} were not read through an index: their first column is too short to tell rows apart.",
            shape(cell)
        ),
    ));
}

/// What the server costs beside the engine.
pub(super) fn compare(on_server: &[MeasuredOnServer], engine: &[Measured], journal: &mut dyn Journal) {
    answers::compare(on_server, engine, journal);
}
