//! Names and values as users write them: with a slip, too long for a sentence, or of several lines.

/// Longest word that a sentence repeats, and that is compared with known ones.
const LENGTH_MAX: usize = 60;

/// The name with hyphens, as it stands on the command line; run documents write it with underscores.
pub(super) fn hyphenated(name: &str) -> String {
    name.replace('_', "-")
}

/// The known name that is nearest to a word, where one is near.
pub(super) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LENGTH_MAX {
        return None;
    }
    let word = hyphenated(&word.to_lowercase());
    // A part of a name is near, unless it is one of nearly any, and a slip of one letter is nearer.
    let distance = |name: &str| match word.len() > 2 && name.contains(word.as_str()) || word.contains(name) {
        true => strsim::damerau_levenshtein(&word, name).min(2),
        false => strsim::damerau_levenshtein(&word, name),
    };
    let near = known.into_iter().map(|name| (distance(name), name)).min_by_key(|(distance, _)| *distance);
    near.filter(|(distance, name)| *distance <= name.len().max(word.len()) / 2).map(|(_, name)| name)
}

/// ` (did you mean 'depth'?)`, or nothing.
pub(super) fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or(String::new(), |name| format!(" (did you mean '{name}'?)"))
}

/// A word for a sentence.
pub(super) fn shortened(word: &str) -> String {
    match word.char_indices().nth(LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.into(),
    }
}

/// A word for a name. It keeps its end too: of paths, this is what tells them apart.
pub(super) fn shortened_within(word: &str) -> String {
    let at = |letter: Option<(usize, char)>| letter.map_or(0, |(at, _)| at);
    let (begin, end) = (word.char_indices().nth(LENGTH_MAX / 2), word.char_indices().nth_back(LENGTH_MAX / 2 - 1));
    match word.chars().nth(LENGTH_MAX) {
        Some(_) => format!("{}…{}", &word[..at(begin)], &word[at(end)..]),
        None => word.into(),
    }
}

/// A sentence on one line, with an escape for each control character in what it quotes, as what is wrong with a command
/// line has it.
pub(crate) fn on_one_line(sentence: &str) -> String {
    let mut shown = String::new();
    for letter in sentence.chars() {
        match letter.is_control() {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_answered_with_the_name_that_was_meant() {
        let known = ["block-size", "depth", "span", "huge-pages"];
        let near = |word| nearest(word, known);
        assert_eq!(
            (near("dept"), near("detph"), near("blocksize")),
            (Some("depth"), Some("depth"), Some("block-size"))
        );
        assert_eq!((near("Huge_Page"), near("bs"), near("colour")), (Some("huge-pages"), None, None));
        assert_eq!((near("a"), near("pan")), (None, Some("span")), "one letter is in nearly any name");
        assert_eq!(near(&"depth".repeat(100_000)), None);
        assert!(shortened(&"é".repeat(100_000)).len() < 130);
    }
}
