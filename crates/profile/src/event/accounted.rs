//! What a source knows when all its inputs are read.

use super::context::Context;

/// What a source knows when all its inputs are read.
#[derive(Debug, Default)]
pub struct Accounted {
    /// What the indexes mean.
    pub context: Context,
    /// Decisions and omissions.
    pub problems: Vec<Problem>,
    /// Lines that no record was made of, by kind, over all files.
    pub unread: Vec<Unread>,
    /// The wall clock at the begin and the end of all intervals, in microseconds since 1970 as if it were UTC.
    pub clocks: Option<(i64, i64)>,
}

/// Lines that were not read, of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// What kind of line, such as `memory dump` or `cut record`.
    pub kind: &'static str,
    /// How many.
    pub lines: u64,
    /// How many bytes.
    pub bytes: u64,
    /// Where the first stands.
    pub first_offset: u64,
}

impl Unread {
    /// Counts more lines that were not read, under their kind.
    pub fn add(all: &mut Vec<Unread>, more: &Unread) {
        match all.iter_mut().find(|known| known.kind == more.kind) {
            Some(known) => {
                known.lines += more.lines;
                known.bytes += more.bytes;
            }
            None => all.push(more.clone()),
        }
    }
}

/// A decision or an omission: no sum is wrong without a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What.
    pub kind: ProblemKind,
    /// How often.
    pub count: u64,
    /// In which file it happened first: a position in the order in which the files were read, from 0;
    /// [`Problem::NOWHERE`] where the source does not say it.
    pub first_file: u32,
    /// Where the first line stands in that file.
    pub first_offset: u64,
}

impl Problem {
    /// The file of a problem whose place is not known.
    pub const NOWHERE: u32 = u32::MAX;

    /// One whose place is not known; `None` where it did not happen.
    pub(crate) fn without_place(kind: ProblemKind, count: u64) -> Option<Problem> {
        (count > 0).then_some(Problem { kind, count, first_file: Problem::NOWHERE, first_offset: 0 })
    }
}

/// Kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// A number too large to be added: the line was left out of every sum.
    TooLarge,
    /// A part of a session's time that is too long to be added: the interval leaves it out.
    TimeTooLarge,
    /// A call's elapsed time is below zero; it was added as it stands.
    NegativeElapsed,
    /// The clock went back by more than a second: the interval leaves the hole out.
    ClockWentBack,
    /// The clock leapt ahead, and the stamps of the wall clock do not: the interval leaves the leap out.
    ClockLeapt,
    /// Too many calls waited for a parent, so some were folded, and a parent began in the middle of a fold: its
    /// children may be off by that fold.
    FoldStraddled,
    /// Too many waits were pending, so the oldest were placed by their event's name instead of by time.
    PlacedByName,
    /// Calls and waits whose time is not known where an interval was asked for: they went where the line before went.
    PlacedByNeighbour,
    /// A cursor that the file does not declare; its calls are kept under the unknown cursor.
    UnknownCursor,
    /// Unknown cursors beyond those that have a statement of their own: they share one.
    UnknownCursorsShared,
    /// Declarations of statements beyond those that have a row of their own: they share one.
    StatementsShared,
    /// The same of a source without declarations: executions and samples of statements that share a row.
    FurtherStatements,
    /// Lines of cursors beyond those that are kept apart: they are under the shared row of unknown cursors.
    CursorsShared,
    /// Sessions beyond those that are kept apart: they share one.
    SessionsShared,
    /// Sessions with less time than those that have rows of their own: they are added up in one.
    SessionsFolded,
    /// The text of a statement was longer than is kept.
    TextShortened,
    /// The text of a statement ended early.
    TextCut,
    /// The trace was cut at its greatest size: what came after is not in it.
    SizeLimit,
    /// The file was removed and begun again: what came before is not in it.
    Recreated,
    /// Waits for blocks of files beyond those that are kept apart: they are missing in that table alone.
    FilesShared,
    /// Texts of bind values that do not end before the next record: it may be a line of the text.
    RecordInValue,
    /// Waits whose number of blocks can be none: their blocks are missing, their time is not.
    BlocksRefused,
    /// Executions whose plan is one of too many shapes of its statement: they are missing in the plans alone.
    PlansLeftOut,
}
