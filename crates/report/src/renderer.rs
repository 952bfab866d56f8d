//! What a renderer is, and what it is given: each file that renders has one, and `RENDERERS` is the table of them.

use std::io::{self, Write};

use measure::Run;
use measure::compare::ProfileComparison;
use measure::store::Listing;
use serde::Serialize;

use crate::compare::Compared;
use crate::page::Page;
use crate::style::Style;
use crate::{body, compare, compare_profiles, runs};

/// A way to print a result.
#[derive(Debug)]
pub struct Renderer {
    /// Its word on a command line.
    pub name: &'static str,
    /// What it prints, in a few words.
    pub help: &'static str,
    /// What its text is read by.
    pub media: Media,
    /// Writes what is shown, in characters that `Style` allows where people read it. Errors are those of the writer.
    pub write: fn(Shown<'_>, &Style, &mut dyn Write) -> io::Result<()>,
}

/// What a rendered text is read by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// A terminal, on which other output may precede it.
    Terminal,
    /// A program, for which other output in the same stream would spoil it.
    Document,
    /// The same, of rows below a heading: several outputs in one stream are one table if their headings are the same.
    Rows,
    /// A browser or a program, for which one stream is one page.
    Page,
}

/// What is shown.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub enum Shown<'a> {
    /// A run.
    Run(&'a Run),
    /// A run that is in the store, where its identifier finds it.
    Kept(&'a Run),
    /// Two runs, one against the other.
    Comparison(Compared<'a>),
    /// Two profiles, one against the other.
    Profiles(&'a ProfileComparison),
    /// The runs that are kept.
    Runs(&'a Listing),
}

impl Shown<'_> {
    /// The page of it.
    pub fn page(self) -> Page {
        match self {
            Shown::Run(run) => body::page(run),
            Shown::Kept(run) => body::kept_page(run),
            Shown::Comparison(compared) => compare::page(&compared),
            Shown::Profiles(comparison) => compare_profiles::page(comparison),
            Shown::Runs(listing) => runs::page(listing),
        }
    }
}

impl<'a> From<&'a Run> for Shown<'a> {
    fn from(run: &'a Run) -> Shown<'a> {
        Shown::Run(run)
    }
}
