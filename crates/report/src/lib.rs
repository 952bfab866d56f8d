//! What a run says, rendered from its document: pages for people, JSON and CSV for programs.
//!
//! This crate sees only `measure`: all that it shows was kept, so that the same run gives the same story in every
//! format and at any later time. It returns text and writes nothing.
//!
//! A body makes the sections of a page from a run; a renderer makes text of a page. Neither knows the other.

mod body;
mod compare;
mod runs;
mod text;

pub mod csv;
pub mod flame;
pub mod json;
pub mod page;

use measure::Run;
use measure::compare::Comparison;
use measure::store::Listing;

use page::Page;
pub use text::{Style, wrap};

/// What is shown of a run, for any renderer.
pub fn page(run: &Run) -> Page {
    body::page(run)
}

/// The whole of a run as text for people, ending in a newline.
pub fn render(run: &Run, style: &Style) -> String {
    text::render(&page(run), style)
}

/// A comparison as text for people, ending in a newline.
pub fn render_comparison(comparison: &Comparison, style: &Style) -> String {
    text::render(&compare::page(comparison), style)
}

/// The list of runs as text for people, newest first, ending in a newline.
pub fn render_runs(listing: &Listing, style: &Style) -> String {
    text::render(&runs::page(listing), style)
}
