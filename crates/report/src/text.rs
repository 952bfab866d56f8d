//! A page as text for a terminal: the one place that knows its width, its characters and its colours.

mod bar;
mod grid;
mod statements;
mod wrap;

use std::collections::HashSet;

use measure::{Finding, Severity};

use crate::page::wording::joined;
use crate::page::{Findings, Page, Section, Table};
use crate::renderer::{Media, Renderer};
use crate::style::Style;
pub(crate) use statements::statement;
pub use wrap::clean;
use wrap::width;

/// The row of the table of renderers.
pub(crate) const RENDERER: Renderer = Renderer {
    name: "table",
    help: "A page for people",
    media: Media::Terminal,
    write: |shown, style, out| out.write_all(render(&shown.page(), style).as_bytes()),
};

/// Columns by which the lines of a sentence after its first stand in.
const HANGING: usize = 2;

/// Columns between the facts of a head.
const FACTS_GAP: usize = 3;

/// Most lines of answers under a table; answers of further kinds stand among the findings. Lines of the usual width
/// count, so that a narrow terminal shows the same answers.
const ANSWER_LINES_MAX: usize = 5;
const WIDTH_USUAL: usize = 80;

/// The page, with an empty line between sections and a newline at its end.
pub(crate) fn render(page: &Page, style: &Style) -> String {
    let sections = page.sections.iter().map(|section| render_section(section, style).trim_end().to_string());
    style.finish(&(joined(sections, "\n\n") + "\n"))
}

fn render_section(section: &Section, style: &Style) -> String {
    match section {
        Section::Head { title, facts, settings } => head(title, facts, settings, style),
        Section::Figures(_) | Section::Chart(_) | Section::Undrawn { .. } => String::new(),
        Section::Table(table) if table.rows() == 0 => String::new(),
        Section::Table(table) => titled(table, style),
        Section::Text(text) => style.wrap(text, HANGING),
        Section::Note(text) => style.dim(&style.wrap(text, 0)),
        Section::List { heading, items, indent } => {
            let heading = heading.iter().map(|heading| style.bold(&style.wrap(heading, HANGING)));
            let items = items.iter().map(|item| indented(item, *indent, style));
            heading.chain(items).collect::<Vec<_>>().join("\n")
        }
        Section::Code(text) => text.lines().map(|line| statement(line, style.unicode)).collect::<Vec<_>>().join("\n"),
        Section::Findings(found) => findings(found, style),
    }
}

/// The facts stay whole and go to the next line where the width ends.
fn head(title: &str, facts: &[String], settings: &[String], style: &Style) -> String {
    let mut lines = vec![style.shorten(title, style.width)];
    for fact in facts {
        let fact = style.shorten(fact, style.width);
        match lines.last_mut() {
            Some(line) if width(line) + FACTS_GAP + width(&fact) <= style.width => {
                *line += &format!("{:FACTS_GAP$}{fact}", "");
            }
            _ => lines.push(fact),
        }
    }
    lines[0] = style.bold(&lines[0]);
    lines.extend(settings.iter().map(|setting| style.wrap(setting, HANGING)));
    lines.join("\n")
}

/// A table under its sentence and over its remark.
fn titled(table: &Table, style: &Style) -> String {
    let title = table.title.iter().map(|title| style.wrap(title, HANGING));
    let note = table.note.iter().map(|note| style.dim(&style.wrap(note, 0)));
    title.chain([grid::render(table, style)]).chain(note).collect::<Vec<_>>().join("\n")
}

/// A line that keeps the spaces it begins with, up to a few.
fn indented(line: &str, indent: usize, style: &Style) -> String {
    let own = (line.len() - line.trim_start().len()).min(16);
    let start = indent + own;
    let narrower = Style { width: style.width.saturating_sub(start), ..*style };
    format!("{:start$}{}", "", narrower.wrap(line.trim(), indent + HANGING))
}

fn findings(findings: &Findings, style: &Style) -> String {
    let usual = Style { width: style.width.max(WIDTH_USUAL), ..*style };
    let mut lines = 0;
    let mut kinds: HashSet<&str> = HashSet::new();
    let (first, late): (Vec<&Finding>, Vec<&Finding>) = findings.answers.iter().partition(|answer| {
        lines += usual.wrap(&answer.message, HANGING).lines().count();
        // What is said of each of several paths is not an answer of one and a note of the next.
        let is_first = lines <= ANSWER_LINES_MAX || kinds.contains(answer.id.as_str());
        if is_first {
            kinds.insert(&answer.id);
        }
        is_first
    });
    let answers: Vec<String> = first.iter().map(|answer| style.wrap(&answer.message, HANGING)).collect();
    let others: Vec<String> =
        late.into_iter().chain(&findings.others).map(|finding| labelled(finding, style)).collect();
    let heading = findings.heading.iter().filter(|_| !others.is_empty());
    joined([answers.join("\n"), heading.chain(&others).cloned().collect::<Vec<_>>().join("\n")], "\n\n")
}

/// A finding behind the word of its severity.
fn labelled(finding: &Finding, style: &Style) -> String {
    let (word, styled) = match finding.severity {
        Severity::Info => ("note:", style.dim("note:")),
        Severity::Warning => ("warning:", style.bold("warning:")),
    };
    style.wrap(&format!("{word} {}", finding.message), HANGING).replacen(word, &styled, 1)
}
