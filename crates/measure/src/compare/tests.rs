//! What a comparison must and must not say, over many seeded draws.

use super::*;
use crate::random::SplitMix64;
use crate::run::SCHEMA;
use crate::schema::conditions::CORE_ADDITIONS;
use crate::schema::conditions::findings::{CORE_SHARED, CPU_THROTTLED, STOLEN_TIME};
use crate::schema::ladder::findings::JUST_WRITTEN;
use crate::schema::reads::findings::RATE_CHANGED;
use crate::schema::{Spec, calibrate, ladder, reads};
use crate::statistics::Statistics;
use crate::timeline::Timeline;
use proptest::prelude::*;
use serde_json::json;

const TRIALS: u64 = 200;

fn run_of(cases: Vec<Case>) -> Run {
    Run { schema: SCHEMA.into(), id: "a".into(), experiment: "disk".into(), cases, ..Run::default() }
}

fn case_of(parameters: &[(&str, serde_json::Value)], metrics: Vec<Metric>) -> Case {
    let parameters = parameters.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    Case { parameters, metrics, timeline: None }
}

fn sampled(samples: &[f64]) -> Case {
    case_of(&[], vec![reads::READ_LATENCY.of_samples("clock", samples).unwrap()])
}

/// Skewed to the right as latencies are: 100 plus an exponential of mean 20, everything times `scale`.
fn latencies(count: usize, scale: f64, random: &mut SplitMix64) -> Vec<f64> {
    (0..count).map(|_| scale * (100.0 - 20.0 * uniform(random).ln())).collect()
}

fn uniform(random: &mut SplitMix64) -> f64 {
    ((random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
}

fn with_histogram(samples: &[f64]) -> Case {
    let mut sorted: Vec<f64> = samples.iter().map(|sample| sample.ceil()).collect();
    sorted.sort_by(f64::total_cmp);
    let mut case = sampled(samples);
    let metric = &mut case.metrics[0];
    metric.samples.clear();
    metric.histogram = sorted.chunk_by(|a, b| a == b).map(|equal| (equal[0], equal.len() as u64)).collect();
    case
}

/// Thirty windows whose own levels wander by 10 %, far more than the reads within one: the case in which resampling
/// reads would be wrong.
fn with_windows(scale: f64, random: &mut SplitMix64) -> Case {
    let median_us: Vec<f64> = (0..30).map(|_| scale * (90.0 + 20.0 * uniform(random))).collect();
    let mut case = sampled(&median_us);
    case.metrics[0].samples.clear();
    case.metrics[0].histogram = vec![(100.0, 1)];
    let reads = median_us.iter().map(|_| 500 + random.below(1000)).collect();
    case.timeline = Some(Timeline { window_ms: 100.0, reads, max_us: median_us.clone(), median_us });
    case
}

fn verdict_of(before: Case, after: Case) -> Verdict {
    compare(&run_of(vec![before]), &run_of(vec![after])).cases[0].metrics[0].verdict
}

/// How many of the trials find a difference between two draws of `make`, the second scaled.
fn differing(scale: f64, make: impl Fn(f64, &mut SplitMix64) -> Case) -> u64 {
    let mut random = SplitMix64::new(7);
    (0..TRIALS).filter(|_| verdict_of(make(1.0, &mut random), make(scale, &mut random)) == Verdict::Differs).count()
        as u64
}

#[test]
fn draws_from_one_distribution_seldom_differ() {
    let few = differing(1.0, |scale, random| sampled(&latencies(7, scale, random)));
    let odd = differing(1.0, |scale, random| sampled(&latencies(31, scale, random)));
    let even = differing(1.0, |scale, random| sampled(&latencies(200, scale, random)));
    let histograms = differing(1.0, |scale, random| with_histogram(&latencies(3000, scale, random)));
    let windows = differing(1.0, with_windows);
    // A clock that ticks every 10 us: most samples are equal, and the median jumps by whole ticks.
    let ticks = |sample: f64| (sample / 10.0).round() * 10.0;
    let coarse = differing(1.0, |scale, random| {
        sampled(&latencies(200, scale, random).into_iter().map(ticks).collect::<Vec<_>>())
    });
    let counts = [few, odd, even, histograms, windows, coarse];
    println!("of {TRIALS} trials each, found to differ: {counts:?}");
    assert!(counts.iter().all(|count| *count <= TRIALS * 12 / 100), "{counts:?}");
    assert!(counts.iter().sum::<u64>() > 0, "an interval that never errs is too wide to find anything");
}

#[test]
fn rates_of_a_few_windows_differ_by_chance_no_more_often_than_the_interval_says() {
    let windows = |scale: f64, random: &mut SplitMix64| {
        let rates: Vec<f64> = (0..5).map(|_| scale * (90.0 + 20.0 * uniform(random))).collect();
        case_of(&[], vec![reads::IOPS.of_samples("windows", &rates).unwrap()])
    };
    let by_chance = differing(1.0, windows);
    assert!((1..=TRIALS * 6 / 100).contains(&by_chance), "{by_chance} of {TRIALS}");
    assert_eq!(differing(1.2, windows), TRIALS);
}

#[test]
fn a_shift_of_a_fifth_is_always_found() {
    assert_eq!(differing(1.2, |scale, random| sampled(&latencies(60, scale, random))), TRIALS);
    assert_eq!(differing(0.8, |scale, random| with_histogram(&latencies(500, scale, random))), TRIALS);
    assert_eq!(differing(1.2, with_windows), TRIALS);
}

#[test]
fn one_slow_pass_among_equal_ones_takes_neither_the_interval_nor_the_verdict_away() {
    let (few, many) = (sampled(&[100.0, 100.0, 100.0, 100.0, 1000.0]), sampled(&[5000.0; 5]));
    let (low, _) = estimate(&few, &few.metrics[0], 0).interval.unwrap();
    assert_eq!(low, 100.0, "no sample is below it");
    assert_eq!(verdict_of(few, many), Verdict::Differs);
}

#[test]
fn a_comparison_is_the_same_every_time() {
    let mut random = SplitMix64::new(3);
    let (left, right) = (run_of(vec![with_windows(1.0, &mut random)]), run_of(vec![with_windows(1.0, &mut random)]));
    assert_eq!(compare(&left, &right), compare(&left, &right));
}

#[test]
fn single_values_and_few_samples_get_no_verdict() {
    let single = |value| case_of(&[], vec![reads::IOPS.single("count", value)]);
    assert_eq!(verdict_of(single(1.0), single(2.0)), Verdict::OneSampleEach);
    assert_eq!(verdict_of(single(0.0), single(2.0)), Verdict::NoRatio);
    assert_eq!(verdict_of(sampled(&[1.0, 2.0, 3.0]), sampled(&[7.0, 8.0, 9.0])), Verdict::TooFewSamples);
}

#[test]
fn more_samples_than_a_document_carries_are_not_said_to_be_too_few() {
    let of = |scale: f64| sampled(&latencies(2000, scale, &mut SplitMix64::new(11)));
    assert_eq!(verdict_of(of(1.0), of(1.5)), Verdict::Differs);
    assert_ne!(verdict_of(of(1.0), of(1.0)), Verdict::TooFewSamples);
    let case = of(1.0);
    let estimate = estimate(&case, &case.metrics[0], 0);
    let (low, high) = estimate.interval.unwrap();
    // The median is 100 plus 20 times the logarithm of 2.
    assert!(low > 112.0 && high < 116.0, "{low} to {high}");
    let rates = |scale: f64, random: &mut SplitMix64| {
        case_of(&[], vec![reads::IOPS.of_samples("windows", &latencies(2000, scale, random)).unwrap()])
    };
    let by_chance = differing(1.0, rates);
    assert!((1..=TRIALS * 10 / 100).contains(&by_chance), "{by_chance} of {TRIALS}");
    assert_eq!(differing(1.05, rates), TRIALS);
}

#[test]
fn reads_without_windows_are_not_taken_as_independent() {
    let of = |spec: &Spec, scale: f64| {
        let mut case = with_windows(scale, &mut SplitMix64::new(5));
        let mut metric = spec.of_samples("clock", &[scale * 100.0; 9]).unwrap();
        metric.samples.clear();
        metric.histogram = vec![(scale * 90.0, 4000), (scale * 100.0, 9000), (scale * 110.0, 4000)];
        case.metrics = vec![metric];
        case
    };
    for spec in [reads::SERVICE_TIME, reads::SUBMISSION_LATENESS] {
        assert_eq!(verdict_of(of(&spec, 1.0), of(&spec, 1.05)), Verdict::TooFewSamples, "{}", spec.name);
        let case = of(&spec, 1.0);
        assert_eq!(estimate(&case, &case.metrics[0], 0).interval, None, "{}", spec.name);
    }
    assert_eq!(verdict_of(of(&reads::READ_LATENCY, 1.0), of(&reads::READ_LATENCY, 1.5)), Verdict::Differs);
}

#[test]
fn a_figure_of_another_build_is_not_taken_for_a_change_of_the_machine() {
    let built = |commit: &str| Run { build: Some(Build::new("0.1.0", commit, "release")), ..run_of(Vec::new()) };
    let changes = |before, after| compare(&before, &after).changes;
    let text = |commit| Some(json!(format!("0.1.0 (commit {commit}, release)")));
    assert_eq!(
        changes(built("aa"), built("bb")),
        [Change { parameter: "build".into(), before: text("aa"), after: text("bb") }]
    );
    assert!(changes(built("aa"), built("aa")).is_empty());
    assert!(changes(built("aa"), run_of(Vec::new())).is_empty(), "an earlier run does not name its build");
}

#[test]
fn what_stands_on_one_side_only_is_listed() {
    let metric = |name| Spec::new(name, Unit::Count, "").single("count", 1.0);
    let before = run_of(vec![
        case_of(&[("depth", json!(1))], vec![metric("reads"), metric("misses")]),
        case_of(&[("depth", json!(2))], vec![]),
    ]);
    let after = run_of(vec![
        case_of(&[("depth", json!(4))], vec![]),
        case_of(&[("depth", json!(1))], vec![metric("reads"), metric("hits")]),
    ]);
    let comparison = compare(&before, &after);
    let names = |side: &[Unmatched]| {
        side.iter().map(|one| (one.parameters["depth"].clone(), one.metric.clone())).collect::<Vec<_>>()
    };
    assert_eq!(names(&comparison.only_before), [(json!(2), None), (json!(1), Some("misses".into()))]);
    assert_eq!(names(&comparison.only_after), [(json!(4), None), (json!(1), Some("hits".into()))]);
}

#[test]
fn runs_on_two_devices_are_compared_zone_by_zone() {
    let run = |path: &str| {
        let zone = |zone| {
            let metric = reads::IOPS.single("count", 1.0);
            case_of(&[("path", json!(path)), ("zone", json!(zone))], vec![metric])
        };
        run_of(vec![zone("outer"), zone("inner")])
    };
    let comparison = compare(&run("/dev/a"), &run("/dev/b"));
    assert_eq!(comparison.cases.len(), 2);
    assert_eq!(comparison.changes.len(), 1);
    assert_eq!(comparison.changes[0].after, Some(json!("/dev/b")));
    assert!(compare(&run("/dev/a"), &run("/dev/a")).changes.is_empty());
}

#[test]
fn a_server_that_was_updated_between_the_runs_is_compared_with_its_former_minor_version() {
    let run = |subjects: &[&str]| {
        let case = |subject: &&str| case_of(&[("subject", json!(subject))], vec![reads::IOPS.single("count", 1.0)]);
        run_of(subjects.iter().map(case).collect())
    };
    let of = |before: &[&str], after: &[&str]| {
        let comparison = compare(&run(before), &run(after));
        let text = |value: Option<serde_json::Value>| value.unwrap().as_str().unwrap().to_string();
        let cases = comparison.cases.into_iter().map(|case| {
            let change = |change: Change| format!("{}, {}", text(change.before), text(change.after));
            case.outcomes.into_iter().map(change).collect::<String>()
        });
        cases.collect::<Vec<_>>()
    };
    let updated = ["", "postgres 18.5, postgres 18.6"];
    assert_eq!(of(&["engine", "postgres 18.5"], &["engine", "postgres 18.6"]), updated);
    assert_eq!(of(&["engine", "postgres 17.4", "postgres 18.5"], &["engine", "postgres 18.6"]), updated);
    let two = ["engine", "sqlite 3.50.1?page_size=8192", "sqlite 3.50.1"];
    let later = ["engine", "sqlite 3.51.0?page_size=8192", "sqlite 3.51.0"];
    assert_eq!(of(&two, &later).len(), 3);
    assert_eq!(of(&["engine", "sqlite:my 3.db"], &["engine", "sqlite:my 3b.db"]), [""]);
    assert_eq!(of(&["engine", "sqlite 3.db"], &["engine", "sqlite 3b.db"]), [""], "files, not versions");
    let released = ["", "postgres 18beta1, postgres 18.0"];
    assert_eq!(of(&["engine", "postgres 18beta1"], &["engine", "postgres 18.0"]), released);
    assert_eq!(of(&["engine", "postgres 17.4"], &["engine", "postgres 18.6"]), [""]);
    assert_eq!(of(&["engine", "postgres 18.5"], &["engine", "postgres 18.6 (private)"]), [""]);
    assert_eq!(of(&["engine", "postgres 18.4"], &["engine", "postgres 18.5", "postgres 18.6"]), [""]);
    assert_eq!(of(&["postgres 18.4", "postgres 18.5"], &["postgres 18.5", "postgres 18.6"]), [""]);
    assert_eq!(of(&["engine", "postgres 18.6"], &["engine", "postgres 18.6"]), ["", ""]);
    assert_eq!(of(&["postgres 18.5"], &["postgres 18.6"]), [""], "the runs differ as wholes");
    assert_eq!(of(&["engine", "mariadb 11.4.2"], &["engine", "mariadb 11.8.1"]), [""], "two series of a server");
}

#[test]
fn a_zone_and_a_place_are_compared_although_blocks_of_another_size_move_them() {
    let case = |block: u64, offset: u64, (name, value): (&str, serde_json::Value)| {
        let parameters = [("block_size", json!(block)), ("offset", json!(offset)), (name, value)];
        case_of(&parameters, vec![reads::IOPS.single("count", 1.0)])
    };
    let zones = |block: u64, outer: u64, inner: u64| {
        let zone = |name: &str, offset: u64| case(block, offset, ("zone", json!(name)));
        run_of(vec![zone("outer", outer), zone("inner", inner), zone("both", outer)])
    };
    let first = zones(8192, 0, 1_000_000);
    let comparison = compare(&first, &zones(65_536, 0, 999_000));
    assert!(comparison.only_before.is_empty() && comparison.only_after.is_empty(), "{comparison:?}");
    let moved = Change { parameter: "offset".into(), before: Some(json!(1_000_000)), after: Some(json!(999_000)) };
    assert_eq!(comparison.cases[1].outcomes, [moved]);
    assert!(comparison.cases[0].outcomes.is_empty());
    let elsewhere = compare(&first, &zones(65_536, 1 << 20, 999_000));
    assert_eq!((elsewhere.cases.len(), elsewhere.only_before.len()), (1, 2), "--offset says where the outer zone lies");

    let sweep = |block: u64, last: u64| {
        let place = |position: f64, offset: u64| case(block, offset, ("position", json!(position)));
        run_of(vec![place(0.0, 0), place(1.0, last)])
    };
    let comparison = compare(&sweep(8192, 1_000_000), &sweep(65_536, 999_000));
    assert_eq!((comparison.cases.len(), comparison.only_before.len()), (2, 0));
}

#[test]
fn what_only_one_of_the_runs_found_of_a_case_is_an_outcome_whichever_it_is() {
    let run = |chosen_by: Option<&str>| {
        let mut case = case_of(&[("rows", json!(100))], vec![reads::IOPS.single("count", 1.0)]);
        case.parameters.extend(chosen_by.map(|constants| ("chosen_by".to_string(), json!(constants))));
        run_of(vec![case])
    };
    let found = |before: Option<&str>, after: Option<&str>| {
        let outcomes = compare(&run(before), &run(after)).cases.remove(0).outcomes;
        outcomes.into_iter().map(|change| (change.before, change.after)).collect::<Vec<_>>()
    };
    assert_eq!(found(None, Some("now")), [(None, Some(json!("now")))]);
    assert_eq!(found(Some("now"), None), [(Some(json!("now")), None)]);
    assert!(found(Some("now"), Some("now")).is_empty());
}

#[test]
fn a_verdict_or_a_plan_that_changed_between_two_calibrations_does_not_keep_a_query_from_its_pair() {
    let query = |name: &str, found: [&str; 2]| {
        let parameters = [("part", "query"), ("query", name), ("constants", "cold")];
        let found = ["plan_then", "verdict"].into_iter().zip(found);
        let all: Vec<_> = parameters.into_iter().chain(found).map(|(name, text)| (name, json!(text))).collect();
        case_of(&all, vec![reads::IOPS.single("count", 1.0)])
    };
    let remedy = |advice: &str| {
        let parameters = [("part", json!("remedy")), ("query", json!("orders")), ("advice", json!(advice))];
        case_of(&parameters, vec![reads::IOPS.single("count", 1.0)])
    };
    let before = run_of(vec![
        query("orders", ["Index Scan", "faster"]),
        query("customers", ["Index Scan", "faster"]),
        remedy("the row estimate of Seq Scan is off by a factor of 40: ANALYZE"),
    ]);
    let after = run_of(vec![
        query("customers", ["Index Scan", "faster"]),
        query("orders", ["Bitmap Heap Scan", "undecided"]),
        remedy("the row estimate of Seq Scan is off by a factor of 41: ANALYZE"),
    ]);
    let comparison = compare(&before, &after);
    assert!(comparison.only_before.is_empty() && comparison.only_after.is_empty(), "{comparison:?}");
    let found: Vec<Vec<String>> = comparison
        .cases
        .iter()
        .map(|case| case.outcomes.iter().map(|change| change.parameter.clone()).collect())
        .collect();
    assert_eq!(found, [vec!["plan_then", "verdict"], vec![], vec!["advice"]]);
    assert_eq!(comparison.cases[0].outcomes[1].after, Some(json!("undecided")));
}

#[test]
fn remedies_of_one_query_by_other_means_are_not_held_against_each_other() {
    let counts = |remedies: [&str; 2]| {
        let run = |advice: &str| {
            let remedy = [("part", json!("remedy")), ("query", json!("orders")), ("advice", json!(advice))];
            let cases = [&remedy[..], &[("part", json!("state"))]];
            run_of(cases.map(|parameters| case_of(parameters, vec![reads::IOPS.single("count", 1.0)])).into())
        };
        let [before, after] = remedies.map(run);
        let comparison = compare(&before, &after);
        [comparison.cases.len(), comparison.only_before.len(), comparison.only_after.len()]
    };
    let scattered = |blocks: &str| format!("the rows of Seq Scan lie scattered, {blocks} blocks a row: CLUSTER");
    assert_eq!(counts([&scattered("0.95"), &scattered("0.93")]), [2, 0, 0]);
    let off = "the row estimate of Seq Scan is off by a factor of 40: ANALYZE";
    assert_eq!(counts([&scattered("0.95"), off]), [1, 1, 1]);
}

#[test]
fn sets_that_have_only_the_rank_in_common_are_not_held_against_each_other_and_those_with_the_same_constants_are() {
    let run = |sets: &[(&str, f64)], with_sets: bool| {
        let of_set = |(name, cost): &(&str, f64)| {
            let of_part = |part: &str, metric: Metric| {
                let parameters = [("part", json!(part)), ("state", json!("cached")), ("constants", json!(name))];
                case_of(&parameters, vec![metric])
            };
            let set = of_part("set", calibrate::SETTING.of("random_page_cost").single("t", *cost));
            let query = of_part("query", calibrate::TIME_THEN.single("t", *cost));
            with_sets.then_some(set).into_iter().chain([query])
        };
        run_of(sets.iter().flat_map(of_set).collect())
    };
    let (first, second) = ([("tried-1", 0.5), ("tried-2", 2.0)], [("tried-1", 3.0), ("tried-2", 0.5)]);
    let comparison = compare(&run(&first, true), &run(&second, true));
    let counts = |one: &Comparison| [one.cases.len(), one.only_before.len(), one.only_after.len()];
    assert_eq!(counts(&comparison), [2, 2, 2], "{comparison:?}");
    let rank = Change { parameter: "constants".into(), before: Some(json!("tried-1")), after: Some(json!("tried-2")) };
    for case in &comparison.cases {
        assert_eq!(case.outcomes, std::slice::from_ref(&rank));
        assert_eq!(case.metrics[0].ratio, Some(1.0));
    }
    let unknown = run(&first[..1], false);
    assert_eq!(counts(&compare(&unknown, &unknown)), [0, 1, 1], "the constants are not in the runs");
}

#[test]
fn the_set_between_the_states_is_one_set_also_where_one_run_calls_it_safe() {
    let run = |name: &str| {
        let of_part = |part: &str| {
            let parameters = [("part", json!(part)), ("state", json!("cached")), ("constants", json!(name))];
            case_of(&parameters, vec![calibrate::RATIO.single("t", 0.5)])
        };
        run_of([of_part("set"), of_part("query")].into())
    };
    let comparison = compare(&run("between"), &run("safe"));
    assert!(comparison.only_before.is_empty() && comparison.only_after.is_empty(), "{comparison:?}");
    assert!(comparison.changes.is_empty(), "its cases are paired and not set aside: {comparison:?}");
    let named = Change { parameter: "constants".into(), before: Some(json!("between")), after: Some(json!("safe")) };
    let outcomes: Vec<&[Change]> = comparison.cases.iter().map(|case| case.outcomes.as_slice()).collect();
    assert_eq!(outcomes, [std::slice::from_ref(&named); 2]);
    assert!(compare(&run("safe"), &run("safe")).cases.iter().all(|case| case.outcomes.is_empty()));
}

#[test]
fn the_time_of_a_plan_that_was_ended_is_not_held_against_one_that_was_measured() {
    let run = |verdict: &str, ended: Option<&str>| {
        let mut query = case_of(&[("query", json!("orders")), ("verdict", json!(verdict))], Vec::new());
        query.parameters.extend(ended.map(|plans| ("ended".to_string(), json!(plans))));
        query.metrics.push(reads::IOPS.single("count", 1.0));
        run_of(vec![query, case_of(&[("query", json!("another"))], Vec::new())])
    };
    let pairs = |before: &Run, after: &Run| compare(before, after).cases.len() - 1;
    let (measured, ended) = (run("faster", None), run("faster, ended after 10.0 s", Some("then")));
    assert_eq!(pairs(&measured, &ended), 0);
    assert_eq!(pairs(&run("faster", None), &run("undecided", None)), 1);
    assert_eq!(pairs(&ended, &run("undecided, ended after 9.80 s in 1 of 3 turns", Some("then"))), 1);
    assert_eq!(pairs(&ended, &run("faster, both plans ended after 10.0 s", Some("both"))), 0);
    let older = run("faster, ended after 10.0 s", None);
    assert_eq!(pairs(&measured, &older), 0, "only its words say it");
}

fn hostile_number() -> impl Strategy<Value = f64> {
    prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(0.0), Just(-1.0), Just(1e308), Just(5e-324), 0.1f64..1e6]
}

prop_compose! {
    fn hostile_case()(
        median in hostile_number(),
        n in 0u64..20,
        samples in prop::collection::vec(hostile_number(), 0..12),
        histogram in prop::collection::vec((hostile_number(), prop_oneof![Just(0), Just(u64::MAX), 0u64..99]), 0..12),
        windows in prop::collection::vec((hostile_number(), 0u64..9), 0..12),
    ) -> Case {
        let statistics = Statistics { n, median, ..Statistics::single(median) };
        let mut metric = reads::READ_LATENCY.of_statistics("clock", statistics);
        (metric.samples, metric.histogram) = (samples, histogram);
        let median_us: Vec<f64> = windows.iter().map(|window| window.0).collect();
        let reads = windows.iter().map(|window| window.1).collect();
        let timeline = Some(Timeline { window_ms: 100.0, reads, max_us: Vec::new(), median_us });
        Case { metrics: vec![metric], timeline, ..Case::default() }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn hostile_documents_never_panic(before in hostile_case(), after in hostile_case()) {
        let comparison = compare(&run_of(vec![before]), &run_of(vec![after]));
        if let Some((low, high)) = comparison.cases[0].metrics[0].interval {
            prop_assert!(low <= high && low > 0.0 && high.is_finite());
        }
    }
}

#[test]
fn best_depths_are_compared_although_each_run_found_another() {
    let of = |depth: u64, latency: f64| {
        let rung = |name: &str, depth: u64| {
            let parameters = [("rung", json!(name)), ("depth", json!(depth))];
            case_of(&parameters, vec![reads::READ_LATENCY.single("clock", latency)])
        };
        run_of(vec![rung("l1", 1), rung("device-random-best-depth", depth)])
    };
    let comparison = compare(&of(64, 10.0), &of(256, 20.0));
    assert!(comparison.only_before.is_empty() && comparison.only_after.is_empty());
    let best = &comparison.cases[1];
    assert_eq!(best.metrics[0].ratio, Some(2.0));
    let found = [Change { parameter: "depth".into(), before: Some(json!(64)), after: Some(json!(256)) }];
    assert_eq!(best.outcomes, found);
    assert!(comparison.cases[0].outcomes.is_empty());
}

#[test]
fn two_disks_are_compared_at_the_depth_at_which_each_is_best() {
    let of = |rates: &[(u64, f64)]| {
        let case = |(depth, rate): &(u64, f64)| {
            let rates: Vec<f64> = (0..20).map(|window| rate * (1.0 + f64::from(window % 5) / 100.0)).collect();
            let parameters = [("pattern", json!("random")), ("depth", json!(depth))];
            case_of(&parameters, vec![reads::IOPS.of_samples("windows", &rates).unwrap()])
        };
        run_of(rates.iter().map(case).collect())
    };
    let (slow, fast) = (of(&[(1, 80.0), (8, 200.0), (64, 190.0)]), of(&[(1, 9_000.0), (64, 90_000.0)]));
    let best = compare(&slow, &fast).best_depth.unwrap();
    let found = [Change { parameter: "depth".into(), before: Some(json!(8)), after: Some(json!(64)) }];
    assert_eq!((best.parameters["depth"].clone(), best.outcomes), (json!(8), found.to_vec()));
    assert!((best.metrics[0].ratio.unwrap() - 450.0).abs() < 1e-9);
    assert_eq!(best.metrics[0].verdict, Verdict::Differs);
    assert_eq!(compare(&of(&[(8, 1.0)]), &of(&[(64, 2.0)])).best_depth, None, "no depth is the best of one");
    let mut disturbed = of(&[(1, 1.0), (8, 2.0)]);
    for row in [STOLEN_TIME, CPU_THROTTLED] {
        disturbed.findings = vec![row.of("Taken.")];
        let best = compare(&disturbed, &of(&[(1, 3.0), (8, 9.0)])).best_depth.unwrap();
        assert_eq!(best.metrics[0].verdict, Verdict::Disturbed, "{}", row.id);
    }
}

#[test]
fn a_rate_is_compared_by_the_mean_that_the_page_of_its_run_shows() {
    let of = |rates: &[f64]| run_of(vec![case_of(&[], vec![reads::IOPS.of_samples("windows", rates).unwrap()])]);
    let comparison = compare(&of(&[80.0, 80.0, 80.0, 80.0, 0.0, 64.0]), &of(&[128.0; 6]));
    let iops = &comparison.cases[0].metrics[0];
    assert_eq!((iops.before, iops.after, iops.ratio), (64.0, 128.0, Some(2.0)));
    let (low, high) = iops.interval.unwrap();
    assert!(low < 2.0 && high > 2.0, "{low} to {high}");
}

#[test]
fn what_a_run_warned_of_and_what_it_read_go_into_the_comparison() {
    let mut before = run_of(vec![sampled(&[1.0; 6])]);
    before.findings = vec![CORE_SHARED.of("Too high."), JUST_WRITTEN.of("New.")];
    before.subject.insert("folder".into(), json!("/mnt/fast"));
    let comparison = compare(&before, &run_of(vec![sampled(&[1.0; 6])]));
    assert_eq!(comparison.warnings, (vec![CORE_SHARED.of("Too high.")], Vec::new()));
    assert_eq!(comparison.subjects.0["folder"], "/mnt/fast");
}

#[test]
fn a_difference_that_another_thread_may_have_made_is_not_called_one() {
    let shared = CORE_SHARED.of("Too high.").with("best", 4.0, Unit::Count);
    let run = |scale: f64, additions: &[f64], findings: Vec<Finding>| {
        let case = |(rung, additions): (usize, &f64)| {
            let samples: Vec<f64> = (0..40).map(|sample| scale * (100.0 + f64::from(sample * 7 % 40) / 10.0)).collect();
            let latency = ladder::LATENCY.of_samples("clock", &samples).unwrap();
            let additions = CORE_ADDITIONS.of_samples("chains", &[*additions, 4.0]).unwrap();
            case_of(&[("rung", json!(rung))], vec![latency, additions])
        };
        Run { findings, ..run_of(additions.iter().enumerate().map(case).collect()) }
    };
    let of = |before: &Run, after: &Run| -> Vec<(Verdict, Vec<String>)> {
        let cases = compare(before, after).cases.into_iter();
        cases.map(|case| (case.metrics[0].verdict, case.disturbances)).collect()
    };
    let (quiet, disturbed) = (run(1.0, &[4.0, 4.0], vec![]), run(2.0, &[2.0, 3.9], vec![shared.clone()]));
    let id = vec!["core-shared".to_string()];
    let expected = [(Verdict::Disturbed, id), (Verdict::Differs, vec![])];
    assert_eq!(of(&quiet, &disturbed), expected, "the second case had the core for itself");
    assert_eq!(of(&disturbed, &quiet), expected);
    let same = run(1.0, &[2.0, 2.0], vec![shared]);
    assert_eq!(of(&quiet, &same)[0].0, Verdict::Disturbed, "what is at work can hide a difference");
    assert_eq!(of(&quiet, &run(2.0, &[2.0, 2.0], vec![]))[0].0, Verdict::Differs, "no finding says so");
}

#[test]
fn a_reading_that_changed_disturbs_its_own_segments_and_no_other_case() {
    let case = |parameters: &[(&str, serde_json::Value)]| case_of(parameters, vec![reads::IOPS.single("count", 1.0)]);
    let segments = ["before-change", "after-change"].map(|name| case(&[("segment", json!(name))]));
    let mut run = run_of(segments.into_iter().chain([case(&[])]).collect());
    run.findings = vec![RATE_CHANGED.of("It fell."), RATE_CHANGED.of("It rose."), JUST_WRITTEN.of("New.")];
    let of = |run: &Run, at: usize| disturbances(run, &run.cases[at]).len();
    assert_eq!([0, 1, 2].map(|at| of(&run, at)), [1, 1, 0]);
    run.cases.drain(..2);
    assert_eq!(of(&run, 0), 1, "without segments the finding is of every reading");
    run.cases.push(case_of(&[("rung", json!("l1"))], vec![ladder::LATENCY.single("clock", 1.0)]));
    assert_eq!(of(&run, 1), 0, "a load reads no device");
}

#[test]
fn the_interval_of_a_value_holds_the_value_that_a_page_shows_and_most_of_what_others_would_find() {
    let mut random = SplitMix64::new(11);
    let truth = 100.0 + 20.0 * 2_f64.ln();
    let covers = |_: &u64| {
        let case = sampled(&latencies(60, 1.0, &mut random));
        let Estimate { value, interval } = estimate(&case, &case.metrics[0], 0);
        let (low, high) = interval.unwrap();
        assert!(low <= value && value <= high);
        low <= truth && truth <= high
    };
    let covered = (0..TRIALS).filter(covers).count() as u64;
    assert!(covered >= TRIALS * 88 / 100, "{covered} of {TRIALS}");
    let few = sampled(&[1.0, 2.0]);
    assert_eq!(estimate(&few, &few.metrics[0], 0), Estimate { value: 1.5, interval: None });
}
