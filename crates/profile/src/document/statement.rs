//! The statements of a profile: all of them as rows, and the whole story of those that were chosen.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use measure::schema::Family;
use measure::schema::profile::{self as schema, parameters as named};
use measure::sorting;
use measure::{Case, Metric};

use super::metrics::{
    FROM_CALLS, FROM_OWN_AND_WAITS, FROM_PLANS, FROM_WAITS, call_metrics, case, cost_metrics, event_metrics,
    events_by_name, histogram, reads, signed, time,
};
use crate::event::{CallKind, Merge, PlanFigures, StatementIndex, Ticks};
use crate::findings::arrays::array_saving;
use crate::tables::{CallSums, Plan, PlanRow, Profile, StatementProfile};

/// Most statements with a row of their own; the rest are added up in one row, whose id is `OTHERS`. A program that
/// writes literals into its texts can have millions.
pub const STATEMENTS_MAX: usize = 2_000;

/// The id of the row of all further statements.
pub(crate) const OTHERS: &str = "(others)";

/// Most callers and called statements of a statement.
const EDGES_MAX: usize = 20;

/// Goals of the optimizer by their number in a trace.
const GOALS: [&str; 5] = ["", "ALL_ROWS", "FIRST_ROWS", "RULE", "CHOOSE"];

/// Characters of a text that are kept for a statement that was not asked for by name.
const TEXT_HEAD: usize = 200;

measure::words! {
    /// By what statements are ranked.
    pub enum Order ("order") {
        /// Own time of a statement's calls, and waits after them, without think time and idle waits
        ResponseTime = "response-time",
        /// Blocks read from disk
        PhysicalReads = "physical-reads",
        /// Consistent and current gets
        LogicalReads = "logical-reads",
        /// CPU time
        Cpu = "cpu",
    }
}

impl Order {
    /// What a statement is ranked by: ticks, blocks or gets. Idle waits are no work of the statement.
    pub fn value(self, statement: &StatementProfile) -> i64 {
        match self {
            Order::ResponseTime => (statement.response_time() - statement.think_time.total - statement.idle).0,
            Order::PhysicalReads => statement.own.physical_reads,
            Order::LogicalReads => statement.logical_reads(),
            Order::Cpu => statement.own.cpu.unwrap_or_default().0,
        }
    }
}

/// Which statements have their details in the document.
#[derive(Clone, Debug)]
pub struct Selection {
    /// By what they are ranked.
    pub order: Order,
    /// How many of the first have details.
    pub top: usize,
    /// One that has details whatever its rank, its whole text included.
    pub statement: Option<StatementIndex>,
    /// Whether no text of a statement is to be shown: it may hold personal data.
    pub hides_texts: bool,
}

/// The statements from the greatest value down; of equals the first in the trace first.
pub fn ranked(profile: &Profile, order: Order) -> Vec<&StatementProfile> {
    // Their values stand next to one another: the statements themselves are far apart.
    let mut statements: Vec<(i64, &StatementProfile)> =
        profile.statements.iter().map(|statement| (order.value(statement), statement)).collect();
    sorting::by_key(&mut statements, |(value, _)| Reverse(*value));
    statements.into_iter().map(|(_, statement)| statement).collect()
}

/// The statements whose identifier begins with `reference`, upper and lower case alike; the one that equals it alone
/// where there is one.
pub fn find_statement(profile: &Profile, reference: &str) -> Vec<StatementIndex> {
    let wanted = reference.to_ascii_lowercase();
    let matching = |test: &dyn Fn(&str) -> bool| -> Vec<StatementIndex> {
        let found = profile
            .statements
            .iter()
            .filter(|one| test(&profile.context.statement_id(one.statement).to_ascii_lowercase()));
        found.map(|one| one.statement).collect()
    };
    let exact = matching(&|id| id == wanted);
    if exact.is_empty() { matching(&|id| id.starts_with(&wanted)) } else { exact }
}

/// The rows of all statements, then the details of the chosen ones.
pub(super) fn cases(profile: &Profile, selection: &Selection) -> Vec<Case> {
    let ranked = ranked(profile, selection.order);
    let chosen = selection.statement;
    let (first, rest) = ranked.split_at(ranked.len().min(STATEMENTS_MAX));
    let own_row = |one: &&StatementProfile| row(profile, profile.context.statement_id(one.statement), one);
    let mut cases: Vec<Case> = first.iter().map(own_row).collect();
    let (late, others): (Vec<&StatementProfile>, Vec<&StatementProfile>) =
        rest.iter().copied().partition(|one| Some(one.statement) == chosen);
    cases.extend(late.iter().map(own_row));
    if !others.is_empty() {
        let mut sum = StatementProfile::default();
        others.into_iter().for_each(|one| sum.merge(one));
        cases.push(row(profile, OTHERS, &sum));
    }
    let mut seen = BTreeSet::new();
    let mut edges = BTreeSet::new();
    // What the chosen one calls, and what calls it, is shown with its text.
    let top = first.iter().take(selection.top).copied();
    let asked = ranked.iter().copied().filter(|one| Some(one.statement) == chosen);
    for one in top.chain(asked).filter(|one| seen.insert(one.statement)) {
        cases.extend(details(profile, one, Some(one.statement) == chosen));
        edges.extend(near(profile, one));
    }
    // Once each, though both ends may be chosen.
    cases.extend(edges.into_iter().map(|edge| call_edge(profile, edge)));
    cases
}

fn row(profile: &Profile, id: &str, one: &StatementProfile) -> Case {
    let calls = |kind: CallKind| one.calls_of(&profile.context, kind);
    let (parse, fetch) = (calls(CallKind::Parse), calls(CallKind::Fetch));
    let total = |of: fn(&CallSums) -> u64| one.calls.values().map(of).fold(0, u64::saturating_add);
    let mut metrics = vec![
        schema::CALLS.count(FROM_CALLS, total(|sums| sums.calls)),
        time(&schema::RESPONSE_TIME, FROM_OWN_AND_WAITS, one.response_time()),
    ];
    metrics.extend(one.own.cpu.map(|cpu| time(&schema::CPU, FROM_CALLS, cpu)));
    metrics.extend(reads(&one.own));
    metrics.extend([
        schema::ROWS.count(FROM_CALLS, total(|sums| sums.rows)),
        time(&schema::THINK_TIME, FROM_WAITS, one.think_time.total),
        time(&schema::IDLE, FROM_WAITS, one.idle),
        time(&schema::OUTSIDE, FROM_WAITS, one.between),
        time(&schema::INCLUSIVE_TIME.of("elapsed"), FROM_CALLS, one.inclusive.elapsed),
        schema::PARSES.count(FROM_CALLS, parse.calls),
        schema::MISSES.count(FROM_CALLS, total(|sums| sums.misses)),
        schema::EXECUTIONS.count(FROM_CALLS, calls(CallKind::Exec).calls),
        schema::FETCHES.count(FROM_CALLS, fetch.calls),
        schema::FETCHED_ROWS.count(FROM_CALLS, fetch.rows),
        schema::ERRORS.count(FROM_CALLS, one.errors.values().fold(0, |sum: u64, count| sum.saturating_add(*count))),
    ]);
    // All others together are no statement whose fetches could be larger.
    if let Some(saving) = array_saving(profile, one).filter(|_| id != OTHERS) {
        let from = "trace: fetches, and waits for the client";
        metrics.push(schema::ROUND_TRIPS_SAVED.count(from, saving.trips));
        if saving.micros > 0.0 {
            metrics.push(schema::ROUND_TRIP.single(from, saving.trip_micros));
            metrics.push(schema::ARRAY_SAVING.single(from, saving.micros));
            metrics.push(schema::ARRAY_SAVING_LOW.single(from, saving.range.0));
            metrics.push(schema::ARRAY_SAVING_HIGH.single(from, saving.range.1));
        }
    }
    case([named::TABLE.of("statement"), named::ID.of(id)], metrics)
}

/// Text, calls, waits and plans of one statement.
fn details(profile: &Profile, one: &StatementProfile, is_asked_for: bool) -> Vec<Case> {
    let id = profile.context.statement_id(one.statement);
    let mut cases = vec![text(profile, one, is_asked_for)];
    for (name, sums) in &one.calls {
        let parameters =
            [named::TABLE.of("statement_call"), named::ID.of(id), named::CALL.of(profile.context.call_name(*name))];
        cases.push(case(parameters, call_metrics(sums)));
    }
    for (event, sums) in events_by_name(profile, &one.waits) {
        let parameters = [named::TABLE.of("statement_event"), named::ID.of(id), named::EVENT.of(event)];
        cases.push(case(parameters, event_metrics(&sums)));
        for (from, metrics) in histogram(FROM_WAITS, &sums.histogram).filter(|_| is_asked_for) {
            let parameters = [
                named::TABLE.of("statement_histogram"),
                named::ID.of(id),
                named::EVENT.of(event),
                named::FROM_US.of(from),
            ];
            cases.push(case(parameters, metrics));
        }
    }
    for (number, values) in one.binds.iter().enumerate().filter(|_| is_asked_for) {
        let variables = values.iter().enumerate().map(|(place, value)| format!(":{} = {value}", place + 1));
        let text = variables.collect::<Vec<String>>().join(", ");
        let parameters =
            [named::TABLE.of("binds"), named::ID.of(id), named::NUMBER.of(number + 1), named::TEXT.of(text)];
        cases.push(case(parameters, vec![schema::VALUES.count("trace: bind values", values.len() as u64)]));
    }
    for (index, plan) in one.plans.iter().enumerate() {
        // Once for all lines: a plan of a table with many partitions has thousands.
        let times = if plan.has_sound_times() { Times::Sound } else { Times::Contradicting };
        let lines = plan.lines.iter().zip(plan.own());
        cases.extend(lines.map(|(line, own)| plan_line(id, (index + 1, plan), (line, own), times)));
    }
    cases
}

/// An edge of the call tree: the time of the calls, the caller and the called statement. In this order the edges with
/// most time come first.
type Edge = (Reverse<Ticks>, StatementIndex, StatementIndex);

/// The edges of the call tree that a statement is an end of, those with most time.
fn near(profile: &Profile, one: &StatementProfile) -> impl Iterator<Item = Edge> {
    let is_near =
        |(parent, called): &(StatementIndex, StatementIndex)| *parent == one.statement || *called == one.statement;
    let near = profile.callers.iter().filter(|(edge, _)| is_near(edge));
    let mut near: Vec<Edge> = near.map(|((parent, called), sums)| (Reverse(sums.elapsed), *parent, *called)).collect();
    sorting::ascending(&mut near);
    near.into_iter().take(EDGES_MAX)
}

fn call_edge(profile: &Profile, (Reverse(elapsed), parent, called): Edge) -> Case {
    let id = |index: StatementIndex| profile.context.statement_id(index);
    let calls = profile.callers.get(&(parent, called)).map_or(0, |sums| sums.calls);
    let parameters = [named::TABLE.of("call_tree"), named::ID.of(id(called)), named::PARENT.of(id(parent))];
    let elapsed = time(&schema::INCLUSIVE_TIME.of("elapsed"), FROM_CALLS, elapsed);
    case(parameters, vec![schema::CALLS.count(FROM_CALLS, calls), elapsed])
}

fn text(profile: &Profile, one: &StatementProfile, is_whole: bool) -> Case {
    let known = profile.context.statement(one.statement).cloned().unwrap_or_default();
    let text = if is_whole { known.text } else { known.text.chars().take(TEXT_HEAD).collect() };
    let parameters = [
        named::TABLE.of("statement_text"),
        named::ID.of(known.id),
        named::TEXT.of(text),
        named::COMMAND.of(known.command),
        named::DEPTH.of(known.depth),
    ];
    let goal = named::GOAL.of(GOALS.get(usize::from(one.goal)).copied().unwrap_or_default());
    let user = known.user.map(|user| named::USER.of(user));
    let parameters = parameters.into_iter().chain(user).chain([goal]);
    let mut metrics = vec![schema::TEXT_BYTES.count("trace: declaration", known.text_bytes)];
    metrics.extend(cost_metrics(schema::OWN, &one.own));
    metrics.extend(cost_metrics(schema::INCLUSIVE, &one.inclusive));
    metrics.push(time(&schema::INSIDE, FROM_WAITS, one.inside));
    metrics.push(time(&schema::OUTSIDE, FROM_WAITS, one.between));
    case(parameters, metrics)
}

fn plan_line(
    id: &str,
    (number, plan): (usize, &Plan),
    (line, own): (&PlanRow, Option<PlanFigures>),
    times: Times,
) -> Case {
    let parameters = [
        named::TABLE.of("plan_line"),
        named::ID.of(id),
        named::PLAN.of(number),
        named::PLAN_HASH.of(plan.plan_hash),
        named::LINE.of(line.id),
        named::PARENT.of(line.parent),
        named::LEVEL.of(line.level),
        named::OPERATION.of(&*line.operation),
        named::OBJECT.of(line.object),
    ];
    let mut metrics =
        vec![schema::BLOCKS_OF_LINES.count(FROM_PLANS, plan.blocks), schema::ROWS.count(FROM_PLANS, line.rows)];
    metrics.extend(
        line.estimated.map(|rows| schema::ESTIMATED_ROWS.single(FROM_PLANS, rows as f64 / plan.blocks.max(1) as f64)),
    );
    metrics.extend(line.starts.map(|starts| schema::STARTS.count(FROM_PLANS, starts)));
    metrics.extend(line.inclusive.iter().flat_map(|figures| figure_metrics(schema::INCLUSIVE, figures, times)));
    metrics.extend(own.iter().flat_map(|figures| figure_metrics(schema::PLAIN, figures, times)));
    case(parameters, metrics)
}

/// Whether the times of a plan's lines can be used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Times {
    Sound,
    Contradicting,
}

fn figure_metrics([family, work]: [Family; 2], figures: &PlanFigures, times: Times) -> Vec<Metric> {
    let mut metrics = vec![
        signed(&work.of("gets"), FROM_PLANS, figures.gets),
        signed(&work.of("physical_reads"), FROM_PLANS, figures.physical_reads),
        signed(&work.of("physical_writes"), FROM_PLANS, figures.physical_writes),
    ];
    metrics.extend((times == Times::Sound).then(|| time(&family.of("time"), FROM_PLANS, figures.time)));
    metrics.extend(figures.read_time.map(|read| time(&family.of("read_time"), FROM_PLANS, read)));
    metrics
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::event::{Context, Statement};

    #[test]
    fn a_plan_of_a_table_with_thousands_of_partitions_is_written_in_no_time() {
        const LINES: u32 = 16_384;
        let inclusive = Some(PlanFigures::default());
        let line = |id: u32| PlanRow { id, parent: u32::from(id > 1), inclusive, ..PlanRow::default() };
        let plan = Plan { plan_hash: 7, blocks: 1, lines: (1..=LINES).map(line).collect() };
        let one = StatementProfile { plans: vec![plan], ..StatementProfile::default() };
        let context = Context { statements: vec![Statement::default()], ..Context::default() };
        let profile = Profile { context, ..Profile::default() };
        let start = Instant::now();
        let cases = details(&profile, &one, false);
        let took = start.elapsed();
        assert_eq!(cases.len(), 1 + LINES as usize, "its text, and its lines");
        assert!(took < Duration::from_secs(10), "{took:?}");
    }
}
