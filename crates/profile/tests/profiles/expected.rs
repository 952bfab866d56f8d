//! The real traces against values that an independent script computed: counts exact, times to the microsecond.
//!
//! The values are in the traces' own units, so the unit is given as true microseconds here.

use std::collections::BTreeMap;

use profile::event::{Cost, EventIndex, Merge, StatementKind, Ticks};
use profile::tables::{CallSums, EventSums, Profile, StatementProfile};
use serde_json::{Value, json};

/// Whole microseconds.
fn micros(ticks: Ticks) -> i64 {
    assert_eq!(ticks.0 % Ticks::PER_MICROSECOND, 0, "{ticks:?} is no whole number of microseconds");
    ticks.0 / Ticks::PER_MICROSECOND
}

fn cost(cost: &Cost) -> Value {
    let cpu = micros(cost.cpu.unwrap_or_default());
    json!([cpu, micros(cost.elapsed), cost.physical_reads, cost.consistent_gets, cost.current_gets])
}

fn calls(sums: &CallSums) -> Value {
    json!({
        "n": sums.calls,
        "rows": sums.rows,
        "mis": sums.misses,
        "incl_c_e_p_cr_cu": cost(&sums.inclusive()),
        "self_c_e_p_cr_cu": cost(&sums.own),
    })
}

fn event(sums: &EventSums) -> Value {
    let mut histogram = serde_json::Map::new();
    for (place, bucket) in sums.histogram.iter() {
        let edge = if place == 0 { 0 } else { 1_u64 << (place - 1) };
        histogram.insert(edge.to_string(), json!([bucket.count, micros(bucket.total), bucket.blocks]));
    }
    json!({
        "n": sums.count,
        "us": micros(sums.total),
        "min": micros(sums.min),
        "max": micros(sums.max),
        "within_n": sums.inside_count,
        "within_us": micros(sums.inside),
        "outside_n": sums.between_count,
        "outside_us": micros(sums.between),
        "hist_pow2_us": histogram,
    })
}

/// The name of an event, whatever its parameters are called.
fn name(profile: &Profile, event: EventIndex) -> &str {
    &profile.context.events[event.0 as usize].name
}

/// Sums by the name of the event.
fn events<'a>(
    profile: &Profile,
    sums: impl Iterator<Item = (&'a EventIndex, &'a EventSums)>,
) -> BTreeMap<String, EventSums> {
    let mut by_name: BTreeMap<String, EventSums> = BTreeMap::new();
    for (index, sums) in sums {
        by_name.entry(name(profile, *index).to_owned()).or_default().merge(sums);
    }
    by_name
}

/// Every trace that has values, with its profile and the values.
#[allow(clippy::print_stdout, reason = "a test that cannot run says so")]
fn check(what: impl Fn(&str, &Profile, &Value)) {
    let Some(folder) = crate::support::traces() else {
        println!("skipped: no real traces on this machine");
        return;
    };
    let mut names: Vec<_> = std::fs::read_dir(folder.join("expected"))
        .expect("as the report or the values have it")
        .map(|file| file.expect("as the report or the values have it").path())
        .collect();
    names.sort();
    assert!(names.len() >= 29, "{} files", names.len());
    for path in names {
        let expected: Value =
            serde_json::from_slice(&std::fs::read(&path).expect("as the report or the values have it"))
                .expect("as the report or the values have it");
        let name = expected["file"].as_str().expect("as the report or the values have it");
        what(name, crate::support::real_profile(&folder.join(name)), &expected);
    }
}

#[test]
fn calls_and_their_own_costs_are_those_of_the_script() {
    check(|file, profile, expected| {
        let mut ours = serde_json::Map::new();
        for ((name, is_recursive), sums) in &profile.whole.calls {
            let prefix = if *is_recursive { "rec" } else { "nonrec" };
            let name = &profile.context.call_names[usize::from(*name)];
            ours.insert(format!("{prefix}.{name}"), calls(sums));
        }
        assert_eq!(Value::from(ours), expected["calls"], "{file}");
        let mut all = CallSums::default();
        profile.whole.calls.values().for_each(|sums| all.merge(sums));
        let total = &expected["total_self"];
        assert_eq!(cost(&all.own), json!([total["c"], total["e"], total["p"], total["cr"], total["cu"]]), "{file}");
    });
}

#[test]
fn waits_inside_and_between_calls_are_those_of_the_script() {
    check(|file, profile, expected| {
        let ours: serde_json::Map<String, Value> = events(profile, profile.whole.events.iter())
            .iter()
            .map(|(name, sums)| (name.clone(), event(sums)))
            .collect();
        assert_eq!(Value::from(ours), expected["events"], "{file}");
    });
}

#[test]
fn every_session_closes_as_the_script_says() {
    check(|file, profile, expected| {
        let mut ours = serde_json::Map::new();
        for session in &profile.sessions {
            let id =
                &profile.context.sessions[session.session.expect("as the report or the values have it").0 as usize].id;
            let inside: Ticks = session.events.values().map(|sums| sums.inside).sum();
            let between: Ticks = session.events.values().map(|sums| sums.between).sum();
            let values = json!({
                "interval": micros(session.interval),
                "root_calls": session.roots,
                "root_c": micros(session.cpu),
                "root_e": micros(session.response_time - between),
                "roots_without_traced_parent": session.orphans,
                "waits_within_calls": micros(inside),
                "waits_outside_calls": micros(between),
                "response_time": micros(session.response_time),
                "unaccounted_between_calls": micros(session.unaccounted_between),
                "unaccounted_within_calls": micros(session.unaccounted_within),
            });
            ours.insert(format!("|{id}"), values);
        }
        assert_eq!(Value::from(ours), expected["sessions"], "{file}");
    });
}

#[test]
fn blocks_by_file_are_those_of_the_script() {
    check(|file, profile, expected| {
        let mut ours = serde_json::Map::new();
        for ((event, number), sums) in &profile.files {
            let values = json!({"n": sums.count, "us": micros(sums.total), "blocks": sums.blocks});
            ours.insert(format!("{}|{number}", name(profile, *event)), values);
        }
        assert_eq!(Value::from(ours), expected["io_by_file"], "{file}");
    });
}

/// What the script says of a statement, of ours.
fn statement(profile: &Profile, statements: &[&StatementProfile]) -> (Value, Value) {
    let mut by_call: BTreeMap<&str, CallSums> = BTreeMap::new();
    let mut waits: BTreeMap<String, EventSums> = BTreeMap::new();
    for statement in statements {
        for (name, sums) in &statement.calls {
            by_call.entry(&profile.context.call_names[usize::from(*name)]).or_default().merge(sums);
        }
        for (name, sums) in events(profile, statement.waits.iter()) {
            waits.entry(name).or_default().merge(&sums);
        }
    }
    let by_call: serde_json::Map<String, Value> =
        by_call.iter().map(|(name, sums)| ((*name).to_owned(), calls(sums))).collect();
    let waits: serde_json::Map<String, Value> = waits
        .iter()
        .map(|(name, sums)| (name.clone(), json!([sums.count, micros(sums.total), micros(sums.max)])))
        .collect();
    (by_call.into(), waits.into())
}

/// Statements whose parse waited before they were declared: (file, statement). The script puts a wait under what its
/// cursor stood for at that moment; the wait lies inside the parse, and so it is the parsed statement's.
const WAITED_IN_PARSE: [(&str, &str); 4] = [
    ("12102_js12c1_ora_21448.trc", "8buc8vvg6765r"),
    ("12201_js122a1_ora_9850.trc", "4xn8755d4fd5z"),
    ("12201_js122a1_ora_9850.trc", "fdryt1559xpbc"),
    ("12201_js122a1_ora_9850.trc", "acmvv4fhdc9zh"),
];

/// Adds `[count, us, max]` by event.
fn add(sums: &mut BTreeMap<String, [i64; 3]>, waits: &Value) {
    for (event, values) in waits.as_object().expect("as the report or the values have it") {
        let values = [0, 1, 2].map(|place| values[place].as_i64().expect("as the report or the values have it"));
        let sums = sums.entry(event.clone()).or_default();
        *sums = [sums[0] + values[0], sums[1] + values[1], sums[2].max(values[2])];
    }
}

#[test]
fn statements_are_those_of_the_script() {
    check(|file, profile, expected| {
        let context = &profile.context;
        let (mut all_ours, mut all_expected) = (BTreeMap::new(), BTreeMap::new());
        let is_moved = WAITED_IN_PARSE.iter().any(|(moved, _)| *moved == file);
        for expected in expected["sql_top40"].as_array().expect("as the report or the values have it") {
            let id = expected["sql"].as_str().expect("as the report or the values have it");
            let is_of = |ours: &&StatementProfile| {
                let statement = &context.statements[ours.statement.0 as usize];
                match statement.kind {
                    StatementKind::Declared => id.strip_prefix("hv").unwrap_or(id) == statement.id,
                    StatementKind::UnknownCursor | StatementKind::NoCursor => id == "unknown",
                    _ => false,
                }
            };
            let ours: Vec<_> = profile.statements.iter().filter(is_of).collect();
            let (calls, waits) = statement(profile, &ours);
            assert_eq!(calls, expected["calls"], "{file} {id}");
            add(&mut all_ours, &waits);
            add(&mut all_expected, &expected["events_n_us_max"]);
            let differs = WAITED_IN_PARSE.contains(&(file, id)) || (is_moved && id == "unknown");
            assert_eq!(waits != expected["events_n_us_max"], differs, "{file} {id}: {waits}");
        }
        assert_eq!(all_ours, all_expected, "{file}: a wait that moves to its parse is lost nowhere");
    });
}
