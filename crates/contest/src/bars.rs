//! Bars: what a contest wants of readpath, and whether it was reached. Which bars there are, each contest says.

use measure::quantity::three_digits;
use measure::schema::contest::findings as row;
use measure::schema::contest::{self, parameters};
use measure::{Case, Finding, Statistics, Unit};

use crate::ledger::AgainstBest;

/// How a bar's figure was obtained, where the bar says nothing else.
const SOURCE: &str = "one ratio a pair";

/// What a bar asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Wanted {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
    /// Neither less nor more than these.
    Between(f64, f64),
}

/// How a bar judges its figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Judged {
    /// What is wanted.
    pub(crate) wanted: Wanted,
    /// What a miss is called: `slower`, `dearer`, ...
    pub(crate) word: &'static str,
    /// What the figure is counted in; a count where there is no unit, and the name says of what.
    pub(crate) unit: Unit,
}

/// One thing wanted of readpath.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// What is compared, and where: the same in every run, so that runs can be compared.
    pub(crate) name: String,
    judged: Judged,
    /// What was reached, or why nothing was measured.
    measured: Result<Statistics, String>,
    /// How it was obtained: against which peer, with what else is worth knowing.
    source: String,
}

/// What became of a bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// Reached.
    Met,
    /// Missed by this much, in what the bar is counted in.
    Missed(f64),
    /// Nothing was measured.
    NotJudged,
}

impl Judged {
    /// A ratio to a peer's.
    pub(crate) const fn ratio(wanted: Wanted, word: &'static str) -> Judged {
        Judged { wanted, word, unit: Unit::Ratio }
    }

    /// A figure whose unit the bar names.
    pub(crate) const fn figure(wanted: Wanted, word: &'static str) -> Judged {
        Judged { wanted, word, unit: Unit::Count }
    }
}

impl Bar {
    /// A bar with what was reached, or why nothing was measured.
    pub(crate) fn new(name: impl Into<String>, judged: Judged, measured: Result<Statistics, String>) -> Bar {
        Bar { name: name.into(), judged, measured, source: SOURCE.into() }
    }

    /// A bar over one sample a pair; without any, `absent` says why.
    pub(crate) fn of_samples(name: impl Into<String>, judged: Judged, samples: &[f64], absent: &str) -> Bar {
        Bar::new(name, judged, Statistics::of_samples(samples).ok_or_else(|| absent.into()))
    }

    /// A bar over one ratio a pair to the best of several peers, which `peers` names where none was measured.
    pub(crate) fn against_best(name: impl Into<String>, judged: Judged, best: &AgainstBest, peers: &str) -> Bar {
        Bar::of_samples(name, judged, &best.ratios, &format!("{peers} was not measured")).from(best.source())
    }

    /// The bar with how its figure was obtained.
    #[must_use]
    pub(crate) fn from(self, source: impl Into<String>) -> Bar {
        Bar { source: source.into(), ..self }
    }

    /// Whether the median reaches what is wanted.
    pub(crate) fn outcome(&self) -> Outcome {
        match &self.measured {
            Err(_) => Outcome::NotJudged,
            Ok(statistics) => self.judged.wanted.outcome(statistics.median),
        }
    }

    /// The bar as a case of the run.
    pub(crate) fn case(&self) -> Case {
        let Bar { name, judged, measured, source } = self;
        let wanted = judged.wanted.to_string();
        let parameters = [parameters::BAR.of(name.as_str()), parameters::WANTED.of(wanted)].into_iter().collect();
        let metric = measured.as_ref().ok().map(|figure| contest::bar(judged.unit).of_statistics(source, *figure));
        Case { metrics: metric.into_iter().collect(), ..Case::new(parameters) }
    }

    /// A finding where the bar was missed or could not be judged.
    pub(crate) fn finding(&self) -> Option<Finding> {
        match self.outcome() {
            Outcome::Met => None,
            Outcome::NotJudged => Some(row::BAR_NOT_JUDGED.of(self.sentence())),
            Outcome::Missed(by) => Some(row::BAR_MISSED.of(self.sentence()).with("missed_by", by, self.judged.unit)),
        }
    }

    /// The bar as a sentence.
    pub(crate) fn sentence(&self) -> String {
        let Bar { name, judged, measured, source } = self;
        let figure = match measured {
            Err(reason) => return format!("{name}: not judged, {reason}."),
            Ok(figure) => figure,
        };
        let range = match figure.n {
            2.. => format!(" ({} to {})", three_digits(figure.min), three_digits(figure.max)),
            _ => String::new(),
        };
        let outcome = match self.outcome() {
            Outcome::Missed(by) => format!("{} by {}", judged.word, three_digits(by)),
            _ => "met".into(),
        };
        let (median, wanted) = (three_digits(figure.median), judged.wanted);
        format!("{name}: {median}{range}, wanted {wanted}: {outcome} ({source}).")
    }
}

impl Wanted {
    fn outcome(self, value: f64) -> Outcome {
        let missed_by = match self {
            Wanted::AtLeast(least) => least - value,
            Wanted::AtMost(most) => value - most,
            Wanted::Between(least, most) => (least - value).max(value - most),
        };
        if missed_by > 0.0 { Outcome::Missed(missed_by) } else { Outcome::Met }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let figure = three_digits;
        match *self {
            Wanted::AtLeast(least) => write!(formatter, "at least {}", figure(least)),
            Wanted::AtMost(most) => write!(formatter, "at most {}", figure(most)),
            Wanted::Between(least, most) => write!(formatter, "{} to {}", figure(least), figure(most)),
        }
    }
}

/// All bars in one line: `met`, or the words of what was missed.
pub(crate) fn overall(bars: &[Bar]) -> String {
    let mut words: Vec<&str> = Vec::new();
    for bar in bars {
        let word = match bar.outcome() {
            Outcome::Met => continue,
            Outcome::Missed(_) => bar.judged.word,
            Outcome::NotJudged => "not judged",
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    let met = bars.iter().filter(|bar| bar.outcome() == Outcome::Met).count();
    let all = if words.is_empty() { "met".into() } else { words.join(", ") };
    format!("The bars: {all} ({met} of {} met).", bars.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const IOPS: Wanted = Wanted::AtLeast(0.97);
    const CPU: Wanted = Wanted::AtMost(1.0);
    const LATENCY: Wanted = Wanted::Between(0.85, 1.15);

    fn bar(wanted: Wanted, values: &[f64]) -> Bar {
        Bar::of_samples("IOPS", Judged::ratio(wanted, "slower"), values, "there is no fio")
    }

    #[test]
    fn a_bar_is_met_at_its_own_height() {
        assert_eq!(bar(IOPS, &[0.97]).outcome(), Outcome::Met);
        assert_eq!(bar(CPU, &[1.0]).outcome(), Outcome::Met);
        assert_eq!(bar(LATENCY, &[0.85]).outcome(), Outcome::Met);
    }

    #[test]
    fn a_missed_bar_says_by_how_much() {
        assert_eq!(bar(IOPS, &[0.5, 0.72, 0.9]).outcome(), Outcome::Missed(0.25));
        let sentence = bar(IOPS, &[0.5, 0.72, 0.9]).from("against fio").sentence();
        assert_eq!(sentence, "IOPS: 0.720 (0.500 to 0.900), wanted at least 0.970: slower by 0.250 (against fio).");
    }

    #[test]
    fn a_latency_that_is_too_good_is_as_wrong_as_one_that_is_too_bad() {
        assert!(matches!(bar(LATENCY, &[0.5]).outcome(), Outcome::Missed(by) if (by - 0.35).abs() < 1e-9));
        assert!(matches!(bar(LATENCY, &[1.5]).outcome(), Outcome::Missed(_)));
    }

    #[test]
    fn what_was_not_measured_is_neither_met_nor_missed() {
        let bar = bar(IOPS, &[]);
        assert_eq!(bar.outcome(), Outcome::NotJudged);
        assert_eq!(bar.sentence(), "IOPS: not judged, there is no fio.");
        assert_eq!(overall(&[bar]), "The bars: not judged (0 of 1 met).");
    }

    #[test]
    fn the_last_line_names_each_kind_of_miss_once() {
        let bars = [bar(IOPS, &[0.5]), bar(IOPS, &[0.4]), bar(CPU, &[0.9])];
        assert_eq!(overall(&bars), "The bars: slower (1 of 3 met).");
    }
}
