//! The statements of two profiles, each with its partner in the other one.

use std::collections::HashMap;

use measure::compare::Amount;

use super::change::amount;
use super::executions::Executions;
use super::plans::PlansOfSide;
use super::sample::Sample;
use crate::document::Order;
use crate::event::{CallKind, Merge, StatementIndex, Ticks};
use crate::ingest::Ingested;
use crate::tables::folding::fold_text;
use crate::tables::{CallSums, Profile, StatementProfile};

/// The identifier of all cursors that were opened before a trace began: which is which, no trace says.
pub(super) const UNDECLARED: &str = "(undeclared cursors)";

/// The identifiers of rows that several statements share, in each profile other ones.
const SHARED_ROWS: [&str; 3] = [UNDECLARED, "other statements", "unknown text"];

/// The identifier under which a statement is held against its partner: cursors that were not declared are one, because
/// their numbers are those of one trace.
pub(super) fn key_of(id: &str) -> &str {
    let is_undeclared = id.starts_with("undeclared-") || id == "other unknown cursors";
    if is_undeclared { UNDECLARED } else { id }
}

/// Whether a row has plans of its own: one that several statements share has those of all of them, and that they differ
/// in another profile is no change.
pub(super) fn has_own_plans(id: &str) -> bool {
    !SHARED_ROWS.contains(&id)
}

/// Whether an identifier is a position in one trace: another trace has another statement there.
pub(super) fn is_position(id: &str) -> bool {
    ["folded-", "parse-error-"].iter().any(|start| id.starts_with(start))
}

/// A statement of one profile.
#[derive(Clone, Debug, Default)]
pub(super) struct Measured<'a> {
    pub(super) id: &'a str,
    pub(super) text: &'a str,
    pub(super) amount: Amount,
    /// Its executions.
    pub(super) sample: Sample,
    pub(super) plans: PlansOfSide<'a>,
    sums: Sums,
}

/// What its amount is made of.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    time: Ticks,
    executions: u64,
    rows: u64,
}

/// The statements of both sides in pairs, and those of one side alone.
#[derive(Debug, Default)]
pub(super) struct Pairs<'a> {
    pub(super) both: Vec<(Measured<'a>, Measured<'a>)>,
    pub(super) before: Vec<Measured<'a>>,
    pub(super) after: Vec<Measured<'a>>,
}

/// The statements of a profile with their executions. Cursors that were not declared are one.
pub(super) fn measured<'a>(ingested: &'a Ingested, executions: &Executions) -> Vec<Measured<'a>> {
    let profile = &ingested.profile;
    let mut found: Vec<Measured> = Vec::new();
    let mut undeclared = None;
    let mut places: HashMap<StatementIndex, usize> = HashMap::new();
    for one in &profile.statements {
        let known = profile.context.statement(one.statement);
        let id = key_of(profile.context.statement_id(one.statement));
        let is_undeclared = id == UNDECLARED;
        let next = found.len();
        let place = if is_undeclared { *undeclared.get_or_insert(next) } else { next };
        places.insert(one.statement, place);
        if place == next {
            let text = known.filter(|_| !is_undeclared).map_or("", |known| &known.text);
            found.push(Measured { id, text, ..Measured::default() });
        }
        add(&mut found[place], profile, one);
    }
    add_executions(&mut found, &places, ingested, executions);
    for one in &mut found {
        let Sums { time, executions, rows } = one.sums;
        // A sample meets no execution.
        one.amount = amount(time, profile.sampled.is_none().then_some(executions), (executions, rows));
    }
    found
}

fn add<'a>(measured: &mut Measured<'a>, profile: &Profile, one: &'a StatementProfile) {
    let rows = |sums: &CallSums| sums.rows;
    measured.sums.time += Ticks(Order::ResponseTime.value(one));
    measured.sums.executions += one.calls_of(&profile.context, CallKind::Exec).calls;
    measured.sums.rows += one.calls.values().map(rows).fold(0, u64::saturating_add);
    measured.plans.plans.extend(&one.plans);
    measured.plans.hashes.extend(one.plans.iter().map(|plan| plan.plan_hash).filter(|hash| *hash != 0));
}

/// Adds what was heard of executions; that of a folded statement to the one that it was folded into.
fn add_executions(
    found: &mut [Measured],
    places: &HashMap<StatementIndex, usize>,
    ingested: &Ingested,
    executions: &Executions,
) {
    let is_folded = ingested.folded.is_some();
    let by_text: HashMap<&str, usize> = match is_folded {
        true => found.iter().enumerate().rev().map(|(place, one)| (one.text.trim(), place)).collect(),
        false => HashMap::new(),
    };
    for (place, known) in ingested.profile.context.statements.iter().enumerate() {
        let index = StatementIndex(place as u32);
        let of_text = || if is_folded { by_text.get(fold_text(&known.text).trim()).copied() } else { None };
        let Some(row) = places.get(&index).copied().or_else(of_text) else { continue };
        found[row].sample.merge(&executions.of_statement(index));
        found[row].plans.hashes.extend(executions.hashes(index));
    }
}

/// Pairs statements by identifier, and what is left by text: a release that has no sqlid names a statement by another
/// number than a later one.
pub(super) fn pairs<'a>(before: Vec<Measured<'a>>, after: Vec<Measured<'a>>) -> Pairs<'a> {
    let mut pairs = Pairs { before, after, both: Vec::new() };
    let names: [fn(&Measured<'a>) -> &'a str; 2] =
        [|one| if is_position(one.id) { "" } else { one.id }, |one| one.text.trim()];
    for name in names {
        let mut after: Vec<Option<Measured>> = std::mem::take(&mut pairs.after).into_iter().map(Some).collect();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (place, one) in after.iter().flatten().enumerate().filter(|(_, one)| !name(one).is_empty()) {
            // Of two with the same text the first one is held against its partner.
            places.entry(name(one)).or_insert(place);
        }
        for one in std::mem::take(&mut pairs.before) {
            match places.remove(name(&one)).and_then(|place| after[place].take()) {
                Some(partner) => pairs.both.push((one, partner)),
                None => pairs.before.push(one),
            }
        }
        // In their order: which of two is the first one has to be the same in each run.
        pairs.after = after.into_iter().flatten().collect();
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Context, Statement, StatementKind};

    #[test]
    fn undeclared_cursors_are_one_row_and_what_statements_of_samples_share_keeps_its_name() {
        let ids = ["unknown text", "undeclared-1", "other statements", "undeclared-2"];
        let kind = StatementKind::UnknownCursor;
        let statements = ids.map(|id| Statement { id: id.into(), kind, ..Statement::default() }).into();
        let context = Context { statements, ..Context::default() };
        let row = |place: u32| StatementProfile { statement: StatementIndex(place), ..StatementProfile::default() };
        let ingested = Ingested::of(Profile { context, statements: (0..4).map(row).collect(), ..Profile::default() });
        let found = measured(&ingested, &Executions::new(Ticks::ZERO));
        let named: Vec<&str> = found.iter().map(|one| one.id).collect();
        assert_eq!(named, ["unknown text", UNDECLARED, "other statements"]);
    }

    #[test]
    fn numbers_of_one_trace_pair_no_statement_with_another_one_of_that_number() {
        let of = |id, text| Measured { id, text, ..Measured::default() };
        let before = vec![of("folded-1", "select ?"), of("folded-2", "delete ?"), of("parse-error-7", "selec")];
        let after = vec![of("folded-1", "delete ?"), of("parse-error-7", "delet")];
        let pairs = pairs(before, after);
        let both: Vec<(&str, &str)> = pairs.both.iter().map(|(before, after)| (before.id, after.id)).collect();
        assert_eq!(both, [("folded-2", "folded-1")]);
        assert_eq!((pairs.before.len(), pairs.after.len()), (2, 1));
    }

    #[test]
    fn of_many_statements_with_one_text_the_first_ones_are_a_pair_in_each_run() {
        // A restored database: the identifiers are those of other tables.
        let of = |id, text| Measured { id, text, ..Measured::default() };
        let after = ["21", "22", "23", "24", "25", "26", "27", "28"];
        for run in 0..8 {
            let pairs = pairs(vec![of("11", "select 1")], after.map(|id| of(id, "select 1")).into());
            let both: Vec<(&str, &str)> = pairs.both.iter().map(|(before, after)| (before.id, after.id)).collect();
            assert_eq!(both, [("11", "21")], "run {run}");
        }
    }
}
