//! Two profiles, one against the other: plain data that a profiler fills and a page shows.
//!
//! Nothing is computed here. All times are true microseconds; a difference is the second less the first.

use serde::Serialize;

use crate::finding::Finding;
use crate::sorting;

/// What became faster and slower between two profiles.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProfileComparison {
    /// The first profile, the one that ratios divide by.
    pub before: ProfileSide,
    /// The second profile.
    pub after: ProfileSide,
    /// The response time: everything but idle time.
    pub response_time: TimeChange,
    /// By wait class, idle ones too, those that differ most first.
    pub classes: Vec<TimeChange>,
    /// By event within its class, those that differ most first.
    pub events: Vec<TimeChange>,
    /// The statements of both, those that differ most first.
    pub statements: Vec<TimeChange>,
    /// The statements of the first profile alone, those with most time first.
    pub vanished: Vec<StatementAlone>,
    /// The statements of the second profile alone, those with most time first.
    pub new: Vec<StatementAlone>,
    /// Statements that found no room in these lists: those that differ least.
    pub left_out: u64,
    /// Statements of both whose plan is another one, in the order of the statements.
    pub plans: Vec<PlanChange>,
    /// How many statements a page shows of each kind.
    pub top: u64,
    /// Whether the profiles are kept ones, whose documents hold no spread of the executions.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lacks_spread: bool,
    /// The source of both profiles as a run document names it; `None` of traces. Words of the page depend on it.
    #[serde(skip)]
    pub source: Option<String>,
    /// Whether conditions were given that no call and no wait of either side passes.
    #[serde(skip)]
    pub passes_nothing: bool,
    /// What each profile warns of: its figures carry it into the comparison.
    pub warnings: (Vec<Finding>, Vec<Finding>),
}

impl ProfileComparison {
    /// Divides all times by the seconds that their sides were sampled, where these lengths are unequal: a change is
    /// then one of rates, and the lists are in its order.
    pub fn divide_by_lengths(&mut self) {
        let Some((first, second)) = unequal_lengths(&self.before, &self.after) else { return };
        let changes = [&mut self.classes, &mut self.events, &mut self.statements];
        for change in changes.into_iter().flatten().chain([&mut self.response_time]) {
            change.before.second_us = Some(change.before.total_us / first);
            change.after.second_us = Some(change.after.total_us / second);
        }
        self.vanished.iter_mut().for_each(|one| one.amount.second_us = Some(one.amount.total_us / first));
        self.new.iter_mut().for_each(|one| one.amount.second_us = Some(one.amount.total_us / second));
        for list in [&mut self.classes, &mut self.events, &mut self.statements] {
            sorting::by(list, |one, other| other.change_us().abs().total_cmp(&one.change_us().abs()));
        }
    }

    /// Whether both profiles have the same times, statements and plans.
    pub fn is_same(&self) -> bool {
        let changes = self.classes.iter().chain(&self.events).chain(&self.statements);
        let is_same_side = self.before.executions == self.after.executions && self.before.rows == self.after.rows;
        let is_new = !self.vanished.is_empty() || !self.new.is_empty() || !self.plans.is_empty();
        is_same_side && !is_new && changes.chain([&self.response_time]).all(|change| change.before == change.after)
    }
}

/// What one side of a comparison was made of.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProfileSide {
    /// As the user named it.
    pub name: String,
    /// Files that were read; absent of samples, which come from a server or are one recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// From its first to its last time.
    pub interval_us: f64,
    /// How long the server was sampled; absent of traces and logs, whose sessions have times of their own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled_us: Option<f64>,
    /// Executions by the client: recursive ones are part of them; absent of samples, which count none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executions: Option<u64>,
    /// Rows of the client's calls; absent of samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

/// Lengths of two sides that differ by more than this part are unequal: their totals do not compare.
const SAME_LENGTH: f64 = 0.03;

/// Seconds that each side was sampled, where these lengths are unequal.
fn unequal_lengths(before: &ProfileSide, after: &ProfileSide) -> Option<(f64, f64)> {
    let (first, second) = before.sampled_us.zip(after.sampled_us)?;
    let is_unequal = first > 0.0 && second > 0.0 && (first - second).abs() > first.max(second) * SAME_LENGTH;
    is_unequal.then_some((first / 1e6, second / 1e6))
}

/// The time of a class, an event, a statement or the whole on both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TimeChange {
    /// The class's key, the event's name or the statement's identifier; empty for the whole.
    pub name: String,
    /// The key of an event's class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The beginning of a statement's text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// In the first profile.
    pub before: Amount,
    /// In the second profile.
    pub after: Amount,
    /// Of the totals.
    pub difference_us: f64,
    /// Of the means of an execution; absent where a side has no execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_difference_us: Option<f64>,
    /// Between which values that difference lies with 95 %, by the spread of the executions alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_interval_us: Option<(f64, f64)>,
    /// Whether the difference is more than the executions' own spread.
    pub spread: Spread,
}

impl TimeChange {
    /// The second less the first: a second of their lengths where these are unequal, else in total.
    pub fn change_us(&self) -> f64 {
        self.after.compared_us() - self.before.compared_us()
    }
}

impl Amount {
    /// What is compared: the time a second where the lengths are unequal, else the total.
    pub fn compared_us(&self) -> f64 {
        self.second_us.unwrap_or(self.total_us)
    }
}

/// A time, in total and divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Amount {
    /// In total.
    pub total_us: f64,
    /// Divided by the seconds that the side was sampled; absent where both sides were sampled about as long, and of
    /// traces and logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub second_us: Option<f64>,
    /// Calls, waits, or of a statement its executions; absent where they were not counted, as of samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Divided by the executions of the statement, or by all of the client's; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_us: Option<f64>,
    /// Divided by the rows of the statement, or by all that the client got; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub row_us: Option<f64>,
}

/// Whether the means of an execution differ by more than the executions among themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// The interval of the difference excludes zero.
    Beyond,
    /// The interval of the difference includes zero.
    Within,
    /// A side has no execution, or neither has two: nothing is known of their spread.
    #[default]
    Unknown,
    /// There is no difference.
    None,
}

/// A statement that one side alone has.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StatementAlone {
    /// Its identifier.
    pub id: String,
    /// The beginning of its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its time.
    pub amount: Amount,
}

/// A statement whose plans are not the same on both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PlanChange {
    /// Its identifier.
    pub id: String,
    /// The hashes of its plans in the first profile.
    pub before: Vec<u64>,
    /// The hashes of its plans in the second profile.
    pub after: Vec<u64>,
    /// The plan of each side that was executed most, line by line; empty where a side has no plan lines.
    pub lines: Vec<PlanLineChange>,
}

/// A line of one plan or of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlanLineChange {
    /// Which plan has it.
    pub side: LineSide,
    /// Distance from the root, from 0.
    pub level: u32,
    /// The operation.
    pub operation: String,
}

/// Which plan has a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineSide {
    /// The first one alone.
    Before,
    /// The second one alone.
    After,
    /// Both.
    Both,
}
