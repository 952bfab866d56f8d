//! disk: random and sequential reads by place on the device (source: the reader of "How does one show the impact of
//! long seek times", 2005, which measured two zones of a hard disk from two processes).
//!
//! A read goes down once: parameters, setting (one path), view, case, reading, device; and comes back once.

mod case;
mod findings;
mod parameters;
mod paths;
mod setting;
mod views;
mod workload;

use std::time::Duration;

use crate::error::ExperimentError;
use crate::journal::Journal;
use crate::machine::Machine;
use crate::{own_cost, reading};
use case::Bench;
pub(crate) use findings::{micros, on};
pub use parameters::{DURATION, DURATION_OF_MANY, DiskParameters, IoMethod, Order, WARM_UP_MAX, Zone};
pub(crate) use paths::{in_turn, repeated};
use setting::Setting;

/// Waits of a server below this many microseconds a block are a copy from memory: a device takes longer.
pub(crate) const PAGE_CACHE_MICROS: f64 = 20.0;

/// Runs the experiment on every path.
pub fn run(parameters: &DiskParameters, machine: &Machine, journal: &mut dyn Journal) -> Result<(), ExperimentError> {
    parameters.check()?;
    parameters.workload().check_memory()?;
    let (paths, named_before) = paths::each_once(&parameters.paths);
    let mut settings = paths.iter().map(|path| Setting::open(path, parameters)).collect::<Result<Vec<_>, _>>()?;
    settings.iter().try_for_each(views::check_memory)?;
    expect_later(&mut settings);
    let several = settings.len() > 1;
    settings.iter_mut().for_each(|setting| setting.is_one_of_several = several);
    journal.find_all(named_before);
    machine.report_absences(journal);
    own_cost::measure(machine, journal);
    let names: Vec<String> = settings.iter().map(Setting::name).collect();
    let mut measured = Vec::new();
    let all = (&settings[..], &names[..]);
    in_turn(
        all,
        |setting| &*setting.device,
        machine,
        journal,
        |setting, journal| {
            setting.prepare(journal)?;
            // Of zones and places those that came to their end are kept.
            let (whole, is_kept) = views::run(Bench { setting, machine }, journal)?;
            measured.extend(whole.map(|one| (setting.name(), one)));
            Ok(is_kept)
        },
    )?;
    journal.find_all(findings::whole(&parameters.workload(), &measured));
    // Into the page cache the kernel reads as it likes, whatever our buffers are.
    let is_direct = !parameters.buffered && paths.iter().any(|path| device::without_kernel(path).is_none());
    if is_direct && parameters.reads_in_sequence() {
        let setting = machine.host.huge_pages.as_deref();
        journal.find_all(reading::huge_page_buffers(parameters.workload().pages, setting));
    }
    Ok(())
}

/// Refuses what a run would refuse of its paths, such as a file that holds no block or has no direct I/O. Of what is
/// not there or may not be read nothing is known.
pub fn check_paths(parameters: &DiskParameters) -> Result<(), ExperimentError> {
    for path in &parameters.paths {
        match device::open(path, parameters.caching()) {
            Ok(_) => drop(Setting::open(path, parameters)?),
            Err(error) if error.is_of_what_is_there() => return Err(error.into()),
            Err(_) => {}
        }
    }
    Ok(())
}

/// Tells each path how long those behind it take, so that the time left is that of the run.
fn expect_later(settings: &mut [Setting<'_>]) {
    let mut later = Duration::ZERO;
    for setting in settings.iter_mut().rev() {
        setting.later = later;
        // A model's time is not known, and takes nothing away.
        later = views::expected(setting).max(later);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use measure::Nanos;

    use super::*;
    use crate::journal::{Kept, Stop};

    fn unmeasured(paths: &[&str], is_stopped: bool) -> Vec<String> {
        let machine = Machine::observe(Stop::new(Arc::new(AtomicBool::new(is_stopped))));
        let paths = paths.iter().map(PathBuf::from).collect();
        let parameters = DiskParameters { paths, count: Some(10), ..DiskParameters::default() };
        let mut kept = Kept::default();
        run(&parameters, &machine, &mut kept).unwrap();
        kept.unmeasured
    }

    #[test]
    fn what_an_interrupted_run_of_several_files_did_not_measure_is_said() {
        let both = ["model:ssd", "model:hdd-7200"];
        assert_eq!(unmeasured(&both, true), both);
        assert_eq!(unmeasured(&both, false), [""; 0]);
        assert_eq!(unmeasured(&both[..1], true), [""; 0], "of one alone the cases say it");
    }

    #[test]
    fn buffered_reads_are_not_said_to_be_one_request_each_by_the_pages_of_our_buffers() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![7; 2 << 20]).unwrap();
        let machine = Machine::observe(Stop::new(Arc::new(AtomicBool::new(false))));
        let (paths, block_size) = (vec![file.path().into()], measure::Size(1 << 20));
        let pattern = Order::Sequential;
        let reads =
            DiskParameters { paths, pattern, block_size, count: Some(2), buffered: true, ..DiskParameters::default() };
        let mut kept = Kept::default();
        run(&reads, &machine, &mut kept).unwrap();
        assert!(kept.findings.iter().all(|finding| finding.id != "huge-page-buffers"));
    }

    #[test]
    fn a_path_that_is_given_twice_is_read_alone_and_no_sentence_says_which_path_it_is_on() {
        let on_a_path = |paths: [&str; 2]| {
            let machine = Machine::observe(Stop::new(Arc::new(AtomicBool::new(false))));
            let paths = paths.map(PathBuf::from).into();
            let parameters = DiskParameters { paths, sweep: Some(2), count: Some(10), ..DiskParameters::default() };
            let mut kept = Kept::default();
            run(&parameters, &machine, &mut kept).unwrap();
            kept.findings.iter().filter(|finding| finding.message.starts_with("On model:")).count()
        };
        assert_eq!(on_a_path(["model:ssd", "model:hdd-7200"]), 2);
        assert_eq!(on_a_path(["model:ssd"; 2]), 0);
    }

    #[test]
    fn the_time_left_of_one_file_includes_that_of_the_files_behind_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(64 << 20).unwrap();
        let parameters = DiskParameters {
            buffered: true,
            duration: Some(Nanos::from_millis(2000)),
            warm_up: Some(Nanos::ZERO),
            zones: vec![Zone::Outer, Zone::Inner],
            ..DiskParameters::default()
        };
        let open = |_| Setting::open(file.path(), &parameters).unwrap();
        let mut settings: Vec<Setting<'_>> = (0..3).map(open).collect();
        expect_later(&mut settings);
        // Both zones of a path are still to come, then one.
        let left = |one: &Setting<'_>| [2, 1].map(|cases| one.expected(&one.workload, cases).as_secs());
        assert_eq!(settings.iter().map(left).collect::<Vec<_>>(), [[12, 10], [8, 6], [4, 2]]);
    }
}
