//! What hears the looks of a watch in place of its profile.

use std::collections::BTreeMap;
use std::time::Duration;

use measure::Parameters;
use profile::event::Ticks;
use profile::source::sampled::{Sample, Traced};
use profile::tables::sampled::Counters;

/// Hears the looks of a watch.
pub trait Listener {
    /// What is watched and how, and why its reads are not traced, where they are not: at the begin, when the server is
    /// there again, and when its memory can no longer be read, or again.
    fn begin(&mut self, subject: Parameters, untraced: Option<&str>);

    /// A look at all processes, which stands for the time `since` the look before; none for the first.
    fn look(&mut self, since: Ticks, samples: &[Sample]);

    /// An event that had one name, as long as the server had not said its own, has another one.
    fn rename(&mut self, was: &str, is: &str);

    /// What was traced of reads until a look at these processes, at a moment in microseconds since 1970, with the names
    /// of relations by the paths of their files, as far as they are known.
    fn trace(&mut self, look: (i64, &[Sample]), traced: Traced, names: &BTreeMap<String, String>);

    /// Whether what the server has counted of its statements is wanted now. Then it is asked at once: the answer, which
    /// may come some looks later, is of the time until now.
    fn wants_counters(&mut self) -> bool;

    /// How many sessions there are of which the server shows only that they are there; its memory may show more.
    fn hidden(&mut self, sessions: u64);

    /// What the server has counted since it was asked last, by the statements' identifiers; nothing where it counts
    /// nothing; the active time of its sessions since then, by its own account; and how long it worked for our session.
    fn counted(&mut self, counted: &BTreeMap<i64, (Counters, String)>, account: Option<Ticks>, own: Duration);

    /// An answer to who blocks whom, asked right after a look. It may come some looks later: the samples are those of
    /// the last look before it came.
    fn blocking(&mut self, answer: &[(u32, Vec<u32>)]);

    /// Whether the texts of all statements are wanted with the next look.
    fn takes_texts(&mut self) -> bool;

    /// A sentence for the user.
    fn say(&mut self, sentence: String);

    /// The server went away.
    fn away(&mut self);

    /// It has been away for a while, for this reason, and is looked for until it is back.
    fn unreached(&mut self, reason: &str);

    /// It is back.
    fn back(&mut self);

    /// It could not be looked at for this time, which ends now.
    fn lose(&mut self, time: Ticks, reason: &str);
}
