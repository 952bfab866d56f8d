//! Names to indexes: statements, events, scopes and calls, each kept once however often the trace repeats it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use measure::words::Word;

use crate::event::{
    Context, Event, EventIndex, ProblemKind, Scope, ScopeIndex, Statement, StatementIndex, StatementKind,
};
use crate::source::oracle::record::{CallKind, DeclarationRecord, EventName};
use crate::tables::folding::fold_text;

/// So much of a statement's text is kept.
const TEXT_BYTES: usize = 64 << 10;

/// Most statements with a row of their own, of about 1.2 KiB and its text: a damaged file could name one in every line.
const STATEMENTS: usize = 1 << 14;

/// Statements from which on those that differ from many others in literals alone share a row: a program that writes
/// literals into its texts can have millions.
const STATEMENTS_UNFOLDED: usize = 3 << 12;

/// Statements that differ in literals alone and have rows of their own all the same.
const FAMILY: u32 = 1 << 10;

/// Most rows that others share which differ in literals alone.
const FOLDED: usize = 1 << 11;

/// Most statements whose row is remembered, of 50 bytes each; of others it is looked for each time.
const KEYS: usize = 1 << 16;

/// The id of the row that all others share.
const OTHER_STATEMENTS: &str = "other statements";

/// Most unknown cursors with a row of their own: a damaged file could name a new one in every line.
const UNKNOWN_CURSORS: usize = 10_000;

/// Most events and most scopes that are kept apart, for the same reason; what comes later shares the last one. No
/// release has half as many events.
const EVENTS: usize = 1 << 12;
const SCOPES: usize = 1 << 13;

/// Most names of calls that are kept apart.
const CALL_NAMES: usize = 1 << 10;

/// What makes two statements one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum StatementKey {
    /// The identifier of the SQL, padded with zeros.
    SqlId([u8; 16]),
    /// Hash values collide, so the text counts too.
    Text {
        hash: u64,
        text: u64,
        bytes: u64,
    },
    Unknown {
        file: u32,
        session: u32,
        cursor: u64,
    },
    UnknownShared,
    OtherStatements,
    ParseError {
        text: u64,
        bytes: usize,
    },
}

impl StatementKey {
    /// The key of an identifier; `None` for one that is empty or too long.
    fn of_sql_id(sql_id: &[u8]) -> Option<StatementKey> {
        let mut padded = [0; 16];
        padded.get_mut(..sql_id.len())?.copy_from_slice(sql_id);
        (!sql_id.is_empty()).then_some(StatementKey::SqlId(padded))
    }
}

/// A statement, and what was given up for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) index: StatementIndex,
    pub(crate) given_up: Option<ProblemKind>,
}

/// Statements that differ in literals alone.
#[derive(Clone, Copy, Debug, Default)]
struct Family {
    members: u32,
    /// The row that they share.
    shared: Option<StatementIndex>,
}

/// Indexes of names already seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registry {
    hasher: RandomState,
    statements: HashMap<StatementKey, StatementIndex, RandomState>,
    events: HashMap<EventName, EventIndex, RandomState>,
    scopes: HashMap<Scope, ScopeIndex, RandomState>,
    call_names: HashMap<String, u16, RandomState>,
    unknown_cursors: usize,
    /// The statements that differ in literals alone, by the hash of their folded text; known from the number of
    /// statements on at which it matters.
    families: HashMap<u64, Family, RandomState>,
    /// Rows that the statements of a family share.
    folded: usize,
    /// How many statements have each hash: of two, one has an identifier of its own.
    hashes: HashMap<u64, u32, RandomState>,
    /// The pseudo statements that were asked for: nearly every second line asks.
    no_cursor: Option<StatementIndex>,
    large_objects: Option<StatementIndex>,
    client_calls: Option<StatementIndex>,
}

impl Registry {
    /// Knows the names of calls that have no name of their own, and the scope without a name.
    pub(crate) fn new(context: &mut Context) -> Registry {
        let mut registry = Registry::default();
        // The name of a kind stands at the kind's own number.
        for (_, name, _) in CallKind::ALL {
            registry.call_name(context, name);
        }
        registry.scope(context, &Scope::default());
        registry
    }

    /// A declared statement; shortened where its text is longer than is kept.
    pub(crate) fn declared(&mut self, context: &mut Context, declaration: &DeclarationRecord, bytes: &[u8]) -> Entry {
        let sql_id = bytes.get(declaration.sql_id.clone()).unwrap_or_default();
        let identified = StatementKey::of_sql_id(sql_id);
        // Most declarations repeat a statement, whose text need not be looked at again.
        if let Some(index) = identified.and_then(|key| self.statements.get(&key)) {
            return Entry { index: *index, given_up: None };
        }
        let written = bytes.get(declaration.text.clone()).unwrap_or_default();
        let text = &*with_plain_line_ends(written);
        let text_bytes = declaration.text_bytes.saturating_sub((written.len() - text.len()) as u64);
        let key = identified.unwrap_or_else(|| StatementKey::Text {
            hash: declaration.hash,
            text: self.hasher.hash_one(text),
            bytes: text_bytes,
        });
        let before = context.statements.len();
        let entry = self.statement(context, key, (text, text_bytes), || Statement {
            id: match key {
                StatementKey::SqlId(_) => shown(sql_id),
                _ => declaration.hash.to_string(),
            },
            command: declaration.command,
            depth: declaration.depth,
            user: Some(declaration.user),
            ..Statement::default()
        });
        let is_new = context.statements.len() > before && entry.given_up != Some(ProblemKind::StatementsShared);
        if is_new && matches!(key, StatementKey::Text { .. }) {
            self.tell_apart(&mut context.statements[before], declaration.hash);
        }
        entry
    }

    /// Gives the second statement of a hash an identifier of its own.
    fn tell_apart(&mut self, statement: &mut Statement, hash: u64) {
        let uses = self.hashes.entry(hash).or_default();
        *uses += 1;
        if *uses > 1 {
            statement.id = format!("{hash}-{uses}");
        }
    }

    /// The statement of a cursor that the file does not declare; all further ones share a row.
    pub(crate) fn unknown(&mut self, context: &mut Context, file: u32, session: u32, cursor: u64) -> Entry {
        let key = StatementKey::Unknown { file, session, cursor };
        if self.unknown_cursors >= UNKNOWN_CURSORS && !self.statements.contains_key(&key) {
            return self.unknown_shared(context);
        }
        let before = context.statements.len();
        // Short enough for a table to show it whole: it is what a person gives back to see more.
        let id = format!("undeclared-{}", self.unknown_cursors + 1);
        let of = context.sessions.get(session as usize).map_or("", |session| &session.id);
        // The session first: cursors of all sessions have the same numbers, and a table may show the beginning alone.
        let session = if of.is_empty() { String::new() } else { format!("session {of}, ") };
        let text = format!("({session}cursor #{cursor}, not declared in the trace)");
        let made = || Statement { id, kind: StatementKind::UnknownCursor, ..Statement::default() };
        let entry = self.statement(context, key, (text.as_bytes(), 0), made);
        self.unknown_cursors += context.statements.len() - before;
        entry
    }

    /// The statement of unknown cursors that have no row of their own.
    pub(crate) fn unknown_shared(&mut self, context: &mut Context) -> Entry {
        let id = "other unknown cursors".to_owned();
        let made = || Statement { id, kind: StatementKind::UnknownCursor, ..Statement::default() };
        let entry = self.statement(context, StatementKey::UnknownShared, (&[], 0), made);
        Entry { given_up: Some(ProblemKind::UnknownCursorsShared), ..entry }
    }

    /// The pseudo statement of a kind that has only one.
    pub(crate) fn pseudo(&mut self, context: &mut Context, kind: StatementKind) -> StatementIndex {
        let (known, id) = match kind {
            StatementKind::LargeObjects => (&mut self.large_objects, "LOB operations"),
            StatementKind::ClientCalls => (&mut self.client_calls, "RPC calls"),
            _ => (&mut self.no_cursor, "cursor #0"),
        };
        *known.get_or_insert_with(|| {
            let index = StatementIndex(index_of(context.statements.len()));
            context.statements.push(Statement { id: id.to_owned(), kind, ..Statement::default() });
            index
        })
    }

    /// A text that could not be parsed.
    pub(crate) fn parse_error(&mut self, context: &mut Context, text: &[u8], depth: u16) -> Entry {
        let text = &*with_plain_line_ends(text);
        let number = context.statements.len();
        let key = StatementKey::ParseError { text: self.hasher.hash_one(text), bytes: text.len() };
        self.statement(context, key, (text, text.len() as u64), || Statement {
            id: format!("parse-error-{number}"),
            depth,
            kind: StatementKind::ParseError,
            ..Statement::default()
        })
    }

    fn statement(
        &mut self,
        context: &mut Context,
        key: StatementKey,
        (text, text_bytes): (&[u8], u64),
        make: impl FnOnce() -> Statement,
    ) -> Entry {
        if let Some(&index) = self.statements.get(&key) {
            return Entry { index, given_up: None };
        }
        let made = make();
        if context.statements.len() >= STATEMENTS_UNFOLDED
            && let Some(index) = self.shared_row(context, key, text, &made)
        {
            if self.statements.len() < KEYS {
                self.statements.insert(key, index);
            }
            return Entry { index, given_up: Some(ProblemKind::StatementsShared) };
        }
        let kept = &text[..text.len().min(TEXT_BYTES)];
        let index = self.insert(context, key, Statement { text: shown(kept), text_bytes, ..made });
        let is_shortened = text_bytes > TEXT_BYTES as u64;
        Entry { index, given_up: is_shortened.then_some(ProblemKind::TextShortened) }
    }

    /// The row that a new statement shares with others; `None` where it has one of its own.
    fn shared_row(
        &mut self,
        context: &mut Context,
        key: StatementKey,
        text: &[u8],
        made: &Statement,
    ) -> Option<StatementIndex> {
        let is_full = context.statements.len() >= STATEMENTS;
        if made.kind != StatementKind::Declared || text.is_empty() {
            return (is_full && key != StatementKey::UnknownShared).then(|| self.other_statements(context));
        }
        if self.families.is_empty() {
            self.find_families(context);
        }
        let text = fold_text(&shown(&text[..text.len().min(TEXT_BYTES)]));
        let hash = self.hasher.hash_one(&text);
        let is_known = self.families.contains_key(&hash);
        if !is_known && self.families.len() >= STATEMENTS + FOLDED {
            return Some(self.other_statements(context));
        }
        let family = self.families.entry(hash).or_default();
        family.members = family.members.saturating_add(1);
        if family.members <= FAMILY && !is_full {
            return None;
        }
        if family.shared.is_none() && self.folded < FOLDED {
            self.folded += 1;
            family.shared = Some(StatementIndex(index_of(context.statements.len())));
            let id = format!("folded-{}", self.folded);
            context.statements.push(Statement { id, text_bytes: text.len() as u64, text, ..made.clone() });
        }
        Some(family.shared.unwrap_or_else(|| self.other_statements(context)))
    }

    /// Looks which of the statements so far differ in literals alone.
    #[cold]
    fn find_families(&mut self, context: &Context) {
        let declared = context.statements.iter().filter(|known| known.kind == StatementKind::Declared);
        for known in declared.filter(|known| !known.text.is_empty()) {
            let hash = self.hasher.hash_one(fold_text(&known.text));
            self.families.entry(hash).or_default().members += 1;
        }
    }

    /// The statement of all for which there is no room.
    fn other_statements(&mut self, context: &mut Context) -> StatementIndex {
        self.statements.get(&StatementKey::OtherStatements).copied().unwrap_or_else(|| {
            let statement = Statement { id: OTHER_STATEMENTS.to_owned(), ..Statement::default() };
            self.insert(context, StatementKey::OtherStatements, statement)
        })
    }

    fn insert(&mut self, context: &mut Context, key: StatementKey, statement: Statement) -> StatementIndex {
        let index = StatementIndex(index_of(context.statements.len()));
        context.statements.push(statement);
        self.statements.insert(key, index);
        index
    }

    /// An event.
    pub(crate) fn event(&mut self, context: &mut Context, name: &EventName) -> EventIndex {
        if let Some(&index) = self.events.get(name) {
            return index;
        }
        let index = EventIndex(index_of(context.events.len().min(EVENTS)));
        if context.events.len() < EVENTS {
            context.events.push(Event::new(&name.event, &name.parameters));
            self.events.insert(name.clone(), index);
        } else if context.events.len() == EVENTS {
            context.events.push(Event::new("other events", &[]));
        }
        index
    }

    /// A combination of module, action, service, client and container.
    pub(crate) fn scope(&mut self, context: &mut Context, scope: &Scope) -> ScopeIndex {
        if let Some(&index) = self.scopes.get(scope) {
            return index;
        }
        let index = ScopeIndex(index_of(context.scopes.len().min(SCOPES)));
        if context.scopes.len() < SCOPES {
            context.scopes.push(scope.clone());
            self.scopes.insert(scope.clone(), index);
        } else if context.scopes.len() == SCOPES {
            context.scopes.push(Scope { module: "other modules".into(), ..Scope::default() });
        }
        index
    }

    /// Gives a container of which only the number was known its name, in all scopes since the last file began.
    pub(crate) fn name_container(&mut self, context: &mut Context, number: &str, name: &str) {
        let numbered: Vec<Scope> = self.scopes.keys().filter(|scope| scope.container == number).cloned().collect();
        for scope in numbered {
            let Some(index) = self.scopes.remove(&scope) else { continue };
            let named = Scope { container: name.to_owned(), ..scope };
            context.scopes[index.0 as usize] = named.clone();
            self.scopes.entry(named).or_insert(index);
        }
    }

    /// Forgets scopes whose container has no name: a number means another container in another database.
    pub(crate) fn forget_numbered_containers(&mut self) {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        self.scopes.retain(|scope, _| !is_number(&scope.container));
    }

    /// A name of a call.
    pub(crate) fn call_name(&mut self, context: &mut Context, name: &str) -> u16 {
        if let Some(&index) = self.call_names.get(name) {
            return index;
        }
        let lob = CallKind::Lob as u16;
        if name.is_empty() || context.call_names.len() >= CALL_NAMES {
            return lob;
        }
        let index = u16::try_from(context.call_names.len()).unwrap_or(lob);
        context.call_names.push(name.to_owned());
        self.call_names.insert(name.to_owned(), index);
        index
    }
}

/// A text without the carriage returns of its line ends: files of Windows have them, and it is the same statement.
fn with_plain_line_ends(text: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\r', text).is_none() {
        return text.into();
    }
    let mut plain = Vec::with_capacity(text.len());
    for (place, byte) in text.iter().enumerate() {
        if *byte != b'\r' || !matches!(text.get(place + 1), None | Some(b'\n')) {
            plain.push(*byte);
        }
    }
    plain.into()
}

/// Bytes as text, with other letters than those of UTF-8 shown as well as they can be.
pub(crate) fn shown(bytes: &[u8]) -> String {
    // Nearly all texts are sound, and checking first is many times faster than looking for what is not.
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes).into_owned(), str::to_owned)
}

/// Puts the same in place of what a text holds, in the room that it has.
pub(crate) fn show(bytes: &[u8], into: &mut String) {
    into.clear();
    match std::str::from_utf8(bytes) {
        Ok(text) => into.push_str(text),
        Err(_) => into.push_str(&String::from_utf8_lossy(bytes)),
    }
}

/// An index of 32 bits; four thousand million statements do not fit in memory.
fn index_of(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declaration(hash: u64, sql_id: std::ops::Range<usize>, text: std::ops::Range<usize>) -> DeclarationRecord {
        let (text_bytes, time) = (text.len() as u64, None);
        DeclarationRecord {
            cursor: 1,
            depth: 0,
            user: 0,
            command: 3,
            time,
            hash,
            sql_id,
            text,
            text_bytes,
            is_cut: false,
        }
    }

    #[test]
    fn two_texts_with_one_hash_stay_two_statements() {
        let mut context = Context::default();
        let mut registry = Registry::new(&mut context);
        let bytes = b"select 1select 2";
        let first = registry.declared(&mut context, &declaration(7, 0..0, 0..8), bytes).index;
        let second = registry.declared(&mut context, &declaration(7, 0..0, 8..16), bytes).index;
        let again = registry.declared(&mut context, &declaration(7, 0..0, 0..8), bytes).index;
        assert_ne!(first, second);
        assert_eq!(first, again);
        assert_eq!(context.statements[first.0 as usize].id, "7");
        assert_eq!(context.statements[second.0 as usize].text, "select 2");
    }

    #[test]
    fn a_long_text_is_kept_once_and_shortened() {
        let mut context = Context::default();
        let mut registry = Registry::new(&mut context);
        let bytes = vec![b'x'; 1 << 20];
        let entry = registry.declared(&mut context, &declaration(7, 0..13, 0..1 << 20), &bytes);
        assert_eq!(entry.given_up, Some(ProblemKind::TextShortened));
        let again = registry.declared(&mut context, &declaration(8, 0..13, 0..1 << 20), &bytes);
        assert_eq!(again.given_up, None);
        assert_eq!(context.statements.len(), 1);
        let statement = &context.statements[0];
        assert_eq!((statement.text.len(), statement.text_bytes), (TEXT_BYTES, 1 << 20));
    }

    #[test]
    fn a_new_unknown_cursor_in_every_line_fills_no_memory() {
        let mut context = Context::default();
        let mut registry = Registry::new(&mut context);
        let shared =
            (0..20_000).filter(|cursor| registry.unknown(&mut context, 0, 0, *cursor).given_up.is_some()).count();
        assert_eq!((context.statements.len(), shared), (UNKNOWN_CURSORS + 1, 10_000));
        let known = registry.unknown(&mut context, 0, 0, 3);
        assert_eq!(context.statements[known.index.0 as usize].id, "undeclared-4");
    }

    #[test]
    fn a_new_statement_in_every_line_fills_no_memory() {
        let mut context = Context::default();
        let mut registry = Registry::new(&mut context);
        let mut shared = 0;
        for number in 0..KEYS as u64 + 500 {
            let entry = registry.declared(&mut context, &declaration(number, 0..0, 0..0), b"");
            shared += usize::from(entry.given_up == Some(ProblemKind::StatementsShared));
        }
        assert_eq!((context.statements.len(), shared), (STATEMENTS + 1, KEYS + 500 - STATEMENTS));
        assert_eq!(context.statements[STATEMENTS].id, OTHER_STATEMENTS);
        assert_eq!(registry.statements.len(), KEYS);
        let known = registry.declared(&mut context, &declaration(3, 0..0, 0..0), b"");
        assert_eq!((known.index, known.given_up), (StatementIndex(3), None));
    }

    #[test]
    fn literals_in_texts_take_no_room_from_statements_that_come_later() {
        let mut context = Context::default();
        let mut registry = Registry::new(&mut context);
        let mut declared = |number: u64, text: &str| {
            registry.declared(&mut context, &declaration(number, 0..0, 0..text.len()), text.as_bytes()).index
        };
        let literals: Vec<_> = (0..40_000).map(|number| declared(number, &format!("select {number}"))).collect();
        let later: Vec<_> = (0..3_000).map(|number| declared(1 << 20 | number, &format!("delete t{number}"))).collect();
        let again = declared(39_999, "select 39999");
        assert_eq!(literals[39_999], literals[STATEMENTS_UNFOLDED], "they share a row");
        assert_eq!(again, literals[39_999]);
        let all: std::collections::HashSet<_> = literals.iter().chain(&later).collect();
        assert_eq!(all.len(), STATEMENTS_UNFOLDED + 1 + 3_000);
        let shared = &context.statements[literals[39_999].0 as usize];
        assert_eq!((shared.id.as_str(), shared.text.as_str()), ("folded-1", "select ?"));
    }

    #[test]
    fn spans_outside_the_bytes_are_empty_texts() {
        let mut context = Context::default();
        let mut registry = Registry::new(&mut context);
        let index = registry.declared(&mut context, &declaration(9, 50..60, 40..90), b"short").index;
        assert_eq!(context.statements[index.0 as usize].text, "");
    }
}
