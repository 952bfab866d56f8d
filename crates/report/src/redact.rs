//! Runs without the texts of their statements: what may leave the house where the SQL may not.

use measure::Run;
use serde_json::Value;

/// The parameter that holds a statement's text, and the one that names the statement.
const TEXT: &str = "text";
const ID: &str = "id";

/// Characters of a text by which it is found again in a sentence.
const RECOGNISED: usize = 6;

/// Takes the texts of statements out of a run: out of its cases, and out of the sentences that quote one behind the
/// statement's identifier.
pub fn without_texts(run: &mut Run) {
    let mut quoted: Vec<(String, String)> = Vec::new();
    for case in &mut run.cases {
        let Some(Value::String(text)) = case.parameters.shift_remove(TEXT) else { continue };
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        quoted.extend(case.parameter(ID).map(|id| (id, words.chars().take(RECOGNISED).collect::<String>())));
    }
    for finding in &mut run.findings {
        for (id, text) in &quoted {
            if let Some(at) = finding.message.find(&format!("{id} {text}")) {
                finding.message.truncate(at + id.len());
                finding.message.push('.');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::schema::profile::findings::ANSWER_STATEMENTS;
    use measure::{Case, Host};
    use serde_json::json;

    use super::*;

    #[test]
    fn no_text_of_a_statement_is_left_in_cases_or_sentences() {
        let text = "SELECT secret\n FROM vault";
        let parameters = json!({"table": "statement_text", "id": "7wd0", "text": text});
        let mut run = Run {
            schema: String::new(),
            id: String::new(),
            command: Vec::new(),
            started: String::new(),
            finished: None,
            build: None,
            job: None,
            host: Host::default(),
            own_cost: Vec::new(),
            experiment: "profile".into(),
            subject: measure::Parameters::new(),
            cases: vec![Case::new(parameters.as_object().unwrap().clone())],
            findings: vec![ANSWER_STATEMENTS.of("1 of 2 is all: 7wd0 SELECT secret FROM vault …")],
        };
        without_texts(&mut run);
        let left = serde_json::to_string(&run).unwrap();
        assert!(!left.contains("secret") && !left.contains("vault"), "{left}");
        assert_eq!(run.findings[0].message, "1 of 2 is all: 7wd0.");
    }
}
