//! Names by number: sessions, statements, events and scopes as the observers know them, with bounded memory.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

use foldhash::fast::{FixedState, RandomState};
use measure::schema::profile::OTHER_SESSIONS;

use super::sample::{Backend, Sample};
use crate::event::{
    Context, Event, EventIndex, Problem, ProblemKind, Scope, ScopeIndex, Session, SessionIndex, Statement,
    StatementIndex, StatementKind, Ticks,
};
use crate::tables::folding::fold_text;

/// Most statements that are kept apart: of some 300 bytes each. A program that writes its literals into its texts has
/// few, because texts are one without them.
const STATEMENTS_MAX: usize = 1 << 14;

/// Most sessions that are kept apart; further ones share one. The tables of a profile show far fewer.
const SESSIONS_MAX: usize = 1 << 16;

/// Most combinations of user, database and application.
const SCOPES_MAX: usize = 1 << 12;

/// Most texts whose statement is remembered.
const TEXTS_MAX: usize = 1 << 16;

/// Most events, those of extensions with names of their own among them.
const EVENTS_MAX: usize = 1 << 10;

/// Bytes of a statement's text that are kept.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Where the time goes in which a process is ready to run and does not.
const RUN_QUEUE: &str = "Processor:RunQueue";
/// Where the time goes that the hypervisor took while a process was on a processor.
const STOLEN: &str = "Processor:Stolen";
/// The pause of a session without a transaction.
const IDLE: &str = "Client:ClientRead (idle)";
/// The pause of a session within a transaction.
const IN_TRANSACTION: &str = "Client:ClientRead";
/// A statement that waits for more of its client's message, such as the rows of a COPY.
const IN_STATEMENT: &str = "Client:ClientRead (in a statement)";

/// The events that stand first in the list.
pub(in crate::source) const RUN_QUEUE_EVENT: EventIndex = EventIndex(0);
pub(in crate::source) const IDLE_EVENT: EventIndex = EventIndex(1);
pub(in crate::source) const IN_TRANSACTION_EVENT: EventIndex = EventIndex(2);
const IN_STATEMENT_EVENT: EventIndex = EventIndex(3);
pub(in crate::source) const STOLEN_EVENT: EventIndex = EventIndex(4);

/// The statements that stand first in the list.
pub(in crate::source) const NO_STATEMENT: StatementIndex = StatementIndex(0);
const UNKNOWN_TEXT: StatementIndex = StatementIndex(1);
const OTHER_STATEMENTS: StatementIndex = StatementIndex(2);

/// How many of them there are.
const NAMED: usize = 3;

/// The name under which the samples of executions are calls.
const CALL: &str = "SAMPLED";

/// The statement of a text without literals.
#[derive(Clone, Copy, Debug)]
struct Folded {
    index: StatementIndex,
    /// Whether the server has computed an identifier of it.
    is_identified: bool,
}

/// All names.
#[derive(Clone, Debug)]
pub(in crate::source) struct Names {
    pub(in crate::source) context: Context,
    events: HashMap<String, EventIndex, RandomState>,
    /// Events that have become the same as another one, with that one.
    pub(in crate::source) same: Vec<(EventIndex, EventIndex)>,
    scopes: HashMap<Scope, ScopeIndex, RandomState>,
    /// By the number and the start of its process.
    sessions: HashMap<(u32, i64), SessionIndex, RandomState>,
    by_query_id: HashMap<i64, StatementIndex, RandomState>,
    by_folded: HashMap<u64, Folded, RandomState>,
    by_text: HashMap<u64, StatementIndex, RandomState>,
    /// Statements that were met without an identifier first, and are shown without literals until they have one.
    without_literals: HashSet<StatementIndex>,
    shared_statements: u64,
    shared_sessions: u64,
    /// Whether an execution was seen whose text is not known.
    pub(in crate::source) wants_texts: bool,
}

/// None but those that every profile of samples has.
impl Default for Names {
    fn default() -> Names {
        let events = [RUN_QUEUE, IDLE, IN_TRANSACTION, IN_STATEMENT, STOLEN].map(|name| Event::new(name, &[]));
        let named = |id: &str, kind| Statement { id: id.into(), kind, ..Statement::default() };
        let statements = vec![
            named("no statement", StatementKind::NoCursor),
            named("unknown text", StatementKind::UnknownCursor),
            named("other statements", StatementKind::UnknownCursor),
        ];
        let context = Context {
            events: events.into(),
            statements,
            call_names: vec![CALL.into()],
            // Times are those of the wall clock itself.
            clock: Some((0, Ticks::ZERO)),
            ..Context::default()
        };
        // A client that pauses between its statements is known by the session's state.
        let events = [(RUN_QUEUE, RUN_QUEUE_EVENT), (STOLEN, STOLEN_EVENT), (IN_TRANSACTION, IN_STATEMENT_EVENT)];
        Names {
            context,
            events: events.map(|(name, index)| (name.into(), index)).into_iter().collect(),
            scopes: HashMap::default(),
            sessions: HashMap::default(),
            by_query_id: HashMap::default(),
            by_folded: HashMap::default(),
            by_text: HashMap::default(),
            without_literals: HashSet::new(),
            same: Vec::new(),
            shared_statements: 0,
            shared_sessions: 0,
            wants_texts: false,
        }
    }
}

impl Names {
    /// The event of a session at work.
    pub(in crate::source) fn event(&mut self, name: &str) -> EventIndex {
        if let Some(index) = self.events.get(name) {
            return *index;
        }
        // Beyond all that a server has, they share their type's name.
        let name = match self.context.events.len() < EVENTS_MAX {
            true => name.to_string(),
            false => format!("{}:other", name.split(':').next().unwrap_or_default()),
        };
        let events = &mut self.context.events;
        *self.events.entry(name).or_insert_with_key(|name| {
            events.push(Event::new(name, &[]));
            EventIndex(events.len() as u32 - 1)
        })
    }

    /// Takes down that what had one name, as long as the server had not said its own, has another one.
    pub(in crate::source) fn rename(&mut self, was: &str, is: &str) {
        let Some(index) = self.events.get(was).copied() else { return };
        let event = match self.events.get(is).copied() {
            Some(same) if same == index => return,
            Some(same) => {
                self.same.push((index, same));
                self.context.events[same.0 as usize].clone()
            }
            None => {
                self.events.insert(is.into(), index);
                Event::new(is, &[])
            }
        };
        self.context.events[index.0 as usize] = event;
        // A number that is met again is no new name.
        self.events.remove(was);
    }

    /// The session of a backend, which is the same behind a time without samples.
    pub(in crate::source) fn session(&mut self, backend: &Backend) -> SessionIndex {
        let key = (backend.pid, backend.start);
        if let Some(known) = self.sessions.get(&key) {
            return *known;
        }
        if self.context.sessions.len() >= SESSIONS_MAX {
            self.shared_sessions += 1;
            return SessionIndex(SESSIONS_MAX as u32 - 1);
        }
        let is_last = self.context.sessions.len() + 1 == SESSIONS_MAX;
        let id = if is_last { OTHER_SESSIONS.into() } else { backend.pid.to_string() };
        self.context.sessions.push(Session { id });
        let index = SessionIndex(self.context.sessions.len() as u32 - 1);
        self.sessions.insert(key, index);
        index
    }

    pub(in crate::source) fn scope(&mut self, backend: &Backend) -> ScopeIndex {
        let mut scope = Scope {
            client: backend.user.clone(),
            container: backend.database.clone(),
            module: backend.application.clone(),
            ..Scope::default()
        };
        if self.scopes.len() >= SCOPES_MAX && !self.scopes.contains_key(&scope) {
            scope = Scope { module: "others".into(), ..Scope::default() };
        }
        let scopes = &mut self.context.scopes;
        *self.scopes.entry(scope).or_insert_with_key(|scope| {
            scopes.push(scope.clone());
            ScopeIndex(scopes.len() as u32 - 1)
        })
    }

    /// The statement of a sample; `known` is that of the samples before of the same execution.
    ///
    /// The server's identifier is computed after the text was parsed, so that the first samples of an execution may
    /// lack it: then the text says which statement it is, and the identifier is that statement's from then on.
    pub(in crate::source) fn statement(&mut self, sample: &Sample, known: Option<StatementIndex>) -> StatementIndex {
        let text = sample.text.as_deref();
        let hash = text.map(|text| FixedState::default().hash_one(text));
        if let Some(id) = sample.query_id.filter(|id| *id != 0) {
            let index = match self.by_query_id.get(&id) {
                Some(index) => *index,
                None => self.identified(id, text, known),
            };
            self.learn(index, text, hash);
            return index;
        }
        match (text, hash) {
            (Some(text), Some(hash)) => match self.by_text.get(&hash) {
                Some(index) => *index,
                None => self.with_text(text, hash),
            },
            _ => known.unwrap_or_else(|| {
                self.wants_texts = true;
                UNKNOWN_TEXT
            }),
        }
    }

    /// The statement with this identifier, which the server's counters have too.
    pub(in crate::source) fn with_query_id(&mut self, id: i64) -> StatementIndex {
        if let Some(index) = self.by_query_id.get(&id) {
            return *index;
        }
        let index = self.add(id.to_string(), "");
        if index != OTHER_STATEMENTS {
            self.by_query_id.insert(id, index);
        }
        index
    }

    /// The statement of an identifier that is new, which may be known by its text: by that of this sample, or of the
    /// samples before of the same execution, whose text is not handed out again.
    fn identified(&mut self, id: i64, text: Option<&str>, known: Option<StatementIndex>) -> StatementIndex {
        let before = known.and_then(|index| self.context.statements.get(index.0 as usize));
        let key = match (text, before) {
            (Some(text), _) => key_of(&fold_text(text)),
            (None, Some(before)) if !before.text.is_empty() => key_of(&before.text),
            _ => return self.with_query_id(id),
        };
        let known = self.by_folded.get(&key).filter(|known| !known.is_identified).map(|known| known.index);
        let index = match known {
            Some(index) => {
                self.context.statements[index.0 as usize].id = id.to_string();
                self.by_query_id.insert(id, index);
                index
            }
            None => self.with_query_id(id),
        };
        if index != OTHER_STATEMENTS && (known.is_some() || !self.by_folded.contains_key(&key)) {
            self.by_folded.insert(key, Folded { index, is_identified: true });
        }
        index
    }

    /// The statement that was recorded with this identifier and this text.
    pub(in crate::source) fn recorded(&mut self, id: &str, text: &str) -> StatementIndex {
        let named = self.context.statements.iter().take(NAMED).position(|known| known.id == id);
        if let Some(place) = named {
            return StatementIndex(place as u32);
        }
        if id.is_empty() {
            return NO_STATEMENT;
        }
        let index = match id.parse::<i64>() {
            Ok(id) => self.with_query_id(id),
            Err(_) => self.of_key(FixedState::default().hash_one(id), None, || id.into()),
        };
        let is_without = self.context.statements.get(index.0 as usize).is_some_and(|known| known.text.is_empty());
        if is_without && !text.is_empty() {
            self.learn_text(index, text);
        }
        index
    }

    /// A statement's identifier and its text.
    pub(in crate::source) fn shown(&self, index: StatementIndex) -> (&str, &str) {
        let known = self.context.statements.get(index.0 as usize);
        known.map_or(("", ""), |known| (known.id.as_str(), known.text.as_str()))
    }

    /// Gives a statement its text, unless it has one.
    pub(in crate::source) fn learn_text(&mut self, index: StatementIndex, text: &str) {
        let known = self.context.statements.get_mut(index.0 as usize);
        if let Some(known) = known.filter(|known| known.kind == StatementKind::Declared) {
            known.text = kept(text);
            known.text_bytes = text.len() as u64;
        }
    }

    /// Gives a statement with an identifier the text of a sample, unless it has one with its literals.
    fn learn(&mut self, index: StatementIndex, text: Option<&str>, hash: Option<u64>) {
        let (Some(text), Some(hash)) = (text, hash) else { return };
        let is_empty = self.context.statements.get(index.0 as usize).is_some_and(|known| known.text.is_empty());
        if is_empty || self.without_literals.remove(&index) {
            self.learn_text(index, text);
        }
        if self.by_text.len() < TEXTS_MAX {
            self.by_text.insert(hash, index);
        }
    }

    /// A statement without an identifier is one by its text without literals.
    fn with_text(&mut self, text: &str, hash: u64) -> StatementIndex {
        let folded = fold_text(text);
        let key = key_of(&folded);
        let index = self.of_key(key, Some(&folded), || format!("text-{key:016x}"));
        if self.by_text.len() < TEXTS_MAX {
            self.by_text.insert(hash, index);
        }
        index
    }

    /// The statement of a key. A new one gets this identifier; it is the server's unless there is a text without
    /// literals, by which the statement is one.
    fn of_key(&mut self, key: u64, folded: Option<&str>, id: impl FnOnce() -> String) -> StatementIndex {
        if let Some(known) = self.by_folded.get(&key) {
            return known.index;
        }
        let index = self.add(id(), folded.unwrap_or_default());
        if index != OTHER_STATEMENTS {
            self.by_folded.insert(key, Folded { index, is_identified: folded.is_none() });
            self.without_literals.extend(folded.map(|_| index));
        }
        index
    }

    fn add(&mut self, id: String, text: &str) -> StatementIndex {
        let statements = &mut self.context.statements;
        if statements.len() >= STATEMENTS_MAX {
            self.shared_statements += 1;
            return OTHER_STATEMENTS;
        }
        let text_bytes = text.len() as u64;
        statements.push(Statement { id, text: kept(text), text_bytes, ..Statement::default() });
        StatementIndex(statements.len() as u32 - 1)
    }

    /// What found no room of its own.
    pub(in crate::source) fn problems(&self) -> Vec<Problem> {
        let all = [
            (ProblemKind::SessionsShared, self.shared_sessions),
            (ProblemKind::FurtherStatements, self.shared_statements),
        ];
        all.into_iter().filter_map(|(kind, count)| Problem::without_place(kind, count)).collect()
    }
}

/// What stands for a text without literals.
fn key_of(folded: &str) -> u64 {
    FixedState::default().hash_one(folded.as_bytes())
}

fn kept(text: &str) -> String {
    text[..text.floor_char_boundary(TEXT_BYTES_MAX)].to_string()
}
