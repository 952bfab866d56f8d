//! Parameters of cases: which vary, which are common to all, and how they read.

use measure::case::plain;
use measure::quantity::size_in_words;
use measure::schema::{counters, disk, ladder, lio, reads, roundtrip};
use measure::{Case, Parameters, sorting};
use serde_json::Value;

use super::number::{bytes, grouped, three_digits};
use super::wording::joined;

/// The parameter of cases that check others.
pub(crate) const CHECK: &str = lio::parameters::CHECK.name;

/// Parameters that are counted in bytes.
const IN_BYTES: [&str; 7] = [
    BLOCK_SIZE,
    disk::parameters::SPAN.name,
    disk::parameters::OFFSET.name,
    disk::parameters::DISTANCE.name,
    lio::parameters::PAYLOAD.name,
    ladder::parameters::FOOTPRINT.name,
    ladder::parameters::HUGE_BYTES.name,
];

/// The place of reads on a device, from 0 to 1, which is shown as a part of it.
const POSITION: &str = disk::parameters::POSITION.name;

/// Parameters whose digits are a name, to be typed again.
const NAMES: [&str; 2] = [disk::parameters::SEED.name, counters::parameters::PID.name];

// Parameters that have words or units of their own.
const BLOCK_SIZE: &str = disk::parameters::BLOCK_SIZE.name;
const DIRECT: &str = disk::parameters::DIRECT.name;
const DURATION: &str = disk::parameters::DURATION.name;
const HUGE_PAGES: &str = reads::parameters::HUGE_PAGES.name;
const IO_METHOD: &str = disk::parameters::IO_METHOD.name;
const PASS: &str = roundtrip::parameters::PASS.name;
const PATTERN: &str = disk::parameters::PATTERN.name;
const RATE: &str = disk::parameters::RATE.name;
const ROW_LENGTH: &str = lio::parameters::ROW_LENGTH.name;
const RUNG: &str = ladder::parameters::RUNG.name;
const SEGMENT: &str = reads::parameters::SEGMENT.name;
const WORKERS: &str = disk::parameters::WORKERS.name;
const ZONE: &str = disk::parameters::ZONE.name;

/// The parameters that every case has with one and the same value, in the order of the first case.
///
/// Cases that check others have parameters of their own and do not count.
pub(crate) fn constant(cases: &[Case]) -> impl Iterator<Item = (&str, &Value)> {
    let measured = || cases.iter().filter(|case| !case.parameters.contains_key(CHECK));
    let first = measured().next().map(|case| &case.parameters);
    let shared = move |name: &str, value: &Value| measured().all(|case| case.parameters.get(name) == Some(value));
    first
        .into_iter()
        .flatten()
        .filter(move |(name, value)| shared(name, value))
        .map(|(name, value)| (name.as_str(), value))
}

/// The names of the parameters that differ between cases, in the order of their first appearance.
pub(crate) fn varying<'a>(cases: &[&'a Case]) -> Vec<&'a str> {
    let all: Vec<&Parameters> = cases.iter().map(|case| &case.parameters).collect();
    varying_among(&all)
}

/// The names that differ between sets of parameters. Each is looked up once in each set.
pub(crate) fn varying_among<'a>(all: &[&'a Parameters]) -> Vec<&'a str> {
    let is_shared = |name: &str| {
        let value = all.first().and_then(|first| first.get(name));
        value.is_some() && all.iter().all(|parameters| parameters.get(name) == value)
    };
    parameter_names(all.iter().copied()).into_iter().filter(|name| !is_shared(name)).collect()
}

/// The names of all parameters, in the order of their first appearance.
pub(crate) fn parameter_names<'a>(all: impl Iterator<Item = &'a Parameters>) -> Vec<&'a str> {
    sorting::each_once(all.flat_map(|parameters| parameters.keys()).map(String::as_str))
}

/// A parameter's value as a table shows it.
pub(crate) fn shown(name: &str, value: &Value) -> String {
    match (value.as_f64(), value.as_u64()) {
        // A size of a block is typed again, so that it keeps its digits.
        (_, Some(size)) if name == BLOCK_SIZE && size.is_multiple_of(1 << 10) => size_in_words(size),
        (_, Some(_)) if name == BLOCK_SIZE => in_full(name, value),
        (Some(number), _) if IN_BYTES.contains(&name) => bytes(number),
        (Some(part), _) if name == POSITION => format!("{} %", three_digits(part * 100.0)),
        _ if NAMES.contains(&name) => plain(value),
        (_, Some(count)) => grouped(count),
        (Some(number), _) if number >= 1e3 && number.fract() == 0.0 => grouped(number as u64),
        _ => plain(value),
    }
}

/// A parameter's value with all its digits: a number of bytes is not rounded to a larger unit, and no position is.
pub(crate) fn in_full(name: &str, value: &Value) -> String {
    match value.as_u64() {
        Some(count) if IN_BYTES.contains(&name) => format!("{} B", grouped(count)),
        _ if name == POSITION => plain(value),
        _ => shown(name, value),
    }
}

/// What follows a value where no heading names its unit.
fn unit(name: &str, text: &str) -> &'static str {
    match (name, text) {
        (DURATION, _) => " s",
        (RATE, _) => "/s",
        // All its digits are shown, which no larger unit has.
        (ROW_LENGTH, "1") => " byte",
        (ROW_LENGTH, _) => " bytes",
        _ => "",
    }
}

/// A value that is [`shown`] or [`in_full`], with its unit, for a sentence.
pub(crate) fn with_unit(name: &str, text: &str) -> String {
    format!("{text}{}", unit(name, text))
}

/// The value of `name` in `case` as a table shows it; empty where the case does not have it.
pub(crate) fn cell(case: &Case, name: &str) -> String {
    case.parameters.get(name).map_or(String::new(), |value| shown(name, value))
}

/// A parameter with its value, as a phrase: `depth 32`, `8 KiB blocks`, `direct`.
pub(crate) fn described(name: &str, value: &Value) -> String {
    worded(name, &shown(name, value))
}

fn worded(name: &str, text: &str) -> String {
    match (name, text) {
        (DIRECT, "true") => "direct".into(),
        (DIRECT, "false") => "buffered".into(),
        (HUGE_PAGES, "true") => "huge-page buffers".into(),
        (HUGE_PAGES, "false") => "buffers on small pages".into(),
        (BLOCK_SIZE, size) => format!("{size} blocks"),
        (PATTERN, "apart") => "one distance apart".into(),
        (PATTERN | IO_METHOD | PASS | ZONE | RUNG | SEGMENT, word) => word.into(),
        (WORKERS, "1") => "1 worker".into(),
        (WORKERS, count) => format!("{count} workers"),
        _ => format!("{} {}", heading(name), with_unit(name, text)),
    }
}

/// A parameter's name as a heading.
pub(crate) fn heading(name: &str) -> String {
    name.replace('_', " ")
}

/// The varying parameters of a case in one phrase.
pub(crate) fn phrase(case_parameters: &Parameters, names: &[&str]) -> String {
    joined(names.iter().filter_map(|name| Some(described(name, case_parameters.get(*name)?))), ", ")
}

/// The same with all digits of each.
pub(crate) fn phrase_in_full(case_parameters: &Parameters, names: &[&str]) -> String {
    joined(names.iter().filter_map(|name| Some(worded(name, &in_full(name, case_parameters.get(*name)?)))), ", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn case(parameters: &Value) -> Case {
        Case::new(parameters.as_object().unwrap().clone())
    }

    #[test]
    fn a_parameter_varies_where_a_case_lacks_it_or_has_another_value() {
        let cases = [json!({"a": 1, "b": 1, "c": 1}), json!({"d": 1, "c": 2, "a": 1})].map(|one| case(&one));
        let cases: Vec<&Case> = cases.iter().collect();
        assert_eq!(varying(&cases), ["b", "c", "d"]);
        assert_eq!(varying(&cases[..1]), [""; 0]);
        assert_eq!(varying(&[]), [""; 0]);
    }

    #[test]
    fn a_place_of_a_sweep_is_a_part_of_the_device_and_no_line_of_digits() {
        let place = json!(1.0 / 31.0);
        assert_eq!(described(POSITION, &place), "position 3.23 %");
        assert_eq!([0.0, 0.25, 1.0].map(|part| shown(POSITION, &json!(part))), ["0 %", "25.0 %", "100 %"]);
        let parameters = [(POSITION.to_string(), place.clone())].into_iter().collect();
        assert_eq!(phrase_in_full(&parameters, &[POSITION]), format!("position {place}"), "as CSV and JSON have it");
    }

    #[test]
    fn bytes_in_a_phrase_are_no_bare_numbers() {
        let parameters = json!({"rung": "l1", "footprint": 24_576, "huge_bytes": 2 << 20, "row_length": 250});
        let parameters = case(&parameters).parameters;
        let names = ["rung", "footprint", "huge_bytes", "row_length"];
        assert_eq!(phrase(&parameters, &names), "l1, footprint 24 KiB, huge bytes 2 MiB, row length 250 bytes");
        assert_eq!(phrase_in_full(&parameters, &names[3..]), "row length 250 bytes");
        assert_eq!(described(names[3], &json!(250)), "row length 250 bytes", "in the head of a page too");
        assert_eq!(described(names[3], &json!(1)), "row length 1 byte");
    }

    #[test]
    fn a_size_of_a_block_is_not_rounded() {
        let said = |size: u64| described(BLOCK_SIZE, &json!(size)).replace('\u{202f}', " ");
        let expected = ["8 KiB blocks", "1 536 B blocks", "5 000 B blocks", "1 025 KiB blocks", "1 MiB blocks"];
        assert_eq!([8192, 1536, 5000, 1025 << 10, 1 << 20].map(said), expected);
    }

    #[test]
    fn what_fifty_thousand_cases_share_is_not_compared_in_pairs() {
        let cases: Vec<Case> = (0..50_000).map(|at| case(&json!({"shared": "x", "at": at}))).collect();
        assert_eq!(varying(&cases.iter().collect::<Vec<_>>()), ["at"]);
    }
}
