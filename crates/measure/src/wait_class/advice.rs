//! What makes the waits for one event fewer, where its class holds events of several causes.

use super::names::{begins, is_same};

/// Events, a name that ends in `*` standing for all names that begin so, and the sentence. The first that fits counts.
const ADVICE: &[(&[&str], &str)] = &[
    (
        &[
            "buffer busy waits",
            "buffer busy",
            "read by other session",
            "latch: cache buffers chains",
            "enq: TX - index contention",
            "gc buffer busy*",
            "BufferPin:*",
            "Buffer:*",
            "LWLock:BufferContent",
        ],
        "Sessions meet in the same blocks. Spread what is hot: fewer rows in a block, partitions by hash, another key \
         for an index that grows at its end.",
    ),
    (
        &["cursor: pin S wait on X", "library cache load lock"],
        "Another session was parsing or loading the same cursor: see that it is parsed less often, keep its versions \
         few, and change definitions and statistics in quiet hours.",
    ),
    (
        &["cursor: *", "library cache: mutex*", "library cache: bucket mutex*"],
        "Many sessions use one cursor at the same moment: keep it open instead of parsing it again.",
    ),
    (
        &[
            "library cache*",
            "latch: library cache*",
            "latch: shared pool",
            "shared pool*",
            "row cache*",
            "latch: row cache*",
        ],
        "These waits come with parses: bind variables instead of literals, cursors kept open, no change of definitions \
         in busy hours.",
    ),
    (
        &["latch: *", "latch free", "latch activity"],
        "A latch is held for microseconds: waits for it say that too many sessions work at once. --by event,p2 says \
         which latch.",
    ),
    (&["enq: TM - contention"], "Index the foreign keys whose parent rows are deleted or changed."),
    (
        &["enq: TX - row lock contention"],
        "One session changed a row, or a unique key, that another one wants: shorten that transaction.",
    ),
    (&["enq: TX - allocate ITL entry"], "Give the blocks room for more transactions (INITRANS)."),
    (&["enq: SQ - contention"], "Enlarge the cache of the sequence."),
    (&["enq: HW - contention"], "Allocate space ahead of the load, or spread the inserts over partitions."),
    (&["log file switch*"], "Enlarge the log files, and see that they are archived and checkpointed in time."),
    (&["log buffer space"], "Give the log a faster device, or the log buffer more room."),
    (
        &["free buffer waits", "write complete waits*"],
        "Let the writers keep up: faster devices, or fewer changed blocks.",
    ),
    (
        &["SQL*Net more data*"],
        "More is sent in one call than fits in a packet: select fewer columns, or raise the size of the session data \
         unit.",
    ),
    (
        &["SQL*Net message from dblink", "SQL*Net more data from dblink"],
        "The time is in the other database: trace it there.",
    ),
];

/// What makes waits for an event fewer; `None` where its class's practices say it.
pub fn advice(event: &str) -> Option<&'static str> {
    let fits = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(beginning) => begins(event, beginning),
        None => is_same(pattern, event),
    };
    ADVICE.iter().find(|(events, _)| events.iter().any(fits)).map(|(_, sentence)| *sentence)
}
