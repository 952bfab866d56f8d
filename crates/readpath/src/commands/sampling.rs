//! How a running server is sampled: the options that `profile --on`, `record` and `top` have in common.

use ::profile::event::Ticks;
use clap::Args;
use jiff::Timestamp;
use live::{Settings, Watch, WatchedFor};
use server::facts::ASSUMED_MAJOR;
use server::{Address, Statements};

use crate::exit::{Exit, Failure};
use crate::options::fresh_seed;
use crate::output;

/// Samples a second.
const RATES: std::ops::RangeInclusive<f64> = 1.0..=2000.0;

#[derive(Args)]
pub(super) struct Sampling {
    /// Samples a second, from 1 to 2000 [default: 1000 where the server's shared memory can be read, otherwise 50, and
    /// then at most 100]
    #[arg(long, value_name = "HZ", allow_negative_numbers = true)]
    rate: Option<f64>,
    /// Do not trace which tier answered each read of a file: tracing, which requires root or CAP_PERFMON, makes
    /// every system call of the machine slower, by some 30 to 65 ns
    #[arg(long)]
    no_tiers: bool,
    /// Print every statement that would be sent to the server, and send none
    #[arg(long)]
    pub(super) dry_run: bool,
}

impl Sampling {
    /// Refuses a rate that is too low or too high.
    pub(super) fn refuse_rate(&self) -> Result<(), Failure> {
        let Some(rate) = self.rate.filter(|rate| !RATES.contains(rate)) else { return Ok(()) };
        Err(Failure::wrong(format!("--rate {rate}: a server is sampled from 1 to 2000 times a second.")))
    }

    /// Prints every statement that would be sent to a server of this version, below what a reader has to know.
    pub(super) fn rehearse(
        &self,
        remark: &str,
        (address, major): (&Address, u32),
        (think_time, watched_for): (Ticks, WatchedFor),
    ) -> Result<Exit, Failure> {
        let recorder = Statements::default();
        Watch::rehearse(address, self.settings(think_time), (recorder.clone(), major), watched_for)?;
        output::print(&format!("{remark}{}", recorder.script()))?;
        Ok(Exit::Done)
    }

    /// How the server is watched, from now on.
    pub(super) fn settings(&self, think_time: Ticks) -> Settings {
        Settings {
            rate: self.rate,
            reads_memory: true,
            traces_reads: !self.no_tiers,
            wall_clock: Timestamp::now().as_microsecond(),
            think_time,
            seed: fresh_seed(),
        }
    }
}

/// What a reader of a dry run on a given server has to know.
pub(super) fn remark() -> String {
    format!(
        "-- What follows would be sent if every answer is as expected; nothing was sent.\n\
         -- The version of the server is not asked, and is taken to be {ASSUMED_MAJOR}.\n"
    )
}
