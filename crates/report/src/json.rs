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
    let mut pieces = Pieces { piece: Vec::with_capacity(PIECE_BYTES), out };
    serde_json::to_writer_pretty(&mut pieces, &shown)?;
    pieces.write_all(b"\n")?;
    pieces.flush()
}

/// Bytes that are handed on together.
const PIECE_BYTES: usize = 64 << 10;

/// Puts the few bytes of a bracket or an indent together: a document of a profile has millions of them, and a call for
/// each through `dyn Write` takes longer than all else.
struct Pieces<'a> {
    piece: Vec<u8>,
    out: &'a mut dyn Write,
}

impl Pieces<'_> {
    #[inline(never)]
    fn hand_on(&mut self) -> io::Result<()> {
        self.out.write_all(&self.piece)?;
        self.piece.clear();
        Ok(())
    }
}

impl Write for Pieces<'_> {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }

    #[inline]
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.piece.len() + bytes.len() > PIECE_BYTES {
            self.hand_on()?;
        }
        self.piece.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hand_on()?;
        self.out.flush()
    }
}
