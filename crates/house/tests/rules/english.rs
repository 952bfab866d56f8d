//! Words that no sentence of ours holds: each has a plainer one, and read in a row they make a text read translated.

use crate::tree::SourceFile;

/// Whole words and phrases that are refused, each put together from two parts so that this file passes its own rule.
const REFUSED: [(&str, &str); 10] = [
    ("no", "body"),
    ("some", "body"),
    ("who", "ever"),
    ("every", "body"),
    ("any", "body"),
    ("so", " many"),
    ("is", " told"),
    ("are", " told"),
    ("who", " answered"),
    ("the document", "'s"),
];

/// The phrases, whole.
pub(crate) fn refused_phrases() -> Vec<String> {
    REFUSED.iter().map(|(start, end)| format!("{start}{end}")).collect()
}

/// Every place where a sentence holds a refused word: in Rust files and in Markdown pages, apart from kept results.
///
/// Excepted are the system user of that name where it stands alone in backticks, quotes or between the colons of a
/// password file, and lines of a page that quote another text (`> `).
pub(crate) fn refused_words(file: &SourceFile, phrases: &[String]) -> Vec<String> {
    let is_ours = file.is(".rs") || (file.is(".md") && !file.path.starts_with("results/"));
    if !is_ours {
        return Vec::new();
    }
    let words = words(file);
    let mut complaints = Vec::new();
    for phrase in phrases {
        let wanted: Vec<&str> = phrase.split(' ').collect();
        let found = words.windows(wanted.len()).filter(|window| is_phrase(window, &wanted));
        complaints.extend(found.map(|window| format!("{}:{}: `{phrase}`", file.path, window[0].line)));
    }
    complaints
}

/// A word in lower case, its line, and whether the end of a sentence or of a literal stands between it and the next.
struct Word {
    text: String,
    line: usize,
    ends_clause: bool,
}

fn is_phrase(window: &[Word], wanted: &[&str]) -> bool {
    let (inner, _) = window.split_at(window.len() - 1);
    let is_wanted = |(word, wanted): (&Word, &&str)| {
        word.text == **wanted || (!wanted.contains('\'') && word.text.strip_suffix("'s") == Some(wanted))
    };
    inner.iter().all(|word| !word.ends_clause) && window.iter().zip(wanted).all(is_wanted)
}

/// The words of a file. A phrase may go on in the next line of a comment or of a literal: marks of comments and the
/// backslash of a continued line count as blanks.
fn words(file: &SourceFile) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if file.is(".md") && line.starts_with("> ") {
            continue;
        }
        let line = line.replace(USER_IN_MARKS[0], "").replace(USER_IN_MARKS[1], "").replace(USER_IN_MARKS[2], "");
        let is_letter = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '\'';
        for piece in line.split_inclusive(|letter| !is_letter(letter)) {
            let text = piece.trim_end_matches(|letter| !is_letter(letter));
            let after = &piece[text.len()..];
            let text = text.trim_matches('\'');
            let is_blank = |letter: char| letter.is_whitespace() || matches!(letter, '/' | '!' | '\\');
            let ends_clause = !after.chars().all(is_blank);
            match words.last_mut() {
                Some(last) if text.is_empty() => last.ends_clause |= ends_clause,
                _ if text.is_empty() => {}
                _ => words.push(Word { text: text.to_lowercase(), line: index + 1, ends_clause }),
            }
        }
    }
    words
}

/// The system user, as code and pages name it.
const USER_IN_MARKS: [&str; 3] = [concat!("`no", "body`"), concat!("\"no", "body\""), concat!(":no", "body:")];
