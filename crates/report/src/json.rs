//! JSON for programs: the document as it is kept, and nothing else.

use serde::Serialize;

/// `document` as indented JSON, ending in a newline.
///
/// The error is that of a document which JSON cannot carry; those of this project all can.
pub fn render(document: &impl Serialize) -> Result<String, serde_json::Error> {
    Ok(serde_json::to_string_pretty(document)? + "\n")
}
