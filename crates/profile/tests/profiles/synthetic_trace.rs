//! Traces made up from a number, together with the profile that is true for them.
//!
//! For property tests: random trees of calls with waits inside and between, several sessions
//! that share cursor numbers and are interleaved line by line, undeclared cursors, calls without a traced parent,
//! statements whose text imitates trace lines. What is true is known from how the calls were made, not from
//! accounting: a call's own cost is what it spent itself.

use std::collections::BTreeMap;
use std::fmt::Write;

/// CPU time, elapsed time (µs), physical reads, consistent gets, current gets.
pub(crate) type Figures = [i64; 5];

/// What is true of some calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallTruth {
    /// How many.
    pub(crate) calls: u64,
    /// Their rows.
    pub(crate) rows: u64,
    /// Their misses of the library cache.
    pub(crate) misses: u64,
    /// What they spent themselves.
    pub(crate) own: Figures,
    /// What they and their children spent.
    pub(crate) inclusive: Figures,
}

/// What is true of the waits for an event: number and microseconds, inside calls and between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WaitTruth {
    /// Inside.
    pub(crate) inside: (u64, i64),
    /// Between.
    pub(crate) between: (u64, i64),
}

/// What is true of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionTruth {
    /// Its identifier.
    pub(crate) id: String,
    /// From its first start to its last end, in microseconds.
    pub(crate) interval: i64,
    /// Calls without a traced parent, and those of them that are recursive.
    pub(crate) roots: (u64, u64),
    /// Elapsed time of calls without a traced parent and of waits between calls.
    pub(crate) response_time: i64,
    /// By name and whether they are recursive.
    pub(crate) calls: BTreeMap<(String, bool), CallTruth>,
    /// By event.
    pub(crate) waits: BTreeMap<String, WaitTruth>,
    /// By identifier of the statement, all names and depths together.
    pub(crate) statements: BTreeMap<String, (CallTruth, WaitTruth)>,
    /// Transactions that ended.
    pub(crate) transactions: u64,
    /// Calls that failed.
    pub(crate) errors: u64,
}

/// How a release writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// 10.2: small cursor numbers, no identifiers of SQL, no lines for CLOSE.
    Ten,
    /// 11.2 and later: addresses as cursor numbers, identifiers, hashes of plans, CLOSE.
    Eleven,
}

/// What to make up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe {
    /// The number that everything follows from.
    pub(crate) seed: u64,
    /// How the lines are written.
    pub(crate) dialect: Dialect,
    /// How many sessions the file interleaves, at least 1.
    pub(crate) sessions: usize,
    /// How many calls of the client each session makes.
    pub(crate) client_calls: usize,
}

/// A trace and what is true of it.
#[derive(Clone, Debug)]
pub(crate) struct Synthetic {
    /// The file.
    pub(crate) bytes: Vec<u8>,
    /// Its sessions, in the order of their first lines.
    pub(crate) sessions: Vec<SessionTruth>,
}

/// Makes up a trace.
pub(crate) fn synthesize(recipe: Recipe) -> Synthetic {
    let mut random = Random(recipe.seed);
    let mut made: Vec<(SessionTruth, std::vec::IntoIter<String>)> = (0..recipe.sessions.max(1))
        .map(|number| {
            let mut maker = Maker::new(Random(random.next()), recipe.dialect, number);
            (0..recipe.client_calls).for_each(|_| maker.client_call());
            let (truth, lines) = maker.finish();
            (truth, lines.into_iter())
        })
        .collect();
    let mut text = preamble(recipe.dialect).to_owned();
    let mut current = usize::MAX;
    let mut order = Vec::new();
    let mut open: Vec<usize> = (0..made.len()).collect();
    while !open.is_empty() {
        let choice = random.below(open.len() as u64) as usize;
        let session = open[choice];
        for _ in 0..=random.below(12) {
            let Some(line) = made[session].1.next() else {
                open.swap_remove(choice);
                break;
            };
            if current != session {
                let id = &made[session].0.id;
                // Writing to a String cannot fail.
                let _ = writeln!(text, "*** SESSION ID:({id}) 2020-02-02 02:02:02.222");
                current = session;
            }
            if !order.contains(&session) {
                order.push(session);
            }
            text.push_str(&line);
        }
    }
    let sessions = order.into_iter().map(|session| made[session].0.clone()).collect();
    Synthetic { bytes: text.into_bytes(), sessions }
}

fn preamble(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Ten => {
            "/oracle/admin/udump/made_ora_1.trc\n\
             Oracle Database 10g Enterprise Edition Release 10.2.0.4.0 - Production\n"
        }
        Dialect::Eleven => {
            "Trace file /oracle/diag/made_ora_1.trc\n\
             Oracle Database 11g Enterprise Edition Release 11.2.0.4.0 - 64bit Production\n\n"
        }
    }
}

/// A small generator of numbers (SplitMix64, Steele, Lea and Flood 2014): the same everywhere, without a dependency.
#[derive(Clone, Copy, Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }

    /// A duration in microseconds: mostly short, now and then long.
    fn micros(&mut self) -> i64 {
        let bits = self.below(16);
        self.below(1 << bits) as i64
    }
}

/// Waits inside calls: name and parameters.
const INSIDE: [(&str, [&str; 3]); 5] = [
    ("db file sequential read", ["file#", "block#", "blocks"]),
    ("db file scattered read", ["file#", "block#", "blocks"]),
    ("direct path read temp", ["file number", "first dba", "block cnt"]),
    ("library cache: mutex X", ["idn", "value", "where|sleeps"]),
    ("SQL*Net message to client", ["driver id", "#bytes", "p3"]),
];

/// Waits between calls.
const BETWEEN: [(&str, [&str; 3]); 3] = [
    ("SQL*Net message from client", ["driver id", "#bytes", "p3"]),
    ("SQL*Net message to client", ["driver id", "#bytes", "p3"]),
    ("log file sync", ["buffer#", "sync scn", "p3"]),
];

/// More than the tolerance of a wait at the edge of its call.
const WAIT_GAP: i64 = 6;

/// More than the tolerance of a child at the start of its parent.
const CALL_GAP: i64 = 101;

/// Makes the lines of one session.
struct Maker {
    random: Random,
    dialect: Dialect,
    clock: i64,
    span: Option<(i64, i64)>,
    lines: Vec<String>,
    /// What each cursor stands for.
    bindings: BTreeMap<u64, String>,
    truth: SessionTruth,
}

impl Maker {
    fn new(mut random: Random, dialect: Dialect, number: usize) -> Maker {
        let clock = 1_000_000_000 + random.below(1 << 40) as i64;
        let id = format!("{}.{}", 100 + number, random.below(60_000));
        let truth = SessionTruth { id, ..SessionTruth::default() };
        Maker { random, dialect, clock, span: None, lines: Vec::new(), bindings: BTreeMap::new(), truth }
    }

    fn finish(mut self) -> (SessionTruth, Vec<String>) {
        let (first, last) = self.span.unwrap_or_default();
        self.truth.interval = last - first;
        (self.truth, self.lines)
    }

    /// A call of the client and what lies around it.
    fn client_call(&mut self) {
        match self.random.below(8) {
            // Tracing was switched on inside a call that was never written.
            0 => {
                self.clock += CALL_GAP;
                let depth = 1 + self.random.below(3) as u16;
                let elapsed = self.call(depth)[1];
                self.truth.roots = (self.truth.roots.0 + 1, self.truth.roots.1 + 1);
                self.truth.response_time += elapsed;
                self.clock += CALL_GAP;
            }
            1 => self.large_object(),
            _ => {
                let elapsed = self.call(0)[1];
                self.truth.roots.0 += 1;
                self.truth.response_time += elapsed;
            }
        }
        if self.random.one_in(10) {
            let line = format!("XCTEND rlbk=0, rd_only=1, tim={}\n", self.clock);
            self.pass(self.clock);
            self.lines.push(line);
            self.truth.transactions += 1;
        }
        for _ in 0..self.random.below(3) {
            self.wait_between();
        }
        self.clock += WAIT_GAP + self.random.micros();
    }

    fn wait_between(&mut self) {
        let (event, parameters) = BETWEEN[self.random.below(BETWEEN.len() as u64) as usize];
        let cursor = if self.random.one_in(3) { 0 } else { self.cursor(0) };
        let elapsed = self.wait(cursor, event, parameters);
        let statement = if cursor == 0 { "cursor #0".to_owned() } else { self.statement(cursor) };
        for waits in [
            self.truth.waits.entry(event.to_owned()).or_default(),
            &mut self.truth.statements.entry(statement).or_default().1,
        ] {
            waits.between = (waits.between.0 + 1, waits.between.1 + elapsed);
        }
        self.truth.response_time += elapsed;
    }

    fn wait_inside(&mut self, statement: &mut WaitTruth, cursor: u64) {
        let (event, parameters) = INSIDE[self.random.below(INSIDE.len() as u64) as usize];
        let elapsed = self.wait(cursor, event, parameters);
        for waits in [self.truth.waits.entry(event.to_owned()).or_default(), statement] {
            waits.inside = (waits.inside.0 + 1, waits.inside.1 + elapsed);
        }
    }

    /// Lets a wait pass and writes it.
    fn wait(&mut self, cursor: u64, event: &str, parameters: [&str; 3]) -> i64 {
        let elapsed = self.random.micros();
        let start = self.clock;
        self.clock += elapsed;
        self.pass(start);
        let mut line = format!("WAIT #{cursor}: nam='{event}' ela= {elapsed}");
        for name in parameters {
            let _ = write!(line, " {name}={}", self.random.below(9));
        }
        let _ = writeln!(line, " obj#=-1 tim={}", self.clock);
        self.lines.push(line);
        elapsed
    }

    /// A cursor of this depth: a call's children never use its own.
    fn cursor(&mut self, depth: u16) -> u64 {
        let number = 1 + 4 * u64::from(depth) + self.random.below(4);
        match self.dialect {
            Dialect::Ten => number,
            Dialect::Eleven => 140_177_252_700_000 + 1000 * number,
        }
    }

    fn statement(&self, cursor: u64) -> String {
        self.bindings.get(&cursor).cloned().unwrap_or_else(|| format!("unknown cursor #{cursor}"))
    }

    /// A timed line from `start` until now.
    fn pass(&mut self, start: i64) {
        let (first, last) = self.span.unwrap_or((start, self.clock));
        self.span = Some((first.min(start), last.max(self.clock)));
    }

    /// A call with its children; what it and they spent.
    fn call(&mut self, depth: u16) -> Figures {
        let cursor = self.cursor(depth);
        let kind = match (self.random.below(8), self.dialect) {
            (0 | 1, _) => "PARSE",
            (2 | 3, _) => "EXEC",
            (4, Dialect::Eleven) => "CLOSE",
            _ => "FETCH",
        };
        let start = self.clock;
        let mut children = Figures::default();
        let mut own = Figures::default();
        let mut waits = WaitTruth::default();
        if kind != "CLOSE" {
            for _ in 0..self.random.below(5) {
                match self.random.below(4) {
                    0 => self.wait_inside(&mut waits, cursor),
                    1 if depth < 4 => add(&mut children, &self.call(depth + 1)),
                    _ => {
                        self.clock += self.random.micros();
                        (2..5).for_each(|place| own[place] += self.random.below(50) as i64);
                    }
                }
            }
        }
        self.clock += self.random.below(9) as i64;
        own[0] = self.random.micros();
        own[1] = self.clock - start - children[1];
        let mut inclusive = own;
        add(&mut inclusive, &children);
        self.pass(start);
        if kind == "PARSE" || (kind == "EXEC" && self.random.one_in(3)) {
            self.declare(cursor, depth);
        }
        let (rows, misses) = if kind == "CLOSE" { (0, 0) } else { (self.random.below(100), self.random.below(2)) };
        self.write_call(kind, cursor, depth, (rows, misses), &inclusive);
        let statement = self.statement(cursor);
        let truth = CallTruth { calls: 1, rows, misses, own, inclusive };
        self.truth.calls.entry((kind.to_owned(), depth > 0)).or_default().add(&truth);
        let of_statement = self.truth.statements.entry(statement).or_default();
        of_statement.0.add(&truth);
        of_statement.1.inside.0 += waits.inside.0;
        of_statement.1.inside.1 += waits.inside.1;
        if kind == "EXEC" && self.random.one_in(20) {
            let line = format!("ERROR #{cursor}:err=1 tim={}\n", self.clock);
            self.lines.push(line);
            self.truth.errors += 1;
        }
        inclusive
    }

    fn write_call(&mut self, kind: &str, cursor: u64, depth: u16, (rows, misses): (u64, u64), figures: &Figures) {
        let [cpu, elapsed, physical, consistent, current] = figures;
        let mut line = format!("{kind} #{cursor}:c={cpu},e={elapsed}");
        let _ = match kind {
            "CLOSE" => write!(line, ",dep={depth},type=0"),
            _ => write!(
                line,
                ",p={physical},cr={consistent},cu={current},mis={misses},r={rows},dep={depth},og=1{}",
                if self.dialect == Dialect::Eleven { ",plh=77" } else { "" }
            ),
        };
        let _ = writeln!(line, ",tim={}", self.clock);
        self.lines.push(line);
    }

    fn declare(&mut self, cursor: u64, depth: u16) {
        let number = self.random.below(9);
        let text = format!("select {number}\nEXEC #1:c=9,e=9,p=9,cr=9,cu=9,mis=0,r=9,dep=0,og=1,tim=9\nfrom dual");
        let mut line = format!(
            "=====================\n\
             PARSING IN CURSOR #{cursor} len={} dep={depth} uid=5 oct=3 lid=5 tim={} hv={} ad='1'",
            text.len(),
            self.clock + 5,
            4_000_000_000 + number,
        );
        let id = match self.dialect {
            Dialect::Ten => (4_000_000_000 + number).to_string(),
            Dialect::Eleven => format!("abcdefghijk{number:02}"),
        };
        if self.dialect == Dialect::Eleven {
            let _ = write!(line, " sqlid='{id}'");
        }
        let _ = write!(line, "\n{text}\nEND OF STMT\n");
        self.lines.push(line);
        self.bindings.insert(cursor, id);
    }

    /// An operation on a large object, with a wait of no cursor inside.
    fn large_object(&mut self) {
        let start = self.clock;
        let mut waits = WaitTruth::default();
        if self.random.one_in(2) {
            self.wait_inside(&mut waits, 0);
        }
        self.clock += self.random.micros();
        let own = [self.random.micros(), self.clock - start, 1, 2, 3];
        self.pass(start);
        let (cpu, elapsed, clock) = (own[0], own[1], self.clock);
        self.lines
            .push(format!("LOBREAD: type=TEMPORARY LOB,bytes=32528,c={cpu},e={elapsed},p=1,cr=2,cu=3,tim={clock}\n"));
        let truth = CallTruth { calls: 1, own, inclusive: own, ..CallTruth::default() };
        self.truth.calls.entry(("LOBREAD".to_owned(), false)).or_default().add(&truth);
        let of_statement = self.truth.statements.entry("LOB operations".to_owned()).or_default();
        of_statement.0.add(&truth);
        of_statement.1.inside.0 += waits.inside.0;
        of_statement.1.inside.1 += waits.inside.1;
        self.truth.roots.0 += 1;
        self.truth.response_time += elapsed;
    }
}

fn add(sums: &mut Figures, more: &Figures) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

impl CallTruth {
    fn add(&mut self, more: &CallTruth) {
        self.calls += more.calls;
        self.rows += more.rows;
        self.misses += more.misses;
        add(&mut self.own, &more.own);
        add(&mut self.inclusive, &more.inclusive);
    }
}
