//! Databases with something volatile in them, for the tests of several files, and the search in a step of a plan and in
//! a text.

use server::Row;

use super::Volatile;

pub(super) fn rows(rows: &[&[&str]]) -> Vec<Row> {
    rows.iter().map(|row| row.iter().map(|column| Some(column.to_string())).collect()).collect()
}

/// What is volatile in a database where `hall` is in no search path.
pub(super) fn volatile() -> Volatile {
    let names: &[&[&str]] = &[
        &["function", "pg_catalog", "nextval"],
        &["function", "pg_catalog", "pg_sleep"],
        &["function", "pg_catalog", "pg_terminate_backend"],
        &["function", "public", "Odd Name"],
        &["function", "public", "MyVol"],
        &["function", "public", "a$b"],
        &["function", "public", "say \"no\""],
        &["function", "public", "shop"],
        &["attribute", "public", "shop"],
        &["function", "public", "balance"],
        &["function", "public", "größe"],
        &["function", "hall", "round"],
        &["operator", "public", "<~>"],
        &["operator", "hall", "-"],
    ];
    let casts: &[&[&str]] = &[&["noisy", "public.noisy", "count_up", "f"], &["Odd Type", "\"Odd", "count_up", "f"]];
    Volatile::of(rows(&[&["pg_catalog"], &["public"]]), rows(names), rows(casts))
}

/// The same with a domain whose check is volatile.
pub(super) fn with_domain() -> Volatile {
    let mut volatile = volatile();
    let checks = rows(&[&["1", "CHECK ((nextval('s'::regclass) > VALUE))"], &["2", "CHECK ((VALUE > 0))"]]);
    assert_eq!(volatile.domains(checks), ["1"]);
    volatile.add_checked(rows(&[
        &["type", "public", "counted"],
        &["row", "public", "orders"],
        &["function", "public", "count_of"],
        &["function", "public", "total"],
        &["attribute", "public", "total"],
        &["operator", "public", "<+>"],
    ]));
    volatile
}

pub(super) fn in_plan(volatile: &Volatile, step: &str) -> Option<String> {
    volatile.in_plan(&format!("[{{\"Plan\": {{{step}}}}}]"))
}

pub(super) fn in_text(text: &str) -> Option<String> {
    volatile().in_texts(&[text.to_string()], false)
}
