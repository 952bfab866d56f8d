//! Which state a given server's queries are in: told from its own counters and from the page cache.

use measure::quantity::{grouped, three_digits};
use measure::schema::calibrate::findings as row;
use measure::schema::calibrate::{self, parameters::STATE};
use measure::{Finding, Unit};
use subjects::postgres::calibration::server_caches::ServerCaches;

use super::bench::{Bench, State};
use super::comparison::Comparison;
use super::judgement::Decision;
use crate::error::ExperimentError;
use crate::journal::Journal;

/// Share of blocks in the buffers from which on queries are cached by the server.
const HITS_CACHED: f64 = 0.99;

/// Share of the files in the page cache from which on what the buffers lack comes from there.
const FILES_CACHED: f64 = 0.95;

/// Microseconds of a read from which on it came from the disk. Below, it is not known: a block that a fast device has
/// read ahead takes 3 to 8 µs, as one in the page cache does.
const READ_DISK: f64 = 30.0;

/// Timed runs that lack less than this part of the share of blocks that the server's own work lacks are warmer than
/// that.
const WARMER: f64 = 0.5;

/// The state; `None` where the counters do not tell.
pub(super) fn of(caches: &ServerCaches) -> Option<State> {
    let (_, hits) = caches.hits?;
    let files = caches.files.map(|(size, held)| held as f64 / size.max(1) as f64);
    let reads = [caches.read_micros, caches.read_micros_least].into_iter().flatten().reduce(f64::max);
    match () {
        () if hits >= HITS_CACHED => Some(State::Cached),
        () if reads.is_some_and(|micros| micros >= READ_DISK) => Some(State::Cold),
        () if files.is_some_and(|held| held >= FILES_CACHED) => Some(State::System),
        () => None,
    }
}

/// Keeps what was told, which [`finding`] says.
pub(super) fn keep(bench: &Bench<'_>, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    let caches = &bench.caches;
    let Some((_, hits)) = caches.hits else { return Ok(()) };
    let state = of(caches);
    let mut case = bench.case("state", [STATE.of(state.map_or("unknown", State::name))]);
    let source = "pg_statio_user_tables, since its counters were reset";
    case.metrics.push(calibrate::HITS.single(source, hits * 100.0));
    case.metrics.extend(caches.read_micros.map(|micros| calibrate::READ_TIME.single(read_by(caches), micros)));
    if let Some(share) = files_held(caches) {
        case.metrics.push(calibrate::FILES_HELD.single("the page cache, when the run began", share));
    }
    Ok(journal.keep(case)?)
}

/// Where the time of a read is from.
fn read_by(caches: &ServerCaches) -> &'static str {
    match caches.is_watched {
        true => "pg_stat_database, by how much its counters rose in 2 s as the run began",
        false => "pg_stat_database, since its counters were reset",
    }
}

/// Per cent of the files that the page cache held.
fn files_held(caches: &ServerCaches) -> Option<f64> {
    caches.files.map(|(size, held)| held as f64 / size.max(1) as f64 * 100.0)
}

/// Why it cannot be seen what the page cache holds of the server's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unseen {
    /// They lie on another machine.
    Elsewhere,
    /// The role may not see where they lie.
    Place,
    /// readpath may not read them.
    Files,
}

impl Unseen {
    /// The first of these that holds; of a server whose files can be seen, none is asked for.
    pub(super) fn of(bench: &mut Bench<'_>) -> Unseen {
        match (bench.tables.is_local(), bench.tables.facts().data_directory.is_some()) {
            (false, _) => Unseen::Elsewhere,
            (true, false) => Unseen::Place,
            (true, true) => Unseen::Files,
        }
    }

    /// What would show it, as the subject of a clause.
    fn what_shows_it(self) -> &'static str {
        match self {
            Unseen::Elsewhere => "readpath on the server's machine",
            Unseen::Place => {
                "readpath with the right to see where the server's files lie (GRANT pg_read_all_settings to the role \
                 of this run) and the right to read them (run it as root, or as the user that the server runs as)"
            }
            Unseen::Files => {
                "readpath with the right to read the server's files (run it as root, or as the user that the server \
                 runs as)"
            }
        }
    }
}

/// What was told, in a sentence; and what is missing to tell more, where the page cache cannot be seen.
pub(super) fn finding(caches: &ServerCaches, unseen: Unseen) -> Finding {
    let Some((blocks, hits)) = caches.hits else {
        return row::ABSENT_STATE.of(
            "In which state the queries of this database run is not known: too few blocks were asked for since its \
             counters were reset.",
        );
    };
    let mut message = format!(
        "Of {} blocks of its tables that this database asked for, {} % were in the shared buffers",
        grouped(blocks as u64),
        three_digits(hits * 100.0)
    );
    if let Some(micros) = caches.read_micros {
        message += &format!("; a block that was not took {} µs", three_digits(micros));
    }
    if let Some(micros) = caches.read_micros_least {
        message += &format!(
            "; a block that was not took {} µs or more (reads were timed in part, if track_io_timing came on after the \
             counters were reset)",
            three_digits(micros)
        );
    }
    if let Some(share) = files_held(caches) {
        message += &format!("; the page cache holds {} % of its files", three_digits(share));
    }
    message += &match of(caches) {
        Some(State::Cold) => format!(
            ": its queries run {}. No set of constants is for that here, because the caches of a given server are not \
             emptied: --on postgres:VERSION measures one on this machine's disk.",
            State::Cold.in_words()
        ),
        Some(state) => format!(": its queries run {}.", state.in_words()),
        None => untold(caches, unseen),
    };
    // A query of the user's that an earlier run timed many times in a row found its blocks in the buffers each time.
    message += " These counters include the reads of any earlier run of readpath with --run.";
    row::ANSWER_STATE.of(message).with("hits", hits * 100.0, Unit::Percent)
}

/// That it cannot be seen where the other blocks come from, and what shows it.
fn untold(caches: &ServerCaches, unseen: Unseen) -> String {
    let cannot = ". Whether the others come from the page cache or from the disk cannot be seen from";
    let what = caches.files.is_none().then(|| unseen.what_shows_it());
    if caches.read_micros.is_some() {
        let also = what.map_or(String::new(), |what| format!("; {what} shows what that holds"));
        return format!(
            "{cannot} that: a block that a fast device has read ahead takes as little as one in the page cache{also}."
        );
    }
    let (counters, show) = match caches.read_micros_least {
        Some(_) => ("counters that were reset since track_io_timing came on", "show"),
        None => ("track_io_timing", "shows"),
    };
    let or = what.map_or(String::new(), |what| format!(", or {what},"));
    format!("{cannot} here: {counters}{or} {show} it.")
}

/// Blocks of one timed run of each query, with the server's own constants.
#[derive(Clone, Copy, Debug, Default)]
struct TimedBlocks {
    hits: f64,
    reads: f64,
    /// Of reads in queries whose reads the server timed.
    read_micros: f64,
    reads_timed: f64,
}

impl TimedBlocks {
    fn of(comparison: &Comparison) -> TimedBlocks {
        let plans = comparison.compared.iter().map(|one| &one.variants[0]).filter(|plan| !plan.millis.is_empty());
        plans.fold(TimedBlocks::default(), |mut sum, variant| {
            let top = &variant.plan.top;
            let Some(buffers) = top.buffers else { return sum };
            sum.hits += buffers.hits as f64;
            sum.reads += buffers.reads as f64;
            if let Some(millis) = top.read_ms {
                sum.read_micros += millis * 1e3;
                sum.reads_timed += buffers.reads as f64;
            }
            sum
        })
    }

    /// Microseconds of a block that was not in the buffers.
    fn read(self) -> Option<f64> {
        (self.reads_timed > 0.0).then(|| self.read_micros / self.reads_timed)
    }
}

/// That the user's queries were timed with more of their blocks in memory than the server's own work finds there. The
/// times then hold for cached queries alone: each query runs several times in a row. What to do about it follows if a
/// change is advised.
pub(super) fn timed_cached(caches: &ServerCaches, comparison: &Comparison, advised: Decision) -> Option<Finding> {
    let (_, hits) = caches.hits.filter(|_| of(caches) == Some(State::Cold))?;
    let own = match (caches.read_micros, caches.read_micros_least) {
        (Some(micros), _) => format!("{} µs", three_digits(micros)),
        (None, least) => format!("{} µs or more", three_digits(least?)),
    };
    let timed = TimedBlocks::of(comparison);
    let gets = timed.hits + timed.reads;
    if !comparison.is_timed || gets == 0.0 {
        return None;
    }
    let is_warmer = timed.reads / gets < (1.0 - hits) * WARMER;
    let read = timed.read().filter(|micros| is_warmer || *micros < READ_DISK);
    if !is_warmer && read.is_none() {
        return None;
    }
    let share = timed.hits / gets * 100.0;
    let others =
        read.map_or(String::new(), |micros| format!(" and read the others in {} µs each", three_digits(micros)));
    let try_first = match advised {
        Decision::Change => {
            " Set the constants for one role first, by ALTER ROLE, and compare the times of its statements in \
             pg_stat_statements."
        }
        Decision::Keep | Decision::Undecided => "",
    };
    let message = format!(
        "The timed runs found {} % of their blocks in the shared buffers{others}, because each query runs several \
         times in a row; in its own work, this database finds {} % there and reads the others in {own} each. The \
         ratios hold for queries whose blocks are cached.{try_first}",
        three_digits(share),
        three_digits(hits * 100.0)
    );
    Some(row::TIMED_CACHED.of(message).with("timed_hits", share, Unit::Percent).with(
        "hits",
        hits * 100.0,
        Unit::Percent,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(hits: f64, read_micros: Option<f64>, held: Option<u64>) -> Option<State> {
        let files = held.map(|held| (100, held));
        of(&ServerCaches { hits: Some((1e6, hits)), read_micros, files, ..ServerCaches::default() })
    }

    #[test]
    fn reads_that_were_timed_in_part_tell_of_the_disk_and_never_of_the_page_cache() {
        let state = |least: f64| {
            of(&ServerCaches { hits: Some((1e6, 0.9)), read_micros_least: Some(least), ..ServerCaches::default() })
        };
        assert_eq!([state(400.0), state(4.0)], [Some(State::Cold), None]);
    }

    #[test]
    fn the_state_is_that_of_the_blocks_that_the_buffers_lack() {
        assert_eq!(state(0.995, Some(900.0), Some(3)), Some(State::Cached));
        assert_eq!(state(0.9, Some(400.0), Some(99)), Some(State::Cold));
        assert_eq!(state(0.9, Some(8.0), Some(97)), Some(State::System));
        assert_eq!(state(0.9, None, Some(97)), Some(State::System));
    }

    #[test]
    fn blocks_that_a_fast_device_read_ahead_are_not_taken_for_those_of_the_page_cache() {
        assert_eq!(state(0.9, Some(5.0), Some(6)), None);
        assert_eq!(state(0.9, Some(5.0), None), None);
    }

    #[test]
    fn a_right_that_is_missing_is_named_and_not_the_machine_that_readpath_runs_on() {
        let said = |read_micros, files, unseen| {
            let caches = ServerCaches { hits: Some((1e6, 0.9)), read_micros, files, ..ServerCaches::default() };
            finding(&caches, unseen).message
        };
        for (unseen, missing) in [
            (Unseen::Elsewhere, "readpath on the server's machine"),
            (Unseen::Place, "GRANT pg_read_all_settings to the role of this run"),
            (Unseen::Files, "the right to read the server's files"),
        ] {
            for read_micros in [None, Some(5.0)] {
                let said = said(read_micros, None, unseen);
                assert!(said.contains(missing), "{said}");
                let is_elsewhere = unseen == Unseen::Elsewhere;
                // To see where files lie does not let a user read them.
                assert_eq!(said.contains("run it as root"), !is_elsewhere, "{said}");
                assert_eq!(said.contains("on the server's machine"), is_elsewhere, "{said}");
            }
        }
        let seen = said(None, Some((100, 60)), Unseen::Files);
        assert!(seen.contains("cannot be seen from here: track_io_timing shows it. "), "no right is missing: {seen}");
    }

    #[test]
    fn what_earlier_runs_read_is_not_passed_off_as_the_work_of_the_database() {
        for hits in [0.9, 0.999] {
            let caches = ServerCaches { hits: Some((1e6, hits)), ..ServerCaches::default() };
            let said = finding(&caches, Unseen::Files).message;
            let end = ". These counters include the reads of any earlier run of readpath with --run.";
            assert!(said.ends_with(end), "{said}");
        }
    }

    #[test]
    fn a_time_of_two_seconds_is_not_said_to_be_of_all_reads_since_the_reset() {
        let by = |is_watched| {
            let caches = ServerCaches { read_micros: Some(40.0), is_watched, ..ServerCaches::default() };
            read_by(&caches).contains("since its counters were reset")
        };
        assert_eq!([true, false].map(by), [false, true]);
    }

    #[test]
    fn counters_that_do_not_tell_give_no_state() {
        assert_eq!(state(0.9, None, Some(60)), None);
        assert_eq!(state(0.9, None, None), None);
        assert_eq!(of(&ServerCaches::default()), None);
    }
}
