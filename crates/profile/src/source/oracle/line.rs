//! One line of a trace, looked at with care: which record it is, or why it is none.

use std::ops::Range;

use crate::source::oracle::call::{self, BEGINNINGS};
use crate::source::oracle::fields::{Answer, Fault, Fields};
use crate::source::oracle::record::{Body, CallRecord, Mark, PlanLineRecord};
use crate::source::oracle::statement::{self, Header};
use crate::source::oracle::{mark, plan, wait};

/// Why lines are not read.
pub(crate) mod kind {
    /// It begins like a record and does not go on like one.
    pub(crate) const MALFORMED: &str = "cut or malformed record";
    /// A record with a number that does not fit.
    pub(crate) const OUT_OF_RANGE: &str = "number out of range";
    /// It has more bytes than any record.
    pub(crate) const OVERLONG: &str = "overlong line";
    /// The file ends within it, so its last number may be cut.
    pub(crate) const UNFINISHED: &str = "last line without a line end";
    /// The trace reached its greatest size within it.
    pub(crate) const AT_SIZE_LIMIT: &str = "line at which the size limit cut";
    /// The log writer's own notice.
    pub(crate) const LOG_WRITER: &str = "log writer warning";
    /// A dump of memory.
    pub(crate) const MEMORY_DUMP: &str = "memory dump";
    /// Values of bind variables whose block begins nowhere.
    pub(crate) const BIND_VALUES: &str = "bind values without a cursor";
    /// The end of a text that begins nowhere.
    pub(crate) const STATEMENT_END: &str = "end of a statement without its beginning";
    /// A `*** ` line of unknown kind.
    pub(crate) const MARK: &str = "unknown mark";
    /// It holds bytes that no text has.
    pub(crate) const BINARY: &str = "binary line";
    /// Anything else.
    pub(crate) const OTHER: &str = "other line";
}

/// What a line is. Spans are within the line.
#[derive(Debug, PartialEq)]
pub(crate) enum Line<'a> {
    /// A call, with the name of an operation on large objects.
    Call(CallRecord, &'a [u8]),
    /// A line that is a wait or begins like one: the dictionary of events reads it.
    Wait,
    /// A line of a plan.
    Plan(PlanLineRecord),
    /// A header whose text follows.
    Header(Header),
    /// The first line of a block of bind values.
    Binds(u64),
    /// The end of a transaction, or a failed call.
    Whole(Body),
    /// A mark.
    Mark(Mark, Option<i64>),
    /// Module and action in one line.
    Application(Range<usize>, Range<usize>),
    /// A separator, an empty line, a line of the preamble: read, and nothing to say.
    Quiet,
    /// None of these, and the kind of it.
    Unread(&'static str),
}

/// Looks at a line without its line end.
pub(crate) fn look(line: &[u8]) -> Line<'_> {
    let Some(first) = line.first() else { return Line::Quiet };
    match first {
        b' ' | b'\t' => indented(line),
        b'=' if is_separator(line) => Line::Quiet,
        b'*' if line.starts_with(mark::BEGINNING) => match mark::read(line) {
            Some((mark, clock)) => Line::Mark(mark, clock),
            None => Line::Unread(kind::MARK),
        },
        b'A'..=b'Z' | b'/' | b'v' => capital(line),
        _ if mark::is_preamble(line) => Line::Quiet,
        _ => unknown(line),
    }
}

/// Whether a line is a record, a mark or a separator from its first byte to its last.
pub(crate) fn is_record(line: &[u8]) -> bool {
    match line.first() {
        Some(b'=') => is_separator(line),
        Some(b'*') => mark::read(line).is_some(),
        Some(b'W') => wait::is_whole(line),
        Some(b'A'..=b'Z') => !matches!(capital(line), Line::Quiet | Line::Unread(_) | Line::Wait),
        _ => false,
    }
}

/// Whether a line begins like a call, a wait or another record of a cursor.
pub(crate) fn has_keyword(line: &[u8]) -> bool {
    const OTHERS: [&[u8]; 5] =
        [wait::BEGINNING, plan::BEGINNING, statement::DECLARATION, statement::PARSE_ERROR, b"ERROR #"];
    let mut keywords = BEGINNINGS.iter().map(|(call, _)| *call).chain(OTHERS);
    keywords.any(|keyword| line.starts_with(keyword))
}

/// `=====================`.
fn is_separator(line: &[u8]) -> bool {
    line.len() >= 5 && line.trim_ascii_end().iter().all(|byte| *byte == b'=')
}

fn indented(line: &[u8]) -> Line<'_> {
    let text = line.trim_ascii();
    if text.is_empty() {
        return Line::Quiet;
    }
    const BIND_WORDS: [&[u8]; 9] =
        [b"Bind#", b"bind ", b"oacdty=", b"oacflg=", b"kxsbbbfp=", b"value=", b"No oacdef", b"bfp=", b"toid ptr"];
    if BIND_WORDS.iter().any(|word| text.starts_with(word)) {
        return Line::Unread(kind::BIND_VALUES);
    }
    if mark::is_preamble(line) { Line::Quiet } else { unknown(line) }
}

fn capital(line: &[u8]) -> Line<'_> {
    if line.starts_with(wait::BEGINNING) {
        return Line::Wait;
    }
    if let Some(answer) = plan::read(line) {
        return answer.map_or_else(fault, Line::Plan);
    }
    if let Some(answer) = statement::header(line) {
        return answer.map_or_else(fault, Line::Header);
    }
    if let Some(answer) = call::read(line) {
        return answer.map_or_else(fault, |(call, name)| Line::Call(call, name));
    }
    if let Some(rest) = line.strip_prefix(b"BINDS #") {
        return binds(rest).map_or_else(fault, Line::Binds);
    }
    if line.starts_with(b"XCTEND ") {
        return transaction_end(line).unwrap_or_else(fault);
    }
    if line.starts_with(b"ERROR #") {
        return error(line).unwrap_or_else(fault);
    }
    if let Some((module, action)) = mark::application(line) {
        return Line::Application(module, action);
    }
    if line.starts_with(b"RPC CALL:") {
        return Line::Quiet;
    }
    if line.starts_with(b"RPC BINDS:") {
        return Line::Binds(0);
    }
    if let Some((attribute, value)) = mark::preamble_value(line) {
        return Line::Mark(Mark::Attribute(attribute, value), None);
    }
    if mark::is_preamble(line) { Line::Quiet } else { unknown(line) }
}

fn fault<'a>(fault: Fault) -> Line<'a> {
    Line::Unread(kind_of(fault))
}

/// The kind under which a line with a fault is counted.
pub(crate) fn kind_of(fault: Fault) -> &'static str {
    match fault {
        Fault::Malformed => kind::MALFORMED,
        Fault::OutOfRange => kind::OUT_OF_RANGE,
    }
}

fn binds(rest: &[u8]) -> Answer<u64> {
    let mut fields = Fields::new(rest, 0);
    let cursor = fields.checked()?;
    fields.expect(b":")?;
    if fields.rest().trim_ascii().is_empty() { Ok(cursor) } else { Err(Fault::Malformed) }
}

/// `XCTEND rlbk=0, rd_only=1[, tim=5]`.
fn transaction_end(line: &[u8]) -> Answer<Line<'_>> {
    let mut fields = Fields::new(line, 0);
    let is_rollback = fields.checked_after(b"XCTEND rlbk=")? != 0;
    let is_read_only = fields.checked_after(b", rd_only=")? != 0;
    let time = last_time(fields, b", tim=")?;
    Ok(Line::Whole(Body::TransactionEnd { is_rollback, is_read_only, time }))
}

/// `ERROR #7:err=942 tim=5`.
fn error(line: &[u8]) -> Answer<Line<'_>> {
    let mut fields = Fields::new(line, b"ERROR #".len());
    let cursor = fields.checked()?;
    fields.expect(b":err=")?;
    let code = fields.checked_signed()?;
    let time = last_time(fields, b" tim=")?;
    Ok(Line::Whole(Body::Error { cursor, code, time }))
}

/// The time with which a line ends, where its release writes one behind this key.
fn last_time<const LENGTH: usize>(mut fields: Fields<'_>, key: &[u8; LENGTH]) -> Answer<Option<i64>> {
    let time = if fields.eat(key).is_some() { Some(fields.checked_signed()?) } else { None };
    if fields.is_at_end() { Ok(time) } else { Err(Fault::Malformed) }
}

fn unknown(line: &[u8]) -> Line<'_> {
    let hex_digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
    let is_dump = line.starts_with(b"Dump of memory from") || (hex_digits >= 8 && line.get(hex_digits) == Some(&b' '));
    Line::Unread(match line {
        _ if line == statement::END_OF_STATEMENT => kind::STATEMENT_END,
        _ if line.starts_with(b"Warning: log write ") => kind::LOG_WRITER,
        _ if is_dump => kind::MEMORY_DUMP,
        _ if line.iter().any(|byte| *byte < b' ' && !matches!(byte, b'\t' | b'\x0c' | b'\r')) => kind::BINARY,
        _ if has_keyword(line) => kind::MALFORMED,
        _ => kind::OTHER,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::oracle::record::Attribute;

    #[test]
    fn ends_of_transactions_and_errors_are_read_in_both_forms() {
        let end = |time| Line::Whole(Body::TransactionEnd { is_rollback: true, is_read_only: false, time });
        assert_eq!(look(b"XCTEND rlbk=1, rd_only=0"), end(None));
        assert_eq!(look(b"XCTEND rlbk=1, rd_only=0, tim=77"), end(Some(77)));
        assert_eq!(look(b"XCTEND rlbk=1, rd_only=0, tim="), Line::Unread(kind::MALFORMED));
        let failed = Line::Whole(Body::Error { cursor: 7, code: 942, time: Some(5) });
        assert_eq!(look(b"ERROR #7:err=942 tim=5"), failed);
        assert_eq!(look(b"ERROR #7:err=942 tim=5x"), Line::Unread(kind::MALFORMED));
    }

    #[test]
    fn a_line_that_is_no_record_has_a_kind() {
        let kinds = [
            ("EXEC #1:c=0,e=5", kind::MALFORMED),
            ("EXEC #99999999999999999999:c=0,e=5", kind::OUT_OF_RANGE),
            ("Warning: log write elapsed time 610ms, size 12KB", kind::LOG_WRITER),
            ("7FE861C00A18 00000000 00000000", kind::MEMORY_DUMP),
            ("END OF STMT", kind::STATEMENT_END),
            ("  value=7", kind::BIND_VALUES),
            ("*** what", kind::MARK),
            ("\u{1}\u{0}", kind::BINARY),
            ("hello", kind::OTHER),
        ];
        for (line, kind) in kinds {
            assert_eq!(look(line.as_bytes()), Line::Unread(kind), "{line}");
            assert!(!is_record(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn a_preamble_is_read_and_says_what_identifies_its_process() {
        for line in
            ["", " ", "=====================", "/u00/x/y_ora_1.trc", "System name: X", "Tue Nov 20 11:05:33 2007"]
        {
            assert_eq!(look(line.as_bytes()), Line::Quiet, "{line}");
        }
        for line in [
            "CLID:   P",
            "Instance number: 1",
            "Database name: FREE ",
            "Database unique name: FREE ",
            "Database id: 1496081483",
            "Database role: PRIMARY",
            "Oracle binary inode:    54288",
            "             created:   2026-03-19T15:58:52.000000+00:00",
            "             image:     ",
        ] {
            assert_eq!(look(line.as_bytes()), Line::Quiet, "a late release: {line}");
        }
        for (line, wanted) in [
            (&b"Version 18.3.0.0.0"[..], Attribute::Version),
            (b"Instance name: X", Attribute::Instance),
            (b"Node name:\tX", Attribute::Host),
        ] {
            assert!(matches!(look(line), Line::Mark(Mark::Attribute(found, _), None) if found == wanted));
        }
    }
}
