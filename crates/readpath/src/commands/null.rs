//! `readpath null`: measures nothing but the reading of the clock. It is the row that shows what the command layer
//! itself does: keeping, progress, interruption.

use std::time::{Duration, Instant};

use ::measure::schema::null::parameters;
use ::measure::schema::own_cost;
use ::measure::{Case, quantity};
use clap::{ArgMatches, Args};
use experiments::{ExperimentError, Journal, Stop};

use super::measure::measure;
use crate::exit::{Exit, Failure};
use crate::options::{CommandRow, Context, arguments};

/// The row of the table of commands.
pub(super) const COMMAND: CommandRow = CommandRow { name: "null", define: Arguments::augment_args, run };

/// Pairs of clock reads in a case.
const READINGS: usize = 200;

/// Longest sleep before the flag is looked at again.
const NAP_MAX: Duration = Duration::from_millis(10);

/// Measures the reading of the clock alone, to show the command layer at work
#[derive(Args)]
#[command(after_help = "Examples:\n  readpath null --cases 5")]
struct Arguments {
    /// Number of cases
    #[arg(long, default_value_t = 3)]
    cases: u64,
    /// Pause before each case
    #[arg(long, default_value = "0ms", allow_hyphen_values = true, value_parser = quantity::parse_time)]
    pause: ::measure::Nanos,
}

fn run(matches: &ArgMatches, context: &Context) -> Result<Exit, Failure> {
    let Arguments { cases, pause } = arguments(matches)?;
    measure(context, COMMAND.name, |journal, machine| clock_reads(cases, pause.into(), journal, &machine.stop))
}

fn clock_reads(cases: u64, pause: Duration, journal: &mut dyn Journal, stop: &Stop) -> Result<(), ExperimentError> {
    journal.describe_subject("kind", "model".into());
    for number in 1..=cases {
        journal.step(&format!("clock reads, {number} of {cases}"), pause);
        sleep_unless_stopped(pause, stop);
        if stop.requested() {
            return Ok(());
        }
        let samples: Vec<f64> = (0..READINGS).map(|_| clock_read_nanos()).collect();
        let metrics = own_cost::CLOCK_READ.of_samples("monotonic clock", &samples).into_iter().collect();
        let parameters = [parameters::REPETITION.of(number)].into_iter().collect();
        journal.keep(Case { parameters, metrics, timeline: None })?;
    }
    Ok(())
}

fn clock_read_nanos() -> f64 {
    let start = Instant::now();
    start.elapsed().as_nanos() as f64
}

fn sleep_unless_stopped(pause: Duration, stop: &Stop) {
    let start = Instant::now();
    while start.elapsed() < pause && !stop.requested() {
        std::thread::sleep(NAP_MAX.min(pause.saturating_sub(start.elapsed())));
    }
}
