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

/// One contender held against the best of several.
#[derive(Debug, Default)]
pub(crate) struct AgainstBest {
    /// Its sample in the peer's, one a pair.
    pub(crate) ratios: Vec<f64>,
    /// Which peers were the best, each in how many pairs.
    peers: BTreeMap<String, usize>,
}

impl AgainstBest {
    /// Which peers it was held against, in words: where not the same in all pairs, each in how many.
    pub(crate) fn source(&self) -> String {
        let peers: Vec<String> = match self.peers.len() {
            1 => self.peers.keys().map(|peer| format!("`{peer}`")).collect(),
            _ => self.peers.iter().map(|(peer, pairs)| format!("`{peer}` in {pairs}")).collect(),
        };
        format!("against {}", peers.join(", "))
    }
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

    /// One contender's samples, pair by pair, in those of the best among the contenders whose name begins so.
    ///
    /// In each pair the peer is the one whose median over the other pairs is best. Chosen by the samples that it is
    /// then judged by, the best of fifteen noisy contenders would be a lucky one, faster than it ever is again.
    pub(crate) fn against_best(
        &self,
        question: &str,
        one: &str,
        spec: &Spec,
        beginnings: &[&str],
        best: Best,
    ) -> AgainstBest {
        let ones = self.samples(question, one, spec);
        let mut against = AgainstBest::default();
        for (pair, sample) in ones.iter().enumerate() {
            let elsewhere = |series: &Series| {
                let others = series.samples.iter().enumerate().filter(|(place, _)| *place != pair || ones.len() == 1);
                median(&others.map(|(_, sample)| *sample).collect::<Vec<_>>())
            };
            let peer = self.best(beginnings, question, spec, best, elsewhere);
            if let Some((peer, other)) = peer.and_then(|peer| Some((peer, peer.samples.get(pair)?))) {
                against.ratios.push(sample / other);
                *against.peers.entry(peer.contender.clone()).or_default() += 1;
            }
        }
        against
    }

    fn best(
        &self,
        beginnings: &[&str],
        question: &str,
        spec: &Spec,
        best: Best,
        value: impl Fn(&Series) -> Option<f64>,
    ) -> Option<&Series> {
        let is_meant = |series: &&Series| {
            let begins = beginnings.iter().any(|beginning| series.contender.starts_with(beginning));
            begins && series.is(question, &series.contender, spec)
        };
        let values = self.series.iter().filter(is_meant).filter_map(|series| Some((series, value(series)?)));
        let is_better = |one: f64, other: f64| match best {
            Best::Least => one < other,
            Best::Most => one > other,
        };
        values.reduce(|first, next| if is_better(next.1, first.1) { next } else { first }).map(|(series, _)| series)
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
        for (one, other) in [(0.1, 0.3), (0.5, 0.3), (0.5, 0.3), (0.5, 0.3)] {
            ledger.add("all", "readpath", &ROW_TIME, 0.6);
            ledger.add("all", "Polars, lazily", &ROW_TIME, one);
            ledger.add("all", "NumPy", &ROW_TIME, other);
        }
        let against = |beginnings: &[&str], best| ledger.against_best("all", "readpath", &ROW_TIME, beginnings, best);
        let least = against(&["Polars", "NumPy"], Best::Least);
        assert!(least.ratios.iter().all(|ratio| (ratio - 2.0).abs() < 1e-9), "{least:?}");
        assert!(least.source().contains("against `NumPy`"), "{}", least.source());
        let most = against(&["Polars", "NumPy"], Best::Most);
        assert!(most.source().contains("against `Polars, lazily`"), "{}", most.source());
        assert!(against(&["DuckDB"], Best::Least).ratios.is_empty());
    }

    #[test]
    fn the_luckiest_of_equal_peers_is_not_the_bar() {
        let mut ledger = Ledger::default();
        // Each of five equal peers has one lucky pair.
        for pair in 0..5 {
            ledger.add("reads", "readpath", &IOPS, 100.0);
            for peer in 0..5 {
                let sample = if peer == pair { 130.0 } else { 100.0 };
                ledger.add("reads", &format!("fio {peer}"), &IOPS, sample);
            }
        }
        let against = ledger.against_best("reads", "readpath", &IOPS, &["fio "], Best::Most);
        let median = Statistics::of_samples(&against.ratios).unwrap().median;
        assert!((median - 1.0).abs() < 1e-9, "{against:?}");
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
