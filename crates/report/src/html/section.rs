//! Sections as HTML.

use measure::quantity::counted;
use measure::{Finding, Severity};

use super::table;
use crate::markup::{Attribute, Markup};
use crate::page::{Chart, Figure, Findings, Section};
use crate::svg;
use crate::text::statement;

/// Widths for which a chart is drawn: that of a large screen, that of a small one, where findings stand beside it or
/// on paper, and that of a phone.
const FULL: f64 = 1160.0;
const WIDE: f64 = 760.0;
const NARROW: f64 = 330.0;

/// Sections of one part of the page, and what has been said there already.
pub(super) struct Part<'a> {
    /// What the names of its charts begin with.
    id: &'a str,
    /// Sentences that stand beside a chart.
    said: Vec<String>,
    /// Tables so far: the names of those without a title are numbered.
    tables: usize,
    /// The names of charts so far: those of several runs can have one more than once.
    charts: Vec<&'static str>,
}

impl Part<'_> {
    /// A part whose charts have names of their own.
    pub(super) fn new(id: &str) -> Part<'_> {
        Part { id, said: Vec::new(), tables: 0, charts: Vec::new() }
    }

    /// Writes sections.
    pub(super) fn sections(&mut self, markup: &mut Markup, sections: &[Section]) {
        let beside = sections.iter().filter_map(|section| match section {
            Section::Chart(chart) => Some(&chart.beside),
            _ => None,
        });
        self.said = beside.flatten().map(|finding| finding.message.clone()).collect();
        sections.iter().for_each(|section| self.section(markup, section));
    }

    fn section(&mut self, markup: &mut Markup, section: &Section) {
        match section {
            Section::Head { title, facts, settings } => head(markup, title, facts, settings),
            Section::Figures(figures) => self::figures(markup, figures),
            Section::Chart(chart) => self.chart(markup, chart),
            Section::Undrawn { title, why } => {
                markup.element("h3", &[("class", &"undrawn")], title);
                markup.around("p", &[("class", &"quiet")], |one| one.sentence(why));
            }
            Section::Table(table) => {
                self.tables += 1;
                table::table(markup, table, &format!("table {} of {}", self.tables, self.id), table::IN_CSV);
            }
            Section::Text(text) if text.is_empty() => {}
            Section::Text(text) => markup.around("p", &[], |one| one.sentence(text)),
            Section::Note(text) => markup.element("p", &[("class", &"quiet")], text),
            Section::List { heading, items, .. } => self.list(markup, heading.as_deref(), items),
            Section::Code(text) if text.is_empty() => {}
            Section::Code(text) => code(markup, text),
            Section::Findings(findings) => self.findings(markup, findings),
        }
        markup.line();
    }

    /// A chart for pages of several widths, with its findings beside it and its numbers under it.
    fn chart(&mut self, markup: &mut Markup, chart: &Chart) {
        let known = self.charts.iter().filter(|name| **name == chart.name).count();
        self.charts.push(chart.name);
        let number = if known > 0 { format!("-{}", known + 1) } else { String::new() };
        let id = format!("{}-{}{number}", self.id, chart.name);
        let class: &str = if chart.beside.is_empty() { "" } else { "with-findings" };
        markup.around("figure", &[("id", &id)], |figure| {
            figure.around("figcaption", &[], |caption| {
                caption.element("h3", &[], &chart.title);
                if !chart.of.is_empty() {
                    caption.element("p", &[("class", &"of")], &chart.of);
                }
            });
            figure.around("div", &[("class", &class)], |pair| {
                pair.around("div", &[], |plot| self.plot(plot, chart, &id));
                findings(pair, "beside", chart.beside.iter());
            });
        });
    }

    /// The picture, the remark on it, and its numbers.
    fn plot(&mut self, markup: &mut Markup, chart: &Chart, id: &str) {
        markup.line();
        if chart.beside.is_empty() {
            markup.add(&svg::picture(chart, FULL, &format!("{id}-f"), "full"));
        }
        markup.add(&svg::picture(chart, WIDE, &format!("{id}-w"), "wide"));
        markup.add(&svg::picture(chart, NARROW, &format!("{id}-n"), "narrow"));
        if let Some(note) = &chart.note {
            markup.element("p", &[("class", &"quiet")], note);
        }
        let data = chart.data();
        markup.around("details", &[], |details| {
            let rows = counted(data.rows() as u64, "row", "rows");
            details.element("summary", &[], &format!("The numbers of this chart: {rows}"));
            table::table(details, &data, &format!("numbers of {id}"), table::IN_DOCUMENT);
        });
    }

    fn list(&self, markup: &mut Markup, heading: Option<&str>, items: &[String]) {
        let left: Vec<&String> = items.iter().filter(|item| !self.said.contains(item)).collect();
        if left.is_empty() {
            return;
        }
        if let Some(heading) = heading {
            markup.element("p", &[], heading);
        }
        markup.around("ul", &[], |list| {
            left.into_iter().for_each(|item| list.around("li", &[], |one| one.sentence(item)))
        });
    }

    fn findings(&self, markup: &mut Markup, found: &Findings) {
        let all = found.answers.iter().chain(&found.others);
        let left: Vec<&Finding> = all.filter(|finding| !self.said.contains(&finding.message)).collect();
        if let Some(heading) = found.heading.as_ref().filter(|_| !left.is_empty()) {
            markup.element("p", &[], heading);
        }
        findings(markup, "findings", left.into_iter());
    }
}

fn head(markup: &mut Markup, title: &str, facts: &[String], settings: &[String]) {
    markup.element("h2", &[], title.strip_prefix("readpath ").unwrap_or(title));
    self::facts(markup, facts);
    settings.iter().for_each(|setting| markup.element("p", &[("class", &"quiet")], setting));
}

/// Facts in one line, as far as they fit.
pub(super) fn facts(markup: &mut Markup, facts: &[String]) {
    markup.around("ul", &[("class", &"facts")], |list| {
        facts.iter().for_each(|fact| list.element("li", &[], fact.trim()));
    });
}

/// Numbers that matter, large.
pub(super) fn figures(markup: &mut Markup, figures: &[Figure]) {
    markup.around("dl", &[("class", &"figures")], |list| {
        for figure in figures {
            list.around("div", &[], |one| {
                one.element("dt", &[], &figure.what);
                one.element("dd", &[], &figure.cell.text);
                one.element("dd", &[("class", &"how")], &figure.how);
            });
        }
    });
}

fn findings<'a>(markup: &mut Markup, class: &'static str, findings: impl Iterator<Item = &'a Finding>) {
    let findings: Vec<&Finding> = findings.collect();
    if findings.is_empty() {
        return;
    }
    markup.around("ul", &[("class", &class)], |list| {
        for finding in findings {
            let is_warning = finding.severity == Severity::Warning;
            let class: Vec<Attribute<'_>> = if is_warning { vec![("class", &"warning")] } else { Vec::new() };
            list.around("li", &class, |item| {
                if is_warning {
                    item.element("strong", &[], "Warning: ");
                }
                item.sentence(&finding.message);
            });
        }
    });
}

fn code(markup: &mut Markup, text: &str) {
    markup.around("pre", &[("tabindex", &"0")], |pre| {
        for line in text.lines() {
            pre.text(&statement(line, true));
            pre.line();
        }
    });
}
