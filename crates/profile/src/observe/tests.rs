//! Calls and waits made by hand, for tests of observers.

use crate::event::block_wait::BlockWait;
use crate::event::{
    Call, CallKind, Context, Cost, Event, EventIndex, Placement, ScopeIndex, SessionIndex, Statement, StatementIndex,
    Ticks, Wait,
};

/// A context with these events and the names of their parameters, one session, one statement and one scope.
pub(crate) fn context(events: &[(&str, &[&str])]) -> Context {
    let event = |(name, parameters): &(&str, &[&str])| {
        let parameters: Vec<String> = parameters.iter().map(|name| (*name).into()).collect();
        Event::new(name, &parameters)
    };
    Context {
        sessions: vec![Default::default()],
        statements: vec![Statement { id: "statement0".into(), ..Default::default() }],
        events: events.iter().map(event).collect(),
        scopes: vec![Default::default()],
        call_names: ["PARSE", "EXEC", "FETCH"].map(String::from).into(),
        ..Context::default()
    }
}

/// A wait of this many microseconds, inside a fetch.
pub(crate) fn wait(event: u32, micros: i64, parameters: [i64; 3]) -> Wait {
    Wait {
        session: SessionIndex(0),
        statement: StatementIndex(0),
        scope: ScopeIndex(0),
        event: EventIndex(event),
        elapsed: Ticks::from_micros(micros),
        pause: Ticks::ZERO,
        elapsed_error: Ticks::ZERO,
        sum_of: None,
        end: None,
        placement: Placement::Inside(CallKind::Fetch),
        depth: 0,
        parameters,
        object: None,
        plan_hash: 0,
        files_back: 0,
        offset: 0,
    }
}

/// A fetch of a statement with this own CPU time, these own gets and rows.
pub(crate) fn fetch(statement: u32, cpu_micros: i64, gets: i64, rows: u64) -> Call {
    let cost = Cost {
        cpu: Some(Ticks::from_micros(cpu_micros)),
        elapsed: Ticks::from_micros(cpu_micros),
        physical_reads: 0,
        consistent_gets: gets,
        current_gets: 0,
    };
    Call {
        number: 0,
        session: SessionIndex(0),
        statement: StatementIndex(statement),
        scope: ScopeIndex(0),
        kind: CallKind::Fetch,
        name: 2,
        depth: 0,
        end: None,
        inclusive: cost,
        own: cost,
        misses: 0,
        rows,
        goal: 0,
        plan_hash: 0,
        waits: Ticks::ZERO,
        offset: 0,
    }
}

/// Hands what a wait says of blocks on.
pub(crate) fn hear(context: &Context, wait: &Wait, mut add: impl FnMut(&BlockWait, Ticks)) {
    if let Some(block_wait) = BlockWait::of(context, wait) {
        add(&block_wait, wait.elapsed);
    }
}
