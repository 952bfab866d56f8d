//! What may have side effects in a database by its catalogs: the questions, and how the rows of their answers become a
//! [`Volatile`]. The search in plans and texts needs none of it.

use server::{Row, UNREADABLE};

use super::context::Reading;
use super::names::ANY;
use super::{CATALOG, Volatile, casts_to};
use crate::error::SubjectError;
use crate::postgres::calibration::Calibration;
use crate::postgres::calibration::queries::OWN_NAMES;
use crate::postgres::calibration::queries::tokens::cut;

/// The schemas of the search path, in a transaction that has the role's own.
const PATH: &str = "SELECT pg_catalog.unnest(pg_catalog.current_schemas(true))";

/// Functions that may have side effects, operators that call one, and aggregates that do, which are marked as if they
/// did not; each with its schema, and functions with the fewest and the most arguments of a call. A query can call no
/// function of a trigger, nor one that a method of sampling gives.
fn names() -> String {
    format!(
        "WITH called AS (SELECT p.* FROM pg_proc p WHERE p.prorettype NOT IN ('trigger'::regtype, \
         'event_trigger'::regtype, 'tsm_handler'::regtype) AND (p.provolatile = 'v' OR p.oid IN (SELECT a.aggfnoid \
         FROM pg_aggregate a WHERE EXISTS (SELECT FROM pg_proc f WHERE f.provolatile = 'v' AND f.oid IN \
         (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn, \
         a.aggminvtransfn, a.aggmfinalfn))))) SELECT '{FUNCTION}', n.nspname, p.proname, {ARGUMENTS} FROM called p \
         JOIN pg_namespace n ON n.oid = p.pronamespace UNION ALL SELECT '{ATTRIBUTE}', n.nspname, p.proname, NULL, \
         NULL FROM called p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE {OF_ROWS} UNION ALL SELECT \
         '{OPERATOR}', n.nspname, o.oprname, NULL, NULL FROM pg_operator o JOIN pg_proc p ON p.oid = o.oprcode JOIN \
         pg_namespace n ON n.oid = o.oprnamespace WHERE p.provolatile = 'v'"
    )
}

/// The fewest and the most arguments that a call of a function `p` gives; null where there is no limit. How a call of
/// an aggregate is written does not show its number: an ordered one has arguments behind WITHIN GROUP.
const ARGUMENTS: &str = "CASE WHEN p.prokind <> 'a' THEN p.pronargs - p.pronargdefaults - (p.provariadic <> 0)::int \
    END, CASE WHEN p.prokind <> 'a' AND p.provariadic = 0 THEN p.pronargs END";

/// Whether `row.function` may call a function `p`: it takes one argument, which may be a row.
const OF_ROWS: &str = "p.pronargs >= 1 AND p.pronargs - p.pronargdefaults <= 1 AND CASE WHEN p.pronargs = 1 AND \
    p.provariadic <> 0 THEN p.provariadic ELSE p.proargtypes[0] END IN (SELECT t.oid FROM pg_type t WHERE \
    t.typcategory = 'C' OR (t.typtype = 'p' AND t.oid <> 'internal'::regtype) UNION ALL SELECT c.casttarget FROM \
    pg_cast c JOIN pg_type s ON s.oid = c.castsource WHERE c.castcontext = 'i' AND s.typcategory = 'C')";

/// Casts that call such a function: the type, of an array that of its elements, by its name and by the first word that
/// plans write for it; the function; whether the cast applies by itself, which no plan shows; and whether it gives a
/// value of its own type another length. A cast to a domain calls the function of the cast to its base type, of which a
/// plan shows the domain alone.
///
/// Source: PostgreSQL, `coerce_to_domain` in src/backend/parser/parse_coerce.c, which hides the cast before it.
const CASTS: &str = "WITH RECURSIVE made(target, called, is_implicit, is_own) AS (SELECT c.casttarget, \
    p.proname, c.castcontext = 'i', c.castsource = c.casttarget FROM pg_cast c JOIN pg_proc p ON p.oid = c.castfunc \
    WHERE p.provolatile = 'v' UNION SELECT t.oid, m.called, m.is_implicit, m.is_own FROM made m JOIN (SELECT oid, \
    typbasetype AS part FROM pg_type WHERE typbasetype <> 0 UNION ALL SELECT oid, typelem FROM pg_type WHERE typelem \
    <> 0 AND typarray = 0) t ON t.part = m.target) SELECT e.typname, split_part(format_type(e.oid, NULL), ' ', 1), \
    m.called, m.is_implicit, m.is_own FROM made m JOIN pg_type t ON t.oid = m.target JOIN pg_type e ON e.oid = CASE \
    WHEN t.typelem <> 0 AND t.typarray = 0 THEN t.typelem ELSE t.oid END";

/// Checks of domains: the domain, and the text of the check. The catalog of dependencies would not do: it leaves out
/// the server's own functions.
const CHECKS: &str =
    "SELECT contypid, pg_get_constraintdef(oid) FROM pg_constraint WHERE contypid <> 0 AND oid >= 16384";

/// What operators and functions are called in [`names`] and in [`checked`], and what the row of a table is called in
/// the latter.
const OPERATOR: &str = "operator";
const FUNCTION: &str = "function";
/// A function that can be written as if it were a column.
const ATTRIBUTE: &str = "attribute";
const TABLE_ROW: &str = "row";

/// Functions that make a row of the type of their first argument, whatever that is, of what a document holds: the
/// checks of its columns then run, and where the argument is a column, neither a plan nor a text names the type.
const FILLING: &str = "'json_populate_record', 'json_populate_recordset', 'jsonb_populate_record', \
    'jsonb_populate_recordset', 'jsonb_populate_record_valid', 'populate_record'";

/// Functions of the server's own that are volatile in all its versions, of those that queries call.
const OF_EVERY_SERVER: [&str; 26] = [
    "clock_timestamp",
    "currval",
    "gen_random_uuid",
    "lastval",
    "nextval",
    "pg_advisory_lock",
    "pg_advisory_lock_shared",
    "pg_advisory_unlock",
    "pg_advisory_unlock_all",
    "pg_advisory_unlock_shared",
    "pg_advisory_xact_lock",
    "pg_advisory_xact_lock_shared",
    "pg_cancel_backend",
    "pg_notify",
    "pg_sleep",
    "pg_sleep_for",
    "pg_sleep_until",
    "pg_terminate_backend",
    "pg_try_advisory_lock",
    "pg_try_advisory_lock_shared",
    "pg_try_advisory_xact_lock",
    "random",
    "set_config",
    "setseed",
    "setval",
    "timeofday",
];

/// The domain with a volatile check that a dry run assumes: the first OID that is not
/// reserved for the server's own objects.
const ASSUMED_DOMAIN: &str = "16384";

impl Calibration {
    /// What may have side effects in this database, by the role's own search path.
    pub fn volatile_functions(&mut self) -> Result<Volatile, SubjectError> {
        let limit = self.session().statement_limit();
        let volatile = self.within(limit, |tables| {
            let session = tables.session();
            let path = session.rows(PATH)?;
            session.run(OWN_NAMES)?;
            let (names, casts) = (session.rows(&names())?, session.rows(CASTS)?);
            let mut volatile = Volatile::of(path, names, casts);
            volatile.read_literals_by(session.text("SHOW standard_conforming_strings", Some("on"))?.as_deref());
            let mut domains = volatile.domains(session.rows(CHECKS)?);
            // A dry run, which knows no domain, lists what is asked where there is one.
            if session.is_rehearsal() {
                domains.push(ASSUMED_DOMAIN.into());
            }
            if !domains.is_empty() {
                volatile.add_checked(session.rows(&checked(&domains))?);
            }
            Ok(volatile)
        })?;
        Ok(volatile.unwrap_or_else(|why| Volatile::unknown(why.sentence(), why.is_of_a_lock())))
    }
}

impl Volatile {
    /// From the rows of [`PATH`], [`names`] and [`CASTS`].
    pub(super) fn of(path: Vec<Row>, names: Vec<Row>, casts: Vec<Row>) -> Volatile {
        let path = path.into_iter().flatten().flatten().collect();
        let mut volatile = Volatile { path, ..Volatile::default() };
        for row in names {
            let [kind, schema, name, fewest, most] = columns(row);
            let names = match kind.as_str() {
                OPERATOR => &mut volatile.operators,
                ATTRIBUTE => &mut volatile.functions.attributes,
                _ => &mut volatile.functions.called,
            };
            let given = fewest.parse().unwrap_or(*ANY.start())..=most.parse().unwrap_or(*ANY.end());
            names.add(&volatile.path, (schema, name), given);
        }
        for row in casts {
            let [of_type, shown, function, is_implicit, is_own] = columns(row);
            if is_implicit == "t" {
                volatile.unseen = Some(unseen_cast(&function));
                continue;
            }
            let clause = format!("calls {function}, which is volatile and may have side effects");
            let names = [of_type, shown].map(|name| cut(&name).to_string());
            volatile.casts_of_literals.extend(names.iter().filter(|_| is_own == "t").cloned());
            volatile.casts.extend(names.map(|name| (name, clause.clone())));
        }
        volatile
    }

    /// What may have side effects on any server, as far as it is known without asking one.
    pub(in crate::postgres::calibration::queries) fn of_every_server() -> Volatile {
        let name = |name: &str| [FUNCTION, CATALOG, name].map(|text| Some(text.to_string())).to_vec();
        let names = OF_EVERY_SERVER.into_iter().map(name).collect();
        Volatile::of(vec![vec![Some(CATALOG.to_string())]], names, Vec::new())
    }

    /// Of a database whose catalogs do not say it, because of this, which may be a lock: no query is run.
    fn unknown(why: &str, is_locked: bool) -> Volatile {
        let unseen = format!("what may have side effects in the database is not known: {why}");
        Volatile { unseen: Some(unseen), is_locked, ..Volatile::default() }
    }

    /// Takes in the server's setting `standard_conforming_strings`: where it is off, `'\''` does not end a literal.
    pub(super) fn read_literals_by(&mut self, setting: Option<&str>) {
        self.has_escapes = setting == Some("off");
    }

    /// Of the rows of [`CHECKS`], the domains with a check that calls something volatile, or that cannot be read.
    pub(super) fn domains(&self, checks: Vec<Row>) -> Vec<String> {
        let is_volatile = |[_, check]: &[String; 2]| check == UNREADABLE || self.found(check, Reading::Plan).is_some();
        checks.into_iter().map(columns::<2>).filter(is_volatile).map(|[domain, _]| domain).collect()
    }

    /// Adds the rows of [`checked`].
    pub(super) fn add_checked(&mut self, rows: Vec<Row>) {
        for row in rows {
            let [kind, schema, name] = columns(row);
            match kind.as_str() {
                FUNCTION => self.checking.called.add(&self.path, (schema, name), ANY),
                OPERATOR => self.checking_operators.add(&self.path, (schema, name), ANY),
                ATTRIBUTE => self.checking.attributes.add(&self.path, (schema, name), ANY),
                // A table's name is that of the type of its rows too.
                TABLE_ROW => {
                    self.casts_of_literals.insert(cut(&name).to_string());
                    self.casts.insert(cut(&name).to_string(), casts_to(&name));
                }
                _ => self.domains.extend([cut(&name).to_string()]),
            }
        }
    }
}

/// The columns of a row; those that are null or not there are empty.
fn columns<const COUNT: usize>(row: Row) -> [String; COUNT] {
    let mut columns = row.into_iter().map(Option::unwrap_or_default);
    std::array::from_fn(|_| columns.next().unwrap_or_default())
}

fn unseen_cast(function: &str) -> String {
    format!(
        "the database has an implicit cast that calls {function}, which is volatile and may have side effects: no plan \
         shows whether it does here"
    )
}

/// Asks for all that a value of one of these domains can be made by: types that contain one, each by its name, rows of
/// tables that do, functions that take or give one of them or a row of any type, and operators that call these. Types
/// of several ranges come with version 14.
fn checked(domains: &[String]) -> String {
    format!(
        "WITH RECURSIVE checked(oid) AS (SELECT unnest('{{{}}}'::oid[]) UNION SELECT t.oid FROM checked c JOIN (SELECT \
         oid, typbasetype AS part FROM pg_type WHERE typbasetype <> 0 UNION ALL SELECT oid, typelem FROM pg_type WHERE \
         typelem <> 0 UNION ALL SELECT t.oid, a.atttypid FROM pg_type t JOIN pg_attribute a ON a.attrelid = t.typrelid \
         AND a.attnum > 0 UNION ALL SELECT rngtypid, rngsubtype FROM pg_range UNION ALL SELECT (to_jsonb(r) ->> \
         'rngmultitypid')::oid, r.rngtypid FROM pg_range r) t ON t.part = c.oid), used AS (SELECT oid, prorettype AS \
         type FROM pg_proc UNION ALL SELECT oid, unnest(proargtypes) FROM pg_proc UNION ALL SELECT oid, \
         unnest(proallargtypes) FROM pg_proc), called AS (SELECT p.* FROM pg_proc p WHERE p.oid IN (SELECT u.oid FROM \
         used u JOIN checked c ON c.oid = u.type) OR p.proname IN ({FILLING})) SELECT CASE WHEN r.relkind <> 'c' THEN \
         '{TABLE_ROW}' ELSE 'type' END, n.nspname, t.typname FROM checked c JOIN pg_type t ON t.oid = c.oid JOIN \
         pg_namespace n ON n.oid = t.typnamespace LEFT JOIN pg_class r ON r.oid = t.typrelid UNION ALL SELECT \
         '{FUNCTION}', n.nspname, p.proname FROM called p JOIN pg_namespace n ON n.oid = p.pronamespace UNION ALL \
         SELECT '{ATTRIBUTE}', n.nspname, p.proname FROM called p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE \
         {OF_ROWS} UNION ALL SELECT '{OPERATOR}', n.nspname, o.oprname FROM pg_operator o JOIN called p ON p.oid = \
         o.oprcode JOIN pg_namespace n ON n.oid = o.oprnamespace",
        domains.join(",")
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::samples::on_debians_server;
    use super::super::samples::{in_plan, rows, volatile};
    use super::*;

    #[test]
    fn what_a_dry_run_takes_for_volatile_is_so_on_a_server() {
        let Some(mut tables) = on_debians_server() else {
            return println!("skipped: Debian's PostgreSQL 15 is not installed");
        };
        let names: Vec<String> = OF_EVERY_SERVER.iter().map(|name| format!("'{name}'")).collect();
        let question = format!(
            "SELECT proname, min(provolatile::text), max(provolatile::text) FROM pg_proc WHERE pronamespace = \
             'pg_catalog'::regnamespace AND proname IN ({}) GROUP BY proname ORDER BY proname COLLATE \"C\"",
            names.join(", ")
        );
        let rows = tables.session().rows(&question).unwrap();
        let is_volatile = |name: &&str| [*name, "v", "v"].map(|text| Some(text.to_string())).to_vec();
        assert_eq!(rows, OF_EVERY_SERVER.iter().map(is_volatile).collect::<Vec<_>>());
    }

    #[test]
    fn ranges_of_a_checked_type_are_asked_for() {
        let question = checked(&["1".into()]);
        for part in ["SELECT rngtypid, rngsubtype FROM pg_range", "->> 'rngmultitypid')::oid, r.rngtypid"] {
            assert!(question.contains(part), "{question}");
        }
    }

    #[test]
    fn a_function_that_fills_a_row_of_any_type_counts_as_one_that_uses_a_checked_type() {
        for name in ["json_populate_record", "jsonb_populate_recordset", "populate_record"] {
            assert!(checked(&["1".into()]).contains(&format!("OR p.proname IN ({FILLING})")) && FILLING.contains(name));
        }
        let mut volatile = Volatile::default();
        volatile.path.insert(CATALOG.into());
        volatile.add_checked(rows(&[&["function", CATALOG, "json_populate_record"]]));
        let step = r#""Output": ["json_populate_record(t.*, '{\"n\": 1}'::json, false)"]"#;
        assert!(in_plan(&volatile, step).unwrap().contains("calls json_populate_record, which uses a type"));
    }

    #[test]
    fn a_cast_that_applies_by_itself_keeps_every_query_from_being_run() {
        let casts = rows(&[&["tone", "tone", "count_up", "t"]]);
        let unseen = Volatile::of(Vec::new(), Vec::new(), casts).unseen().unwrap();
        assert!(unseen.contains("implicit cast that calls count_up"), "{unseen}");
        assert_eq!(volatile().unseen(), None);
    }

    #[test]
    fn a_database_whose_catalogs_do_not_answer_keeps_every_query_from_being_run() {
        let unseen = Volatile::unknown("it takes longer than 5 s", false).unseen().unwrap();
        assert!(unseen.contains("is not known: it takes longer"), "{unseen}");
    }
}
