//! roundtrip: what a read costs on its way to the storage and back (source: "How to figure out disk network latency
//! using cached blocks", whose own trap is the point: the tool must prove which level served the read).

mod findings;
mod layout;
mod on_subjects;
mod parameters;
mod trip;

use std::path::PathBuf;

use crate::disk;
use crate::error::{ExperimentError, refuse};
use crate::journal::Journal;
use crate::machine::Machine;
use crate::own_cost;
use layout::{Layout, Way};
pub use on_subjects::{SubjectTripParameters, run_on};
pub use parameters::RoundtripParameters;
use trip::Trip;

/// Runs the experiment on every path.
pub fn run(
    parameters: &RoundtripParameters,
    machine: &Machine,
    journal: &mut dyn Journal,
) -> Result<(), ExperimentError> {
    parameters.check()?;
    refuse_repeated(&parameters.paths)?;
    let trips =
        parameters.paths.iter().map(|path| Trip::open(path, parameters, machine)).collect::<Result<Vec<_>, _>>()?;
    let ways: Vec<Way> = trips.iter().map(|trip| trip.way).collect();
    refuse_idle_eviction(parameters, &ways)?;
    machine.report_absences(journal);
    own_cost::measure(machine, journal);
    let mut later = 0;
    for trip in trips.iter().rev() {
        later = trip.count_passes(later);
    }
    let several = trips.len() > 1;
    let names: Vec<String> = parameters.paths.iter().map(|path| path.display().to_string()).collect();
    // Of the one under way those passes that came to their end are kept.
    let all = (&trips[..], &names[..]);
    disk::in_turn(all, |trip| &*trip.device, machine, journal, |trip, journal| trip.run(several, journal))
}

/// Refuses what a run would refuse of its paths, such as a file that is too small. Of what is not there or may not be
/// read nothing is known.
pub fn check_paths(parameters: &RoundtripParameters) -> Result<(), ExperimentError> {
    refuse_repeated(&parameters.paths)?;
    let mut ways = Vec::new();
    for path in &parameters.paths {
        match device::open_direct_or_buffered(path) {
            Ok(device) => {
                Layout::of(path, parameters, device.as_ref())?;
                ways.push(Way::of(device.as_ref()));
            }
            Err(error) if error.is_of_what_is_there() => return Err(error.into()),
            Err(_) => ways.push(Way::ThroughPageCache),
        }
    }
    refuse_idle_eviction(parameters, &ways)
}

/// Refuses `--evict` where no block comes by way of the page cache, or none that leaves memory.
fn refuse_idle_eviction(parameters: &RoundtripParameters, ways: &[Way]) -> Result<(), ExperimentError> {
    if !parameters.evict || ways.contains(&Way::ThroughPageCache) {
        return Ok(());
    }
    let reason = match ways.contains(&Way::InMemory) {
        true => "a file system in memory, such as tmpfs, keeps its files there. Name a file on storage",
        false => "the blocks are read past the page cache",
    };
    refuse(format!("--evict has no effect here: {reason}"))
}

/// Refuses a file or a device that is named twice. The passes over the first name would have touched its blocks before
/// the first touch by the second.
fn refuse_repeated(paths: &[PathBuf]) -> Result<(), ExperimentError> {
    let (_, repeated) = disk::repeated(paths);
    match repeated.iter().find(|[path, _]| !device::has_prefix(path)) {
        Some([path, first]) => refuse(format!(
            "{} is {}, which was named before, so its first touch would not be the first: name it once",
            path.display(),
            first.display()
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sys::file::Target;

    use super::*;
    use crate::journal::{Kept, Stop};

    #[test]
    fn the_passes_over_all_paths_are_counted_for_the_time_left() {
        let (machine, parameters) = (Machine::observe(Stop::default()), RoundtripParameters::default());
        let trip = Trip::open(Path::new("model:ssd"), &parameters, &machine).unwrap();
        // A model has two passes, each with three sizes of requests.
        assert_eq!([trip.count_passes(0), trip.count_passes(6)], [6, 12]);
    }

    #[test]
    fn a_file_on_tmpfs_is_not_said_to_be_evicted() {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return println!("skipped: there is no /dev/shm") };
        let path = folder.path().join("data");
        std::fs::write(&path, vec![7_u8; 4 << 20]).unwrap();
        let device = device::open_direct_or_buffered(&path).unwrap();
        if device.witnesses().target().and_then(Target::filesystem).as_deref() != Some("tmpfs") {
            return println!("skipped: /dev/shm is no tmpfs");
        }
        let blocks = RoundtripParameters { paths: vec![path], blocks: 16, ..RoundtripParameters::default() };
        let evicting = RoundtripParameters { evict: true, ..blocks.clone() };
        let machine = Machine::observe(Stop::default());
        let mut kept = Kept::default();
        let refusals = [check_paths(&evicting), run(&evicting, &machine, &mut kept)];
        for refused in refusals.map(|refused| refused.unwrap_err().to_string()) {
            assert!(refused.starts_with("--evict has no effect here: a file system in memory"), "{refused}");
        }
        run(&blocks, &machine, &mut kept).unwrap();
        let said = kept.message("no-direct-io").unwrap();
        assert!(said.contains("keeps files in memory") && !said.contains("--evict"), "{said}");
    }
}
