//! What a recorder has done, and what it has to say. The recorder and what writes its segments both add to it, and its
//! owner takes it from time to time.

/// Sentences that wait to be said.
const SAID_MAX: usize = 64;

/// What a recorder has done so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Segments that were written.
    pub segments: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Segments that were removed because of the limits.
    pub removed: u64,
    /// Segments that could not be written.
    pub lost: u64,
    /// What is to be said, each once.
    pub said: Vec<String>,
}

/// Adds a sentence, unless it waits to be said already.
pub(super) fn say(news: &mut News, sentence: String) {
    if news.said.len() < SAID_MAX && !news.said.contains(&sentence) {
        news.said.push(sentence);
    }
}
