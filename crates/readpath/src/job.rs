//! Job files: the runs that a file in TOML asks for, each of them a command line. Nothing here measures, and nothing
//! here knows an experiment: the parameters and what they mean come from the definition of the command line.

pub(crate) mod blank;
pub(crate) mod experiment;
mod keys;
pub(crate) mod plan;
pub(crate) mod problem;
mod refusal;
pub(crate) mod repeat;
mod set;
mod sheet;
pub(crate) mod source;
pub(crate) mod spelling;
mod value;
pub(crate) mod words;

pub(crate) use keys::in_keys;
pub(crate) use plan::{Plan, PlannedRun, plan};
pub(crate) use problem::Problem;
pub(crate) use refusal::{is_of_the_whole, refusal};

#[cfg(test)]
mod tests;
