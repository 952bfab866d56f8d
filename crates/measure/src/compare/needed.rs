//! What a verdict lacks where a side has too few samples, and which option of the experiment gives more of them.

use super::resample::{SAMPLES_MIN, WINDOWS_MIN};
use crate::schema::{calibrate, disk, join, ladder, lio, scan};

/// How many samples a verdict needs, and what to do to have them, in sentences. A caller shows it where a metric
/// has `Verdict::TooFewSamples`; `experiment` is the one that both runs are of.
pub fn needed(experiment: &str) -> String {
    let is = |known: &str| known == experiment;
    let repeat = format!("Repeat the runs with --repeat {SAMPLES_MIN} or more");
    let advice = match () {
        () if is(disk::EXPERIMENT.name) => "Repeat the runs with --duration 1s or more.".into(),
        () if is(join::EXPERIMENT.name) => format!("{repeat}."),
        // A case that takes long ends before it has all the samples that were asked for.
        () if is(lio::EXPERIMENT.name) => format!("{repeat}, and with a smaller --payload where a case takes long."),
        () if is(scan::EXPERIMENT.name) => format!("{repeat}, and with fewer --rows where a case takes long."),
        // Its costs, and the times of its queries, have options of their own.
        () if is(calibrate::EXPERIMENT.name) => format!(
            "Repeat the runs with --rounds {SAMPLES_MIN} (--cold-rounds {SAMPLES_MIN} where nothing is cached) and \
             --passes {SAMPLES_MIN} or more."
        ),
        () => format!(
            "No option of {experiment} gives more samples: repeat each run, and see whether the values of one lie \
             apart from those of the other."
        ),
    };
    let over_time = match [disk::EXPERIMENT.name, ladder::EXPERIMENT.name].contains(&experiment) {
        true => format!(", and one on reads over time needs {WINDOWS_MIN} windows of 100 ms or more"),
        false => String::new(),
    };
    format!("Too few: a verdict needs {SAMPLES_MIN} samples on each side{over_time}. {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::EXPERIMENTS;

    #[test]
    fn a_verdict_that_lacks_samples_says_how_many_and_names_no_option_that_the_experiment_lacks() {
        assert!(needed("disk").ends_with("ms or more. Repeat the runs with --duration 1s or more."));
        assert!(needed("lio").contains("needs 5 samples on each side") && needed("lio").contains("--repeat 5 or more"));
        let with_repeat = EXPERIMENTS.iter().map(|experiment| experiment.name);
        let with_repeat: Vec<&str> = with_repeat.filter(|name| needed(name).contains("--repeat")).collect();
        assert_eq!(with_repeat, ["lio", "scan", "join"]);
        let of_constants = needed("calibrate");
        assert!(of_constants.contains("--rounds 5 (--cold-rounds 5 where") && of_constants.contains("--passes 5 or"));
        assert!(!of_constants.contains("No option"), "{of_constants}");
        for (experiment, has_windows) in [("disk", true), ("ladder", true), ("lio", false), ("calibrate", false)] {
            assert_eq!(needed(experiment).contains("8 windows"), has_windows, "{experiment}");
        }
        assert!(needed("ladder").contains("No option of ladder gives more samples"));
    }
}
