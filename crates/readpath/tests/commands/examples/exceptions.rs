//! Examples that are not tried as they stand: smaller, because they would take minutes, or where something is there.

/// What an example needs besides the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// A PostgreSQL server on this machine, with the role `me` and the database `shop`.
    Server,
    /// The programs of a private server, which are fetched.
    Fetched,
    /// valgrind, for the figures of its page.
    Valgrind,
    /// What no test has, for this reason.
    Elsewhere(&'static str),
}

/// An example as it is tried.
pub(super) struct Exception {
    /// How it begins.
    pub(super) example: &'static str,
    /// Options that make it smaller, or its page the one that is shown.
    pub(super) more: &'static str,
    pub(super) needs: Needs,
}

/// The first one with the beginning of an example holds for it. A cell of a mebibyte or less and 20 000 rows take
/// seconds, and the experiments' own sizes minutes and gigabytes.
pub(super) const EXCEPTIONS: [Exception; 20] = [
    tried("readpath ladder", "--size 64MiB --huge-pages off", Needs::Nothing),
    tried("cargo run --release -p contest", "", Needs::Elsewhere("a contest needs its peers, and minutes")),
    tried("./check", "", Needs::Elsewhere("it runs all tests, of which this is one")),
    tried("readpath lio --on sqlite", "--payload 256KiB --repeat 1", Needs::Nothing),
    tried("readpath lio --on postgres://me@localhost/shop --dry-run", "", Needs::Nothing),
    tried("readpath lio --on postgres://me@localhost/shop", "--payload 256KiB --repeat 1", Needs::Server),
    tried("readpath lio", "--payload 1MiB --repeat 1", Needs::Nothing),
    tried("readpath scan --on postgres:18", "--rows 20000 --repeat 1 --no-valgrind", Needs::Fetched),
    tried("readpath scan", "--rows 20000 --repeat 1 --no-zone-maps", Needs::Valgrind),
    tried("readpath join", "--rows 2000 --repeat 1", Needs::Nothing),
    tried(
        "readpath calibrate --on postgres:18",
        "--payload 1MiB --passes 1 --repeat 1 --rounds 1 --cold-samples 1 --cold-rounds 0",
        Needs::Fetched,
    ),
    tried("readpath calibrate --on postgres://me@db.example/shop", "", Needs::Elsewhere("there is no db.example")),
    tried("readpath calibrate --on 'postgres:copy:", "", Needs::Elsewhere("there is no copy of a data directory")),
    tried("readpath counters --valgrind", "", Needs::Valgrind),
    tried("readpath profile --on postgres://me@localhost/shop --exact", "", Needs::Elsewhere("it needs root")),
    tried("readpath record", "", Needs::Elsewhere("it ends with a signal")),
    tried("readpath profile recording", "", Needs::Elsewhere("a recording takes a server and minutes")),
    tried("readpath profile --on postgres://me@localhost/shop", "--duration 1s", Needs::Server),
    tried("readpath top --on", "", Needs::Elsewhere("it stays on a terminal until a key ends it")),
    tried("readpath profile --on postgres:18", "", Needs::Elsewhere("pgbench is not on every machine")),
];

const fn tried(example: &'static str, more: &'static str, needs: Needs) -> Exception {
    Exception { example, more, needs }
}
