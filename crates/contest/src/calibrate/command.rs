//! The contest from its arguments to its bars: data sets, the advice of several runs of `readpath calibrate`, and every
//! plan of every query timed.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::Args;
use measure::Run;
use measure::quantity::counted;
use measure::schema::contest::ELAPSED;
use measure::statistics::median;

use super::bars;
use super::data::Data;
use super::plans::{self, Caches, LIMIT_OF_PICKED};
use super::sets::{self, ADVISED, ALONE, Advised, BEFORE, MEASURED, OWN, Set, USUAL};
use crate::conductor::Conductor;
use crate::installed;
use crate::kept_run::run_of;
use crate::options::{Options, ServerOptions};
use crate::private_postgres::PrivatePostgres;
use crate::program::{argv, output_of};
use crate::progress::progress;

/// Holds the constants that calibrate advises against other sets, on generated data and queries.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    server: ServerOptions,
    /// The data sets; all by default.
    #[arg(long, value_enum)]
    data: Vec<Data>,
    /// MiB of a data set with its indexes: 1024 and 4096 make a result.
    #[arg(long, default_value_t = 1024)]
    mebibytes: u64,
    /// MiB of the server's shared buffers; a quarter of the data by default.
    #[arg(long)]
    buffers: Option<u64>,
    /// How often each plan is timed warm, after once that is not counted.
    #[arg(long, default_value_t = 3)]
    runs: u64,
    /// Time plans with all caches emptied too, by what calibrate advises where it empties them before each run.
    #[arg(long)]
    cold: bool,
    /// Time plans with all caches emptied, and none warm.
    #[arg(long, conflicts_with = "cold")]
    only_cold: bool,
    /// An earlier version's readpath, whose recommendation is timed too.
    #[arg(long)]
    before: Option<String>,
    /// More words for calibrate, such as --payload=4MiB.
    #[arg(long, allow_hyphen_values = true)]
    calibrate: Vec<String>,
}

/// What runs of calibrate said in a state.
struct Advice {
    /// One set a run, and the queries that are exceptions from it.
    advised: Vec<Advised>,
    /// One set a run without the user's queries; none for cold plans.
    alone: Vec<Set>,
    /// Of the last run.
    measured: Set,
    before: Option<Set>,
}

/// Holds the contest and gives the exit code. An error is a sentence: nothing could be compared.
pub(crate) fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<u8, String> {
    let Arguments { options, server, mebibytes, .. } = arguments;
    let installation = server.installation(&AtomicBool::new(false))?;
    let what = format!(
        "The constants that readpath advises, the server's own, random_page_cost 1.1 and all measured ones, on {} and \
         data sets of {mebibytes} MiB.",
        installed::name(&installation)
    );
    let mut conductor = Conductor::begin("calibrate", options.pairs, what)?;
    conductor.describe("readpath", options.build_readpath()?);
    if let Some(before) = &arguments.before {
        conductor.describe("before", output_of(&argv([before.as_str(), "--version"]))?.trim());
    }
    conductor.describe("mebibytes", *mebibytes);
    conductor.describe("postgres", installed::name(&installation));
    let buffers = arguments.buffers.unwrap_or(mebibytes / 4).max(16) << 20;
    let folder = tempfile::Builder::new().prefix("readpath-calibrate-").tempdir_in(server.directory());
    let folder = folder.map_err(|error| format!("no folder for the queries: {error}"))?;
    let mut postgres =
        PrivatePostgres::start_as_users_do(&installation, &server.directory(), buffers, &conductor.interruption)?;
    let mut questions = Vec::new();
    for data in if arguments.data.is_empty() { Data::ALL.to_vec() } else { arguments.data.clone() } {
        let bytes = data.load(&mut postgres.connect()?, *mebibytes)?;
        conductor.describe(&format!("bytes_{}", data.name()), bytes);
        let file = folder.path().join(format!("{}.sql", data.name()));
        fs::write(&file, data.queries_file()).map_err(|error| format!("the queries cannot be written: {error}"))?;
        if !arguments.only_cold {
            let words = words(postgres.url(), &file);
            let advice = ask(arguments, &mut conductor, &words, ("as-found", "cached"), data.name())?;
            let runs = Caches::Warm { runs: arguments.runs };
            questions.push(compare(&mut conductor, &mut postgres, data, (&advice, runs, "warm"))?);
        }
        if arguments.cold || arguments.only_cold {
            let programs = installation.programs();
            let advice = postgres.as_copy(programs, buffers, |copy| {
                let words = words(copy.into(), &file);
                ask(arguments, &mut conductor, &words, ("own-cold", "cold"), &format!("{}, cold", data.name()))
            })?;
            questions.push(compare(&mut conductor, &mut postgres, data, (&advice, Caches::Cold, "cold"))?);
        }
    }
    conductor.judge_by(|ledger| bars::all(ledger, &questions));
    conductor.conclude(options, out)
}

/// The words for a server with the queries of a file. The names of folders in both may hold blanks.
fn words(server: String, queries: &Path) -> Vec<String> {
    argv(["--on".into(), server, "--queries".into(), queries.display().to_string(), "--run".into()])
}

/// Runs calibrate as often as there are pairs; what it advises for queries in a state, and the set of a state of
/// blocks.
fn ask(
    arguments: &Arguments,
    conductor: &mut Conductor,
    words: &[String],
    (state, blocks): (&str, &str),
    question: &str,
) -> Result<Advice, String> {
    let runs = runs(arguments, conductor, words, (question, ADVISED))?;
    let advised: Vec<Advised> =
        runs.iter().map(|run| (sets::advised(run, state), sets::exceptions(&run.cases, state))).collect();
    for (number, (set, exceptions)) in advised.iter().enumerate() {
        conductor.note("advised", advised_by(question, number, set, exceptions));
    }
    conductor.judge(bars::agreement(question, &advised));
    let before = match &arguments.before {
        None => None,
        Some(before) => {
            let run = run_of(&calibrate(before, &words_before(words), &[]))?;
            Some(sets::recommended_before(&run, if state == "own-cold" { "cold" } else { "cached" }))
        }
    };
    let all_sets: Vec<Set> = runs.iter().map(|run| sets::named(run, state, blocks)).collect();
    let measured = all_sets.last().cloned().ok_or("calibrate was not run")?;
    conductor.note("measured", all_measured(question, &measured));
    conductor.note("measured-again", measured_again(question, &all_sets));
    // Cold, readpath's own queries would need a server of their own.
    let alone = if state == "as-found" { without_queries(arguments, conductor, words, question)? } else { Vec::new() };
    Ok(Advice { measured, advised, alone, before })
}

/// Runs calibrate with these words as often as there are pairs.
fn runs(
    arguments: &Arguments,
    conductor: &mut Conductor,
    words: &[String],
    (question, contender): (&str, &str),
) -> Result<Vec<Run>, String> {
    let mut runs = Vec::new();
    for number in 0..arguments.options.pairs {
        progress(&format!("{contender} on {question}: run {} of {}", number + 1, arguments.options.pairs));
        conductor.interruption.check()?;
        let started = Instant::now();
        // Without the user's queries, calibrate refuses their limit.
        let is_taken = |word: &&String| contender != ALONE || !word.starts_with("--time-limit=");
        let more: Vec<String> = arguments.calibrate.iter().filter(is_taken).cloned().collect();
        runs.push(run_of(&calibrate(&arguments.options.readpath(), words, &more))?);
        conductor.ledger.add(question, contender, &ELAPSED, started.elapsed().as_secs_f64());
    }
    Ok(runs)
}

/// The command of a run of calibrate.
fn calibrate(readpath: &str, words: &[String], more: &[String]) -> Vec<String> {
    let mut command = argv([readpath, "calibrate", "--format", "json", "--no-store", "--quiet"]);
    command.extend(words.iter().chain(more).cloned());
    command
}

/// What each run of calibrate without queries of the user's advises.
fn without_queries(
    arguments: &Arguments,
    conductor: &mut Conductor,
    words: &[String],
    question: &str,
) -> Result<Vec<Set>, String> {
    let runs = runs(arguments, conductor, words_without_queries(words), (question, ALONE))?;
    let advised: Vec<Set> = runs.iter().map(sets::advised_alone).collect();
    for (number, set) in advised.iter().enumerate() {
        let what = format!("{question}, without its queries,");
        conductor.note("advised-without-queries", advised_by(&what, number, set, &[]));
    }
    conductor.judge_by(|ledger| bars::without_queries(ledger, question, &advised));
    Ok(advised)
}

/// The words up to the queries.
fn words_without_queries(words: &[String]) -> &[String] {
    words.split(|word| word == "--queries").next().unwrap_or(words)
}

/// The words for an earlier version, which knew no queries of the user's, and no copy of a data directory but a private
/// server with the same programs.
fn words_before(words: &[String]) -> Vec<String> {
    let server = words_without_queries(words);
    let copy = server.iter().find(|word| word.starts_with("postgres:copy:"));
    match copy.and_then(|copy| copy.split_once("programs=")) {
        Some((_, programs)) => argv(["--on".into(), format!("postgres:{programs}")]),
        None => server.into(),
    }
}

/// What a run, counted from 0, advises.
pub(crate) fn advised_by(question: &str, number: usize, set: &Set, exceptions: &[String]) -> String {
    let statement = sets::statement(set);
    let text = if set.is_empty() { "the server's own" } else { statement.trim_end_matches([';', ' ']) };
    let but = if exceptions.is_empty() { String::new() } else { format!(", but not for: {}", exceptions.join("; ")) };
    format!("On {question} run {} advises {text}{but}.", number + 1)
}

/// What the last run of calibrate measured.
pub(crate) fn all_measured(question: &str, set: &Set) -> String {
    if set.is_empty() {
        return format!("On {question} no constants repeated themselves: all measured are the server's own.");
    }
    format!("On {question} all measured are {}.", sets::statement(set).trim_end_matches([';', ' ']))
}

/// How far what was measured differs from run to run.
pub(crate) fn measured_again(question: &str, sets: &[Set]) -> String {
    let spread = sets::spread(sets);
    if spread.is_empty() {
        return format!("On {question} no constant was measured in each of several runs.");
    }
    let each: Vec<String> = spread.iter().map(|(name, times)| format!("{name} {times:.2}")).collect();
    format!("On {question} the largest measured value divided by the smallest, over all runs: {}.", each.join(", "))
}

/// How many plans were timed.
pub(crate) fn plans_timed(question: &str, plans: u64) -> String {
    let were = if plans == 1 { "was" } else { "were" };
    format!("{question}: {} {were} timed.", counted(plans, "plan", "plans"))
}

/// That times of contenders are the limit at which their plans were ended.
pub(crate) fn plans_ended(question: &str, timed: &[plans::Timed]) -> Option<String> {
    let ended = timed.iter().flat_map(|one| &one.by).filter(|millis| **millis >= LIMIT_OF_PICKED).count();
    let (of, seconds) = (counted(ended as u64, "plan", "plans"), LIMIT_OF_PICKED / 1e3);
    let sentence = || format!("{question}: {of} of contenders took longer than {seconds} s, which is the time given.");
    (ended > 0).then(sentence)
}

/// How far the turns of a plan differ, of short plans and of long ones.
pub(crate) fn turns_differ(question: &str, timed: &[plans::Timed]) -> String {
    let each: Vec<(f64, f64)> = timed.iter().flat_map(|one| &one.turns).filter_map(|turns| spread(turns)).collect();
    let of = |what: &str, is_wanted: fn(f64) -> bool| {
        let times: Vec<f64> = each.iter().filter(|(millis, _)| is_wanted(*millis)).map(|(_, times)| *times).collect();
        let middle = median(&times)?;
        Some(format!("{middle:.2} for {} {what}", counted(times.len() as u64, "plan", "plans")))
    };
    let short = of("of at most 1 s", |millis| millis <= 1e3);
    let long = of("of more", |millis| millis > 1e3);
    let found: Vec<String> = [short, long].into_iter().flatten().collect();
    if found.is_empty() {
        return format!("{question}: no plan was timed in several turns.");
    }
    let what = "over up to four turns, the longest time of a plan divided by the shortest, as a median";
    format!("{question}: {what}: {}.", found.join(", "))
}

/// The median of the turns of a plan, and the longest of the first four over the shortest: as many for each plan.
fn spread(turns: &[f64]) -> Option<(f64, f64)> {
    let first = turns.get(..turns.len().min(4)).filter(|first| first.len() > 1)?;
    let least = first.iter().copied().fold(f64::INFINITY, f64::min);
    let most = first.iter().copied().fold(0.0, f64::max);
    Some((median(turns)?, most / least)).filter(|(_, times)| times.is_finite())
}

/// Times every plan of every query, and notes how each contender does; the question's name.
fn compare(
    conductor: &mut Conductor,
    postgres: &mut PrivatePostgres,
    data: Data,
    (advice, caches, state): (&Advice, Caches, &str),
) -> Result<String, String> {
    let question = format!("{}, {state}", data.name());
    let usual = vec![("seq_page_cost".to_string(), 1.0), ("random_page_cost".into(), 1.1)];
    let mut contenders = vec![(OWN, Set::new()), (USUAL, usual), (MEASURED, advice.measured.clone())];
    contenders.extend(advice.before.iter().map(|set| (BEFORE, set.clone())));
    // One contender for each run of calibrate that advises something of its own.
    let others = contenders.len();
    contenders.extend(advice.advised.iter().map(|(set, _)| (ADVISED, set.clone())));
    let alone = contenders.len();
    contenders.extend(advice.alone.iter().map(|set| (ALONE, set.clone())));
    let grid = sets::grid();
    let mut timed = Vec::new();
    for query in data.queries() {
        conductor.interruption.check()?;
        progress(&format!("{question}: {}", query.name));
        let mut one = plans::time(postgres, &query, &contenders, &grid, caches)?;
        for (run, (_, exceptions)) in advice.advised.iter().enumerate() {
            if exceptions.contains(&query.name) {
                one.by[others + run] = one.by[0];
            }
        }
        bars::keep(&mut conductor.ledger, &format!("{question}: {}", query.name), &contenders, &one);
        timed.push(one);
    }
    conductor.note("plans", plans_timed(&question, timed.iter().map(|one| one.plans as u64).sum()));
    if let Some(ended) = plans_ended(&question, &timed) {
        conductor.note("plans", ended);
    }
    conductor.note("turns", turns_differ(&question, &timed));
    // Beside each run's advice, the contenders that have none of their own.
    let beside = (others..alone).flat_map(|run| (0..others).chain([run]));
    for at in beside.chain(alone..contenders.len()) {
        bars::note(&mut conductor.ledger, &question, (at, contenders[at].0), &timed);
    }
    bars::note_hindsight(&mut conductor.ledger, &question, &timed);
    Ok(question)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_in_the_name_of_a_folder_parts_no_words() {
        let copy = "postgres:copy:/a b/data?programs=/c d/bin";
        let words = words(copy.into(), Path::new("/a b/shop.sql"));
        let command = calibrate("readpath", &words, &argv(["--repeat=2"]));
        let all = argv(["--on", copy, "--queries", "/a b/shop.sql", "--run", "--repeat=2"]);
        assert!(command.ends_with(&all), "{command:?}");
        assert_eq!(words_without_queries(&words), argv(["--on", copy]));
        assert_eq!(words_before(&words), argv(["--on", "postgres:/c d/bin"]));
        let running = argv(["--on", "postgresql://a@%2Fb%20c/d"]);
        assert_eq!(words_before(&running), running);
    }
}
