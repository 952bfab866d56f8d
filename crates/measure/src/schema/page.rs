//! What the page of a run says that its document does not.

use super::finding::findings;

findings! {
    "The page alone";
    UNFINISHED = Warning "unfinished", "the document has no end and no finding about one: the run goes on, or it was \
        killed";
}
