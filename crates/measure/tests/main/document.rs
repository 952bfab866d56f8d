//! The schema and the wait classes as the page on the run document shows them.

use std::fmt::Write;

use measure::Unit;
use measure::schema::{
    Bound, EXPERIMENTS, Experiment, FindingGroup, Published, Spec, Stems, conditions, events, every, own_cost, reads,
    subjects,
};
use measure::wait_class::CLASSES;

/// The lines of the page between which the tables of the experiments stand, and those around the wait classes.
const TABLES: [&str; 2] = [
    "<!-- The tables are made from the schema: UPDATE_DOCS=1 cargo test -p measure -->",
    "<!-- End of the tables. -->",
];
const WAIT_CLASSES: [&str; 2] = [
    "<!-- The classes are made from their table: UPDATE_DOCS=1 cargo test -p measure -->",
    "<!-- End of the classes. -->",
];

/// Findings that several experiments share.
const SHARED: [&FindingGroup; 5] = [
    &every::findings::ALL,
    &conditions::findings::ALL,
    &reads::findings::ALL,
    &events::findings::ALL,
    &subjects::findings::ALL,
];

fn is_shared(group: &FindingGroup) -> bool {
    SHARED.iter().any(|shared| shared.what == group.what)
}

/// How the line of the experiments' names begins.
const EXPERIMENT_ROW: &str = "| `experiment` | ";

/// The page with its tables made anew; `None` where the lines between which they stand are not in it.
pub(crate) fn updated(page: &str) -> Option<String> {
    let page = between(&between(page, TABLES, &experiments())?, WAIT_CLASSES, &classes())?;
    let old = page.lines().find(|line| line.starts_with(EXPERIMENT_ROW))?;
    let names: Vec<String> = EXPERIMENTS.iter().map(|experiment| format!("`{}`", experiment.name)).collect();
    Some(page.replacen(old, &format!("{EXPERIMENT_ROW}{} |", names.join(", ")), 1))
}

fn between(page: &str, [begin, end]: [&str; 2], text: &str) -> Option<String> {
    let (before, rest) = page.split_once(begin)?;
    let (_, after) = rest.split_once(end)?;
    Some(format!("{before}{begin}\n\n{text}{end}{after}"))
}

/// The wait classes, in the order of their table.
fn classes() -> String {
    let mut text = String::from("| class | meaning |\n| --- | --- |\n");
    CLASSES.iter().for_each(|row| line(&mut text, &[&format!("`{}`", row.key), row.meaning.trim()]));
    text + "\n"
}

/// The tables of all experiments.
fn experiments() -> String {
    let mut text = format!("### Every run: `own_cost`\n\n{}", metrics(own_cost::METRICS.iter()));
    for group in SHARED {
        text += &format!("### {}: `findings`\n\n{}", group.what, findings(group));
    }
    for experiment in EXPERIMENTS {
        text += &section(experiment);
    }
    text
}

fn findings(group: &FindingGroup) -> String {
    let mut text = String::from("| finding | severity | meaning |\n| --- | --- | --- |\n");
    for row in group.rows {
        let severity = format!("{:?}", row.severity).to_lowercase();
        line(&mut text, &[&format!("`{}`", row.id.replace('*', "NAME")), &severity, &named(row.meaning, row.stems)]);
    }
    text + "\n"
}

/// What a name stands for, with the words that may stand in it.
fn named(meaning: &str, stems: &[&str]) -> String {
    if stems.is_empty() { meaning.into() } else { format!("{meaning}; NAME: `{}`", stems.join("`, `")) }
}

fn section(experiment: &Experiment) -> String {
    let mut text = format!("### `{}`\n\n| parameter | meaning |\n| --- | --- |\n", experiment.name);
    for parameter in experiment.all_parameters() {
        line(&mut text, &[&format!("`{}`", parameter.name), parameter.meaning]);
    }
    text += "\n";
    text += &metrics(experiment.all_metrics());
    text.pop();
    for family in experiment.all_families() {
        let name = format!("`{}`", family.pattern.replace('*', "NAME"));
        let meaning = match family.stems {
            Stems::Number => format!("{}; NAME: a number", family.meaning),
            Stems::OneOf(stems) => named(family.meaning, stems),
        };
        line(&mut text, &[&name, family.unit.symbol(), &meaning]);
    }
    text += "\n";
    let (shared, own): (Vec<_>, Vec<_>) = experiment.findings.iter().partition(|group| is_shared(group));
    own.iter().for_each(|group| text += &findings(group));
    if !shared.is_empty() {
        let names: Vec<&str> = shared.iter().map(|group| group.what).collect();
        text += &format!("Findings besides, in tables above: {}.\n\n", names.join("; "));
    }
    if !experiment.published.is_empty() {
        text += "| published | value | by |\n| --- | --- | --- |\n";
        experiment.published.iter().for_each(|published| figure(&mut text, published));
        text += "\n";
    }
    text
}

fn metrics<'a>(specs: impl Iterator<Item = &'a Spec>) -> String {
    let mut text = String::from("| metric | unit | meaning |\n| --- | --- | --- |\n");
    specs.for_each(|spec| line(&mut text, &[&format!("`{}`", spec.name), spec.unit.symbol(), spec.meaning]));
    text + "\n"
}

fn figure(text: &mut String, published: &Published) {
    let bound = match published.bound {
        Bound::Exactly => "",
        Bound::About => "about ",
        Bound::Above => "more than ",
        Bound::Below => "less than ",
    };
    let unit = match published.unit {
        Unit::Count => String::new(),
        Unit::Ratio => " times".into(),
        unit => format!(" {}", unit.symbol()),
    };
    let metric = published.metric.map_or(String::new(), |metric| format!("`{metric}`, "));
    let case: Vec<String> = published.case.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let case = if case.is_empty() { String::new() } else { format!(" ({})", case.join(", ")) };
    let what = format!("{metric}{}{case}", published.what);
    line(text, &[&what, &format!("{bound}{}{unit}", published.value), published.source]);
}

fn line(text: &mut String, cells: &[&str]) {
    // Writing into a text in memory does not fail.
    let _ = writeln!(text, "| {} |", cells.join(" | "));
}
