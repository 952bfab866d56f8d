//! What a server's joins say: what gathering is worth there, beside the engine's, and who answered.

use measure::Finding;
use measure::quantity::{format_nanos, three_digits};
use subjects::postgres::nested_loops::ServerJoin;

use super::measuring::MeasuredOnServer;
use crate::join::answers::Gain;
use crate::journal::Journal;

/// Waits below this many microseconds a block are a copy from memory: a device takes longer.
const PAGE_CACHE_MICROS: f64 = 20.0;

/// Part of the blocks that may be in shared buffers of a join that counts as cold.
const HITS_MAX: f64 = 0.1;

/// Gains up to this are none.
const SAME: f64 = 1.1;

/// Says what the server's cases mean, beside what the engine gains.
pub(super) fn report(found: &[MeasuredOnServer], name: &str, engine: &[Gain], journal: &mut dyn Journal) {
    let mut seen: Vec<(u8, bool)> = Vec::new();
    for case in found {
        let setting = (case.rand, case.startup.direct);
        if !seen.contains(&setting) {
            seen.push(setting);
            gathering(found, setting, name, engine, journal);
        }
    }
    serialized(found, journal);
    who_answered(found, journal);
    not_cold(found, journal);
}

fn of_setting(found: &[MeasuredOnServer], (rand, direct): (u8, bool)) -> impl Iterator<Item = &MeasuredOnServer> {
    found.iter().filter(move |case| case.rand == rand && case.startup.direct == direct)
}

fn is_nested_loop(case: &&MeasuredOnServer) -> bool {
    case.join == ServerJoin::NestedLoop
}

/// The way to read of a case, in words.
fn way(case: &MeasuredOnServer) -> String {
    case.startup.io_method.as_ref().map_or(String::new(), |method| format!(" with io_method {method}"))
}

/// What gathering is worth at its best.
fn gathering(found: &[MeasuredOnServer], setting: (u8, bool), name: &str, engine: &[Gain], journal: &mut dyn Journal) {
    let gathered = of_setting(found, setting).filter(|case| !is_nested_loop(case));
    let Some(best) = gathered.max_by(|one, other| one.gain.total_cmp(&other.gain)) else { return };
    let is_alone = |case: &&MeasuredOnServer| is_nested_loop(case) && case.startup == best.startup;
    let Some(alone) = of_setting(found, setting).find(is_alone) else { return };
    // What was found in the buffers was not read: `not_cold` says so, and a gain would be none of gathering's.
    if cached_part(best) > HITS_MAX {
        return;
    }
    let (rand, direct) = setting;
    let concurrency = best.join.concurrency().unwrap_or(0);
    // Settings of reading together came with the io_method.
    if direct && best.startup.io_method.is_none() {
        journal.find(Finding::info(
            "answer-server-advice",
            format!(
                "Past the page cache {name} gathers nothing: before version 18 a bitmap scan only advises the kernel \
                 of blocks to come (posix_fadvise), which then reads them into the page cache. Differences between its \
                 direct joins are chance."
            ),
        ));
        return;
    }
    let beside =
        engine.iter().filter(|gain| gain.rand == rand).max_by(|one, other| one.elapsed.total_cmp(&other.elapsed));
    let beside = beside.map_or(String::new(), |gain| {
        format!(" The engine gains {} by {} on the same rows.", three_digits(gain.elapsed), gain.method)
    });
    journal.find(Finding::info(
        "answer-server-gain",
        format!(
            "On {name}, {} and {rand} % of the rows out of order, gathering is worth {} times: {} by nested loop, \
             which reads one block at a time, {} by bitmap scan{} and effective_io_concurrency {concurrency}.{beside}",
            if direct { "past the page cache" } else { "through the page cache" },
            three_digits(best.gain),
            format_nanos(alone.elapsed * 1e6),
            format_nanos(best.elapsed * 1e6),
            way(best)
        ),
    ));
}

/// Where gathering gains nothing, because reads are handed over one after the other.
fn serialized(found: &[MeasuredOnServer], journal: &mut dyn Journal) {
    for alone in found.iter().filter(|case| case.startup.direct).filter(is_nested_loop) {
        let startup = &alone.startup;
        let is_beside = |case: &&MeasuredOnServer| case.rand == alone.rand && case.startup == *startup;
        let gathered = found.iter().filter(is_beside).filter(|case| !is_nested_loop(case));
        let Some(best) = gathered.map(|case| case.gain).max_by(f64::total_cmp) else { continue };
        if best < SAME {
            let method = startup
                .io_method
                .as_ref()
                .map_or("direct reads".into(), |method| format!("direct reads and io_method {method}"));
            journal.find(Finding::info(
                "answer-server-serialized",
                format!(
                    "With {method}, gathering gains nothing ({} times at best): blocks are known ahead and read one \
                     after the other all the same.",
                    three_digits(best)
                ),
            ));
        }
    }
}

/// Who answered the nested loop's reads: it waits for each of them.
fn who_answered(found: &[MeasuredOnServer], journal: &mut dyn Journal) {
    let buffered = found.iter().filter(|case| is_nested_loop(case) && !case.startup.direct);
    let Some((case, block)) = buffered.filter_map(|case| Some((case, case.block?))).next() else { return };
    let takes = format!(
        "A block that the nested loop{} reads through the page cache takes {}",
        way(case),
        format_nanos(block * 1e3)
    );
    if block < PAGE_CACHE_MICROS {
        journal.find(Finding::warning(
            "answered-by-page-cache",
            format!(
                "{takes}: the page cache answered, not the storage, and what gathering gains there is not what it \
                 gains on a device. Take a larger table with --rows, or a private server."
            ),
        ));
    } else {
        journal.find(Finding::info("answered-by-storage", format!("{takes}: the storage answered.")));
    }
}

/// The part of a join's blocks that was in shared buffers.
fn cached_part(case: &MeasuredOnServer) -> f64 {
    case.hits / (case.hits + case.reads).max(1.0)
}

/// Joins whose blocks were in shared buffers to a part that counts.
fn not_cold(found: &[MeasuredOnServer], journal: &mut dyn Journal) {
    // A nested loop comes to a block again for another row; a bitmap comes to each block once.
    let gathered = found.iter().filter(|case| !is_nested_loop(case));
    let Some(worst) = gathered.map(cached_part).max_by(f64::total_cmp).filter(|part| *part > HITS_MAX) else { return };
    journal.find(Finding::warning(
        "not-all-cold",
        format!(
            "Up to {} % of the blocks of a join were in shared buffers already: compare times a block, or ask for more \
             --rows, for fewer --outer-rows or a smaller --repeat.",
            three_digits(worst * 100.0)
        ),
    ));
}
