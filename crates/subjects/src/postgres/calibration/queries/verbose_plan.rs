//! What a plan that EXPLAIN (VERBOSE) wrote shows of its query: the expressions, the tables that it reads, whether it
//! writes or locks, and where it may call what it does not show.

use serde_json::Value;

/// What PostgreSQL 13 writes where it decides between two plans of a subquery only when the query is run, and the
/// version from which on it decides when it plans. A literal can hold the same.
const ALTERNATIVES: &str = "(alternatives: ";
const DECIDED_SINCE: u32 = 14;

/// The property of a plan's step that shows the types of columns.
pub(super) const TABLE_FUNCTION: &str = "Table Function Call";

/// Properties of a plan's steps that are names, and no expressions.
const NAMED: [&str; 9] = [
    "Relation Name",
    "Schema",
    "Alias",
    "Index Name",
    "Function Name",
    "CTE Name",
    "Tuplestore Name",
    "Table Function Name",
    "Subplan Name",
];

/// Whether a verbose plan names a table that is none of the server's catalogs, which programs of all kinds ask, this
/// one too.
pub(super) fn has_tables(plan: &str) -> bool {
    const SCHEMA: &str = "\"Schema\": \"";
    const CATALOGS: [&str; 3] = ["pg_catalog", "information_schema", "pg_toast"];
    // A function has a schema too: that of a relation stands behind its name.
    let schema = |rest: &str| Some(rest[rest.find(SCHEMA)? + SCHEMA.len()..].split('"').next()?.to_string());
    let mut schemas = plan.split("\"Relation Name\": ").skip(1).filter_map(schema);
    // What another server joins or counts, or an extension reads in its own way, has no such name.
    let is_elsewhere = || ["Foreign Scan", "Custom Scan"].iter().any(|kind| has_step(plan, kind));
    schemas.any(|schema| !CATALOGS.contains(&schema.as_str())) || is_elsewhere()
}

/// Whether a plan was made without partitions that hold no row by what is known when it begins.
pub(super) fn lacks_partitions(plan: &str) -> bool {
    plan.split("\"Subplans Removed\": ").skip(1).any(|rest| !rest.starts_with('0'))
}

/// Steps whose expressions EXPLAIN leaves out: numbers of rows, rows that are written out, and ends of frames.
const SILENT: [&str; 3] = ["Limit", "Values Scan", "WindowAgg"];

/// The version from which on EXPLAIN shows how a row is compared with a subquery; before, it names the subquery alone.
const TESTS_SHOWN_SINCE: u32 = 17;

/// Whether a plan of this major version is decided on only when the query is run.
pub(super) fn is_decided_late(plan: &str, major: u32) -> bool {
    major < DECIDED_SINCE && plan.contains(ALTERNATIVES)
}

/// Why a query is not run whose plan writes or locks.
pub(super) fn writes(plan: &str) -> Option<String> {
    let of = |kind: &str, why: &str| has_step(plan, kind).then(|| why.to_string());
    of("ModifyTable", "it writes").or_else(|| of("LockRows", "it locks rows"))
}

/// Whether a plan of this major version may call what EXPLAIN does not show.
pub(super) fn hides_calls(plan: &str, major: u32) -> bool {
    let hides_test = || plan.contains("\"Parent Relationship\": \"SubPlan\"");
    SILENT.iter().any(|kind| has_step(plan, kind)) || (major < TESTS_SHOWN_SINCE && hides_test())
}

pub(super) fn has_step(plan: &str, kind: &str) -> bool {
    plan.contains(&format!("\"Node Type\": \"{kind}\""))
}

/// The texts of a plan that may hold expressions, each with the property that it is.
pub(super) fn expressions<'a>(property: &'a str, value: &'a Value, found: &mut Vec<(&'a str, &'a str)>) {
    match value {
        Value::String(text) => found.push((property, text)),
        Value::Array(values) => values.iter().for_each(|value| expressions(property, value, found)),
        Value::Object(properties) => {
            let unnamed = properties.iter().filter(|(name, _)| !NAMED.contains(&name.as_str()));
            unnamed.for_each(|(name, value)| expressions(name, value, found));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_writes_or_locks_is_known() {
        assert_eq!(writes(r#"{"Node Type": "ModifyTable"}"#).as_deref(), Some("it writes"));
        assert_eq!(writes(r#"{"Node Type": "LockRows"}"#).as_deref(), Some("it locks rows"));
        assert_eq!(writes(r#"{"Node Type": "Seq Scan"}"#), None);
    }

    #[test]
    fn a_step_whose_expressions_explain_leaves_out_is_known_and_before_17_the_test_of_a_subquery_is_one() {
        for kind in SILENT {
            assert!(hides_calls(&format!(r#"{{"Node Type": "{kind}"}}"#), 18), "{kind}");
        }
        assert!(!hides_calls(r#"{"Node Type": "Seq Scan"}"#, 13));
        let subquery = r#"{"Node Type": "Seq Scan", "Parent Relationship": "SubPlan", "Subplan Name": "SubPlan 1"}"#;
        assert_eq!([13, 16, 17].map(|major| hides_calls(subquery, major)), [true, true, false]);
    }

    #[test]
    fn a_plan_that_is_decided_on_when_it_runs_is_known_by_what_explain_writes_for_it() {
        let filter = |text: &str| format!(r#"{{"Node Type": "Seq Scan", "Filter": "{text}"}}"#);
        assert!(is_decided_late(&filter("((alternatives: SubPlan 1 or hashed SubPlan 2) OR (a > 1))"), 13));
        assert!(!is_decided_late(&filter("((hashed SubPlan 2) OR (a > 1))"), 13));
        assert!(!is_decided_late(&filter("(note = '(alternatives: none)'::text)"), 14), "a literal of any version");
    }

    #[test]
    fn a_plan_without_all_its_partitions_is_known_by_their_number() {
        assert!(!lacks_partitions(r#"{"Node Type": "Append", "Subplans Removed": 0, "Plans": []}"#));
        assert!(lacks_partitions(r#"{"Subplans Removed": 0}, {"Subplans Removed": 3}"#));
        assert!(!lacks_partitions("{}"));
    }

    #[test]
    fn a_query_of_the_catalogs_alone_has_no_tables() {
        assert!(has_tables(r#"{"Node Type": "Seq Scan", "Relation Name": "t", "Schema": "shop", "Alias": "t"}"#));
        assert!(has_tables(
            r#"{"Relation Name": "pg_class", "Schema": "pg_catalog"}, {"Relation Name": "t", "Schema": "public"}"#
        ));
        assert!(!has_tables(r#"{"Relation Name": "pg_extension", "Schema": "pg_catalog"}"#));
        assert!(!has_tables(
            r#"{"Function Name": "f", "Schema": "public"}, {"Relation Name": "pg_database", "Schema": "pg_catalog"}"#
        ));
        assert!(!has_tables(r#"{"Node Type": "Result", "Output": ["pg_try_advisory_lock($1, $2)"]}"#));
        let elsewhere = r#"{"Node Type": "Foreign Scan", "Relations": "Aggregate on (public.sales)"}"#;
        assert!(has_tables(elsewhere), "what another server counts");
        assert!(has_tables(r#"{"Node Type": "Custom Scan", "Custom Plan Provider": "Citus Adaptive"}"#));
    }
}
