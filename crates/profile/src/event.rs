//! The vocabulary between sources and observers: calls, waits and statements, with exact times.
//!
//! A source emits each call and each wait exactly once, in an order that depends on its input alone. Every table, curve
//! and export of a profile is an [`Observer`].

mod accounted;
mod block_layout;
pub mod block_wait;
mod call;
mod context;
mod merge;
mod observer;
mod ticks;
mod time_scale;

pub use accounted::{Accounted, Problem, ProblemKind, Unread};
pub use call::{
    Binds, Call, CallKind, Child, Cost, Failure, Placement, PlanFigures, PlanLine, Root, Segment, Transaction, Wait,
};
pub use context::{
    Context, Event, EventIndex, Scope, ScopeIndex, Session, SessionIndex, Statement, StatementIndex, StatementKind,
};
pub use merge::Merge;
pub(crate) use merge::{merge_fields, merged};
pub use observer::{Aside, Observer};
pub use ticks::Ticks;
pub use time_scale::{Evidence, TimeScale, Unit};
