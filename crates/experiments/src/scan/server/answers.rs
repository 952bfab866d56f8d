//! What the numbers of a server say, in sentences, beside the engine's.

use measure::Finding;
use measure::quantity::{format_nanos, three_digits};
use subjects::postgres::access_paths::ServerPath;

use super::measuring::MeasuredOnServer;
use crate::journal::Journal;
use crate::scan::measuring::Measured;

/// What the server's cases say by themselves.
pub(super) fn report(found: &[MeasuredOnServer], name: &str, journal: &mut dyn Journal) {
    let of = |path: ServerPath| found.iter().find(|one| one.path == path);
    clustering(&of, name, journal);
    index_only(&of, name, journal);
}

/// What another order of the rows costs, and what a bitmap makes of it.
fn clustering<'a>(of: &dyn Fn(ServerPath) -> Option<&'a MeasuredOnServer>, name: &str, journal: &mut dyn Journal) {
    let pair = of(ServerPath::IndexBadClustering).zip(of(ServerPath::IndexGoodClustering));
    let Some((bad, good)) = pair else { return };
    let correlations = bad.correlation.zip(good.correlation);
    let correlations = correlations.map_or(String::new(), |(bad, good)| {
        format!(" (correlation {} against {})", three_digits(bad), three_digits(good))
    });
    let bitmap = of(ServerPath::BitmapScan).map_or(String::new(), |bitmap| {
        format!(
            " A bitmap over the same index fetches each block once: {} times the cost, {} times the gets of \
             index-bad-clustering.",
            three_digits(bitmap.row_time / bad.row_time),
            three_digits(bitmap.gets / bad.gets.max(1.0))
        )
    });
    journal.find(Finding::info(
        "answer-clustering",
        format!(
            "On {name}, index-bad-clustering takes {} times the gets and {} times the time of index-good-clustering\
             {correlations}.{bitmap}",
            three_digits(bad.gets / good.gets.max(1.0)),
            three_digits(bad.row_time / good.row_time)
        ),
    ));
}

/// What an index saves that holds all that is asked for.
fn index_only<'a>(of: &dyn Fn(ServerPath) -> Option<&'a MeasuredOnServer>, name: &str, journal: &mut dyn Journal) {
    let pair = of(ServerPath::IndexOnlyScan).zip(of(ServerPath::FullScan));
    let Some((only, full)) = pair else { return };
    journal.find(Finding::info(
        "answer-index-only",
        format!(
            "On {name}, index-only-scan costs {} a row and full-scan {}, with {} times the gets.",
            format_nanos(only.row_time),
            format_nanos(full.row_time),
            three_digits(only.gets / full.gets.max(1.0))
        ),
    ));
}

/// The server's cost of a row against the engine's, by the same path.
pub(super) fn compare(on_server: &[MeasuredOnServer], engine: &[Measured], journal: &mut dyn Journal) {
    let mut is_dearer = true;
    let clause = |one: &MeasuredOnServer| {
        let is_same = |other: &&Measured| other.path.name() == one.path.name() && other.threads == 1;
        let other = engine.iter().find(is_same).filter(|other| other.row_time > 0.0)?;
        let instructions = one
            .instructions_per_row
            .map_or(String::new(), |instructions| format!(", {} instructions a row", three_digits(instructions)));
        is_dearer &= one.row_time > other.row_time;
        Some(format!("{} {}{instructions}", one.path.name(), three_digits(one.row_time / other.row_time)))
    };
    let clauses: Vec<String> = on_server.iter().filter_map(clause).collect();
    if clauses.is_empty() {
        return;
    }
    let meaning = match is_dearer {
        true => " The engine does nothing but read; the rest is what a server does for its other users.",
        false => "",
    };
    journal.find(Finding::info(
        "answer-against-engine",
        format!("A row on the server costs so many times the engine's: {}.{meaning}", clauses.join("; ")),
    ));
}
