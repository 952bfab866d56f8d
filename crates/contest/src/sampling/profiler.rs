//! What all profilers of a server have in common: how one begins beside a load, and what it says in the end.

use crate::private_postgres::PrivatePostgres;

/// A profiler as a contender.
pub(crate) trait Profiler {
    /// Its name with its rate.
    fn name(&self) -> &'static str;

    /// Its version, as it says itself on a server that it has begun on; `None` where it says none.
    fn version(&self, _server: &PrivatePostgres) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Whether it is there, as far as that can be said before it begins.
    fn is_there(&self) -> Result<(), String> {
        Ok(())
    }

    /// Settings that the server must start with.
    fn settings(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// Begins, and returns once it samples. It goes on for these seconds at least.
    fn begin(&self, server: &PrivatePostgres, seconds: u64) -> Result<Box<dyn UnderWay>, String>;
}

/// A profiler that samples now. Dropping it ends it.
pub(crate) trait UnderWay {
    /// The processes that it consists of, without their children.
    fn processes(&self) -> Vec<u32>;

    /// What its sessions call themselves, where it has some that last.
    fn application(&self) -> Option<&'static str> {
        None
    }

    /// Ends it.
    fn end(self: Box<Self>, server: &PrivatePostgres) -> Result<Seen, String>;
}

/// What a profiler found out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    /// How often it looked, a second; `None` where it does not sample.
    pub(crate) rate: Option<f64>,
    /// What it showed, in a few words.
    pub(crate) shown: String,
}
