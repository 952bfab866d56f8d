//! The findings of contests, read on both sides of their conditions.

use measure::quantity::{counted, three_digits};
use measure::schema::contest;
use measure::schema::contest::findings as row;
use measure::{Finding, Statistics, Unit};
use sides::proptest::collection::vec;
use sides::proptest::option;
use sides::proptest::prelude::{Just, any};
use sides::{Reading, both_sides, reading, says};
use storage::column::Forecast;

use crate::bars::{Bar, Judged, Wanted};
use crate::calibrate::command as calibrate;
use crate::calibrate::plans::Timed;
use crate::conductor::{Conductor, trial};
use crate::postgres::{pool, pool_speed as speed};
use crate::profile::{command as profile, cpu_profile};
use crate::sampling::command as sampling;
use crate::sampling::profiler::Seen;
use crate::scan::columns;

fn bar(name: &str, measured: Result<f64, String>) -> Bar {
    let judged = Judged { wanted: Wanted::AtLeast(0.97), word: "slower", unit: Unit::Ratio };
    Bar::new(name, judged, measured.map(Statistics::single))
}

/// What a contest of some bars finds, each with what was reached where it was measured.
fn judged(figures: &[Option<f64>]) -> Vec<Finding> {
    let mut conductor = Conductor::begin("fio", 5, "reads".into()).unwrap();
    let names = ["one", "two", "three"].into_iter();
    conductor.judge(names.zip(figures).map(|(name, figure)| bar(name, figure.ok_or("there is no fio".into()))));
    conductor.finish().findings
}

/// Bars that are met at 0.97, missed or without a figure.
fn bars() -> Vec<Reading> {
    let figures = || vec(option::weighted(0.8, 0.9..1.0), 0..4);
    let missed = reading(
        row::BAR_MISSED,
        figures(),
        |figures| judged(figures),
        |figures| {
            let missed = |(name, figure): (&str, &Option<f64>)| {
                let figure = figure.filter(|figure| *figure < 0.97)?;
                let by = three_digits(0.97 - figure);
                Some(format!("{name}: {}, wanted at least 0.970: slower by {by} (", three_digits(figure)))
            };
            let missed: Vec<String> = ["one", "two", "three"].into_iter().zip(figures).filter_map(missed).collect();
            (!missed.is_empty()).then_some(missed)
        },
    );
    let without = reading(
        row::BAR_NOT_JUDGED,
        figures(),
        |figures| judged(figures),
        |figures| figures.contains(&None).then(|| says![": not judged, there is no fio."]),
    );
    let all = reading(
        row::ANSWER_BARS,
        figures(),
        |figures| judged(figures),
        |figures| {
            let met = figures.iter().filter(|figure| figure.is_some_and(|figure| figure >= 0.97)).count();
            let counts = format!("({met} of {} met).", figures.len());
            (!figures.is_empty()).then(|| says!["The bars: ", if met == figures.len() { "met" } else { "" }, counts])
        },
    );
    vec![missed, without, all]
}

/// A contest that is begun or not, its contenders, and what is noted beside its figures.
fn begun() -> Vec<Reading> {
    let begin = |what: &Option<&'static str>| {
        let begun = what.map(|what| Conductor::begin("fio", 5, what.into()).unwrap().finish());
        begun.map_or(Vec::new(), |run| run.findings)
    };
    let compared =
        reading(row::COMPARED, option::of(Just("Reads against fio.")), begin, |what| what.map(|what| says![what]));
    let present = |is_there: &bool| {
        let mut conductor = Conductor::begin("fio", 5, "Reads.".into()).unwrap();
        let contender = if *is_there { Ok(1) } else { Err("it was left out".to_string()) };
        assert_eq!(conductor.present("PostgreSQL", &contender).is_some(), *is_there);
        conductor.finish().findings
    };
    let present = reading(row::CONTENDER_ABSENT, any::<bool>(), present, |is_there| {
        (!is_there).then(|| says!["PostgreSQL was absent: it was left out."])
    });
    let trial = reading(
        row::TRIAL,
        1..9_u64,
        |pairs| trial(*pairs),
        |pairs| (*pairs < 5).then(|| says!["Fewer than 5 pairs: a trial, not a result."]),
    );
    vec![compared, present, trial]
}

/// Which note, and a count that it is about, where it has one.
fn note((which, count): &(usize, Option<u64>)) -> Option<Finding> {
    let bytes = count.map(|count| count << 20);
    let rate = speed::Loading { rate: 1500.0, reads: count.unwrap_or(0), besides: bytes.map(|bytes| bytes as f64) };
    let (id, sentence) = match which {
        0 => ("cpu-profile", cpu_profile::note(count.map(|_| "12.00% scan".into()).ok_or("perf saw nothing".into()))),
        1 => ("huge-pages", pool::huge_pages(64, bytes, Some(0))),
        2 => ("loading", rate.to_string()),
        3 => ("forecast", columns::forecast(count.map(|count| Forecast { table_bytes: count, building_bytes: 7 }))?),
        4 => ("memory", columns::memory(count.unwrap_or(0), 9)),
        5 => (
            "advised",
            calibrate::advised_by(
                "customers",
                1,
                &count.map(|_| vec![("random_page_cost".into(), 2.0)]).unwrap_or_default(),
                &count.map(|count| format!("query {count}")).into_iter().collect::<Vec<_>>(),
            ),
        ),
        6 => {
            let set = count.map(|count| vec![("random_page_cost".into(), count as f64)]).unwrap_or_default();
            ("measured", calibrate::all_measured("customers", &set))
        }
        8 => {
            let seen = Seen { rate: None, shown: format!("{} % WALWrite.", count.unwrap_or(0)) };
            ("seen", sampling::shown("pgcenter record, every second", 50, &seen))
        }
        9 => {
            let sets: Vec<_> =
                (0..count.unwrap_or(0)).map(|run| vec![("random_page_cost".into(), 1.0 + run as f64)]).collect();
            ("measured-again", calibrate::measured_again("customers", &sets))
        }
        10 => {
            let sets: Vec<_> =
                (1..=count.unwrap_or(0)).map(|run| vec![("random_page_cost".into(), run as f64)]).collect();
            let set = sets.last().cloned().unwrap_or_default();
            ("advised-without-queries", calibrate::advised_by("customers, without its queries,", 0, &set, &[]))
        }
        11 => ("turns", calibrate::turns_differ("customers", &timed_in_turns(count.unwrap_or(0)))),
        7 => (
            "of-limit",
            profile::of_limit(&count.map(|count| Statistics::single(count as f64)).ok_or("no pair".into())),
        ),
        _ => ("plans", calibrate::plans_timed("customers", count.unwrap_or(0))),
    };
    let mut conductor = Conductor::begin("fio", 5, "Reads.".into()).unwrap();
    conductor.note(id, sentence);
    conductor.finish().findings.pop()
}

/// A short plan and a long one in this number of turns, each of which takes its own number of times as long.
fn timed_in_turns(turns: u64) -> Vec<Timed> {
    let plan = |millis: f64| (1..=turns).map(|turn| millis * turn as f64).collect();
    let turns = vec![plan(10.0), plan(4000.0)];
    vec![Timed { by: Vec::new(), by_grid: Vec::new(), best: 10.0, plans: 2, turns }]
}

fn notes() -> Reading {
    reading(row::NOTE, (0..13_usize, option::of(0..3_u64)), note, |(which, count)| {
        let some = count.unwrap_or(0);
        let or = |there: String, other: &str| if count.is_some() { there } else { other.into() };
        Some(match which {
            0 => says!["on one core, by function: ", or("12.00% scan.".into(), "not seen: perf saw nothing.")],
            1 => {
                says![or(format!("hold {some} MiB of the pool of 64 MiB and 0 MiB of"), "an unknown part of the pool")]
            }
            2 => says!["Loaded at 1500 MB/s by ", counted(some, "read", "reads"), or("besides the pool".into(), ".")],
            3 => says![format!("to take {}, and", counted(count.as_ref().copied()?, "byte", "bytes"))],
            4 => says![format!("The columns take {}, and took 9 bytes", counted(some, "byte", "bytes"))],
            5 if count.is_some() => {
                says![
                    "On customers run 2 advises ",
                    "SET random_page_cost = 2.0",
                    format!(", but not for: query {some}.")
                ]
            }
            5 => says!["On customers run 2 advises the server's own."],
            6 => says!["On customers ", or("SET random_page_cost = ".into(), "no constants repeated themselves")],
            7 => says![or(
                format!("One core reads the trace at {some}"),
                "One core was not compared with `wc -l`: no pair."
            )],
            8 => says![format!("pgcenter record, every second, showed with 50 sessions: {some} % WALWrite.")],
            9 if some == 2 => says!["divided by the smallest, over all runs: random_page_cost 2.00."],
            9 => says!["On customers no constant was measured in each of several runs."],
            10 if some > 0 => says!["On customers, without its queries, run 1 advises ", "SET random_page_cost = "],
            10 => says!["On customers, without its queries, run 1 advises the server's own."],
            11 if some == 2 => says!["as a median: 2.00 for 1 plan of at most 1 s, 2.00 for 1 plan of more."],
            11 => says!["customers: no plan was timed in several turns."],
            _ if some == 1 => says!["customers: 1 plan was timed."],
            _ => says![format!("customers: {some} plans were timed.")],
        })
    })
}

#[test]
fn what_a_contest_says_follows_from_its_figures() {
    both_sides(&contest::findings::ALL, bars().into_iter().chain(begun()).chain([notes()]));
}
