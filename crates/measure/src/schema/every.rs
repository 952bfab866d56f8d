//! What every run may find about itself.

use super::finding::findings;

findings! {
    "Every run";
    INTERRUPTED = Warning "interrupted", "a signal ended the run: what it had finished is kept";
    FAILED = Warning "failed", "an error ended the run: what it had finished is kept as far as it can be";
    NOT_KEPT = Warning "not-kept", "the default store cannot be used, so that the run is only shown";
    STORE_OPEN = Warning "store-open", "the rights of the default store could not be taken from other users";
    NOT_A_NUMBER = Warning "not-a-number", "a metric came out as no number and is left out of its case";
}
