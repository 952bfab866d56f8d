//! A run as the words of a command line, and a command line as a shell takes it.

use super::experiment::{Kind, Parameter};
use super::value::Value;

/// The words that give a parameter of an option this value; otherwise what is wrong with the value.
pub(super) fn of_option(parameter: &Parameter, value: &Value) -> Result<Vec<String>, String> {
    let option = format!("--{}", parameter.name);
    match (parameter.kind, value) {
        (Kind::Flag, Value::Truth(is_given)) => match (*is_given, &parameter.opposite) {
            (true, _) => Ok(vec![option]),
            (false, None) => Ok(Vec::new()),
            (false, Some(opposite)) => Err(format!(
                "'{}' is the default, and false does not turn it off: write {opposite} = true",
                parameter.name
            )),
        },
        (Kind::Flag, _) => Err(mistaken(parameter, value)),
        (Kind::Switch, Value::Truth(is_on)) => Ok(vec![option, if *is_on { "on" } else { "off" }.into()]),
        (_, Value::Truth(true)) if parameter.has_optional_value() => Ok(vec![option]),
        // Left out, it would have its default, which need not be that it is off.
        (_, Value::Truth(false)) if parameter.has_optional_value() => {
            Ok(parameter.word_for_off().map(|off| format!("{option}={off}")).into_iter().collect())
        }
        _ => {
            let values = values(parameter, value)?;
            let joined = match parameter.arg.get_value_delimiter() {
                Some(delimiter) => vec![values.join(&delimiter.to_string())],
                None => values,
            };
            let needs_sign = |value: &str| parameter.arg.is_require_equals_set() || value.starts_with('-');
            Ok(joined
                .into_iter()
                .flat_map(|value| match needs_sign(&value) {
                    true => vec![format!("{option}={value}")],
                    false => vec![option.clone(), value],
                })
                .collect())
        }
    }
}

/// The values of a parameter, one or several.
pub(super) fn values(parameter: &Parameter, value: &Value) -> Result<Vec<String>, String> {
    let name = &parameter.name;
    let list = match value {
        Value::List(values) if !parameter.is_list => {
            let more = values.first().map_or(String::new(), |value| format!(", such as {}", value.shown().toml()));
            return Err(format!(
                "'{name}' takes one value{more}; [NAME.matrix] makes one run for each value of a list"
            ));
        }
        Value::List(values) if values.is_empty() => {
            return Err(format!("'{name}' is an empty list: leave it out, or name a value"));
        }
        Value::List(values) => values.as_slice(),
        one => std::slice::from_ref(one),
    };
    let word = |value: &Value| match value {
        Value::Truth(_) | Value::List(_) => Err(mistaken(parameter, value)),
        value => Ok(value.word().unwrap_or_default().to_string()),
    };
    list.iter().map(word).collect()
}

fn mistaken(parameter: &Parameter, value: &Value) -> String {
    let value = super::spelling::shortened(&value.shown().toml());
    format!("'{}' takes {}, and not {value}", parameter.name, parameter.written())
}

/// Words as a shell takes them.
pub(crate) fn of_shell<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    words.into_iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./,:=+@%".contains(letter);
    if word.contains(char::is_control) {
        return format!("$'{}'", word.chars().map(escaped).collect::<String>());
    }
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// A letter between `$'` and `'`: what a terminal would act on is written as a number.
fn escaped(letter: char) -> String {
    match letter {
        '\'' | '\\' => format!("\\{letter}"),
        _ if letter.is_control() => letter.to_string().bytes().map(|byte| format!("\\x{byte:02x}")).collect(),
        _ => letter.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_gets_every_word_whole() {
        let words = ["disk", "/data/old file", "it's", "", "$HOME", "--depth=4"].map(String::from);
        assert_eq!(of_shell(&words), r"disk '/data/old file' 'it'\''s' '' '$HOME' --depth=4");
    }

    #[test]
    fn a_control_character_reaches_the_shell_and_no_terminal() {
        let words = ["a\nreboot".to_string(), "it's\u{1b}[2K\u{9b}".to_string()];
        assert_eq!(of_shell(&words), r"$'a\x0areboot' $'it\'s\x1b[2K\xc2\x9b'");
    }
}
