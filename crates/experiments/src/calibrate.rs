//! A planner's cost constants, measured on the server that plans: what a block in sequence and at random, a row, an
//! entry of an index, a comparison and a row from a worker cost there, as multiples of a block in sequence; and whether
//! the planner chooses better by them.

mod advice;
mod bench;
mod cases;
mod comparison;
mod concurrency;
mod constants;
mod cost;
mod crossing;
mod crossover;
pub mod estimate;
mod exceptions;
mod findings;
mod judgement;
mod pages;
mod parallel;
mod parameters;
mod processor;
mod remedies;
mod screening;
mod sets;
mod system;
mod tablespaces;
mod told_state;
mod turn;
mod verification;

use std::time::Duration;

use measure::Finding;
use measure::quantity::{counted, three_digits};
use measure::schema::calibrate::findings as row;
use serde_json::json;
use subjects::forecast::QueryUse;
use subjects::postgres::calibration::own_queries::{Listed, OwnQuery, QuerySource, name_to_paste};
use subjects::postgres::calibration::queries::{Query, Unfinished};
use subjects::postgres::calibration::server_caches::ServerCaches;
use subjects::{Environment, SubjectError};

pub use parameters::CalibrateParameters;

use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::{Conditions, Machine, Sensitivity};
use crate::subject_run::{self, Descriptions};
use bench::{Bench, State};
use comparison::{Between, Choice, Comparison, Others};
use constants::Constants;
use findings::Advice;
use sets::ConstantSet;
use told_state::Unseen;

/// Runs the experiment, and leaves nothing on the server. ^C ends it; what was kept is kept.
pub fn run(
    parameters: &CalibrateParameters,
    environment: &Environment,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let texts = parameters.queries_of_files()?;
    let opener = parameters.opener()?;
    let queries = match (&parameters.queries, parameters.run) {
        (None, _) => QueryUse::None,
        (Some(_), false) => QueryUse::Explained,
        (Some(_), true) => QueryUse::Run,
    };
    subject_run::announce_with(queries, std::slice::from_ref(&opener), environment, machine, journal)?;
    if let Some(recorder) = &environment.recorder {
        recorder.remark("constants are set to what is measured");
        recorder.remark("of the queries below, those whose plan a set changes are run, in rounds");
        if queries == QueryUse::Run && parameters.on.in_use().next().is_some() {
            recorder.remark("then each of yours is run, and its plans with some planner methods disabled");
        }
        recorder.bound();
        if parameters.on.in_use().next().is_none() {
            recorder.remark("left out: a private server is restarted with empty caches before each cold sample");
        }
    }
    let outcome = subject_run::run_on(opener, environment, machine, journal, |tables, journal| {
        Descriptions::default().add(tables, journal);
        journal.describe_subject("sql", json!(parameters.sql));
        let recorder = environment.recorder.clone();
        let (constants, is_warm, caches) = (Vec::new(), false, ServerCaches::default());
        measure_all(&mut Bench { parameters, machine, tables, recorder, constants, is_warm, caches }, texts, journal)
    });
    match outcome {
        Err(ExperimentError::Stopped) => Ok(()),
        outcome => outcome,
    }
}

fn measure_all(
    bench: &mut Bench<'_>,
    texts: Option<Vec<OwnQuery>>,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    // Before anything is made, which would be in the server's counters.
    if !bench.tables.is_private() {
        bench.caches = bench.tables.server_caches()?;
    }
    let listed = match bench.parameters.source()? {
        Some(QuerySource::Listed(most)) => {
            // The command line is right: it is the server that has no list to give.
            let listed = bench.tables.listed()?.map_err(SubjectError::Failed)?;
            let user = bench.tables.facts().user.clone();
            journal.find_all([listed_hidden(&listed, &user), listed_lost(&listed)].into_iter().flatten());
            Some(Asked { texts: listed.queries, most: Some(most) })
        }
        _ => None,
    };
    let asked = listed.or(texts.map(|texts| Asked { texts, most: None }));
    describe_server(bench, journal)?;
    let is_standby = bench.tables.is_standby();
    if !is_standby {
        constants::loading(bench, "for the costs", bench.tables.sizes().rows, journal);
        bench.tables.load()?;
        bench.look(journal);
    }
    let conditions = Conditions::now(bench.machine);
    let constants = measure_constants(bench, journal)?;
    bench.look(journal);
    if !bench.tables.is_private() {
        // Before any advice, so that the page of a run that is ended after it still says which set fits.
        constants::keep_cache_size(bench, journal)?;
        told_state::keep(bench, journal)?;
    }
    let sets = constants.sets();
    let absent = || if is_standby { None } else { absent_constants(&sets) };
    journal.find_all(zero_costs(&sets::zero(|name| constants.now(name))).or_else(absent));
    // The user's own queries tell more than ours do, once they are run; a standby takes no tables for ours.
    let takes_ours = !bench.parameters.run && !is_standby;
    // Before the session is set as other users' are, which plan parallel.
    let crossovers = if takes_ours { crossover::measure(bench, &sets, journal)? } else { Vec::new() };
    let outcome = judge_all(bench, (&constants, &sets), (asked.as_ref(), takes_ours), journal);
    // What was measured is said also where ^C ends the queries.
    bench.machine.note("the whole run", &conditions.changed(bench.machine), Sensitivity::Core);
    findings::report(&constants, bench.name(), journal);
    journal.find_all(crossovers);
    // What is advised comes first on the page.
    let is_given = !bench.tables.is_private();
    journal.find_all(is_given.then(|| Unseen::of(bench)).map(|unseen| told_state::finding(&bench.caches, unseen)));
    outcome
}

/// Judges sets by the user's queries where there are any, and by ours where these take part.
fn judge_all(
    bench: &mut Bench<'_>,
    (constants, sets): (&Constants, &[ConstantSet]),
    (asked, takes_ours): (Option<&Asked>, bool),
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    if let Some(asked) = asked {
        let is_cold = bench.tables.is_on_copy();
        let candidates = match (bench.parameters.run, bench.tables.is_rehearsal()) {
            (false, _) => sets.to_vec(),
            // A rehearsal, which knows no plan, would take each of the many that are tried for a plan of its own.
            (true, true) => constants.with_known(sets, is_cold),
            (true, false) => constants.candidates(sets, is_cold),
        };
        judge_own(bench, asked, &candidates, journal)?;
    }
    if takes_ours {
        verify(bench, sets, journal)?;
    }
    Ok(())
}

/// All constants, and on a given server those of its tablespaces; on a standby its own, because nothing can be measured
/// there.
fn measure_constants(bench: &mut Bench<'_>, journal: &mut dyn Journal) -> Result<Constants, ExperimentError> {
    let constants = match bench.tables.is_standby() {
        true => constants::of_settings(bench, journal)?,
        false => constants::measure(bench, journal)?,
    };
    if !bench.tables.is_private() || bench.tables.is_on_copy() {
        tablespaces::measure(bench, &constants, journal)?;
    }
    Ok(constants)
}

/// What a server with the user's tables has set, by which advice is written and undone. It is asked for before the
/// queries are run: a run that is ended there still has it.
fn describe_server(bench: &mut Bench<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    if bench.tables.is_private() && !bench.tables.is_on_copy() {
        return Ok(());
    }
    let database = bench.tables.facts().database.clone();
    journal.describe_subject("database", json!(database));
    let former = bench.tables.former_settings()?;
    journal.describe_subject("database_settings", json!(former.of_database));
    journal.describe_subject("role_settings", json!(former.of_roles));
    journal.describe_subject("server_settings", json!(former.of_server));
    Ok(())
}

/// The finding where no set was measured, but for the usual advice.
fn absent_constants(sets: &[ConstantSet]) -> Option<Finding> {
    let message = "No block has a cost above the noise of this machine, so that no set of measured constants can be \
                   given. Repeat the run when the machine is quiet, or with a larger --payload.";
    (sets.len() == 1).then(|| row::ABSENT_CONSTANTS.of(message))
}

/// The finding about constants that the server has at 0 and others are multiples of.
fn zero_costs(names: &[&str]) -> Option<Finding> {
    let (is, it) = if names.len() == 1 { ("is", "it") } else { ("are", "them") };
    let message = format!(
        "{} {is} 0 on this server, so that other costs have no ratio to {it}: sets of constants that need one are left \
         out. Give {it} a value above 0 and repeat the run.",
        names.join(" and ")
    );
    (!names.is_empty()).then(|| row::ZERO_COSTS.of(message))
}

/// The queries that are asked about.
struct Asked {
    texts: Vec<OwnQuery>,
    /// How many of them are taken, where they are the server's list: of those that read a table.
    most: Option<usize>,
}

/// The user's queries as the server takes them, and those that it refuses with the reason.
struct OwnQueries {
    queries: Vec<Query>,
    refused: Vec<(String, Unfinished)>,
}

/// Prepares them in the session that explains and runs them.
fn prepare(bench: &mut Bench<'_>, asked: &Asked, journal: &mut dyn Journal) -> Result<OwnQueries, ExperimentError> {
    let most = asked.most.unwrap_or(usize::MAX);
    let queries = counted(asked.texts.len().min(most) as u64, "query", "queries");
    journal.step(&format!("preparing {queries}"), Duration::from_secs(1));
    bench.tables.plan_as_users_do()?;
    let volatile = bench.tables.volatile_functions()?;
    let mut own = OwnQueries { queries: Vec::new(), refused: Vec::new() };
    let (mut without_tables, mut repeated) = (0, 0);
    let mut left_out: Vec<&String> = Vec::new();
    for (number, OwnQuery { name, text }) in asked.texts.iter().enumerate() {
        if own.queries.len() + own.refused.len() - repeated == most {
            break;
        }
        if left_out.contains(&text) {
            without_tables += 1;
            continue;
        }
        if let Some(why) = repeats(text, &asked.texts[..number]) {
            own.refused.push((name.clone(), why));
            repeated += 1;
            continue;
        }
        match bench.tables.prepare_own(number, (name, text), &volatile)? {
            Ok(query) if asked.most.is_some() && !query.has_tables => {
                without_tables += 1;
                left_out.push(text);
            }
            Ok(query) => own.queries.push(query),
            Err(why) => own.refused.push((name.clone(), why)),
        }
    }
    journal.find_all(listed_without_tables(without_tables));
    Ok(own)
}

/// Why a query is not compared whose text one of those before it has: it would count twice.
fn repeats(text: &str, before: &[OwnQuery]) -> Option<Unfinished> {
    let first = before.iter().find(|one| one.text == text)?;
    Some(Unfinished::Repeated(format!("it has the same text as `{}`, and both count as one query", first.name)))
}

/// What was left out of the server's list.
fn listed_without_tables(count: u64) -> Option<Finding> {
    let message = format!(
        "{} of pg_stat_statements {} no table but the server's catalogs, as this program's own statements do, and {} \
         left out.",
        counted(count, "query", "queries"),
        if count == 1 { "reads" } else { "read" },
        if count == 1 { "is" } else { "are" }
    );
    (count > 0).then(|| row::LISTED_WITHOUT_TABLES.of(message))
}

/// What the role may not see of the server's list.
fn listed_hidden(Listed { hidden, hidden_percent, .. }: &Listed, user: &str) -> Option<Finding> {
    let (belongs, texts, they_are) =
        if *hidden == 1 { ("belongs", "its text", "it is") } else { ("belong", "their texts", "they are") };
    let message = format!(
        "{} of pg_stat_statements, with {} % of the time of this database's, {belongs} to other roles, and {user} may \
         not see {texts}: {they_are} not compared. GRANT pg_read_all_stats TO {} shows {texts}.",
        counted(*hidden, "statement", "statements"),
        three_digits(*hidden_percent),
        name_to_paste(user)
    );
    (*hidden > 0).then(|| row::LISTED_HIDDEN.of(message))
}

/// What the server has lost of its list.
fn listed_lost(Listed { lost, lost_percent, .. }: &Listed) -> Option<Finding> {
    let (has, texts, they_are) = if *lost == 1 { ("has", "text", "it is") } else { ("have", "texts", "they are") };
    let message = format!(
        "{} of pg_stat_statements, with {} % of the time of this database's, {has} no {texts}, because the server \
         could not write or cannot read its file of texts: {they_are} not compared. The function \
         pg_stat_statements_reset empties the list, and statements that run afterwards have texts.",
        counted(*lost, "statement", "statements"),
        three_digits(*lost_percent)
    );
    (*lost > 0).then(|| row::LISTED_LOST.of(message))
}

/// The name of the state whose set is preferred for queries in this state.
fn preferred(bench: &Bench<'_>, state: State) -> &'static str {
    let state = match state {
        State::AsFound => told_state::of(&bench.caches).unwrap_or(State::Cached),
        State::OwnCold => State::Cold,
        state => state,
    };
    state.name()
}

/// Compares the user's queries, times them where that is wanted, and advises.
fn judge_own(
    bench: &mut Bench<'_>,
    asked: &Asked,
    sets: &[ConstantSet],
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let own = prepare(bench, asked, journal)?;
    let state = if bench.tables.is_on_copy() { State::OwnCold } else { State::AsFound };
    let mut comparison = comparison::plan(bench, state, own.queries, sets, journal)?;
    comparison.refused.extend(own.refused);
    if !bench.parameters.run {
        let advice = advise(bench, &mut comparison, journal);
        return cases::keep(bench, &comparison, &advice, journal);
    }
    let (advice, outcome) = time(bench, &mut comparison, journal);
    outcome?;
    journal.find_all(told_state::timed_cached(&bench.caches, &comparison, advice.decision));
    journal.find_all(findings::one_state(state, advice.decision, &comparison.sets[advice.set]));
    journal.find_all(absent_remedies(state));
    if state.is_cold() {
        return Ok(());
    }
    let refused = remedies::look(bench, &comparison, journal)?;
    Ok(journal.keep_all(cases::refused(bench, state, &refused))?)
}

/// The finding that no plan beyond those of the sets was tried where each run takes a restart.
fn absent_remedies(state: State) -> Option<Finding> {
    let message = "Whether one of your queries has a faster plan that no constants lead to was not tried, because each \
                   cold run takes a restart of the server. Use --queries with --run on a running server for that.";
    state.is_cold().then(|| row::ABSENT_REMEDIES.of(message))
}

/// Times queries, advises, and keeps what they say: where the run is ended meanwhile, what was timed before.
fn time(
    bench: &mut Bench<'_>,
    comparison: &mut Comparison,
    journal: &mut dyn Journal,
) -> (Advice, Result<(), ExperimentError>) {
    let preferred = preferred(bench, comparison.state);
    let contenders = |comparison: &Comparison| findings::contenders(&comparison.sets, &comparison.judged, preferred);
    let rivals = |comparison: &Comparison| findings::rivals(&comparison.sets, &comparison.judged, preferred);
    let between = Between { contenders: &contenders, rivals: &rivals };
    let choice = Choice { screen: screening::screen, between };
    let outcome = comparison::time(bench, comparison, choice, journal);
    let advice = advise(bench, comparison, journal);
    let outcome = cases::keep(bench, comparison, &advice, journal).and(outcome);
    if outcome.is_ok() {
        bench.look(journal);
    }
    (advice, outcome)
}

/// Compares our own queries in all states, times them and advises. A run that is ended early says all the same where
/// the set that it advises in one state harms in another, as far as it came: what it advises comes first on the page.
fn verify(bench: &mut Bench<'_>, sets: &[ConstantSet], journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let (mut tried, told) = (Vec::new(), told_state::of(&bench.caches));
    let states = verification::states(bench, told);
    let outcome = try_states(bench, sets, &states, &mut tried, journal);
    let (mut comparisons, advices): (Vec<Comparison>, Vec<Advice>) = tried.into_iter().unzip();
    let is_whole = outcome.is_ok() && !bench.tables.has_hidden();
    let is_safe = is_whole && verification::call_safe(&mut comparisons, told);
    let untimed = verification::untimed(states, &comparisons);
    let said = comparisons.iter().zip(&advices);
    let said = said.map(|(comparison, advice)| {
        let said = findings::advice(comparison, advice, bench.name());
        findings::with_harm(said, (comparison, advice), &comparisons, &untimed)
    });
    let said = said.collect();
    journal.revise(
        &mut |case| {
            if is_safe {
                cases::call_safe(case)
            }
        },
        said,
    )?;
    outcome
}

/// Times our own queries in one state after the other. What a state says is kept before the next one begins, so that a
/// run that is stopped or killed keeps it.
fn try_states(
    bench: &mut Bench<'_>,
    sets: &[ConstantSet],
    states: &[State],
    tried: &mut Vec<(Comparison, Advice)>,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    for state in states.iter().copied() {
        let queries = verification::queries(bench, state);
        let mut comparison = comparison::plan(bench, state, queries, sets, journal)?;
        let (advice, outcome) = time(bench, &mut comparison, journal);
        tried.push((comparison, advice));
        outcome?;
    }
    Ok(())
}

/// What the times advise, unless something else withholds the verdict.
fn advise(bench: &mut Bench<'_>, comparison: &mut Comparison, journal: &mut dyn Journal) -> Advice {
    comparison.judge();
    let preferred = preferred(bench, comparison.state);
    let advice = Advice::of(&comparison.sets, &comparison.judged, preferred);
    // The sets that are left out had their part in the choice.
    let set = screening::leave_best(comparison, advice.set);
    let advice = Advice { set, ..advice }.withheld(withheld(bench, comparison).map(String::from));
    if advice.withheld.is_some() {
        comparison.judge_without_exceptions();
    }
    journal.find(findings::advice(comparison, &advice, bench.name()));
    journal.find_all(findings::notes(comparison, &advice));
    advice
}

/// Why plans that were compared and not timed give no verdict, and what times them where something does.
fn compared_alone(comparison: &Comparison) -> &'static str {
    let mut changed = comparison.compared.iter().filter(|one| one.reached.len() > 1).peekable();
    if changed.peek().is_none() {
        return "plans were compared and nothing was run";
    }
    match changed.all(|one| one.not_timed.is_some()) {
        true => "plans were compared and nothing was run; the queries whose plan some set changes cannot be run",
        false => "plans were compared and nothing was run; repeat the run with --run, which times them",
    }
}

/// Why the times give no verdict.
fn withheld(bench: &Bench<'_>, comparison: &Comparison) -> Option<&'static str> {
    let is_own = comparison.state.is_own();
    match told_state::of(&bench.caches) {
        _ if comparison.others == Others::Busy => Some(
            "other sessions were at work in a fifth or more of the checks between queries; repeat the run when the \
             server is quiet",
        ),
        // Of the tables of the run, which the user's queries do not read: their times decide about any set.
        _ if bench.tables.has_hidden() && !is_own => Some(
            "rows could not be marked all-visible, so every index-only scan also reads the table; repeat the run \
                 later",
        ),
        _ if !comparison.is_timed && (bench.parameters.run || !is_own) => {
            Some("the run was ended before all plans were timed")
        }
        _ if !comparison.is_timed => Some(compared_alone(comparison)),
        Some(State::Cold) if !is_own => Some(
            "its queries read from the disk, for which a given server has no set, and which the verification does not \
             do there; --queries with --run tries your own as they are",
        ),
        _ => None,
    }
}
