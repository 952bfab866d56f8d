//! What every contender took for every question, pair by pair, and the answers that all must give.

use measure::Unit;
use measure::statistics::median;
use subjects::access_paths::Asked;

use crate::bars::figure;
use crate::document::{Document, samples};

/// The questions, in the order of the page.
pub(crate) const QUESTIONS: [(Asked, &str); 3] =
    [(Asked::AllPass, "id > 0"), (Asked::HalfPass, "year > 1950"), (Asked::NoPredicate, "no predicate")];

/// The question of this name.
pub(crate) fn question_of_name(name: &str) -> Option<Asked> {
    QUESTIONS.into_iter().map(|(asked, _)| asked).find(|asked| asked.name() == name)
}

/// What one contender took for one question, once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    /// Who.
    pub(crate) contender: String,
    /// What was asked.
    pub(crate) asked: Asked,
    /// Nanoseconds a row.
    pub(crate) row_ns: f64,
    /// The answer.
    pub(crate) count: u64,
}

/// All readings.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    entries: Vec<Entry>,
    answers: Vec<(Asked, String, u64)>,
}

#[derive(Debug)]
struct Entry {
    contender: String,
    asked: Asked,
    samples: Vec<f64>,
}

impl Ledger {
    /// Adds a reading. Errors where its answer is not that of the others: then nothing can be compared.
    pub(crate) fn add(&mut self, reading: Reading) -> Result<(), String> {
        let Reading { contender, asked, row_ns, count } = reading;
        match self.answers.iter().find(|(known, ..)| *known == asked) {
            Some((_, _, answer)) if *answer == count => {}
            Some((_, other, answer)) => {
                let asked = asked.name();
                return Err(format!("asked {asked}, {contender} counted {count} and {other} {answer}"));
            }
            None => self.answers.push((asked, contender.clone(), count)),
        }
        match self.entries.iter_mut().find(|entry| entry.contender == contender && entry.asked == asked) {
            Some(entry) => entry.samples.push(row_ns),
            None => self.entries.push(Entry { contender, asked, samples: vec![row_ns] }),
        }
        Ok(())
    }

    /// Nanoseconds a row of every pair; empty where the contender was not asked that.
    pub(crate) fn samples(&self, contender: &str, asked: Asked) -> &[f64] {
        let found = self.entries.iter().find(|entry| entry.contender == contender && entry.asked == asked);
        found.map_or(&[], |entry| &entry.samples)
    }

    /// Of the contenders whose name begins so, the one with the least median.
    pub(crate) fn quickest<'a>(&'a self, beginnings: &[&str], asked: Asked) -> Option<&'a str> {
        let is_meant = |name: &str| beginnings.iter().any(|beginning| name.starts_with(beginning));
        let of_question = self.entries.iter().filter(|entry| entry.asked == asked && is_meant(&entry.contender));
        let medians = of_question.filter_map(|entry| Some((entry.contender.as_str(), median(&entry.samples)?)));
        medians.min_by(|one, other| one.1.total_cmp(&other.1)).map(|(name, _)| name)
    }

    /// Contenders in the order in which they came.
    fn contenders(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for entry in &self.entries {
            if !names.contains(&entry.contender.as_str()) {
                names.push(&entry.contender);
            }
        }
        names
    }

    /// One line a contender: medians in ns a row.
    pub(crate) fn table(&self) -> String {
        let mut page = format!("{:<42}", "nanoseconds a row, medians");
        QUESTIONS.iter().for_each(|(_, name)| page += &format!("{name:>13}"));
        page.push('\n');
        for contender in self.contenders() {
            page += &format!("{contender:<42}");
            for (asked, _) in QUESTIONS {
                let middle = median(self.samples(contender, asked)).map_or("-".into(), figure);
                page += &format!("{middle:>13}");
            }
            page.push('\n');
        }
        let answers: Vec<String> =
            self.answers.iter().map(|(asked, _, count)| format!("{} {count}", asked.name())).collect();
        page + &format!("all counted alike: {}\n", answers.join(", "))
    }

    /// A case for each contender and question, and the answers that all gave.
    pub(crate) fn write_to(&self, document: &mut Document) {
        for Entry { contender, asked, samples: found } in &self.entries {
            let parameters = [("contender", contender.as_str().into()), ("question", asked.name().into())];
            document.case(parameters, vec![samples("row_time", Unit::Nanoseconds, found.iter().copied())]);
        }
        for (asked, _, count) in &self.answers {
            document.describe(&format!("answer_{}", asked.name()), *count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(contender: &str, row_ns: f64, count: u64) -> Reading {
        Reading { contender: contender.into(), asked: Asked::AllPass, row_ns, count }
    }

    #[test]
    fn a_contender_that_counts_otherwise_ends_the_comparison() {
        let mut ledger = Ledger::default();
        ledger.add(reading("readpath", 1.0, 7)).unwrap();
        let error = ledger.add(reading("Polars", 0.1, 8)).unwrap_err();
        assert_eq!(error, "asked all-pass, Polars counted 8 and readpath 7");
    }

    #[test]
    fn the_quickest_is_the_one_with_the_least_median_and_not_with_the_least_turn() {
        let mut ledger = Ledger::default();
        for (one, other) in [(0.1, 0.3), (0.5, 0.3), (0.5, 0.3)] {
            ledger.add(reading("Polars, lazily", one, 7)).unwrap();
            ledger.add(reading("NumPy", other, 7)).unwrap();
        }
        assert_eq!(ledger.quickest(&["Polars", "NumPy"], Asked::AllPass), Some("NumPy"));
        assert_eq!(ledger.quickest(&["Polars"], Asked::AllPass), Some("Polars, lazily"));
        assert_eq!(ledger.quickest(&["DuckDB"], Asked::AllPass), None);
        assert!(ledger.table().contains("NumPy") && ledger.table().contains("all-pass 7"), "{}", ledger.table());
    }
}
