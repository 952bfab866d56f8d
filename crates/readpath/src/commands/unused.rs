//! Options that a run has no use for: they are refused with the reason, and none is ignored.

use std::path::PathBuf;

use clap::ArgMatches;
use clap::parser::ValueSource;
use profile::ingest::Chosen;

use crate::exit::Failure;

/// Options that say how a kernel is to read.
const OF_KERNEL: [&str; 5] = ["direct", "buffered", "io_method", "evict", "huge_pages"];

/// Refuses the first of these options that is given and not used, with the reason after it.
pub(super) fn refuse_unused(matches: &ArgMatches, options: &[(&str, bool, &str)]) -> Result<(), Failure> {
    // Not every command has every option.
    let is_given =
        |id: &str| matches.ids().any(|known| known == id) && matches.value_source(id) == Some(ValueSource::CommandLine);
    match options.iter().find(|(id, is_used, _)| !is_used && is_given(id)) {
        Some((id, _, reason)) => {
            Err(Failure::wrong(format!("--{} has no effect here: {reason}.", id.replace('_', "-"))))
        }
        None => Ok(()),
    }
}

/// Refuses options that the source of a profile has no use for.
pub(super) fn refuse_unused_of_source(matches: &ArgMatches, chosen: &Chosen) -> Result<(), Failure> {
    let unused: Vec<_> = chosen.unused().iter().map(|(option, reason)| (*option, false, *reason)).collect();
    refuse_unused(matches, &unused)
}

/// Refuses options of a kernel's reads where no kernel reads any of the devices.
pub(super) fn refuse_unread<'a>(
    matches: &ArgMatches,
    devices: impl IntoIterator<Item = &'a PathBuf>,
) -> Result<(), Failure> {
    let reasons: Option<Vec<String>> = devices
        .into_iter()
        .map(|device| Some(format!("{} {}", device.display(), device::without_kernel(device)?)))
        .collect();
    let Some(reason) = reasons.as_ref().and_then(|reasons| reasons.first()) else { return Ok(()) };
    refuse_unused(matches, &OF_KERNEL.map(|id| (id, false, reason.as_str())))
}
