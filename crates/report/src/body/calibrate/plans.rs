//! The user's queries that get another plan: both plans side by side where the width allows, and the step that differs.

use measure::Case;

use super::{Ended, is_excepted, is_too_short, median};
use crate::page::number::three_digits;
use crate::page::parameters::cell;
use crate::page::{Align, Section, Table};

/// Columns of a terminal that both plans have to fit into, with the gap between them.
const WIDTH: usize = 80;
const GAP: usize = 2;

/// The most marks before a step: a document from elsewhere may hold any number of brackets.
const MARKS_MAX: usize = 20;

/// A section for each query under a sentence for all.
pub(super) fn sections(cases: &[&Case]) -> Vec<Section> {
    let Some(set) = cases.first().map(|case| cell(case, "constants")) else { return Vec::new() };
    let title = Section::Text(format!("Your queries that get a different plan with {set}:"));
    std::iter::once(title).chain(cases.iter().map(|case| section(case, &set))).collect()
}

fn section(case: &Case, set: &str) -> Section {
    let [now, then] = ["plan_now", "plan_then"].map(|name| cell(case, name));
    let [node_now, node_then] = ["node_now", "node_then"].map(|name| cell(case, name));
    let differs = format!("differs: {node_now} | {node_then}");
    let columns = [steps(&now), steps(&then)];
    let width = |at: usize| columns[at].iter().map(|step| step.chars().count()).max().unwrap_or(0);
    if width(0).max(3) + GAP + width(1).max(3 + set.chars().count()) > WIDTH {
        let items = vec![differs, format!("now:  {now}"), format!("then: {then}")];
        return Section::List { heading: Some(what_it_takes(case)), items, indent: 2 };
    }
    let rows: Vec<usize> = (0..columns[0].len().max(columns[1].len())).collect();
    let step = |at: usize, row: usize| columns[at].get(row).cloned().unwrap_or_default();
    let table = Table::over(&rows)
        .column("now", Align::Word, |row| step(0, *row))
        .column(format!("by {set}"), Align::Word, |row| step(1, *row))
        .titled(what_it_takes(case))
        .noted(differs);
    Section::Table(table.done())
}

/// The query with its verdict and its times.
fn what_it_takes(case: &Case) -> String {
    let [query, mut verdict] = ["query", "verdict"].map(|name| cell(case, name));
    if is_excepted(case) {
        verdict += ", and should keep the server's own constants";
    }
    let ended = Ended::of(case);
    let at_least =
        |is_ended: bool, value: f64| format!("{}{}", if is_ended { "at least " } else { "" }, three_digits(value));
    let measured = || Some(at_least(ended.then, median(case, "ratio")?));
    // Of a query whose current plan was ended, the upper end is all that is known.
    let ratio = || measured().or_else(|| Some(format!("at most {}", three_digits(median(case, "ratio_high")?))));
    let times = median(case, "time_now").zip(then(case, ended)).map_or(String::new(), |(now, then)| {
        let times = match (is_too_short(case), ratio()) {
            (true, _) => ", too short to tell apart".into(),
            (false, ratio) => ratio.map_or(String::new(), |ratio| format!(" ({ratio} times)")),
        };
        format!(", {} to {} ms{times}", at_least(ended.now, now), at_least(ended.then, then))
    });
    format!("{query}: {verdict}{times}")
}

/// Milliseconds of a query by the set, as they are in the sum of the set: its ratio, which is a median over the turns,
/// times its milliseconds now. Times that differ by less than readings do have a ratio of 1 and a value of their own
/// instead; of a run that was kept before there was one, the median of the runs. Of a plan that was ended, its limit.
fn then(case: &Case, ended: Ended) -> Option<f64> {
    let runs = median(case, "time_then")?;
    if ended != Ended::default() {
        return Some(runs);
    }
    let by_ratio = || Some(median(case, "time_now")? * median(case, "ratio")?).filter(|_| !is_too_short(case));
    median(case, "time_by_turns").or_else(by_ratio).or(Some(runs))
}

/// The steps of a plan in one line, each in a line of its own behind a mark for each level. Only for the eye: names may
/// have brackets too.
fn steps(outline: &str) -> Vec<String> {
    let mut steps = Vec::new();
    let (mut level, mut rest) = (0_usize, outline);
    loop {
        let end = rest.find([';', '[', ']']).unwrap_or(rest.len());
        let step = rest[..end].trim();
        if !step.is_empty() {
            let gap = if level > 0 { " " } else { "" };
            steps.push(format!("{}{gap}{step}", ">".repeat(level.min(MARKS_MAX))));
        }
        match rest.as_bytes().get(end) {
            None => return steps,
            Some(b'[') => level += 1,
            Some(b']') => level = level.saturating_sub(1),
            Some(_) => {}
        }
        rest = &rest[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use measure::Parameters;
    use measure::schema::Spec;
    use measure::schema::calibrate::{self, TIME_NOW, TIME_THEN};
    use serde_json::json;

    use super::*;

    #[test]
    fn each_step_of_a_plan_has_a_line_and_its_level() {
        let plan = "Aggregate [Hash Join (Left) [Seq Scan on t a; Hash [Seq Scan on u]]; Result]";
        let lines =
            ["Aggregate", "> Hash Join (Left)", ">> Seq Scan on t a", ">> Hash", ">>> Seq Scan on u", "> Result"];
        assert_eq!(steps(plan), lines);
        assert_eq!(steps("Seq Scan on odd]name"), ["Seq Scan on odd", "name"]);
        assert!(steps("").is_empty());
    }

    /// The line of a query with this verdict, with the metrics that it has.
    fn line(verdict: &str, metrics: &[(&Spec, f64)]) -> String {
        let mut case = Case::new(Parameters::default());
        case.parameters.extend([("query".to_string(), json!("q")), ("verdict".to_string(), json!(verdict))]);
        case.metrics.extend(metrics.iter().map(|(spec, value)| spec.single("t", *value)));
        what_it_takes(&case)
    }

    #[test]
    fn a_time_that_is_the_limit_at_which_a_plan_was_ended_does_not_look_measured() {
        let ratio = (&calibrate::RATIO, 50.0);
        assert_eq!(
            line("slower, ended after 500 ms", &[(&TIME_NOW, 10.1), (&TIME_THEN, 500.0), ratio]),
            "q: slower, ended after 500 ms, 10.1 to at least 500 ms (at least 50.0 times)"
        );
        let now = "faster, the current plan ended after 10.0 s";
        assert_eq!(
            line(now, &[(&TIME_NOW, 10_000.0), (&TIME_THEN, 2500.0), (&calibrate::RATIO_HIGH, 0.26)]),
            format!("q: {now}, at least 10\u{202f}000 to 2\u{202f}500 ms (at most 0.260 times)")
        );
        let near = "undecided, the current plan ended after 10.0 s";
        let said = line(near, &[(&TIME_NOW, 10_000.0), (&TIME_THEN, 9000.0)]);
        assert_eq!(said, format!("q: {near}, at least 10\u{202f}000 to 9\u{202f}000 ms"));
    }

    #[test]
    fn an_exception_is_not_said_to_keep_its_plan_by_itself() {
        let parameters = json!({"query": "q", "verdict": "slower", "advice": "keep"});
        let case = Case::new(parameters.as_object().unwrap().clone());
        assert_eq!(what_it_takes(&case), "q: slower, and should keep the server's own constants");
    }

    #[test]
    fn the_times_of_a_query_do_not_disagree_with_its_ratio_or_with_the_sum_of_its_set() {
        let of = |ratio: f64| line("slower", &[(&TIME_NOW, 19.1), (&TIME_THEN, 21.5), (&calibrate::RATIO, ratio)]);
        assert_eq!(of(1.0628), "q: slower, 19.1 to 20.3 ms (1.06 times)");
        let short = line("undecided", &[(&TIME_NOW, 0.03), (&TIME_THEN, 0.06), (&calibrate::RATIO, 1.0)]);
        assert_eq!(short, "q: undecided, 0.0300 to 0.0600 ms, too short to tell apart");
        let by_turns = |then: f64| {
            let ratio = (&calibrate::RATIO, 1.0);
            line("undecided", &[(&TIME_NOW, 0.19), (&TIME_THEN, then), (&calibrate::TIME_BY_TURNS, 0.186), ratio])
        };
        for runs in [0.188, 0.3] {
            assert_eq!(by_turns(runs), "q: undecided, 0.190 to 0.186 ms, too short to tell apart", "as in the set");
        }
        assert_eq!(line("undecided", &[(&TIME_NOW, 3.0), (&TIME_THEN, 4.0)]), "q: undecided, 3.00 to 4.00 ms");
    }

    #[test]
    fn steps_below_brackets_without_end_do_not_fill_the_memory() {
        let lines = steps(&format!("{}{}", "[".repeat(1 << 16), "x;".repeat(1 << 16)));
        assert_eq!(lines.len(), 1 << 16);
        assert!(lines.iter().all(|line| line.len() == MARKS_MAX + 2));
    }
}
