//! What a breakdown counts: calls by their own CPU time, waits by their elapsed time.
//!
//! So the sums over everything are the CPU and the waits of the profile, and no time is counted twice: the elapsed
//! time of a call is its CPU, its waits and what is unaccounted for.

use measure::wait_class::Class;

use crate::event::block_wait::BlockWait;
use crate::event::{
    Call, CallKind, Context, EventIndex, Placement, ScopeIndex, SessionIndex, StatementIndex, Ticks, Wait,
};

/// A call or a wait, in the terms of its dimensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    /// The time that is broken down.
    pub(crate) time: Ticks,
    /// How many waits the time is the sum of; none for a call or a single wait.
    pub(crate) sum_of: Option<u64>,
    pub(crate) end: Option<Ticks>,
    pub(crate) session: SessionIndex,
    pub(crate) statement: StatementIndex,
    pub(crate) scope: ScopeIndex,
    /// Recursion depth; none for a wait between calls.
    pub(crate) depth: Option<u16>,
    /// What a wait was for; none for a call.
    pub(crate) event: Option<EventIndex>,
    pub(crate) class: Class,
    /// The name of the call, or of the call that a wait is inside.
    pub(crate) call: &'a str,
    /// The object of a wait for a block: the object of any other wait is only the one that was used last.
    pub(crate) object: Option<i64>,
    /// Hash of the plan; 0 where not known.
    pub(crate) plan_hash: u64,
    /// The parameters of a wait.
    pub(crate) parameters: Option<[i64; 3]>,
    pub(crate) block_wait: Option<BlockWait>,
}

impl<'a> Item<'a> {
    /// Of no time where the source does not know the CPU time of calls.
    pub(crate) fn of_call(context: &'a Context, call: &Call) -> Item<'a> {
        Item {
            time: call.own.cpu.unwrap_or_default(),
            sum_of: None,
            end: call.end,
            session: call.session,
            statement: call.statement,
            scope: call.scope,
            depth: Some(call.depth),
            event: None,
            class: if call.kind == CallKind::Parse { Class::CpuParse } else { Class::Cpu },
            call: context.call_name(call.name),
            object: None,
            plan_hash: call.plan_hash,
            parameters: None,
            block_wait: None,
        }
    }

    /// A wait for the client that is `think_time` long or longer is think time.
    pub(crate) fn of_wait(context: &'a Context, wait: &Wait, think_time: Ticks) -> Item<'a> {
        let block_wait = BlockWait::of(context, wait);
        let class = match context.event(wait.event) {
            Some(event) if event.is_client && wait.whole_pause() >= think_time => Class::ThinkTime,
            event => event.map_or(Class::Other, |event| event.class),
        };
        let (call, depth) = match wait.placement {
            Placement::Inside(kind) => (kind.name(), Some(wait.depth)),
            Placement::Between => ("between calls", None),
        };
        Item {
            time: wait.elapsed,
            sum_of: wait.sum_of,
            end: wait.end,
            session: wait.session,
            statement: wait.statement,
            scope: wait.scope,
            depth,
            event: Some(wait.event),
            class,
            call,
            object: wait.object.filter(|object| block_wait.is_some() && *object > 0),
            plan_hash: wait.plan_hash,
            parameters: Some(wait.parameters),
            block_wait,
        }
    }
}
