//! JSON for programs: the document as it is kept, and nothing else.

use std::io::{self, BufWriter, Write};

use crate::renderer::{Media, Renderer, Shown};
use crate::style::Style;

/// The row of the table of renderers.
pub(crate) const RENDERER: Renderer =
    Renderer { name: "json", help: "One document, and nothing else on standard output", media: Media::Document, write };

/// Bytes that are handed on together: a document of a profile is millions of brackets and indents, and a call for each
/// through `dyn Write` takes longer than all else.
const PIECE_BYTES: usize = 64 << 10;

/// Writes indented JSON, ending in a newline, piece by piece: a large document is not held twice.
fn write(shown: Shown<'_>, _style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let mut pieces = BufWriter::with_capacity(PIECE_BYTES, out);
    serde_json::to_writer_pretty(&mut pieces, &shown)?;
    pieces.write_all(b"\n")?;
    pieces.flush()
}
