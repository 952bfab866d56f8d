//! What the numbers of several subjects say, each by itself and against the engine.

use measure::Unit;
use measure::quantity::{counted, format_nanos, three_digits};
use measure::schema::lio::findings as row;
use subjects::logical_reads::{Access, Table};
use subjects::subject::ENGINE;

use super::Found;
use super::findings::{absent_cycles, is_preferred};
use super::measuring::{Measured, Plan};
use crate::disk::on;
use crate::journal::Journal;

/// Samples that lie further apart are worth a sentence: two runs may then differ by as much.
const SPREAD: f64 = 0.1;

/// What the cases of each subject say, and what each costs against the engine. `uncounted` says why the engine's cycles
/// cannot be counted, where they cannot.
pub(super) fn report(subjects: &[Found], uncounted: Option<&str>, journal: &mut dyn Journal) {
    let engine = subjects.iter().find(|found| found.name == ENGINE);
    let absent = engine.and_then(|engine| absent_cycles(&engine.cases, uncounted));
    journal.find_all(absent.map(|finding| on(Some(ENGINE), finding)));
    for found in subjects {
        random(found, journal);
        first_scans(found, journal);
        found_tables(found, journal);
        // A difference of two costs has the spread of both.
        if found.is_difference {
            spread(found, journal);
        }
        if let Some(engine) = engine.filter(|engine| engine.name != found.name) {
            compare(found, engine, journal);
        }
    }
}

fn case<'a>(found: &'a [Measured], table: &Table, access: Access) -> Option<&'a Measured> {
    let plan = Plan { access, ..Plan::SCAN };
    found.iter().find(|one| !one.is_first && one.table == *table && one.plan == plan && one.changed_rows == 0)
}

/// What noting down the rows' visibility costs, where it costs most.
fn first_scans(Found { name, cases: found, .. }: &Found, journal: &mut dyn Journal) {
    let pairs = found.iter().filter(|one| one.is_first).filter_map(|first| {
        let settled = case(found, &first.table, Access::FullScan)?;
        Some((first, settled, first.lio / settled.lio))
    });
    let Some((first, settled, ratio)) = pairs.max_by(|one, other| one.2.total_cmp(&other.2)) else { return };
    let meaning = match ratio > 1.0 {
        true => {
            "it looks up each row's transaction and sets its hint bits. VACUUM after a load saves the first reader \
             that work."
        }
        false => "looking up each row's transaction costs nothing that can be seen here.",
    };
    let (times, [once, later]) = (three_digits(ratio), [first.lio, settled.lio].map(format_nanos));
    let message = format!(
        "The first scan after a load on {name} costs up to {times} times the later ones, {once} a block against \
         {later} ({}): {meaning}",
        first.table
    );
    journal.find(row::ANSWER_FIRST_SCAN.of(message).with("ratio", ratio, Unit::Ratio));
}

/// What a get costs by address and through an index.
fn random(Found { name, cases: found, .. }: &Found, journal: &mut dyn Journal) {
    let by_index = found.iter().filter(|one| one.plan == Plan { access: Access::Index, ..Plan::SCAN });
    let all = by_index.filter_map(|index| {
        let by_rowid = case(found, &index.table, Access::Rowid)?;
        Some((index, by_rowid, case(found, &index.table, Access::FullScan)?))
    });
    let Some((index, by_rowid, scan)) = all.max_by_key(|(index, ..)| is_preferred(&index.table)) else { return };
    let [rowid, through_index, in_scan] = [by_rowid.lio, index.lio, scan.lio].map(format_nanos);
    journal.find(row::ANSWER_RANDOM_ACCESS.of(format!(
        "A get on {name} costs {rowid} by row address in random order, {through_index} through an index (its own \
         blocks counted), and {in_scan} in a full scan, which walks all rows of the block ({}).",
        index.table
    )));
}

/// What scans cost where no table can be made.
fn found_tables(found: &Found, journal: &mut dyn Journal) {
    let scans = || found.cases.iter().filter(|one| matches!(one.table, Table::Found(_)));
    let by_cost = |one: &&Measured, other: &&Measured| one.lio.total_cmp(&other.lio);
    let (Some(least), Some(most)) = (scans().min_by(by_cost), scans().max_by(by_cost)) else { return };
    // A table can have several cases.
    let tables = if scans().all(|one| one.table == least.table) { "the table" } else { "the tables" };
    let (costs, these) = match scans().count() {
        1 => (String::new(), "this is a cost"),
        _ => (format!(" to {} ({})", format_nanos(most.lio), most.table), "these are costs"),
    };
    let (name, cost, table) = (&found.name, format_nanos(least.lio), &least.table);
    journal.find(row::ANSWER_STANDBY.of(format!(
        "A logical I/O of a full scan of {tables} that {name} has costs {cost} ({table}){costs}: {these} of this \
         processor, memory and build, not of another machine's."
    )));
}

/// Samples that do not agree with each other.
fn spread(found: &Found, journal: &mut dyn Journal) {
    let settled: Vec<&Measured> = found.cases.iter().filter(|one| !one.is_first).collect();
    let wide: Vec<&Measured> = settled.iter().copied().filter(|one| one.spread > SPREAD).collect();
    let Some(widest) = wide.iter().max_by(|one, other| one.spread.total_cmp(&other.spread)) else { return };
    let (count, cases) = (wide.len(), counted(settled.len() as u64, "case", "cases"));
    let [least, most] = [SPREAD, widest.spread].map(|spread| three_digits(spread * 100.0));
    journal.find(row::SAMPLES_APART.of(format!(
        "Samples lie more than ±{least} % apart in {count} of {cases} of {}, ±{most} % in {} of {}: another run may \
         differ by as much. Repeat it on a quiet server and machine, or take more samples with --repeat.",
        found.name,
        widest.plan.access.name(),
        widest.table
    )));
}

/// A subject's cost of a block against the engine's, as a geometric mean over the tables.
fn compare(found: &Found, engine: &Found, journal: &mut dyn Journal) {
    let is_plain = |one: &&Measured| !one.is_first && one.plan == Plan::SCAN && one.changed_rows == 0;
    let ratio = |one: &Measured| Some(one.lio / case(&engine.cases, &one.table, Access::FullScan)?.lio);
    let ratios: Vec<f64> = found.cases.iter().filter(is_plain).filter_map(ratio).collect();
    let (Some(least), Some(most)) =
        (ratios.iter().copied().min_by(f64::total_cmp), ratios.iter().copied().max_by(f64::total_cmp))
    else {
        return;
    };
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let meaning = match least > 1.0 {
        true => ", which does nothing but read. The rest is what a database does for its other users.",
        false => ".",
    };
    let range = match (three_digits(least), three_digits(most)) {
        (least, most) if least == most => String::new(),
        (least, most) => {
            let tables = counted(ratios.len() as u64, "table", "tables");
            format!(" (geometric mean over {tables}, which range from {least} to {most})")
        }
    };
    let (name, times) = (&found.name, three_digits(mean));
    let message = format!("A logical I/O of a full scan on {name} costs {times} times the engine's{range}{meaning}");
    journal.find(row::ANSWER_AGAINST_ENGINE.of(message).with("ratio", mean, Unit::Ratio));
}
