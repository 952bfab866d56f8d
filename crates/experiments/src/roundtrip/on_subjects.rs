//! The same on subjects that are no devices, as the published script does it through SQL: a small table, three reads,
//! caches emptied, and single blocks read once more, with the mean of the waits as the subject times them.

use std::time::Duration;

use measure::quantity::three_digits;
use measure::random::{Permutation, SplitMix64};
use measure::schema::reads;
use measure::schema::roundtrip::{self, findings as row, parameters};
use measure::{Case, Finding, Parameters, Unit};
use subjects::round_trip::{Asked, Pass, PassOffer, RoundTrip, SingleReads, Sources};
use subjects::{Environment, Places};

use crate::disk::{self, PAGE_CACHE_MICROS, micros};
use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::subject_run::{self, Descriptions};
use crate::with_defaults::with_defaults;

/// Readings of a pass.
const REPEAT: usize = 5;

/// The table has this many times the blocks that are read, so that those are no neighbours that the system reads ahead.
const TABLE_BLOCKS: u64 = 16;

/// What the page cache may hold or lack of a table that is as good as out of it, or in it.
const KEPT_MAX: f64 = 0.01;

with_defaults! {
    /// Parameters of the experiment on subjects.
    pub struct SubjectTripParameters {
        /// What is measured.
        pub on: Places = Places::default(),
        /// Blocks read at a time.
        pub blocks: u64 = 256,
        /// Picks the blocks.
        pub seed: u64 = 0,
    }
}

impl SubjectTripParameters {
    /// Refuses what cannot be, with a sentence that says what can.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let asked = self.asked();
        subject_run::check(&self.on, |place| place.round_trip(&asked))
    }

    fn asked(&self) -> Asked {
        Asked { blocks: self.blocks, table_blocks: self.blocks.saturating_mul(TABLE_BLOCKS) }
    }

    /// Blocks of reading `number`, other ones each time.
    fn blocks_of(&self, number: usize) -> Vec<u64> {
        let all = self.blocks * TABLE_BLOCKS;
        let order = Permutation::new(all, &mut SplitMix64::new(self.seed));
        let first = number as u64 * self.blocks;
        (first..first + self.blocks).map(|at| order.at(at % all)).collect()
    }
}

/// Runs the experiment on each subject in turn. ^C ends it as [`ExperimentError::Stopped`]; what was kept is kept.
pub fn run_on(
    parameters: &SubjectTripParameters,
    environment: &Environment,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let asked = parameters.asked();
    let openers = subject_run::openers(&parameters.on, |place| place.round_trip(&asked), journal)?;
    let environment = &subject_run::announce(&openers, environment, machine, journal)?;
    let names_subject = openers.len() > 1;
    let mut descriptions = Descriptions::default();
    for opener in openers {
        subject_run::run_on(opener, environment, machine, journal, |subject, journal| {
            descriptions.take_name(subject.name(), environment)?;
            descriptions.add(subject, journal);
            let name = names_subject.then(|| subject.name().to_string());
            journal.step("loading the table", Duration::from_secs(2));
            let (offers, sources) = subject.prepare(&mut |what, expected| journal.step(what, expected))?;
            subject_run::keep_findings(subject, journal);
            for offer in offers {
                machine.stop.check()?;
                match subject.turn_to(offer, &mut |what, expected| journal.step(what, expected))? {
                    Ok(()) => pass(parameters, subject, (name.as_deref(), offer, &sources), journal)?,
                    Err(absence) => journal.find(disk::on(name.as_deref(), absence)),
                }
                subject_run::keep_findings(subject, journal);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Readings of single blocks, and what they say; `name` is the subject's where there are several.
fn pass(
    parameters: &SubjectTripParameters,
    subject: &mut dyn RoundTrip,
    (name, offer, sources): (Option<&str>, PassOffer, &Sources),
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    let PassOffer { pass, is_direct } = offer;
    journal.step(&format!("reading single blocks, {pass}"), Duration::from_secs(2));
    let read = |number| subject.read(&parameters.blocks_of(number));
    let reads = (0..REPEAT).map(read).collect::<Result<Vec<SingleReads>, _>>()?;
    // In a dry run blocks are neither read nor found.
    journal.find_all(nothing_read(pass, &reads, sources.cache).map(|finding| disk::on(name, finding)));
    let mut case = Case::new(name.map(|name| parameters::SUBJECT.of(name)).into_iter().collect::<Parameters>());
    case.parameters.extend([
        parameters::PASS.of(pass.name()),
        parameters::BLOCKS_PER_READ.of(1),
        parameters::DIRECT.of(is_direct),
        parameters::SEED.of(parameters.seed),
    ]);
    let of = |value: fn(&SingleReads) -> Option<f64>| reads.iter().filter_map(value).collect::<Vec<f64>>();
    let all = [
        reads::READ_LATENCY.of_samples(sources.wait, &of(|read| read.wait)),
        roundtrip::READ_LATENCY_AT_MOST.of_samples(sources.at_most, &of(|read| read.at_most)),
        roundtrip::READ_LATENCY_OF_SERVER.of_samples(sources.wait_of_all, &of(|read| read.wait_of_all)),
        roundtrip::BLOCKS_READ.of_samples(sources.blocks, &of(|read| Some(read.read as f64))),
        roundtrip::BLOCKS_HIT.of_samples(sources.blocks, &of(|read| Some(read.hits as f64))),
    ];
    case.metrics.extend(all.into_iter().flatten());
    if let Some(wait) = reads::READ_LATENCY.median(&case) {
        let tier = tier(&reads, is_direct, wait);
        case.parameters.extend([parameters::TIER.of(tier)]);
        journal.find(disk::on(name, finding(offer, wait, tier)));
    } else if let Some(most) = roundtrip::READ_LATENCY_AT_MOST.median(&case) {
        // What is faster than any device is known; what may have been waiting for one is not.
        let tier = tier(&reads, is_direct, most);
        case.parameters.extend([parameters::TIER.of(tier)]);
        journal.find(disk::on(name, bound(offer, most, tier)));
    }
    Ok(journal.keep(case)?)
}

/// Which tier answered: by what the kernel says of the table's files where it can be asked, otherwise by time alone.
fn tier(reads: &[SingleReads], is_direct: bool, wait: f64) -> &'static str {
    let held: Option<Vec<f64>> = reads.iter().map(|read| read.cached).collect();
    match held {
        _ if is_direct => "storage",
        Some(held) if held.iter().all(|share| *share > 1.0 - KEPT_MAX) => "page-cache",
        Some(held) if held.iter().all(|share| *share < KEPT_MAX) => "storage",
        Some(_) => "mixed",
        None if wait < PAGE_CACHE_MICROS => "page-cache",
        None => "unknown",
    }
}

pub(super) fn nothing_read(pass: Pass, reads: &[SingleReads], cache: &str) -> Option<Finding> {
    let message = format!(
        "All blocks were found in {cache} ({pass}): nothing was read, and what a read takes is not known. Ask for more \
         with --blocks, so that the table of {TABLE_BLOCKS} times as many does not stay there."
    );
    let is_nothing = reads.iter().all(|read| read.read == 0) && reads.iter().any(|read| read.hits > 0);
    is_nothing.then(|| row::NOTHING_READ.named(pass.name(), message))
}

pub(super) fn finding(PassOffer { pass, is_direct }: PassOffer, wait: f64, tier: &str) -> Finding {
    let (past, id) = if is_direct { (", past the page cache", "-direct") } else { ("", "") };
    let takes = format!("A block takes {} ({pass}{past})", micros(wait));
    let message = match tier {
        "page-cache" => format!(
            "{takes}: the operating system's page cache answered and not the storage, as in the published run where \
             several took {} µs.",
            roundtrip::PAGE_CACHE.value
        ),
        "mixed" | "unknown" => {
            format!("{takes}; which tier answered is not clear: the page cache of a busy machine, or the storage.")
        }
        _ => {
            let [san, nfs] = [roundtrip::SAN, roundtrip::NFS].map(|published| three_digits(published.value / wait));
            format!(
                "{takes}: the storage answered. For several blocks, the published SAN took {san} times that, the \
                 published NFS {nfs} times."
            )
        }
    };
    row::ANSWER_OF_SERVER.named(&format!("{pass}{id}"), message).with("read_latency", wait, Unit::Microseconds)
}

/// What a read takes at most, where the subject does not time reads.
pub(super) fn bound(PassOffer { pass, .. }: PassOffer, most: f64, tier: &str) -> Finding {
    let served = match tier {
        "page-cache" => "A device takes longer: the operating system's page cache answered and not the storage.",
        _ => "Which tier answered cannot be known from it.",
    };
    let message = format!(
        "A block takes at most {} ({pass}): the statement's whole time over the blocks that it read, because the \
         server did not time its reads. {served}",
        micros(most)
    );
    row::ANSWER_OF_SERVER.named(pass.name(), message).with("read_latency_at_most", most, Unit::Microseconds)
}

#[cfg(test)]
mod tests {
    use subjects::{Closing, Progress, Subject, SubjectError};

    use super::*;
    use crate::journal::Kept;

    /// A subject whose readings are all the same.
    struct Fake(SingleReads);

    impl Subject for Fake {
        fn name(&self) -> &str {
            "fake 1.0"
        }

        fn description(&self) -> Parameters {
            Parameters::new()
        }

        fn finish(self: Box<Self>) -> Closing {
            Closing::quiet()
        }
    }

    impl RoundTrip for Fake {
        fn prepare(&mut self, _progress: &mut Progress<'_>) -> Result<(Vec<PassOffer>, Sources), SubjectError> {
            unreachable!("a pass finds its table prepared")
        }

        fn turn_to(&mut self, _: PassOffer, _: &mut Progress<'_>) -> Result<Result<(), Finding>, SubjectError> {
            Ok(Ok(()))
        }

        fn read(&mut self, _blocks: &[u64]) -> Result<SingleReads, SubjectError> {
            Ok(self.0)
        }
    }

    #[test]
    fn each_sentence_about_one_of_several_servers_names_it() {
        let (clock, blocks, cache) = ("a clock", "a counter", "shared buffers");
        let sources = Sources { wait: clock, at_most: clock, wait_of_all: clock, blocks, cache };
        let said = |name: Option<&str>, read: SingleReads| {
            let offer = PassOffer { pass: Pass::FirstTouch, is_direct: false };
            let mut kept = Kept::default();
            pass(&SubjectTripParameters::default(), &mut Fake(read), (name, offer, &sources), &mut kept).unwrap();
            kept.findings.remove(0).message
        };
        let none = SingleReads::default();
        let readings = [
            SingleReads { read: 1, wait: Some(90.0), ..none },
            SingleReads { read: 1, at_most: Some(9.0), ..none },
            SingleReads { hits: 1, ..none },
        ];
        for read in readings {
            let [alone, named] = [None, Some("postgres 17.6")].map(|name| said(name, read));
            let behind = named.strip_prefix("On postgres 17.6, a");
            assert!(alone.starts_with('A') && behind == Some(&alone[1..]), "{alone} {named}");
        }
    }

    #[test]
    fn a_file_that_names_some_parameters_leaves_the_others_at_their_defaults() {
        let parameters: SubjectTripParameters = serde_json::from_str(r#"{"on": ["postgres:18"], "seed": 7}"#).unwrap();
        assert_eq!((parameters.blocks, parameters.seed, parameters.on.count()), (256, 7, 1));
        assert!(serde_json::from_str::<SubjectTripParameters>(r#"{"block": 1}"#).is_err(), "a slip is not a default");
    }

    #[test]
    fn the_engine_has_no_round_trip_and_says_so() {
        let refused = SubjectTripParameters::default().check().unwrap_err().to_string();
        assert!(refused.starts_with("engine cannot measure round trips: name a "), "{refused}");
    }

    #[test]
    fn a_tier_is_only_claimed_where_the_kernel_says_so_or_the_time_leaves_no_other() {
        let of = |cached, wait| tier(&[SingleReads { cached, ..SingleReads::default() }; 2], false, wait);
        assert_eq!([of(Some(1.0), 90.0), of(Some(0.0), 5.0), of(Some(0.5), 5.0)], ["page-cache", "storage", "mixed"]);
        assert_eq!([of(None, 5.0), of(None, 90.0)], ["page-cache", "unknown"]);
        assert_eq!(tier(&[SingleReads { cached: Some(1.0), ..SingleReads::default() }], true, 5.0), "storage");
    }
}
