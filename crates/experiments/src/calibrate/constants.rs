//! All constants: costs measured in several passes, in the unit of the server's other costs, for each state of the
//! caches.

use measure::quantity::{counted, rounded_size, size_in_words, whole_mebibytes};
use measure::schema::calibrate;
use measure::schema::calibrate::findings as row;
use measure::schema::calibrate::parameters::{CONSTANT, STATE};
use measure::sorting;
use measure::statistics::median;
use measure::words::Word;
use measure::{Case, Finding};
use serde_json::Value;
use subjects::postgres::calibration::LOAD_TIME_A_ROW;
use subjects::postgres::calibration::verification_set::VerificationRows;

use super::bench::{Bench, State};
use super::concurrency::{self, Sweep};
use super::cost::Cost;
use super::pages::{self, PageRead};
use super::sets::{self, ConstantSet, INDEX_TUPLE, OPERATOR, Passes, RANDOM_PAGE, SCALE, SEQ_PAGE, Settled};
use super::{parallel, processor, system};
use crate::error::ExperimentError;
use crate::journal::Journal;

/// What the planner takes for the memory of the server and its operating system.
pub(super) const CACHE_SIZE: &str = "effective_cache_size";

/// An entry of an index is withheld where it takes less than this part of the time that it is the rest of: by the same
/// subtraction, it took from 19 % less than nothing to 9 % of that time in 32 runs, in two of which its passes agreed.
///
/// Source: docs/decisions/0030.
const REST_MIN: f64 = 0.2;

/// A cost in all passes. Blocks have one for each state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) name: &'static str,
    pub(super) state: Option<State>,
    pub(super) passes: Passes,
    pub(super) now: f64,
    pub(super) settled: Option<Settled>,
    pub(super) source: String,
}

/// Everything that was measured.
#[derive(Debug, Default)]
pub(super) struct Constants {
    pub(super) all: Vec<Measured>,
    pub(super) sweeps: Vec<Sweep>,
}

impl Constants {
    /// A constant, for a block in a state.
    pub(super) fn of(&self, name: &str, state: State) -> Option<&Measured> {
        self.all.iter().find(|one| one.name == name && one.state.is_none_or(|other| other == state))
    }

    /// The server's own value.
    pub(super) fn now(&self, name: &str) -> f64 {
        self.all.iter().find(|one| one.name == name).map_or(1.0, |one| one.now)
    }

    /// The sets that can be compared with the server's own: of each state that was measured, the one between them, and
    /// what is advised everywhere.
    pub(super) fn sets(&self) -> Vec<ConstantSet> {
        let of_state = |state: State| {
            let settled = |name| self.of(name, state).and_then(|one| one.settled);
            sets::of_measured(state.name(), settled, |name| self.now(name))
        };
        let states: Vec<ConstantSet> = State::OF_BLOCKS.into_iter().filter_map(of_state).collect();
        let between = sets::between(sets::BETWEEN, &states);
        states.into_iter().chain(between).chain([sets::usual_advice(self.now(SCALE))]).collect()
    }

    /// The same and the known sets for queries that are run: those for blocks in memory, and where nothing is cached,
    /// those for disks too.
    pub(super) fn with_known(&self, sets: &[ConstantSet], is_cold: bool) -> Vec<ConstantSet> {
        let row = self.now(SCALE);
        let mut all = sets.to_vec();
        all.extend(sets::memory_advice(row));
        if is_cold {
            all.extend(sets::disk_advice(row));
        }
        all
    }

    /// The same and what is tried besides: after the measured ones those that are the same in each run, the nearest to
    /// the server's own constants first.
    pub(super) fn candidates(&self, sets: &[ConstantSet], is_cold: bool) -> Vec<ConstantSet> {
        let now = |name| self.now(name);
        let known = self.with_known(sets, is_cold);
        let (measured, mut fixed): (Vec<_>, Vec<_>) = known.into_iter().partition(ConstantSet::is_measured);
        fixed.extend(sets::tried(now, is_cold, &fixed));
        sorting::by(&mut fixed, |one, other| one.distance(now).total_cmp(&other.distance(now)));
        [measured, fixed].concat()
    }

    fn add(&mut self, bench: &mut Bench<'_>, state: Option<State>, cost: Cost) -> Result<(), ExperimentError> {
        let is_it = |one: &&mut Measured| one.name == cost.name && one.state == state;
        match self.all.iter_mut().find(is_it) {
            Some(one) => one.passes.passes.push(cost.micros),
            None => {
                let passes = Passes { passes: vec![cost.micros] };
                let now = bench.tables.setting(cost.name)?;
                self.all.push(Measured { name: cost.name, state, passes, now, settled: None, source: cost.source });
            }
        }
        Ok(())
    }

    /// Leaves out what workers cost, where a pass has no figure for it: the finding says that it was not measured.
    fn leave_out_parallel(&mut self) {
        self.all.retain(|one| !parallel::COSTS.contains(&one.name));
    }

    /// The value of a constant in the sets: a block at random costs there at least what one in sequence does.
    fn given(&self, one: &Measured) -> Option<f64> {
        let of = |one: &Measured| {
            let settled = one.settled.filter(|settled| settled.is_given)?;
            Some(sets::rounded(settled.value.value))
        };
        let value = of(one).filter(|_| sets::CONSTANTS.contains(&one.name))?;
        let page = || of(self.of(SEQ_PAGE, one.state?)?);
        Some(match one.name {
            SCALE => one.now,
            RANDOM_PAGE => page().map_or(value, |page| value.max(page)),
            _ => value,
        })
    }

    fn settle(&mut self) {
        let Some(row) = self.all.iter().find(|one| one.name == SCALE).cloned() else { return };
        // All are multiples of a row's cost: where that cannot be told from nothing, no multiple can.
        let has_scale = row.passes.settled(&row.passes, row.now).is_some_and(|settled| settled.is_given);
        for one in &mut self.all {
            let settled = one.passes.settled(&row.passes, row.now);
            one.settled = settled.map(|settled| Settled { is_given: settled.is_given && has_scale, ..settled });
        }
        self.withhold_small_rest();
    }

    /// Withholds the cost of an entry of an index where it is small: it is what is left of an index-only scan's time
    /// for a row, less a row of a full scan and two operators, and these rows do not take quite the same.
    fn withhold_small_rest(&mut self) {
        let settled = |name: &str| self.all.iter().find(|one| one.name == name)?.settled;
        let value = |name: &str| settled(name).map(|settled| settled.value.value);
        let (Some(entry), Some(row), Some(operator)) = (value(INDEX_TUPLE), value(SCALE), value(OPERATOR)) else {
            return;
        };
        if entry < REST_MIN * (entry + row + 2.0 * operator) {
            let entries = self.all.iter_mut().filter(|one| one.name == INDEX_TUPLE);
            entries.filter_map(|one| one.settled.as_mut()).for_each(|settled| settled.is_given = false);
        }
    }
}

/// Measures them in passes, each with tables of its own but for what only the operating system has cached, and keeps a
/// case for each.
pub(super) fn measure(bench: &mut Bench<'_>, journal: &mut dyn Journal) -> Result<Constants, ExperimentError> {
    let mut constants = Constants::default();
    let mut without_workers = 0;
    for pass in 0..bench.parameters.passes {
        if pass > 0 {
            loading(bench, "again", bench.tables.sizes().rows, journal);
            bench.tables.load_again()?;
        }
        for cost in processor::measure(bench, journal)? {
            let is_page = PageRead::all().any(|read| read.name() == cost.name);
            constants.add(bench, is_page.then_some(State::Cached), cost)?;
        }
        if bench.tables.is_private() {
            for read in PageRead::all() {
                let cached = constants.of(read.name(), State::Cached).and_then(|one| one.passes.passes.last());
                let cold = pages::measure_cold(bench, read, cached.map_or(&[][..], Vec::as_slice), journal)?;
                constants.add(bench, Some(State::Cold), cold)?;
            }
        }
        measure_parallel(bench, &mut constants, &mut without_workers, journal)?;
        bench.look(journal);
    }
    load_verification(bench, journal)?;
    if bench.tables.verification_rows().beyond > 0 {
        measure_system(bench, &mut constants, journal)?;
    }
    constants.settle();
    journal.keep_all(constants.all.iter().map(|one| case(bench, &constants, one)).collect())?;
    withheld(&constants, journal);
    journal.find_all(one_pass(bench.parameters.passes));
    if bench.tables.is_private() {
        constants.sweeps = concurrency::measure(bench, journal)?;
        for sweep in &constants.sweeps {
            keep_concurrency(bench, sweep, journal)?;
        }
    }
    Ok(constants)
}

/// The server's own settings, where nothing can be measured.
pub(super) fn of_settings(bench: &mut Bench<'_>, journal: &mut dyn Journal) -> Result<Constants, ExperimentError> {
    let mut constants = Constants::default();
    for name in sets::CONSTANTS {
        let now = bench.tables.setting(name)?;
        let (passes, source) = (Passes::default(), String::new());
        constants.all.push(Measured { name, state: None, passes, now, settled: None, source });
    }
    journal.keep_all(constants.all.iter().map(|one| case(bench, &constants, one)).collect())?;
    Ok(constants)
}

/// Says what is loaded.
pub(super) fn loading(bench: &Bench<'_>, what: &str, rows: u64, journal: &mut dyn Journal) {
    let expected = LOAD_TIME_A_ROW.saturating_mul(u32::try_from(rows).unwrap_or(u32::MAX));
    let rows = counted(rows, "row", "rows");
    journal.step(&format!("loading {rows} and their indexes {what} on {}", bench.name()), expected);
}

fn load_verification(bench: &mut Bench<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let rows = bench.tables.verification_rows();
    loading(bench, "for the verification", rows.within + rows.beyond, journal);
    bench.tables.load_verification()?;
    let (buffers, enough) = (bench.tables.facts().buffer_bytes, bench.tables.payload_beyond());
    journal.find_all(absent_beyond(rows, buffers, enough));
    Ok(())
}

/// The finding where no table is larger than the shared buffers; one of `table` bytes is from `payload` on.
pub(super) fn absent_beyond(rows: VerificationRows, buffers: u64, (payload, table): (u64, u64)) -> Option<Finding> {
    let message = format!(
        "The cost of a block that only the operating system has cached was not measured, no set is for that state, and \
         no query of the verification reads past the buffers: that takes a table larger than the server's shared \
         buffers of {}, which is not made where it is over ten times the payload. --payload {} makes it, of {} \
         without its indexes.",
        size_in_words(buffers),
        rounded_size(payload),
        whole_mebibytes(table)
    );
    (rows.beyond == 0).then(|| row::ABSENT_BEYOND.of(message))
}

fn measure_system(
    bench: &mut Bench<'_>,
    constants: &mut Constants,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let cached = |name| constants.of(name, State::Cached).and_then(|one| median(&one.passes.samples())).unwrap_or(0.0);
    let cached = [cached(SEQ_PAGE), cached(RANDOM_PAGE)];
    for pass in 0..bench.parameters.passes {
        for cost in system::measure(bench, pass, cached, journal)? {
            constants.add(bench, Some(State::System), cost)?;
        }
    }
    Ok(())
}

/// What workers cost, which no set changes: it is shown beside the server's values, unless a pass has none.
fn measure_parallel(
    bench: &mut Bench<'_>,
    constants: &mut Constants,
    without_workers: &mut usize,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    match parallel::measure(bench, journal)? {
        Ok(_) if *without_workers > 0 => Ok(()),
        Ok(costs) => costs.into_iter().try_for_each(|cost| constants.add(bench, None, cost)),
        Err(reason) => {
            constants.leave_out_parallel();
            journal.find_all(absent_parallel(*without_workers, &reason));
            *without_workers += 1;
            Ok(())
        }
    }
}

/// The finding about costs of workers that a pass could not measure, behind this many others; once in a run.
pub(super) fn absent_parallel(before: usize, reason: &str) -> Option<Finding> {
    let message = format!("parallel_tuple_cost and parallel_setup_cost were not measured, because {reason}.");
    (before == 0).then(|| row::ABSENT_PARALLEL.of(message))
}

fn case(bench: &Bench<'_>, constants: &Constants, one: &Measured) -> Case {
    let state: Option<(String, Value)> = one.state.map(|state| STATE.of(state.name()));
    let mut case = bench.case("constant", [CONSTANT.of(one.name)]);
    case.parameters.extend(state);
    let (source, passes) = (&one.source, one.passes.passes.len());
    case.metrics.push(calibrate::NOW.single("pg_settings of the session", one.now));
    if let Some(Settled { value, spread, .. }) = one.settled {
        let how = format!("median of {passes} passes over that of a row, times the server's {SCALE}; {source}");
        let ends = "bootstrap of the medians of the pass in the middle, 95 %";
        case.metrics.push(calibrate::VALUE.single(&how, value.value));
        if one.passes.have_intervals() {
            case.metrics.push(calibrate::VALUE_LOW.single(ends, value.low));
            case.metrics.push(calibrate::VALUE_HIGH.single(ends, value.high));
        }
        // One pass has no other to differ from.
        if spread.is_finite() && passes > 1 {
            // The table beyond the buffers is too large to be made for each pass.
            let tables = match one.state {
                Some(State::System) => "each with other rows at random of one table",
                _ => "each with tables of its own",
            };
            let source = format!("the largest of {passes} passes divided by the smallest, {tables}");
            case.metrics.push(calibrate::PASSES_SPREAD.single(&source, spread));
        }
        if let Some(given) = constants.given(one) {
            let source = match one.name {
                RANDOM_PAGE => "the measured value at one of ten steps a decade, or seq_page_cost's where that is more",
                _ => "the measured value at one of ten steps a decade",
            };
            case.metrics.push(calibrate::GIVEN.single(source, given));
        }
    }
    case.metrics.extend(calibrate::TIME.of_samples(source, &one.passes.samples()));
    case
}

/// Says which constants are not given, what takes their place, and which states have no set for want of them.
pub(super) fn withheld(constants: &Constants, journal: &mut dyn Journal) {
    let is_in_sets = |one: &&Measured| sets::CONSTANTS.contains(&one.name) && one.name != SCALE;
    let is_withheld = |one: &&Measured| !one.settled.is_some_and(|settled| settled.is_given);
    let withheld: Vec<&Measured> = constants.all.iter().filter(is_in_sets).filter(is_withheld).collect();
    if withheld.is_empty() {
        return;
    }
    let (differing, missing): (Vec<&Measured>, Vec<&Measured>) =
        withheld.iter().copied().partition(|one| one.settled.is_some());
    let names = |all: Vec<&Measured>| all.into_iter().map(named).collect::<Vec<_>>().join(", ");
    let mut sentences = Vec::new();
    if !differing.is_empty() {
        sentences.push(format!(
            "Not given, because passes differ by more than {} times, the interval of the cost or of a row's is not all \
             above 0, or the cost is less than {} % of the time that it is the rest of: {}.",
            sets::SPREAD_MAX,
            REST_MIN * 1e2,
            names(differing)
        ));
    }
    if !missing.is_empty() {
        let why = "Not given, because a pass has no sample of the cost or of a row's";
        sentences.push(format!("{why}: {}.", names(missing)));
    }
    let sets = constants.sets();
    let has_set = |state: &State| sets.iter().any(|set| set.name == state.name());
    let (with, without): (Vec<State>, Vec<State>) = State::OF_BLOCKS.into_iter().partition(has_set);
    // What is of no state is in every set.
    let is_replaced = |one: &&Measured| !with.is_empty() && one.state.is_none_or(|state| with.contains(&state));
    if withheld.iter().any(is_replaced) {
        let instead = "In the sets, the server's own ratio to the neighbouring constant takes their place.";
        sentences.push(instead.into());
    }
    let is_measured = |state: &State| constants.all.iter().any(|one| one.state == Some(*state));
    let without = without.into_iter().filter(is_measured);
    let without: Vec<String> = without.map(|state| format!("`{}`", state.name())).collect();
    if !without.is_empty() {
        sentences.push(format!("There is no set {}.", without.join(" and no set ")));
    }
    journal.find(row::WITHHELD_CONSTANTS.of(sentences.join(" ")));
}

/// The finding where nothing shows whether constants repeat themselves.
pub(super) fn one_pass(passes: usize) -> Option<Finding> {
    let message = "All costs were measured in one pass, so it is not known whether they repeat, and none is withheld \
                   for that. Use --passes 3.";
    (passes == 1).then(|| row::ONE_PASS.of(message))
}

fn named(one: &Measured) -> String {
    match one.state {
        Some(state) => format!("{} ({})", one.name, state.in_words()),
        None => one.name.into(),
    }
}

/// Keeps what the planner should take for its memory: the buffers, and what the page cache really holds of the
/// database's files. Where that cannot be seen, nothing.
pub(super) fn keep_cache_size(bench: &mut Bench<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let now = bench.tables.setting(CACHE_SIZE)?;
    let Some((_, held)) = bench.caches.files else { return Ok(()) };
    let (buffers, block) = (bench.tables.facts().buffer_bytes, bench.tables.facts().block_bytes);
    let mut case = bench.case("constant", [CONSTANT.of(CACHE_SIZE)]);
    let source = "shared_buffers, and what the page cache held of the database's files when the run began";
    case.metrics.push(calibrate::NOW_BYTES.single("pg_settings of the session", now * block as f64));
    case.metrics.push(calibrate::VALUE_BYTES.single(source, (buffers + held) as f64));
    Ok(journal.keep(case)?)
}

fn keep_concurrency(bench: &mut Bench<'_>, sweep: &Sweep, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let name = sweep.setting.name();
    let now = bench.tables.setting(name)?;
    let Some(plateau) = concurrency::plateau(sweep) else { return Ok(()) };
    let mut case = bench.case("constant", [CONSTANT.of(name)]);
    let source = "ends of the unbroken range of values, around the fastest, with which the cold work is within 10 % of \
                  that one's median";
    case.metrics.push(calibrate::NOW_COUNT.single("pg_settings of the session", now));
    case.metrics.push(calibrate::FROM_COUNT.single(source, f64::from(plateau.from)));
    case.metrics.push(calibrate::TO_COUNT.single(source, f64::from(plateau.to)));
    let source = "the largest sample of a value divided by its smallest, the most of all values";
    case.metrics.extend(concurrency::spread(sweep).map(|spread| calibrate::PASSES_SPREAD.single(source, spread)));
    Ok(journal.keep(case)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(name: &'static str, passes: &[[f64; 3]], now: f64) -> Measured {
        let passes = Passes { passes: passes.iter().map(|pass| pass.to_vec()).collect() };
        Measured { name, state: None, passes, now, settled: None, source: String::new() }
    }

    #[test]
    fn a_small_rest_of_large_times_is_not_given_however_well_its_passes_agree() {
        let is_given = |entry: f64| {
            let steady = |name, micros: f64, now| measured(name, &[[micros, micros * 1.01, micros]; 3], now);
            let operator = steady(OPERATOR, 0.005, 0.0025);
            let all = vec![operator, steady(SCALE, 0.05, 0.01), steady(INDEX_TUPLE, entry, 0.005)];
            let mut constants = Constants { all, sweeps: Vec::new() };
            constants.settle();
            constants.all.iter().map(|one| one.settled.is_some_and(|settled| settled.is_given)).collect::<Vec<_>>()
        };
        assert_eq!(is_given(0.003), [true, true, false], "a twentieth");
        assert_eq!(is_given(0.012), [true, true, false], "a sixth");
        assert_eq!(is_given(0.025), [true, true, true], "what PostgreSQL takes it for");
    }

    #[test]
    fn a_row_that_costs_nothing_that_can_be_told_gives_no_multiple_of_it() {
        let given_beside = |row: [f64; 3]| {
            let operator = measured("cpu_operator_cost", &[[0.02, 0.021, 0.02]; 3], 0.0025);
            let mut constants = Constants { all: vec![operator, measured(SCALE, &[row; 3], 0.01)], sweeps: Vec::new() };
            constants.settle();
            constants.all.iter().map(|one| one.settled.is_some_and(|settled| settled.is_given)).collect::<Vec<_>>()
        };
        assert_eq!(given_beside([0.05, 0.051, 0.05]), [true, true]);
        assert_eq!(given_beside([0.05, -0.01, 0.04]), [false, false]);
    }

    #[test]
    fn a_block_at_random_that_took_less_than_one_in_sequence_is_given_the_cost_that_the_set_has() {
        let block = |name, micros: f64, now| {
            let one = measured(name, &[[micros, micros * 1.01, micros]; 3], now);
            Measured { state: Some(State::Cached), ..one }
        };
        let given = |random: f64| {
            let row = measured(SCALE, &[[0.05, 0.051, 0.05]; 3], 0.01);
            let all = vec![block(SEQ_PAGE, 0.5, 1.0), block(RANDOM_PAGE, random, 4.0), row];
            let mut constants = Constants { all, sweeps: Vec::new() };
            constants.settle();
            let set = constants.sets().into_iter().find(|set| set.name == State::Cached.name()).unwrap();
            let of_set = |name: &str| set.values.iter().find(|(one, _)| *one == name).map(|(_, value)| *value);
            for one in &constants.all {
                assert_eq!(constants.given(one), of_set(one.name), "{}", one.name);
            }
            of_set(RANDOM_PAGE) == of_set(SEQ_PAGE)
        };
        assert_eq!([0.3, 0.8].map(given), [true, false]);
    }

    #[test]
    fn what_workers_cost_in_some_passes_is_not_shown_beside_the_finding_that_it_was_not_measured() {
        let [tuple, setup] = parallel::COSTS.map(|name| measured(name, &[[1.0; 3]; 2], 0.1));
        let all = vec![tuple, measured(SCALE, &[[0.05; 3]; 3], 0.01), setup];
        let mut constants = Constants { all, sweeps: Vec::new() };
        constants.leave_out_parallel();
        assert_eq!(constants.all.iter().map(|one| one.name).collect::<Vec<_>>(), [SCALE]);
    }
}
