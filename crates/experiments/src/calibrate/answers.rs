//! What the constants are and whether they help, in sentences; and the cases of the verification.

use measure::quantity::{format_nanos, three_digits};
use measure::sentence::capital;
use measure::statistics::median;
use measure::{Case, Finding, Metric, Parameters, Unit};
use serde_json::json;
use subjects::postgres::calibration::Clustering;

use super::bench::{Bench, State};
use super::choice::{Judged, Tried};
use super::concurrency;
use super::constants::Constants;
use super::verification::{self, Query, Verified};
use crate::error::ExperimentError;
use crate::journal::Journal;

impl Bench<'_> {
    /// A case for each query.
    pub(super) fn keep_queries(
        &mut self,
        state: State,
        queries: &[Query],
        judged: &Judged,
        journal: &mut dyn Journal,
    ) -> Result<(), ExperimentError> {
        for (at, query) in queries.iter().enumerate() {
            let picks: Vec<_> = ["now", "measured", "recommended"]
                .into_iter()
                .filter_map(|name| Some((name, *judged.of(name)?.picks.get(at)?)))
                .collect();
            journal.keep(verification::query_case(self, state, query, &picks))?;
        }
        Ok(())
    }

    /// Where plans change places, by the planner's word and by the clock.
    pub(super) fn keep_crossovers(
        &mut self,
        state: State,
        queries: &[Query],
        judged: &Judged,
        journal: &mut dyn Journal,
    ) -> Result<(), ExperimentError> {
        for clustering in Clustering::ALL {
            let mut case = Case::new(self.state_parameters("crossover", state));
            case.parameters.insert("clustering".into(), json!(clustering.name()));
            for name in ["now", "measured", "recommended"] {
                let Some(tried) = judged.of(name) else { continue };
                let found = verification::predicted(self, clustering, &tried.constants)?;
                let source = "part of the rows from which on EXPLAIN gives a full scan by these constants, by halving";
                let metric = |part| Metric::single(&format!("predicted_{name}"), Unit::Percent, source, part);
                case.metrics.extend(found.map(metric));
            }
            let source = "part of the rows from which on a full scan is faster than both scans by the index, between \
                          two queries by a line in logarithms";
            let clock = verification::measured(self, queries, clustering);
            case.metrics.extend(clock.map(|part| Metric::single("clocked", Unit::Percent, source, part)));
            journal.keep(case)?;
        }
        Ok(())
    }

    /// How each set of constants does, and what all queries together take when the planner is left to it.
    pub(super) fn keep_scores(
        &mut self,
        state: State,
        queries: &[Query],
        judged: &Judged,
        journal: &mut dyn Journal,
    ) -> Result<(), ExperimentError> {
        for tried in &judged.tried {
            let mut case = Case::new(self.state_parameters("verification", state));
            case.parameters.insert("constants".into(), json!(tried.name));
            case.metrics = score_metrics(tried, judged, queries.len());
            // Cold, each query would need another restart, and the plans that are picked were timed just so.
            let is_run = tried.name == "now" || tried.name == "measured";
            if is_run && state == State::Cached {
                let sums = verification::run_all(self, (state, queries), &tried.constants, journal)?;
                let source =
                    "all queries once, run as the planner likes by these constants: execution times by EXPLAIN";
                case.metrics.extend(Metric::of_samples("run_time", Unit::Milliseconds, source, &sums));
            }
            journal.keep(case)?;
        }
        Ok(())
    }

    fn state_parameters(&self, part: &str, state: State) -> Parameters {
        let mut parameters = Parameters::new();
        parameters.insert("subject".into(), json!(self.name));
        parameters.insert("part".into(), json!(part));
        parameters.insert("state".into(), json!(state.name()));
        parameters
    }
}

fn score_metrics(tried: &Tried, judged: &Judged, queries: usize) -> Vec<Metric> {
    let picked = "medians of the plans that are picked";
    let mut metrics = vec![
        Metric::single("queries", Unit::Count, "queries of the verification", queries as f64),
        Metric::single(
            "fastest_picked",
            Unit::Count,
            "queries for which the plan that is picked takes at most 5 % more than the fastest",
            tried.score.right as f64,
        ),
        Metric::single("time", Unit::Milliseconds, picked, tried.score.total),
        Metric::single("fastest_time", Unit::Milliseconds, "medians of the fastest plans", judged.fastest),
        Metric::single("lost", Unit::Milliseconds, "time less that of the fastest plans", tried.score.lost),
    ];
    let told = tried.constants.iter().map(|(name, value)| {
        let unit = if *name == "effective_cache_size" { Unit::Count } else { Unit::Ratio };
        Metric::single(name, unit, "what the planner is told", *value)
    });
    metrics.extend(told);
    metrics
}

/// Says what came out.
pub(super) fn report(constants: &Constants, verified: &[Verified], name: &str, journal: &mut dyn Journal) {
    pages(constants, name, journal);
    concurrency_answer(constants, journal);
    for one in verified {
        verdict(one, name, journal);
    }
}

fn pages(constants: &Constants, name: &str, journal: &mut dyn Journal) {
    let clause = |cached: u32, state: &str| {
        let random = constants.of("random_page_cost", cached)?;
        let measured = random.measured?;
        let sequential = median(&constants.of("seq_page_cost", cached)?.cost.micros)?;
        Some(format!(
            "{state} {} ({} to {}; {} against {})",
            three_digits(measured.value),
            three_digits(measured.low),
            three_digits(measured.high),
            format_nanos(median(&random.cost.micros)? * 1e3),
            format_nanos(sequential * 1e3)
        ))
    };
    let clauses: Vec<String> = [(0, "cold"), (90, "90 % cached"), (100, "cached")]
        .iter()
        .filter_map(|(share, word)| clause(*share, word))
        .collect();
    if clauses.is_empty() {
        return;
    }
    journal.find(Finding::info(
        "answer-random-page",
        format!("A block at random costs so many blocks in sequence on {name}: {}.", clauses.join("; ")),
    ));
}

fn concurrency_answer(constants: &Constants, journal: &mut dyn Journal) {
    let Some((value, best, alone)) = concurrency::enough(&constants.sweep) else {
        if !constants.sweep.is_empty() {
            journal.find(Finding::warning(
                "absent-concurrency",
                "effective_io_concurrency did not come out: the times of cold bitmap scans went up and down with it, \
                 because something else used the device. Repeat the run when it is quiet.",
            ));
        }
        return;
    };
    let message = match value {
        1 => {
            "A cold bitmap scan gets no faster by more reads at a time: effective_io_concurrency may stay at 1.".into()
        }
        _ if concurrency::VALUES.last() == Some(&value) => format!(
            "A cold bitmap scan is fastest with effective_io_concurrency {value}, the largest that was tried: {} \
             against {} at 1. A larger one may do better; `readpath join --concurrency` tries it.",
            format_nanos(best * 1e3),
            format_nanos(alone * 1e3)
        ),
        _ => format!(
            "A cold bitmap scan gets no faster beyond effective_io_concurrency {value}: {} against {} at 1.",
            format_nanos(best * 1e3),
            format_nanos(alone * 1e3)
        ),
    };
    journal.find(Finding::info("answer-concurrency", message));
}

/// Whether the planner chooses better.
fn verdict(verified: &Verified, name: &str, journal: &mut dyn Journal) {
    let judged = &verified.judged;
    let (Some(now), Some(all), Some(best)) = (judged.of("now"), judged.of("measured"), judged.of("recommended")) else {
        return;
    };
    let (state, queries) = (verified.state.name(), verified.queries);
    let lost = |tried: &Tried| format_nanos(tried.score.lost * 1e6);
    let scores = format!(
        "with the server's constants {} picks the fastest plan for {} of {queries} queries ({state}) and loses {} on \
         {}; with all measured ones for {}, and loses {}",
        name,
        now.score.right,
        lost(now),
        format_nanos(judged.fastest * 1e6),
        all.score.right,
        lost(all)
    );
    let id = format!("answer-verification-{state}");
    harm(judged, state, journal);
    if judged.recommended.is_empty() {
        let advice = "No set of measured constants loses less here: the server's own are as good, keep them";
        journal.find(Finding::info(&id, format!("{}. {advice}.", capital(&scores))));
        return;
    }
    let names: Vec<&str> = judged.recommended.iter().map(|(name, _)| *name).skip(1).collect();
    let advice = match judged.harmful.is_empty() {
        true => "All of them together are recommended for such data".to_string(),
        false => format!("{} recommended: for {} queries, {} lost", one_or_all(&names), best.score.right, lost(best)),
    };
    journal.find(Finding::info(&id, format!("{}. {advice}.", capital(&scores))));
}

/// Names the constants that do harm, whether the others are of use or not.
fn harm(judged: &Judged, state: &str, journal: &mut dyn Journal) {
    if !judged.harmful.is_empty() {
        journal.find(Finding::warning(
            &format!("not-recommended-{state}"),
            format!(
                "{} measured, and not recommended ({state}): with {} the planner loses more time than without. A \
                 constant that is right by itself can hurt where the planner's model is wrong elsewhere.",
                one_or_all_were(&judged.harmful),
                if judged.harmful.len() == 1 { "it" } else { "them" }
            ),
        ));
    }
}

fn one_or_all(names: &[&str]) -> String {
    match names {
        [name] => format!("{name} alone is"),
        _ => format!("{} are", names.join(", ")),
    }
}

fn one_or_all_were(names: &[&str]) -> String {
    match names {
        [name] => format!("{name} was"),
        _ => format!("{} were", names.join(", ")),
    }
}
