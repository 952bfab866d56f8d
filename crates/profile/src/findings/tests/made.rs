//! Profiles that are put together by hand.

use measure::Finding;

use crate::document::Order;
use crate::event::{CallKind, Context, Cost, Event, EventIndex, Merge, Statement, StatementIndex, Ticks};
use crate::findings::findings;
use crate::observe::hot_spots::HotSpots;
use crate::tables::{CallSums, EventSums, Profile, SessionProfile, StatementProfile};

/// How the file is named that all of it comes from.
pub(super) const FILE: &str = "a.trc";

pub(super) fn micros(micros: i64) -> Ticks {
    Ticks::from_micros(micros)
}

/// Work of this many calls: CPU in µs, gets and rows.
pub(super) fn calls(calls: u64, cpu: i64, gets: i64, rows: u64) -> CallSums {
    let own = Cost { cpu: Some(micros(cpu)), elapsed: micros(cpu), consistent_gets: gets, ..Cost::default() };
    CallSums { calls, rows, own, ..CallSums::default() }
}

/// A traced session of one call with this CPU time in µs and one wait for each event, which adds up.
pub(super) fn profile(cpu: i64, waits: &[(&str, i64)]) -> Profile {
    let context = Context {
        events: waits.iter().map(|(name, _)| Event::new(name, &[])).collect(),
        call_names: [CallKind::Parse, CallKind::Exec, CallKind::Fetch].map(|kind| kind.name().into()).into(),
        ..Context::default()
    };
    let waited: i64 = waits.iter().map(|(_, micros)| micros).sum();
    let sums = |time: i64| EventSums { count: 1, total: micros(time), ..EventSums::default() };
    let places = (0..).map(EventIndex);
    let whole = SessionProfile {
        interval: micros(cpu + waited),
        cpu: micros(cpu),
        waits: micros(waited),
        waits_are_traced: true,
        calls: [((CallKind::Exec as u16, false), calls(1, cpu, 0, 0))].into(),
        events: places.zip(waits).map(|(place, (_, time))| (place, sums(*time))).collect(),
        ..SessionProfile::default()
    };
    Profile { context, whole, ..Profile::default() }
}

/// The same with time within calls that is neither CPU nor a wait.
pub(super) fn with_unaccounted(mut profile: Profile, within: i64) -> Profile {
    profile.whole.unaccounted_within = micros(within);
    profile.whole.interval += micros(within);
    profile
}

/// A declared statement of this identifier, whose text is `select 1`.
pub(super) fn query(id: &str) -> Statement {
    Statement { id: id.into(), text: "select 1".into(), ..Statement::default() }
}

/// Adds a statement with its calls by their kind; nothing is added to the whole.
pub(super) fn add<'p>(
    profile: &'p mut Profile,
    known: Statement,
    done: &[(CallKind, CallSums)],
) -> &'p mut StatementProfile {
    let place = profile.statements.len();
    let mut one = StatementProfile { statement: StatementIndex(place as u32), ..StatementProfile::default() };
    one.calls = done.iter().map(|(kind, sums)| (*kind as u16, sums.clone())).collect();
    done.iter().for_each(|(_, sums)| one.own.merge(&sums.own));
    profile.context.statements.push(known);
    profile.statements.push(one);
    &mut profile.statements[place]
}

/// What is found in a profile, by the order of response time.
pub(super) fn found(profile: &Profile) -> Vec<Finding> {
    found_in(profile, Order::ResponseTime)
}

/// The same by another order.
pub(super) fn found_in(profile: &Profile, order: Order) -> Vec<Finding> {
    findings(profile, &HotSpots::default(), order, &[FILE.into()])
}
