//! What makes the waits for one event fewer, where its class holds events of several causes.

use super::names::{begins, is_same};

/// Events of sessions that contend for a block.
const IN_BLOCKS: &[&str] = &[
    "buffer busy waits",
    "buffer busy",
    "read by other session",
    "latch: cache buffers chains",
    "gc buffer busy*",
    "BufferPin:*",
    "Buffer:*",
    "LWLock:BufferContent",
];

/// Events, a name that ends in `*` standing for all names that begin so, and the sentence. The first that fits counts.
const ADVICE: &[(&[&str], &str)] = &[
    (
        IN_BLOCKS,
        "Sessions contend for the same blocks, and none of them stands out in the trace: touch them less often, and \
         from fewer sessions at a time.",
    ),
    (
        &["enq: TX - index contention"],
        "Sessions insert at the same place of an index: partition it by hash, or give it a key that does not grow at \
         its end.",
    ),
    (
        &["os thread startup", "os thread creation"],
        "The session waits for a process that the database starts: keep parallel servers and sessions alive instead \
         of starting them for each piece of work.",
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
    (
        &["Lock:extend"],
        "Sessions add blocks to the same table or index: let fewer of them insert at a time, with COPY or several rows \
         a statement, or spread the inserts over partitions.",
    ),
    (&["log file switch*"], "Enlarge the log files, and see that they are archived and checkpointed in time."),
    (&["log buffer space"], "Give the log a faster device, or the log buffer more room."),
    (
        &["free buffer waits", "write complete waits*"],
        "Let the writers keep up: faster devices, or fewer changed blocks.",
    ),
    (
        &["SQL*Net message from dblink", "SQL*Net more data from dblink"],
        "The time is in the other database: trace it there.",
    ),
    (
        &["SQL*Net more data*"],
        "More is sent in one call than fits in a packet: select fewer columns, or raise the size of the session data \
         unit.",
    ),
];

/// What makes the waits for one block fewer, by the number of its class; `None` where sessions that wait for the event
/// do not contend for a block. From 15 on, headers of undo segments have odd numbers and their blocks even ones.
pub fn block_advice(event: &str, class: Option<i64>) -> Option<&'static str> {
    let sentence = match class {
        Some(4 | 6) => {
            "Sessions contend for the segment header: let the segment manage its space by bitmaps (ASSM), or give it \
             more free lists, and extend it in larger extents."
        }
        Some(8..=12) => {
            "Sessions contend for a segment's bitmap blocks: larger extents, partitions by hash for inserts."
        }
        Some(13) => "Sessions contend for the file header: larger extents, allocated ahead of the load.",
        Some(undo) if undo >= 15 && undo % 2 == 1 => {
            "Sessions contend for the undo segment header: let the database manage undo, with room for more segments."
        }
        Some(15..) => {
            "Sessions contend for undo blocks: queries build old versions of rows that others are changing. Run them \
             apart, or commit the changes sooner."
        }
        _ => {
            "Sessions contend for the same block. Spread what is hot: fewer rows in a block, partitions by hash, \
             another key for an index that grows at its end."
        }
    };
    is_one_of(IN_BLOCKS, event).then_some(sentence)
}

/// What makes waits for an event fewer; `None` where its class's practices say it.
pub fn advice(event: &str) -> Option<&'static str> {
    ADVICE.iter().find(|(events, _)| is_one_of(events, event)).map(|(_, sentence)| *sentence)
}

fn is_one_of(patterns: &[&str], event: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(beginning) => begins(event, beginning),
        None => is_same(pattern, event),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_hides_a_name_of_a_row_behind_it() {
        for (events, sentence) in ADVICE {
            for event in *events {
                assert_eq!(advice(event.trim_end_matches('*')), Some(*sentence), "{event}");
            }
        }
    }
}
