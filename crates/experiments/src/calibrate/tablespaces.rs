//! What a block costs in each tablespace of a given server, in proportion to the one that the run's tables are made in.
//!
//! The table is moved from one to the next, which writes its file anew past the buffers. Its pages leave the page cache
//! where this process can reach the file, and no others do.

use std::time::Duration;

use measure::quantity::{format_nanos, three_digits};
use measure::schema::calibrate;
use measure::schema::calibrate::findings as row;
use measure::schema::calibrate::parameters::{CONSTANT, STATE, TABLESPACE};
use measure::sorting;
use measure::statistics::median;
use measure::{Case, Finding, Unit};
use subjects::postgres::calibration::queries::Answered;
use subjects::postgres::calibration::tablespaces::Tablespace;

use super::bench::{Bench, State};
use super::constants::Constants;
use super::pages::{self, PageRead};
use super::sets::{self, SPREAD_MAX};
use crate::error::ExperimentError;
use crate::journal::Journal;

/// How often a block's cost is measured in each.
const SAMPLES: usize = 3;

/// Most tablespaces that are measured: each takes a second and more.
const SPACES_MAX: usize = 8;

/// Share of a statement's blocks that has to come from outside the buffers.
const READS_MIN: f64 = 0.3;

/// What a block takes in a tablespace.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpaceCost {
    pub(super) space: Tablespace,
    pub(super) constant: &'static str,
    /// Microseconds of a block, a sample a round.
    pub(super) micros: Vec<f64>,
    /// The same rounds in the tablespace that the tables are made in.
    pub(super) home: Vec<f64>,
    /// The server's own constant.
    pub(super) now: f64,
}

impl SpaceCost {
    fn ratios(&self) -> Vec<f64> {
        self.micros.iter().zip(&self.home).map(|(micros, home)| micros / home).collect()
    }

    /// How many times as much as at home, and the largest ratio over the least.
    fn settled(&self) -> Option<(f64, f64)> {
        let ratios = self.ratios();
        let is_complete = ratios.len() == SAMPLES && ratios.iter().all(|ratio| ratio.is_finite() && *ratio > 0.0);
        let [low, high] =
            [ratios.iter().copied().fold(f64::INFINITY, f64::min), ratios.iter().copied().fold(0.0, f64::max)];
        Some((median(&ratios)?, high / low)).filter(|_| is_complete)
    }

    /// The constant for the tablespace: the server's own where the difference is small, `None` where rounds disagree.
    pub(super) fn given(&self) -> Option<f64> {
        let (ratio, spread) = self.settled()?;
        let is_same = (1.0 / SPREAD_MAX..=SPREAD_MAX).contains(&ratio);
        let value = if is_same { self.now } else { sets::rounded(self.now * ratio) };
        (spread <= SPREAD_MAX).then_some(value)
    }
}

/// Measures them where there are several, and keeps a case for each.
pub(super) fn measure(
    bench: &mut Bench<'_>,
    constants: &Constants,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let spaces = bench.tables.tablespaces()?;
    journal.find_all(own_costs(&spaces));
    let (mut measured, left): (Vec<Tablespace>, Vec<Tablespace>) =
        spaces.into_iter().partition(|space| space.may_create);
    let mut absent: Vec<(String, String)> =
        left.into_iter().map(|space| (space.name, "the role may not make tables there".into())).collect();
    let over = measured.split_off(measured.len().min(SPACES_MAX));
    absent.extend(over.into_iter().map(|space| (space.name, format!("{SPACES_MAX} are measured in a run"))));
    // Where the table is already comes last, because a table is not moved to where it is.
    sorting::by_key(&mut measured, |space| space.is_home);
    if let (Some(recorder), true) = (&bench.recorder, measured.len() > 1) {
        recorder.remark("below, `another` stands for each further tablespace in which the role may make tables");
    }
    if measured.len() > 1 && measured.last().is_some_and(|space| space.is_home) {
        let costs = in_turn(bench, constants, &measured, (&mut absent, journal))?;
        journal.find_all(answer(&costs));
    }
    journal.find_all(not_measured(&absent));
    Ok(())
}

/// Measures a scan and rows at random in each, one tablespace after the other, and keeps the cases.
fn in_turn(
    bench: &mut Bench<'_>,
    constants: &Constants,
    spaces: &[Tablespace],
    (absent, journal): (&mut Vec<(String, String)>, &mut dyn Journal),
) -> Result<Vec<(SpaceCost, State)>, ExperimentError> {
    let mut all = Vec::new();
    for read in PageRead::ALL {
        let name = read.constant();
        journal.step(&format!("{name} in {} tablespaces", spaces.len()), Duration::from_secs(spaces.len() as u64));
        let cached = constants.of(name, State::Cached).and_then(|one| median(&one.passes.samples())).unwrap_or(0.0);
        let base = (pages::settled(bench, read)?, cached);
        let mut micros = vec![Vec::new(); spaces.len()];
        // A cold time at home and one from the page cache elsewhere would be no proportion.
        let mut stayed = Some(0.0_f64);
        for _ in 0..SAMPLES {
            for (space, micros) in spaces.iter().zip(&mut micros) {
                if absent.iter().any(|(name, _)| *name == space.name) {
                    continue;
                }
                match sample(bench, read, (space, stayed.is_some()), base)? {
                    Err(why) => absent.push((space.name.clone(), why)),
                    Ok(taken) => {
                        micros.extend(taken.micros);
                        stayed = stayed.zip(taken.left).map(|(most, left)| most.max(left));
                    }
                }
            }
        }
        let state = if stayed.is_some() { State::Cold } else { State::System };
        let Some(home) = micros.last().cloned() else { continue };
        let now = constants.now(name);
        let mut cases = Vec::new();
        for (space, micros) in spaces.iter().zip(micros).filter(|(_, micros)| !micros.is_empty()) {
            let one = SpaceCost { space: space.clone(), constant: name, micros, home: home.clone(), now };
            cases.push(case(bench, &one, (state, stayed)));
            all.push((one, state));
        }
        journal.keep_all(cases)?;
    }
    Ok(all)
}

/// A block in a tablespace.
struct Sample {
    /// `None` where too few blocks came from outside the buffers.
    micros: Option<f64>,
    /// The part of the file that stayed in the page cache; `None` where all of it did.
    left: Option<f64>,
}

/// Moves the table to a tablespace and runs a statement there; a sentence where it cannot be moved.
fn sample(
    bench: &mut Bench<'_>,
    read: PageRead,
    (space, evicts): (&Tablespace, bool),
    (settled, cached): (f64, f64),
) -> Result<Answered<Sample>, ExperimentError> {
    if let Err(why) = bench.tables.move_to(&space.name)? {
        return Ok(Err(why));
    }
    let left = if evicts { bench.tables.evict_table()? } else { None };
    let (probe, ways) = read.probe(bench);
    bench.tables.allow(ways)?;
    // EXPLAIN alone reads what the server has to know about the table, so that the statement does not.
    bench.tables.chosen(probe)?;
    let found = bench.tables.execute(probe, ways)?;
    let [reads, gets] = [found.buffers.reads as f64, found.buffers.gets() as f64];
    let micros = (reads > gets * READS_MIN).then(|| (found.micros - settled) / reads + cached);
    Ok(Ok(Sample { micros, left }))
}

fn case(bench: &Bench<'_>, one: &SpaceCost, (state, stayed): (State, Option<f64>)) -> Case {
    let parameters = [TABLESPACE.of(one.space.name.as_str()), CONSTANT.of(one.constant), STATE.of(state.name())];
    let mut case = bench.case("tablespace", parameters);
    let now = one.space.option(one.constant);
    let source = if now.is_some() { "pg_tablespace.spcoptions" } else { "pg_settings of the session" };
    case.metrics.push(calibrate::NOW.single(source, now.unwrap_or(one.now)));
    if let Some((ratio, spread)) = one.settled() {
        let source = "the server's own, times the median of what a block takes here over what it takes in the \
                      tablespace that the tables are made in";
        case.metrics.push(calibrate::VALUE.single(source, one.now * ratio));
        let source = "the largest of these ratios divided by the smallest";
        case.metrics.push(calibrate::PASSES_SPREAD.single(source, spread));
    }
    if let Some(given) = one.given() {
        let source = "the server's own where the ratio is within 1.5 of 1, else the value at one of ten steps a decade";
        case.metrics.push(calibrate::GIVEN.single(source, given));
    }
    let caches = match stayed {
        Some(stayed) => format!("up to {} % of its file in the page cache", three_digits(stayed * 100.0)),
        None => "its file in the page cache and not in the buffers".into(),
    };
    let source =
        format!("execution time by EXPLAIN, less that of the same statement cached, over the blocks read; {caches}");
    case.metrics.extend(calibrate::TIME.of_samples(&source, &one.micros));
    case
}

/// The finding about tablespaces with constants of their own.
pub(super) fn own_costs(spaces: &[Tablespace]) -> Option<Finding> {
    let with_own = spaces.iter().filter(|space| !space.options.is_empty());
    let with_own: Vec<String> = with_own.map(|space| format!("{} ({})", space.name, space.options)).collect();
    let message = format!(
        "Tablespaces with costs of their own keep them whatever is set for a session or a database: {}.",
        with_own.join(", ")
    );
    (!with_own.is_empty()).then(|| row::TABLESPACE_COSTS.of(message))
}

/// The finding about tablespaces that were not measured, each with the reason.
pub(super) fn not_measured(absent: &[(String, String)]) -> Option<Finding> {
    let named: Vec<String> = absent.iter().map(|(name, why)| format!("{name} ({why})")).collect();
    let message = format!("What a block costs was not measured in each tablespace: {}.", named.join("; "));
    (!absent.is_empty()).then(|| row::ONE_TABLESPACE.of(message))
}

/// What a block takes in each tablespace, and whether that asks for constants of its own.
pub(super) fn answer(costs: &[(SpaceCost, State)]) -> Option<Finding> {
    let (home, state) = costs.iter().find(|(one, _)| one.space.is_home)?;
    let micros = |one: &SpaceCost| median(&one.micros);
    let at_random = |one: &&(SpaceCost, State)| one.0.constant == PageRead::Random.constant();
    let of = |one: &SpaceCost| Some(format!("{} in {}", format_nanos(micros(one)? * 1e3), one.space.name));
    let times: Vec<String> = costs.iter().filter(at_random).filter_map(|(one, _)| of(one)).collect();
    let others = || costs.iter().map(|(one, _)| one).filter(|one| !one.space.is_home);
    let differs: Vec<&SpaceCost> = others().filter(|one| one.given().is_some_and(|given| given != one.now)).collect();
    let unsure = others().filter(|one| one.given().is_none()).count();
    let conclusion = match (differs.first(), unsure) {
        (Some(_), _) => {
            let named: Vec<String> = differs
                .iter()
                .map(|one| {
                    format!("{} {} for {}", one.constant, three_digits(one.given().unwrap_or(one.now)), one.space.name)
                })
                .collect();
            format!("in proportion to the server's own that is {}; --sql prints the statements", named.join(", "))
        }
        (None, 0) => {
            format!("that is within {SPREAD_MAX} times of {}, and asks for no constants of its own", home.space.name)
        }
        (None, _) => "rounds differ too much to give a tablespace constants of its own".into(),
    };
    let message = format!(
        "A random block in {} tablespaces takes, {}, {}: {conclusion}.",
        times.len(),
        state.in_words(),
        times.join(", ")
    );
    let finding = row::ANSWER_TABLESPACES.of(message);
    Some(finding.with("tablespaces", times.len() as f64, Unit::Count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(micros: &[f64], home: &[f64]) -> SpaceCost {
        let space = Tablespace { name: "slow".into(), ..Tablespace::default() };
        SpaceCost { space, constant: "random_page_cost", micros: micros.into(), home: home.into(), now: 4.0 }
    }

    #[test]
    fn a_tablespace_has_the_servers_cost_in_proportion_and_only_where_rounds_agree() {
        assert_eq!(cost(&[100.0, 110.0, 90.0], &[10.0, 10.0, 10.0]).given(), Some(40.0));
        assert_eq!(cost(&[12.0, 11.0, 9.0], &[10.0, 10.0, 10.0]).given(), Some(4.0), "a small difference is none");
        assert_eq!(cost(&[100.0, 110.0, 40.0], &[10.0, 10.0, 10.0]).given(), None, "rounds disagree");
        assert_eq!(cost(&[100.0, 110.0], &[10.0, 10.0, 10.0]).given(), None, "a round is missing");
        assert_eq!(cost(&[100.0, -110.0, 90.0], &[10.0, 10.0, 10.0]).given(), None);
    }
}
