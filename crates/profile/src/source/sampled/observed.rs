//! What is known of a server and of the sampling besides the samples.

use std::collections::BTreeMap;

use measure::Parameters;

use crate::event::Ticks;
use crate::tables::sampled::{Counters, OwnCost};

/// What is known of the server and of the sampling besides the samples.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The server as people name it.
    pub server: String,
    /// Its release.
    pub version: String,
    /// The subject of the run document.
    pub subject: Parameters,
    /// Samples a second that were to be taken.
    pub rate: f64,
    /// How many were asked for, where that is more than a server is asked for.
    pub rate_asked: Option<f64>,
    /// Time of the sessions at work by the server's own account, or why there is none; `None` before it was asked.
    pub db_time: Option<Result<Ticks, String>>,
    /// Most sessions at one time of which the server shows only that they are there, also where its memory shows more.
    pub hidden: u64,
    /// What the server counted of statements meanwhile, by their identifiers, each with its text.
    pub counters: Option<BTreeMap<i64, (Counters, String)>>,
    /// Whether that is of a part of the time alone.
    pub is_counted_in_part: bool,
    /// What sampling took.
    pub own: OwnCost,
    /// Most that the server had worked for our session before the samples, and may have added to its account later.
    pub own_before: Ticks,
    /// Share of the processors' busy time that the hypervisor took.
    pub stolen: Option<f64>,
    /// How many processors of the server's machine this process may use, where it is this one.
    pub cores: Option<u64>,
    /// What the profile was made from, and what more would add, as sentences.
    pub level: Vec<String>,
    /// The names of relations by the paths of their files.
    pub relations: BTreeMap<String, String>,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Bytes of the server's buffers.
    pub buffer_bytes: u64,
    /// Why there are no samples of a time, and how long it was.
    pub away: Vec<(String, Ticks)>,
    /// Why the sampling ended early.
    pub ended: Option<String>,
    /// Sessions that were not watched to the end, and why.
    pub left: Vec<(u32, String)>,
    /// How often the server was asked what its sessions do, where it writes each of our statements to its log.
    pub logged: Option<u64>,
    /// How the command that was the load failed.
    pub load_failed: Option<String>,
}
