//! The user's queries that get another plan: both plans side by side where the width allows, and the step that differs.

use measure::{Case, Metric};

use super::{is_excepted, is_too_short};
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
        verdict += ", and keeps its plan";
    }
    let median = |name: &str| case.metric(name).map(Metric::median).map(three_digits);
    // Of a query whose current plan was ended, the upper end is all that is known.
    let ratio = || median("ratio").or_else(|| Some(format!("at most {}", median("ratio_high")?)));
    let times = median("time_now").zip(median("time_then")).map_or(String::new(), |(now, then)| {
        let times = match (is_too_short(case), ratio()) {
            (true, _) => ", too short to tell apart".into(),
            (false, ratio) => ratio.map_or(String::new(), |ratio| format!(" ({ratio} times)")),
        };
        format!(", {now} to {then} ms{times}")
    });
    format!("{query}: {verdict}{times}")
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

    #[test]
    fn steps_below_brackets_without_end_do_not_fill_the_memory() {
        let lines = steps(&format!("{}{}", "[".repeat(1 << 16), "x;".repeat(1 << 16)));
        assert_eq!(lines.len(), 1 << 16);
        assert!(lines.iter().all(|line| line.len() == MARKS_MAX + 2));
    }
}
