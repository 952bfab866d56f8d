//! The advice of two calibrations, with what the advised sets do to queries.

use std::collections::{HashMap, HashSet};

use measure::quantity::counted;
use measure::schema::calibrate::{self, parameters as plan};
use measure::{Case, Run, sorting};

use super::parts::{NOW, named, part, values};
use crate::body::{Bounds, whose_queries};
use crate::page::Section;
use crate::page::number::{ABSENT, three_digits};
use crate::page::parameters::cell;

/// What stands over the advice.
const HEADING: &str = "The advice (times, worst: how many times as long the changed queries take by the set, on \
                       average and at worst):";

/// The states of the caches in which the user's own queries were judged.
const OF_USER: [&str; 2] = ["as-found", "own-cold"];

/// The figures of a set, as the page of a calibration heads them.
const FIGURES: [&str; 2] = ["times", "worst"];

/// What one run advises in a state of the caches, and the figures of the set that this is about; empty where it has
/// none.
struct Advice {
    words: String,
    figures: [String; 2],
}

impl Advice {
    fn of(set: &Case, queries: &[&Case]) -> Advice {
        let bounds = Bounds::of(set, queries);
        let figure = |sign: &str, value: Option<f64>| {
            value.map_or(String::new(), |value| format!("{sign}{}", three_digits(value)))
        };
        let figures =
            [figure(bounds.ratio, calibrate::RATIO.median(set)), figure(bounds.worst, calibrate::WORST.median(set))];
        Advice { words: words(set), figures }
    }

    fn in_full(&self) -> String {
        format!("{}{}", self.words, figures([&self.figures, &self.figures]))
    }
}

/// The advice of both runs, one line a state of the caches; none where neither has any.
pub(super) fn section(runs: [&Run; 2]) -> Option<Section> {
    let sides = runs.map(advised);
    let states = sorting::each_once(sides.iter().flatten().map(|(state, _)| state.as_str()));
    let by_state = sides
        .each_ref()
        .map(|side| side.iter().map(|(state, advice)| (state.as_str(), advice)).collect::<HashMap<&str, &Advice>>());
    let item = |state: &&str| {
        let [first, second] = [0, 1].map(|at| by_state[at].get(*state).copied());
        format!("{}: {}", whose_queries(state), of_both(first, second))
    };
    Section::list(HEADING, states.iter().map(item).collect())
}

/// The advice of a run, each with its state of the caches, of which each stands there once.
fn advised(run: &Run) -> Vec<(String, Advice)> {
    let set_of = |case: &Case| [plan::STATE.name, plan::CONSTANTS.name].map(|name| cell(case, name));
    let mut queries: HashMap<[String; 2], Vec<&Case>> = HashMap::new();
    for query in part(run, "query") {
        queries.entry(set_of(query)).or_default().push(query);
    }
    let mut seen: HashSet<String> = HashSet::new();
    let sets = part(run, "set").filter(|set| !cell(set, plan::ADVICE.name).is_empty());
    let sets = sets.filter(|set| seen.insert(cell(set, plan::STATE.name)));
    let of = |set: &Case| {
        let its = queries.get(&set_of(set)).map(Vec::as_slice).unwrap_or_default();
        (cell(set, plan::STATE.name), Advice::of(set, its))
    };
    sets.map(of).collect()
}

/// The advice of a state in both runs: once where both say the same.
fn of_both(first: Option<&Advice>, second: Option<&Advice>) -> String {
    match (first, second) {
        (Some(first), Some(second)) if first.words == second.words => {
            format!("in both runs {}{}", second.words, figures([&first.figures, &second.figures]))
        }
        _ => {
            let [first, second] = [first, second].map(|one| one.map_or("not judged".to_string(), Advice::in_full));
            format!("first run: {first}; second run: {second}")
        }
    }
}

/// The figures of a set in both runs, each once where both have the same.
fn figures([first, second]: [&[String; 2]; 2]) -> String {
    let or_absent = |text: &str| if text.is_empty() { ABSENT.to_string() } else { text.to_string() };
    let one = |(what, (first, second)): (&&str, (&String, &String))| {
        if first != second {
            format!(", {what} {} and {}", or_absent(first), or_absent(second))
        } else if first.is_empty() {
            String::new()
        } else {
            format!(", {what} {first}")
        }
    };
    FIGURES.iter().zip(first.iter().zip(second)).map(one).collect()
}

/// What is advised about a set, as strongly as its run says it: a set that was timed on readpath's queries alone is one
/// to try.
fn words(set: &Case) -> String {
    let [state, name, advice] = [plan::STATE.name, plan::CONSTANTS.name, plan::ADVICE.name].map(|name| cell(set, name));
    let values = values(set, three_digits);
    let in_brackets = if values.is_empty() { String::new() } else { format!(" ({values})") };
    let excepted = calibrate::EXCEPTED.median(set).filter(|count| *count > 0.0);
    let excepted =
        excepted.map_or(String::new(), |count| format!(", but not for {}", counted(count as u64, "query", "queries")));
    let named = named(set);
    match advice.as_str() {
        "change" if OF_USER.contains(&state.as_str()) => format!("change to the set {name}{in_brackets}{excepted}"),
        "change" => format!("try the set {name} on your queries{in_brackets}{excepted}"),
        "keep" if name == NOW => "keep the server's own constants".into(),
        "keep" => format!("keep the server's own constants (judged by the set {named})"),
        advice if name == NOW => advice.into(),
        advice => format!("{advice} (the set {named})"),
    }
}

#[cfg(test)]
mod tests {
    use measure::schema::calibrate::parameters::{ADVICE, CONSTANTS, PART, STATE};
    use measure::{Metric, Parameters};

    use super::*;

    fn set(state: &str, name: &str, advice: &str, metrics: Vec<Metric>) -> Case {
        let parameters = [PART.of("set"), STATE.of(state), CONSTANTS.of(name), ADVICE.of(advice)];
        Case { metrics, ..Case::new(Parameters::from_iter(parameters)) }
    }

    fn cost(name: &str, value: f64) -> Metric {
        calibrate::SETTING.of(name).single("t", value)
    }

    /// The lines of the advice of two runs with one set each.
    fn said(first: &Case, second: &Case) -> Vec<String> {
        let [first, second] = [first, second].map(|set| Run { cases: vec![set.clone()], ..Run::default() });
        let Some(Section::List { items, .. }) = section([&first, &second]) else { panic!("no list") };
        items
    }

    #[test]
    fn a_set_without_constants_has_no_empty_brackets_and_the_own_constants_are_no_set() {
        let bare = set("as-found", "cached", "change", Vec::new());
        let whose = "your queries, as the server is";
        assert_eq!(said(&bare, &bare), [format!("{whose}: in both runs change to the set cached")]);
        let own = |advice: &str| said(&set("as-found", "now", advice, Vec::new()), &bare);
        let second = "second run: change to the set cached";
        assert_eq!(own("keep"), [format!("{whose}: first run: keep the server's own constants; {second}")]);
        assert_eq!(own("undecided"), [format!("{whose}: first run: undecided; {second}")]);
    }

    #[test]
    fn a_set_that_was_timed_on_the_queries_of_readpath_alone_is_not_said_to_be_advised_for_the_own_ones() {
        let ours = set("cached", "cached", "change", vec![cost("seq_page_cost", 0.5)]);
        let said = said(&ours, &ours);
        assert!(
            said[0].ends_with("in both runs try the set cached on your queries (seq_page_cost = 0.500)"),
            "{said:?}"
        );
    }

    #[test]
    fn exceptions_and_figures_that_differ_are_not_lost_where_both_runs_advise_the_same_set() {
        let advised = |excepted: Option<u64>, ratio: f64| {
            let mut metrics = vec![calibrate::RATIO.single("t", ratio), calibrate::WORST.single("t", 1.1)];
            metrics.extend(excepted.map(|count| calibrate::EXCEPTED.count("t", count)));
            set("as-found", "cached", "change", metrics)
        };
        let same = said(&advised(None, 0.5), &advised(None, 0.25));
        assert!(
            same[0].ends_with("in both runs change to the set cached, times 0.500 and 0.250, worst 1.10"),
            "{same:?}"
        );
        let other = said(&advised(None, 0.5), &advised(Some(2), 0.5));
        assert!(other[0].contains("second run: change to the set cached, but not for 2 queries, times"), "{other:?}");
    }

    #[test]
    fn a_set_that_was_only_tried_is_named_by_its_constants_also_where_nothing_is_to_be_changed() {
        let tried =
            |advice: &str, value: f64| set("as-found", "tried-1", advice, vec![cost("random_page_cost", value)]);
        let lines = said(&tried("keep", 0.5), &tried("undecided", 2.0));
        assert!(lines[0].contains("(judged by the set tried-1: random_page_cost = 0.500)"), "{lines:?}");
        assert!(lines[0].ends_with("undecided (the set tried-1: random_page_cost = 2.00)"), "{lines:?}");
    }

    #[test]
    fn a_figure_that_a_limit_bounds_does_not_look_measured_in_the_advice() {
        let set = set("as-found", "cached", "keep", vec![calibrate::WORST.single("t", 50.0)]);
        let parameters = [PART.of("query"), STATE.of("as-found"), CONSTANTS.of("cached"), plan::ENDED.of("then")];
        let mut query = Case::new(Parameters::from_iter(parameters));
        query.metrics.push(calibrate::RATIO.single("t", 50.0));
        let run = Run { cases: vec![set, query], ..Run::default() };
        let Some(Section::List { items, .. }) = section([&run, &run]) else { panic!("no list") };
        assert!(items[0].ends_with(", worst ≥50.0"), "{items:?}");
    }
}
