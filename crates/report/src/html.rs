//! A page as one file of HTML: it needs no network and no script to be read, and names in a run cannot become markup.

mod section;
mod table;

use measure::quantity::{counted, grouped};
use measure::{Run, Severity};

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

/// Of what a page of runs is made, and what its numbers are.
const OF_RUNS: &str = " from run documents. Medians, unless stated otherwise; a range goes from the smallest sample to \
                       the 90th percentile, or to the largest of few.";

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
    /// What tells it from the others; of one alone, its experiment.
    name: String,
}

impl Entry<'_> {
    /// Writes its name as a link to its page.
    fn link(&self, markup: &mut Markup) {
        markup.element("a", &[("href", &format!("#{}", self.id))], &self.name);
    }

    /// The numbers that matter.
    fn figures(&self) -> &[Figure] {
        let found = self.page.sections.iter().find_map(|section| match section {
            Section::Figures(figures) => Some(figures.as_slice()),
            _ => None,
        });
        found.unwrap_or_default()
    }
}

/// The page of runs, in their order. `complaints` say what else was asked for and is not on it.
pub fn report(runs: &[Run], complaints: &[String]) -> String {
    report_comparing(runs, complaints, None)
}

/// The same page, on which the newest of several profiles is compared with the oldest by `profiles`.
pub fn report_comparing(runs: &[Run], complaints: &[String], profiles: Option<CompareProfiles<'_>>) -> String {
    let name = |run: &Run| if runs.len() == 1 { run.experiment.clone() } else { beside::name_with_place(run) };
    let entries: Vec<Entry> = runs
        .iter()
        .enumerate()
        .filter(|(index, run)| is_whole(runs, *index, run))
        .map(|(index, run)| Entry { run, page: body::page(run), id: format!("run-{}", index + 1), name: name(run) })
        .collect();
    let title = match runs {
        [] => "readpath: no run".to_string(),
        [run] => format!("readpath {}: {}", run.experiment, body::place(run)),
        several => format!("readpath: {} runs", grouped(several.len() as u64)),
    };
    document(&title, OF_RUNS, |main| {
        main.element("h1", &[], &title);
        summary(main, &entries, runs.len());
        for complaint in complaints {
            main.around("p", &[("class", &"warning")], |one| one.sentence(complaint));
        }
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
    let (title, made_of) = match shown {
        Shown::Runs(_) => ("readpath: kept runs", "."),
        Shown::Profiles(_) => ("readpath: two profiles compared", "."),
        _ => ("readpath: two runs compared", OF_RUNS),
    };
    document(title, made_of, |main| {
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

fn document(title: &str, made_of: &str, main: impl FnOnce(&mut Markup)) -> String {
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
                footer.text(concat!("Made by readpath ", env!("CARGO_PKG_VERSION")));
                footer.text(made_of);
            });
            body.around("script", &[], |script| script.verbatim(SCRIPT));
        });
    });
    markup.line();
    markup.finish()
}

/// The answers in sentences, after the numbers that carry them. Of several runs each says whose it is.
fn summary(main: &mut Markup, entries: &[Entry<'_>], runs: usize) {
    let is_alone = runs == 1;
    main.around("section", &[("id", &"summary"), ("aria-label", &"Summary")], |part| {
        match entries {
            [one] if is_alone => section::figures(part, one.figures()),
            several => section::figures(part, &front(several)),
        }
        let each = if entries.len() == 1 { SENTENCES_MAX } else { 1 };
        part.around("ul", &[], |list| {
            for entry in entries {
                let answers = entry.run.findings.iter().filter(|finding| finding.id.starts_with("answer-"));
                for finding in answers.take(each) {
                    list.around("li", &[], |item| {
                        if !is_alone {
                            entry.link(item);
                            item.text(": ");
                        }
                        item.sentence(&finding.message);
                    });
                }
            }
            for entry in entries.iter().filter(|entry| warnings(&entry.page) > 0) {
                list.around("li", &[], |item| {
                    entry.link(item);
                    let count = counted(warnings(&entry.page), "warning", "warnings");
                    item.text(&format!(" has {count}, to be read before its numbers."));
                });
            }
        });
        if runs == 0 {
            part.element("p", &[], "There is no run to show. A measuring command keeps one: try readpath ladder.");
        }
    });
    main.line();
}

/// The numbers in front: the first of each run of another experiment, then the others of the first.
fn front(entries: &[Entry<'_>]) -> Vec<Figure> {
    let mut seen: Vec<&str> = Vec::new();
    let (mut front, mut rest) = (Vec::new(), Vec::new());
    for entry in entries {
        let named = |figure: &Figure| Figure { what: format!("{}: {}", entry.name, figure.what), ..figure.clone() };
        let mut figures = entry.figures().iter().map(named);
        let experiment = entry.run.experiment.as_str();
        if !seen.contains(&experiment) {
            front.extend(figures.next());
            seen.push(experiment);
        }
        rest.extend(figures);
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
            details.element("summary", &[], &format!("The {} runs of this page", grouped(runs.len() as u64)));
            table::table(details, &beside::list(runs), "runs", table::BY_RUNS);
            details.around("p", &[], |links| {
                links.text("In full: ");
                for (index, one) in entries.iter().enumerate() {
                    links.text(if index > 0 { ", " } else { "" });
                    one.link(links);
                }
                links.text(".");
            });
        });
    });
    if left_out > 0 {
        let sentence = format!(
            "{} only in the charts that show runs side by side: of that many, the newest of each experiment (of \
             profiles, of each source) is shown in full. `readpath report ID -o FILE` makes the page of one.",
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
