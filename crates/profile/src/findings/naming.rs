//! Statements, shares and times as sentences name them.

use crate::event::{Statement, StatementKind, Ticks};
use crate::tables::{Profile, StatementProfile};

/// Words of a text that name a statement, and letters of them, at most.
const WORDS_MAX: usize = 8;
const LETTERS_MAX: usize = 48;

/// A statement as a sentence names it: identifier and the beginning of its text. Where it ends a sentence, see
/// [`ended`].
pub(super) fn name(profile: &Profile, statement: &StatementProfile) -> String {
    let Some(known) = profile.context.statement(statement.statement) else { return String::new() };
    match known.kind {
        StatementKind::Declared | StatementKind::ParseError => {
            format!("{} {}", known.id, beginning(&known.text)).trim().to_string()
        }
        _ => known.id.clone(),
    }
}

/// The same as the place of a part of something: `in statement 4c1 select …`, and `in other statements`.
pub(super) fn in_statement(profile: &Profile, statement: &StatementProfile) -> String {
    let word = if has_no_text(profile, statement) { "in" } else { "in statement" };
    format!("{word} {}", name(profile, statement))
}

/// The first words of a text, and whether there are more. A word that is too long by itself is cut.
fn beginning(text: &str) -> String {
    let mut words = text.split_whitespace();
    let Some(first) = words.next() else { return String::new() };
    let mut shown: String = first.chars().take(LETTERS_MAX).collect();
    let mut is_whole = shown.len() == first.len();
    let mut letters = shown.chars().count();
    for (number, word) in (2..).zip(words) {
        letters += 1 + word.chars().count();
        if !is_whole || number > WORDS_MAX || letters > LETTERS_MAX {
            is_whole = false;
            break;
        }
        shown.push(' ');
        shown.push_str(word);
    }
    if is_whole { shown } else { shown + " …" }
}

/// A sentence with its full stop; what is left out at its end has none behind it.
pub(super) fn ended(sentence: String) -> String {
    if sentence.ends_with('…') { sentence } else { sentence + "." }
}

/// Whether the database runs a statement by itself, such as to look into its dictionary: no program can prepare it, or
/// execute it less often.
pub(super) fn is_of_the_dictionary(profile: &Profile, statement: &StatementProfile) -> bool {
    profile.context.statement(statement.statement).is_some_and(|known| known.depth > 0 && known.user == Some(0))
}

/// Whether a statement stands for several texts that differ in their literals. Its own text does not say so: it can
/// have a question mark in a pattern or a comment.
pub(super) fn is_of_several_texts(profile: &Profile, statement: &StatementProfile) -> bool {
    let is_shared_row = |known: &Statement| known.id.starts_with("folded-");
    statement.folded > 0 || profile.context.statement(statement.statement).is_some_and(is_shared_row)
}

/// Rows of several statements whose texts are not known, or for which there was no room.
const SHARED_ROWS: [&str; 3] = ["other statements", "unknown text", "other unknown cursors"];

/// Whether a row stands for calls of which no text says what they do: those of no cursor, on large objects and of the
/// client's side, and those of all statements for which the registry had no room.
pub(super) fn has_no_text(profile: &Profile, statement: &StatementProfile) -> bool {
    profile.context.statement(statement.statement).is_some_and(|known| match known.kind {
        StatementKind::Declared => known.id == "other statements",
        StatementKind::NoCursor | StatementKind::LargeObjects | StatementKind::ClientCalls => true,
        StatementKind::UnknownCursor => SHARED_ROWS.contains(&known.id.as_str()),
        StatementKind::ParseError => false,
    })
}

/// Statements of the database that stand between one of them and the program's own statement at most.
const CALLERS_MAX: usize = 8;

/// The statement for which the database runs one of its own most of the time.
pub(super) fn caller<'p>(profile: &'p Profile, called: &StatementProfile) -> Option<&'p StatementProfile> {
    let mut at = called.statement;
    for _ in 0..CALLERS_MAX {
        let edges = profile.callers.iter().filter(|((parent, child), _)| *child == at && *parent != at);
        let ((parent, _), _) = edges.max_by_key(|(_, sums)| sums.elapsed)?;
        let found = profile.statements.iter().find(|one| one.statement == *parent)?;
        if !is_of_the_dictionary(profile, found) {
            return Some(found);
        }
        at = *parent;
    }
    None
}

/// What runs a statement of the database's own.
pub(super) fn by_itself(profile: &Profile, called: &StatementProfile) -> String {
    match caller(profile, called) {
        Some(caller) => ended(format!("The database runs it by itself, most of it for {}", name(profile, caller))),
        None => "The database runs it by itself.".into(),
    }
}

/// A part of a whole in percent, with as many decimals as the tables have.
pub(super) fn percent(part: f64, whole: f64) -> String {
    if whole == 0.0 { "0.0".into() } else { format!("{:.1}", 100.0 * part / whole) }
}

/// In nanoseconds.
pub(super) fn nanos(ticks: Ticks) -> f64 {
    ticks.micros() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_words_and_ends_a_sentence_with_one_sign() {
        let long = "x".repeat(LETTERS_MAX + 1);
        for (text, expected) in [
            ("", ""),
            ("select  1", "select 1"),
            (
                "select a from t where json_each(order_js) = jsonb_build",
                "select a from t where json_each(order_js) = …",
            ),
            ("a b c d e f g h i", "a b c d e f g h …"),
            (&*long, &*(long[1..].to_string() + " …")),
        ] {
            assert_eq!(beginning(text), expected);
        }
        assert_eq!(
            ["it is select 1", "it is select …"].map(|text| ended(text.into())),
            ["it is select 1.", "it is select …"]
        );
    }
}
