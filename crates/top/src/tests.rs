//! Samples that tests look at.

use std::sync::Arc;
use std::time::Duration;

use profile::source::sampled::{Backend, CLIENT, Sample, State};

use crate::history::History;

/// The time between two looks.
pub(crate) const TENTH: Duration = Duration::from_millis(100);

/// A session at work.
pub(crate) fn sample(pid: u32, text: &str, event: Option<&str>) -> Sample {
    let backend = Backend {
        pid,
        start: i64::from(pid),
        kind: CLIENT.into(),
        user: "shop".into(),
        database: "db".into(),
        application: String::new(),
    };
    Sample {
        backend: Arc::new(backend),
        state: State::Active,
        event: event.map(Arc::from),
        query_id: None,
        query_start: Some(1),
        text: (!text.is_empty()).then(|| text.into()),
        processor: None,
    }
}

/// A history of this many seconds with the same samples.
pub(crate) fn seconds_of(count: usize, samples: &[Sample]) -> History {
    let mut history = History::new(1_800_000_000_000_000);
    for _ in 0..10 * count {
        history.look(TENTH, samples);
    }
    history
}
