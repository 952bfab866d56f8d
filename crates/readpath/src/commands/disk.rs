//! `readpath disk`: random and sequential reads by place on a file or block device.

use std::path::PathBuf;

use ::measure::Nanos;
use ::measure::quantity::{parse_size, parse_time};
use clap::{ArgGroup, ArgMatches, Args, Command, ValueEnum};
use device::pattern::Pattern;
use device::plan::StopAfter;
use experiments::disk::{self, DiskParameters, View, Zone};
use sys::read::{self, MethodRow};
use sys::target::Caching;

use super::measure::measure;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments, fresh_seed};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "disk", define, run };

const EXAMPLES: &str = "\
Examples:
  readpath disk /data/old.dbf                                random 8 KiB reads, one at a time
  readpath disk /data/old.dbf --depth 32                     32 reads in flight
  readpath disk /data/old.dbf --pattern sequential --block-size 1MiB
  readpath disk /dev/sdb --zones outer,inner,both --count 1000
  readpath disk /dev/sdb --sweep 32                          32 places, first byte to last
  readpath disk /data/old.dbf --rate 2000 --depth 32         open loop, from the intended start
  readpath disk /data/old.dbf --buffered                     through the page cache
  readpath disk model:hdd-7200 --zones outer,inner,both --count 1000     a modelled disk";

#[derive(Clone, Copy, ValueEnum)]
enum PatternName {
    /// Every block once in random order, then again in another
    Random,
    /// Ascending
    Sequential,
}

#[derive(Clone, Copy, ValueEnum)]
enum ZoneName {
    /// The first span
    Outer,
    /// The last span
    Inner,
    /// Half the workers in each at the same time
    Both,
}

/// How reads are asked for; the rows of `sys::read::METHODS`, and the choice among them.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
enum MethodName {
    /// The cheapest that holds the depth
    Auto,
    /// One preadv2 after the other
    Sync,
    /// A thread for each read in flight
    Threads,
    /// One ring, batched
    IoUring,
}

#[derive(Args)]
#[command(group = ArgGroup::new("view").args(["zones", "sweep", "seek_distances"]))]
struct Arguments {
    /// Files or block devices, opened for reading only, or a model:
    /// model:hdd-7200, model:ssd, model:network-array, model:fixed-latency, model:FILE.toml
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Order of the reads
    #[arg(long, value_enum, default_value_t = PatternName::Random)]
    pattern: PatternName,
    /// Bytes a read
    #[arg(long, default_value = "8KiB", value_parser = parse_size)]
    block_size: u64,
    /// Bytes of the region, or of a zone [default: all; zones: 2GiB or a third]
    #[arg(long, value_parser = parse_size)]
    span: Option<u64>,
    /// First byte of the region
    #[arg(long, default_value = "0", value_parser = parse_size)]
    offset: u64,
    /// Reads of each worker in a case
    #[arg(long, conflicts_with = "duration")]
    count: Option<u64>,
    /// Time of a case [default: 3s; a place of a sweep or a distance: 500ms]
    #[arg(long, value_parser = parse_time)]
    duration: Option<Nanos>,
    /// Time before the measurement, its reads kept apart [default: 200ms; with --count: none]
    #[arg(long, value_parser = parse_time)]
    warm_up: Option<Nanos>,
    /// Order of the random reads [default: another one each run, so that no cache remembers it]
    #[arg(long)]
    seed: Option<u64>,
    /// Threads, each with its own descriptor and seed [default: 1; zones: 2]
    #[arg(long)]
    workers: Option<usize>,
    /// Reads in flight, each worker
    #[arg(long, default_value_t = 1)]
    depth: usize,
    /// Completions to wait for at once [default: 1, from depth 16 on half of it, at most 16]
    #[arg(long, value_name = "N")]
    reap_batch: Option<usize>,
    /// How the kernel is asked
    #[arg(long, value_enum, default_value_t = MethodName::Auto)]
    io_method: MethodName,
    /// Past the page cache (default)
    #[arg(long, conflicts_with = "buffered")]
    direct: bool,
    /// Through the page cache
    #[arg(long)]
    buffered: bool,
    /// One case a zone: outer, inner, both
    #[arg(long, value_enum, value_delimiter = ',')]
    zones: Option<Vec<ZoneName>>,
    /// N places from the first byte to the last
    #[arg(long, value_name = "N")]
    sweep: Option<u32>,
    /// Growing distances between consecutive reads
    #[arg(long)]
    seek_distances: bool,
    /// Reads a second over all workers, begun whether or not earlier ones have ended
    #[arg(long)]
    rate: Option<f64>,
    /// Drop the region from the page cache first; for files of your own
    #[arg(long)]
    evict: bool,
}

fn define(command: Command) -> Command {
    let about = "Reads a file or block device at random or in sequence, by place, and tells who answered";
    Arguments::augment_args(command).about(about).after_help(EXAMPLES).allow_negative_numbers(true)
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let parameters = arguments::<Arguments>(matches)?.parameters()?;
    measure(context, COMMAND.name, |journal, machine| disk::run(&parameters, machine, journal))
}

impl Arguments {
    fn parameters(self) -> Result<DiskParameters, Failure> {
        let view = self.view();
        let stop_after = self.stop_after(&view);
        let workers = self.workers.unwrap_or(if matches!(view, View::Zones(_)) { 2 } else { 1 });
        let too_large = |_| Failure::new(Exit::WrongCommandLine, "--block-size is too large for this machine");
        let parameters = DiskParameters {
            pattern: match self.pattern {
                PatternName::Random => Pattern::Random,
                PatternName::Sequential => Pattern::Sequential,
            },
            block_size: usize::try_from(self.block_size).map_err(too_large)?,
            offset: self.offset,
            span: self.span,
            stop_after,
            warm_up: self.warm_up(stop_after),
            seed: self.seed.unwrap_or_else(fresh_seed),
            workers,
            depth: self.depth,
            reap_batch: self.reap_batch,
            method: self.io_method.row(),
            caching: if self.buffered { Caching::Buffered } else { Caching::Direct },
            view,
            rate: self.rate,
            evict: self.evict,
            paths: self.paths,
        };
        let impossible = |error: experiments::ExperimentError| Failure::new(Exit::WrongCommandLine, error);
        parameters.check().map_err(impossible)?;
        Ok(parameters)
    }

    fn view(&self) -> View {
        let zone = |name: &ZoneName| match name {
            ZoneName::Outer => Zone::Outer,
            ZoneName::Inner => Zone::Inner,
            ZoneName::Both => Zone::Both,
        };
        match (&self.zones, self.sweep, self.seek_distances) {
            (Some(zones), ..) => {
                let mut named: Vec<Zone> = Vec::new();
                zones.iter().map(zone).for_each(|zone| {
                    if !named.contains(&zone) {
                        named.push(zone)
                    }
                });
                View::Zones(named)
            }
            (_, Some(places), _) => View::Sweep(places),
            (.., true) => View::SeekDistances,
            _ => View::Whole,
        }
    }

    fn stop_after(&self, view: &View) -> StopAfter {
        let short = matches!(view, View::Sweep(_) | View::SeekDistances);
        let usual = Nanos::from_millis(if short { 500 } else { 3000 });
        self.count.map_or(StopAfter::Time(self.duration.unwrap_or(usual)), StopAfter::Reads)
    }

    fn warm_up(&self, stop_after: StopAfter) -> StopAfter {
        let usual = match stop_after {
            StopAfter::Reads(_) => Nanos::ZERO,
            // A short case keeps its warm-up shorter than itself.
            StopAfter::Time(time) => Nanos(time.0 / 5).min(Nanos::from_millis(200)),
        };
        StopAfter::Time(self.warm_up.unwrap_or(usual))
    }
}

impl MethodName {
    fn row(self) -> Option<&'static MethodRow> {
        match self {
            MethodName::Auto => None,
            MethodName::Sync => read::method("sync"),
            MethodName::Threads => read::method("threads"),
            MethodName::IoUring => read::method("io_uring"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_of_the_table_can_be_named() {
        let named: Vec<&str> = MethodName::value_variants().iter().filter_map(|name| Some(name.row()?.name)).collect();
        let table: Vec<&str> = read::METHODS.iter().map(|row| row.name).collect();
        assert_eq!(named, table);
    }
}
