//! A link that is a connection to a server, whose statement under way ends with ^C.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use postgres::{Client, SimpleQueryMessage};

use crate::cancel::Canceller;
use crate::error::ServerError;
use crate::link::{Link, Row};
use crate::place::Address;
use crate::pooler;

/// A connection.
pub(crate) struct Live {
    client: Client,
    canceller: Option<Canceller>,
    address: Address,
    /// How long a statement may take, for the error of one that takes longer.
    limit: Duration,
    stop: Arc<AtomicBool>,
}

impl Live {
    /// Connects, and makes sure that no pooler switches sessions.
    pub(crate) fn open(address: &Address, limit: Duration, stop: Arc<AtomicBool>) -> Result<Live, ServerError> {
        let mut client = address.connect()?;
        // Before anything is set: behind a pooler it would stay set for others.
        pooler::refuse(&mut client, address)?;
        let canceller = Canceller::watch(client.cancel_token(), address.connector()?, Arc::clone(&stop))
            .map_err(|error| ServerError::Machine(format!("^C cannot be watched for: {error}")))?;
        Ok(Live { client, canceller: Some(canceller), address: address.clone(), limit, stop })
    }

    fn failed(&self, statement: &str, error: &postgres::Error, started: Instant) -> ServerError {
        match self.stop.load(Ordering::Relaxed) {
            true => ServerError::Stopped,
            false => ServerError::of_statement(statement, error, started.elapsed(), self.limit),
        }
    }
}

impl Link for Live {
    fn send(&mut self, statement: &str) -> Result<Vec<Row>, ServerError> {
        let started = Instant::now();
        let answer = self.client.simple_query(statement);
        let messages = answer.map_err(|error| self.failed(statement, &error, started))?;
        let row = |message: SimpleQueryMessage| match message {
            SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|at| row.get(at).map(String::from)).collect()),
            _ => None,
        };
        Ok(messages.into_iter().filter_map(row).collect())
    }

    fn copy(&mut self, statement: &str, chunks: &mut dyn Iterator<Item = Vec<u8>>) -> Result<u64, ServerError> {
        let started = Instant::now();
        let (stop, limit) = (Arc::clone(&self.stop), self.limit);
        let failed = |error: &postgres::Error| match stop.load(Ordering::Relaxed) {
            true => ServerError::Stopped,
            false => ServerError::of_statement(statement, error, started.elapsed(), limit),
        };
        let mut writer = self.client.copy_in(statement).map_err(|error| failed(&error))?;
        for chunk in chunks {
            if stop.load(Ordering::Relaxed) {
                // Dropping the writer ends the copy, and nothing of it stays.
                return Err(ServerError::Stopped);
            }
            // The error of the copy's end holds the reason.
            if writer.write_all(&chunk).is_err() {
                break;
            }
        }
        writer.finish().map_err(|error| failed(&error))
    }

    fn ignore_stop(&mut self) {
        self.stop = Arc::default();
        self.canceller = None;
    }

    fn another(&self) -> Result<Box<dyn Link>, ServerError> {
        Ok(Box::new(Live::open(&self.address, self.limit, Arc::clone(&self.stop))?))
    }

    fn is_recording(&self) -> bool {
        false
    }
}
