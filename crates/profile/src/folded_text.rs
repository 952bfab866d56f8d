//! A statement's text with its literals folded, so that statements that differ only in them are one.

/// The text with each literal as `?`, each list of literals as one, without comments, and with single spaces.
///
/// Quoted names, bind variables (`:1`, `$1`) and the case of letters stay. The text need not be valid SQL, nor whole.
pub fn fold_literals(text: &str) -> String {
    let mut folded = Folded::default();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = piece(rest, letter, &mut folded);
        rest = &rest[length..];
    }
    folded.text
}

#[derive(Default)]
struct Folded {
    text: String,
    wants_space: bool,
}

impl Folded {
    fn space(&mut self) {
        self.wants_space = !self.text.is_empty();
    }

    fn push(&mut self, piece: &str) {
        if std::mem::take(&mut self.wants_space) {
            self.text.push(' ');
        }
        self.text.push_str(piece);
    }

    /// A literal; of `?, ?` only the first stays.
    fn literal(&mut self) {
        let before = self.text.trim_end();
        if let Some(list) = before.strip_suffix(',').map(str::trim_end).filter(|list| list.ends_with('?')) {
            self.text.truncate(list.len());
            self.wants_space = false;
        } else {
            self.push("?");
        }
    }
}

/// Takes one piece off the front; its length in bytes, at least one character.
fn piece(rest: &str, letter: char, folded: &mut Folded) -> usize {
    if letter.is_whitespace() {
        folded.space();
        return letter.len_utf8();
    }
    if rest.starts_with("--") {
        folded.space();
        return rest.find('\n').unwrap_or(rest.len());
    }
    if let Some(comment) = rest.strip_prefix("/*") {
        folded.space();
        return comment.find("*/").map_or(rest.len(), |end| end + 4);
    }
    if letter == '\'' {
        folded.literal();
        return quoted(rest, '\'');
    }
    if letter == '"' {
        let length = quoted(rest, '"');
        folded.push(&rest[..length]);
        return length;
    }
    if let Some(length) = dollar_quoted(rest) {
        folded.literal();
        return length;
    }
    if letter.is_ascii_digit() {
        let is_number = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '.' || *letter == '_';
        folded.literal();
        return rest.chars().take_while(is_number).map(char::len_utf8).sum();
    }
    if is_of_word(letter) || matches!(letter, '$' | ':') {
        let word = letter.len_utf8()
            + rest[letter.len_utf8()..].chars().take_while(|l| is_of_word(*l)).map(char::len_utf8).sum::<usize>();
        return prefixed_string(rest, word, folded).unwrap_or_else(|| {
            folded.push(&rest[..word]);
            word
        });
    }
    folded.push(&rest[..letter.len_utf8()]);
    letter.len_utf8()
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '$' | '#')
}

/// Length of what stands between two of `quote`, both included; a doubled quote is one of the text.
fn quoted(rest: &str, quote: char) -> usize {
    let mut at = quote.len_utf8();
    loop {
        let Some(end) = rest[at..].find(quote) else { return rest.len() };
        at += end + 1;
        if !rest[at..].starts_with(quote) {
            return at;
        }
        at += 1;
    }
}

/// `E'...'`, `N'...'`, `x'...'`: one literal together with the letter.
fn prefixed_string(rest: &str, word: usize, folded: &mut Folded) -> Option<usize> {
    let is_prefix = word == 1 && rest.starts_with(['e', 'E', 'n', 'N', 'x', 'X', 'b', 'B', 'q', 'Q']);
    if !is_prefix || !rest[1..].starts_with('\'') {
        return None;
    }
    folded.literal();
    if !rest.starts_with(['e', 'E']) {
        return Some(1 + quoted(&rest[1..], '\''));
    }
    // In E'...' a backslash takes the next letter with it.
    let mut is_escaped = false;
    let end = rest[2..].find(|letter: char| {
        let ends = letter == '\'' && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        ends
    });
    Some(end.map_or(rest.len(), |end| end + 3))
}

/// Length of `$tag$...$tag$` where one begins here.
fn dollar_quoted(rest: &str) -> Option<usize> {
    let tag = rest.strip_prefix('$')?;
    let length = tag.find(|letter: char| !(letter.is_alphanumeric() || letter == '_'))?;
    if !tag[length..].starts_with('$') || tag.starts_with(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    let tag = &rest[..length + 2];
    let end = rest[tag.len()..].find(tag).map(|end| end + 2 * tag.len());
    Some(end.unwrap_or(rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_differ_only_in_literals_are_one() {
        let one = fold_literals("SELECT a1, \"B 2\" FROM t\n WHERE x = 17 AND y IN (1,2, 3) /* c */ AND z='it''s'");
        assert_eq!(one, "SELECT a1, \"B 2\" FROM t WHERE x = ? AND y IN (?) AND z=?");
        let other = fold_literals("SELECT a1, \"B 2\" FROM t WHERE x = -- why\n 4.5e7 AND y IN ('a') AND z=E'\\''");
        assert_eq!(one, other);
        assert_eq!(fold_literals("f($1, :b2, $$x'y$$, $t$ $$ $t$)"), "f($1, :b2, ?)");
    }

    #[test]
    fn a_text_cut_anywhere_is_folded_without_a_panic() {
        let text = "select 'ä''b', $q$é$q$, E'\\\\', \"ü\"\"\", 0x1F, -- ö\n n'x' /* ß */ from été$1 where :ä = 1.5";
        for (index, _) in text.char_indices() {
            fold_literals(&text[..index]);
            fold_literals(&text[index..]);
        }
    }
}
