//! What a verdict lacks where a side has too few samples, and which option of the experiment gives more of them.

use super::resample::{SAMPLES_MIN, WINDOWS_MIN};
use crate::schema::{calibrate, disk, join, ladder, lio, reads, scan};

/// How many samples a verdict needs, and what to do to have them, in sentences. A caller shows it where these metrics
/// have `Verdict::TooFewSamples`; `experiment` is the one that both runs are of.
pub fn needed<'a>(experiment: &str, metrics: impl IntoIterator<Item = &'a str>) -> String {
    let (of_workers, others): (Vec<&str>, Vec<&str>) =
        metrics.into_iter().partition(|metric| reads::WORKER_ELAPSED.name == *metric);
    let is_over_time = [disk::EXPERIMENT.name, ladder::EXPERIMENT.name].contains(&experiment);
    let over_time = match is_over_time && !others.is_empty() {
        true => format!(", and one on reads over time needs {WINDOWS_MIN} windows of 100 ms or more"),
        false => String::new(),
    };
    let by_option = (!others.is_empty()).then(|| advice(experiment));
    let by_none = of_workers.first().map(|metric| format!("{metric} has one for each worker, however long the run."));
    let all: Vec<String> = by_option.into_iter().chain(by_none).collect();
    format!("Too few: a verdict needs {SAMPLES_MIN} samples on each side{over_time}. {}", all.join(" "))
}

/// Which option of the experiment gives more samples.
fn advice(experiment: &str) -> String {
    let is = |known: &str| known == experiment;
    let repeat = format!("Repeat the runs with --repeat {SAMPLES_MIN} or more");
    match () {
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
    }
}

#[cfg(test)]
mod tests {
    use crate::schema::EXPERIMENTS;

    fn needed(experiment: &str) -> String {
        super::needed(experiment, ["read_latency"])
    }

    #[test]
    fn no_option_is_advised_for_what_has_one_sample_for_each_worker() {
        let of_workers = "worker_elapsed has one for each worker, however long the run.";
        let alone = super::needed("disk", ["worker_elapsed"]);
        assert_eq!(alone, format!("Too few: a verdict needs 5 samples on each side. {of_workers}"));
        let both = super::needed("disk", ["worker_elapsed", "read_latency", "worker_elapsed"]);
        assert_eq!(both, format!("{} {of_workers}", needed("disk")));
    }

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
