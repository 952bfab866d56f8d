//! A running server on a terminal: what its sessions do now, and did in the last hour.
//!
//! The path: looks at all sessions → [`History`], an hour of seconds → the seconds that the reader chose, summed →
//! what is drawn. [`Screen`] has the terminal and gives it back as it was on every way out. Nothing here knows how a
//! server is asked.

mod chart;
mod draw;
mod fit;
mod gathering;
mod history;
mod keyboard;
mod palette;
mod reads;
mod recent;
mod screen;
mod second;
mod sums;
#[cfg(test)]
mod tests;
mod view;

pub use draw::Facts;
pub use history::History;
pub use screen::{Screen, give_back};
pub use view::{Pane, View};
