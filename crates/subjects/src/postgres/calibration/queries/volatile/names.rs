//! The names of functions and operators, with their schemas and the numbers of arguments that calls can give, and the
//! names of types: what a name in a plan or a text can mean.
//!
//! EXPLAIN writes a name without its schema where the role's search path leads to it, and with its schema where the
//! path does not. Which of several functions of a name it means, only the server knows: a bare name counts as that of a
//! volatile function where some schema of the path has one that can be called with as many arguments.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use crate::postgres::calibration::queries::tokens::{Token, arguments, cut};

/// Whatever number of arguments a call gives.
pub(super) const ANY: RangeInclusive<usize> = 0..=usize::MAX;

/// Words for types that are neither their names in the catalog nor what plans write.
///
/// Source: PostgreSQL, the rules `Numeric` and `Character` in src/backend/parser/gram.y.
const SPELLED: [(&str, &str); 11] = [
    ("int", "int4"),
    ("float", "float4"),
    ("float", "float8"),
    ("dec", "numeric"),
    ("decimal", "numeric"),
    ("char", "bpchar"),
    ("char", "varchar"),
    ("nchar", "bpchar"),
    ("nchar", "varchar"),
    ("national", "bpchar"),
    ("national", "varchar"),
];

/// Functions by the two ways of calling them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Functions {
    pub(super) called: Names,
    /// Those that can stand where a column stands too.
    pub(super) attributes: Names,
}

/// Names with their schemas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Names {
    /// Those that can stand without their schema, each with those of the path that have it.
    bare: BTreeMap<String, BTreeSet<String>>,
    /// With their schemas, and with the numbers of arguments of the functions of this name.
    pub(super) all: BTreeMap<(String, String), Vec<RangeInclusive<usize>>>,
}

impl Functions {
    /// That of a call with these tokens behind its name, or else of what stands where a column stands, for which no
    /// schema can be given.
    pub(super) fn get(&self, schema: Option<&str>, name: &str, call: Option<&[Token<'_>]>) -> Option<(&str, &str)> {
        match call {
            Some(call) => self.called.taking(schema, name, call),
            None => self.attributes.get(None, name),
        }
    }
}

impl Names {
    pub(super) fn add(
        &mut self,
        path: &BTreeSet<String>,
        (schema, name): (String, String),
        given: RangeInclusive<usize>,
    ) {
        // Where the server writes a letter in fewer bytes, its names are longer here.
        let (schema, name) = (cut(&schema).to_string(), cut(&name).to_string());
        if path.iter().any(|one| cut(one) == schema) {
            self.bare.entry(name.clone()).or_default().insert(schema.clone());
        }
        self.all.entry((schema, name)).or_default().push(given);
    }

    /// The schema and the name of an operator, or of a function that takes a row.
    pub(super) fn get(&self, schema: Option<&str>, name: &str) -> Option<(&str, &str)> {
        self.taking(schema, name, &[])
    }

    /// The schema and the name, as it is written or in small letters: of letters beyond ASCII, the server's encoding
    /// decides whether they are folded. Of a function, one that takes as many arguments as the bracket at the beginning
    /// of `call` has.
    fn taking(&self, schema: Option<&str>, name: &str, call: &[Token<'_>]) -> Option<(&str, &str)> {
        let folded = schema.map(str::to_lowercase);
        self.exactly(schema, name, call).or_else(|| self.exactly(folded.as_deref(), &name.to_lowercase(), call))
    }

    fn exactly(&self, schema: Option<&str>, name: &str, call: &[Token<'_>]) -> Option<(&str, &str)> {
        let found = |schema: &str| {
            let ((schema, name), given) = self.all.get_key_value(&(schema.to_string(), name.to_string()))?;
            let count = arguments(call);
            given.iter().any(|given| given.contains(&count)).then_some((schema.as_str(), name.as_str()))
        };
        match schema {
            Some(schema) => found(schema),
            None => self.bare.get(name)?.iter().find_map(|schema| found(schema.as_str())),
        }
    }
}

/// What the catalog may call a type that a text names by this word.
pub(super) fn names_of_type(word: &str) -> Vec<String> {
    let spelled = SPELLED.iter().filter(|(one, _)| *one == word).map(|(_, name)| (*name).to_string());
    [word.to_string(), word.to_lowercase()].into_iter().chain(spelled).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Volatile;
    use super::super::samples::{in_plan, rows};

    #[test]
    fn a_users_function_of_a_name_of_the_servers_is_found_where_a_bare_name_may_be_its() {
        let in_path = |path: &[&[&str]]| {
            let names: &[&[&str]] = &[&["function", "util", "round"], &["operator", "util", "-"]];
            let volatile = Volatile::of(rows(path), rows(names), Vec::new());
            ["round(t.a, 2)", "util.round(t.a, 2)", "(t.a - 1)", "(t.a OPERATOR(util.-) 1)", "'2024-01-01'::date"]
                .map(|text| in_plan(&volatile, &format!("\"Filter\": \"{text}\"")))
        };
        let found = in_path(&[&["pg_catalog"], &["util"]]);
        assert!(found[0].as_ref().unwrap().contains("volatile in the schema util"), "{found:?}");
        assert_eq!(found.map(|found| found.is_some()), [true, true, true, true, false]);
        let found = in_path(&[&["pg_catalog"], &["public"]]);
        assert_eq!(found.map(|found| found.is_some()), [false, true, false, true, false]);
    }

    #[test]
    fn a_users_function_that_takes_another_number_of_arguments_is_not_what_a_bare_name_means() {
        let names: &[&[&str]] = &[
            &["function", "util", "round", "2", "3"],
            &["function", "util", "round", "5", "5"],
            &["function", "util", "sum_of", "1", ""],
            &["function", "util", "loudest", "", ""],
        ];
        let volatile = Volatile::of(rows(&[&["pg_catalog"], &["util"]]), rows(names), Vec::new());
        let is_called = |call: &str| {
            let in_plan = in_plan(&volatile, &format!("\"Output\": [\"{call}\"]")).is_some();
            let in_text = volatile.in_texts(&[format!("SELECT 1 LIMIT {call}")], false).is_some();
            assert_eq!(in_plan, in_text, "{call}");
            in_plan
        };
        for call in [
            "round(t.a, 2)",
            "util.round(t.a, f(1, 2, 3, 4), ARRAY[5, 6])",
            "round(a, b, c, d, (e, f))",
            "round(0) + round(a, 1)",
            "sum_of(a)",
            "sum_of(a, b, c)",
            "sum_of(VARIADIC a)",
            "loudest(a ORDER BY b, c)",
            "loudest()",
        ] {
            assert!(is_called(call), "{call}");
        }
        for call in ["round(t.a)", "round()", "util.round(f(1, 2))", "round(a, b, c, d)", "sum_of()"] {
            assert!(!is_called(call), "{call}");
        }
    }

    #[test]
    fn a_cast_is_found_by_whatever_word_the_text_has_for_the_type() {
        let casts: &[&[&str]] = &[
            &["int4", "integer", "count_up", "f", "f"],
            &["float8", "double", "count_up", "f", "f"],
            &["bpchar", "character", "count_up", "f", "t"],
        ];
        let volatile = Volatile::of(Vec::new(), Vec::new(), rows(casts));
        let in_text = |text: &str| volatile.in_texts(&[format!("SELECT 1 LIMIT {text}")], false).is_some();
        for text in ["a::INT", "a::integer", "CAST(a AS int4)", "a::float(53)", "('x'::char(3))", "a::nchar(3)"] {
            assert!(in_text(text), "{text}");
        }
        for text in ["a::bigint", "a::text", "('1'::int)", "a::decimal"] {
            assert!(!in_text(text), "{text}");
        }
    }

    #[test]
    fn a_name_that_the_server_cuts_is_found_by_what_it_cuts_it_to() {
        let (short, wide) = ("n".repeat(63), "ä".repeat(31));
        let names: &[&[&str]] = &[&["function", "public", &short], &["function", "public", &wide]];
        let volatile = Volatile::of(rows(&[&["public"]]), rows(names), Vec::new());
        let found = |name: &str| volatile.in_texts(&[format!("SELECT 1 LIMIT {name}(1)")], false).is_some();
        assert!(found(&format!("{short}nn")) && found(&format!("\"{short}nn\"")) && found(&format!("{wide}ä")));
        assert!(!found(&short[1..]));
    }
}
