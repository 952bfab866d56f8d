//! Questions to the server on a thread of their own: who asks can go on reading memory while they are not answered.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use profile::source::sampled::Sample;
use server::ServerError;

use crate::sampler::{Look, Texts};
use crate::sql::SqlSampler;

/// Questions under way. Where this is dropped, their session ends when the server has answered them all, or at the sum
/// of their limits.
pub(crate) struct Question<T> {
    answer: Receiver<(SqlSampler, T)>,
}

impl<T: Send + 'static> Question<T> {
    /// Has `work` ask the server. Where no thread can be started, this waits for the answer.
    pub(crate) fn ask<W>(sampler: SqlSampler, work: W) -> Question<T>
    where
        W: FnOnce(&mut SqlSampler) -> T + Send + 'static,
    {
        let (give, take) = channel::<(SqlSampler, W)>();
        let (send, answer) = channel::<(SqlSampler, T)>();
        let here = send.clone();
        let asking = move || {
            if let Ok((sampler, work)) = take.recv() {
                // The watch may have ended before the answer comes.
                let _ = send.send(answered(sampler, work));
            }
        };
        let _ = match thread::Builder::new().name("question".into()).spawn(asking) {
            Ok(_) => give.send((sampler, work)).is_ok(),
            Err(_) => here.send(answered(sampler, work)).is_ok(),
        };
        Question { answer }
    }

    /// The sampler and the answer, which is waited for this long; the question where it has not come.
    pub(crate) fn answer(self, patience: Duration) -> Result<(SqlSampler, T), Question<T>> {
        self.answer.recv_timeout(patience).map_err(|_| self)
    }
}

fn answered<T>(mut sampler: SqlSampler, work: impl FnOnce(&mut SqlSampler) -> T) -> (SqlSampler, T) {
    let answer = work(&mut sampler);
    (sampler, answer)
}

/// What came of asking what the sessions do.
pub(crate) struct Looked {
    pub(crate) look: Result<Look, ServerError>,
    pub(crate) samples: Vec<Sample>,
}

impl Looked {
    /// Asks what the sessions do.
    pub(crate) fn by(sampler: &mut SqlSampler, texts: Texts) -> Looked {
        let mut samples = Vec::new();
        let look = sampler.look(texts, &mut samples);
        Looked { look, samples }
    }
}
