//! What is wrong with a sentence, whatever it is about.

use measure::finding::Quantity;
use measure::quantity::{THIN_SPACE, format_nanos, grouped, size_in_words, three_digits};
use measure::{Finding, Unit};

/// Signs that no sentence has.
const NEVER: [&str; 9] = ["  ", " .", " ,", "..", ",,", "()", "{", "}", "\n"];

/// Nouns that follow a number, where there is one of them.
const NOUNS: [&str; 27] = [
    "additions",
    "blocks",
    "bytes",
    "calls",
    "cases",
    "cycles",
    "events",
    "executions",
    "fetches",
    "files",
    "gets",
    "instructions",
    "lines",
    "looks",
    "measurements",
    "pages",
    "parses",
    "processes",
    "reads",
    "requests",
    "rows",
    "sessions",
    "statements",
    "tables",
    "threads",
    "units",
    "waits",
];

/// Words behind which a row of digits is a name.
const NAMED: [&str; 4] = ["statement", "plan", "pid", "session"];

/// What is wrong with the sentence of a finding, however it came about: a number that it carries and does not say, one
/// of several things or several of one, and signs that no sentence has.
pub fn faults(finding: &Finding) -> Vec<String> {
    let text = &finding.message;
    let mut faults: Vec<String> =
        NEVER.iter().filter(|sign| text.contains(**sign)).map(|sign| format!("\"{sign}\" in a sentence")).collect();
    let words = text.split(|sign: char| !sign.is_alphanumeric());
    faults.extend(words.filter(|word| ["NaN", "inf"].contains(word)).map(|word| format!("\"{word}\" in a sentence")));
    if !text.ends_with('.') {
        faults.push("no point at its end".into());
    }
    if !text.starts_with(|first: char| first.is_alphanumeric() || "-/".contains(first)) {
        faults.push("a sign at its beginning".into());
    }
    faults.extend(numbers_against_nouns(text));
    faults.extend(ungrouped(text));
    for (name, quantity) in &finding.values {
        if !written(quantity).iter().any(|number| stands_alone(text, number)) {
            faults.push(format!("{name} = {} is not in the sentence", quantity.value));
        }
    }
    faults
}

/// One of several things, or several of one.
fn numbers_against_nouns(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split(' ').map(|word| word.trim_matches(|sign| "(),.:;".contains(sign))).collect();
    let mut faults = Vec::new();
    for pair in words.windows(2) {
        let is_count =
            !pair[0].is_empty() && pair[0].chars().all(|digit| digit.is_ascii_digit() || digit == THIN_SPACE);
        let is_wrong = match pair[0] {
            "1" => NOUNS.contains(&pair[1]) || pair[1] == "times",
            _ => is_count && NOUNS.iter().any(|noun| singular(noun) == pair[1]),
        };
        if is_wrong {
            faults.push(format!("\"{} {}\"", pair[0], pair[1]));
        }
    }
    faults
}

/// Numbers from ten thousand on without separators. What names something is no number: it stands behind its kind. Nor
/// is what is to be typed again: it stands behind its option.
fn ungrouped(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split(' ').map(|word| word.trim_matches(|sign| "(),.:;".contains(sign))).collect();
    let is_name = |at: usize| at > 0 && (NAMED.contains(&words[at - 1]) || words[at - 1].starts_with("--"));
    let is_long = |word: &str| {
        let whole = word.split('.').next().unwrap_or_default();
        whole.len() > 4 && whole.chars().all(|digit| digit.is_ascii_digit())
    };
    let found = words.iter().enumerate().filter(|(at, word)| is_long(word) && !is_name(*at));
    found.map(|(_, word)| format!("\"{word}\" without separators")).collect()
}

fn singular(noun: &str) -> &str {
    let ending = if noun.ends_with("sses") || noun.ends_with("ches") { 2 } else { 1 };
    &noun[..noun.len() - ending]
}

/// How a sentence may write a quantity.
fn written(quantity: &Quantity) -> Vec<String> {
    let Quantity { value, unit } = *quantity;
    let plain = three_digits(value);
    let with = |unit: &str| format!("{plain} {unit}");
    match unit {
        Unit::Percent => vec![with("%"), format!("{value:.0} %")],
        Unit::Bytes => [0, 10, 20].map(|shift| size_in_words((value as u64) >> shift << shift)).into(),
        Unit::MebibytesPerSecond => {
            vec![with("MiB/s"), format!("{} GB/s", three_digits(value * f64::from(1 << 20) / 1e9))]
        }
        Unit::Gigahertz => vec![plain],
        Unit::Count | Unit::Ratio | Unit::PerSecond => vec![plain, grouped(value as u64), format!("{value}")],
        time => {
            let nanos = time.nanoseconds().unwrap_or(1.0);
            vec![
                format_nanos(value * nanos),
                format_nanos(-value * nanos),
                with(if time == Unit::Microseconds { "µs" } else { time.symbol() }),
            ]
        }
    }
}

/// Whether a number stands in a text and is no part of a longer one.
fn stands_alone(text: &str, number: &str) -> bool {
    text.match_indices(number).any(|(at, _)| {
        let is_of_number = |sign: char| sign.is_ascii_digit() || sign == THIN_SPACE;
        let before = text[..at].chars().next_back();
        let mut after = text[at + number.len()..].chars();
        let goes_on = match after.next() {
            Some('.') => after.next().is_some_and(is_of_number),
            next => next.is_some_and(is_of_number),
        };
        !before.is_some_and(|sign| is_of_number(sign) || sign == '.') && !goes_on
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::schema::lio::findings as row;

    fn of(message: &str) -> Vec<String> {
        faults(&row::ANSWER_RATIO.of(message))
    }

    #[test]
    fn one_of_several_and_several_of_one_are_seen() {
        assert_eq!(of("1 reads of 2 block were 1 of 3 cases (4 row)."), ["\"1 reads\"", "\"2 block\"", "\"4 row\""]);
        assert!(of("1 read of 128 blocks is 1.00 times 1 process.").is_empty());
        assert_eq!(of("It takes 12\u{202f}000 process."), ["\"12\u{202f}000 process\""]);
    }

    #[test]
    fn a_large_number_without_separators_is_seen_and_a_name_is_none() {
        assert_eq!(
            of("It has 12345 rows, (20000.5 ms)."),
            ["\"12345\" without separators", "\"20000.5\" without separators"]
        );
        assert!(
            of("It has 12\u{202f}345 rows of 2005, of statement 2228079888 in x86-12345: --rows 20000.").is_empty()
        );
    }

    #[test]
    fn a_sentence_without_an_end_or_with_no_number_is_seen() {
        assert_eq!(of("It costs NaN"), ["\"NaN\" in a sentence", "no point at its end"]);
        assert_eq!(of(", and 2 reads."), ["a sign at its beginning"]);
        assert_eq!(of("It takes -inf µs."), ["\"inf\" in a sentence"]);
        assert!(of("It is inferred.").is_empty());
    }

    #[test]
    fn a_number_is_said_in_its_unit_and_not_as_a_part_of_another() {
        let of = |message: &str, value, unit| faults(&row::ANSWER_RATIO.of(message).with("a", value, unit)).is_empty();
        assert!(of("It takes 1.50 ms.", 1500.0, Unit::Microseconds));
        assert!(!of("It takes 1.50 µs.", 1500.0, Unit::Microseconds));
        assert!(of("It is 2.50 %.", 2.5, Unit::Percent) && !of("It is 2.50.", 2.5, Unit::Percent));
        assert!(of("It has 8 KiB.", 8200.0, Unit::Bytes) && of("They are 7.", 7.0, Unit::Count));
        assert!(!of("It is 12.5 times.", 2.5, Unit::Ratio));
        assert!(of("It reads 1.05 GB/s.", 1000.0, Unit::MebibytesPerSecond));
    }
}
