//! Several runs beside each other: one chart for each that they have in common, and what differs beyond the noise.
//!
//! Charts are put together by their titles, and their marks by the names of rows and lines, so that an experiment needs
//! nothing of its own for this.

use std::collections::BTreeMap;

use measure::compare::{ProfileComparison, Verdict, compare};
use measure::quantity::{counted, grouped};
use measure::run::Build;
use measure::sorting;
use measure::{Finding, Run};
use serde_json::Value;

use crate::body::{self, RANGE, UNSAID, place};
use crate::compare_calibrations::is_ranked;
use crate::differences::{case_text, compared, ranked, shown_metrics, varying_names};
use crate::page::parameters::{constant, described};
use crate::page::wording::joined;
use crate::page::{Align, Axis, Chart, Datum, Key, Line, Page, Plot, Row, Section, Shape, Table};

/// Most runs whose marks have a colour each; more become lines over the runs.
const COLORED_MAX: usize = 6;

/// Lines of a chart over the runs.
const LINES_MAX: usize = 8;

/// Parameters of a name.
const ASKED_MAX: usize = 3;

/// Signs of the runs at their marks.
const SIGNS: [char; COLORED_MAX] = ['A', 'B', 'C', 'D', 'E', 'F'];

/// Differences that are listed of each pair.
const DIFFERENCES_MAX: usize = 20;

/// The charts whose rows have numbers in their names that each run found by itself, such as the best depth of a disk.
/// Numbers in other names say what was asked for.
const OF_FOUND: [&str; 4] = ["ladder", "random-page-cost", "sets", "counters"];

/// The experiment whose runs are compared by their statements and not by their cases.
const PROFILE: &str = "profile";

/// How two kept profiles are compared: what reads their documents is not of this crate.
pub type CompareProfiles<'a> = &'a dyn Fn(&Run, &Run) -> ProfileComparison;

/// A page for each experiment of which there are several runs, of profiles for each source.
pub(crate) fn pages(runs: &[Run], profiles: Option<CompareProfiles<'_>>) -> Vec<Page> {
    let of = |of_page: (&str, Option<&Value>)| {
        let mut several: Vec<&Run> = runs.iter().filter(|run| kind(run) == of_page).collect();
        sorting::by(&mut several, |one, other| one.started.cmp(&other.started));
        (several.len() > 1).then(|| page(of_page.0, &several, profiles))
    };
    sorting::each_once(runs.iter().map(kind)).into_iter().filter_map(of).collect()
}

/// What runs have in common that are shown side by side: the experiment, and of profiles the source. A trace, a log and
/// samples measure different things.
pub(crate) fn kind(run: &Run) -> (&str, Option<&Value>) {
    (run.experiment.as_str(), run.subject.get("source").filter(|_| run.experiment == PROFILE))
}

/// All runs in a table.
pub(crate) fn list(runs: &[Run]) -> Table {
    let rows: Vec<&Run> = runs.iter().collect();
    Table::over(&rows)
        .column("experiment", Align::Left, |run| run.experiment.clone())
        .column("on", Align::Left, |run| place(run))
        .column("machine", Align::Left, |run| body::machine(run).unwrap_or_default())
        .column("started (UTC)", Align::Word, |run| minute(&run.started))
        .column("run", Align::Word, |run| run.id.clone())
        .optional("readpath", Align::Left, |run| run.build.as_ref().map_or(String::new(), Build::to_string))
        .done()
}

/// A run in a few words.
pub fn name(run: &Run) -> String {
    let asked = run.job.as_ref().map_or(run.experiment.as_str(), |job| job.name.as_str());
    format!("{asked} {}", minute(&run.started))
}

/// The same with what it was made on.
pub(crate) fn name_with_place(run: &Run) -> String {
    format!("{}, {}", name(run), place(run))
}

/// `2026-01-31T12:34:56.789Z` as `2026-01-31 12:34`.
pub(crate) fn minute(started: &str) -> String {
    started.chars().take(16).collect::<String>().replace('T', " ")
}

/// What tells each of several runs from the others: what was asked, on what, on which machine, and if that is not
/// enough, when.
fn names(runs: &[&Run]) -> Vec<String> {
    let asked: Vec<Vec<String>> = asked(runs);
    let parts: [&dyn Fn(usize) -> String; 3] =
        [&|at| asked[at].join(", "), &|at| place(runs[at]), &|at| body::processor(runs[at]).unwrap_or_default()];
    let varies = |part: &&&dyn Fn(usize) -> String| (1..runs.len()).any(|at| part(at) != part(0));
    let mut varying: Vec<&dyn Fn(usize) -> String> = parts.iter().filter(varies).copied().collect();
    let said = |varying: &[&dyn Fn(usize) -> String]| -> Vec<Vec<String>> {
        (0..runs.len()).map(|at| varying.iter().map(|part| part(at)).collect()).collect()
    };
    let minutes: &dyn Fn(usize) -> String = &|at| minute(&runs[at].started);
    if times_said(&said(&varying)).values().any(|times| *times > 1) && varies(&&minutes) {
        varying.push(minutes);
    }
    let said = said(&varying);
    let times = times_said(&said);
    let one = |(at, parts): (usize, &Vec<String>)| {
        let words = joined(parts.iter().map(String::as_str), ", ");
        let is_alone = times.get(&**parts) == Some(&1) && !words.is_empty();
        if is_alone { words } else { format!("{words} ({})", at + 1).trim().to_string() }
    };
    said.iter().enumerate().map(one).collect()
}

/// How many runs have the same said of them.
fn times_said(said: &[Vec<String>]) -> BTreeMap<&[String], usize> {
    let mut times = BTreeMap::new();
    said.iter().for_each(|parts| *times.entry(&**parts).or_default() += 1);
    times
}

/// Of each run its job, where it was asked for by one; else the parameters that all its cases share and that are not
/// the same in all runs.
fn asked(runs: &[&Run]) -> Vec<Vec<String>> {
    let jobs: Vec<&str> = runs.iter().filter_map(|run| Some(run.job.as_ref()?.name.as_str())).collect();
    if jobs.len() == runs.len() && jobs.iter().any(|job| *job != jobs[0]) {
        return jobs.into_iter().map(|job| vec![job.to_string()]).collect();
    }
    let shared: Vec<Vec<(&str, &Value)>> = runs.iter().map(|run| constant(&run.cases).collect()).collect();
    let differs = |name: &str| {
        let value =
            |of: &[(&str, &Value)]| of.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string());
        !UNSAID.contains(&name) && shared.iter().any(|one| value(one) != value(&shared[0]))
    };
    let words = |one: &Vec<(&str, &Value)>| {
        let differing = || one.iter().filter(|(name, _)| differs(name));
        let more = differing().count().saturating_sub(ASKED_MAX);
        let said = differing().take(ASKED_MAX).map(|(name, value)| described(name, value));
        said.chain((more > 0).then(|| format!("and {more} more"))).collect()
    };
    shared.iter().map(words).collect()
}

/// The runs of one experiment, the oldest first.
fn page(experiment: &str, runs: &[&Run], profiles: Option<CompareProfiles<'_>>) -> Page {
    let names = names(runs);
    let keys = signed(&names);
    let is_few = runs.len() <= COLORED_MAX;
    let mut sections = vec![Section::Head {
        title: format!("{experiment}: {} runs side by side", grouped(runs.len() as u64)),
        facts: if is_few { keys.iter().map(Key::in_full).collect() } else { Vec::new() },
        settings: Vec::new(),
    }];
    sections.extend(charts_of(runs, &keys).into_iter().map(|chart| Section::Chart(Box::new(chart))));
    let newest = runs.len() - 1;
    let side = |at: usize| match keys.get(at).filter(|_| is_few) {
        Some(key) => Side { run: runs[at], sign: key.at_mark(), name: key.in_full() },
        None => {
            let age = if at == 0 { "oldest" } else { "newest" };
            Side { run: runs[at], sign: age.into(), name: format!("the {age} run ({})", names[at]) }
        }
    };
    match profiles.filter(|_| experiment == PROFILE) {
        Some(compare) => sections.extend(of_profiles(&side(0), &side(newest), compare)),
        None if is_few => sections.extend((1..=newest).map(|other| differences(&side(0), &side(other)))),
        None => sections.push(differences(&side(0), &side(newest))),
    }
    Page { sections }
}

/// A run as it is named in a table of differences.
struct Side<'a> {
    run: &'a Run,
    /// Over a column.
    sign: String,
    /// In a sentence.
    name: String,
}

/// What differs between two profiles, by class, statement and plan.
fn of_profiles(first: &Side<'_>, second: &Side<'_>, compare: CompareProfiles<'_>) -> Vec<Section> {
    let comparison = compare(first.run, second.run);
    let pair = format!("First {}, second {}.", first.name, second.name);
    let page = crate::compare_profiles::page(&comparison);
    let rest = page.sections.into_iter().filter(|section| !matches!(section, Section::Head { .. }));
    [Section::Text(pair)].into_iter().chain(rest).collect()
}

/// The charts that runs of one experiment have in common: with a colour for each run, or lines over many runs.
pub(crate) fn charts_of(runs: &[&Run], keys: &[Key]) -> Vec<Chart> {
    let charts: Vec<Vec<Chart>> = runs.iter().map(|run| charts(run)).collect();
    // By their titles: charts of one name, such as those of the event with most time, can be of another event in each
    // run.
    let titles = sorting::each_once(charts.iter().flatten().map(|chart| chart.title.as_str()));
    let one = |title: &str| {
        let of = |own: &Vec<Chart>| own.iter().find(|chart| chart.title == title).cloned();
        let found: Vec<(usize, Chart)> =
            charts.iter().enumerate().filter_map(|(at, own)| Some((at, of(own)?))).collect();
        if found.len() < 2 {
            return None;
        }
        if runs.len() <= COLORED_MAX { together(&found, keys) } else { over_runs(&found, runs.len()) }
    };
    titles.into_iter().filter_map(one).collect()
}

/// The runs with the signs of their marks.
fn signed(names: &[String]) -> Vec<Key> {
    names.iter().zip(SIGNS).map(|(name, sign)| Key::signed(sign, name)).collect()
}

fn charts(run: &Run) -> Vec<Chart> {
    let sections = body::page(run).sections.into_iter();
    let charts = sections.filter_map(|section| if let Section::Chart(chart) = section { Some(*chart) } else { None });
    charts.filter_map(|chart| without_ranked(chart).with_at_least(1)).collect()
}

/// A chart without the sets of a calibration whose name is a rank: in another run the name stands for another set.
fn without_ranked(mut chart: Chart) -> Chart {
    let name = chart.name;
    let is_it = |row: &Row| match name {
        "sets" => is_ranked(&row.label),
        "plans" => row.group.split_once('“').is_some_and(|(_, set)| is_ranked(set)),
        _ => false,
    };
    if let Plot::Rows(rows) = &mut chart.plot {
        rows.retain(|row| !is_it(row));
    }
    chart
}

/// Charts of several runs as one, with a colour for each run.
fn together(found: &[(usize, Chart)], keys: &[Key]) -> Option<Chart> {
    let first = &found[0].1;
    let (plot, of_line) = match &first.plot {
        Plot::Rows(_) => (Plot::Rows(rows(found)), String::new()),
        Plot::Lines(across, ..) => {
            let (name, lines) = common_line(found)?;
            let is_one_of_several = found.iter().any(|(_, chart)| chart.keys.len() > 1) && !name.is_empty();
            let of_line = if is_one_of_several { format!(", {name}") } else { String::new() };
            (Plot::lines(across.clone(), lines), of_line)
        }
        Plot::Heat(..) | Plot::Stack(_) | Plot::Layers(_) => return None,
    };
    let title = format!("{}{of_line}: the runs side by side", first.title);
    let of = if found.iter().all(|(_, chart)| chart.of == first.of) { first.of.clone() } else { String::new() };
    let beside = said(found, keys);
    let chart = Chart { of, beside, ..Chart::new(first.name, title, first.value.clone(), plot).keyed(keys.to_vec()) };
    let (note, about_ranges) = (first.note_for(&chart), about_ranges(found, &chart));
    let chart = match first.about_ranges.as_str() {
        "" => chart.noted(note).noted(about_ranges),
        own => chart.noted(note.replace(own, &about_ranges)),
    };
    chart.with_at_least(2)
}

/// What thin lines are in a chart of several, where one can be seen: one of these alone may have none, and those of two
/// may end at something else.
fn about_ranges(found: &[(usize, Chart)], together: &Chart) -> String {
    if !together.has_thin_lines() {
        return String::new();
    }
    let said = found.iter().map(|(_, chart)| chart.about_ranges.as_str()).filter(|said| !said.is_empty());
    let said = sorting::set(said);
    match said.len() {
        0 | 1 => said.into_iter().collect(),
        _ => format!("Thin line: {RANGE}."),
    }
}

/// The first line that two of the charts have, in each of those that have it, and its name.
fn common_line(found: &[(usize, Chart)]) -> Option<(&str, Vec<Line>)> {
    let of = |name: &str| -> Vec<Line> {
        let own = |(run, chart): &(usize, Chart)| Some(Line { key: *run, ..line_named(chart, name)?.clone() });
        found.iter().filter_map(own).collect()
    };
    let names = found.iter().flat_map(|(_, chart)| named_lines(chart)).map(|(name, _)| name);
    names.map(|name| (name, of(name))).find(|(_, lines)| lines.len() > 1)
}

/// The line of this name; without one, the line whose name differs in a version alone.
fn line_named<'a>(chart: &'a Chart, name: &str) -> Option<&'a Line> {
    let all = named_lines(chart);
    let exact = all.iter().find(|(own, _)| *own == name);
    let alike = || all.iter().find(|(own, _)| without_versions(own) == without_versions(name));
    exact.or_else(alike).map(|(_, line)| *line)
}

/// The lines of a chart that have points, each behind its name.
fn named_lines(chart: &Chart) -> Vec<(&str, &Line)> {
    let Plot::Lines(_, lines, _) = &chart.plot else { return Vec::new() };
    let drawn = lines.iter().filter(|line| !line.points.is_empty());
    drawn.map(|line| (chart.keys.get(line.key).map_or("", |key| key.name.as_str()), line)).collect()
}

/// A name without the version of a subject, which each run finds by itself.
fn without_versions(name: &str) -> String {
    let is_version = |word: &str| word.starts_with(|letter: char| letter.is_ascii_digit()) && word.contains('.');
    name.split(' ').filter(|word| !is_version(word)).collect::<Vec<_>>().join(" ")
}

/// The findings beside the charts of several runs, each with the signs of the runs that say so.
fn said(found: &[(usize, Chart)], keys: &[Key]) -> Vec<Finding> {
    let mut all: Vec<(Finding, Vec<String>)> = Vec::new();
    for (run, chart) in found {
        let sign = keys.get(*run).map_or(String::new(), Key::at_mark);
        for finding in &chart.beside {
            match all.iter_mut().find(|(known, _)| known.message == finding.message) {
                Some((_, signs)) => signs.push(sign.clone()),
                None => all.push((finding.clone(), vec![sign.clone()])),
            }
        }
    }
    all.into_iter().map(|(finding, signs)| saying(&signs.join(", "), finding)).collect()
}

/// A finding with the words for whose it is in front of its sentence.
fn saying(whose: &str, mut finding: Finding) -> Finding {
    finding.message = format!("{whose}: {}", finding.message);
    finding
}

/// Rows with a mark for each run. A row is the same in two runs where its name is; where runs find numbers of a name by
/// themselves, the first of names that differ in their digits alone stands for both.
fn rows(found: &[(usize, Chart)]) -> Vec<Row> {
    let without_digits = |text: &str| text.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
    let mut all: Vec<Row> = Vec::new();
    for (run, chart) in found {
        let Plot::Rows(rows) = &chart.plot else { continue };
        let is_found = OF_FOUND.contains(&chart.name);
        for row in rows {
            let measured = row.marks.iter().filter(|(key, _)| !chart.keys[*key].is_published);
            for (key, datum) in measured {
                let subject = chart.keys[*key].name.as_str();
                let label = if subject.is_empty() { row.label.clone() } else { format!("{} {subject}", row.label) };
                let exact = |known: &Row| known.group == row.group && known.label == label;
                // The version of a subject is found too, behind the name of the row.
                let of_row = format!("{} ", row.label);
                let alike = |known: &Row| {
                    (is_found || !subject.is_empty() && known.label.starts_with(&of_row))
                        && known.group == row.group
                        && without_digits(&known.label) == without_digits(&label)
                        && !rows.iter().any(|other| other.label == known.label)
                        && !known.marks.iter().any(|(known, _)| known == run)
                };
                let at = all.iter().position(exact).or_else(|| all.iter().position(alike));
                match at {
                    Some(at) => all[at].marks.push((*run, datum.clone())),
                    None => all.push(Row { group: row.group.clone(), label, marks: vec![(*run, datum.clone())] }),
                }
            }
        }
    }
    // Without groups that begin anew for every row of a later run.
    let groups = sorting::each_once(all.iter().map(|row| row.group.clone()));
    sorting::by_key(&mut all, |row| groups.iter().position(|group| *group == row.group));
    all
}

/// A line for each row and subject over many runs, the oldest first.
fn over_runs(found: &[(usize, Chart)], runs: usize) -> Option<Chart> {
    let first = &found[0].1;
    let mut lines: Vec<(String, Vec<(f64, Datum)>)> = Vec::new();
    for (run, chart) in found {
        let Plot::Rows(rows) = &chart.plot else { return None };
        let of = |row: &Row| -> Vec<(String, Datum)> {
            let measured = row.marks.iter().filter(|(key, _)| !chart.keys[*key].is_published);
            measured.map(|(key, datum)| (named(row, &subject(&chart.keys, *key)), datum.clone())).collect()
        };
        let at = *run as f64 + 1.0;
        for (name, datum) in rows.iter().flat_map(of) {
            match lines.iter_mut().find(|(known, _)| *known == name) {
                Some((_, points)) if points.last().is_some_and(|(last, _)| *last == at) => {}
                Some((_, points)) => points.push((at, datum)),
                None => lines.push((name, vec![(at, datum)])),
            }
        }
    }
    sorting::by_key(&mut lines, |(_, points)| std::cmp::Reverse(points.len()));
    let left_out = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    let keys = lines.iter().map(|(name, _)| Key::measured(name)).collect();
    let lines = lines.into_iter().enumerate();
    let lines = lines.map(|(key, (_, points))| Line { key, shape: Shape::Marked, points }).collect();
    let across = Axis::linear("run, the oldest first", measure::Unit::Count);
    let title = format!("{} in each of {} runs", first.title, grouped(runs as u64));
    let chart = Chart::new(first.name, title, first.value.clone(), Plot::lines(across, lines)).keyed(keys);
    let more = counted(left_out as u64, "further line is", "further lines are");
    let note = if left_out > 0 { format!("{more} not drawn.") } else { String::new() };
    // Of many runs those of the newest alone: what was said of the others stands in their pages.
    let newest = found.last().filter(|(run, _)| run + 1 == runs).map_or(&[][..], |(_, chart)| &chart.beside);
    let beside = newest.iter().map(|finding| saying("Of the newest run", finding.clone())).collect();
    let chart = Chart { beside, ..chart };
    let about_ranges = about_ranges(found, &chart);
    chart.noted(note).noted(about_ranges).with_at_least(2)
}

/// The subject of a mark without its version: a line goes on where a server is updated. Two versions in one run are two
/// subjects.
fn subject(keys: &[Key], at: usize) -> String {
    let name = without_versions(&keys[at].name);
    let is_alone = keys.iter().filter(|key| without_versions(&key.name) == name).count() == 1;
    if is_alone { name } else { keys[at].name.clone() }
}

/// A row with what stands over it, and with a subject.
fn named(row: &Row, subject: &str) -> String {
    joined([row.group.as_str(), row.label.as_str(), subject], ", ")
}

/// What differs between two runs by more than the noise of their samples.
fn differences(first: &Side<'_>, second: &Side<'_>) -> Section {
    let comparison = compare(first.run, second.run);
    let differing = ranked(&comparison, |metric| metric.verdict == Verdict::Differs);
    let all = || comparison.cases.iter().flat_map(shown_metrics).map(|metric| metric.verdict);
    let known = all().filter(|verdict| matches!(verdict, Verdict::Differs | Verdict::WithinNoise)).count();
    let disturbed = match all().filter(|verdict| *verdict == Verdict::Disturbed).count() as u64 {
        0 => String::new(),
        count => format!(
            " {} no verdict, because a run warns that something else was at work during the case.",
            counted(count, "value has", "values have")
        ),
    };
    let pair = format!("{} against {}", second.name, first.name);
    if known == 0 && !disturbed.is_empty() {
        return Section::Text(format!("{pair}.{disturbed}"));
    }
    if known == 0 {
        return Section::Text(format!("{pair}. They have no value in common with enough samples in both."));
    }
    if differing.is_empty() {
        return Section::Text(format!(
            "{pair}. Of {} that both runs have with enough samples, none differs by more than {} noise.{disturbed}",
            counted(known as u64, "value", "values"),
            if known == 1 { "its" } else { "their" }
        ));
    }
    let shown = &differing[..differing.len().min(DIFFERENCES_MAX)];
    let title = format!(
        "{pair}. {} of {} {} by more than the noise of their samples{}.{disturbed}",
        grouped(differing.len() as u64),
        counted(known as u64, "value", "values"),
        if differing.len() == 1 { "differs" } else { "differ" },
        if differing.len() > shown.len() { format!("; the {} that differ most", shown.len()) } else { String::new() }
    );
    let names = varying_names(&comparison);
    let table = Table::over(shown).optional("case", Align::Left, |(case, _)| case_text(case, &names));
    Section::Table(compared(table, ["value", &first.sign, &second.sign]).titled(title).done())
}
