//! What a subject finds: what it cannot do, what it noticed, and what a server's rights and other users do to a run.

use super::finding::findings;

findings! {
    "Subjects: the engine, PostgreSQL, SQLite";
    ABSENT_ENGINE = Info "absent-engine", "the engine cannot do what is asked of the other subjects";
    ABSENT_ACCESS = Info "absent-*" in ["rowid", "rowid-in-order", "one-page", "index"],
        "`lio`: the subject has no such access";
    ABSENT_THREADS = Info "absent-threads", "`lio`: the subject is read by one session or connection alone";
    ABSENT_DIRECTORY = Info "absent-directory", "`lio`: no statement reads the directory of rows alone";
    ABSENT_CHANGED_ROWS = Info "absent-changed-rows", "`lio`: the subject keeps no consistent-read copies";
    ABSENT_POPULATION = Info "absent-population", "`lio`: the subject orders the blocks of its cache itself";
    ABSENT_GETS = Info "absent-gets", "`lio`: one page of SQLite holds all rows of a table, which was left out";
    ABSENT_PHYSICAL = Info "absent-physical", "`lio`: the subject reads through a page cache that would answer";
    ABSENT_PHYSICAL_HERE = Warning "absent-physical", "`lio`: the file system of the engine's tables refuses direct \
        I/O, or may have answered from memory";
    STANDBY = Warning "standby", "the server is a standby: `lio` scanned its catalogs, `calibrate` compared queries";
    NOT_ALL_VISIBLE = Warning "not-all-visible", "`lio`, `scan`, `calibrate`: an older transaction hides rows";
    FILE_CHANGED = Warning "file-changed", "`lio`: another program wrote to the database file that was read";
    VALGRIND_SERVER = Info "valgrind-server", "`scan`: instructions are those of a backend under valgrind";
    ABSENT_VALGRIND_SERVER = Warning "absent-valgrind-server", "`scan`: no backend could be run under valgrind";
    TABLE_EXCEEDS_BUFFERS = Warning "table-exceeds-buffers", "the table does not stay in the shared buffers";
    TABLE_FITS_POOL = Warning "table-fits-pool", "`join`: the table is less than twice the engine's buffer pool";
    VIRTUAL_TIME = Info "virtual-time", "`join`: times are those of a model";
    IO_URING_REFUSED = Warning "io-uring-refused", "`join`: the kernel refuses io_uring, and threads read instead";
    ABSENT_IO_URING = Info "absent-io-uring", "`join`: the server's programs lack io_method io_uring";
    ABSENT_IO_METHOD = Info "absent-*" in [
        "sync", "worker", "io-uring", "direct", "sync-direct", "worker-direct", "io-uring-direct"
    ], "the server does not start with this io_method, or not with direct I/O";
    SERVER_ADVICE = Info "answer-server-advice", "`join`: before version 18 nothing is gathered past the page cache";
    PAGE_CACHE_NOT_EMPTIED = Warning "page-cache-not-emptied", "`join`: blocks may have come from the page cache";
    BUFFERS_NOT_EMPTIED = Warning "buffers-not-emptied", "shared buffers could not be emptied between reads";
    PAGE_CACHE_KEPT = Warning "page-cache-kept", "the page cache held over a hundredth of a private server's files";
    COLD = Info "cold", "the page cache held a hundredth or less of a private server's files";
    ANSWERED_BY_STORAGE = Info "answered-by-storage", "`join`: the storage served the pages that SQLite read";
    STORAGE_NOT_PROVED = Warning "storage-not-proved", "`join`: no proof that storage served all that SQLite read";
    ABSENT_IO_TIME = Warning "absent-io-time", "the server's reads are not timed: track_io_timing may not be set";
    NOT_PRELOADED = Warning "not-preloaded",
        "`calibrate`: libraries that a copy of a data directory preloads were left out";
    ABSENT_COLD = Info "absent-cold", "`calibrate`: the caches of a given server are not emptied";
    HUGE_PAGES_NOT_GRANTED = Warning "huge-pages-not-granted", "less than half of the memory is on huge pages";
    UNKNOWN_SPACE = Info "unknown-space", "the server's free space is not known";
    LEFTOVERS_REMOVED = Info "leftovers-removed", "a killed run had left tables on the server";
    SCHEMA_LEFT = Warning "schema-left", "the schema readpath could not be removed from the server";
    ABSENT_ACTIVITY = Info "absent-activity", "the user may not see the activity of other sessions";
    SERVER_BUSY = Warning "server-busy", "other sessions were at work on the server between measurements";
    ABSENT_BACKEND_TIME = Warning "absent-backend-time", "costs are EXPLAIN's execution times";
    MACHINE_BUSY = Warning "machine-busy", "other processes kept more than 0.2 processors busy";
    DISPLACED = Info "displaced", "what a run took of a given server's shared buffers";
}
