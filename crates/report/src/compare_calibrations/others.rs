//! What two calibrations have besides sets and constants: queries that were refused, plans that no constants lead to,
//! and where the planner changes from one path to another. What only one run has is listed, and what both judge
//! otherwise.

use std::collections::HashMap;

use measure::quantity::grouped;
use measure::schema::calibrate::{parameters as plan, what_would_help};
use measure::{Case, Run};

use super::parts::{NOW, part};
use crate::body::whose_queries;
use crate::page::Section;
use crate::page::parameters::cell;

/// Most cases of a kind that are listed.
const LISTED_MAX: usize = 20;

/// A kind of cases that are held against each other by their words.
struct Kind {
    part: &'static str,
    heading: &'static str,
    name: fn(&Case) -> String,
    words: fn(&Case) -> String,
    /// The part of the words that is a judgement: those on a remedy have estimates in them, which differ in every run.
    judgement: fn(&str) -> &str,
}

static KINDS: [Kind; 3] = [
    Kind {
        part: "refused",
        heading: "Queries that were not explained, not run or not run to their end, where the runs differ:",
        name: of_query,
        words: |case| cell(case, plan::VERDICT.name),
        judgement: |words| words,
    },
    Kind {
        part: "remedy",
        heading: "Where no constants help, because a plan that no set leads to is faster, where the runs differ:",
        name: of_query,
        words: |case| cell(case, plan::ADVICE.name),
        judgement: what_would_help,
    },
    Kind {
        part: "switch",
        heading: "Where the planner changes to another path, by the times of both, where the runs differ:",
        name: of_switch,
        words: |case| cell(case, plan::VERDICT.name),
        judgement: |words| words,
    },
];

/// The words of cases by their names, and the names in the order of the run.
#[derive(Default)]
struct Words {
    of: HashMap<String, String>,
    order: Vec<String>,
}

/// A list for each kind of which the runs have other cases.
pub(super) fn sections(runs: [&Run; 2]) -> Vec<Section> {
    KINDS.iter().filter_map(|kind| differing(kind, runs)).collect()
}

fn differing(kind: &Kind, runs: [&Run; 2]) -> Option<Section> {
    let [first, second] = runs.map(|run| words(kind, run));
    let of_second = second.order.iter().filter(|name| !first.of.contains_key(*name));
    let item = |name: &String| match (first.of.get(name), second.of.get(name)) {
        (Some(first), Some(second)) if (kind.judgement)(first) == (kind.judgement)(second) => None,
        (Some(first), Some(second)) => Some(format!("{name}: first run: {first}; second run: {second}")),
        (Some(first), None) => Some(format!("{name}: in the first run only: {first}")),
        (None, second) => Some(format!("{name}: in the second run only: {}", second?)),
    };
    let mut items: Vec<String> = first.order.iter().chain(of_second).filter_map(item).collect();
    let more = items.len().saturating_sub(LISTED_MAX);
    items.truncate(LISTED_MAX);
    items.extend((more > 0).then(|| format!("and {} more", grouped(more as u64))));
    Section::list(kind.heading, items)
}

/// The words of all cases of a kind; those of one name together. A case without words says nothing.
fn words(kind: &Kind, run: &Run) -> Words {
    let mut words = Words::default();
    for case in part(run, kind.part) {
        let (name, said) = ((kind.name)(case), (kind.words)(case));
        if said.is_empty() {
            continue;
        }
        match words.of.get_mut(&name) {
            Some(known) => *known += &format!(", {said}"),
            None => {
                words.order.push(name.clone());
                words.of.insert(name, said);
            }
        }
    }
    words
}

/// A query, with the state of the caches where that is not the usual one.
fn of_query(case: &Case) -> String {
    let [query, state] = [plan::QUERY.name, plan::STATE.name].map(|name| cell(case, name));
    match state.as_str() {
        "" | "as-found" => query,
        state => format!("{query} ({})", whose_queries(state)),
    }
}

/// Where the planner changes, in the words of the page of a calibration.
fn of_switch(case: &Case) -> String {
    let [order, switch, constants] =
        [plan::ORDER.name, plan::SWITCH.name, plan::CONSTANTS.name].map(|name| cell(case, name));
    let order = if order == "clustered" { "rows in the order of the index" } else { "scattered rows" };
    let what = if switch == "from-index" { "index scan below" } else { "full scan from" };
    let by = if constants == NOW { "the server's own constants".into() } else { format!("the set {constants}") };
    format!("{order}, {what}, by {by}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(cases: &[serde_json::Value]) -> Run {
        let case = |parameters: &serde_json::Value| Case::new(parameters.as_object().cloned().unwrap_or_default());
        Run { cases: cases.iter().map(case).collect(), ..Run::default() }
    }

    /// The lines of all lists.
    fn lines(first: &[serde_json::Value], second: &[serde_json::Value]) -> Vec<String> {
        let of = |section: Section| if let Section::List { items, .. } = section { items } else { Vec::new() };
        sections([&run(first), &run(second)]).into_iter().flat_map(of).collect()
    }

    #[test]
    fn what_one_run_alone_refused_or_judged_otherwise_is_not_lost() {
        let refused = |query: &str, why: &str| json!({"part": "refused", "query": query, "verdict": why});
        let first = [refused("both", "it writes"), refused("once", "it writes"), refused("other", "it writes")];
        let second = [refused("both", "it writes"), refused("other", "it was ended"), refused("new", "it writes")];
        assert_eq!(
            lines(&first, &second),
            [
                "once: in the first run only: it writes",
                "other: first run: it writes; second run: it was ended",
                "new: in the second run only: it writes",
            ]
        );
    }

    #[test]
    fn a_remedy_of_both_runs_is_listed_where_it_is_another_one_and_not_for_an_estimate_that_differs_in_every_run() {
        let remedy = |query: &str, advice: &str| json!({"part": "remedy", "query": query, "advice": advice});
        let first = [remedy("q", "off by 40: ANALYZE"), remedy("s", "off by 40: ANALYZE")];
        let second =
            [remedy("s", "scattered: CLUSTER"), remedy("q", "off by 41: ANALYZE"), remedy("r", "off by 9: ANALYZE")];
        assert_eq!(
            lines(&first, &second),
            [
                "s: first run: off by 40: ANALYZE; second run: scattered: CLUSTER",
                "r: in the second run only: off by 9: ANALYZE",
            ]
        );
    }

    #[test]
    fn a_switch_that_is_judged_otherwise_names_the_constants_and_how_rows_lie() {
        let switch = |constants: &str, verdict: &str| {
            json!({"part": "switch", "order": "scattered", "switch": "to-full-scan", "constants": constants,
                   "verdict": verdict})
        };
        let timed = json!({"part": "switch", "order": "scattered", "switch": "to-full-scan"});
        let first = [timed.clone(), switch("now", "too early"), switch("cached", "about right")];
        let second = [timed, switch("now", "about right"), switch("cached", "about right")];
        let said = "scattered rows, full scan from, by the server's own constants: first run: too early; second run: \
                    about right";
        assert_eq!(lines(&first, &second), [said]);
    }

    #[test]
    fn hundreds_of_other_queries_do_not_bury_the_page() {
        let refused = |at: u32| json!({"part": "refused", "query": format!("q{at}"), "verdict": "it writes"});
        let many: Vec<serde_json::Value> = (0..300).map(refused).collect();
        let said = lines(&many, &[]);
        assert_eq!((said.len(), said[LISTED_MAX].as_str()), (LISTED_MAX + 1, "and 280 more"));
    }
}
