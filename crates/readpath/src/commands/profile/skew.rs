//! The flags of a breakdown: by what, and of which calls and waits.

use ::profile::event::Ticks;
use ::profile::observe::skew::{Dimension, Filter, Skew, SkewError};
use clap::Args;
use experiments::Journal;

use crate::run_journal::RunJournal;

#[derive(Args)]
pub(super) struct SkewArguments {
    /// Show the time broken down, and nothing else, by up to three of event, class, file, block, blocks, block_class,
    /// object, statement, plan_hash, user, session, module, action, service, client, container, call, p1, p2, p3,
    /// latency, depth, second, minute; p1 to p3 are the wait's parameters. JSON and CSV keep all tables: the breakdown
    /// is the one that is called skew, with a parameter or a column for each of these
    #[arg(long, value_name = "DIM[,DIM]", value_parser = Dimensions::parse)]
    by: Option<Dimensions>,
    /// Only calls and waits for which this holds, such as 'event=db file sequential read and latency>5ms'; with =,
    /// !=, ~ (contains), <, <=, >, >=; given several times, all must hold [with no --by: by event]
    #[arg(long = "where", value_name = "CONDITION", value_parser = Condition::parse)]
    conditions: Vec<Condition>,
}

/// Dimensions as one value of a flag.
#[derive(Clone)]
struct Dimensions(Vec<Dimension>);

impl Dimensions {
    fn parse(text: &str) -> Result<Dimensions, SkewError> {
        Dimension::parse_list(text).map(Dimensions)
    }
}

/// A condition as it was written, and what it means.
#[derive(Clone)]
pub(in crate::commands) struct Condition {
    text: String,
    filter: Filter,
}

impl Condition {
    pub(in crate::commands) fn parse(text: &str) -> Result<Condition, SkewError> {
        Ok(Condition { text: text.into(), filter: Filter::parse(&[text])? })
    }
}

/// The filter of several conditions, and how it was written; `None` without any.
pub(in crate::commands) fn filter(conditions: &[Condition]) -> Option<(Filter, String)> {
    let texts: Vec<&str> = conditions.iter().map(|condition| condition.text.as_str()).collect();
    let filter = Filter::all(conditions.iter().map(|condition| condition.filter.clone()));
    (!conditions.is_empty()).then(|| (filter, texts.join(" and ")))
}

impl SkewArguments {
    /// Whether a breakdown was asked for.
    pub(super) fn is_asked_for(&self) -> bool {
        self.by.is_some() || !self.conditions.is_empty()
    }

    /// The breakdown that was asked for, if any.
    pub(super) fn skew(&self, think_time: Ticks) -> Option<Skew> {
        let by = match &self.by {
            Some(by) => by.0.clone(),
            None if self.conditions.is_empty() => return None,
            None => vec![Dimension::event()],
        };
        let filter = filter(&self.conditions).map(|(filter, _)| filter).unwrap_or_default();
        Some(Skew::new(by, filter, think_time))
    }

    /// Notes in the run what was asked for.
    pub(super) fn describe(&self, journal: &mut RunJournal) {
        if let Some(by) = &self.by {
            let names: Vec<&str> = by.0.iter().map(|dimension| dimension.name()).collect();
            journal.describe_subject("by", names.join(",").into());
        }
        if let Some((_, text)) = filter(&self.conditions) {
            journal.describe_subject("where", text.into());
        }
    }
}
