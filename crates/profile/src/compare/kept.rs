//! Two kept runs of profiles, as far as their documents hold what a comparison of the files has: everything but the
//! spread of the executions.

use std::collections::{BTreeMap, HashMap};

use measure::compare::{Amount, ProfileComparison, ProfileSide, StatementAlone, TimeChange};
use measure::schema::profile::findings as row;
use measure::schema::sampled;
use measure::sorting;
use measure::wait_class::Class;
use measure::{Case, Finding, Run, Severity};

use super::account::{OfAccount, leaves_out_accounts};
use super::change::{amount, by_difference, by_total, change};
use super::plans::{PlansOfSide, plan_change};
use super::sample::Sample;
use super::statements::{has_own_plans, is_position, key_of};
use crate::document::OTHERS;
use crate::event::{CallKind, Ticks};
use crate::tables::{Plan, PlanRow};

/// What the document of a run says.
#[derive(Default)]
struct Kept {
    side: ProfileSide,
    /// Of samples, what the server's account of them is.
    account: Option<OfAccount>,
    /// Whether every wait was seen: then the profile closes by itself, and the account has nothing more.
    is_exact: bool,
    /// Count, where there is one, and time by class, and by event in it.
    times: BTreeMap<(String, Option<String>), (Option<u64>, Ticks)>,
    statements: HashMap<String, Statement>,
    texts: HashMap<String, String>,
    plans: HashMap<String, Vec<Plan>>,
    /// The statement and the number of the plan whose lines are read.
    plan: (String, u64),
}

/// What its amount is made of.
#[derive(Clone, Copy, Debug, Default)]
struct Statement {
    time: Ticks,
    /// `None` where they were not counted.
    executions: Option<u64>,
    rows: u64,
}

impl Statement {
    fn amount(&self) -> Amount {
        amount(self.time, self.executions, (self.executions.unwrap_or(0), self.rows))
    }
}

/// Compares the profiles that two runs kept.
pub fn compare_kept(before: &Run, after: &Run, top: usize) -> ProfileComparison {
    let mut sides = [before, after].map(Kept::of);
    leave_out_accounts(&mut sides);
    let mut found = ProfileComparison {
        before: sides[0].side.clone(),
        after: sides[1].side.clone(),
        top: top as u64,
        lacks_spread: true,
        source: before.subject.get("source").and_then(serde_json::Value::as_str).map(String::from),
        ..ProfileComparison::default()
    };
    add_times(&mut found, &sides);
    add_statements(&mut found, &sides);
    found.divide_by_lengths();
    // What one run has a row of, the other one may have added up: then it is no new statement, and none that vanished.
    let matters = |finding: &&Finding| finding.severity == Severity::Warning || row::STATEMENTS_ADDED_UP.made(finding);
    let warnings = |run: &Run| run.findings.iter().filter(matters).cloned().collect();
    found.warnings = (warnings(before), warnings(after));
    found
}

/// Takes off what the server's accounts of two profiles of samples have more, as where the samples themselves are
/// compared.
fn leave_out_accounts(sides: &mut [Kept; 2]) {
    match sides.each_ref().map(|side| side.account) {
        [Some(first), Some(second)] if leaves_out_accounts([first, second]) => {}
        _ => return,
    }
    for one in sides.iter_mut().filter(|one| one.account.is_some_and(|account| account.is_known) && !one.is_exact) {
        let missed = one.times.remove(&rest()).map_or(Ticks::ZERO, |(_, total)| total);
        one.side.interval_us -= missed.micros();
    }
}

/// The class that holds what an account has more.
fn rest() -> (String, Option<String>) {
    (Class::UnaccountedBetween.key().into(), None)
}

fn add_times(found: &mut ProfileComparison, sides: &[Kept; 2]) {
    let alone = |amount: Amount| (amount, Sample::default());
    let keys = sorting::set(sides.iter().flat_map(|side| side.times.keys()));
    for key in keys {
        let [first, second] = sides.each_ref().map(|side| {
            // A trace or a log counts none of what it does not have; samples count nothing.
            let none = (side.side.executions.map(|_| 0), Ticks::ZERO);
            let (count, total) = side.times.get(key).copied().unwrap_or(none);
            alone(side.amount(total, count))
        });
        let change = change(key.1.as_ref().unwrap_or(&key.0), first, second);
        match key.1 {
            Some(_) => found.events.push(TimeChange { class: Some(key.0.clone()), ..change }),
            None => found.classes.push(change),
        }
    }
    let [first, second] = sides.each_ref().map(|side| {
        let is_served = |class: &str| !Class::with_key(class).is_some_and(Class::is_idle);
        let served = side.times.iter().filter(|((class, event), _)| event.is_none() && is_served(class));
        let served = served.fold(Ticks::ZERO, |sum, (_, (_, total))| plus(sum, *total));
        alone(side.amount(served, side.side.executions))
    });
    found.response_time = change("", first, second);
    sorting::by(&mut found.classes, by_difference);
    sorting::by(&mut found.events, by_difference);
}

fn add_statements(found: &mut ProfileComparison, sides: &[Kept; 2]) {
    let [before, after] = sides;
    let text = |side: &Kept, id: &str| side.texts.get(id).filter(|text| !text.is_empty()).cloned();
    let mut both: Vec<TimeChange> = Vec::new();
    for (id, second) in &after.statements {
        let Some(first) = before.statements.get(id).filter(|_| !is_position(id)) else { continue };
        let change = change(id, (first.amount(), Sample::default()), (second.amount(), Sample::default()));
        both.push(TimeChange { text: text(after, id).or_else(|| text(before, id)), ..change });
    }
    sorting::by(&mut both, |one, other| by_difference(one, other).then(one.name.cmp(&other.name)));
    let planned = both.iter().map(|one| &one.name).filter(|id| has_own_plans(id));
    found.plans = planned.filter_map(|id| plan_change(id, &before.plans(id), &after.plans(id))).collect();
    found.statements = both;
    let alone = |side: &Kept, other: &Kept| {
        let is_paired = |id: &String| !is_position(id) && other.statements.contains_key(id);
        let alone = side.statements.iter().filter(|(id, _)| !is_paired(id));
        let row = |(id, one): (&String, &Statement)| StatementAlone {
            id: id.clone(),
            text: text(side, id),
            amount: one.amount(),
        };
        let mut rows: Vec<StatementAlone> = alone.map(row).collect();
        sorting::by(&mut rows, by_total);
        rows
    };
    (found.vanished, found.new) = (alone(before, after), alone(after, before));
}

impl Kept {
    fn of(run: &Run) -> Kept {
        let sampling = run.cases_where("table", "sampling").next();
        let mut kept = Kept {
            side: side(run),
            is_exact: sampling.is_some_and(|case| sampled::CHANGES.in_case(case).is_some()),
            ..Kept::default()
        };
        let is_of_whole = |case: &&Case| !case.parameters.contains_key("session");
        for case in run.cases.iter().filter(is_of_whole) {
            kept.add(case);
        }
        let differs = run.findings.iter().any(|finding| sampled::findings::DB_TIME_DIFFERS.made(finding));
        kept.account = sampling.map(|case| OfAccount {
            is_known: sampled::DB_TIME_OF_SERVER.in_case(case).is_some(),
            has_no_sample: sampled::DB_TIME.median(case).is_some_and(|time| time <= 0.0) && !kept.is_exact,
            is_beyond: differs && kept.times.get(&rest()).is_some_and(|(_, total)| *total > Ticks::ZERO),
        });
        kept
    }

    fn add(&mut self, case: &Case) {
        let text = |name: &str| case.parameter(name).unwrap_or_default();
        let id = || text("id");
        match text("table").as_str() {
            table @ ("class" | "class_event") => {
                let event = (table == "class_event").then(|| text("event"));
                self.times.insert((text("class"), event), (known(case, "calls"), time(case, "total")));
            }
            "statement" if id() != OTHERS => {
                let time = time(case, "response_time") - time(case, "think_time") - time(case, "idle");
                let one = self.statements.entry(key_of(&id()).into()).or_default();
                one.time = plus(one.time, time);
                let both = [one.executions, known(case, "executions")];
                one.executions = both.into_iter().flatten().reduce(u64::saturating_add);
                one.rows = one.rows.saturating_add(count(case, "rows"));
            }
            "statement_text" => drop(self.texts.insert(id(), text("text"))),
            "plan_line" => self.add_plan_line(id(), case),
            _ => {}
        }
    }

    /// The lines of a plan come one behind the other, those of a statement's first plan first.
    fn add_plan_line(&mut self, id: String, case: &Case) {
        let number = |name: &str| case.parameters.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0);
        let plans = self.plans.entry(key_of(&id).into()).or_default();
        let plan = (id, number("plan"));
        if self.plan != plan {
            self.plan = plan;
            let blocks = count(case, "blocks_of_lines");
            plans.push(Plan { plan_hash: number("plan_hash"), blocks, ..Plan::default() });
        }
        let operation = case.parameter("operation").unwrap_or_default();
        let row = PlanRow { level: number("level") as u32, operation: operation.into(), ..PlanRow::default() };
        plans.last_mut().into_iter().for_each(|plan| plan.lines.push(row.clone()));
    }

    fn amount(&self, time: Ticks, count: Option<u64>) -> Amount {
        let divisors = (self.side.executions.unwrap_or(0), self.side.rows.unwrap_or(0));
        amount(time, count, divisors)
    }

    fn plans(&self, id: &str) -> PlansOfSide<'_> {
        let plans: Vec<&Plan> = self.plans.get(id).into_iter().flatten().collect();
        PlansOfSide { hashes: plans.iter().map(|plan| plan.plan_hash).filter(|hash| *hash != 0).collect(), plans }
    }
}

fn side(run: &Run) -> ProfileSide {
    let of =
        |table: &'static str| run.cases_where("table", table).filter(|case| !case.parameters.contains_key("session"));
    let by_client = || {
        of("call").filter(|case| case.parameters.get("recursive").and_then(serde_json::Value::as_bool) == Some(false))
    };
    let is_execution = |case: &&Case| case.parameter("call").as_deref() == Some(CallKind::Exec.name());
    let files = run.subject.get("files").and_then(serde_json::Value::as_array).map_or(0, Vec::len);
    let sampling = of("sampling").next();
    let counts = sampling.is_none();
    let has_rows = by_client().all(|case| case.metric("rows").is_some());
    ProfileSide {
        name: run.id.clone(),
        files: counts.then_some(files as u64),
        interval_us: of("summary").next().map_or(0.0, |case| value(case, "interval")),
        sampled_us: sampling.map(|case| value(case, "sampled")),
        executions: counts.then(|| sum(by_client().filter(is_execution).map(|case| count(case, "calls")))),
        rows: (counts && has_rows).then(|| sum(by_client().map(|case| count(case, "rows")))),
    }
}

fn value(case: &Case, name: &str) -> f64 {
    case.metric(name).map_or(0.0, |metric| metric.median())
}

fn count(case: &Case, name: &str) -> u64 {
    value(case, name) as u64
}

/// A count; `None` where the case has none, which is not zero.
fn known(case: &Case, name: &str) -> Option<u64> {
    case.metric(name).map(|metric| metric.median() as u64)
}

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Greatest time of a case: a document is a text, and may say any number.
const TIME_MAX: i64 = 1 << 60;

/// Microseconds of the document, in ticks.
fn time(case: &Case, name: &str) -> Ticks {
    Ticks(((value(case, name) * Ticks::PER_MICROSECOND as f64) as i64).clamp(-TIME_MAX, TIME_MAX))
}

fn plus(one: Ticks, other: Ticks) -> Ticks {
    Ticks(one.0.saturating_add(other.0))
}

#[cfg(test)]
mod tests {
    use measure::Parameters;
    use measure::run::SCHEMA;
    use measure::schema::profile as schema;
    use measure::wait_class::CLASSES;

    use super::*;
    use crate::compare::statements::UNDECLARED;

    /// A run with these statements: identifier, text, executions and µs.
    fn run(statements: &[(&str, &str, u64, f64)]) -> Run {
        let case = |parameters: &[(&str, &str)], metrics| {
            let parameters: Parameters =
                parameters.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
            Case { metrics, ..Case::new(parameters) }
        };
        let mut cases = Vec::new();
        for (id, text, executions, micros) in statements {
            let metrics = vec![
                schema::RESPONSE_TIME.single("trace", *micros),
                schema::EXECUTIONS.count("trace", *executions),
                schema::ROWS.count("trace", *executions),
            ];
            cases.push(case(&[("table", "statement"), ("id", id)], metrics));
            cases.push(case(&[("table", "statement_text"), ("id", id), ("text", text)], Vec::new()));
        }
        Run { schema: SCHEMA.into(), id: "a".into(), experiment: "profile".into(), cases, ..Run::default() }
    }

    #[test]
    fn a_run_that_added_statements_up_says_so_where_another_one_has_them_alone() {
        let (mut before, after) = (run(&[("1", "select 1", 1, 9.0)]), run(&[("2", "select 2", 1, 9.0)]));
        before.findings = vec![row::STATEMENTS_ADDED_UP.of("2 of 3 statements are added up"), row::TRANSACTIONS.of("")];
        let found = compare_kept(&before, &after, 10);
        let said = |findings: &[Finding]| findings.iter().map(|one| one.id.clone()).collect::<Vec<_>>();
        assert_eq!((found.vanished.len(), found.new.len()), (1, 1));
        assert_eq!(said(&found.warnings.0), ["statements-added-up"]);
        assert!(found.warnings.1.is_empty(), "{:?}", found.warnings);
    }

    #[test]
    fn executions_that_were_not_counted_are_not_compared_as_none() {
        let [mut before, after] = [9.0, 18.0].map(|micros| run(&[("1", "select 1", 3, micros), ("2", "two", 0, 1.0)]));
        before.cases[0].metrics.retain(|metric| metric.name != "executions");
        let found = compare_kept(&before, &after, 10);
        let counts: Vec<_> =
            found.statements.iter().map(|one| (&*one.name, one.before.count, one.after.count)).collect();
        assert_eq!(counts, [("1", None, Some(3)), ("2", Some(0), Some(0))]);
        let document = serde_json::to_value(&found.statements[0]).unwrap();
        assert!(document["before"].get("count").is_none() && document["after"]["count"] == 3, "{document}");
    }

    #[test]
    fn the_account_of_one_kept_profile_alone_is_no_difference_between_two() {
        let profile_of = |is_beyond: bool, account: Option<f64>, changes: Option<u64>| {
            let case = |parameters: &[(&str, &str)], metrics| {
                let parameters: Parameters =
                    parameters.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect();
                Case { metrics, ..Case::new(parameters) }
            };
            let mut sampling = vec![sampled::SAMPLED.single("clock", 6e7), sampled::DB_TIME.single("samples", 1e8)];
            sampling.extend(account.map(|of| sampled::DB_TIME_OF_SERVER.single("server", of)));
            sampling.extend(changes.map(|count| sampled::CHANGES.count("watchpoints", count)));
            let missed = account.map_or(0.0, |of| of - 1e8);
            let found = if is_beyond { sampled::findings::DB_TIME_DIFFERS } else { sampled::findings::DB_TIME_AGREES };
            let total = |micros: f64| vec![schema::TOTAL.single("samples", micros)];
            let cases = vec![
                case(&[("table", "sampling")], sampling),
                case(&[("table", "summary")], vec![schema::INTERVAL.single("samples", 1e8 + missed)]),
                case(&[("table", "class"), ("class", "cpu")], total(1e8)),
                case(&[("table", "class"), ("class", "unaccounted-between")], total(missed)),
            ];
            Run { cases, findings: vec![found.of("")], ..run(&[]) }
        };
        let profile = |account, changes| profile_of(true, account, changes);
        let times = |before: &Run, after: &Run| {
            let found = compare_kept(before, after, 10);
            let response = &found.response_time;
            (response.before.total_us, response.after.total_us, found.before.interval_us)
        };
        let (closed, open) = (profile(Some(1.17e8), None), profile(None, None));
        assert_eq!(times(&closed, &open), (1e8, 1e8, 1e8));
        assert_eq!(times(&closed, &profile(Some(1e8), None)), (1.17e8, 1e8, 1.17e8));
        let within_error = profile_of(false, Some(1.17e8), None);
        assert_eq!(times(&within_error, &profile(Some(1e8), None)), (1e8, 1e8, 1e8));
        // There the rest is none of the account's.
        assert_eq!(times(&profile(Some(1.17e8), Some(9)), &open), (1.17e8, 1e8, 1.17e8));
    }

    #[test]
    fn times_beyond_all_belief_in_a_document_overflow_no_sum() {
        let statements: Vec<(String, f64)> = (0..20).map(|number| (format!("undeclared-{number}"), 1e300)).collect();
        let statements: Vec<(&str, &str, u64, f64)> =
            statements.iter().map(|(id, micros)| (id.as_str(), "", u64::MAX, *micros)).collect();
        let mut first = run(&statements);
        for known in CLASSES {
            let class = [("table", "class"), ("class", known.key)];
            let parameters: Parameters = class.iter().map(|(name, key)| ((*name).into(), (*key).into())).collect();
            let metrics = vec![schema::TOTAL.single("trace", 1e300)];
            first.cases.push(Case { metrics, ..Case::new(parameters) });
        }
        let found = compare_kept(&first, &run(&[("undeclared-1", "", 1, 1.0)]), 10);
        assert!(found.statements[0].before.total_us > 7e16, "{:?}", found.statements);
        assert!(found.response_time.before.total_us > 7e16, "{:?}", found.response_time);
    }

    #[test]
    fn statements_that_have_the_same_number_in_two_traces_are_not_taken_for_one() {
        let before = run(&[
            ("undeclared-1", "", 2, 10.0),
            ("undeclared-3", "", 3, 20.0),
            ("folded-1", "select ?", 5, 7.0),
            ("parse-error-4", "selec", 0, 1.0),
            ("9qf3hs81ntb6d", "select 1", 1, 2.0),
        ]);
        let after = run(&[
            ("undeclared-3", "", 5, 60.0),
            ("other unknown cursors", "", 1, 30.0),
            ("folded-1", "delete ?", 5, 7.0),
            ("parse-error-4", "delet", 0, 1.0),
            ("9qf3hs81ntb6d", "select 1", 1, 5.0),
        ]);
        let found = compare_kept(&before, &after, 10);
        let both: Vec<(&str, f64, f64)> =
            found.statements.iter().map(|one| (&*one.name, one.before.total_us, one.after.total_us)).collect();
        assert_eq!(both, [(UNDECLARED, 30.0, 90.0), ("9qf3hs81ntb6d", 2.0, 5.0)]);
        let texts = |alone: &[StatementAlone]| alone.iter().filter_map(|one| one.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&found.vanished), ["select ?", "selec"]);
        assert_eq!(texts(&found.new), ["delete ?", "delet"]);
    }

    #[test]
    fn a_row_that_several_statements_share_has_no_plan_that_changed() {
        let ids = ["undeclared-1", "other statements", "9qf3hs81ntb6d"];
        let planned = |operation: &str| {
            let plan = |id: &str| {
                let line = [("table", "plan_line"), ("id", id), ("operation", operation)];
                let named = line.iter().map(|(name, text)| ((*name).into(), (*text).into()));
                Case::new(named.collect::<Parameters>())
            };
            let mut run = run(&ids.map(|id| (id, "", 1, 1.0)));
            run.cases.extend(ids.map(plan));
            run
        };
        let found = compare_kept(&planned("FAST DUAL"), &planned("INDEX FULL SCAN I"), 10);
        let changed: Vec<&str> = found.plans.iter().map(|plan| plan.id.as_str()).collect();
        assert_eq!((found.statements.len(), changed), (3, vec!["9qf3hs81ntb6d"]));
    }
}
