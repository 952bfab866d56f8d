//! The words of a page that differ by the source of its profile.

use measure::Run;
use measure::schema::sources::{SourceWords, words_of};

/// The words for the source of this run, which its subject names.
pub(super) fn source_words(run: &Run) -> &'static SourceWords {
    words_of(run.subject.get("source").map(|name| name.as_str().unwrap_or_default()))
}

/// Whether it is a server log, which has no CPU times.
pub(super) fn is_log(run: &Run) -> bool {
    source_words(run).whole == "log"
}
