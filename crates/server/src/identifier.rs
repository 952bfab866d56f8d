//! Names in statements.

/// A name as an identifier of SQL.
pub fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The words that stand for no name without quotation marks, sorted: what `pg_get_keywords()` calls reserved
/// ("R" and "T"), in any version up to 18.
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "authorization", "binary", "both",
    "case", "cast", "check", "collate", "collation", "column", "concurrently", "constraint", "create", "cross",
    "current_catalog", "current_date", "current_role", "current_schema", "current_time", "current_timestamp",
    "current_user", "default", "deferrable", "desc", "distinct", "do", "else", "end", "except", "false", "fetch",
    "for", "foreign", "freeze", "from", "full", "grant", "group", "having", "ilike", "in", "initially", "inner",
    "intersect", "into", "is", "isnull", "join", "lateral", "leading", "left", "like", "limit", "localtime",
    "localtimestamp", "natural", "not", "notnull", "null", "offset", "on", "only", "or", "order", "outer", "overlaps",
    "placing", "primary", "references", "returning", "right", "select", "session_user", "similar", "some",
    "symmetric", "system_user", "table", "tablesample", "then", "to", "trailing", "true", "union", "unique", "user",
    "using", "variadic", "verbose", "when", "where", "window", "with",
];

/// A name in a statement that a sentence asks a person to run: in quotation marks only where it needs them.
pub fn name_to_paste(name: &str) -> String {
    let is_plain = name.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
        && RESERVED.binary_search(&name).is_err();
    if is_plain { name.into() } else { identifier(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_statement_to_paste_stands_in_quotation_marks_where_it_needs_them() {
        let pasted = ["shop", "my-app", "Shop", "a\"; DROP ROLE b; --", "7up"].map(name_to_paste);
        assert_eq!(pasted, ["shop", "\"my-app\"", "\"Shop\"", "\"a\"\"; DROP ROLE b; --\"", "\"7up\""]);
        let words = ["user", "order", "left", "owner"].map(name_to_paste);
        assert_eq!(words, ["\"user\"", "\"order\"", "\"left\"", "owner"]);
        assert!(RESERVED.is_sorted());
    }
}
