//! What joins say whose waits are timed: what gathering gained, when it gained nothing, and from which size on it gains
//! no more.

use measure::quantity::{grouped, three_digits};
use measure::schema::join;
use measure::schema::join::findings as row;
use measure::sorting;
use measure::{Finding, Unit};
use subjects::nested_loops::{DeviceReads, JoinMethod};

use super::bench::{Measured, SAME, absent_gain};
use crate::disk::on;
use crate::journal::Journal;

/// A batch that is larger and gains less than this gains nothing.
const SATURATED: f64 = 1.05;

/// Says what the cases of one table mean; `name` is the subject's where there are several.
pub(super) fn report(
    (rand, name): (u8, Option<&str>),
    measured: &[Measured],
    device: &DeviceReads,
    journal: &mut dyn Journal,
) {
    let alone = measured.iter().find(|case| !case.variant.is_gathered);
    let Some(alone) = alone.filter(|alone| alone.io_time() > 0.0) else { return };
    let mut methods: Vec<&str> =
        measured.iter().filter(|case| case.variant.is_gathered).map(|case| case.variant.method).collect();
    methods.dedup();
    let of = |method: &str| measured.iter().filter(move |case| case.variant.method == method).collect::<Vec<_>>();
    let best = |method: &&str| of(method).into_iter().min_by(|one, other| one.io_time().total_cmp(&other.io_time()));
    // Where nothing was waited for there is no ratio.
    let has_waited = |case: &&Measured| case.io_time() > 0.0 && case.elapsed() > 0.0;
    let gathered: Vec<&Measured> = methods.iter().filter_map(best).filter(has_waited).collect();
    if gathered.is_empty() {
        return;
    }
    if let Some(absence) = absent_gain(rand, gathered.iter().copied().chain([alone])) {
        return journal.find(on(name, absence));
    }
    let ratios = |time: fn(&Measured) -> f64| {
        let ratio = |case: &&Measured| (case.variant.method, time(alone) / time(case));
        gathered.iter().map(ratio).collect::<Vec<_>>()
    };
    let (waits, whole) = (ratios(Measured::io_time), ratios(Measured::elapsed));
    let word = |(name, ratio): &(&str, f64)| format!("{name} {}", three_digits(*ratio));
    let in_words = |ratios: &[(&str, f64)]| ratios.iter().map(word).collect::<Vec<_>>().join(", ");
    let (depth, factor) = (grouped(device.depth as u64), device.alone / device.together.max(f64::MIN_POSITIVE));
    let depths = match &device.not_from_storage {
        _ if device.depth == 1 => "one read at a time is all that this way of reading has".to_string(),
        None => format!(
            "random reads of the same file without a join gain a factor of {} with {depth} in flight",
            three_digits(factor)
        ),
        Some(reason) => format!(
            "what random reads of the same file without a join gain with {depth} in flight is not known, because it is \
             not proved that the storage served all of them: {reason}"
        ),
    };
    let [of_waits, of_whole] = [&waits, &whole].map(|ratios| in_words(ratios));
    let finding = row::ANSWER_GAIN.of(format!(
        "With {rand} % of the rows out of order, waiting for reads one at a time takes this many times as long as with \
         batching or prefetching: {of_waits}; {depths}. The whole join, with the processor's work: {of_whole}."
    ));
    let with = |finding: Finding, (name, ratio): &(&str, f64)| finding.with(name, *ratio, Unit::Ratio);
    journal.find(on(name, waits.iter().fold(finding, with)));
    // The mistake to make: rows are gathered, and their blocks read one after the other all the same.
    if device.depth == 1 && waits.iter().all(|(_, ratio)| (1.0 / SAME..SAME).contains(ratio)) {
        let message = format!(
            "With {rand} % of the rows out of order all methods took the same time within 10 %: where reads are \
             submitted one after the other, batching them gains nothing. Batching pays only with asynchronous reads: \
             leave out --io sync, and give a --depth above 1."
        );
        journal.find(on(name, row::ANSWER_SERIALIZED.of(message)));
    }
    let saturated = methods.iter().filter_map(|method| saturation(rand, &of(method)));
    journal.find_all(saturated.map(|finding| on(name, finding)));
}

/// The size of a batch from which on a larger one gains nothing.
fn saturation(rand: u8, cases: &[&Measured]) -> Option<Finding> {
    let mut sized: Vec<(u64, &Measured)> = cases.iter().filter_map(|case| Some((case.variant.size?, *case))).collect();
    sorting::by_key(&mut sized, |(size, _)| *size);
    if sized.len() < 3 {
        return None;
    }
    let gains_no_more = |from: &(u64, &Measured)| {
        let larger = sized.iter().filter(|(size, _)| *size > from.0);
        larger.clone().count() > 0 && larger.clone().all(|(_, case)| from.1.io_time() < case.io_time() * SATURATED)
    };
    let at = sized.iter().position(gains_no_more)?;
    let (rows, case) = &sized[at];
    let (size, method) = (grouped(*rows), case.variant.method);
    let blocks = join::BLOCKS_PER_REQUEST.median(&case.case).map_or("no".into(), three_digits);
    let overlap = match method == JoinMethod::AwaitedBatch.name() {
        true => "",
        false => " Its batches overlap; awaited-batch shows what the size of a batch is worth.",
    };
    let is_alike = |(_, larger): &(u64, &Measured)| larger.io_time() < case.io_time() * SATURATED;
    let message = match at {
        // A larger one that takes longer gains nothing either, and its size makes a difference.
        0 if sized[1..].iter().all(is_alike) => format!(
            "With {rand} % of the rows out of order, the size of its batches makes no difference to {method}: {size} \
             at a time is within 5 % of every larger size.{overlap}"
        ),
        _ => format!(
            "With {rand} % of the rows out of order, {method} gains less than 5 % by batches of more than {size} rows, \
             which are {blocks} blocks a request."
        ),
    };
    Some(row::ANSWER_SATURATION.of(message).with("rows", *rows as f64, Unit::Count))
}

#[cfg(test)]
mod tests;
