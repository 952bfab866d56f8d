//! A link that is a connection to a server, whose statement under way ends with ^C.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use crate::error::ServerError;
use crate::link::Link;
use crate::place::Address;
use crate::pooler;
use crate::wire::{Deadline, OnStop, Row, Wire};

/// A connection.
pub(crate) struct Live {
    wire: Wire,
    address: Address,
    stop: Arc<AtomicBool>,
    on_stop: OnStop,
}

impl Live {
    /// Connects within the time that each host has for it, and makes sure that no pooler switches sessions.
    pub(crate) fn open(address: &Address, stop: Arc<AtomicBool>, on_stop: OnStop) -> Result<Live, ServerError> {
        Live::over(address, stop, on_stop, |deadline| Wire::connect(address, deadline))
    }

    fn over(
        address: &Address,
        stop: Arc<AtomicBool>,
        on_stop: OnStop,
        connect: impl FnOnce(&Deadline<'_>) -> Result<Wire, ServerError>,
    ) -> Result<Live, ServerError> {
        let each = Deadline { limit: address.connect_timeout_each(), stop: &stop, on_stop };
        let mut wire = connect(&each)?;
        let end = wire.opening_end();
        let left = || Deadline { limit: end.saturating_duration_since(Instant::now()), ..each };
        // Before anything is set for longer than a transaction: behind a pooler it would stay set for others.
        pooler::refuse(&mut wire, address, left)?;
        Ok(Live { wire, address: address.clone(), stop: Arc::clone(&stop), on_stop })
    }
}

impl Link for Live {
    fn send(&mut self, statement: &str, limit: Duration) -> Result<Vec<Row>, ServerError> {
        let deadline = Deadline { limit, stop: &self.stop, on_stop: self.on_stop };
        self.wire.query(statement, &deadline)
    }

    fn send_one(&mut self, statement: &str, limit: Duration) -> Result<(), ServerError> {
        let deadline = Deadline { limit, stop: &self.stop, on_stop: self.on_stop };
        self.wire.execute_one(statement, &deadline)
    }

    fn copy(
        &mut self,
        statement: &str,
        chunks: &mut dyn Iterator<Item = Vec<u8>>,
        limit: Duration,
    ) -> Result<u64, ServerError> {
        let deadline = Deadline { limit, stop: &self.stop, on_stop: self.on_stop };
        self.wire.copy(statement, chunks, &deadline)
    }

    fn set_on_stop(&mut self, on_stop: OnStop) {
        self.on_stop = on_stop;
    }

    fn another(&self, on_stop: OnStop) -> Result<Box<dyn Link>, ServerError> {
        // Another host of the address may be another server, where nothing of this session is.
        let again = |deadline: &Deadline<'_>| self.wire.again(&self.address, deadline);
        Ok(Box::new(Live::over(&self.address, Arc::clone(&self.stop), on_stop, again)?))
    }

    fn opening_end(&self) -> Instant {
        self.wire.opening_end()
    }
}
