//! The tracing of a server: what the follower found, the names of the relations, and the level that it is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use profile::source::sampled::{Sample, SampledProfile};
use server::{ServerError, Session};

use super::follower::Follower;
use super::relations::Relations;
use super::waiting::waiting;

/// The first version that reads by other means than its backends' own calls, and which it is set to.
const WITH_METHODS: u32 = 18;
const METHOD: &str = "SELECT setting FROM pg_settings WHERE name = 'io_method'";
const RING: &str = "io_uring";
const WORKER: &str = "worker";

/// The tracing of a server.
pub(crate) struct TracedServer {
    /// `None` once it has ended; `Err` holds the reason why there is none.
    follower: Result<Option<Follower>, String>,
    relations: Relations,
    /// The wall clock at a moment, in µs since 1970. That of a server on this machine is the same.
    clock: (Instant, i64),
    method: Option<String>,
    /// Sessions that wait for reads of others, as they were last asked for.
    waiting: Vec<(u32, Arc<str>)>,
}

impl TracedServer {
    /// Nothing is traced yet; the wall clock at a moment, in µs since 1970.
    pub(crate) fn new(clock: (Instant, i64)) -> TracedServer {
        let follower = Err("nothing is sent".into());
        TracedServer { follower, relations: Relations::default(), clock, method: None, waiting: Vec::new() }
    }

    /// Begins to trace where that is possible here; again on a server that has been restarted, after what was traced
    /// before has ended. Names of relations stay.
    pub(crate) fn begin(&mut self, session: &mut Session, is_local: bool) -> Result<(), ServerError> {
        self.follower = Err("the server could not be asked when it came back".into());
        if session.facts().major() >= WITH_METHODS {
            self.method = session.text(METHOD, Some(WORKER))?;
        }
        let wall = self.at(Instant::now());
        self.follower = Follower::open(session.facts(), is_local, wall).map(Some);
        Ok(())
    }

    /// Traces nothing from now on, for this reason.
    pub(crate) fn leave_out(&mut self, reason: &str) {
        self.follower = Err(reason.into());
    }

    /// A moment in µs since 1970.
    fn at(&self, moment: Instant) -> i64 {
        let (then, wall) = self.clock;
        let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        let (later, earlier) = (moment.saturating_duration_since(then), then.saturating_duration_since(moment));
        wall.saturating_add(micros(later)).saturating_sub(micros(earlier))
    }

    /// Gives the profile what was traced until this look.
    pub(crate) fn look(&mut self, moment: Instant, samples: &[Sample], profile: &mut SampledProfile) {
        if let Ok(Some(follower)) = &self.follower {
            let (mut traced, files) = follower.take();
            traced.waiting.append(&mut self.waiting);
            self.relations.want(files);
            profile.trace(self.at(moment), samples, traced);
        }
    }

    /// Asks for names that are lacking, and for sessions that wait for reads of others.
    pub(crate) fn ask(&mut self, session: &mut Session) -> Result<(), ServerError> {
        if self.method.as_deref() == Some(WORKER) && matches!(self.follower, Ok(Some(_))) {
            self.waiting = waiting(session)?;
        }
        self.relations.ask(session)
    }

    /// Ends the tracing, and gives the profile the rest.
    pub(crate) fn finish(&mut self, profile: &mut SampledProfile) {
        if let Some(follower) = self.follower.as_mut().ok().and_then(Option::take) {
            let (traced, files) = follower.finish();
            self.relations.want(files);
            profile.trace(self.at(Instant::now()), &[], traced);
        }
    }

    /// The names of relations by the paths of their files.
    pub(crate) fn names(&self) -> BTreeMap<String, String> {
        self.relations.names()
    }

    /// What it sends, for a dry run.
    pub(crate) fn rehearse(session: &mut Session) -> Result<(), ServerError> {
        if session.facts().major() >= WITH_METHODS {
            session.text(METHOD, Some(WORKER))?;
            waiting(session)?;
        }
        Relations::rehearse(session)
    }

    /// The level that it is, as a sentence.
    pub(crate) fn level(&self) -> String {
        match &self.follower {
            Err(why) => format!(
                "Which tier answered a read is not known, which the kernel's tracepoints would tell: {}.",
                why.trim_end_matches('.')
            ),
            Ok(_) if self.method.as_deref() == Some(RING) => {
                "The kernel's tracepoints tell which tier answered a read, but not of reads that the server sends by \
                 io_uring, as it does here (io_method)."
                    .into()
            }
            Ok(_) => "The kernel's tracepoints tell which tier answered each read of a file.".into(),
        }
    }
}
