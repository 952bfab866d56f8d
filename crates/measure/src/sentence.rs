//! Pieces of the sentences that people read.

/// The sentence with its first letter as a capital.
pub fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::capital;

    #[test]
    fn a_sentence_begins_with_a_capital_whatever_its_first_letter_is() {
        assert_eq!(["a b", "élan", "1 read", ""].map(capital), ["A b", "Élan", "1 read", ""]);
    }
}
