//! What the joins say: what gathering gained, when it gained nothing, and from which size on it gains no more.

use measure::Finding;
use subjects::join_engine::Io;

use super::measuring::{DeviceReads, Measured};
use super::{Bench, JoinMethod};
use crate::journal::Journal;
use measure::quantity::three_digits;

/// Times within this ratio are the same: what four cases of the same reads differ by.
const SAME: f64 = 1.1;

/// A batch that is larger and gains less than this gains nothing.
const SATURATED: f64 = 1.05;

/// What gathering is worth at its best on the engine.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gain {
    pub(super) rand: u8,
    pub(super) method: &'static str,
    /// How many times less time than one at a time.
    pub(super) elapsed: f64,
}

/// The best gain of one table; none where one at a time or all others were left out.
pub(super) fn gain(rand: u8, measured: &[Measured]) -> Option<Gain> {
    let alone = measured.iter().find(|case| case.plan.name == JoinMethod::OneAtATime)?;
    let gathered = measured.iter().filter(|case| case.plan.name != JoinMethod::OneAtATime && case.elapsed > 0.0);
    let best = gathered.min_by(|one, other| one.elapsed.total_cmp(&other.elapsed))?;
    Some(Gain { rand, method: best.plan.name.name(), elapsed: alone.elapsed / best.elapsed })
}

/// Says what the cases of one table mean.
pub(super) fn report(
    bench: &Bench<'_>,
    rand: u8,
    measured: &[Measured],
    device: DeviceReads,
    journal: &mut dyn Journal,
) {
    let of = |name: JoinMethod| measured.iter().filter(move |case| case.plan.name == name);
    let Some(alone) = of(JoinMethod::OneAtATime).next().filter(|alone| alone.io_time > 0.0) else { return };
    let best = |name| of(name).min_by(|one, other| one.io_time.total_cmp(&other.io_time));
    let gathered: Vec<&Measured> = JoinMethod::ALL[1..].iter().filter_map(|name| best(*name)).collect();
    let gain = |case: &Measured| alone.io_time / case.io_time.max(f64::MIN_POSITIVE);
    if gathered.is_empty() {
        return;
    }
    let gains: Vec<String> =
        gathered.iter().map(|case| format!("{} {}", case.plan.name.name(), three_digits(gain(case)))).collect();
    let whole: Vec<String> = gathered
        .iter()
        .map(|case| {
            let factor = alone.elapsed / case.elapsed.max(f64::MIN_POSITIVE);
            format!("{} {}", case.plan.name.name(), three_digits(factor))
        })
        .collect();
    let depth = device.alone / device.together.max(f64::MIN_POSITIVE);
    let depths = match bench.parameters.io {
        Io::Sync => "one read at a time is all that this way of reading has".to_string(),
        Io::Async => format!(
            "random reads of the same file without a join gain {} from {} in flight",
            three_digits(depth),
            bench.parameters.depth
        ),
    };
    journal.find(Finding::info(
        "answer-gain",
        format!(
            "With {rand} % of the rows out of order, waiting for reads one at a time takes so many times as long as \
             with gathering: {}; {depths}. The whole join, with the processor's work: {}.",
            gains.join(", "),
            whole.join(", ")
        ),
    ));
    if bench.parameters.io == Io::Sync {
        report_serialized(rand, alone, &gathered, journal);
    }
    for name in [JoinMethod::Batch, JoinMethod::BatchedRowid] {
        report_saturation(rand, &of(name).collect::<Vec<_>>(), journal);
    }
}

/// The mistake to make: rows are gathered, and their blocks read one after the other all the same.
fn report_serialized(rand: u8, alone: &Measured, gathered: &[&Measured], journal: &mut dyn Journal) {
    let ratio = |case: &&Measured| alone.io_time / case.io_time.max(f64::MIN_POSITIVE);
    if gathered.iter().map(ratio).all(|ratio| (1.0 / SAME..SAME).contains(&ratio)) {
        journal.find(Finding::info(
            "answer-serialized",
            format!(
                "With {rand} % of the rows out of order all methods took the same time within 10 %: where reads are \
                 handed over one after the other, gathering them gains nothing. Asynchronous reads are what it lives \
                 on."
            ),
        ));
    }
}

/// The size of a batch from which on a larger one gains nothing.
fn report_saturation(rand: u8, cases: &[&Measured], journal: &mut dyn Journal) {
    let mut sized: Vec<(usize, &Measured)> = cases.iter().filter_map(|case| Some((case.plan.size()?, *case))).collect();
    sized.sort_by_key(|(size, _)| *size);
    if sized.len() < 3 {
        return;
    }
    let gains_no_more = |from: &(usize, &Measured)| {
        let larger = sized.iter().filter(|(size, _)| *size > from.0);
        larger.clone().count() > 0 && larger.clone().all(|(_, case)| from.1.io_time < case.io_time * SATURATED)
    };
    let Some((size, case)) = sized.iter().find(|from| gains_no_more(from)) else { return };
    journal.find(Finding::info(
        "answer-saturation",
        format!(
            "With {rand} % of the rows out of order, {} gains less than 5 % by batches of more than {size} rows, which \
             are {} blocks a request.",
            case.plan.name.name(),
            case.blocks_per_request.map_or("no".into(), three_digits)
        ),
    ));
}
