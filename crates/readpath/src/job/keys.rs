//! What a command says of its options, in the words of a job file, which has keys.

use super::experiment::Experiment;

/// A sentence about options as one about keys: `--direct` becomes 'direct', and `--workers 2` becomes workers = 2. A
/// command line in backquotes stays one.
pub(crate) fn in_keys(sentence: &str, experiment: &Experiment) -> String {
    let names: Vec<&str> = experiment.names().collect();
    let parts = sentence.split('`').enumerate();
    let parts = parts.map(|(at, part)| if at % 2 == 0 { keyed(part, &names) } else { part.into() });
    parts.collect::<Vec<String>>().join("`")
}

fn keyed(text: &str, names: &[&str]) -> String {
    let mut pieces = text.split("--");
    let mut keyed = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        let is_of_name = |letter: char| letter == '-' || letter.is_ascii_alphanumeric();
        let (name, rest) = split(piece, is_of_name);
        keyed += &match value(rest) {
            _ if !names.contains(&name) => format!("--{piece}"),
            Some((value, rest)) => format!("{name} = {value}{rest}"),
            None => format!("'{name}'{rest}"),
        };
    }
    keyed
}

/// The number or size behind an option, as TOML has it, and what follows it.
fn value(rest: &str) -> Option<(String, &str)> {
    let behind = rest.strip_prefix(' ').filter(|behind| behind.starts_with(|first: char| first.is_ascii_digit()))?;
    let (word, rest) = split(behind, |letter| letter.is_ascii_alphanumeric());
    let is_number = word.bytes().all(|letter| letter.is_ascii_digit());
    Some((if is_number { word.into() } else { format!("\"{word}\"") }, rest))
}

/// The letters at the beginning that fit, and the rest.
fn split(text: &str, fits: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|letter| !fits(letter)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;
    use crate::job::experiment::experiments;

    #[test]
    fn an_error_of_a_job_file_names_no_option_that_is_a_key_there() {
        let known = experiments(&cli::definition());
        let disk = known.iter().find(|experiment| experiment.name == "disk").unwrap();
        for (of_command, of_file) in [
            ("--direct has no effect here: it is a model", "'direct' has no effect here: it is a model"),
            ("give a smaller --span or --offset", "give a smaller 'span' or 'offset'"),
            ("give --workers 2, or --block-size 8KiB or so", "give workers = 2, or block-size = \"8KiB\" or so"),
            ("as `readpath disk --direct` does", "as `readpath disk --direct` does"),
            ("leave out --no-store -- and --other", "leave out --no-store -- and --other"),
        ] {
            assert_eq!(in_keys(of_command, disk), of_file);
        }
    }
}
