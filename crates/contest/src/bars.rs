//! Bars: what a benchmark wants of readpath, and whether it was reached. Which bars there are, each benchmark says.

use measure::{Statistics, Unit};

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

/// One thing wanted of readpath.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// What is compared, and where.
    pub(crate) name: String,
    /// What is wanted.
    pub(crate) wanted: Wanted,
    /// What a miss is called: `slower`, `dearer`, ...
    pub(crate) word: &'static str,
    /// What the figure is counted in; a count where there is no unit, and the name says of what.
    pub(crate) unit: Unit,
    /// What came out, or why nothing did.
    pub(crate) measured: Result<Statistics, String>,
}

/// What became of a bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// Reached.
    Met,
    /// Missed by this much, in what the bar is counted in.
    Missed(f64),
    /// Nothing was measured.
    Unanswered,
}

impl Bar {
    /// Whether the median reaches what is wanted.
    pub(crate) fn verdict(&self) -> Verdict {
        match &self.measured {
            Err(_) => Verdict::Unanswered,
            Ok(statistics) => self.wanted.verdict(statistics.median),
        }
    }

    /// The bar as one line of the page.
    pub(crate) fn sentence(&self) -> String {
        let measured = match &self.measured {
            Err(reason) => return format!("{}: not judged, {reason}", self.name),
            Ok(statistics) => statistics,
        };
        let range = if measured.n > 1 {
            format!(" ({} to {})", figure(measured.min), figure(measured.max))
        } else {
            String::new()
        };
        let verdict = match self.verdict() {
            Verdict::Missed(by) => format!("{} by {}", self.word, figure(by)),
            _ => "met".into(),
        };
        format!("{}: {}{range}, wanted {}: {verdict}", self.name, figure(measured.median), self.wanted)
    }
}

impl Wanted {
    fn verdict(self, value: f64) -> Verdict {
        let missed_by = match self {
            Wanted::AtLeast(least) => least - value,
            Wanted::AtMost(most) => value - most,
            Wanted::Between(least, most) => (least - value).max(value - most),
        };
        if missed_by > 0.0 { Verdict::Missed(missed_by) } else { Verdict::Met }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wanted::AtLeast(least) => write!(formatter, "at least {}", figure(*least)),
            Wanted::AtMost(most) => write!(formatter, "at most {}", figure(*most)),
            Wanted::Between(least, most) => write!(formatter, "{} to {}", figure(*least), figure(*most)),
        }
    }
}

/// The benchmark's verdict in one line: `met`, or the words of what was missed.
pub(crate) fn overall(bars: &[Bar]) -> String {
    let mut words: Vec<&str> = Vec::new();
    for bar in bars {
        let word = match bar.verdict() {
            Verdict::Met => continue,
            Verdict::Missed(_) => bar.word,
            Verdict::Unanswered => "not judged",
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    let met = bars.iter().filter(|bar| bar.verdict() == Verdict::Met).count();
    let verdict = if words.is_empty() { "met".into() } else { words.join(", ") };
    format!("verdict: {verdict} ({met} of {} bars met)", bars.len())
}

/// The bars as lines of the page.
pub(crate) fn lines(bars: &[Bar]) -> String {
    bars.iter().map(|bar| format!("{}\n", bar.sentence())).collect()
}

/// A number with three significant digits, as far as it has them; from 0.01 down, with two.
pub(crate) fn figure(value: f64) -> String {
    let magnitude = value.abs();
    let decimals = match magnitude {
        _ if magnitude > 0.0 && magnitude < 0.01 => (1.0 - magnitude.log10().floor()).min(12.0) as usize,
        _ if magnitude >= 100.0 => 0,
        _ if magnitude >= 10.0 => 1,
        _ if magnitude >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const IOPS: Wanted = Wanted::AtLeast(0.97);
    const CPU: Wanted = Wanted::AtMost(1.0);
    const LATENCY: Wanted = Wanted::Between(0.85, 1.15);

    fn bar(wanted: Wanted, values: &[f64]) -> Bar {
        let measured = Statistics::of_samples(values).ok_or_else(|| "there is no fio".to_string());
        Bar { name: "IOPS".into(), wanted, word: "slower", unit: Unit::Ratio, measured }
    }

    #[test]
    fn a_bar_is_met_at_its_own_height() {
        assert_eq!(bar(IOPS, &[0.97]).verdict(), Verdict::Met);
        assert_eq!(bar(CPU, &[1.0]).verdict(), Verdict::Met);
        assert_eq!(bar(LATENCY, &[0.85]).verdict(), Verdict::Met);
    }

    #[test]
    fn a_missed_bar_says_by_how_much() {
        assert_eq!(bar(IOPS, &[0.5, 0.72, 0.9]).verdict(), Verdict::Missed(0.25));
        let sentence = bar(IOPS, &[0.5, 0.72, 0.9]).sentence();
        assert_eq!(sentence, "IOPS: 0.720 (0.500 to 0.900), wanted at least 0.970: slower by 0.250");
    }

    #[test]
    fn a_latency_that_is_too_good_is_as_wrong_as_one_that_is_too_bad() {
        assert!(matches!(bar(LATENCY, &[0.5]).verdict(), Verdict::Missed(by) if (by - 0.35).abs() < 1e-9));
        assert!(matches!(bar(LATENCY, &[1.5]).verdict(), Verdict::Missed(_)));
    }

    #[test]
    fn what_was_not_measured_is_neither_met_nor_missed() {
        let bar = bar(IOPS, &[]);
        assert_eq!(bar.verdict(), Verdict::Unanswered);
        assert_eq!(bar.sentence(), "IOPS: not judged, there is no fio");
        assert_eq!(overall(&[bar]), "verdict: not judged (0 of 1 bars met)");
    }

    #[test]
    fn a_figure_near_nothing_is_not_nothing() {
        let written = [123.4, 1.234, 0.1234, 0.0123, 0.00987, 0.000_123, 0.0].map(figure);
        assert_eq!(written, ["123", "1.23", "0.123", "0.012", "0.0099", "0.00012", "0.000"]);
    }

    #[test]
    fn the_last_line_names_each_kind_of_miss_once() {
        let bars = [bar(IOPS, &[0.5]), bar(IOPS, &[0.4]), bar(CPU, &[0.9])];
        assert_eq!(overall(&bars), "verdict: slower (1 of 3 bars met)");
    }
}
