//! What the numbers of a server say, in sentences, beside the engine's.

use measure::Finding;
use measure::quantity::{format_nanos, three_digits};
use subjects::logical_reads::{Access, Cell, Touch};
use subjects::postgres::logical_reads::Way;

use super::MeasuredOnServer;
use super::measuring::{ALL_VISIBLE, FIRST_SCAN};
use super::shape;
use crate::journal::Journal;
use crate::lio::measuring::Measured;

/// Samples that lie further apart are worth a sentence: two runs may then differ by as much.
const SPREAD: f64 = 0.1;

/// What the server's cases say by themselves.
pub(super) fn report(found: &[MeasuredOnServer], name: &str, journal: &mut dyn Journal) {
    first_scans(found, journal);
    random(found, journal);
    spread(found, name, journal);
}

fn case(found: &[MeasuredOnServer], cell: Cell, way: Way) -> Option<&MeasuredOnServer> {
    let is_it = |one: &&MeasuredOnServer| one.cell == cell && one.way == way && one.touch == Touch::Rows;
    found.iter().filter(is_it).find(|one| !one.is_first)
}

/// What noting down the rows' visibility costs, where it costs most.
fn first_scans(found: &[MeasuredOnServer], journal: &mut dyn Journal) {
    let pairs = found.iter().filter(|one| one.is_first).filter_map(|first| {
        let settled = case(found, first.cell, Way::FullScan)?;
        Some((first, settled, first.lio / settled.lio))
    });
    let Some((first, settled, ratio)) = pairs.max_by(|one, other| one.2.total_cmp(&other.2)) else { return };
    journal.find(Finding::info(
        "answer-first-scan",
        format!(
            "The first scan after a load costs {} times the {} one, {} a block against {} ({}), the most of all \
             tables: it looks up each row's transaction and notes the result down ({FIRST_SCAN}). VACUUM after a load \
             spares the first reader that.",
            three_digits(ratio),
            ALL_VISIBLE,
            format_nanos(first.lio),
            format_nanos(settled.lio),
            shape(&first.cell)
        ),
    ));
}

/// What a get costs by address and through an index.
fn random(found: &[MeasuredOnServer], journal: &mut dyn Journal) {
    let by_index = found.iter().filter(|one| one.way == Way::Index && one.touch == Touch::Rows);
    let all = by_index.filter_map(|index| {
        let by_rowid = case(found, index.cell, Way::Rowid)?;
        Some((index, by_rowid, case(found, index.cell, Way::FullScan)?))
    });
    // The table of the document's middle where it is among them: it has some rows a block and some columns a row.
    let is_preferred = |index: &MeasuredOnServer| (index.cell.row_length, index.cell.columns) == (250, 5);
    let Some((index, by_rowid, scan)) = all.max_by_key(|(index, ..)| is_preferred(index)) else { return };
    journal.find(Finding::info(
        "answer-random-access",
        format!(
            "A get costs {} by row address in random order, {} through an index (its own blocks counted), and {} in a \
             full scan, which walks all rows of the block ({}).",
            format_nanos(by_rowid.lio),
            format_nanos(index.lio),
            format_nanos(scan.lio),
            shape(&index.cell)
        ),
    ));
}

/// Samples that do not agree with each other.
fn spread(found: &[MeasuredOnServer], name: &str, journal: &mut dyn Journal) {
    let wide: Vec<&MeasuredOnServer> = found.iter().filter(|one| !one.is_first && one.spread > SPREAD).collect();
    let Some(widest) = wide.iter().max_by(|one, other| one.spread.total_cmp(&other.spread)) else { return };
    journal.find(Finding::warning(
        "samples-apart",
        format!(
            "Samples lie more than ±{} % apart in {} of {} cases of {name}, ±{} % in {} of {}: another run may differ \
             by as much. Repeat it when server and machine are quiet, or ask for more samples with --repeat.",
            three_digits(SPREAD * 100.0),
            wide.len(),
            found.len(),
            three_digits(widest.spread * 100.0),
            widest.way.name(),
            shape(&widest.cell)
        ),
    ));
}

/// The server's cost of a block against the engine's, as a geometric mean over the tables.
pub(super) fn compare(on_server: &[MeasuredOnServer], engine: &[Measured], journal: &mut dyn Journal) {
    let ratio = |one: &MeasuredOnServer| {
        let is_same = |other: &&Measured| {
            other.cell == one.cell && other.plan.access == Access::FullScan && other.plan.touch == Touch::Rows
        };
        Some(one.lio / engine.iter().find(is_same)?.lio)
    };
    let plain = |one: &&MeasuredOnServer| !one.is_first && one.way == Way::FullScan && one.touch == Touch::Rows;
    let ratios: Vec<f64> = on_server.iter().filter(plain).filter_map(ratio).collect();
    let (Some(least), Some(most)) =
        (ratios.iter().copied().min_by(f64::total_cmp), ratios.iter().copied().max_by(f64::total_cmp))
    else {
        return;
    };
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    journal.find(Finding::info(
        "answer-against-engine",
        format!(
            "A logical I/O of a full scan on the server costs {} times the engine's ({} to {}), which does nothing but \
             read: the rest is what a server does for its other users.",
            three_digits(mean),
            three_digits(least),
            three_digits(most)
        ),
    ));
}
