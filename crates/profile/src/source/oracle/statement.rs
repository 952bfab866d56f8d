//! Declarations of cursors, statements that could not be parsed, and where their texts end.
//!
//! A text may hold lines that look like records, even the line that ends a text. So the declared length decides, and
//! only where it is contradicted by the file do lines that look like records count.

use std::ops::Range;

use crate::source::oracle::fields::{Answer, Fault, Fields};
use crate::source::oracle::record::DeclarationRecord;

/// Longest text that is kept and looked through; what is longer is stepped over while it streams by.
pub(crate) const TEXT_MAX: usize = 256 << 10;

/// The line that ends a statement's text.
pub(crate) const END_OF_STATEMENT: &[u8] = b"END OF STMT";

/// How a declaration begins.
pub(crate) const DECLARATION: &[u8; 19] = b"PARSING IN CURSOR #";

/// How the record of a statement that could not be parsed begins.
pub(crate) const PARSE_ERROR: &[u8] = b"PARSE ERROR #";

/// By how many bytes a text may be shorter than declared: a last line feed or NUL is sometimes dropped.
const SHORTER_MAX: u64 = 4;

/// By how many bytes a text may be longer than declared, so that an inexact length is not taken for a broken text.
const LONGER_MAX: u64 = 2;

/// What follows the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// A text that a line of its own ends.
    #[default]
    Statement,
    /// A text that ends by its length alone.
    ParseError,
}

/// A header of either kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: TextKind,
    pub(crate) length: u64,
    /// Without its text. The identifier is within the line. Of a parse error, cursor, depth and time alone are used.
    pub(crate) declaration: DeclarationRecord,
    pub(crate) error: i64,
}

/// Reads a header without its line end; `None` when the line does not begin like one.
pub(crate) fn header(line: &[u8]) -> Option<Answer<Header>> {
    if line.starts_with(DECLARATION) {
        let header = header_after(Fields::new(line, DECLARATION.len()), TextKind::Statement);
        return Some(header);
    }
    line.starts_with(PARSE_ERROR).then(|| header_after(Fields::new(line, PARSE_ERROR.len()), TextKind::ParseError))
}

/// Longest value in apostrophes that the quick reader looks through.
const QUOTED_MAX: usize = 32;

/// Shortest text that the quick reader takes: a shorter one could lie within the line that ends it.
const QUICK_TEXT_MIN: u64 = 16;

/// The header of a declaration with the usual keys, and where its text begins. `fields` stands behind the `#` of
/// the line that begins at `begin`; the span is within the line.
pub(crate) fn quick_header(mut fields: Fields<'_>, begin: usize) -> Option<(Header, usize)> {
    let cursor = fields.quick()?;
    let length = fields.quick_after(b" len=")?;
    let depth = u16::try_from(fields.quick_after(b" dep=")?).ok()?;
    let user = fields.quick_signed_after(b" uid=")?;
    let command = fields.quick_signed_after(b" oct=")?;
    fields.quick_signed_after(b" lid=")?;
    let time = Some(fields.quick_signed_after(b" tim=")?);
    let hash = fields.quick_after(b" hv=")?;
    fields.eat(b" ad='")?;
    quick_quoted(&mut fields)?;
    let mut sql_id = 0..0;
    if fields.eat(b" sqlid='").is_some() {
        let span = quick_quoted(&mut fields)?;
        sql_id = span.start - begin..span.end - begin;
    }
    fields.eat(b"\n")?;
    let declaration =
        DeclarationRecord { cursor, depth, user, command, time, hash, sql_id, ..DeclarationRecord::default() };
    Some((Header { length, declaration, ..Header::default() }, fields.at))
}

/// Steps over a short value and the apostrophe behind it: its span.
fn quick_quoted(fields: &mut Fields<'_>) -> Option<Range<usize>> {
    let begin = fields.at;
    let rest = fields.rest();
    let length = rest[..rest.len().min(QUOTED_MAX)].iter().position(|byte| matches!(byte, b'\'' | b'\n'))?;
    fields.at += length;
    fields.eat(b"'")?;
    Some(begin..begin + length)
}

/// A text that is exactly as long as declared: its length, and that with the line that ends it. The text has no
/// carriage return, which the declared length may count or not; then no line within it can be taken for its end.
pub(crate) fn quick_text(bytes: &[u8], length: u64) -> Option<(usize, usize)> {
    const END: &[u8; 13] = b"\nEND OF STMT\n";
    if !(QUICK_TEXT_MIN..=TEXT_MAX as u64 / 2).contains(&length) {
        return None;
    }
    let length = length as usize;
    let (text, rest) = bytes.split_at_checked(length)?;
    let is_plain = rest.starts_with(END) && memchr::memchr(b'\r', text).is_none();
    is_plain.then_some((length, length + END.len()))
}

fn header_after(mut fields: Fields<'_>, kind: TextKind) -> Answer<Header> {
    let declaration = DeclarationRecord { cursor: fields.checked()?, ..DeclarationRecord::default() };
    let mut header = Header { kind, declaration, ..Header::default() };
    if kind == TextKind::ParseError {
        fields.expect(b":")?;
    }
    let mut has_length = false;
    loop {
        fields.skip_blanks();
        if fields.is_at_end() {
            break;
        }
        let key_length = fields.rest().iter().position(|byte| *byte == b'=').ok_or(Fault::Malformed)?;
        let key = &fields.rest()[..key_length];
        fields.at += key_length + 1;
        has_length |= key == b"len";
        header_field(key, &mut fields, &mut header)?;
        if !matches!(fields.peek(), None | Some(b' ')) {
            return Err(Fault::Malformed);
        }
    }
    if has_length { Ok(header) } else { Err(Fault::Malformed) }
}

fn header_field(key: &[u8], fields: &mut Fields<'_>, header: &mut Header) -> Answer<()> {
    let declaration = &mut header.declaration;
    if fields.peek() == Some(b'\'') {
        let begin = fields.at + 1;
        let length = memchr::memchr(b'\'', &fields.rest()[1..]).ok_or(Fault::Malformed)?;
        fields.at = begin + length + 1;
        if key == b"sqlid" {
            declaration.sql_id = begin..begin + length;
        }
        return Ok(());
    }
    match key {
        b"len" => header.length = fields.checked()?,
        b"dep" => declaration.depth = u16::try_from(fields.checked()?).map_err(|_| Fault::OutOfRange)?,
        b"uid" => declaration.user = fields.checked_signed()?,
        b"oct" | b"yct" => declaration.command = fields.checked_signed()?,
        b"tim" => declaration.time = Some(fields.checked_signed()?),
        b"hv" => declaration.hash = fields.checked()?,
        b"err" => header.error = fields.checked_signed()?,
        _ => drop(fields.checked_signed()?),
    }
    Ok(())
}

/// Where a text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextEnd {
    /// Bytes of the text, and bytes of the text with what ends it.
    Whole(usize, usize),
    /// Bytes of the text; then another record begins, or the file ends.
    Cut(usize),
    /// It is longer than [`TEXT_MAX`]; how many of its bytes are whole lines.
    TooLong(usize),
    /// The bytes do not reach far enough to say.
    Unknown,
}

/// Whether bytes go on behind what is at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// The file ends here.
    Nothing,
    /// More follows.
    More,
}

/// A line that ends a text if it does not belong to it: (bytes of the text, bytes with what ends it).
type Candidate = Option<(usize, usize)>;

/// Finds the end of the text at the start of `bytes`. `is_record` says whether a line looks like a whole record.
///
/// The answer depends on the first [`TEXT_MAX`] bytes alone, so that it is the same however a file is cut into chunks.
pub(crate) fn text_end(bytes: &[u8], header: &Header, rest: Rest, is_record: impl Fn(&[u8]) -> bool) -> TextEnd {
    if header.kind == TextKind::ParseError && header.length == 0 {
        return TextEnd::Whole(0, 0);
    }
    let is_window = bytes.len() >= TEXT_MAX;
    let window = &bytes[..bytes.len().min(TEXT_MAX)];
    let is_too_long_to_check = header.length > (TEXT_MAX as u64) / 2;
    let (mut at, mut carriage_returns) = (0, 0);
    let mut candidate: Candidate = None;
    while at < window.len() {
        let Some(length) = memchr::memchr(b'\n', &window[at..]) else { break };
        let line = strip_return(&window[at..at + length]);
        let next = at + length + 1;
        // The line feed before this line is no part of the text if the text ends here.
        let text_length = at.saturating_sub(1);
        let collected = (text_length as u64).saturating_sub(carriage_returns);
        if candidate.is_some() && collected > header.length.saturating_add(LONGER_MAX) {
            return settle(&window[..at], candidate, header.kind, is_record);
        }
        match header.kind {
            TextKind::Statement if line == END_OF_STATEMENT => {
                if collected.saturating_add(SHORTER_MAX) >= header.length || is_too_long_to_check {
                    return TextEnd::Whole(text_length, next);
                }
                candidate = candidate.or(Some((text_length, next)));
            }
            TextKind::Statement if collected >= header.length && is_record(line) => {
                let is_exact = collected <= header.length.saturating_add(LONGER_MAX);
                return if is_exact {
                    TextEnd::Cut(at)
                } else {
                    settle(&window[..next], candidate, header.kind, is_record)
                };
            }
            TextKind::ParseError if candidate.is_none() && is_record(line) => {
                if is_too_long_to_check {
                    return TextEnd::Cut(at);
                }
                candidate = Some((at, at));
            }
            _ => {}
        }
        carriage_returns += (length - line.len()) as u64;
        at = next;
        let collected = (at as u64 - 1).saturating_sub(carriage_returns);
        if header.kind == TextKind::ParseError && collected >= header.length {
            // The text ends with a line, as it must, or something else stands where it should: then an earlier record
            // was one, and no part of the text.
            let is_exact = collected == header.length;
            let text = at - 1;
            return match candidate {
                Some((text, _)) if !is_exact => TextEnd::Cut(text),
                _ => TextEnd::Whole(text, at),
            };
        }
    }
    let last = &window[at..];
    match rest {
        _ if is_window && candidate.is_none() => TextEnd::TooLong(at),
        Rest::More if !is_window => TextEnd::Unknown,
        // The last line of a file may lack its line feed.
        Rest::Nothing if !is_window && header.kind == TextKind::Statement && strip_return(last) == END_OF_STATEMENT => {
            TextEnd::Whole(at.saturating_sub(1), window.len())
        }
        _ => settle(window, candidate, header.kind, is_record),
    }
}

/// Where a text ends whose declared length is wrong, or whose end is lost: at the line that ends texts, unless another
/// declaration comes before it, to which that line then belongs; else where the first record begins.
fn settle(text: &[u8], candidate: Candidate, kind: TextKind, is_record: impl Fn(&[u8]) -> bool) -> TextEnd {
    if kind == TextKind::ParseError {
        return TextEnd::Cut(candidate.map_or(text.len(), |(text, _)| text));
    }
    let until = candidate.map_or(text.len(), |(_, next)| next);
    let (mut first_record, mut has_header, mut at) = (None, false, 0);
    while let Some(length) = memchr::memchr(b'\n', &text[at..until]) {
        let line = strip_return(&text[at..at + length]);
        if is_record(line) {
            first_record = first_record.or(Some(at));
            has_header |= line.starts_with(DECLARATION);
        }
        at += length + 1;
    }
    match (candidate, first_record) {
        (Some((text, next)), _) if !has_header => TextEnd::Whole(text, next),
        (_, Some(begin)) => TextEnd::Cut(begin),
        (_, None) => TextEnd::Cut(text.len()),
    }
}

/// The line without one carriage return at its end.
pub(crate) fn strip_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn declared(length: u64) -> Header {
        let line = format!("PARSING IN CURSOR #7 len={length} dep=1 uid=5 oct=3 lid=5 tim=9 hv=8 ad='a' sqlid='x'");
        header(line.as_bytes()).unwrap().unwrap()
    }

    fn is_record(line: &[u8]) -> bool {
        line.starts_with(b"WAIT") || line.starts_with(b"===")
    }

    fn end(text: &str, length: u64, rest: Rest) -> TextEnd {
        text_end(text.as_bytes(), &declared(length), rest, is_record)
    }

    proptest! {
        #[test]
        fn the_quick_and_the_careful_reader_of_texts_agree(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "END OF STMT\n",
                    "END OF STMT",
                    "WAIT\n",
                    "select a",
                    "\n",
                    "b\r\n",
                    "\r",
                    "====\n",
                ]),
                0..12,
            ),
            shift in -14_i64..14,
        ) {
            let text = pieces.concat();
            let bytes = format!("{text}\nEND OF STMT\nWAIT\n");
            let length = (text.len() as i64 + shift).max(0) as u64;
            if let Some((quick, next)) = quick_text(bytes.as_bytes(), length) {
                prop_assert_eq!(end(&bytes, length, Rest::More), TextEnd::Whole(quick, next));
            } else {
                prop_assert!(shift != 0 || text.len() < QUICK_TEXT_MIN as usize || text.contains('\r'));
            }
        }
    }

    #[test]
    fn the_quick_and_the_careful_reader_of_headers_agree() {
        let begin = "PARSING IN CURSOR #140 len=47 dep=2 uid=29 oct=47 lid=29 tim=-5 hv=77 ad='6b'";
        for (rest, is_quick) in [(" sqlid='0sbbcuruzd66f'", true), ("", true), (" sqlid=''", true), (" new=5", false)] {
            let line = format!("{begin}{rest}");
            let before = "WAIT #0:\n";
            let padded = format!("{before}{line}\nselect 1 from dual");
            let quick = quick_header(Fields::new(padded.as_bytes(), before.len() + DECLARATION.len()), before.len());
            assert_eq!(quick.is_some(), is_quick, "{line}");
            if let Some((quick, next)) = quick {
                assert_eq!(next, before.len() + line.len() + 1);
                assert_eq!(quick, header(line.as_bytes()).unwrap().unwrap());
            }
        }
    }

    #[test]
    fn a_header_is_read_whole() {
        let line =
            b"PARSING IN CURSOR #140 len=47 dep=2 uid=29 oct=47 lid=29 tim=-5 hv=77 ad='6b' sqlid='0sbbcuruzd66f'";
        let Header { length, declaration, .. } = header(line).unwrap().unwrap();
        assert_eq!((declaration.cursor, length, declaration.depth, declaration.time), (140, 47, 2, Some(-5)));
        assert_eq!(&line[declaration.sql_id], b"0sbbcuruzd66f");
        assert!(super::header(b"PARSING IN CURSOR #140 dep=0").unwrap().is_err());
        assert_eq!(super::header(b"PARSING IN CURSOR #1 len=99999999999999999999").unwrap(), Err(Fault::OutOfRange));
    }

    #[test]
    fn a_text_ends_with_its_line_although_it_is_a_little_shorter_than_declared() {
        assert_eq!(end("select 1\nEND OF STMT\nWAIT\n", 8, Rest::More), TextEnd::Whole(8, 21));
        assert_eq!(end("select 1\nEND OF STMT\nWAIT\n", 10, Rest::More), TextEnd::Whole(8, 21));
        assert_eq!(end("select 1\r\nEND OF STMT\r\n", 8, Rest::More), TextEnd::Whole(9, 23));
    }

    #[test]
    fn a_text_that_holds_its_own_end_is_measured() {
        let text = "select '\nEND OF STMT\nWAIT #1\n' from dual\nEND OF STMT\n";
        let length = text.find("\nEND OF STMT\n").map(|_| text.rfind("\nEND").unwrap()).unwrap();
        assert_eq!(end(text, length as u64, Rest::More), TextEnd::Whole(length, text.len()));
    }

    #[test]
    fn a_text_shorter_than_declared_ends_at_its_end_nevertheless() {
        let text = "alter user x\nEND OF STMT\nWAIT\nWAIT\nWAIT\nWAIT\nWAIT\nWAIT\nWAIT\nWAIT\nWAIT\n";
        assert_eq!(end(text, 40, Rest::Nothing), TextEnd::Whole(12, 25));
        assert_eq!(end(text, 4_000, Rest::More), TextEnd::Unknown);
        assert_eq!(end(text, 4_000, Rest::Nothing), TextEnd::Whole(12, 25));
        assert_eq!(end(text, u64::MAX, Rest::More), TextEnd::Whole(12, 25));
    }

    #[test]
    fn a_text_whose_end_is_lost_ends_where_a_record_begins() {
        let next = "PARSING IN CURSOR #7 len=1 dep=1";
        let text = format!("select 1\n===\n{next}\nx\nEND OF STMT\nWAIT\n{}", "and\n".repeat(99));
        let is_record = |line: &[u8]| is_record(line) || line.starts_with(b"PARSING");
        assert_eq!(text_end(text.as_bytes(), &declared(300), Rest::More, is_record), TextEnd::Cut(9));
        assert_eq!(text_end(text.as_bytes(), &declared(3000), Rest::Nothing, is_record), TextEnd::Cut(9));
        assert_eq!(end("select 1\nWAIT #1\nWAIT #2\n", 8, Rest::More), TextEnd::Cut(9));
        assert_eq!(end("sele", 8, Rest::Nothing), TextEnd::Cut(4));
    }

    #[test]
    fn the_text_of_a_parse_error_has_its_length() {
        let error = |length: u64| header(format!("PARSE ERROR #1:len={length} err=942").as_bytes()).unwrap().unwrap();
        let text = b"select\n\nWAIT #1\nfrom x\nWAIT #2\n";
        assert_eq!(text_end(text, &error(22), Rest::More, is_record), TextEnd::Whole(22, 23));
        assert_eq!(text_end(text, &error(25), Rest::More, is_record), TextEnd::Cut(8));
        assert_eq!(text_end(text, &error(500), Rest::More, is_record), TextEnd::Unknown);
        assert_eq!(text_end(text, &error(500), Rest::Nothing, is_record), TextEnd::Cut(8));
    }

    #[test]
    fn a_text_of_any_length_is_not_held_in_memory() {
        let text = format!("select '{}'\n{}\n", "x".repeat(1000), "y".repeat(TEXT_MAX));
        assert_eq!(end(&text, text.len() as u64 * 100, Rest::More), TextEnd::TooLong(1010));
    }
}
