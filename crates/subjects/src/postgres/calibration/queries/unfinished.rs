//! Why a query of the user gave no plan, or a run of it no time: the kind of reason, which says whether its plan has a
//! part in it, and the sentence for the page.

use std::time::Duration;

use server::ServerError;

/// The beginnings of codes of errors that a query ends with because of what its plan does: on values that another order
/// of conditions leads to, beyond a limit of memory or temporary files, in a function, or inside the server. Other ones
/// are of locks, of rights, of tables that are gone, and of the server's state.
///
/// Source: PostgreSQL, "PostgreSQL Error Codes".
const OF_EXECUTION: [&str; 9] = ["21", "22", "38", "39", "53", "54", "58", "P0", "XX"];

/// What the server gave for a user's query, or why nothing.
pub type Answered<T> = Result<T, Unfinished>;

/// Why a query gave no plan, or a run of it no time: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// It reached its limit: it takes at least that long.
    TooLong(String),
    /// It ended with an error that lies in what its plan does.
    Failed(String),
    /// It waited too long for a lock that another session holds, which says nothing about its plan.
    Locked(String),
    /// It was refused or ended for another reason, which says nothing about its plan either.
    Refused(String),
    /// It was not sent, because an earlier query has the same text.
    Repeated(String),
}

impl Unfinished {
    /// The sentence.
    pub fn sentence(&self) -> &str {
        match self {
            Unfinished::TooLong(why)
            | Unfinished::Failed(why)
            | Unfinished::Locked(why)
            | Unfinished::Refused(why)
            | Unfinished::Repeated(why) => why,
        }
    }

    /// Whether the query waited for a lock: it can be run when that is gone.
    pub fn is_of_a_lock(&self) -> bool {
        matches!(self, Unfinished::Locked(_))
    }

    /// Whether the query has the text of an earlier one, which counts for both.
    pub fn is_repeated(&self) -> bool {
        matches!(self, Unfinished::Repeated(_))
    }

    /// The same of a query whose text has no parameter: what is advised where the server's list has one in the place of
    /// a value is not for it.
    pub(super) fn without_parameters(self) -> Unfinished {
        match self {
            Unfinished::Refused(mut why) => {
                for before in ["; ", ": "] {
                    why = why.replacen(&format!("{before}{UNTYPED}"), "", 1);
                }
                Unfinished::Refused(why.replacen(TWICE, REFUSES, 1))
            }
            other => other,
        }
    }

    /// That a query is refused with this sentence, because of a lock or for another reason.
    pub(super) fn refusing(why: String, is_of_a_lock: bool) -> Unfinished {
        if is_of_a_lock { Unfinished::Locked(why) } else { Unfinished::Refused(why) }
    }

    /// The same of a query that the server took: its run fails.
    pub(super) fn of_a_run(self) -> Unfinished {
        match self {
            Unfinished::Failed(why) => Unfinished::Failed(why.replacen(REFUSES, "it fails when it is run", 1)),
            other => other,
        }
    }
}

/// What the error of a statement says that took so long; a lost server stays an error.
pub(super) fn unfinished(error: ServerError, took: Duration, limit: Duration) -> Result<Unfinished, ServerError> {
    let why = match error {
        ServerError::Statement { reason, code, .. } if OF_EXECUTION.iter().any(|class| code.starts_with(*class)) => {
            return Ok(Unfinished::Failed(refusal(&reason, &code)));
        }
        ServerError::Statement { reason, code, .. } => refusal(&reason, &code),
        ServerError::Cancelled { .. } | ServerError::TooLong { .. } | ServerError::OwnLimit { .. } if took >= limit => {
            return Ok(Unfinished::TooLong(format!("it takes longer than {} s", limit.as_secs_f64())));
        }
        ServerError::Cancelled { .. } => "another session cancelled it".into(),
        ServerError::Locked { .. } => {
            return Ok(Unfinished::Locked("it waits for a lock that another session holds".into()));
        }
        ServerError::Plan(_) | ServerError::TooLong { .. } | ServerError::OwnLimit { .. } => error.to_string(),
        _ => return Err(error),
    };
    Ok(Unfinished::Refused(why))
}

/// What is said of a query that the server did not prepare or plan. It did not run, however long that took: no plan has
/// a part in it, and none is slower for it.
pub(super) fn of_no_plan(why: Unfinished) -> Unfinished {
    match why {
        Unfinished::TooLong(why) => Unfinished::Refused(format!("the server did not plan it in time: {why}")),
        Unfinished::Failed(why) => Unfinished::Refused(why),
        Unfinished::Locked(_) | Unfinished::Refused(_) | Unfinished::Repeated(_) => why,
    }
}

/// Why a query is not run of which it could not be asked what it reads and calls.
pub(super) fn not_known(why: &Unfinished) -> Unfinished {
    let said = format!("what the views and functions that it uses do is not known: {}", why.sentence());
    Unfinished::refusing(said, why.is_of_a_lock())
}

/// What is said of a literal with a type's name before it, such as `INTERVAL '1 day'`, whose text the server's list
/// replaces.
const TYPED_LITERAL: &str = "its text has a parameter where only a literal may stand, as pg_stat_statements writes \
                             INTERVAL $1 for INTERVAL '1 day': give it with values, in a file of --queries";

/// What is said of an expression that the server does not find again, such as `date_trunc('day', t)` in GROUP BY.
const TWICE: &str = "the server refuses it: where its text has $1 and $2 for the same value, as pg_stat_statements \
                     writes it, give it with values, in a file of --queries";

/// What is said where the server cannot tell the type of an expression, such as that of `$1` in `$1 IS NULL`, or of
/// `coalesce($1, $2)`, which it takes for a text.
const UNTYPED: &str = "where its text has $1 for a value, as pg_stat_statements writes it, the value's type is lost: \
                       give it with values, in a file of --queries";

/// What is said of a statement such as DROP.
pub(super) const NOT_PREPARABLE: &str = "it is not one statement that can be prepared";

/// How the clause about an error begins that has none of its own.
const REFUSES: &str = "the server refuses it";

/// A refusal of the server as a clause.
fn refusal(reason: &str, code: &str) -> String {
    let names_parameter =
        || reason.split('$').skip(1).any(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
    match code {
        "42601" if names_parameter() => format!("{TYPED_LITERAL} ({reason})"),
        "42601" if reason.contains("at end of input") || reason.starts_with("unterminated ") => {
            format!("{NOT_PREPARABLE}, or its text is cut ({reason})")
        }
        "42601" => format!("{NOT_PREPARABLE} ({reason})"),
        // GROUP BY, DISTINCT and ORDER BY find an expression again only where it has the same parameter.
        "42803" | "42P10" => format!("{TWICE} ({reason})"),
        "42501" => format!("the role may not read what it names ({reason})"),
        "25006" => format!("it writes ({reason})"),
        "42P08" | "42P18" | "42725" | "42804" => format!("{REFUSES}: {UNTYPED} ({reason})"),
        "42P01" | "3F000" => format!("a name in it is not found by the role's search_path ({reason})"),
        "42703" => format!("a column that it names is not found ({reason})"),
        // A function or an operator that takes these types.
        "42883" => format!("a name in it is not found by the role's search_path; {UNTYPED} ({reason})"),
        _ => format!("{REFUSES} ({reason})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_one_plan_runs_into_is_no_refusal_of_the_query() {
        let of = |code: &str| {
            let error = ServerError::Statement { statement: "".into(), reason: "no".into(), code: code.into() };
            let outcome = unfinished(error, Duration::ZERO, Duration::from_secs(1)).map_err(drop);
            matches!(outcome, Ok(Unfinished::Failed(_)))
        };
        for code in ["53400", "53200", "53100", "22012", "54001", "P0001", "XX000"] {
            assert!(of(code), "{code}");
        }
        for code in ["42501", "42P01", "25006", "40001", "40P01", "55000", "57P05"] {
            assert!(!of(code), "{code}");
        }
    }

    #[test]
    fn a_query_that_the_server_took_and_that_fails_is_not_called_refused() {
        let said = |why: Unfinished| why.of_a_run().sentence().to_string();
        assert_eq!(
            said(Unfinished::Failed(refusal("division by zero", "22012"))),
            "it fails when it is run (division by zero)"
        );
        let refused = refusal("permission denied", "0A000");
        assert_eq!(said(Unfinished::Refused(refused.clone())), refused);
    }

    #[test]
    fn what_keeps_a_query_from_being_prepared_is_no_time_and_no_error_of_a_plan() {
        let refused = |why: &str| Unfinished::Refused(why.into());
        let long = of_no_plan(Unfinished::TooLong("it takes longer than 5 s".into()));
        assert_eq!(long, refused("the server did not plan it in time: it takes longer than 5 s"));
        assert_eq!(of_no_plan(Unfinished::Failed("out of memory".into())), refused("out of memory"));
        assert_eq!(of_no_plan(refused("it writes")), refused("it writes"));
    }

    #[test]
    fn a_lock_stays_one_where_it_keeps_a_query_from_being_prepared_or_its_views_from_being_read() {
        let lock = Unfinished::Locked("another session holds it".into());
        assert_eq!(of_no_plan(lock.clone()), lock);
        assert_eq!(lock.clone().of_a_run(), lock);
        let unread = not_known(&lock);
        assert!(unread.is_of_a_lock() && unread.sentence().ends_with("is not known: another session holds it"));
        assert!(!not_known(&Unfinished::Refused("it waits for a lock".into())).is_of_a_lock());
    }

    #[test]
    fn only_the_limit_itself_says_that_a_query_takes_that_long() {
        let limit = Duration::from_millis(500);
        let statement = || "SELECT 1".to_string();
        let of = |error, millis| unfinished(error, Duration::from_millis(millis), limit).map_err(drop);
        let is_limit = |error, millis| matches!(of(error, millis), Ok(Unfinished::TooLong(_)));
        let cancelled = || ServerError::Cancelled { statement: statement(), reason: "on request".into() };
        assert!(is_limit(cancelled(), 501));
        assert!(!is_limit(cancelled(), 499), "by another session");
        let lock = Unfinished::Locked("it waits for a lock that another session holds".into());
        let locked = ServerError::Locked { statement: statement() };
        assert_eq!(of(locked, 520), Ok(lock), "however far the server is");
    }

    #[test]
    fn a_refusal_names_what_the_user_can_mend() {
        assert!(refusal("syntax error at end of input", "42601").contains("cut"));
        assert!(!refusal("syntax error at or near \"DROP\"", "42601").contains("cut"), "it is whole, and wrong");
        let typed = refusal("syntax error at or near \"$1\"", "42601");
        assert!(typed.contains("INTERVAL $1") && !typed.contains("cut"), "{typed}");
        assert!(refusal("permission denied for table t", "42501").contains("may not read"));
        let grouped = "column \"t.day\" must appear in the GROUP BY clause or be used in an aggregate function";
        let sorted = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
        for (reason, code) in [(grouped, "42803"), (sorted, "42P10")] {
            let said = refusal(reason, code);
            assert!(said.contains(reason) && said.contains("$1 and $2 for the same value"), "{said}");
        }
    }

    #[test]
    fn a_query_without_parameters_gets_no_advice_about_the_parameters_of_the_servers_list() {
        let of = |reason: &str, code: &str| {
            let why = Unfinished::Refused(refusal(reason, code)).without_parameters();
            why.sentence().to_string()
        };
        for code in ["42601", "42803", "42P10", "42P18", "42725", "42804", "42883"] {
            let said = of("wrong", code);
            assert!(!said.contains('$') && !said.contains("pg_stat_statements") && !said.contains("cut"), "{said}");
            assert!(said.ends_with("(wrong)"), "{said}");
        }
        assert_eq!(of("wrong", "42803"), "the server refuses it (wrong)");
        assert_eq!(of("wrong", "42725"), "the server refuses it (wrong)");
        assert_eq!(of("wrong", "42883"), "a name in it is not found by the role's search_path (wrong)");
    }

    #[test]
    fn a_column_that_is_not_there_is_not_said_to_be_outside_the_search_path() {
        let said = refusal("column \"broken\" does not exist", "42703");
        assert!(said.starts_with("a column that it names is not found") && !said.contains("search_path"), "{said}");
    }

    #[test]
    fn a_refusal_of_an_expression_whose_type_went_with_its_value_asks_for_the_values() {
        for (reason, code) in [
            ("could not determine data type of parameter $1", "42P18"),
            ("inconsistent types deduced for parameter $1", "42P08"),
            ("operator is not unique: date + unknown", "42725"),
            ("CASE types text and integer cannot be matched", "42804"),
            ("operator does not exist: integer = text", "42883"),
        ] {
            let said = refusal(reason, code);
            assert!(said.contains("give it with values, in a file") && said.contains(reason), "{said}");
        }
        assert!(!refusal("relation \"t\" does not exist", "42P01").contains("with values"));
    }
}
