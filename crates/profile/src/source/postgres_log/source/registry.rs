//! The numbers of sessions, scopes and statements, each given at its first entry. Damage can name new ones without end:
//! beyond a limit, further ones share one number.

use std::borrow::{Borrow, Cow};
use std::collections::HashMap;
use std::hash::Hash;

use measure::schema::profile::OTHER_SESSIONS;

use super::fingerprint::hash;
use super::repeated::Added;
use super::state::{LogSource, SessionState};
use crate::event::{Scope, ScopeIndex, Session, SessionIndex, Statement, StatementIndex, Ticks};
use crate::source::postgres_log::entry::Entry;
use crate::source::postgres_log::format::LogFormat;
use crate::source::postgres_log::plan::PlanDocument;
use crate::tables::folding::fold_text;

/// Bytes of a statement's text that are kept.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Bytes of a name, or of a session's identifier, from which on it has no row of its own. PostgreSQL cuts names at 63:
/// longer ones are damage, which could fill the memory.
pub(super) const NAME_BYTES_MAX: usize = 1 << 10;

/// Most statements, sessions and scopes that are kept apart; further ones share one.
const STATEMENTS_MAX: usize = 1 << 14;
pub(super) const SESSIONS_MAX: usize = 1 << 16;
const SCOPES_MAX: usize = 1 << 12;

/// The names that these share.
const OTHER_STATEMENTS: &str = "other statements";
const OTHERS: &str = "others";

impl LogSource {
    /// The session of an execution; `None` where a log of another format held it.
    pub(super) fn session_of_new(
        &mut self,
        entry: &Entry,
        plan: (Option<Ticks>, &[u8]),
        format: LogFormat,
    ) -> Option<SessionIndex> {
        let added = self.known.as_mut().and_then(|known| known.add(entry, plan, format));
        let Some(Added { key, is_new, repeated }) = added else { return Some(self.session(&entry.session)) };
        self.summary.repeated += u64::from(repeated);
        let session = is_new.then(|| self.session(&entry.session));
        let known = self.known.as_mut().and_then(|known| known.session(key));
        match (session, known) {
            (Some(SessionIndex(session)), Some(known)) => *known = session,
            (None, Some(known)) => {
                let known = *known;
                self.add_name(known, &entry.session);
            }
            (_, None) => {}
        }
        session
    }

    /// Adds the name that a log of another format has for a session, where one names the process and the other one has
    /// the identifier of a session of it: two identifiers are two sessions.
    fn add_name(&mut self, session: u32, name: &str) {
        let known = self.context.sessions.get(session as usize).map(|known| known.id.as_str());
        let is_other_way = |known: &&str| known.contains('.') != name.contains('.');
        let is_same = known.filter(is_other_way).is_some_and(|known| process_of(known) == process_of(name));
        let has_room = self.sessions.len() < 2 * SESSIONS_MAX && name.len() <= NAME_BYTES_MAX;
        if is_same && has_room && self.sessions.get(name) != Some(&session) {
            self.sessions.insert(name.into(), session);
        }
    }

    pub(super) fn session(&mut self, id: &str) -> SessionIndex {
        let LogSource { context, sessions, states, .. } = self;
        // A session may have two names.
        let is_full = states.len() + 1 >= SESSIONS_MAX && !sessions.contains_key(id);
        let is_shared = id.len() > NAME_BYTES_MAX || is_full;
        self.shared_sessions += u64::from(is_shared);
        let id = if is_shared { OTHER_SESSIONS } else { id };
        SessionIndex(place(sessions, id, || {
            states.push(SessionState::default());
            push(&mut context.sessions, Session { id: id.into() })
        }))
    }

    pub(super) fn scope(&mut self, scope: &Scope) -> ScopeIndex {
        let names = [&scope.client, &scope.container, &scope.module];
        let is_shared =
            names.iter().any(|name| name.len() > NAME_BYTES_MAX) || is_full(&self.scopes, scope, SCOPES_MAX);
        let others = is_shared.then(|| Scope { module: OTHERS.into(), ..Scope::default() });
        let scope = others.as_ref().unwrap_or(scope);
        ScopeIndex(place(&mut self.scopes, scope, || push(&mut self.context.scopes, scope.clone())))
    }

    /// Statements are one by the identifier that the server computed, else by their text with its literals folded; by
    /// their texts as they are where literals are kept.
    pub(super) fn statement(&mut self, document: &PlanDocument, depth: u16) -> StatementIndex {
        // A log's own field has the identifier of what the session runs when it writes the entry: a SELECT of a
        // transaction is logged when its portal closes, which the next statement does.
        let id = match (document.query_id.filter(|id| *id != 0), self.keeps_literals) {
            (Some(id), false) => id.to_string(),
            (None, false) => format!("text-{:016x}", hash(fold_text(&document.query).as_bytes())),
            // The server's identifier still finds all of its statements.
            (Some(id), true) => format!("{id}-{:010x}", hash(document.query.as_bytes()) >> 24),
            (None, true) => format!("text-{:016x}", hash(document.query.as_bytes())),
        };
        let head = &document.query[..document.query.floor_char_boundary(TEXT_BYTES_MAX)];
        if is_full(&self.statements, &*id, STATEMENTS_MAX) {
            self.shared_statements += 1;
            return StatementIndex(place(&mut self.statements, OTHER_STATEMENTS, || {
                push(&mut self.context.statements, Statement { id: OTHER_STATEMENTS.into(), ..Statement::default() })
            }));
        }
        let number = place(&mut self.statements, &*id, || {
            let text_bytes = document.query.len() as u64;
            let statement = Statement { id: id.clone(), text: head.into(), text_bytes, depth, ..Statement::default() };
            push(&mut self.context.statements, statement)
        });
        self.leave_out_literals(number, head);
        StatementIndex(number)
    }

    /// Shows a statement without its literals where another execution has other ones: those of the first say nothing of
    /// it.
    fn leave_out_literals(&mut self, number: u32, text: &str) {
        let Some(known) = self.context.statements.get_mut(number as usize) else { return };
        if known.text != text && self.without_literals.insert(number) {
            known.text = fold_text(&known.text);
        }
    }
}

/// The process of a session, as `%p` has it: the second half of its identifier (`%c`) in decimal digits.
fn process_of(session: &str) -> Cow<'_, str> {
    let process = session.split_once('.').and_then(|(_, process)| u32::from_str_radix(process, 16).ok());
    process.map_or(Cow::Borrowed(session), |process| Cow::Owned(process.to_string()))
}

/// The number that something known by `key` has, which `add` gives where it is new.
fn place<K, Q>(known: &mut HashMap<K, u32>, key: &Q, add: impl FnOnce() -> u32) -> u32
where
    K: Borrow<Q> + Eq + Hash,
    Q: ToOwned<Owned = K> + Eq + Hash + ?Sized,
{
    match known.get(key) {
        Some(place) => *place,
        None => *known.entry(key.to_owned()).or_insert_with(add),
    }
}

/// Whether `key` is new where there is no room for another one besides the one that all further ones share.
fn is_full<K, Q>(known: &HashMap<K, u32>, key: &Q, most: usize) -> bool
where
    K: Borrow<Q> + Eq + Hash,
    Q: Eq + Hash + ?Sized,
{
    known.len() + 1 >= most && !known.contains_key(key)
}

/// Adds to a list; the place there.
fn push<T>(list: &mut Vec<T>, element: T) -> u32 {
    list.push(element);
    list.len() as u32 - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Accounted, ProblemKind};
    use crate::source::contract::Source;
    use crate::source::postgres_log::source::tests::samples::{FIGURES, Kept, csv, entry, read};

    #[test]
    fn statements_that_differ_in_literals_are_one_and_others_are_not() {
        let log: String =
            ["select 1", "select  2", "select x"].map(|query| entry(1, 7, "1.0", query, FIGURES)).concat();
        let (kept, context, _) = read(&log);
        assert_eq!(context.statements.len(), 2);
        assert_eq!(kept.calls[0].statement, kept.calls[1].statement);
    }

    #[test]
    fn a_statement_of_several_literals_shows_none_of_them_and_those_that_are_to_stay_apart_do() {
        let statements = |queries: [&str; 3], keeps_literals: bool| {
            let log: String = queries.map(|query| entry(1, 7, "1.0", query, FIGURES)).concat();
            let (mut kept, mut source) = (Kept::default(), LogSource::new());
            if keeps_literals {
                source.keep_literals();
            }
            source.read_log(log.as_bytes(), &mut kept).unwrap();
            let (accounted, _) = source.end(&mut kept);
            accounted.context.statements.into_iter().map(|known| (known.id, known.text)).collect::<Vec<_>>()
        };
        let texts = |queries, keeps_literals| {
            let found = statements(queries, keeps_literals).into_iter();
            found.map(|(_, text)| text).collect::<Vec<String>>()
        };
        let queries = ["select 1", "select  2", "select x"];
        assert_eq!(texts(queries, false), ["select ?", "select x"]);
        assert_eq!(texts(queries, true), queries);
        assert_eq!(texts(["select 1"; 3], false), ["select 1"], "the one that all executions have");
        // The server's identifier is that of all of them.
        let identifier = "\", \"Query Identifier\": 12, \"a\": \"";
        let numbered = ["select 1", "select 2", "select 1"].map(|query| query.to_string() + identifier);
        let numbered = [&*numbered[0], &*numbered[1], &*numbered[2]];
        assert_eq!(statements(numbered, false), [("12".to_string(), "select ?".to_string())]);
        let apart = statements(numbered, true);
        assert!(apart.len() == 2 && apart.iter().all(|(id, _)| id.starts_with("12-")), "{apart:?}");
    }

    #[test]
    fn a_new_statement_and_a_new_session_in_every_entry_fill_no_memory() {
        let (mut source, mut kept) = (LogSource::new(), Kept::default());
        let entry = |number: usize| Entry {
            session: format!("{:x}", number / 2),
            scope: Scope { module: number.to_string(), ..Scope::default() },
            message: format!(
                "duration: 1.0 ms  plan:\n{{\"Query Text\": \"x\", \"Query Identifier\": {}, \"Plan\": \
                 {{\"Node Type\": \"Result\"}}}}",
                number + 1
            )
            .into(),
            ..Entry::default()
        };
        let entries = 2 * (SESSIONS_MAX + 5);
        for number in (0..entries).chain([0]) {
            source.entry(&entry(number), LogFormat::Csv, &mut kept).unwrap();
        }
        let (accounted, _) = source.end(&mut kept);
        let context = accounted.context;
        let most = (STATEMENTS_MAX, SESSIONS_MAX, SCOPES_MAX);
        assert_eq!((context.statements.len(), context.sessions.len(), context.scopes.len()), most);
        let problems: Vec<(ProblemKind, u64)> = accounted.problems.iter().map(|one| (one.kind, one.count)).collect();
        let shared = (entries - STATEMENTS_MAX + 1) as u64;
        assert_eq!(problems, [(ProblemKind::SessionsShared, 12), (ProblemKind::FurtherStatements, shared)]);
        let [beyond, again] = [entries - 1, entries].map(|at| &kept.calls[at]);
        assert_eq!(context.statements[beyond.statement.0 as usize].id, OTHER_STATEMENTS);
        assert_eq!(context.sessions[beyond.session.0 as usize].id, OTHER_SESSIONS);
        let first = (StatementIndex(0), SessionIndex(0), ScopeIndex(0));
        assert_eq!((again.statement, again.session, again.scope), first, "it is still known");
    }

    #[test]
    fn names_without_end_fill_no_memory() {
        let (mut source, mut kept) = (LogSource::new(), Kept::default());
        for letter in ["a", "b"] {
            let name = letter.repeat(NAME_BYTES_MAX + 1);
            let scope = Scope { module: name.clone(), ..Scope::default() };
            let message = b"duration: 1.0 ms  plan:\n{\"Plan\": {\"Node Type\": \"Result\"}}".to_vec();
            let entry = Entry { session: name, scope, message, ..Entry::default() };
            source.entry(&entry, LogFormat::Csv, &mut kept).unwrap();
        }
        let (Accounted { context, .. }, _) = source.end(&mut kept);
        let sessions: Vec<&str> = context.sessions.iter().map(|session| session.id.as_str()).collect();
        let modules: Vec<&str> = context.scopes.iter().map(|scope| scope.module.as_str()).collect();
        assert_eq!((sessions, modules), (vec![OTHER_SESSIONS], vec![OTHERS]));
    }

    #[test]
    fn a_statement_is_not_taken_for_the_next_one_whose_identifier_its_entry_has() {
        // A SELECT of a transaction is logged when the next statement closes its portal.
        let inner = csv(1001, "1.0", "PL/pgSQL function f() line 3 at PERFORM");
        let (_, context, _) = read(&(csv(1000, "9.0", "") + &inner + &csv(1002, "9.0", "")));
        let texts: Vec<&str> = context.statements.iter().map(|statement| statement.text.as_str()).collect();
        assert_eq!(texts, ["select outer", "select inner"]);
        assert!(context.statements.iter().all(|statement| statement.id.starts_with("text-")));
    }
}
