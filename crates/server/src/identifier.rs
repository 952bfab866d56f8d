//! Names in statements.

/// A name as an identifier of SQL.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A name in a statement that a sentence asks a person to run: in quotation marks only where it needs them.
pub fn name_to_paste(name: &str) -> String {
    let is_plain = name.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    if is_plain { name.into() } else { identifier(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_statement_to_paste_stands_in_quotation_marks_where_it_needs_them() {
        let pasted = ["shop", "my-app", "Shop", "a\"; DROP ROLE b; --", "7up"].map(name_to_paste);
        assert_eq!(pasted, ["shop", "\"my-app\"", "\"Shop\"", "\"a\"\"; DROP ROLE b; --\"", "\"7up\""]);
    }
}
