//! What a run says, rendered from its document: pages for people, JSON and CSV for programs.
//!
//! This crate sees only `measure`: all that it shows was kept, so that the same run gives the same story in every
//! format and at any later time. It writes to what it is given and nowhere else.
//!
//! A body makes the sections of a page from a run; a renderer makes text of a page. Neither knows the other.

mod beside;
mod body;
mod compare;
mod compare_calibrations;
mod compare_profiles;
mod csv;
mod differences;
mod json;
mod markup;
mod redact;
mod renderer;
mod runs;
mod style;
pub mod svg;
mod text;

pub mod flame;
pub mod html;
pub mod page;

pub use beside::{CompareProfiles, name as name_of_run};
pub use body::place as place_of_run;
pub use compare::{Compared, nothing_compared};
pub use redact::without_texts;
pub use renderer::{Media, Renderer, Shown};
pub use style::Style;
pub use text::clean;

/// The renderers in the order of the help; the first is the usual one.
pub const RENDERERS: &[Renderer] = &[text::RENDERER, json::RENDERER, csv::RENDERER, html::RENDERER];

/// The renderer of this name.
pub fn renderer(name: &str) -> Option<&'static Renderer> {
    RENDERERS.iter().find(|row| row.name == name)
}

/// A page as text for people, ending in a newline.
pub fn render<'a>(shown: impl Into<Shown<'a>>, style: &Style) -> String {
    text::render(&shown.into().page(), style)
}
