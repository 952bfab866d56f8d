//! What joins say of a subject that is not seen from inside: what gathering is worth, beside the subjects measured
//! before, and whether the storage answered.

use std::cmp::Reverse;

use measure::quantity::{counted, format_nanos, three_digits};
use measure::schema::join;
use measure::schema::join::findings as row;
use measure::{Finding, Unit};

use super::bench::{Gain, Measured, SAME, absent_gain};
use crate::disk::{PAGE_CACHE_MICROS, on};
use crate::journal::Journal;

/// Part of the blocks that may be in memory of a join that counts as cold.
const HITS_MAX: f64 = 0.1;

/// Says what the cases of a subject mean.
pub(super) fn report(name: &str, found: &[Measured], before: &[Gain], journal: &mut dyn Journal) {
    let mut seen: Vec<(u8, bool)> = Vec::new();
    for case in found {
        let setting = (case.rand, case.group.is_direct);
        if !seen.contains(&setting) {
            seen.push(setting);
            report_gathering(found, setting, name, before, journal);
        }
    }
    let others = serialized(found).into_iter().chain(storage(found)).chain(not_cold(found));
    journal.find_all(others.map(|finding| on(Some(name), finding)));
}

/// The group of a case, in words.
fn with(case: &Measured) -> String {
    if case.group.name.is_empty() { String::new() } else { format!(" with {}", case.group.name) }
}

/// What gathering is worth at its best.
fn report_gathering(
    found: &[Measured],
    (rand, direct): (u8, bool),
    name: &str,
    before: &[Gain],
    journal: &mut dyn Journal,
) {
    let of_setting = found.iter().filter(|case| case.rand == rand && case.group.is_direct == direct);
    let gains = of_setting.filter_map(|case| Some((case, case.gain(found)?)));
    let Some((best, gain)) = gains.max_by(|one, other| one.1.total_cmp(&other.1)) else { return };
    let Some(alone) = found.iter().find(|case| !case.variant.is_gathered && case.is_beside(best)) else { return };
    // What was found in memory was not read: `not_cold` says so, and a gain would be none of gathering's.
    if cached_part(best) > HITS_MAX {
        return;
    }
    if let Some(absence) = absent_gain(rand, [best, alone].into_iter()) {
        return journal.find(on(Some(name), absence));
    }
    if let Some(absence) = &best.group.gathers_nothing {
        return journal.find(absence.clone());
    }
    let beside: String = before.iter().filter(|gain| gain.rand == rand).fold(String::new(), |beside, gain| {
        let Gain { subject, method, elapsed, .. } = gain;
        format!("{beside} On the same rows, {subject} gains a factor of {} by {method}.", three_digits(*elapsed))
    });
    let join = if best.group.name.is_empty() { "with" } else { "and" };
    let ahead =
        best.variant.size.map_or(String::new(), |size| format!(" {join} {} ahead", counted(size, "read", "reads")));
    let way = if direct { "past the page cache" } else { "through the page cache" };
    let takes = |case: &Measured| format!("{} by {}", format_nanos(case.elapsed() * 1e6), case.variant.method);
    let message = format!(
        "On {name}, {way} and {rand} % of the rows out of order, batching or prefetching gains a factor of {}: {}, \
         which reads one block at a time, {}{}{ahead}.{beside}",
        three_digits(gain),
        takes(alone),
        takes(best),
        with(best)
    );
    journal.find(row::ANSWER_SERVER_GAIN.of(message).with("gain", gain, Unit::Ratio));
}

/// Where gathering gains nothing, because reads are submitted one after the other.
fn serialized(found: &[Measured]) -> Vec<Finding> {
    let finding = |alone: &Measured| {
        let beside = || found.iter().filter(|case| case.is_beside(alone));
        if beside().any(Measured::has_few_blocks) {
            return None;
        }
        let gains = beside().filter_map(|case| case.gain(found));
        let best = gains.max_by(f64::total_cmp).filter(|best| *best < SAME)?;
        let group = if alone.group.name.is_empty() { String::new() } else { format!(", {}", alone.group.name) };
        Some(row::ANSWER_SERVER_SERIALIZED.of(format!(
            "With direct reads{group} and {} % of the rows out of order, batching or prefetching gains nothing ({} \
             times at best): blocks are known ahead and read one after the other all the same.",
            alone.rand,
            three_digits(best)
        )))
    };
    let alone = found.iter().filter(|case| case.group.is_direct && !case.variant.is_gathered);
    alone.filter_map(finding).collect()
}

/// Whether the storage answered reads that come one at a time: a join waits for each of them. Blocks in order are read
/// ahead by the kernel, so that a short wait for them says nothing.
fn storage(found: &[Measured]) -> Option<Finding> {
    let buffered = found.iter().filter(|case| !case.variant.is_gathered && !case.group.is_direct);
    let blocks = buffered.filter_map(|case| Some((case, join::RANDOM_BLOCK.median(&case.case)?)));
    let (case, block) = blocks.min_by_key(|(case, _)| Reverse(case.rand))?;
    if case.rand == 0 && block < PAGE_CACHE_MICROS {
        return None;
    }
    let takes = format!(
        "A block that the {}{} reads through the page cache takes {}",
        case.variant.method,
        with(case),
        format_nanos(block * 1e3)
    );
    Some(if block < PAGE_CACHE_MICROS {
        row::ANSWERED_BY_PAGE_CACHE.of(format!(
            "{takes}: the page cache answered, not the storage, and what batching or prefetching gains there is not \
                 what it gains on a device. Take a larger table with --rows, or a private server."
        ))
    } else {
        row::ANSWERED_BY_STORAGE.of(format!("{takes}: the storage answered."))
    })
}

/// The part of a join's blocks of the table that was in memory.
fn cached_part(case: &Measured) -> f64 {
    let median = |spec: &measure::schema::Spec| spec.median(&case.case).unwrap_or(0.0);
    let (reads, hits) = (median(&join::TABLE_BLOCKS), median(&join::TABLE_HITS));
    hits / (hits + reads).max(1.0)
}

/// Joins whose blocks were in memory to a part that counts.
fn not_cold(found: &[Measured]) -> Option<Finding> {
    // One at a time comes to a block again for another row; gathering comes to each block once.
    let gathered = found.iter().filter(|case| case.variant.is_gathered);
    let worst = gathered.map(cached_part).max_by(f64::total_cmp).filter(|part| *part > HITS_MAX)?;
    let message = format!(
        "Up to {} % of the blocks of a join were in the server's buffers already: compare times a block, or ask for \
         more --rows, for fewer --outer-rows or a smaller --repeat.",
        three_digits(worst * 100.0)
    );
    Some(row::NOT_ALL_COLD.of(message).with("cached", worst * 100.0, Unit::Percent))
}
