//! The table of options, read from its text.

use std::fs;

use super::witness::Witness;

/// Commands whose result can be a document.
const HAS_DOCUMENT: [&str; 12] =
    ["disk", "roundtrip", "lio", "scan", "join", "calibrate", "counters", "profile", "runs", "show", "compare", "null"];

/// Stands after `against` where there is nothing to be held against.
pub(super) const NOTHING: &str = "nothing";

/// Options that all commands have: one section of a command stands for all of them.
pub(super) const GLOBALS: [&str; 4] = ["--format", "--store", "--no-store", "--quiet"];

/// Options that name what the others are tried on: the sections differ by them.
pub(super) const PLACES: [&str; 4] = ["--on", "--pid", "--events", "--runs"];

/// The commands that consist of two words.
const OF_TWO_WORDS: [&str; 1] = ["runs rm"];

/// Whether the result of a command line can be a document, and no other format is named.
pub(super) fn has_document(words: &str) -> bool {
    let command = command_of(words);
    HAS_DOCUMENT.contains(&command) && !["--format", "--dry-run", "--job"].iter().any(|option| words.contains(option))
}

/// The command of a command line, in one word or two.
fn command_of(words: &str) -> &str {
    let two = OF_TWO_WORDS.into_iter().find(|two| words.starts_with(two));
    two.unwrap_or_else(|| words.split(' ').next().unwrap_or_default())
}

/// One command on one kind of device or subject.
pub(super) struct Section {
    /// What it is tried on.
    pub(super) title: String,
    /// The command line that the others are held against.
    pub(super) plain: String,
    /// The command lines with the options.
    pub(super) runs: Vec<Run>,
}

/// A command line with the options that it tries.
pub(super) struct Run {
    /// Its words.
    pub(super) words: String,
    /// What is run before, in the same home, with `; ` between command lines.
    pub(super) after: Option<String>,
    /// What the machine must have.
    pub(super) needs: Option<String>,
    /// What it is held against, in place of the section's.
    pub(super) against: Option<String>,
    /// The options, each with what shows its effect.
    pub(super) options: Vec<(String, Witness)>,
}

impl Section {
    /// The command, in one word or two.
    pub(super) fn command(&self) -> String {
        command_of(&self.plain).into()
    }

    /// Whether one of its runs tries the option.
    pub(super) fn tries(&self, option: &str) -> bool {
        self.runs.iter().any(|run| run.options.iter().any(|(tried, _)| tried == option))
    }

    /// Whether one of its runs shows an effect of the option.
    pub(super) fn takes(&self, option: &str) -> bool {
        let is_effect =
            |(tried, witness): &(String, Witness)| tried == option && !matches!(witness, Witness::Refused(_));
        self.runs.iter().any(|run| run.options.iter().any(is_effect))
    }

    /// Whether the command is refused there, whatever its options.
    pub(super) fn is_refused(&self) -> bool {
        self.tries("--on") && self.runs.iter().all(|run| matches!(run.options[..], [(_, Witness::Refused(_))]))
    }
}

/// The sections of the table. Lines: `[TITLE]`; the plain words; words that are tried, below them in two columns more
/// `after WORDS`, `against WORDS` and one line an option, `--option: WITNESS`.
pub(super) fn sections() -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands/options/table.txt")).unwrap();
    let text = text.replace(" \\\n", " ");
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        if let Some(title) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            sections.push(Section { title: title.into(), plain: String::new(), runs: Vec::new() });
            continue;
        }
        let section = sections.last_mut().unwrap();
        match (line.strip_prefix("  "), section.runs.last_mut()) {
            (None, _) if section.plain.is_empty() => section.plain = one_blank(line),
            (None, _) => section.runs.push(Run {
                words: one_blank(line),
                after: None,
                needs: None,
                against: None,
                options: Vec::new(),
            }),
            (Some(line), Some(run)) => run.add(line),
            (Some(line), None) => panic!("{}: {line}", section.title),
        }
    }
    sections.iter().for_each(Section::check);
    sections
}

/// Words with one blank between them.
fn one_blank(words: &str) -> String {
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Run {
    /// Whether its result depends on how much the machine does in a time.
    pub(super) fn is_timed(&self) -> bool {
        let takes = |(_, witness): &(String, Witness)| matches!(witness, Witness::Takes(_));
        self.words.contains(" --duration ") || self.options.iter().any(takes)
    }

    fn add(&mut self, line: &str) {
        match line.split_once(' ').unwrap() {
            ("after", words) => self.after = Some(one_blank(words)),
            ("needs", what) => self.needs = Some(what.into()),
            ("against", words) => self.against = Some(one_blank(words)),
            (option, witness) => {
                let option = option.strip_suffix(':').unwrap_or_else(|| panic!("{line}"));
                self.options.push((option.into(), Witness::of(witness.trim())));
            }
        }
    }
}

impl Section {
    /// Each option that is in a command line, and not with this value in the one that it is held against, has a
    /// witness. A refusal names one option, and others may have to stand beside it.
    fn check(&self) {
        for run in &self.runs {
            let given = options(&run.words);
            let against = run.against.as_ref().unwrap_or(&self.plain);
            let known = if against == NOTHING { given.clone() } else { options(against) };
            let is_tried = |option: &str| run.options.iter().any(|(tried, _)| tried == option);
            let is_refusal = run.options.iter().all(|(_, witness)| matches!(witness, Witness::Refused(_)));
            let added = given.iter().filter(|option| !is_refusal && !known.contains(option));
            let without: Vec<_> =
                added.filter(|(option, _)| !is_tried(option) && !PLACES.contains(&&**option)).collect();
            assert!(without.is_empty(), "{}: {}: no witness for {without:?}", self.title, run.words);
            let absent = run.options.iter().find(|(tried, _)| !given.iter().any(|(option, _)| option == tried));
            assert!(absent.is_none(), "{}: {}: {absent:?} is not there", self.title, run.words);
        }
    }
}

/// The options of a command line, each with its value, before the words of another command.
fn options(words: &str) -> Vec<(String, Option<String>)> {
    let words = words.split(' ').take_while(|word| *word != "--");
    // A value may stand behind an equals sign as well.
    let words: Vec<&str> =
        words.flat_map(|word| word.splitn(if word.starts_with("--") { 2 } else { 1 }, '=')).collect();
    let value = |at: usize| words.get(at + 1).filter(|word| !word.starts_with("--")).map(|word| word.to_string());
    let named = words.iter().enumerate().filter(|(_, word)| word.starts_with("--"));
    named.map(|(at, word)| (word.to_string(), value(at))).collect()
}
