//! JSON for programs: the document as it is kept, and nothing else.

use std::io::Write;

use serde::Serialize;

/// Writes `document` as indented JSON, ending in a newline, piece by piece: a large document is not held twice.
///
/// The error is that of `out`, or of a document which JSON cannot carry; those of this project all can.
pub fn write(document: &impl Serialize, out: &mut impl Write) -> Result<(), serde_json::Error> {
    serde_json::to_writer_pretty(&mut *out, document)?;
    out.write_all(b"\n").map_err(serde_json::Error::io)
}
