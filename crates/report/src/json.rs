//! JSON for programs: the document as it is kept, and nothing else.

use std::io::{self, Write};

use crate::renderer::{Media, Renderer, Shown};
use crate::style::Style;

/// The row of the table of renderers.
pub(crate) const RENDERER: Renderer = Renderer {
    name: "json",
    help: "The run document, and nothing else on standard output",
    media: Media::Document,
    write,
};

/// Writes indented JSON, ending in a newline, piece by piece: a large document is not held twice.
fn write(shown: Shown<'_>, _style: &Style, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, &shown)?;
    out.write_all(b"\n")
}
