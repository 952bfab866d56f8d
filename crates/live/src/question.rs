//! A question to the server on a thread of its own: who asks can go on reading memory while it is not answered.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use profile::source::sampled::Sample;
use server::ServerError;

use crate::sampler::{Look, Sampler, Texts};
use crate::sql::SqlSampler;

/// A question under way. Where it is dropped, its session ends when the server has answered, or at its limit.
pub(crate) struct Question {
    answer: Receiver<Answer>,
}

/// What came of it.
pub(crate) struct Answer {
    pub(crate) sampler: SqlSampler,
    pub(crate) look: Result<Look, ServerError>,
    pub(crate) samples: Vec<Sample>,
}

impl Question {
    /// Asks what the sessions do. Where no thread can be started, this waits for the answer.
    pub(crate) fn ask(sampler: SqlSampler, texts: Texts) -> Question {
        let ((give, take), (send, answer)) = (channel(), channel());
        let here = send.clone();
        let asking = move || {
            if let Ok(sampler) = take.recv() {
                // The watch may have ended before the answer comes.
                let _ = send.send(look(sampler, texts));
            }
        };
        let _ = match thread::Builder::new().name("question".into()).spawn(asking) {
            Ok(_) => give.send(sampler).is_ok(),
            Err(_) => here.send(look(sampler, texts)).is_ok(),
        };
        Question { answer }
    }

    /// The answer, which is waited for this long; the question where it has not come.
    pub(crate) fn answer(self, patience: Duration) -> Result<Answer, Question> {
        self.answer.recv_timeout(patience).map_err(|_| self)
    }
}

fn look(mut sampler: SqlSampler, texts: Texts) -> Answer {
    let mut samples = Vec::new();
    let look = sampler.look(texts, &mut samples);
    Answer { sampler, look, samples }
}
