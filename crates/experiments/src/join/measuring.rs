//! The joins of the cases, in turn.

use std::time::Instant;

use measure::schema::join::findings as row;
use measure::schema::join::{self, parameters};
use measure::{Case, Finding, Metric, Nanos};
use subjects::nested_loops::{BlockCost, Explained, Group, InnerFacts, InnerTable, JoinCost, JoinPass};

use super::bench::{Bench, Measured};
use super::planner::Costs;
use crate::disk::on;
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Conditions, Sensitivity};
use crate::sampling::{each, time_left};

/// Joins of a case that are explained, apart from those that are timed.
const EXPLAINED_MAX: usize = 5;

/// A standard deviation in medians from which on a median says little.
const SCATTER_MAX: f64 = 0.5;

/// Measures all variants of a group in turn, and keeps them.
pub(super) fn cases(
    bench: &mut Bench<'_>,
    (table, facts): (InnerTable, &InnerFacts),
    group: &Group,
    costs: Option<Costs>,
    journal: &mut dyn Journal,
) -> Result<Vec<Measured>, ExperimentError> {
    let (what, repeat) = (bench.what(table.rand, group), bench.parameters.repeat());
    let (begun, mut done, all) = (Instant::now(), 0, repeat.saturating_mul(group.variants.len()));
    let conditions = Conditions::now(bench.machine);
    let mut samples: Vec<Vec<JoinCost>> = group.variants.iter().map(|_| Vec::new()).collect();
    for round in 0..repeat {
        for turn in 0..group.variants.len() {
            bench.machine.stop.check()?;
            journal.step(&what, time_left(each(begun.elapsed(), done, facts.join_time), (done, all)));
            done += 1;
            // No variant is always the first, or always behind the same other.
            let variant = (turn + round) % group.variants.len();
            samples[variant].push(join(bench, (table, facts), (variant, group), round)?);
        }
    }
    let change = conditions.changed(bench.machine);
    bench.machine.note(&what, &change, Sensitivity::Storage);
    let alone = group.variants.iter().position(|variant| !variant.is_gathered).map(|variant| &samples[variant]);
    let alone = alone.filter(|samples| !have_few_blocks(samples)).map(|samples| median_elapsed(samples));
    let mut measured = Vec::new();
    for (variant, samples) in group.variants.iter().zip(&samples) {
        let mut case = Case::new(bench.labels(table, facts, group));
        case.parameters.extend([parameters::METHOD.of(variant.method)]);
        case.parameters.extend(variant.parameters.clone());
        case.metrics = metrics((bench.looked_up(table, facts), facts), samples, (alone, costs));
        journal.keep(case.clone())?;
        measured.push(Measured { rand: table.rand, group: group.clone(), variant: variant.clone(), case });
    }
    if samples.iter().flatten().all(|cost| cost.table.waiting.is_some()) {
        let scattered = scatter(table.rand, &measured);
        journal.find_all(scattered.map(|finding| on(bench.name_among_several(), finding)));
    }
    Ok(measured)
}

/// One join, with the sum that its rows have, and another one that is explained.
fn join(
    bench: &mut Bench<'_>,
    (table, facts): (InnerTable, &InnerFacts),
    (variant, group): (usize, &Group),
    round: usize,
) -> Result<JoinCost, ExperimentError> {
    let keys = bench.keys(facts, round);
    let is_explained = facts.sources.explained.is_some() && round < EXPLAINED_MAX;
    let explained = is_explained.then(|| bench.keys(facts, round));
    let cost = bench.subject.join(&JoinPass { variant, keys, explained })?;
    let expected = table.sum(keys)?;
    match cost.sum.filter(|found| *found != expected) {
        Some(found) => {
            let what = format!("{} by {}", bench.name, group.variants[variant].method);
            Err(ExperimentError::WrongSum { what, expected, found })
        }
        None => Ok(cost),
    }
}

fn median_elapsed(samples: &[JoinCost]) -> f64 {
    let elapsed: Vec<f64> = samples.iter().map(|cost| cost.elapsed.as_millis()).collect();
    measure::Statistics::of_samples(&elapsed).map_or(0.0, |statistics| statistics.median)
}

/// Whether joins read so few blocks that nothing is a gain over their time: by EXPLAIN's count, which `gain` stands
/// beside.
fn have_few_blocks(samples: &[JoinCost]) -> bool {
    let reads: Vec<f64> = samples.iter().filter_map(|cost| Some(cost.explained.as_ref()?.read as f64)).collect();
    measure::Statistics::of_samples(&reads).is_some_and(|reads| reads.median < join::BLOCKS_MIN as f64)
}

/// Names the methods whose joins differ so much that their gains say little.
fn scatter(rand: u8, measured: &[Measured]) -> Option<Finding> {
    let scatters =
        |metric: &Metric| metric.statistics.stddev.is_some_and(|stddev| stddev > SCATTER_MAX * metric.median());
    let scattered = measured.iter().filter(|case| join::ELAPSED.in_case(&case.case).is_some_and(scatters));
    let methods: Vec<&str> = scattered.map(|case| case.variant.method).collect();
    let message = format!(
        "With {rand} % of the rows out of order, the joins by {} differ among themselves by more than half of their \
         median: gains between them say little. Something else uses this storage, or it is slower with blocks that \
         were not read for a long time: run again, with a larger --repeat.",
        methods.join(", ")
    );
    (!methods.is_empty()).then(|| row::JOINS_SCATTER.of(message))
}

/// What a case says.
fn metrics(
    (outer_rows, facts): (u64, &InnerFacts),
    samples: &[JoinCost],
    (alone, costs): (Option<f64>, Option<Costs>),
) -> Vec<Metric> {
    let sources = &facts.sources;
    let of = |spec: &measure::schema::Spec, source, value: &dyn Fn(&JoinCost) -> Option<f64>| {
        let values: Option<Vec<f64>> = samples.iter().map(value).collect();
        spec.of_samples(source, &values?)
    };
    let millis = |time: Option<Nanos>| time.map(Nanos::as_millis);
    let a_lookup = |value: f64| value / outer_rows as f64;
    let both = |cost: &JoinCost| cost.table.waiting.zip(cost.index.waiting).map(|(table, index)| table + index);
    let count = |spec, source, cost: &dyn Fn(&JoinCost) -> Option<u64>| of(spec, source, &|of| Some(cost(of)? as f64));
    let per = |time: Option<Nanos>, blocks: u64| ratio(time?.as_micros(), blocks as f64);
    let even = "elapsed of a full scan over elapsed of a look-up";
    let all = [
        of(&join::IO_TIME, sources.waiting, &|cost| millis(both(cost))),
        of(&join::TABLE_IO_TIME, sources.waiting, &|cost| millis(cost.table.waiting)),
        of(&join::INDEX_IO_TIME, sources.waiting, &|cost| millis(cost.index.waiting)),
        of(&join::ELAPSED, sources.elapsed, &|cost| Some(cost.elapsed.as_millis())),
        of(&join::CPU_PER_LOOKUP, sources.cpu, &|cost| Some(a_lookup(cost.cpu?.as_micros()))),
        count(&join::TABLE_BLOCKS, sources.blocks, &|cost| Some(cost.table.read)),
        count(&join::TABLE_HITS, sources.blocks, &|cost| cost.table.hits),
        count(&join::INDEX_BLOCKS, sources.blocks, &|cost| Some(cost.index.read)),
        count(&join::REQUESTS, sources.requests, &|cost| cost.table.requests),
        count(&join::INDEX_REQUESTS, sources.requests, &|cost| cost.index.requests),
        of(&join::BLOCKS_PER_REQUEST, sources.requests, &|cost| {
            let BlockCost { read, requests, .. } = cost.table;
            ratio(read as f64, requests? as f64)
        }),
        of(&join::LEFT_IN_PAGE_CACHE, sources.page_cache, &|cost| cost.left_in_page_cache.map(|share| share * 100.0)),
        of(&join::IN_FLIGHT, sources.in_flight, &|cost| cost.in_flight),
        of(&join::RANDOM_BLOCK, sources.waiting, &|cost| per(cost.table.waiting, cost.table.read)),
        count(&join::TABLE_GETS, sources.gets, &|cost| cost.table.gets),
        count(&join::INDEX_GETS, sources.gets, &|cost| cost.index.gets),
        of(&join::BREAK_EVEN, even, &|cost| costs?.break_even(a_lookup(cost.elapsed.as_millis()))),
    ];
    let apart = sources.explained.map(|source| explained(samples, (source, sources.waiting), alone));
    all.into_iter().flatten().chain(apart.into_iter().flatten()).collect()
}

/// What stands for the waits of each join where those are only explained apart.
fn explained(samples: &[JoinCost], (source, waiting): (&str, &str), alone: Option<f64>) -> Vec<Metric> {
    let of = |spec: &measure::schema::Spec, source, value: &dyn Fn(&Explained) -> Option<f64>| {
        let values: Option<Vec<f64>> =
            samples.iter().filter_map(|cost| Some(value(cost.explained.as_ref()?))).collect();
        spec.of_samples(source, &values?)
    };
    // Of the medians that are shown: a median of ratios is another one of an even number, and not 1 of the base.
    let gain = alone.filter(|_| !have_few_blocks(samples)).and_then(|alone| ratio(alone, median_elapsed(samples)));
    let a_block = |cost: &JoinCost| ratio(cost.elapsed.as_micros(), cost.table.read as f64);
    let a_block: Option<Vec<f64>> = samples.iter().map(a_block).collect();
    let all = [
        join::ELAPSED_PER_BLOCK
            .of_samples("elapsed over blocks of the table that were read", &a_block.unwrap_or_default()),
        gain.map(|gain| join::GAIN.single("the nested loop's median elapsed over that of this one", gain)),
        of(&join::BLOCKS_READ, source, &|plan| Some(plan.read as f64)),
        of(&join::BLOCKS_HIT, source, &|plan| Some(plan.hits as f64)),
        of(&join::IO_TIME, waiting, &|plan| plan.waiting.map(Nanos::as_millis)),
        of(&join::RANDOM_BLOCK, waiting, &|plan| ratio(plan.waiting?.as_micros(), plan.read as f64)),
    ];
    all.into_iter().flatten().collect()
}

fn ratio(one: f64, other: f64) -> Option<f64> {
    (other > 0.0).then(|| one / other)
}
