//! Small traces of several releases, as each writes its lines: what mixtures are made of.

use std::fmt::Write;

/// A release, and how it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// Waits without a time, with nameless parameters.
    Nine,
    /// Times in units of 1.024 µs since 1970.
    Ten,
    /// Times in µs since 1970, statements with an identifier.
    Eleven,
    /// Times since the start of the host, containers, stamps with an offset.
    Nineteen,
}

pub(crate) const RELEASES: [Release; 4] = [Release::Nine, Release::Ten, Release::Eleven, Release::Nineteen];

/// One trace to be made.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) release: Release,
    /// Tells sessions, processes and times apart.
    pub(crate) number: u64,
    /// Rounds of a parse, an execution with a read, a fetch and a wait for the client: its length in ms, and whether
    /// the line of the wait names its parameters as old releases do.
    pub(crate) rounds: Vec<(i64, bool)>,
    /// Whether lines end as on Windows.
    pub(crate) is_of_windows: bool,
}

/// 2024-01-31 00:00:00 UTC in µs.
const EPOCH: i64 = 1_706_659_200_000_000;

struct Writer {
    release: Release,
    text: String,
    /// µs since 1970.
    now: i64,
    /// The wall clock of the last line.
    written: i64,
}

impl Writer {
    fn stamp(&self) -> String {
        let seconds = (self.now - EPOCH) / 1_000_000;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let (micros, date) = (self.now % 1_000_000, "2024-01-31");
        match self.release {
            Release::Nineteen => format!("{date}T{hour:02}:{minute:02}:{second:02}.{micros:06}+00:00"),
            _ => format!("{date} {hour:02}:{minute:02}:{second:02}.{:03}", micros / 1000),
        }
    }

    /// The trace's own clock.
    fn tim(&self) -> i64 {
        match self.release {
            Release::Ten => (self.now as f64 / 1.024) as i64,
            Release::Nineteen => self.now - EPOCH + 77_000_000,
            Release::Nine | Release::Eleven => self.now,
        }
    }

    /// Microseconds in the trace's unit.
    fn units(&self, micros: i64) -> i64 {
        if self.release == Release::Ten { (micros as f64 / 1.024) as i64 } else { micros }
    }

    /// A stamp stands before a line that comes a second after the last one.
    fn begin_line(&mut self) {
        if self.now - self.written > 1_000_000 {
            let stamp = self.stamp();
            let container = if self.release == Release::Nineteen { " (SHOP(3))" } else { "" };
            let _ = writeln!(self.text, "\n*** {stamp}{container}");
        }
        self.written = self.now;
    }

    fn call(&mut self, kind: &str, cpu: i64, elapsed: i64) {
        self.now += elapsed;
        self.begin_line();
        let (units, tim) = (self.units(elapsed), self.tim());
        let plan = if matches!(self.release, Release::Eleven | Release::Nineteen) { ",plh=7" } else { "" };
        let _ = writeln!(self.text, "{kind} #2:c={cpu},e={units},p=1,cr=2,cu=3,mis=0,r=4,dep=0,og=1{plan},tim={tim}");
    }

    fn wait(&mut self, event: &str, elapsed: i64, names: [&str; 3], values: [i64; 3]) {
        self.now += elapsed;
        self.begin_line();
        let (units, tim) = (self.units(elapsed), self.tim());
        let parameters: Vec<String> = names.iter().zip(values).map(|(name, value)| format!("{name}={value}")).collect();
        let end = if self.release == Release::Nine { String::new() } else { format!(" obj#=5 tim={tim}") };
        let _ = writeln!(self.text, "WAIT #2: nam='{event}' ela= {units} {}{end}", parameters.join(" "));
    }
}

impl Made {
    /// The bytes of the trace.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let begin = EPOCH + self.number as i64 * 100_000_000;
        let mut out = Writer { release: self.release, text: self.preamble(), now: begin, written: begin };
        let stamp = out.stamp();
        let container = if self.release == Release::Nineteen { " (SHOP(3))" } else { "" };
        let _ = writeln!(out.text, "\n*** {stamp}{container}\n*** SESSION ID:({}.1) {stamp}", self.number);
        if self.release == Release::Nineteen {
            let _ = writeln!(out.text, "*** CONTAINER ID:(3) {stamp}");
        }
        self.declare(&mut out);
        for (client_ms, is_nameless) in &self.rounds {
            let is_nameless = *is_nameless || self.release == Release::Nine;
            let named = |names: [&'static str; 3]| if is_nameless { ["p1", "p2", "p3"] } else { names };
            out.call("PARSE", 10, 30);
            out.wait("db file sequential read", 4_000, named(["file#", "block#", "blocks"]), [4, 9, 1]);
            out.call("EXEC", 200, 5_000);
            out.call("FETCH", 50, 80);
            let _ = writeln!(out.text, "XCTEND rlbk=0, rd_only=0");
            let names = named(["driver id", "#bytes", "p3"]);
            out.wait("SQL*Net message from client", client_ms * 1000, names, [1_650_815_232, 1, 0]);
        }
        if self.is_of_windows { out.text.replace('\n', "\r\n").into_bytes() } else { out.text.into_bytes() }
    }

    fn preamble(&self) -> String {
        let number = self.number;
        let banner = match self.release {
            Release::Nine => "Oracle9i Enterprise Edition Release 9.2.0.1.0 - Production",
            Release::Ten => "Oracle Database 10g Enterprise Edition Release 10.2.0.3.0 - 64bit Production",
            Release::Eleven => "Oracle Database 11g Enterprise Edition Release 11.2.0.3.0 - 64bit Production",
            Release::Nineteen => {
                "Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production\nVersion 19.3.0.0.0"
            }
        };
        let first = if self.release == Release::Nine { "/u01/x.trc" } else { "Trace file /u01/x.trc" };
        format!(
            "{first}\n{banner}\nSystem name:\tLinux\nNode name:\thost{number}\nInstance name: shop{number}\n\
             Unix process pid: {}, image: oracle@host{number}\n",
            1000 + number
        )
    }

    fn declare(&self, out: &mut Writer) {
        let text = "select name\nfrom products";
        let id = match self.release {
            Release::Nine | Release::Ten => "",
            Release::Eleven | Release::Nineteen => " sqlid='9qf3hs81ntb6d'",
        };
        // The hash of 9i is another function.
        let hash = if self.release == Release::Nine { 11 } else { 22 };
        let length = text.len() + if self.is_of_windows { 1 } else { 0 };
        let tim = out.tim();
        let _ = writeln!(
            out.text,
            "=====================\n\
             PARSING IN CURSOR #2 len={length} dep=0 uid=5 oct=3 lid=5 tim={tim} hv={hash} ad='1'{id}\n\
             {text}\nEND OF STMT"
        );
    }
}
