//! Sections of a page, in the order in which they are read.

use measure::Finding;

use super::cell::Cell;
use super::chart::Chart;
use super::table::Table;

/// A page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// What stands on it, from the top; a renderer separates sections.
    pub sections: Vec<Section>,
}

/// One part of a page.
#[derive(Clone, Debug, PartialEq)]
pub enum Section {
    /// What the page is about.
    Head {
        /// The title.
        title: String,
        /// Facts that stay whole each: the machine, the subject.
        facts: Vec<String>,
        /// What all cases have in common, and what else needs a line of its own.
        settings: Vec<String>,
    },
    /// The numbers that matter most, at most three. A page of text has them in its first sentences.
    Figures(Vec<Figure>),
    /// A chart. A renderer that draws none leaves it out: the tables have its numbers.
    Chart(Box<Chart>),
    /// The place of a chart that a run has no numbers for. A renderer that draws no charts leaves it out.
    Undrawn {
        /// The title of the chart.
        title: &'static str,
        /// Why it is not drawn, as a sentence.
        why: String,
    },
    /// A table, with bars where it has a column of them.
    Table(Table),
    /// A sentence or a paragraph.
    Text(String),
    /// A remark on how to read what stands above.
    Note(String),
    /// Sentences or lines under a heading.
    List {
        /// The heading; none where the lines speak for themselves.
        heading: Option<String>,
        /// The lines, each of which may begin with spaces.
        items: Vec<String>,
        /// Columns by which they stand in.
        indent: usize,
    },
    /// Text to be copied, character by character.
    Code(String),
    /// What the run says by itself.
    Findings(Findings),
}

/// A number that matters.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is, in a few words.
    pub what: String,
    /// The number with its unit.
    pub cell: Cell,
    /// Its range, its count and its source in words.
    pub how: String,
}

/// The findings of a run that the page does not give elsewhere.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Findings {
    /// What the experiment asked, answered.
    pub answers: Vec<Finding>,
    /// What to beware of.
    pub others: Vec<Finding>,
    /// What the others are about, where the page is about less.
    pub heading: Option<String>,
}

impl Section {
    /// A list without a heading, not indented.
    pub(crate) fn lines(items: Vec<String>) -> Section {
        Section::List { heading: None, items, indent: 0 }
    }

    /// Lines that stand in under a heading; none where there is no line.
    pub(crate) fn list(heading: impl Into<String>, items: Vec<String>) -> Option<Section> {
        (!items.is_empty()).then(|| Section::List { heading: Some(heading.into()), items, indent: 2 })
    }
}
