//! What every step works on: one subject, the keys of its joins, and the cases that were measured.

use measure::quantity::counted;
use measure::schema::join::findings as row;
use measure::schema::join::{self, parameters};
use measure::{Case, Finding, Parameters};
use subjects::NestedLoops;
use subjects::nested_loops::{Group, InnerFacts, InnerTable, JoinVariant, Keys};

use super::parameters::JoinParameters;
use crate::machine::Machine;

/// Times within this ratio are the same: what four cases of the same reads differ by.
pub(super) const SAME: f64 = 1.1;

/// The subject that is measured.
pub(super) struct Bench<'a> {
    pub(super) parameters: &'a JoinParameters,
    pub(super) machine: &'a Machine,
    pub(super) subject: &'a mut dyn NestedLoops,
    pub(super) name: String,
    names_subject: bool,
    /// Joins so far, each of which takes keys of its own.
    turn: u64,
}

impl<'a> Bench<'a> {
    /// A bench for a subject, whose name is in its cases where there are several.
    pub(super) fn new(
        (parameters, machine): (&'a JoinParameters, &'a Machine),
        subject: &'a mut dyn NestedLoops,
        names_subject: bool,
    ) -> Bench<'a> {
        let name = subject.name().to_string();
        Bench { parameters, machine, subject, name, names_subject, turn: 0 }
    }

    /// The subject's name where its cases have it, so that a sentence has to say of which it is.
    pub(super) fn name_among_several(&self) -> Option<&str> {
        self.names_subject.then_some(self.name.as_str())
    }

    /// The keys of the next join. What a join has read may still be in a cache of the storage, so that each takes keys
    /// of its own; a model is at rest each time, and all joins of a `round` take the same.
    pub(super) fn keys(&mut self, facts: &InnerFacts, round: usize) -> Keys {
        let number = if facts.is_virtual { round as u64 } else { self.turn };
        self.turn += 1;
        let JoinParameters { outer_rows, asked, .. } = self.parameters;
        Keys::of_turn(number, *outer_rows, asked.rows, facts.keys_may_repeat)
    }

    /// How many rows a join looks up: no more than there are, where keys may not repeat.
    pub(super) fn looked_up(&self, table: InnerTable, facts: &InnerFacts) -> u64 {
        Keys::of_turn(0, self.parameters.outer_rows, table.rows, facts.keys_may_repeat).count
    }

    /// The parameters that all cases of a table have.
    pub(super) fn labels(&self, table: InnerTable, facts: &InnerFacts, group: &Group) -> Parameters {
        let outer_rows = self.looked_up(table, facts);
        let subject = self.names_subject.then(|| parameters::SUBJECT.of(self.name.as_str()));
        let mut labels: Parameters = subject.into_iter().collect();
        labels.extend([
            parameters::RAND.of(table.rand),
            parameters::PAD.of(table.pad),
            parameters::ROWS.of(table.rows),
            parameters::OUTER_ROWS.of(outer_rows),
        ]);
        labels.extend(group.parameters.clone());
        labels
    }

    /// Joins of a group in words.
    pub(super) fn what(&self, rand: u8, group: &Group) -> String {
        let on = if self.names_subject { format!(" on {}", self.name) } else { String::new() };
        let name = if group.name.is_empty() { String::new() } else { format!(", {}", group.name) };
        let direct = if self.names_subject && group.is_direct { ", direct" } else { "" };
        format!("joins{on} with {rand} % of the rows out of order{name}{direct}")
    }
}

/// A case that was measured.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) rand: u8,
    pub(super) group: Group,
    pub(super) variant: JoinVariant,
    pub(super) case: Case,
}

impl Measured {
    /// Milliseconds of the whole join, at the median.
    pub(super) fn elapsed(&self) -> f64 {
        join::ELAPSED.median(&self.case).unwrap_or(0.0)
    }

    /// Milliseconds of waiting for reads, at the median.
    pub(super) fn io_time(&self) -> f64 {
        join::IO_TIME.median(&self.case).unwrap_or(0.0)
    }

    /// Whether it read so few blocks that its time says nothing of a gain.
    pub(super) fn has_few_blocks(&self) -> bool {
        join::has_few_blocks(&self.case)
    }

    /// Whether `other` belongs to the same table and group.
    pub(super) fn is_beside(&self, other: &Measured) -> bool {
        self.rand == other.rand && self.group.parameters == other.group.parameters
    }

    /// How many times less time it takes than one block at a time in its group; `None` without that or of itself.
    pub(super) fn gain(&self, among: &[Measured]) -> Option<f64> {
        let alone = among.iter().find(|case| !case.variant.is_gathered && case.is_beside(self))?;
        (self.variant.is_gathered && self.elapsed() > 0.0).then(|| alone.elapsed() / self.elapsed())
    }
}

/// That no gain is said of joins of which one read few blocks; `None` where all read enough.
pub(super) fn absent_gain<'a>(rand: u8, measured: impl Iterator<Item = &'a Measured>) -> Option<Finding> {
    let few = measured.filter(|case| case.has_few_blocks()).filter_map(|case| join::blocks_read(&case.case));
    let fewest = few.min_by(f64::total_cmp)?;
    let blocks = counted(fewest as u64, "block", "blocks");
    Some(row::ABSENT_GAIN.of(format!(
        "With {rand} % of the rows out of order, a join read {blocks}, and fewer than {} are too few to show a gain \
         from batching: ask for more --outer-rows, and --rows if the table has no more.",
        join::BLOCKS_MIN
    )))
}

/// What gathering is worth at its best on one subject.
#[derive(Clone, Debug)]
pub(super) struct Gain {
    pub(super) subject: String,
    pub(super) rand: u8,
    pub(super) method: &'static str,
    /// How many times less time than one at a time.
    pub(super) elapsed: f64,
}

impl Gain {
    /// The best gain of one table; none where one at a time or all others were left out.
    pub(super) fn best(subject: &str, rand: u8, measured: &[Measured]) -> Option<Gain> {
        let gains = measured.iter().filter_map(|case| Some((case, case.gain(measured)?)));
        let gains = gains.filter(|_| !measured.iter().any(Measured::has_few_blocks));
        let (best, elapsed) = gains.max_by(|one, other| one.1.total_cmp(&other.1))?;
        Some(Gain { subject: subject.into(), rand, method: best.variant.method, elapsed })
    }
}
