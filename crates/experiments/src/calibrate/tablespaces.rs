//! What a block costs in each tablespace of a given server, in proportion to the one that the run's tables are made in.
//!
//! The table is moved from one to the next, which writes its file anew past the buffers. Its pages leave the page cache
//! where this process can reach the file, and no others do.

use std::time::Duration;

use measure::quantity::{counted, format_nanos, three_digits};
use measure::schema::calibrate;
use measure::schema::calibrate::findings as row;
use measure::schema::calibrate::parameters::{CONSTANT, STATE, TABLESPACE};
use measure::sorting;
use measure::statistics::median;
use measure::words::Word;
use measure::{Case, Finding, Unit};
use subjects::postgres::calibration::tablespaces::Tablespace;

use super::bench::{Bench, State};
use super::constants::Constants;
use super::pages::{self, PageRead};
use super::sets::{self, SPREAD_MAX};
use super::system::READS_MIN;
use crate::error::ExperimentError;
use crate::journal::Journal;

/// How often a block's cost is measured in each.
const SAMPLES: usize = 3;

/// Most tablespaces that are measured: each takes a second and more.
const SPACES_MAX: usize = 8;

/// Share of the file that may stay in the page cache: beyond it, times are those of memory in part. On a file system in
/// memory all of it stays.
const STAYED_MAX: f64 = 0.1;

/// What a block takes in a tablespace.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpaceCost {
    pub(super) space: Tablespace,
    pub(super) constant: &'static str,
    /// Microseconds of a block, a sample a round.
    pub(super) micros: Vec<f64>,
    /// The same rounds in the tablespace that the tables are made in.
    pub(super) home: Vec<f64>,
    /// The constant that is in effect there.
    pub(super) home_now: f64,
    /// The session's constant, which is in effect where a tablespace has none of its own.
    pub(super) now: f64,
    /// What was in the caches.
    pub(super) state: State,
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

    /// The constant that is in effect.
    fn in_effect(&self) -> f64 {
        self.space.option(self.constant).unwrap_or(self.now)
    }

    /// The constant for the tablespace: what is in effect where that is near what was measured. `None` where rounds
    /// disagree, or where blocks came from the page cache, which shows nothing about the storage.
    pub(super) fn given(&self) -> Option<f64> {
        let (ratio, spread) = self.settled()?;
        if self.state != State::Cold || spread > SPREAD_MAX {
            return None;
        }
        let is_near = |times: f64| (1.0 / SPREAD_MAX..=SPREAD_MAX).contains(&times);
        let (measured, in_effect) = (self.home_now * ratio, self.in_effect());
        // Home is what the others are compared with, and nothing is a proportion of 0.
        let stays = self.space.is_home || self.home_now <= 0.0 || is_near(measured / in_effect);
        Some(match (stays, is_near(ratio)) {
            (true, _) => in_effect,
            (false, true) => self.home_now,
            (false, false) => sets::rounded(measured),
        })
    }

    /// Whether it should have another constant than the one in effect.
    fn is_to_change(&self) -> bool {
        self.given().is_some_and(|given| given != self.in_effect())
    }
}

/// Says which have costs of their own, and measures a given server's where there are several, with a case for each.
pub(super) fn measure(
    bench: &mut Bench<'_>,
    constants: &Constants,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let spaces = bench.tables.tablespaces()?;
    journal.find_all(own_costs(&spaces));
    if bench.tables.is_private() || bench.tables.is_standby() {
        return Ok(());
    }
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
) -> Result<Vec<SpaceCost>, ExperimentError> {
    let mut all = Vec::new();
    for read in PageRead::all() {
        let name = read.name();
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
        let state = if stayed.is_some_and(|share| share <= STAYED_MAX) { State::Cold } else { State::System };
        let Some(home) = micros.last().cloned() else { continue };
        let now = constants.now(name);
        let home_now = spaces.last().and_then(|home| home.option(name)).unwrap_or(now);
        let mut cases = Vec::new();
        for (space, micros) in spaces.iter().zip(micros).filter(|(_, micros)| !micros.is_empty()) {
            let (space, home) = (space.clone(), home.clone());
            let one = SpaceCost { space, constant: name, micros, home, home_now, now, state };
            cases.push(case(bench, &one, stayed));
            all.push(one);
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
) -> Result<Result<Sample, String>, ExperimentError> {
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

fn case(bench: &Bench<'_>, one: &SpaceCost, stayed: Option<f64>) -> Case {
    let parameters = [TABLESPACE.of(one.space.name.as_str()), CONSTANT.of(one.constant), STATE.of(one.state.name())];
    let mut case = bench.case("tablespace", parameters);
    let has_own = one.space.option(one.constant).is_some();
    let source = if has_own { "pg_tablespace.spcoptions" } else { "pg_settings of the session" };
    case.metrics.push(calibrate::NOW.single(source, one.in_effect()));
    if let Some((ratio, spread)) = one.settled() {
        let source = "what is in effect in the tablespace that the tables are made in, times the median of what a \
                      block takes here over what it takes there";
        case.metrics.push(calibrate::VALUE.single(source, one.home_now * ratio));
        let source = "the largest of these ratios divided by the smallest";
        case.metrics.push(calibrate::PASSES_SPREAD.single(source, spread));
    }
    if let Some(given) = one.given() {
        let source = "what is in effect where the value is within 1.5 times of it; else what is in effect where the \
                      tables are made, where the ratio is within 1.5 of 1, or the value at one of ten steps a decade";
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

/// The finding about tablespaces with constants of their own. The settings of reads ahead are none.
pub(super) fn own_costs(spaces: &[Tablespace]) -> Option<Finding> {
    let has_own = |space: &&Tablespace| PageRead::all().any(|read| space.option(read.name()).is_some());
    let with_own = spaces.iter().filter(has_own);
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

/// What a block takes in each tablespace, and whether that asks for constants of its own; `None` where all but the one
/// of the run's tables refused the table, and nothing can be compared.
pub(super) fn answer(costs: &[SpaceCost]) -> Option<Finding> {
    let at_random = |one: &&SpaceCost| one.constant == PageRead::Random.name();
    let home = costs.iter().filter(at_random).find(|one| one.space.is_home)?;
    let of = |one: &SpaceCost| Some(format!("{} in {}", format_nanos(median(&one.micros)? * 1e3), one.space.name));
    let times: Vec<String> = costs.iter().filter(at_random).filter_map(of).collect();
    let others = || costs.iter().filter(|one| !one.space.is_home);
    others().next()?;
    let changes: Vec<String> = others().filter(|one| one.is_to_change()).filter_map(named).collect();
    let unsure = others().filter(|one| one.given().is_none()).count();
    let conclusion = match (changes.is_empty(), unsure) {
        (false, _) => format!(
            "in proportion to what is set for {}, that is {}; --sql prints the statements",
            home.space.name,
            changes.join(", ")
        ),
        (true, 0) => {
            format!("what is set for each is within {SPREAD_MAX} times of that proportion, and nothing is to change")
        }
        (true, _) if home.state != State::Cold => {
            "these times are those of the page cache, and do not show which constants fit the storage".into()
        }
        (true, _) => "rounds differ too much, or are too few, to give a tablespace constants of its own".into(),
    };
    let message = format!(
        "A random block in {} takes, {}, {}: {conclusion}.",
        counted(times.len() as u64, "tablespace", "tablespaces"),
        home.state.in_words(),
        times.join(", ")
    );
    let finding = row::ANSWER_TABLESPACES.of(message);
    Some(finding.with("tablespaces", times.len() as f64, Unit::Count))
}

/// The constant for a tablespace in a sentence.
fn named(one: &SpaceCost) -> Option<String> {
    Some(format!("{} {} for {}", one.constant, three_digits(one.given()?), one.space.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(micros: &[f64], home: &[f64]) -> SpaceCost {
        let space = Tablespace { name: "slow".into(), ..Tablespace::default() };
        let (micros, home, state) = (micros.into(), home.into(), State::Cold);
        SpaceCost { space, constant: "random_page_cost", micros, home, home_now: 4.0, now: 4.0, state }
    }

    /// A tablespace with a constant of its own, whose blocks take this many times as long as at home.
    fn with_own(own: f64, times: f64) -> SpaceCost {
        let cost = cost(&[times * 10.0; SAMPLES], &[10.0; SAMPLES]);
        let space = Tablespace { options: format!("random_page_cost={own}"), ..cost.space.clone() };
        SpaceCost { space, ..cost }
    }

    #[test]
    fn a_tablespace_has_the_servers_cost_in_proportion_and_only_where_rounds_agree() {
        assert_eq!(cost(&[100.0, 110.0, 90.0], &[10.0, 10.0, 10.0]).given(), Some(40.0));
        assert_eq!(cost(&[12.0, 11.0, 9.0], &[10.0, 10.0, 10.0]).given(), Some(4.0), "a small difference is none");
        assert_eq!(cost(&[100.0, 110.0, 40.0], &[10.0, 10.0, 10.0]).given(), None, "rounds disagree");
        assert_eq!(cost(&[100.0, 110.0], &[10.0, 10.0, 10.0]).given(), None, "a round is missing");
        assert_eq!(cost(&[100.0, -110.0, 90.0], &[10.0, 10.0, 10.0]).given(), None);
    }

    #[test]
    fn times_of_the_page_cache_undo_no_constant_of_a_tablespace() {
        let cold = with_own(40.0, 1.0);
        assert_eq!((cold.given(), cold.is_to_change()), (Some(4.0), true), "its storage is no slower");
        let cached = SpaceCost { state: State::System, ..cold };
        assert_eq!((cached.given(), cached.is_to_change()), (None, false));
        let home = Tablespace { name: "pg_default".into(), is_home: true, ..Tablespace::default() };
        let home = SpaceCost { space: home, ..cached.clone() };
        let said = answer(&[cached, home]).unwrap().message;
        assert!(said.contains("cached by the operating system") && said.contains("of the page cache"), "{said}");
        assert!(!said.contains("--sql") && !said.contains("nothing is to change"), "{said}");
    }

    #[test]
    fn a_tablespace_that_no_other_can_be_compared_with_gets_no_conclusion() {
        let other = |constant: &'static str| SpaceCost { constant, ..with_own(4.0, 1.0) };
        let space = Tablespace { name: "pg_default".into(), is_home: true, ..Tablespace::default() };
        let home = SpaceCost { space, ..with_own(4.0, 1.0) };
        assert_eq!(answer(std::slice::from_ref(&home)), None, "the others were full");
        let said = |other: SpaceCost| answer(&[other, home.clone()]).unwrap().message;
        let both = said(other("random_page_cost"));
        assert!(both.starts_with("A random block in 2 tablespaces takes, "), "{both}");
        let filled_up = said(other("seq_page_cost"));
        assert!(filled_up.starts_with("A random block in 1 tablespace takes, "), "{filled_up}");
        let in_the_second_round = said(SpaceCost { micros: vec![10.0], ..other("random_page_cost") });
        assert!(in_the_second_round.contains("rounds differ too much, or are too few, to"), "{in_the_second_round}");
    }

    #[test]
    fn a_constant_that_fits_what_was_measured_stays_to_the_digit() {
        let fits = with_own(8.0, 2.0);
        assert_eq!((fits.given(), fits.is_to_change()), (Some(8.0), false), "8 to 7.9 is no advice");
        assert_eq!(with_own(5.0, 1.4).given(), Some(5.0));
        assert_eq!(with_own(8.0, 20.0).given(), Some(79.0));
    }

    #[test]
    fn a_tablespace_with_reads_ahead_of_its_own_has_no_costs_of_its_own() {
        let said = |options: &str| {
            let space = Tablespace { name: "fast".into(), options: options.into(), ..Tablespace::default() };
            own_costs(&[space]).map(|finding| finding.message)
        };
        assert_eq!(said("effective_io_concurrency=200"), None);
        let both = said("effective_io_concurrency=200, random_page_cost=1.1").unwrap();
        assert!(both.contains("fast (effective_io_concurrency=200, random_page_cost=1.1)"), "{both}");
    }

    #[test]
    fn the_home_tablespace_stays_and_others_are_in_proportion_to_its_own_constant() {
        let home = with_own(1.1, 1.0);
        let space = Tablespace { is_home: true, ..home.space.clone() };
        let home = SpaceCost { space, home_now: 1.1, ..home };
        assert_eq!((home.given(), home.is_to_change()), (Some(1.1), false));
        let other = SpaceCost { home_now: 1.1, ..cost(&[100.0; SAMPLES], &[10.0; SAMPLES]) };
        assert_eq!(other.given(), Some(sets::rounded(11.0)), "not ten times the session's 4");
        let near = SpaceCost { home_now: 1.1, ..cost(&[10.0; SAMPLES], &[10.0; SAMPLES]) };
        assert_eq!(near.given(), Some(1.1), "the session's 4 is not what fits here");
        let free = SpaceCost { home_now: 0.0, ..other };
        assert_eq!((free.given(), free.is_to_change()), (Some(4.0), false), "no proportion to nothing");
    }
}
