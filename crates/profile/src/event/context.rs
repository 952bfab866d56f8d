//! What calls and waits name by index: sessions, statements, events, scopes.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use measure::wait_class::{Class, class_of, is_client};

use super::block_layout::{BLOCKS, FILE, Layout, layout, place};
use super::ticks::Ticks;

/// Index of a session in [`Context::sessions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionIndex(pub u32);

/// Index of a statement in [`Context::statements`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatementIndex(pub u32);

/// Index of an event in [`Context::events`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventIndex(pub u32);

/// Index of a combination of module, action, service, client and container in [`Context::scopes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScopeIndex(pub u32);

/// What stands behind a statement's row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum StatementKind {
    /// A statement that the source declares, with its text.
    #[default]
    Declared,
    /// A cursor that was opened before the source began, or whose declaration is lost.
    UnknownCursor,
    /// Calls and waits that belong to no cursor: logon, commits sent by the client, waits between calls.
    NoCursor,
    /// Operations on large objects, which name no cursor.
    LargeObjects,
    /// Calls of PL/SQL on the client's side.
    ClientCalls,
    /// A text that could not be parsed.
    ParseError,
}

/// A statement as the source declares it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statement {
    /// The identifier that a person would search for: the sqlid, else the hash as a number, else what the source has.
    pub id: String,
    /// The text, shortened where it is longer than a limit.
    pub text: String,
    /// Bytes of the whole text.
    pub text_bytes: u64,
    /// Command type, 0 where not known.
    pub command: i64,
    /// Depth at its first declaration.
    pub depth: u16,
    /// Parsing schema, 0 for SYS; `None` where the source does not say.
    pub user: Option<i64>,
    /// What stands behind it.
    pub kind: StatementKind,
}

/// A session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// Such as `190.17`; empty where no line names it.
    pub id: String,
}

/// What the calls and waits between two marks share.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Scope {
    /// Module.
    pub module: String,
    /// Action.
    pub action: String,
    /// Service.
    pub service: String,
    /// Client identifier.
    pub client: String,
    /// Container (pluggable database).
    pub container: String,
}

/// An event that is waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Such as `db file sequential read`.
    pub name: String,
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// The class of its waits; of the client's long ones see [`Event::is_client`].
    pub class: Class,
    /// Whether its waits are the client's time, and the long ones of them think time.
    pub is_client: bool,
    /// The place of the parameter with the number of a file.
    pub(crate) file: Option<u8>,
    /// The place of the parameter with a number of blocks.
    pub(crate) blocks: Option<u8>,
    pub(crate) layout: Option<Layout>,
}

impl Event {
    /// The event of this name, whose waits have parameters of these names.
    pub fn new(name: &str, parameters: &[String]) -> Event {
        let layout = layout(name, parameters);
        // Old releases name no parameter: of a read the order says which one is which.
        let of_read = layout.filter(|layout| layout.blocks.is_some());
        Event {
            name: name.into(),
            class: class_of(name),
            is_client: is_client(name),
            file: place(parameters, &FILE).or(of_read.and_then(|layout| layout.file)),
            blocks: place(parameters, &BLOCKS).or(of_read.and_then(|layout| layout.blocks)),
            layout,
            parameters: parameters.into(),
        }
    }
}

/// Everything that calls and waits name by index.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// Sessions in the order of their first line.
    pub sessions: Vec<Session>,
    /// Statements in the order of their first line.
    pub statements: Vec<Statement>,
    /// Events in the order of their first line.
    pub events: Vec<Event>,
    /// Scopes in the order of their first line.
    pub scopes: Vec<Scope>,
    /// Names of calls.
    pub call_names: Vec<String>,
    /// A time of the source's clock in the file that is read, behind the wall clock at it, in microseconds since 1970
    /// as if it were UTC; `None` as long as nothing says so.
    pub clock: Option<(i64, Ticks)>,
    /// Names of objects by number, as the lines of plans have them; empty where two databases have the same number.
    pub objects: HashMap<i64, String, RandomState>,
}

/// Most objects whose names are kept.
const OBJECTS: usize = 1 << 16;

/// Last words of operations that name no object.
const NO_OBJECTS: [&str; 14] = [
    "FULL", "SCAN", "ROWID", "BATCHED", "SAMPLE", "CLUSTER", "HASH", "ALL", "SINGLE", "ITERATOR", "RANGE", "STORAGE",
    "INMEMORY", "ACCESS",
];

/// What stands behind the name of an object: its number, and from which partition to which it was accessed.
const PLACES: [&str; 2] = [" (object id", " PARTITION: "];

/// An operation up to the name of its object.
fn without_place(operation: &str) -> &str {
    // Most operations have neither, and a search for a byte costs less than one for a text.
    if memchr::memchr2(b'(', b':', operation.as_bytes()).is_none() {
        return operation.trim_end();
    }
    let end = PLACES.iter().filter_map(|place| operation.find(*place)).min();
    operation[..end.unwrap_or(operation.len())].trim_end()
}

impl Context {
    /// An event.
    #[inline]
    pub fn event(&self, index: EventIndex) -> Option<&Event> {
        self.events.get(index.0 as usize)
    }

    /// The name of an event.
    pub fn event_name(&self, index: EventIndex) -> &str {
        self.event(index).map_or("", |event| &event.name)
    }

    /// A statement.
    pub fn statement(&self, index: StatementIndex) -> Option<&Statement> {
        self.statements.get(index.0 as usize)
    }

    /// The identifier of a statement.
    pub fn statement_id(&self, index: StatementIndex) -> &str {
        self.statement(index).map_or("", |statement| &statement.id)
    }

    /// Learns the name of an object from a line of a plan: `TABLE ACCESS FULL PRODUCTS`.
    pub fn learn_object(&mut self, number: i64, operation: &str) {
        if number <= 0 {
            return;
        }
        let operation = without_place(operation);
        if self.is_learnt(number, operation) {
            return;
        }
        let is_access = ["TABLE ACCESS ", "INDEX ", "MAT_VIEW ", "BITMAP INDEX "].iter();
        if !is_access.clone().any(|beginning| operation.starts_with(beginning)) {
            return;
        }
        let name = operation.rsplit(' ').next();
        let Some(name) = name.filter(|name| !NO_OBJECTS.contains(name) && !name.ends_with(')')) else { return };
        let has_room = self.objects.len() < OBJECTS;
        match self.objects.get_mut(&number) {
            Some(known) if known != name => known.clear(),
            Some(_) => {}
            None if has_room => drop(self.objects.insert(number, name.to_owned())),
            None => {}
        }
    }

    /// Whether a line of a plan says nothing new of an object: traces repeat their plans.
    fn is_learnt(&self, number: i64, operation: &str) -> bool {
        self.objects.get(&number).is_some_and(|known| {
            let before = operation.strip_suffix(known.as_str());
            known.is_empty() || before.is_some_and(|before| before.ends_with(' '))
        })
    }

    /// An object by its number, and by its name where a plan says it.
    pub fn object_name(&self, number: i64) -> String {
        match self.objects.get(&number).filter(|name| !name.is_empty()) {
            Some(name) => format!("{number} {name}"),
            None => number.to_string(),
        }
    }

    /// The name of a call.
    pub fn call_name(&self, name: u16) -> &str {
        self.call_names.get(usize::from(name)).map_or("", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_partitions_of_a_table_are_no_name_of_it() {
        let mut context = Context::default();
        for (number, operation) in [
            (7, "TABLE ACCESS FULL SALES PARTITION: 1 28"),
            (7, "TABLE ACCESS BY LOCAL INDEX ROWID SALES PARTITION: KEY KEY"),
            (8, "INDEX RANGE SCAN SALES_I PARTITION: 3 3"),
            (9, "INDEX UNIQUE SCAN ORDERS_PK (object id 9)"),
            (10, "TABLE ACCESS FULL PARTITION: 1 28"),
        ] {
            context.learn_object(number, operation);
        }
        let names = [7, 8, 9, 10].map(|number| context.object_name(number));
        assert_eq!(names, ["7 SALES", "8 SALES_I", "9 ORDERS_PK", "10"]);
    }
}
