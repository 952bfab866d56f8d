//! Names of events as databases spell them: upper and lower case, spaces and underscores do not distinguish them.

/// The characters of a name that distinguish events.
fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    let distinguishing = |letter: &char| !letter.is_whitespace() && *letter != '_';
    name.chars().filter(distinguishing).map(|letter| letter.to_ascii_lowercase())
}

/// Whether two names are of one event.
pub(super) fn is_same(pattern: &str, event: &str) -> bool {
    letters(pattern).eq(letters(event))
}

/// Whether the name of an event begins so.
pub(super) fn begins(event: &str, start: &str) -> bool {
    let mut event = letters(event);
    letters(start).all(|letter| event.next() == Some(letter))
}
