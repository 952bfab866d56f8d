//! `readpath disk`: random and sequential reads by place on a file or block device.

use std::path::PathBuf;

use ::measure::{Nanos, Size};
use clap::ArgAction::Set;
use clap::builder::BoolishValueParser;
use clap::{ArgGroup, ArgMatches, Args};
use experiments::disk::{self, DURATION, DURATION_OF_MANY, DiskParameters, IoMethod, Order, WARM_UP_MAX, Zone};

use super::measure::{measure, refuse_ahead};
use super::subjects::refuse_databases;
use super::unused::{refuse_unread, refuse_unused};
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments, fresh_seed};
use crate::words::word;

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "disk", define: Arguments::augment_args, run };

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

/// Reads a file or block device at random or in sequence, by place, and shows which level served the reads
#[derive(Args)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("view").args(["zones", "sweep", "seek_distances"]))]
struct Arguments {
    /// Files or block devices, opened for reading only, or a model:
    /// model:hdd-7200, model:ssd, model:network-array, model:fixed-latency, model:FILE.toml;
    /// or null:, which reads nothing and shows what the tool itself costs
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Order of the reads
    #[arg(long, value_parser = word::<Order>(), default_value_t = DiskParameters::default().pattern)]
    pattern: Order,
    /// Bytes per read
    #[arg(long, default_value_t = DiskParameters::default().block_size)]
    block_size: Size,
    /// Bytes of the region, or of a zone [default: all; zones: 2GiB or a third]
    #[arg(long)]
    span: Option<Size>,
    /// First byte of the region
    #[arg(long, default_value_t = DiskParameters::default().offset)]
    offset: Size,
    /// Reads of each worker in a case
    #[arg(long, conflicts_with = "duration")]
    count: Option<u64>,
    #[arg(long, help = format!("Time of a case [default: {DURATION}; a place of a sweep or a distance: \
        {DURATION_OF_MANY}]"))]
    duration: Option<Nanos>,
    #[arg(long, help = format!("Time before the measurement, its reads recorded separately [default: {WARM_UP_MAX}; \
        with --count: none]"))]
    warm_up: Option<Nanos>,
    /// Order of the random reads [default: a different one each run, so that no cache remembers it]
    #[arg(long)]
    seed: Option<u64>,
    /// Threads, each with its own descriptor and seed [default: 1; zones: 2]
    #[arg(long)]
    workers: Option<usize>,
    /// Reads in flight, each worker
    #[arg(long, default_value_t = DiskParameters::default().depth)]
    depth: usize,
    /// Completions to wait for at once [default: 1; from depth 16 on, half the depth, at most 16; with --rate always 1]
    #[arg(long, value_name = "N")]
    reap_batch: Option<usize>,
    /// How reads are submitted to the kernel
    #[arg(long, value_parser = word::<IoMethod>(), default_value_t = DiskParameters::default().io_method)]
    io_method: IoMethod,
    /// Past the page cache (default)
    #[arg(long, conflicts_with = "buffered")]
    direct: bool,
    /// Through the page cache
    #[arg(long)]
    buffered: bool,
    /// One case per zone: outer, inner, both
    #[arg(long, value_parser = word::<Zone>(), value_delimiter = ',')]
    zones: Vec<Zone>,
    /// N places from the first byte to the last
    #[arg(long, value_name = "N")]
    sweep: Option<u32>,
    /// Growing distances between consecutive reads
    #[arg(long)]
    seek_distances: bool,
    /// Reads a second over all workers, begun whether or not earlier ones have ended
    #[arg(long)]
    rate: Option<f64>,
    /// Drop what each case reads from the page cache before it; for files of your own
    #[arg(long)]
    evict: bool,
    /// Buffers on huge pages; large reads then take fewer requests than fio, dd and most databases send
    #[arg(long, value_name = "on|off", default_value = "on", value_parser = BoolishValueParser::new(), action = Set,
        hide_possible_values = true)]
    huge_pages: bool,
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let parameters = arguments::<Arguments>(matches)?.parameters()?;
    refuse_databases(COMMAND.name, &parameters.paths)?;
    refuse_unread(matches, &parameters.paths)?;
    // Also where it is the usual one.
    let of_view = [
        ("pattern", parameters.sweep.is_none(), "a sweep reads each place at random and then in sequence"),
        ("pattern", !parameters.seek_distances, "--seek-distances sets the order of the reads"),
    ];
    refuse_unused(matches, &of_view)?;
    refuse_ahead(context, || disk::check_paths(&parameters))?;
    measure(context, COMMAND.name, |journal, machine| disk::run(&parameters, machine, journal))
}

impl Arguments {
    fn parameters(self) -> Result<DiskParameters, Failure> {
        let parameters = DiskParameters {
            paths: self.paths,
            pattern: self.pattern,
            block_size: self.block_size,
            span: self.span,
            offset: self.offset,
            count: self.count,
            duration: self.duration,
            warm_up: self.warm_up,
            seed: Some(self.seed.unwrap_or_else(fresh_seed)),
            workers: self.workers,
            depth: self.depth,
            reap_batch: self.reap_batch,
            io_method: self.io_method,
            buffered: self.buffered,
            zones: self.zones,
            sweep: self.sweep,
            seek_distances: self.seek_distances,
            rate: self.rate,
            evict: self.evict,
            huge_pages: self.huge_pages,
        };
        parameters.check().map_err(Failure::wrong)?;
        Ok(parameters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::from_file::{of_file, of_line};

    #[test]
    fn a_file_and_a_command_line_give_the_same_parameters() {
        let of_line = |line: &str| of_line::<Arguments>(Arguments::augment_args, line).parameters().unwrap();
        let paths = "paths = ['/data/old.dbf', 'model:ssd']\nseed = 7\n";
        let usual = of_line("/data/old.dbf model:ssd --seed 7");
        assert_eq!(of_file::<DiskParameters>(paths), usual);
        let line = "/data/old.dbf model:ssd --seed 7 --pattern sequential --block-size 1MiB --span 8GiB --offset 64KiB \
                    --duration 5s --warm-up 100ms --workers 4 --depth 32 --reap-batch 8 --io-method io_uring \
                    --buffered --zones outer,both --evict --huge-pages off";
        let file = "pattern = 'sequential'\nblock_size = '1MiB'\nspan = '8GiB'\noffset = '64KiB'\nduration = '5s'\n\
                    warm_up = '100ms'\nworkers = 4\ndepth = 32\nreap_batch = 8\nio_method = 'io_uring'\n\
                    buffered = true\nzones = ['outer', 'both']\nevict = true\nhuge_pages = false\n";
        assert_eq!(of_file::<DiskParameters>(&format!("{paths}{file}")), of_line(line));
        assert_eq!(of_file::<DiskParameters>(&toml::to_string(&of_line(line)).unwrap()), of_line(line));
    }
}
