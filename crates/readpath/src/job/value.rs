//! A value of a job file: what a parameter is set to, or the list that a matrix takes one from for each run.

use serde_json::Value as Json;
use subjects::places::without_password;
use toml::de::{DeArray, DeInteger, DeValue};

/// A value as it was written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Truth(bool),
    /// An integer in decimal or a fraction.
    Number(String),
    Text(String),
    List(Vec<Value>),
}

impl Value {
    /// The value; otherwise what it is instead.
    pub(super) fn of(value: &DeValue<'_>) -> Result<Value, &'static str> {
        match value {
            DeValue::Boolean(truth) => Ok(Value::Truth(*truth)),
            DeValue::Integer(number) => decimal(number).map(Value::Number).ok_or("a number that is too large"),
            DeValue::Float(number) => Ok(Value::Number(number.to_string())),
            DeValue::String(text) => Ok(Value::Text(text.to_string())),
            DeValue::Array(values) => list(values).map(Value::List),
            DeValue::Datetime(_) => Err("a date"),
            DeValue::Table(_) => Err("a table"),
        }
    }

    /// The value of a word on the command line: TOML, or else a text without quotation marks.
    pub(super) fn of_word(word: &str) -> Value {
        let parsed = DeValue::parse(word).ok().and_then(|value| Value::of(value.get_ref()).ok());
        parsed.unwrap_or_else(|| Value::Text(word.into()))
    }

    /// The value as a word of a command line; a list has none.
    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Value::Truth(true) => Some("true"),
            Value::Truth(false) => Some("false"),
            Value::Number(text) | Value::Text(text) => Some(text),
            Value::List(_) => None,
        }
    }

    /// The value in a name or a sentence, without quotation marks.
    pub(super) fn plain(&self) -> String {
        match self {
            Value::List(values) => values.iter().map(Value::plain).collect::<Vec<_>>().join("+"),
            value => value.word().unwrap_or_default().into(),
        }
    }

    /// The value in TOML, on one line: it stands in sentences too.
    pub(super) fn toml(&self) -> String {
        match self {
            // TOML's own writer gives such a text several lines.
            Value::Text(text) if text.contains(is_escaped) => escaped(text),
            Value::Text(text) => toml::Value::String(text.clone()).to_string(),
            Value::List(values) => format!("[{}]", values.iter().map(Value::toml).collect::<Vec<_>>().join(", ")),
            value => value.plain(),
        }
    }

    /// The value as it may be shown: no password of a server's address stands in it.
    pub(super) fn shown(&self) -> Value {
        match self {
            Value::Text(text) => Value::Text(without_password(text)),
            Value::List(values) => Value::List(values.iter().map(Value::shown).collect()),
            value => value.clone(),
        }
    }

    /// The value for a run document.
    pub(super) fn json(&self) -> Json {
        match self {
            Value::Truth(truth) => (*truth).into(),
            // What JSON has no number for, such as inf, stays a text.
            Value::Number(text) => serde_json::from_str(text).unwrap_or_else(|_| text.clone().into()),
            Value::Text(text) => text.as_str().into(),
            Value::List(values) => values.iter().map(Value::json).collect(),
        }
    }
}

/// Whether a letter is no part of a line: a control character, or the end of a line or of a paragraph in Unicode.
fn is_escaped(letter: char) -> bool {
    letter.is_control() || ['\u{2028}', '\u{2029}'].contains(&letter)
}

/// A text in quotation marks, on one line. What JSON escapes, TOML reads; it leaves some of these letters as they are.
fn escaped(text: &str) -> String {
    let one = |letter: char| match is_escaped(letter) {
        true => format!("\\u{:04x}", u32::from(letter)),
        false => letter.to_string(),
    };
    Json::from(text).to_string().chars().map(one).collect()
}

fn decimal(number: &DeInteger<'_>) -> Option<String> {
    i128::from_str_radix(number.as_str(), number.radix()).ok().map(|number| number.to_string())
}

fn list(values: &DeArray<'_>) -> Result<Vec<Value>, &'static str> {
    values.iter().map(|value| Value::of(value.get_ref())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_as_toml_and_else_as_it_is() {
        let of = Value::of_word;
        assert_eq!((of("true"), of("0x10")), (Value::Truth(true), Value::Number("16".into())));
        assert_eq!(of("[1, 'a']"), Value::List(vec![Value::Number("1".into()), Value::Text("a".into())]));
        for text in ["8KiB", "/tmp/a b", "1979-05-27", "{a = 1}", "[a", "a\nb = 1", ""] {
            assert_eq!(of(text), Value::Text(text.into()));
        }
        assert_eq!(of("'8KiB'"), Value::Text("8KiB".into()));
        let deep = "[".repeat(100_000);
        assert_eq!(of(&deep), Value::Text(deep));
    }

    #[test]
    fn a_value_is_written_as_it_can_be_read_again() {
        let breaks = ['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}'];
        let texts = ["plain", "two\nlines", "\"'", "\\", "\u{7}", "é", "\r\n\"'\u{7f}\\n\u{85}", "a\u{2028}b\u{2029}"];
        for text in texts {
            let value = Value::List(vec![Value::Text(text.into()), Value::Truth(false)]);
            assert!(!value.toml().contains(breaks), "{:?}", value.toml());
            assert_eq!(Value::of_word(&value.toml()), value);
        }
    }
}
