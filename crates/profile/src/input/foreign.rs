//! The beginning of a file: its hash, of which kind the file is, and what a file is that holds no calls and no waits.

use std::hash::{DefaultHasher, Hash, Hasher};

/// How much of a file is looked at.
pub const HEAD_BYTES: usize = 64 << 10;

/// A hash of a file's first bytes, of which there may be more than are looked at.
pub fn hash_of_head(head: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    head[..head.len().min(HEAD_BYTES)].hash(&mut hasher);
    hasher.finish()
}

/// What other files have, and what they are then.
const SIGNS: [(&[u8], &str); 17] = [
    // Before all others: the texts of statements stand on such a page too.
    (b"<title>readpath", "it is a page that readpath made: give the runs or the traces that it was made from"),
    (b"STATSPACK report for", STATSPACK),
    (b"WORKLOAD REPOSITORY", AWR),
    (b"AWR Report for", AWR),
    (b"ASH Report For", "it is a report of sampled sessions (ASH), not a trace"),
    (b"ADDM Report for", "it is a report of the database's own advisor (ADDM), not a trace"),
    (b"SQL Monitoring Report", "it is a report of SQL Monitor, not a trace"),
    (b"QUERY BLOCK SIGNATURE", "it is a trace of the optimizer (event 10053)"),
    (b"BASE STATISTICAL INFORMATION", "it is a trace of the optimizer (event 10053)"),
    (b"DEADLOCK DETECTED", "it is the dump of a deadlock"),
    (b"Deadlock graph:", "it is the dump of a deadlock"),
    (b"Global Wait-For-Graph", "it is the dump of a deadlock in a cluster"),
    (b"Incident ", "it is the dump of an incident"),
    (b"SYSTEM STATE", "it is a dump of the system's state"),
    (b"PROCESS STATE", "it is a dump of a process's state"),
    (
        b"Warning: log write elapsed time",
        "it is a background process's file, with notices of slow log writes and no calls",
    ),
    (b"PL/SQL hierarchical profiler", "it is the output of PL/SQL's profiler"),
];

/// How files begin that could be read once they were unpacked or converted.
const BEGINNINGS: [(&[u8], &str); 6] = [
    (b"\x1f\x9d", "it is packed with compress (.Z), which is not read: unpack it first"),
    (b"\x04\x22\x4d\x18", "it is packed with LZ4, which is not read: unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "it is packed with 7-Zip, which is not read: unpack it first"),
    (b"Rar!\x1a\x07", "it is packed with RAR, which is not read: unpack it first"),
    // What Windows PowerShell writes with `>`.
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
];
const UTF_16: &str = "it is text in UTF-16, which is not read: convert it to UTF-8, such as with iconv -f UTF-16";

/// What reports of a whole instance are.
const STATSPACK: &str = "it is a Statspack report, with sums of the whole instance and no call: trace the session";
const AWR: &str = "it is an AWR report, with sums of the whole instance and no call: trace the session";

/// Signs of reports that are made out of traces.
const REPORTS: [&[u8]; 3] = [b"TKPROF: Release", b"TVD$XTAT", b"<html"];

/// A kind of files: those of one source. An archive may hold files of several kinds, which differ by signs in
/// their first bytes.
#[derive(Debug, PartialEq, Eq)]
pub struct Kind {
    /// What one of them is, with its article: `a trace`.
    pub noun: &'static str,
    /// What several of them are: `traces`.
    pub plural: &'static str,
    /// What their lines are counted as where another source reads the archive: `lines of traces`.
    pub lines: &'static str,
    /// One of these stands in whatever took time in such a file. Empty where the kind is not known by signs.
    timed: &'static [&'static [u8]],
    /// One of these stands in such a file in which nothing took time, as far as such a file can be known.
    untimed: &'static [&'static [u8]],
}

/// Traces: a sign stands in every line of a call or a wait.
pub(crate) const TRACES: &Kind = &Kind {
    noun: "a trace",
    plural: "traces",
    lines: "lines of traces",
    timed: &[b"ela=", b",e=", b"tim="],
    untimed: &[],
};

/// Server logs: a sign stands in every plan in JSON and in an English log with durations, and in one without them,
/// plain or as CSV or JSON.
pub(crate) const SERVER_LOGS: &Kind = &Kind {
    noun: "a server log",
    plural: "server logs",
    lines: "lines of server logs",
    timed: &[b"Plan", b"duration:"],
    untimed: &[b"LOG:  ", b",LOG,", b"\"error_severity\":"],
};

/// Segments of recordings, which are binary and have no lines.
pub(crate) const RECORDINGS: &Kind =
    &Kind { noun: "a recording", plural: "recordings", lines: "lines of recordings", timed: &[], untimed: &[] };

/// The kinds, one for each source, in the order in which sentences name them.
pub(crate) const KINDS: [&Kind; 3] = [TRACES, SERVER_LOGS, RECORDINGS];

/// Longest sign of something that took time, in bytes.
pub(crate) const TIMED_BYTES_MAX: usize = 9;

/// Whether any of these bytes may be those of something that took time. A file without any holds nothing that is added
/// up.
pub(super) fn may_be_timed(bytes: &[u8]) -> bool {
    KINDS.iter().any(|kind| has_any(bytes, kind.timed))
}

/// Whether any of these bytes may be those of a call or a wait in a trace.
pub(crate) fn may_be_traced(bytes: &[u8]) -> bool {
    has_any(bytes, TRACES.timed)
}

fn has_any(bytes: &[u8], signs: &[&[u8]]) -> bool {
    signs.iter().any(|sign| memchr::memmem::find(bytes, sign).is_some())
}

/// The kind of a file that begins with these bytes, as far as they show it without doubt.
pub(super) fn kind_of(head: &[u8]) -> Option<&'static Kind> {
    kind_among(&KINDS, head)
}

/// The same among these kinds. A statement of a log may have the signs of a trace, and the other way round: then it is
/// not known.
fn kind_among(kinds: &[&'static Kind], head: &[u8]) -> Option<&'static Kind> {
    let with = |signs: fn(&Kind) -> &'static [&'static [u8]]| -> Vec<&'static Kind> {
        kinds.iter().copied().filter(|kind| has_any(head, signs(kind))).collect()
    };
    let timed = with(|kind| kind.timed);
    let found = if timed.is_empty() { with(|kind| kind.untimed) } else { timed };
    match found.as_slice() {
        [kind] => Some(*kind),
        _ => None,
    }
}

/// Says what a file without calls and waits looks like, from its first bytes ([`HEAD_BYTES`] are plenty).
pub fn describe(head: &[u8]) -> &'static str {
    let has = |sign: &[u8]| memchr::memmem::find(head, sign).is_some();
    if head.is_empty() {
        return "it is empty";
    }
    if let Some((_, what)) = BEGINNINGS.iter().find(|(beginning, _)| head.starts_with(beginning)) {
        return what;
    }
    let odd = head.iter().filter(|byte| **byte < b' ' && !matches!(byte, b'\n' | b'\r' | b'\t' | b'\x0c')).count();
    if head.contains(&0) || odd * 20 > head.len() {
        return "it holds binary data";
    }
    if let Some((_, what)) = SIGNS.iter().find(|(sign, _)| has(sign)) {
        return what;
    }
    if REPORTS.iter().any(|sign| has(sign)) {
        return "it is a report that was made out of a trace; give the trace itself";
    }
    if has(b"Oracle Database") || has(b"ORACLE_HOME") {
        return "it comes from an Oracle process, but no call and no wait is in it: SQL trace was not on";
    }
    "it has no line of a call or a wait"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_takes_time_has_a_sign_of_it_and_other_text_has_none() {
        for line in [
            "WAIT #5: nam='db file sequential read' ela= 90 file#=1 block#=2 blocks=1 obj#=3 tim=4",
            "EXEC #5:c=1,e=2,p=0,cr=0,cu=0,mis=0,r=0,dep=0,og=1,tim=3",
            "RPC EXEC:c=0,e=44",
            "2026-11-21 10:45:02.000 UTC [7] me@shop LOG:  duration: 4.000 ms",
            "{\"Plan\": {\"Node Type\": \"Result\"}}",
        ] {
            assert!(may_be_timed(line.as_bytes()), "{line}");
        }
        for text in ["", "Oracle Database 19c\nORACLE_HOME = /u01\n", "read this first: the times are in UTC\n"] {
            assert!(!may_be_timed(text.as_bytes()), "{text}");
        }
        assert!(KINDS.iter().flat_map(|kind| kind.timed).all(|sign| sign.len() <= TIMED_BYTES_MAX));
        let kind = |text: &str| kind_of(text.as_bytes());
        assert_eq!(kind("WAIT #5: nam='x' ela= 90 tim=4"), Some(TRACES));
        assert_eq!(kind("LOG:  duration: 4.000 ms"), Some(SERVER_LOGS));
        for text in ["[7] LOG:  starting", "0,LOG,00000,\"starting\"", "{\"error_severity\":\"LOG\"}"] {
            assert_eq!(kind(text), Some(SERVER_LOGS), "nothing took time: {text}");
        }
        assert_eq!([kind("LOG:  duration: 4 ms  statement: select 'tim=1'"), kind("a note")], [None, None]);
    }

    #[test]
    fn a_further_kind_is_told_from_the_others_by_its_row_alone() {
        const OTHER_LOGS: &Kind = &Kind {
            noun: "a slow log",
            plural: "slow logs",
            lines: "lines of slow logs",
            timed: &[b"# Query_time: "],
            untimed: &[b"# User@Host: "],
        };
        let kind = |text: &str| kind_among(&[TRACES, SERVER_LOGS, RECORDINGS, OTHER_LOGS], text.as_bytes());
        for text in ["# Query_time: 0.4", "# User@Host: me[me]", "# Query_time: 0.4\n[7] LOG:  starting"] {
            assert_eq!(kind(text), Some(OTHER_LOGS), "{text}");
        }
        assert_eq!(kind("[7] LOG:  duration: 4.000 ms"), Some(SERVER_LOGS));
        for text in ["# Query_time: 0.4\nselect 'tim=1'", "# User@Host: me[me]\n[7] LOG:  starting"] {
            assert_eq!(kind(text), None, "the signs of two kinds: {text}");
        }
    }

    #[test]
    fn what_the_lines_of_a_kind_are_counted_as_names_that_kind() {
        for kind in KINDS {
            assert_eq!(kind.lines, format!("lines of {}", kind.plural));
            assert!(kind.noun.starts_with("a ") || kind.noun.starts_with("an "), "{kind:?}");
        }
    }

    #[test]
    fn a_file_that_is_no_trace_is_called_what_it_is() {
        let said = [
            (&b""[..], "empty"),
            (b"\x7fELF\0\0", "binary"),
            (b"\x1f\x9d\x90T\0", "compress"),
            (b"\x04\x22\x4d\x18\x60\0", "LZ4"),
            (b"\xff\xfeT\0r\0a\0", "UTF-16"),
            (b"Trace file x\nQUERY BLOCK SIGNATURE\n", "10053"),
            (b"*** 2020\nDEADLOCK DETECTED ( ORA-00060 )\n", "deadlock"),
            (b"TKPROF: Release 11.2\n", "report"),
            (b"Oracle Database 11g\n", "was not on"),
            (b"STATSPACK report for\n\nDatabase", "Statspack"),
            (b"<html><head><title>AWR Report for DB: SHOP", "AWR"),
            (b"WORKLOAD REPOSITORY report for\n", "AWR"),
            (b"<!DOCTYPE html>\n<html lang=\"en\"><head><title>readpath disk: /dev/vdb</title>", "readpath made"),
            (b"<!DOCTYPE html>\n<html><head><title>Execution Plans</title>", "made out of a trace"),
            (b"hello\n", "no line"),
        ];
        for (head, word) in said {
            assert!(describe(head).contains(word), "{word}");
        }
    }
}
