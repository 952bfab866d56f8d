//! What the constants are and whether they help, in sentences.

use measure::quantity::{format_nanos, three_digits};
use measure::statistics::median;
use measure::{Finding, Unit};

use super::choice::Tried;
use super::concurrency;
use super::constants::Constants;
use super::verification::Verified;
use crate::journal::Journal;

/// Reports the costs of blocks, the concurrency that is enough, and how each verification came out.
pub(super) fn report(constants: &Constants, verified: &[Verified], name: &str, journal: &mut dyn Journal) {
    pages(constants, name, journal);
    report_concurrency(constants, journal);
    for one in verified {
        verification(one, name, journal);
    }
}

fn pages(constants: &Constants, name: &str, journal: &mut dyn Journal) {
    let mut clauses = Vec::new();
    let mut ratios = Vec::new();
    let mut add = |cached: u32, state: &str, value: &'static str| {
        let random = constants.of("random_page_cost", cached)?;
        let measured = random.measured?;
        let sequential = median(&constants.of("seq_page_cost", cached)?.cost.micros)?;
        clauses.push(format!(
            "{state} {} ({} to {}; {} against {})",
            three_digits(measured.value),
            three_digits(measured.low),
            three_digits(measured.high),
            format_nanos(median(&random.cost.micros)? * 1e3),
            format_nanos(sequential * 1e3)
        ));
        ratios.push((value, measured.value));
        Some(())
    };
    add(0, "cold", "cold");
    add(90, "90 % cached", "cached_90");
    add(100, "cached", "cached");
    if clauses.is_empty() {
        return;
    }
    let message = format!("The cost of a block at random on {name}, in blocks in sequence: {}.", clauses.join("; "));
    let finding = Finding::info("answer-random-page", message);
    journal.find(ratios.into_iter().fold(finding, |finding, (state, ratio)| finding.with(state, ratio, Unit::Ratio)));
}

fn report_concurrency(constants: &Constants, journal: &mut dyn Journal) {
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
    let times = format!("{} against {} at 1", format_nanos(best * 1e3), format_nanos(alone * 1e3));
    let message = match value {
        1 => {
            "A cold bitmap scan gets no faster by more reads at a time: effective_io_concurrency may stay at 1.".into()
        }
        _ if concurrency::VALUES.last() == Some(&value) => format!(
            "A cold bitmap scan is fastest with effective_io_concurrency {value}, the largest that was tried: {times}. \
             A larger one may do better; `readpath join --concurrency` tries it."
        ),
        _ => format!("A cold bitmap scan gets no faster beyond effective_io_concurrency {value}: {times}."),
    };
    let finding = Finding::info("answer-concurrency", message).with("enough", f64::from(value), Unit::Count);
    let finding = finding.with("time", best / 1e3, Unit::Milliseconds);
    journal.find(finding.with("time_at_1", alone / 1e3, Unit::Milliseconds));
}

/// Whether the planner chooses better.
fn verification(verified: &Verified, name: &str, journal: &mut dyn Journal) {
    let Verified { compared, queries, .. } = verified;
    let (Some(now), Some(all), Some(best)) = (compared.of("now"), compared.of("measured"), compared.of("recommended"))
    else {
        return;
    };
    let (state, queries) = (verified.state.name(), queries.len());
    let lost = |tried: &Tried| format_nanos(tried.score.lost * 1e6);
    let scores = format!(
        "With the server's constants {name} picks the fastest plan for {} of {queries} queries ({state}) and loses {} \
         on {}; with all measured ones for {}, and loses {}",
        now.score.right,
        lost(now),
        format_nanos(compared.fastest * 1e6),
        all.score.right,
        lost(all)
    );
    harm(&compared.harmful, state, journal);
    let names: Vec<&str> = compared.recommended.iter().map(|(name, _)| *name).skip(1).collect();
    let advice = match (compared.recommended.is_empty(), compared.harmful.is_empty()) {
        (true, _) => "No set of measured constants loses less here: the server's own are as good, keep them".into(),
        (false, true) => "All of them together are recommended for such data".to_string(),
        (false, false) => {
            format!("{} recommended: for {} queries, {} lost", one_or_all(&names), best.score.right, lost(best))
        }
    };
    let mut finding = Finding::info(&format!("answer-verification-{state}"), format!("{scores}. {advice}."));
    for (value, tried) in [("lost_now", now), ("lost_measured", all), ("lost_recommended", best)] {
        finding = finding.with(value, tried.score.lost, Unit::Milliseconds);
    }
    journal.find(finding.with("fastest_time", compared.fastest, Unit::Milliseconds));
}

/// Names the constants that do harm, whether the others are of use or not.
fn harm(harmful: &[&str], state: &str, journal: &mut dyn Journal) {
    let (were, them) = match harmful {
        [] => return,
        [name] => (format!("{name} was"), "it"),
        _ => (format!("{} were", harmful.join(", ")), "them"),
    };
    journal.find(Finding::warning(
        &format!("not-recommended-{state}"),
        format!(
            "{were} measured, and not recommended ({state}): with {them} the planner loses more time than without. A \
             constant that is right by itself can hurt where the planner's model is wrong elsewhere."
        ),
    ));
}

fn one_or_all(names: &[&str]) -> String {
    match names {
        [name] => format!("{name} alone is"),
        _ => format!("{} are", names.join(", ")),
    }
}
