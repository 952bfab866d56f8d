//! Runs without the texts of their statements: what may leave the house where the SQL may not.

use std::collections::BTreeSet;

use measure::schema::{calibrate, profile};
use measure::sorting;
use measure::{Case, Run};
use serde_json::Value;

use crate::page::wording::one_line;

/// The parameter that holds a statement's text, and the one that names the statement.
const TEXT: &str = profile::parameters::TEXT.name;
const ID: &str = profile::parameters::ID.name;

/// The parameter that names the table of a profile, and the one that has a row for each statement.
const TABLE: &str = profile::parameters::TABLE.name;
const STATEMENT: &str = "statement";

/// The identifier of the row for all statements that have none of their own.
const OTHERS: &str = "(others)";

/// The parameter that names a query of `calibrate`: of one from pg_stat_statements its number there and the beginning
/// of its text.
const QUERY: &str = calibrate::parameters::QUERY.name;

/// The parts of such a query's case, by the parameter `part`: the one whose sentence can quote its text.
const PART: &str = calibrate::parameters::PART.name;
const REFUSED: &str = "refused";
const VERDICT: &str = calibrate::parameters::VERDICT.name;

/// Characters of a text by which it is found again in a sentence.
const RECOGNISED: usize = 6;

/// Takes the texts of statements out of a run: out of its cases, and out of the sentences that quote one behind the
/// statement's identifier.
pub fn without_texts(run: &mut Run) {
    let mut quoted: Vec<(String, String)> = Vec::new();
    for case in &mut run.cases {
        let Some(Value::String(text)) = case.parameters.shift_remove(TEXT) else { continue };
        let begin: String = one_line(&text).chars().take(RECOGNISED).collect();
        quoted.extend(case.parameter(ID).map(|id| (id, begin)));
    }
    quoted.extend(without_details(&run.cases, &quoted).into_iter().map(|id| (id, String::new())));
    quoted.extend(without_rows(run).into_iter().map(|id| (id, String::new())));
    for finding in &mut run.findings {
        for (id, text) in &quoted {
            let quote = format!("{id} {text}");
            let mut places = finding.message.match_indices(&quote).map(|(at, _)| at);
            if let Some(at) = places.find(|at| begins_word(&finding.message[..*at])) {
                finding.message.truncate(at + id.len());
                finding.message.push('.');
            }
        }
    }
    without_listed_names(run);
}

/// Whether an identifier can begin behind this: a short number may also be the end of a longer one, of a fraction or of
/// another identifier. What stands behind an identifier is a blank, and no letter of it.
fn begins_word(before: &str) -> bool {
    const OF_NUMBER: [char; 4] = ['.', ',', '-', '\u{202f}'];
    before.chars().next_back().is_none_or(|letter| !letter.is_alphanumeric() && !OF_NUMBER.contains(&letter))
}

/// The statements of which a profile keeps a row and no text: it has the texts of those with most time alone, and a
/// sentence can quote that of another one. Whatever stands behind the identifier of one is taken for its text.
fn without_details(cases: &[Case], quoted: &[(String, String)]) -> Vec<String> {
    let known = sorting::set(quoted.iter().map(|(id, _)| id.as_str()));
    let ids = cases.iter().filter(|case| case.is(TABLE, STATEMENT)).filter_map(|case| case.parameter(ID));
    // A name of several words is that of a row that stands for many statements.
    ids.filter(|id| !known.contains(id.as_str()) && !id.is_empty() && !id.contains(' ')).collect()
}

/// The identifiers in the sentences of a profile that has no row for some of its statements: a sentence can quote one
/// of these too, since the statement with most calls can be one of those with least time.
fn without_rows(run: &Run) -> BTreeSet<String> {
    let is_cut = run.cases.iter().any(|case| case.is(TABLE, STATEMENT) && case.is(ID, OTHERS));
    let sentences = run.findings.iter().filter(|_| is_cut).map(|finding| finding.message.as_str());
    let words = sentences.flat_map(str::split_whitespace).map(|word| word.trim_start_matches('('));
    words.filter(|word| is_identifier(word)).map(String::from).collect()
}

/// Whether a word has the form of a statement's identifier: of one that readpath gave, of an SQL_ID, or of a hash, of
/// which a count differs by the blanks between its digits.
fn is_identifier(word: &str) -> bool {
    const SQL_ID: &str = "0123456789abcdfghjkmnpqrstuvwxyz";
    const DIGITS_MIN: usize = 6;
    let of_error = || word.strip_prefix("parse-error-");
    let given = word.strip_prefix("folded-").or_else(|| word.strip_prefix("text-")).or_else(of_error);
    let is_given = given.is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_hexdigit()));
    let is_sql_id = word.len() == 13 && word.chars().all(|letter| SQL_ID.contains(letter));
    let number = word.strip_prefix('-').unwrap_or(word);
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    let is_of_hash = |byte: u8| byte == b'-' || byte.is_ascii_hexdigit();
    is_given || is_sql_id || (digits >= DIGITS_MIN && number.bytes().all(is_of_hash))
}

/// Leaves of the names of listed queries their numbers, and of sentences about refused ones nothing that is quoted.
fn without_listed_names(run: &mut Run) {
    let mut names: Vec<(String, String)> = Vec::new();
    for case in &mut run.cases {
        if case.parameter(PART).as_deref() == Some(REFUSED)
            && let Some(Value::String(why)) = case.parameters.get_mut(VERDICT)
        {
            let quoting = std::mem::take(why);
            *why = without_quotes(&quoting);
            // The advice gives the same reason where the query is an exception.
            if *why != quoting {
                names.push((quoting, why.clone()));
            }
        }
        let Some(Value::String(name)) = case.parameters.get_mut(QUERY) else { continue };
        let Some(number) = number_of_listed(name).map(String::from) else { continue };
        names.push((std::mem::replace(name, number.clone()), number));
    }
    // A name can be the beginning of another one.
    sorting::by_key(&mut names, |(name, _)| std::cmp::Reverse(name.len()));
    names.dedup();
    for finding in &mut run.findings {
        for (name, number) in &names {
            finding.message = finding.message.replace(name, number);
        }
    }
}

/// The number of a query in the server's list, where its name goes on behind that: of a query of a file named `7.sql`
/// only another number follows.
fn number_of_listed(name: &str) -> Option<&str> {
    let (number, text) = name.split_once(' ')?;
    (number.parse::<i64>().is_ok() && text.parse::<u64>().is_err()).then_some(number)
}

/// Why a query was refused, without what that quotes of its text. The server's own words stand in brackets at the end,
/// and none of them stay: which marks they quote by is a matter of the server's language, and a text can have such
/// marks too. A statement stands in backquotes.
fn without_quotes(message: &str) -> String {
    let message = without_between(&without_between(message, '`', '`'), '(', ')');
    let parts: Vec<&str> = message.split('"').collect();
    let quoted = |at: usize| at % 2 == 1;
    let part = |(at, part): (usize, &&str)| if quoted(at) { "\"…\"".to_string() } else { part.to_string() };
    parts.iter().enumerate().map(part).collect()
}

/// A message with an ellipsis for all between the first `open` and the last `close`, or its end where it has none.
fn without_between(message: &str, open: char, close: char) -> String {
    let Some((before, quoted)) = message.split_once(open) else { return message.into() };
    let after = quoted.rsplit_once(close).map_or("", |(_, after)| after);
    format!("{before}{open}…{close}{after}")
}

#[cfg(test)]
mod tests {
    use measure::schema::calibrate::findings::ANSWER_ADVICE;
    use measure::schema::profile::findings::{ANSWER_STATEMENTS, ROW_BY_ROW};
    use serde_json::json;

    use super::*;

    fn run() -> Run {
        Run { experiment: "profile".into(), ..Run::default() }
    }

    fn case(parameters: &Value) -> Case {
        Case::new(parameters.as_object().unwrap().clone())
    }

    #[test]
    fn a_table_or_a_part_that_is_renamed_in_the_schema_does_not_leave_texts_in_a_run() {
        assert!(profile::TABLES.contains(&STATEMENT));
        assert!(profile::parameters::ID.meaning.contains(&format!("`{OTHERS}`")));
        assert!(calibrate::parameters::PART.meaning.contains(&format!("`{REFUSED}`")));
    }

    #[test]
    fn no_text_of_a_statement_is_left_in_cases_or_sentences() {
        let text = "SELECT secret\n FROM vault";
        let mut run = run();
        run.cases.push(case(&json!({"table": "statement_text", "id": "7wd0", "text": text})));
        run.findings.push(ANSWER_STATEMENTS.of("1 of 2 is all: 7wd0 SELECT secret FROM vault …"));
        without_texts(&mut run);
        let left = serde_json::to_string(&run).unwrap();
        assert!(!left.contains("secret") && !left.contains("vault"), "{left}");
        assert_eq!(run.findings[0].message, "1 of 2 is all: 7wd0.");
    }

    #[test]
    fn a_sentence_about_a_statement_without_details_quotes_nothing_of_its_text() {
        let mut run = run();
        run.cases.push(case(&json!({"table": "statement", "id": "9babjv8yq8ru3"})));
        run.cases.push(case(&json!({"table": "statement", "id": "other statements"})));
        let others = "1.00 rows a fetch, and so are 3 other statements here.";
        let quoting = "Rows are fetched one by one (412 fetches: 9babjv8yq8ru3 SELECT 'secret' …): a round trip each.";
        run.findings.extend([quoting, others].map(|message| ROW_BY_ROW.of(message)));
        without_texts(&mut run);
        assert_eq!(run.findings[0].message, "Rows are fetched one by one (412 fetches: 9babjv8yq8ru3.");
        assert_eq!(run.findings[1].message, others);
    }

    #[test]
    fn a_sentence_about_a_statement_that_has_no_row_quotes_nothing_of_its_text() {
        let with = |ids: &[&str]| {
            let mut run = run();
            run.cases.extend(ids.iter().map(|id| case(&json!({"table": "statement", "id": id}))));
            let ids = ["9babjv8yq8ru3", "-4711471147114711471", "1234567-2", "12345678-00ff00ff00", "folded-7"];
            let more = ["parse-error-7", "text-00ff00ff00ff00ff"];
            let parsed = |id: &str| format!("Parsed at every execution (12\u{202f}345 parses: {id} SELECT 'secret').");
            run.findings.extend(ids.iter().chain(&more).map(|id| ROW_BY_ROW.of(parsed(id))));
            without_texts(&mut run);
            run.findings.into_iter().map(|finding| finding.message).collect::<Vec<String>>()
        };
        let cut = with(&["7wd0", OTHERS]);
        assert!(cut.iter().all(|message| message.contains(" parses: ") && !message.contains("SELECT")), "{cut:?}");
        assert!(with(&["7wd0"]).iter().all(|message| message.contains("SELECT")), "all of its statements have a row");
    }

    #[test]
    fn a_sentence_is_not_cut_within_a_longer_number_that_ends_like_an_identifier() {
        let mut run = run();
        run.cases.push(case(&json!({"table": "statement", "id": "12"})));
        let sentences = [
            "Rows are fetched one by one (412 fetches: 12 SELECT 'secret' …): a round trip each.",
            "Rows are fetched 1.12 at a time (3\u{202f}012 fetches: 7wd0 SELECT 1): each fetch is a round trip.",
        ];
        run.findings.extend(sentences.map(|message| ROW_BY_ROW.of(message)));
        without_texts(&mut run);
        assert_eq!(run.findings[0].message, "Rows are fetched one by one (412 fetches: 12.");
        assert_eq!(run.findings[1].message, sentences[1]);
    }

    #[test]
    fn nothing_of_a_servers_words_is_left_whatever_marks_they_quote_by() {
        let words = [
            "invalid input syntax for type integer: \"se\"cret\"",
            "ungültige Eingabesyntax für Typ integer: »secret«",
            "syntaxe en entrée invalide pour le type integer : « secret »",
            "syntax error at or near \"secret)(secret\"",
            "a part of `secret",
        ];
        for words in words {
            assert_eq!(without_quotes(&format!("the server refuses it ({words})")), "the server refuses it (…)");
        }
        assert_eq!(without_quotes("`SELECT 'a`secret', (1` took longer than 3 s"), "`…` took longer than 3 s");
        assert_eq!(without_quotes("it calls nextval, which is volatile"), "it calls nextval, which is volatile");
    }

    #[test]
    fn a_listed_query_is_named_by_its_number_alone_and_one_of_a_file_as_before() {
        let mut run = run();
        let names = ["-4711 SELECT secret FROM vault", "-4711 SELECT secret FROM vault WHERE", "shop 7", "7 2", "4712"];
        run.cases.extend(names.map(|name| case(&json!({"part": "query", "query": name}))));
        let why = "ERROR: invalid input syntax for type integer: \"secret\"";
        let refused = json!({"part": "refused", "query": "4713 SELECT 'secret'::int FROM vault", "verdict": why});
        run.cases.push(case(&refused));
        let sentence = "-4711 SELECT secret FROM vault WHERE loses most.";
        let exception = format!("The exception keeps the server's own constants: shop 7 (not timed: {why}).");
        run.findings.extend([sentence, exception.as_str()].map(|message| ANSWER_ADVICE.named("as-found", message)));
        without_texts(&mut run);
        let left = serde_json::to_string(&run).unwrap();
        assert!(!left.contains("secret") && !left.contains("vault"), "{left}");
        let named: Vec<String> = run.cases.iter().filter_map(|case| case.parameter("query")).collect();
        assert_eq!(named, ["-4711", "-4711", "shop 7", "7 2", "4712", "4713"]);
        assert_eq!(run.findings[0].message, "-4711 loses most.");
        let quoted_nothing = " (not timed: ERROR: invalid input syntax for type integer: \"…\").";
        assert!(run.findings[1].message.ends_with(quoted_nothing), "{left}");
        let why = run.cases[5].parameter("verdict");
        assert_eq!(why.as_deref(), Some("ERROR: invalid input syntax for type integer: \"…\""));
    }
}
