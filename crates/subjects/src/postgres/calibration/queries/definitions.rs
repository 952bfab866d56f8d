//! The definitions of the views, policies and functions that a query reads and calls. They are searched like its own
//! text where its plan does not show all that is called.

use std::collections::BTreeSet;

use server::ServerError;
use server::session::literal;

use super::tokens::{Token, arguments, tokens};
use super::unfinished::{Answered, Unfinished};
use super::{OWN_NAMES, PLANNING_LIMIT};
use crate::error::SubjectError;
use crate::postgres::calibration::Calibration;

/// The views and policies that a statement reads which this transaction has just prepared: that locks them all.
const READ: &str = "WITH locked AS (SELECT l.relation FROM pg_locks l WHERE l.pid = pg_backend_pid() AND \
    l.locktype = 'relation') SELECT 'view ' || c.oid::text, pg_get_viewdef(c.oid) FROM pg_class c WHERE c.relkind = \
    'v' AND c.oid >= 16384 AND c.oid IN (SELECT relation FROM locked) UNION ALL SELECT 'policy ' || p.oid::text, \
    pg_get_expr(p.polqual, p.polrelid) FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid WHERE c.relrowsecurity \
    AND c.oid IN (SELECT relation FROM locked)";

/// The name under which a query is prepared once more, to lock what it reads; the beginning of further ones.
const PREPARED_TO_LOCK: &str = "readpath_read";

/// Most texts of a query and of what it reads and calls.
const MOST_TEXTS: usize = 1000;

impl Calibration {
    /// The text of a query, and the definitions of what it reads and calls, of what these call, and so on.
    pub(super) fn texts_of(&mut self, text: &str) -> Result<Answered<Vec<String>>, SubjectError> {
        let texts = self.within(PLANNING_LIMIT, |tables| tables.definitions_of(text))?;
        let too_many = Unfinished::Refused(format!("they have more than {MOST_TEXTS} definitions"));
        Ok(texts.and_then(|texts| if texts.len() > MOST_TEXTS { Err(too_many) } else { Ok(texts) }))
    }

    /// The same, in a transaction that does nothing else. There is no more to it than the first definition beyond the
    /// most.
    fn definitions_of(&mut self, text: &str) -> Result<Vec<String>, ServerError> {
        let name = self.name_to_lock();
        let session = self.session();
        // A statement stays prepared behind the transaction, and its locks stay without it.
        let prepared = session.run_one(&format!("PREPARE {name} AS {text}"));
        if let Err(error) = prepared.and_then(|()| session.run(&format!("DEALLOCATE {name}"))) {
            self.prepared.insert(name);
            return Err(error);
        }
        session.run(OWN_NAMES)?;
        let mut rows = session.rows(&format!("{READ} LIMIT {MOST_TEXTS}"))?;
        let (mut texts, mut known, mut asked) = (vec![text.to_string()], BTreeSet::new(), Asked::default());
        let (mut read, mut has_relations) = (0, false);
        loop {
            for row in rows {
                let mut columns = row.into_iter().flatten();
                let (Some(key), Some(definition)) = (columns.next(), columns.next()) else { continue };
                if known.insert(key) {
                    texts.push(definition);
                }
            }
            let question = asked.definitions(&texts[read..], has_relations, MOST_TEXTS);
            let Some(question) = question.filter(|_| texts.len() <= MOST_TEXTS) else { return Ok(texts) };
            // What the query and its views read is locked; what a function reads is known by its names alone.
            (read, has_relations) = (texts.len(), true);
            rows = session.rows(&question)?;
        }
    }

    /// A name for a query that is prepared to lock what it reads: none of an attempt that failed, which may have left
    /// it in the session.
    fn name_to_lock(&self) -> String {
        let numbered = |number: u32| format!("{PREPARED_TO_LOCK}_{number}");
        let mut names = [PREPARED_TO_LOCK.to_string()].into_iter().chain((2..).map(numbered));
        names.find(|name| !self.prepared.contains(name)).unwrap_or_default()
    }
}

/// The names that the server was asked about, each once.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Names with the number of arguments that a call gives.
    functions: BTreeSet<(String, usize)>,
    relations: BTreeSet<String>,
}

impl Asked {
    /// Asks for what stands behind names in texts, each with a key of its own, and for no more than these: the SQL
    /// functions whose bodies the planner may take into a plan, the defaults of arguments that a call leaves out, and
    /// the views and the policies of tables that only such a body names. Other functions that are not volatile count as
    /// what they are declared to be; of those that are, the text has the name. `None` where no name is new.
    pub(super) fn definitions(&mut self, texts: &[String], has_relations: bool, most: usize) -> Option<String> {
        let (mut functions, mut relations) = (BTreeSet::new(), BTreeSet::new());
        for text in texts {
            let tokens = tokens(text);
            for (at, token) in tokens.iter().enumerate() {
                let Token::Word(word) = token else { continue };
                if word.starts_with(|letter: char| letter.is_ascii_digit()) {
                    continue;
                }
                let names = [word.to_lowercase(), word.clone()];
                if matches!(tokens.get(at + 1), Some(Token::Symbol("("))) {
                    let given = arguments(&tokens[at + 1..]);
                    functions.extend(names.clone().map(|name| (name, given)));
                }
                if has_relations {
                    relations.extend(names);
                }
            }
        }
        functions.retain(|call| self.functions.insert(call.clone()));
        relations.retain(|name| self.relations.insert(name.clone()));
        (!functions.is_empty() || !relations.is_empty()).then(|| definitions(&functions, &relations, most))
    }
}

fn definitions(functions: &BTreeSet<(String, usize)>, relations: &BTreeSet<String>, most: usize) -> String {
    let array = |names: Vec<String>| format!("ARRAY[{}]::name[]", names.join(", "));
    let names = array(functions.iter().map(|(name, _)| literal(name)).collect());
    let given: Vec<String> = functions.iter().map(|(_, given)| given.to_string()).collect();
    let given = format!("ARRAY[{}]::int[]", given.join(", "));
    let relations = array(relations.iter().map(|name| literal(name)).collect());
    format!(
        "WITH named AS (SELECT unnest({relations}) AS name) SELECT 'view ' || c.oid::text, pg_get_viewdef(c.oid) \
         FROM pg_class c WHERE c.relkind = 'v' AND c.oid >= 16384 AND c.relname IN (SELECT name FROM named) UNION \
         ALL SELECT 'policy ' || p.oid::text, pg_get_expr(p.polqual, p.polrelid) FROM pg_policy p JOIN pg_class c ON \
         c.oid = p.polrelid WHERE c.relname IN (SELECT name FROM named) UNION ALL SELECT 'function ' || p.oid::text, \
         CASE WHEN l.lanname = 'sql' AND p.proretset THEN p.prosrc || ' ' || pg_get_functiondef(p.oid) ELSE \
         pg_get_function_arguments(p.oid) END FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang WHERE p.prokind \
         = 'f' AND p.provolatile <> 'v' AND p.oid >= 16384 AND EXISTS (SELECT FROM unnest({names}, {given}) AS \
         called(name, given) WHERE called.name = p.proname AND ((l.lanname = 'sql' AND p.proretset) OR \
         (p.pronargdefaults > 0 AND called.given < p.pronargs))) LIMIT {most}"
    )
}

#[cfg(test)]
mod tests {
    use super::super::samples::on_debians_server;
    use super::*;

    #[test]
    fn a_statement_that_a_cancelled_removal_left_prepared_spoils_no_later_query() {
        let Some(mut tables) = on_debians_server() else {
            return println!("skipped: Debian's PostgreSQL 15 is not installed");
        };
        tables.session().run(&format!("PREPARE {PREPARED_TO_LOCK} AS SELECT 1")).unwrap();
        let refused = tables.texts_of("SELECT 2").unwrap().unwrap_err();
        assert!(refused.sentence().contains("already exists"), "{refused:?}");
        for query in ["SELECT 2", "SELECT 3"] {
            assert_eq!(tables.texts_of(query).unwrap(), Ok(vec![query.to_string()]));
        }
        assert_eq!(tables.name_to_lock(), "readpath_read_2");
    }

    #[test]
    fn defaults_are_asked_for_only_of_calls_that_leave_arguments_out() {
        let given = |text: &str| arguments(&tokens(text));
        let counts = ["()", "(1)", "(f(1, 2))", "(a, ARRAY[1, 2], (b, c)) + g(1, 2)", "(())"].map(given);
        assert_eq!(counts, [0, 1, 1, 3, 1]);
        let text = ["SELECT 1 LIMIT most_of(7)".to_string()];
        let question = Asked::default().definitions(&text, false, 5).unwrap();
        assert!(question.contains("ARRAY[1, 1]::int[]") || question.contains("ARRAY[1]::int[]"), "{question}");
        assert!(question.contains("called.given < p.pronargs"), "{question}");
    }

    #[test]
    fn the_server_is_asked_once_about_each_name_and_about_relations_only_where_a_function_names_them() {
        let mut asked = Asked::default();
        let text = ["SELECT \"Best\"(1), it FROM hall.it LIMIT 10".to_string()];
        let question = asked.definitions(&text, false, 5).unwrap();
        assert!(question.contains("ARRAY['Best', 'best']") && !question.contains("'it'"), "{question}");
        assert!(question.contains("ARRAY[]::name[]") && question.ends_with("LIMIT 5"), "{question}");
        assert!(question.contains("pg_get_function_arguments"), "defaults are called too: {question}");
        assert_eq!(asked.definitions(&text, false, 5), None);
        let question = asked.definitions(&text, true, 5).unwrap();
        assert!(question.contains("'hall', 'it'") && !question.contains("'10'"), "{question}");
        assert_eq!(asked.definitions(&text, true, 5), None);
    }
}
