//! What every contender needed for every question, pair by pair, and the answers that all must give.

use std::collections::BTreeMap;

use measure::schema::Spec;
use measure::schema::contest::parameters::{CONTENDER, QUESTION};
use measure::statistics::median;
use measure::{Case, Statistics};

/// How samples were obtained, as their metrics say.
const SOURCE: &str = "one sample a pair, contenders in turn";

/// All samples, one a pair.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    series: Vec<Series>,
    answers: BTreeMap<String, (String, i64)>,
}

#[derive(Debug)]
struct Series {
    question: String,
    contender: String,
    spec: Spec,
    samples: Vec<f64>,
}

/// Which of several contenders counts as the best one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Best {
    /// The one with the least median.
    Least,
    /// The one with the greatest.
    Most,
}

impl Ledger {
    /// Adds a sample.
    pub(crate) fn add(&mut self, question: &str, contender: &str, spec: &Spec, sample: f64) {
        match self.series.iter_mut().find(|series| series.is(question, contender, spec)) {
            Some(series) => series.samples.push(sample),
            None => self.series.push(Series {
                question: question.into(),
                contender: contender.into(),
                spec: spec.clone(),
                samples: vec![sample],
            }),
        }
    }

    /// Takes down an answer. Errors where another contender gave another one: then nothing can be compared.
    pub(crate) fn check(&mut self, question: &str, contender: &str, answer: i64) -> Result<(), String> {
        let (first, known) = self.answers.entry(question.into()).or_insert_with(|| (contender.into(), answer));
        if *known == answer {
            return Ok(());
        }
        Err(format!("asked {question}, {contender} answered {answer} and {first} {known}"))
    }

    /// The answers that all contenders gave.
    pub(crate) fn answers(&self) -> impl Iterator<Item = (&str, i64)> {
        self.answers.iter().map(|(question, (_, answer))| (question.as_str(), *answer))
    }

    /// The samples of one contender; empty where there are none.
    pub(crate) fn samples(&self, question: &str, contender: &str, spec: &Spec) -> &[f64] {
        self.series.iter().find(|series| series.is(question, contender, spec)).map_or(&[], |series| &series.samples)
    }

    /// Of the contenders whose name begins so, the one whose median over all pairs is best.
    ///
    /// One is picked for all pairs. To pick the luckiest of several noisy turns anew in each pair would hold readpath
    /// against a peer that does not exist.
    pub(crate) fn best(&self, beginnings: &[&str], question: &str, spec: &Spec, best: Best) -> Option<&str> {
        let is_meant = |series: &&Series| {
            let begins = beginnings.iter().any(|beginning| series.contender.starts_with(beginning));
            begins && series.is(question, &series.contender, spec)
        };
        let medians = self.series.iter().filter(is_meant).filter_map(|series| Some((series, median(&series.samples)?)));
        let by = |one: &f64, other: &f64| match best {
            Best::Least => other.total_cmp(one),
            Best::Most => one.total_cmp(other),
        };
        medians
            .reduce(|first, next| if by(&next.1, &first.1).is_gt() { next } else { first })
            .map(|(series, _)| series.contender.as_str())
    }

    /// One contender's samples in another's, pair by pair, each with what was measured of it.
    pub(crate) fn ratios(&self, question: &str, one: (&str, &Spec), other: (&str, &Spec)) -> Vec<f64> {
        let (ones, others) = (self.samples(question, one.0, one.1), self.samples(question, other.0, other.1));
        ones.iter().zip(others).map(|(one, other)| one / other).collect()
    }

    /// Median and range of one contender's samples in another's, by one metric.
    pub(crate) fn ratio(&self, question: &str, one: &str, other: &str, spec: &Spec) -> Result<Statistics, String> {
        let ratios = self.ratios(question, (one, spec), (other, spec));
        Statistics::of_samples(&ratios).ok_or_else(|| format!("`{one}` or `{other}` was not measured"))
    }

    /// A case for each question and contender, in the order in which they came.
    pub(crate) fn cases(&self) -> Vec<Case> {
        let mut cases: Vec<Case> = Vec::new();
        for Series { question, contender, spec, samples } in &self.series {
            let parameters = [QUESTION.of(question.as_str()), CONTENDER.of(contender.as_str())].into_iter().collect();
            let place = cases.iter().position(|case| case.parameters == parameters).unwrap_or_else(|| {
                cases.push(Case::new(parameters));
                cases.len() - 1
            });
            cases[place].metrics.extend(spec.of_samples(SOURCE, samples));
        }
        cases
    }
}

impl Series {
    fn is(&self, question: &str, contender: &str, spec: &Spec) -> bool {
        self.question == question && self.contender == contender && self.spec == *spec
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::schema::contest::{ELAPSED, IOPS, ROW_TIME};

    #[test]
    fn a_contender_that_answers_otherwise_ends_the_comparison() {
        let mut ledger = Ledger::default();
        ledger.check("all-pass", "readpath", 7).unwrap();
        ledger.check("half-pass", "Polars", 8).unwrap();
        ledger.check("all-pass", "PostgreSQL", 7).unwrap();
        let error = ledger.check("all-pass", "Polars", 8).unwrap_err();
        assert_eq!(error, "asked all-pass, Polars answered 8 and readpath 7");
    }

    #[test]
    fn the_best_has_the_best_median_and_not_the_luckiest_turn() {
        let mut ledger = Ledger::default();
        for (one, other) in [(0.1, 0.3), (0.5, 0.3), (0.5, 0.3)] {
            ledger.add("all", "Polars, lazily", &ROW_TIME, one);
            ledger.add("all", "NumPy", &ROW_TIME, other);
        }
        let best = |beginnings: &[&str], best| ledger.best(beginnings, "all", &ROW_TIME, best);
        assert_eq!(best(&["Polars", "NumPy"], Best::Least), Some("NumPy"));
        assert_eq!(best(&["Polars", "NumPy"], Best::Most), Some("Polars, lazily"));
        assert_eq!(best(&["DuckDB"], Best::Least), None);
    }

    #[test]
    fn ratios_are_taken_within_pairs_so_that_a_drift_of_the_machine_falls_out() {
        let mut ledger = Ledger::default();
        for (ours, theirs) in [(90.0, 100.0), (45.0, 50.0), (99.0, 110.0)] {
            ledger.add("reads", "readpath", &IOPS, ours);
            ledger.add("reads", "fio", &IOPS, theirs);
        }
        assert!((ledger.ratio("reads", "readpath", "fio", &IOPS).unwrap().min - 0.9).abs() < 1e-9);
        assert!(ledger.ratio("reads", "readpath", "absent", &IOPS).is_err());
    }

    #[test]
    fn one_contender_and_question_are_one_case_with_all_their_metrics() {
        let mut ledger = Ledger::default();
        ledger.add("a", "readpath", &IOPS, 1.0);
        ledger.add("a", "fio", &IOPS, 1.0);
        ledger.add("a", "readpath", &ELAPSED, 2.0);
        let cases = ledger.cases();
        assert_eq!(cases.len(), 2);
        assert_eq!(cases[0].metrics.len(), 2);
    }
}
