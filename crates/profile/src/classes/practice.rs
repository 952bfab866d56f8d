//! What makes each class smaller: short lists, in the order in which they usually pay.

use super::Class;
use super::ClassRow;

/// All classes in the order of the enumeration.
pub const ROWS: &[ClassRow] = &[
    ClassRow {
        class: Class::Cpu,
        name: "cpu",
        is_idle: false,
        practices: &[
            "Find the statements with most logical reads and let them touch fewer blocks: a fitting index, rows \
             clustered as they are read, no work row by row.",
            "Stop repeating identical calls, and compute sums once.",
            "Where CPU is high and gets are few, the time is in sorting, hashing, functions or PL/SQL: look there.",
        ],
    },
    ClassRow {
        class: Class::CpuParse,
        name: "cpu-parse",
        is_idle: false,
        practices: &[
            "Prepare a statement once and execute it many times; keep cursors open or let the session cache them.",
            "Use bind variables where texts differ only in their literals.",
            "For a statement that is hard to optimize: fewer tables, partitions and views in one text.",
        ],
    },
    ClassRow {
        class: Class::SingleBlockReads,
        name: "single-block-reads",
        is_idle: false,
        practices: &[
            "Read fewer blocks first: a more selective or covering index, rows clustered in the order of the index, \
             a full scan where most blocks are visited anyway.",
            "Give the cache what the miss curve says that it would save, and no more.",
            "Only then make a read faster; check who answers now: a file system's cache, the storage's, or a disk.",
        ],
    },
    ClassRow {
        class: Class::MultiBlockReads,
        name: "multi-block-reads",
        is_idle: false,
        practices: &[
            "Avoid the scan: an index, partition pruning, a summary, fewer columns.",
            "Read in larger requests, and several at a time.",
            "Keep a small table that is scanned over and over in the cache.",
        ],
    },
    ClassRow {
        class: Class::TemporaryIo,
        name: "temporary-io",
        is_idle: false,
        practices: &[
            "Give the statements that sort or hash more memory, by statement rather than for all.",
            "Sort less: fewer and narrower rows, an index that has the order.",
            "Put temporary files on the fastest device there is.",
        ],
    },
    ClassRow {
        class: Class::SessionIo,
        name: "session-io",
        is_idle: false,
        practices: &["See which file and which operation it is; write less of it, or let a background process do it."],
    },
    ClassRow {
        class: Class::Commit,
        name: "commit",
        is_idle: false,
        practices: &[
            "Commit once a unit of work, not once a row.",
            "Put the log on a device of its own with a fast, safe write cache; check synchronous standbys.",
            "Where losing the last moments is allowed, commit without waiting.",
        ],
    },
    ClassRow {
        class: Class::Configuration,
        name: "configuration",
        is_idle: false,
        practices: &[
            "Enlarge what is too small: log files, log buffer, sequence caches, free space in blocks.",
            "Let checkpoints and writers keep up: spread them, and give them faster devices.",
        ],
    },
    ClassRow {
        class: Class::Application,
        name: "application",
        is_idle: false,
        practices: &[
            "Make transactions shorter: lock late, commit early, never wait for a person while holding a lock.",
            "Take locks in the same order everywhere; skip rows that are locked where any row will do.",
            "Index foreign keys; change definitions of tables in quiet hours.",
        ],
    },
    ClassRow {
        class: Class::Concurrency,
        name: "concurrency",
        is_idle: false,
        practices: &[
            "Fewer sessions at work at a time: a pool about as large as the cores.",
            "Spread hot blocks and hot index ends: partitions by hash, less crowded blocks, other keys.",
            "Fewer parses: waits for the library cache fall with them.",
        ],
    },
    ClassRow {
        class: Class::Cluster,
        name: "cluster",
        is_idle: false,
        practices: &[
            "Send work on the same data to the same node: services by application, partitions by node.",
            "Fewer blocks touched are fewer blocks transferred: tune the statements with most gets.",
            "A grant is another node's leave to read a block from disk or to change it: with fewer reads and changes \
             there are fewer, and a block that only one node uses gets them without asking.",
            "Check the interconnect's latency and lost blocks.",
        ],
    },
    ClassRow {
        class: Class::Network,
        name: "network",
        is_idle: false,
        practices: &[
            "Make fewer round trips: fetch and insert arrays of 100 or more, not row by row.",
            "Select fewer columns and rows; keep large objects out of result sets that do not need them.",
            "Move loops of small calls to the server, and the client nearer to it.",
        ],
    },
    ClassRow {
        class: Class::Scheduler,
        name: "scheduler",
        is_idle: false,
        practices: &[
            "See which plan of the resource manager limits these sessions; raise its share or move batch work.",
        ],
    },
    ClassRow {
        class: Class::Parallel,
        name: "parallel",
        is_idle: false,
        practices: &[
            "Check the degree: small work is done sooner by one process.",
            "Look for skew: one worker with most rows keeps the others waiting.",
        ],
    },
    ClassRow {
        class: Class::SystemIo,
        name: "system-io",
        is_idle: false,
        practices: &["This is background work: smooth checkpoints and keep the log apart; do not charge it to users."],
    },
    ClassRow {
        class: Class::Administrative,
        name: "administrative",
        is_idle: false,
        practices: &["Somebody ordered this work: move it to quiet hours, or change its limits."],
    },
    ClassRow {
        class: Class::Other,
        name: "other",
        is_idle: false,
        practices: &["Look the events up one by one: no class of this tool claims them."],
    },
    ClassRow { class: Class::ThinkTime, name: "think-time", is_idle: true, practices: &[] },
    ClassRow { class: Class::Idle, name: "idle", is_idle: true, practices: &[] },
    ClassRow {
        class: Class::UnaccountedWithin,
        name: "unaccounted-within",
        is_idle: false,
        practices: &[
            "Look at the machine before anything else: processes waiting for a core, paging, time that a hypervisor \
             took.",
        ],
    },
    ClassRow {
        class: Class::UnaccountedBetween,
        name: "unaccounted-between",
        is_idle: false,
        practices: &[
            "Nothing was traced between these calls: look at the machine, and at a shared server, which does not trace \
             its client's pauses.",
        ],
    },
    ClassRow { class: Class::Unrecorded, name: "unrecorded", is_idle: true, practices: &[] },
];
