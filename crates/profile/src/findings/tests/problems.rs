//! What the accounting had to decide or to leave out: its sentences, and the lines of a trace that bring them about.

use measure::schema::FindingSpec;
use measure::schema::profile::findings as row;
use sides::proptest::prelude::any;
use sides::proptest::prop_oneof;
use sides::proptest::sample::select;
use sides::{Reading, reading, says};

use super::made::{FILE, found, profile};
use super::trace::{declared, execution, read, read_of_blocks};
use crate::event::Problem;
use crate::event::ProblemKind::{self, *};

pub(super) fn readings() -> Vec<Reading> {
    let sentences = KINDS.iter().map(|(kind, row, said)| counts(*kind, *row, *said));
    let of_clocks = [too_large(), below_zero(), went_back(), leapt(), placed_by_name()];
    let of_texts = [cut(), shortened(), undeclared(), in_a_value(), refused(), left_out()];
    sentences.chain(of_clocks).chain(of_texts).chain(marks()).collect()
}

/// A kind of problem, its finding, and what is said of one and of several.
type Kind = (ProblemKind, FindingSpec, [&'static str; 2]);

const KINDS: [Kind; 23] = [
    (TooLarge, row::NUMBER_TOO_LARGE, ["1 line with numbers", "lines with numbers"]),
    (
        TimeTooLarge,
        row::NUMBER_TOO_LARGE,
        ["lacks 1 part of a session's time that is", "parts of sessions' time that are"],
    ),
    (NegativeElapsed, row::NEGATIVE_ELAPSED, ["1 line with an elapsed time", "lines with an elapsed time"]),
    (ClockWentBack, row::CLOCK_WENT_BACK, ["over a second, 1 time (", " times ("]),
    (ClockLeapt, row::CLOCK_LEAPT, ["leapt ahead 1 time where", " times where"]),
    (FoldStraddled, row::FOLD_STRADDLED, ["Children of 1 call may", " calls may"]),
    (PlacedByName, row::PLACED_BY_NAME, ["1 wait was put", "waits were put"]),
    (
        PlacedByNeighbour,
        row::PLACED_BY_NEIGHBOUR,
        ["1 call or wait has no time by the wall clock", "calls and waits have no time by the wall clock"],
    ),
    (SizeLimit, row::SIZE_LIMIT, ["reached its greatest size (first"; 2]),
    (Recreated, row::FILE_RECREATED, ["removed and begun again (first"; 2]),
    (TextCut, row::TEXT_CUT, ["1 text of a statement ends early", "texts of statements end early"]),
    (
        UnknownCursor,
        row::UNDECLARED_CURSORS,
        ["Calls of that cursor are kept, under identifiers that begin with `undeclared-`.", "Calls of such cursors"],
    ),
    (UnknownCursorsShared, row::UNDECLARED_SHARED, ["1 of them shares one row", "of them share one row"]),
    (StatementsShared, row::STATEMENTS_SHARED, ["1 declaration of a further one shares a", "further ones share a"]),
    (FurtherStatements, row::STATEMENTS_SHARED, ["met 1 time, share the row", "times, share the row"]),
    (CursorsShared, row::CURSORS_SHARED, ["1 line of further ones is under", "lines of further ones are under"]),
    (SessionsFolded, row::SESSIONS_FOLDED, ["1 session with less response time is", "response time are added"]),
    (SessionsShared, row::SESSIONS_SHARED, ["entered 1 time, share", "times, share"]),
    (TextShortened, row::TEXT_SHORTENED, ["1 text of a statement is longer", "texts of statements are longer"]),
    (RecordInValue, row::RECORDS_IN_BIND_VALUES, ["1 bind value has a text", "bind values have a text"]),
    (BlocksRefused, row::BLOCKS_REFUSED, ["1 wait names a number", "waits name a number"]),
    (PlansLeftOut, row::PLANS_LEFT_OUT, ["1 execution is missing", "executions are missing"]),
    (FilesShared, row::FILES_SHARED, ["1 wait is missing", "waits are missing"]),
];

/// Kinds whose place in a file is not known.
const NOWHERE: [ProblemKind; 8] = [
    TimeTooLarge,
    PlacedByNeighbour,
    FurtherStatements,
    SessionsShared,
    SessionsFolded,
    BlocksRefused,
    PlansLeftOut,
    FilesShared,
];

/// Kinds whose count says nothing.
const UNCOUNTED: [ProblemKind; 2] = [SizeLimit, Recreated];

/// How often, and in which file where.
fn counts(kind: ProblemKind, row: FindingSpec, [one, many]: [&'static str; 2]) -> Reading {
    let of = move |(count, first_file, first_offset): &(u64, u32, u64)| {
        let mut made = profile(10, &[]);
        let problem = Problem { kind, count: *count, first_file: *first_file, first_offset: *first_offset };
        made.problems.extend((*count > 0).then_some(problem));
        found(&made)
    };
    reading(row, (0..3_u64, 0..2_u32, 2..900_u64), of, move |(count, first_file, first_offset)| {
        let file = if *first_file == 0 { FILE } else { "a file" };
        let mut said = says![if *count == 1 { one } else { many }];
        said.extend((!NOWHERE.contains(&kind)).then(|| format!("first in {file}, byte {first_offset}")));
        said.extend((!UNCOUNTED.contains(&kind)).then(|| count.to_string()));
        (*count > 0).then_some(said)
    })
}

/// An elapsed time about as long as all times together may be: 2^60 ticks of 8 ns.
fn too_large() -> Reading {
    let longest = (1_i64 << 60) / 125;
    let of = |elapsed: &i64| read(&[&execution(1, 0, *elapsed, 1000)]);
    reading(row::NUMBER_TOO_LARGE, longest - 3..longest + 4, of, move |elapsed| {
        (*elapsed > longest).then(|| says!["1 line with numbers too large to be added was left out of every sum"])
    })
}

/// Lines with an elapsed time in µs, and one with none.
fn below_zero() -> Reading {
    let of = |(count, elapsed): &(i64, i64)| {
        let lines = (0..*count).map(|number| execution(1, 0, *elapsed, 1000 * number));
        read(&[&lines.chain([execution(1, 0, 0, 9000)]).collect::<String>()])
    };
    reading(row::NEGATIVE_ELAPSED, (0..3_i64, -2..2_i64), of, |(count, elapsed)| {
        let said = match count {
            1 => "1 line with an elapsed time below zero (first in a.trc, byte 0) was added",
            _ => "2 lines with an elapsed time below zero (first in a.trc, byte 0) were added",
        };
        (*elapsed < 0 && *count > 0).then(|| says![said])
    })
}

/// How many ms a line's time lies before the one above it.
fn went_back() -> Reading {
    let of = |back: &i64| {
        let lines = [execution(1, 0, 10, 9_000_000), execution(1, 0, 10, 9_000_000 - 1000 * back)];
        read(&[&lines.concat()])
    };
    // A tenth more than the second that the sentence says is disorder.
    reading(row::CLOCK_WENT_BACK, 1000..1200_i64, of, |back| {
        (*back > 1100).then(|| says!["The clock went back by over a second, 1 time (first in a.trc, byte "])
    })
}

/// How many ms a line begins after the one above it, and no stamp stands between them.
fn leapt() -> Reading {
    let of = |ahead: &i64| {
        let lines = [execution(1, 0, 10, 1_000_000), execution(1, 0, 10, 1_000_010 + 1000 * ahead)];
        read(&[&["*** 2020-02-02 02:02:00.000\n", &lines[0], &lines[1]].concat()])
    };
    reading(row::CLOCK_LEAPT, 60_900..61_100_i64, of, |ahead| {
        (*ahead >= 61_000).then(|| says!["The clock leapt ahead 1 time where no stamp of the wall clock does"])
    })
}

/// Waits that no call has claimed when the clock goes back.
fn placed_by_name() -> Reading {
    let of = |waits: &i64| {
        let pending = (0..*waits).map(|number| read_of_blocks(8, 90_000_000 + 10 * number));
        let pending = pending.collect::<String>();
        read(&[&[&*execution(1, 0, 10, 89_000_000), &pending, &execution(1, 0, 10, 5000)].concat()])
    };
    reading(row::PLACED_BY_NAME, 0..3_i64, of, |waits| match waits {
        0 => None,
        1 => Some(says!["1 wait was put inside or between calls by the event's name"]),
        waits => Some(says![format!("{waits} waits were put inside or between calls")]),
    })
}

/// A declaration that the file ends within, or not.
fn cut() -> Reading {
    let of = |missing: &usize| {
        let text = declared("select something that is long enough");
        read(&[&[&*execution(1, 0, 10, 1000), &text[..text.len() - missing]].concat()])
    };
    // Behind the text stand a line break and `END OF STMT`; the line break behind that may be missing.
    reading(row::TEXT_CUT, prop_oneof![0..2_usize, 14..24_usize], of, |missing| {
        (*missing > "\nEND OF STMT\n".len()).then(|| says!["1 text of a statement ends early (first in a.trc, byte "])
    })
}

/// A text of about 64 KiB.
fn shortened() -> Reading {
    let of = |letters: &usize| read(&[&[declared(&"x".repeat(*letters)), execution(1, 0, 10, 1000)].concat()]);
    reading(row::TEXT_SHORTENED, 65_530..65_543_usize, of, |letters| {
        (*letters > 65_536).then(|| says!["1 text of a statement is longer than is kept (first in a.trc, byte 22)."])
    })
}

/// Cursors that are not declared, besides one that is.
fn undeclared() -> Reading {
    let of = |cursors: &u64| {
        let calls = (0..*cursors).map(|number| execution(2 + number, 0, 10, 2000 + 100 * number as i64));
        read(&[&[declared("select 1"), execution(1, 0, 10, 1000), calls.collect()].concat()])
    };
    reading(row::UNDECLARED_CURSORS, 0..3_u64, of, |cursors| match cursors {
        0 => None,
        1 => Some(says!["1 cursor is not declared in the trace (first in a.trc, byte"]),
        cursors => Some(says![format!("{cursors} cursors are not declared in the trace")]),
    })
}

/// A line of a bind value that looks like a record, or does not.
fn in_a_value() -> Reading {
    let of = |is_record: &bool| {
        let line = if *is_record { read_of_blocks(8, 900) } else { "more\n".into() };
        let bind = format!("BINDS #1:\n Bind#0\n  oacdty=01 mxl=32\n  value=\"a\n{line}b\"\n");
        read(&[&[declared("select :1"), bind, execution(1, 0, 10, 1000)].concat()])
    };
    reading(row::RECORDS_IN_BIND_VALUES, any::<bool>(), of, |is_record| {
        is_record.then(|| says!["1 bind value has a text that does not end before the next record (first in a.trc"])
    })
}

fn refused() -> Reading {
    let most = 1_i64 << 32;
    let of = |blocks: &i64| read(&[&[read_of_blocks(*blocks, 900), execution(1, 0, 200, 1000)].concat()]);
    reading(row::BLOCKS_REFUSED, select(vec![-1, 0, 1, most, most + 1]), of, move |blocks| {
        (!(0..=most).contains(blocks)).then(|| says!["1 wait names a number of blocks that no read has"])
    })
}

/// Plans of different shapes of one statement.
fn left_out() -> Reading {
    let of = |shapes: &usize| {
        let plan = |object: usize| {
            format!(
                "STAT #1 id=1 cnt=1 pid=0 pos=1 obj={object} op='TABLE ACCESS FULL T (cr=9 pr=3 pw=0 time=500 us)'\n"
            )
        };
        read(&[&[declared("select 1"), execution(1, 0, 10, 1000), (0..*shapes).map(plan).collect()].concat()])
    };
    reading(row::PLANS_LEFT_OUT, 62..68_usize, of, |shapes| match shapes.checked_sub(64)? {
        0 => None,
        1 => Some(says!["1 execution is missing in the plans: more plans of a statement were found than"]),
        more => Some(says![format!("{more} executions are missing in the plans")]),
    })
}

/// Marks of a trace that was limited, or removed and begun again.
fn marks() -> [Reading; 2] {
    let with = |mark: &'static str, row: FindingSpec| {
        let of = move |has_mark: &bool| {
            let mark = if *has_mark { mark } else { "*** 2020-02-02 02:02:00.000\n" };
            read(&[&[&*execution(1, 0, 10, 1000), mark, &execution(1, 0, 10, 2000)].concat()])
        };
        reading(row, any::<bool>(), of, |has_mark| has_mark.then(|| says!["(first in a.trc, byte "]))
    };
    [
        with("*** DUMP FILE SIZE IS LIMITED TO 10485760 BYTES ***\n", row::SIZE_LIMIT),
        with("*** TRACE FILE RECREATED AFTER BEING REMOVED ***\n", row::FILE_RECREATED),
    ]
}
