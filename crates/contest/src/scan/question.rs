//! The questions of the contest, the rows that they are about, and a contender's reading.

use measure::schema::contest::ROW_TIME;
use serde::Deserialize;
use subjects::access_paths::Asked;

use crate::ledger::Ledger;

/// The seed of the rows.
pub(crate) const SEED: u64 = 1;

/// The question in the names of bars.
pub(crate) fn in_words(asked: Asked) -> &'static str {
    match asked {
        Asked::AllPass => "id > 0",
        Asked::HalfPass => "year > 1950",
        Asked::NoPredicate => "no predicate",
    }
}

/// What one contender took for one question, once; as the Python prints it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Reading {
    /// Who.
    pub(crate) contender: String,
    /// What was asked.
    #[serde(rename = "question")]
    pub(crate) asked: Asked,
    /// Nanoseconds a row.
    pub(crate) row_ns: f64,
    /// The answer.
    pub(crate) count: u64,
}

impl Reading {
    /// Adds the reading to the ledger. Errors where its answer is not that of the others.
    pub(crate) fn add_to(self, ledger: &mut Ledger) -> Result<(), String> {
        let question = self.asked.name();
        ledger.check(question, &self.contender, self.count as i64)?;
        ledger.add(question, &self.contender, &ROW_TIME, self.row_ns);
        Ok(())
    }
}
