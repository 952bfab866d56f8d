//! A long script as a list: each statement once, where it is first sent, with how often, and with which other values.
//!
//! Statements that differ in numbers and in texts alone are one, a PREPARE apart. What is in double quotation marks is
//! a name: another table is another statement.

use std::collections::HashMap;

/// How a line that is no statement begins.
pub(crate) const REMARK: &str = "-- ";

/// How a statement begins behind which a query of the user's may stand. What differs there is another query.
const PREPARE: &str = "PREPARE ";

/// What a reader of the list has to know.
const HEAD: &str = "-- Each statement is listed once, in the order of first use, with how many times\n\
                    -- it is sent and its other values.";

/// A statement with all that it was sent with.
struct Entry<'a> {
    /// As it was sent first.
    statement: &'a str,
    times: u64,
    /// Its values each time that they were others, the first among them.
    variants: Vec<Vec<&'a str>>,
}

/// The list of these lines.
pub(crate) fn listed(lines: &[String]) -> String {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for line in lines {
        let (shape, values) = taken_apart(line);
        let number = *known.entry(shape).or_insert(entries.len());
        if number == entries.len() {
            entries.push(Entry { statement: line, times: 0, variants: Vec::new() });
        }
        let entry = &mut entries[number];
        entry.times += 1;
        if !entry.variants.contains(&values) {
            entry.variants.push(values);
        }
    }
    let list = entries.iter().map(|entry| entry.line() + "\n");
    format!("{HEAD}\n") + &list.collect::<String>()
}

impl Entry<'_> {
    fn line(&self) -> String {
        let statement = self.statement.trim_end_matches(';');
        if statement.starts_with(REMARK) {
            return statement.into();
        }
        let [first, others @ ..] = self.variants.as_slice() else { return format!("{statement};") };
        let varies = |place: &usize| others.iter().any(|other| other[*place] != first[*place]);
        let places: Vec<usize> = (0..first.len()).filter(varies).collect();
        let variant = |values: &Vec<&str>| places.iter().map(|place| values[*place]).collect::<Vec<_>>().join(", ");
        let others = others.iter().map(variant).collect::<Vec<_>>().join("; ");
        match (self.times, others.as_str()) {
            (1, _) => format!("{statement};"),
            (times, "") => format!("{statement};  {REMARK}{times} times"),
            (times, others) => format!("{statement};  {REMARK}{times} times, also with {others}"),
        }
    }
}

/// A statement without its values, and these: its numbers and its texts.
fn taken_apart(line: &str) -> (String, Vec<&str>) {
    let (mut shape, mut values) = (String::new(), Vec::new());
    if line.starts_with(REMARK) || line.starts_with(PREPARE) {
        return (line.into(), values);
    }
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let in_word = shape.ends_with(|last: char| last.is_alphanumeric() || "_$.".contains(last));
        let (length, is_value) = match first {
            '\'' => (quoted(rest, '\''), true),
            '"' => (quoted(rest, '"'), false),
            '0'..='9' if !in_word => (number(rest), true),
            _ => (first.len_utf8(), false),
        };
        let (part, after) = rest.split_at(length);
        if is_value {
            shape.push('?');
            values.push(part);
        } else {
            shape += part;
        }
        rest = after;
    }
    (shape, values)
}

/// Bytes up to the mark that ends what a mark begins; two in a row are one within.
fn quoted(text: &str, mark: char) -> usize {
    let mut is_inside = false;
    let ends = text.char_indices().find(|(at, letter)| {
        if *letter == mark {
            is_inside = !is_inside;
        }
        !is_inside && !text[at + letter.len_utf8()..].starts_with(mark)
    });
    ends.map_or(text.len(), |(at, letter)| at + letter.len_utf8())
}

/// Bytes of a number, with its exponent.
fn number(text: &str) -> usize {
    let digits = |text: &str| text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let length = digits(text);
    let exponent = text[length..].strip_prefix(['e', 'E']);
    let exponent = exponent.map(|power| power.strip_prefix(['-', '+']).unwrap_or(power));
    match exponent.map(|power| (power, digits(power))) {
        Some((power, more)) if more > 0 => text.len() - power.len() + more,
        _ => length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(lines: &[&str]) -> Vec<String> {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        listed(&lines).lines().skip(2).map(String::from).collect()
    }

    #[test]
    fn each_statement_stands_once_with_all_its_values() {
        let sent = [
            "-- on a connection:",
            "SET a = 'off'",
            "SELECT 1 FROM t WHERE n > 0 AND n <= 320",
            "SET a = 'on'",
            "SELECT 1 FROM t WHERE n > 320 AND n <= 640",
            "-- on a connection:",
            "SET a = 'off'",
            "DROP TABLE t",
        ];
        let expected = [
            "-- on a connection:",
            "SET a = 'off';  -- 3 times, also with 'on'",
            "SELECT 1 FROM t WHERE n > 0 AND n <= 320;  -- 2 times, also with 320, 640",
            "DROP TABLE t;",
        ];
        assert_eq!(list(&sent), expected);
    }

    #[test]
    fn queries_that_differ_in_a_value_alone_are_not_merged_into_one() {
        let sent =
            ["PREPARE q AS SELECT 5", "EXECUTE q", "PREPARE q AS SELECT 6", "EXECUTE q", "PREPARE q AS SELECT 5"];
        let expected = ["PREPARE q AS SELECT 5;  -- 2 times", "EXECUTE q;  -- 2 times", "PREPARE q AS SELECT 6;"];
        assert_eq!(list(&sent), expected);
    }

    #[test]
    fn names_are_no_values_and_values_are_whole() {
        let shape = |line| taken_apart(line).0;
        assert_eq!(
            shape(r#"SELECT t1.c2 FROM "a 1" t1 WHERE c = 'it''s 5' AND d = 1e-05"#),
            r#"SELECT t1.c2 FROM "a 1" t1 WHERE c = ? AND d = ?"#
        );
        assert_eq!(taken_apart("SELECT '', 1.5, '''', -2").1, ["''", "1.5", "''''", "2"]);
        assert_eq!(shape("SELECT $1, x'unended"), "SELECT $1, x?");
        assert_ne!(shape(r#"DROP TABLE "a""#), shape(r#"DROP TABLE "b""#));
    }
}
