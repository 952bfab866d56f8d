//! Names of events as databases spell them: upper and lower case, spaces and underscores do not distinguish them.

/// The characters of a name that distinguish events.
fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|letter| !parts_words(*letter)).map(|letter| letter.to_ascii_lowercase())
}

/// Whether a character only stands between the words of a name.
fn parts_words(letter: char) -> bool {
    letter.is_whitespace() || letter == '_'
}

/// Whether two names are of one event.
pub(super) fn is_same(pattern: &str, event: &str) -> bool {
    letters(pattern).eq(letters(event))
}

/// Whether the name of an event begins so. A beginning that ends in a word and a space is one of whole words: `gc `
/// does not begin `gcr sleep`.
pub(super) fn begins(event: &str, start: &str) -> bool {
    let mut rest = event.chars();
    let mut next = || rest.find(|letter| !parts_words(*letter)).map(|letter| letter.to_ascii_lowercase());
    let is_begun = letters(start).all(|letter| next() == Some(letter));
    let ends_word = start.ends_with(' ') && letters(start).last().is_some_and(char::is_alphanumeric);
    is_begun && (!ends_word || rest.next().is_none_or(parts_words))
}
