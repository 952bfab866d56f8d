//! A page as one file of HTML: it needs no network and no script to be read, and names in a run cannot become markup.

mod section;
mod table;

use measure::quantity::counted;
use measure::{Finding, Run, Severity};

use crate::beside::CompareProfiles;
use crate::markup::Markup;
use crate::page::{Figure, Page, Section};
use crate::renderer::{Media, Renderer, Shown};
use crate::{beside, body};
use section::Part;

/// The row of the table of renderers.
pub(crate) const RENDERER: Renderer = Renderer {
    name: "html",
    help: "One file for a browser",
    media: Media::Page,
    write: |shown, _, out| out.write_all(shown_as_page(shown).as_bytes()),
};

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// What a browser may load for this page: nothing but what stands in it.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; \
                      base-uri 'none'; form-action 'none'";

/// Most runs that are shown one by one; of more, the newest of those that are shown side by side is.
const WHOLE_MAX: usize = 24;

/// Sentences of the summary.
const SENTENCES_MAX: usize = 5;

/// Numbers that stand in front.
const FIGURES_MAX: usize = 3;

/// A run with its page.
struct Entry<'a> {
    run: &'a Run,
    page: Page,
    id: String,
}

/// The page of runs, in their order. `complaints` say what else was asked for and is not on it.
pub fn report(runs: &[Run], complaints: &[String]) -> String {
    report_comparing(runs, complaints, None)
}

/// The same page, on which the newest of several profiles is compared with the oldest by `profiles`.
pub fn report_comparing(runs: &[Run], complaints: &[String], profiles: Option<CompareProfiles<'_>>) -> String {
    let entries: Vec<Entry> = runs
        .iter()
        .enumerate()
        .filter(|(index, run)| is_whole(runs, *index, run))
        .map(|(index, run)| Entry { run, page: body::page(run), id: format!("run-{}", index + 1) })
        .collect();
    let title = match runs {
        [] => "readpath: no run".to_string(),
        [run] => format!("readpath {}: {}", run.experiment, body::place(run)),
        several => format!("readpath: {} runs", several.len()),
    };
    document(&title, |main| {
        main.element("h1", &[], &title);
        summary(main, &entries, runs.len());
        complaints.iter().for_each(|complaint| main.element("p", &[("class", &"warning")], complaint));
        if runs.len() > 1 {
            contents(main, runs, &entries);
        }
        for (index, page) in beside::pages(runs, profiles).iter().enumerate() {
            let id = format!("beside-{}", index + 1);
            main.around("section", &[("id", &id)], |part| Part::new(&id).sections(part, &page.sections));
        }
        entries.iter().for_each(|entry| whole(main, entry, runs.len() == 1));
    })
}

/// Anything that has a page, as a file.
fn shown_as_page(shown: Shown<'_>) -> String {
    if let Shown::Run(run) | Shown::Kept(run) = shown {
        return report(std::slice::from_ref(run), &[]);
    }
    let page = shown.page();
    let title = match shown {
        Shown::Runs(_) => "readpath: kept runs",
        Shown::Profiles(_) => "readpath: two profiles compared",
        _ => "readpath: two runs compared",
    };
    document(title, |main| {
        main.element("h1", &[], title);
        Part::new("part").sections(main, &page.sections);
    })
}

/// Whether a run is shown by itself.
fn is_whole(runs: &[Run], index: usize, run: &Run) -> bool {
    let is_newest = || {
        let same = runs.iter().enumerate().filter(|(_, other)| beside::kind(other) == beside::kind(run));
        same.max_by(|(_, one), (_, other)| one.started.cmp(&other.started)).is_some_and(|(newest, _)| newest == index)
    };
    runs.len() <= WHOLE_MAX || is_newest()
}

fn document(title: &str, main: impl FnOnce(&mut Markup)) -> String {
    let mut markup = Markup::default();
    markup.verbatim("<!DOCTYPE html>\n");
    markup.around("html", &[("lang", &"en")], |html| {
        html.around("head", &[], |head| {
            head.leaf("meta", &[("charset", &"utf-8")]);
            head.leaf("meta", &[("http-equiv", &"Content-Security-Policy"), ("content", &POLICY)]);
            head.leaf("meta", &[("name", &"viewport"), ("content", &"width=device-width, initial-scale=1")]);
            head.leaf("link", &[("rel", &"icon"), ("href", &"data:,")]);
            head.element("title", &[], title);
            head.around("style", &[], |style| {
                style.verbatim(STYLE);
                style.verbatim(crate::svg::STYLE);
            });
        });
        html.line();
        html.around("body", &[], |body| {
            body.around("main", &[], main);
            body.line();
            body.around("footer", &[], |footer| {
                let made = concat!("Made by readpath ", env!("CARGO_PKG_VERSION"), " from run documents.");
                footer.text(made);
                footer.text(" Medians, unless stated otherwise; a range goes from the smallest sample to the 90th ");
                footer.text("percentile, or to the largest of few.");
            });
            body.around("script", &[], |script| script.verbatim(SCRIPT));
        });
    });
    markup.line();
    markup.finish()
}

/// The answers in sentences, after the numbers that carry them.
fn summary(main: &mut Markup, entries: &[Entry], runs: usize) {
    let figures = |entry: &Entry| {
        let found = entry.page.sections.iter().find_map(|section| match section {
            Section::Figures(figures) => Some(figures.clone()),
            _ => None,
        });
        found.unwrap_or_default()
    };
    main.around("section", &[("id", &"summary"), ("aria-label", &"Summary")], |part| {
        match entries {
            [one] if runs == 1 => section::figures(part, &figures(one)),
            several => section::figures(part, &front(several.iter().map(|entry| (entry, figures(entry))))),
        }
        let mut sentences: Vec<(&Entry, &Finding)> = Vec::new();
        let each = if entries.len() == 1 { SENTENCES_MAX } else { 1 };
        for one in entries {
            let answers = one.run.findings.iter().filter(|finding| finding.id.starts_with("answer-"));
            sentences.extend(answers.take(each).map(|finding| (one, finding)));
        }
        part.around("ul", &[], |list| {
            for (one, finding) in sentences.iter().take(SENTENCES_MAX.max(entries.len())) {
                list.around("li", &[], |item| {
                    if entries.len() > 1 {
                        item.element("a", &[("href", &format!("#{}", one.id))], &one.run.experiment);
                        item.text(": ");
                    }
                    item.sentence(&finding.message);
                });
            }
            let warned = entries.iter().filter(|entry| warnings(&entry.page) > 0);
            for one in warned {
                list.around("li", &[], |item| {
                    let count = counted(warnings(&one.page), "warning", "warnings");
                    item.element("a", &[("href", &format!("#{}", one.id))], &one.run.experiment);
                    item.text(&format!(" has {count}, to be read before its numbers."));
                });
            }
        });
        if sentences.is_empty() && runs == 0 {
            part.element("p", &[], "There is no run to show. A measuring command keeps one: try readpath ladder.");
        }
    });
    main.line();
}

/// The numbers in front: the first of each run of another experiment, then the others of the first.
fn front<'a>(runs: impl Iterator<Item = (&'a Entry<'a>, Vec<Figure>)>) -> Vec<Figure> {
    let mut seen: Vec<&str> = Vec::new();
    let mut front: Vec<Figure> = Vec::new();
    let mut rest: Vec<Figure> = Vec::new();
    for (entry, figures) in runs {
        let name = entry.run.experiment.as_str();
        let mut named = figures.into_iter().map(|figure| Figure { what: format!("{name}: {}", figure.what), ..figure });
        if !seen.contains(&name) {
            front.extend(named.next());
            seen.push(name);
        }
        rest.extend(named);
    }
    front.extend(rest);
    front.truncate(FIGURES_MAX);
    front
}

/// The warnings that a page shows.
fn warnings(page: &Page) -> u64 {
    let found = page.sections.iter().filter_map(|section| match section {
        Section::Findings(found) => Some(&found.others),
        _ => None,
    });
    found.flatten().filter(|finding| finding.severity == Severity::Warning).count() as u64
}

/// All runs in a table, with links to those that are shown by themselves.
fn contents(main: &mut Markup, runs: &[Run], entries: &[Entry]) {
    let left_out = runs.len() - entries.len();
    main.around("nav", &[("aria-label", &"Runs")], |nav| {
        nav.around("details", &[("open", &"open")], |details| {
            details.element("summary", &[], &format!("The {} runs of this page", runs.len()));
            table::table(details, &beside::list(runs), "runs", table::BY_RUNS);
            details.around("p", &[], |links| {
                links.text("In full: ");
                for (index, one) in entries.iter().enumerate() {
                    links.text(if index > 0 { ", " } else { "" });
                    links.element("a", &[("href", &format!("#{}", one.id))], &beside::name(one.run));
                }
                links.text(".");
            });
        });
    });
    if left_out > 0 {
        let sentence = format!(
            "{} only in the charts that show runs side by side: of that many, the newest of each experiment is shown \
             in full. `readpath report ID -o FILE` makes the page of one.",
            counted(left_out as u64, "run stands", "runs stand")
        );
        main.around("p", &[("class", &"quiet")], |line| line.sentence(&sentence));
    }
}

/// One run in full.
fn whole(main: &mut Markup, entry: &Entry, is_only: bool) {
    let run = entry.run;
    main.around("section", &[("id", &entry.id)], |part| {
        // Its numbers stand in front of the page already, where it is the only one.
        let shown = entry.page.sections.iter().filter(|section| !(is_only && matches!(section, Section::Figures(_))));
        let (head, rest): (Vec<Section>, Vec<Section>) =
            shown.cloned().partition(|section| matches!(section, Section::Head { .. }));
        Part::new(&entry.id).sections(part, &head);
        let ended = if run.finished.is_some() { "" } else { ", which did not end" };
        section::facts(part, &[format!("run {}", run.id), format!("started {}{ended}", run.started)]);
        part.around("p", &[("class", &"quiet")], |line| line.element("code", &[], &run.command.join(" ")));
        part.line();
        Part::new(&entry.id).sections(part, &rest);
        let numbers = body::numbers(run);
        if numbers.rows() > 0 {
            part.around("details", &[], |details| {
                let rows = counted(numbers.rows() as u64, "number", "numbers");
                details.element("summary", &[], &format!("All {rows} of this run, with unit, range, count and source"));
                table::table(details, &numbers, &format!("all numbers of {}", entry.id), table::IN_CSV);
            });
        }
    });
    main.line();
}
