//! `*** ` lines and the preamble: what is said about the records, not by them.

use std::ops::Range;

use crate::source::oracle::clock;
use crate::source::oracle::fields::Fields;
use crate::source::oracle::record::{Attribute, Mark};

/// How the mark of a trace at its greatest size begins. The line before it is cut wherever that size was reached.
pub(crate) const SIZE_LIMIT: &[u8] = b"*** DUMP FILE SIZE IS LIMITED TO ";

/// How a mark begins.
pub(crate) const BEGINNING: &[u8] = b"*** ";

/// Reads a `*** ` line without its line end; `None` when it is of no known kind. Spans are within the line; the second
/// is the wall clock.
pub(crate) fn read(line: &[u8]) -> Option<(Mark, Option<i64>)> {
    let rest = line.strip_prefix(BEGINNING)?;
    let mut fields = Fields::new(line, BEGINNING.len());
    if let Some(clock) = clock::read(&mut fields) {
        return stamp(line, fields.at).map(|mark| (mark, Some(clock)));
    }
    attribute(line).or_else(|| notice(rest).map(|mark| (mark, None)))
}

/// A stamp alone, or with the container behind it: ` (PDB1(3))`.
fn stamp(line: &[u8], at: usize) -> Option<Mark> {
    let tail = line[at..].trim_ascii_end();
    if tail.is_empty() {
        return Some(Mark::Clock);
    }
    let name = tail.strip_prefix(b" (")?.strip_suffix(b")")?;
    let (length, begin) = (name.iter().rposition(|byte| *byte == b'(').unwrap_or(name.len()), at + 2);
    let number = name.get(length + 1..).and_then(|rest| Fields::new(rest, 0).checked().ok());
    Some(match number {
        Some(number) => Mark::Container(begin..begin + length, number),
        None => Mark::Attribute(Attribute::Container, begin..begin + length),
    })
}

/// How attributes are named.
const ATTRIBUTES: [(&[u8], Attribute); 9] = [
    (b"SESSION ID:(", Attribute::Session),
    (b"CLIENT ID:(", Attribute::Client),
    (b"SERVICE NAME:(", Attribute::Service),
    (b"MODULE NAME:(", Attribute::Module),
    (b"ACTION NAME:(", Attribute::Action),
    (b"CLIENT DRIVER:(", Attribute::Driver),
    (b"CONTAINER ID:(", Attribute::Container),
    // Late releases write these two behind the client's driver: none of them says whose a line is.
    (b"CLIENT IP:(", Attribute::Driver),
    (b"CONNECTION ID:(", Attribute::Driver),
];

/// `NAME:(value) clock`. The value is free text and may have parentheses: it ends at the last `) ` with a clock behind.
fn attribute(line: &[u8]) -> Option<(Mark, Option<i64>)> {
    let rest = &line[BEGINNING.len()..];
    let (name, attribute) = ATTRIBUTES.iter().find(|(name, _)| rest.starts_with(name))?;
    let begin = BEGINNING.len() + name.len();
    let line = line.trim_ascii_end();
    if let Some(length) = memchr::memmem::rfind(&line[begin..], b") ") {
        let mut fields = Fields::new(line, begin + length + 2);
        if let Some(clock) = clock::read(&mut fields).filter(|_| fields.is_at_end()) {
            return Some((Mark::Attribute(*attribute, begin..begin + length), Some(clock)));
        }
    }
    let value = line[begin..].strip_suffix(b")")?;
    Some((Mark::Attribute(*attribute, begin..begin + value.len()), None))
}

/// What is said about the file.
fn notice(rest: &[u8]) -> Option<Mark> {
    for (beginning, attribute) in [
        (&b"TRACE CONTINUED FROM FILE "[..], Attribute::ContinuedFrom),
        (b"TRACE CONTINUES IN FILE ", Attribute::ContinuesIn),
        (b"TRACE DUMP CONTINUED FROM FILE ", Attribute::ContinuedFrom),
        (b"TRACE DUMP CONTINUES IN FILE ", Attribute::ContinuesIn),
    ] {
        if let Some(path) = rest.strip_prefix(beginning) {
            let length = memchr::memmem::rfind(path, b" ***").unwrap_or(path.len());
            let begin = BEGINNING.len() + beginning.len();
            return Some(Mark::Attribute(attribute, begin..begin + length));
        }
    }
    if rest.starts_with(&SIZE_LIMIT[BEGINNING.len()..]) {
        return Some(Mark::SizeLimit);
    }
    if rest.starts_with(b"TRACE FILE RECREATED AFTER BEING REMOVED") {
        return Some(Mark::Recreated);
    }
    let process = rest.strip_prefix(b"[ Unix process pid: ").or_else(|| rest.strip_prefix(b"[ Windows thread id: "))?;
    Fields::new(process, 0).checked().ok().map(Mark::Process)
}

/// `APPNAME mod='..' mh=.. act='..' ah=..` of old releases: module and action, within the line.
pub(crate) fn application(line: &[u8]) -> Option<(Range<usize>, Range<usize>)> {
    let module = line.strip_prefix(b"APPNAME mod='")?;
    let module_length = memchr::memmem::find(module, b"' mh=")?;
    let module_begin = line.len() - module.len();
    let action_offset = memchr::memmem::rfind(line, b" act='")? + b" act='".len();
    let action_length = memchr::memmem::rfind(line.get(action_offset..)?, b"' ah=")?;
    let module = module_begin..module_begin + module_length;
    (action_offset > module.end).then_some((module, action_offset..action_offset + action_length))
}

/// How lines of the preamble begin.
const PREAMBLE: [&[u8]; 34] = [
    b"Trace file ",
    b"Dump file ",
    b"Oracle Database ",
    b"Oracle9i ",
    b"Oracle8i ",
    b"ORACLE V",
    b"Version",
    b"Build label:",
    b"With the ",
    b"ORACLE_HOME",
    b"System name:",
    b"Node name:",
    b"Release:",
    b"Machine:",
    b"VM name:",
    b"Storage:",
    b"CLID:",
    b"Instance name:",
    b"Instance number:",
    b"Database name:",
    b"Database unique name:",
    b"Database id:",
    b"Database role:",
    b"Redo thread mounted by this instance:",
    b"Oracle binary inode:",
    b"Oracle process number:",
    b"Unix process pid:",
    // Late releases have these two of the process in lines of their own.
    b"             created:",
    b"             image:",
    b"Windows ",
    b"CPU  ",
    b"Process Affinity",
    b"Memory (Avail/Total)",
    b"vsnsql=",
];

/// Days of the week, as a Windows preamble dates its second line.
const WEEKDAYS: [&[u8]; 7] = [b"Mon ", b"Tue ", b"Wed ", b"Thu ", b"Fri ", b"Sat ", b"Sun "];

/// Whether a line belongs to a preamble. One may stand anywhere: a file that was removed is begun again.
pub(crate) fn is_preamble(line: &[u8]) -> bool {
    let is_path = (line.starts_with(b"/") || line.get(1..3) == Some(b":\\")) && line.ends_with(b".trc");
    let is_list = [&b"Data Mining"[..], b"Advanced Analytics", b"and Real Application Testing", b"JServer Release "];
    let is_dated = line.len() < 40 && WEEKDAYS.iter().any(|day| line.starts_with(day));
    is_path
        || PREAMBLE.iter().any(|beginning| line.starts_with(beginning))
        || is_list.iter().any(|beginning| line.starts_with(beginning))
        || (is_dated && line.contains(&b':'))
}

/// What lines of the preamble say of the database and its process, by how they begin.
const PREAMBLE_VALUES: [(&[u8], Attribute); 4] = [
    (b"Node name:", Attribute::Host),
    (b"Instance name:", Attribute::Instance),
    (b"Unix process pid:", Attribute::Process),
    (b"Windows thread id:", Attribute::Process),
];

/// The value in a line of the preamble, up to a comma; within the line. That of a version is what is in the banner.
pub(crate) fn preamble_value(line: &[u8]) -> Option<(Attribute, Range<usize>)> {
    if let Some(version) = version(line) {
        return Some((Attribute::Version, version));
    }
    let (beginning, attribute) = PREAMBLE_VALUES.iter().find(|(beginning, _)| line.starts_with(beginning))?;
    let value = line[beginning.len()..].split(|byte| *byte == b',').next().unwrap_or_default();
    let begin = beginning.len() + value.len() - value.trim_ascii_start().len();
    Some((*attribute, begin..begin + value.trim_ascii().len()))
}

/// The version in a line of the preamble, such as `11.2.0.3.0`; within the line.
fn version(line: &[u8]) -> Option<Range<usize>> {
    // How such a line begins, and what stands before the version.
    const SIGNS: [(&[u8], &[u8]); 3] =
        [(b"Version ", b"Version "), (b"ORACLE V", b"ORACLE V"), (b"Oracle", b" Release ")];
    let (_, sign) = SIGNS.iter().find(|(beginning, _)| line.starts_with(beginning))?;
    let begin = memchr::memmem::find(line, sign)? + sign.len();
    let length = line[begin..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let has_points = line[begin..begin + length].iter().filter(|byte| **byte == b'.').count() >= 2;
    has_points.then_some(begin..begin + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(line: &str) -> String {
        let (mark, clock) = read(line.as_bytes()).unwrap();
        let show = |range: Range<usize>| line[range].to_string();
        let value = match mark.clone() {
            Mark::Attribute(_, range) => show(range),
            Mark::Container(range, number) => format!("{} {number}", show(range)),
            other => format!("{other:?}"),
        };
        format!("{value}{}", if clock.is_some() { " at" } else { "" })
    }

    #[test]
    fn every_form_of_a_mark_is_read() {
        assert_eq!(text("*** 2007-07-11 10:58:57.903"), "Clock at");
        assert_eq!(text("*** 2019-11-06T13:10:13.148529+00:00 (PDB1(3))"), "PDB1 3 at");
        assert_eq!(text("*** 2019-11-06T13:10:13.148529+00:00 (CDB$ROOT(1))"), "CDB$ROOT 1 at");
        assert_eq!(text("*** SESSION ID:(9.1) 2015-03-10 14:08:53.050"), "9.1 at");
        assert_eq!(text("*** CONTAINER ID:(5) 2018-09-14T10:19:26.417084-05:00"), "5 at");
        assert_eq!(text("*** CLIENT IP:(192.168.65.1) 2026-03-19T15:59:17.101980+00:00"), "192.168.65.1 at");
        assert_eq!(text("*** CONNECTION ID:(dxca12mBRQW6==) 2026-03-19T15:59:17.102003+00:00"), "dxca12mBRQW6== at");
        assert_eq!(text("*** TRACE CONTINUED FROM FILE /a/b c.trc ***"), "/a/b c.trc");
        assert_eq!(text("*** TRACE DUMP CONTINUES IN FILE /a/c.trc ***"), "/a/c.trc");
        assert_eq!(text("*** DUMP FILE SIZE IS LIMITED TO 10240 BYTES ***"), "SizeLimit");
        assert_eq!(text("*** [ Unix process pid: 77 ]"), "Process(77)");
        assert_eq!(read(b"*** something else"), None);
        assert_eq!(read(b"*** 2007-07-11 10:58:57.903 and more"), None);
    }

    #[test]
    fn a_value_with_parentheses_ends_before_the_clock() {
        assert_eq!(text("*** MODULE NAME:(a) 2020 (b) c) 2015-03-10 14:08:53.050"), "a) 2020 (b) c at");
        assert_eq!(text("*** MODULE NAME:() 2015-03-10 14:08:53.050"), " at");
        assert_eq!(text("*** MODULE NAME:(x)"), "x");
    }

    #[test]
    fn an_old_release_names_module_and_action_in_one_line() {
        let line = b"APPNAME mod='it's' mh=12 act='do' ah=34";
        let (module, action) = application(line).unwrap();
        assert_eq!((&line[module], &line[action]), (&b"it's"[..], &b"do"[..]));
        assert_eq!(application(b"APPNAME mod='x"), None);
    }

    #[test]
    fn the_version_is_found_in_each_banner() {
        for line in
            ["Oracle Database 11g Enterprise Edition Release 1.2.3.4 - 64bit", "Version 1.2.3.4", "ORACLE V1.2.3.4 - x"]
        {
            assert_eq!(&line[version(line.as_bytes()).unwrap()], "1.2.3.4");
        }
        assert_eq!(version(b"Release:\t2.6.9-42.ELsmp"), None);
    }

    #[test]
    fn a_preamble_names_host_instance_and_process() {
        for (line, attribute, value) in [
            ("Node name:\tdb.example.com", Attribute::Host, "db.example.com"),
            ("Instance name: orcl", Attribute::Instance, "orcl"),
            ("Unix process pid: 15051, image: oracle@db (TNS V1-V3)", Attribute::Process, "15051"),
            ("Windows thread id: 2268, image: ORACLE.EXE (SHAD)", Attribute::Process, "2268"),
        ] {
            let (found, span) = preamble_value(line.as_bytes()).unwrap();
            assert_eq!((found, &line[span]), (attribute, value));
        }
        assert_eq!(preamble_value(b"System name:\tLinux"), None);
    }
}
