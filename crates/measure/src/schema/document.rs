//! The schema as the page on the run document shows it.

use std::fmt::Write;

use super::check::EXPERIMENTS;
use super::own_cost;
use super::spec::{Bound, Experiment, Published, Spec, Stems};
use crate::unit::Unit;

/// The line of the page after which the tables stand, and the one before which they end.
const BEGIN: &str = "<!-- The tables are made from the schema: UPDATE_DOCS=1 cargo test -p measure -->";
const END: &str = "<!-- End of the tables. -->";

/// The page with its tables made from the schema; `None` where the lines between which they stand are not in it.
pub fn updated(page: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{}{END}{after}", tables()))
}

/// All tables.
fn tables() -> String {
    let mut text = format!("### Every run: `own_cost`\n\n{}", metrics(own_cost::METRICS.iter()));
    for experiment in EXPERIMENTS {
        text += &section(experiment);
    }
    text
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
        let stems = match family.stems {
            Stems::Number => "NAME: a number".into(),
            Stems::OneOf(stems) => format!("NAME: `{}`", stems.join("`, `")),
        };
        line(&mut text, &[&name, family.unit.symbol(), &format!("{}; {stems}", family.meaning)]);
    }
    text += "\n";
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
