//! The file that callgrind writes: only its head and its totals are read, and nothing in it is trusted.

use thiserror::Error;

/// Why the file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OutputError {
    /// It is not callgrind's.
    #[error("it has no line `events:`")]
    NoEvents,
    /// It ends before its totals, or nothing was counted at all.
    #[error("it has no line `totals:`: it is cut off")]
    NoTotals,
    /// A count is none.
    #[error("{0:?} is no count")]
    NotACount(String),
    /// More counts than events.
    #[error("it has {counts} totals for {events} events")]
    TooManyCounts {
        /// Numbers behind `totals:`.
        counts: usize,
        /// Names behind `events:`.
        events: usize,
    },
    /// Larger than any program makes it.
    #[error("it is too long")]
    TooLong,
}

/// What callgrind counted and simulated. What it was not asked for is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simulated {
    /// Events by callgrind's names, with their counts.
    counts: Vec<(String, u64)>,
    /// The simulated caches in callgrind's words: I1, D1, LL.
    caches: Vec<String>,
    /// The name that the program gave to what was counted.
    name: Option<String>,
}

impl Simulated {
    /// Reads of data.
    pub const DATA_READS: &'static [&'static str] = &["Dr"];
    /// Writes of data.
    pub const DATA_WRITES: &'static [&'static str] = &["Dw"];
    /// Reads of data that the simulated first cache did not hold.
    pub const L1_READ_MISSES: &'static [&'static str] = &["D1mr"];
    /// Writes of data that the simulated first cache did not hold.
    pub const L1_WRITE_MISSES: &'static [&'static str] = &["D1mw"];
    /// Accesses, of instructions and data, that came to the simulated last cache.
    pub const LAST_LEVEL_REFERENCES: &'static [&'static str] = &["I1mr", "D1mr", "D1mw"];
    /// Accesses, of instructions and data, that the simulated last cache did not hold.
    pub const LAST_LEVEL_MISSES: &'static [&'static str] = &["ILmr", "DLmr", "DLmw"];
    /// Reads of data that the simulated last cache did not hold.
    pub const LAST_LEVEL_READ_MISSES: &'static [&'static str] = &["DLmr"];
    /// Writes of data that the simulated last cache did not hold.
    pub const LAST_LEVEL_WRITE_MISSES: &'static [&'static str] = &["DLmw"];
    /// Conditional and indirect branches. Unconditional ones are not among them.
    pub const BRANCHES: &'static [&'static str] = &["Bc", "Bi"];
    /// Branches that the simulated prediction had wrong.
    pub const MISPREDICTIONS: &'static [&'static str] = &["Bcm", "Bim"];

    /// Instructions carried out, exact: Ir.
    pub fn instructions(&self) -> Option<u64> {
        self.sum(&["Ir"])
    }

    /// The simulated caches in callgrind's words, such as `LL cache: 33554432 B, 64 B, 16-way associative`.
    pub fn caches(&self) -> &[String] {
        &self.caches
    }

    /// The name under which the program asked for these counts with a client request.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The counts of two processes or parts together; an event that one of them lacks is absent.
    pub fn plus(&self, other: &Simulated) -> Simulated {
        let both = |(name, count): &(String, u64)| Some((name.clone(), count.saturating_add(other.sum(&[name])?)));
        Simulated { counts: self.counts.iter().filter_map(both).collect(), caches: self.caches.clone(), name: None }
    }

    /// What is in these counts beyond another's, of one program that did more and of the same that did less; an event
    /// that one of them lacks is absent, and what is not more is 0.
    pub fn minus(&self, other: &Simulated) -> Simulated {
        let more = |(name, count): &(String, u64)| Some((name.clone(), count.saturating_sub(other.sum(&[name])?)));
        Simulated { counts: self.counts.iter().filter_map(more).collect(), caches: self.caches.clone(), name: None }
    }

    /// The same without what depends on the simulated caches.
    pub fn without_caches(&self) -> Simulated {
        let is_kept = |(name, _): &&(String, u64)| !name.contains('1') && !name.contains('L');
        Simulated { counts: self.counts.iter().filter(is_kept).cloned().collect(), ..Simulated::default() }
    }

    /// The sum of events by callgrind's names, such as [`Self::BRANCHES`]; `None` where one of them is absent.
    pub fn sum(&self, names: &[&str]) -> Option<u64> {
        let count = |name: &&str| Some(self.counts.iter().find(|(known, _)| known == name)?.1);
        names.iter().map(count).try_fold(0u64, |sum, count| Some(sum.saturating_add(count?)))
    }
}

/// What stands before the name of a part.
const REQUEST: &str = "desc: Trigger: Client Request:";

/// Reads the events, the simulated caches and the totals of one file.
///
/// Source: "Callgrind Format Specification" in valgrind's manual. Counts that are missing at the end of a line are
/// zeros there. A file with several parts has a line of totals for each, and they are added up.
pub(super) fn parse(file: &[u8]) -> Result<Simulated, OutputError> {
    let mut events: Option<Vec<String>> = None;
    let mut totals: Option<Vec<u64>> = None;
    let (mut caches, mut name) = (Vec::new(), None);
    for line in file.split(|byte| *byte == b'\n') {
        if let Some(names) = after(line, "events:") {
            events.get_or_insert_with(|| names.split_whitespace().map(String::from).collect());
        } else if let Some(cache) = after(line, "desc:").filter(|text| text.contains(" cache: ")) {
            caches.push(cache.trim().to_string());
        } else if let Some(given) = after(line, REQUEST) {
            name = Some(given.trim().to_string());
        } else if let Some(counts) = after(line, "totals:") {
            add(totals.get_or_insert_default(), &counts)?;
        }
    }
    let events = events.ok_or(OutputError::NoEvents)?;
    let mut totals = totals.ok_or(OutputError::NoTotals)?;
    if totals.len() > events.len() {
        return Err(OutputError::TooManyCounts { counts: totals.len(), events: events.len() });
    }
    totals.resize(events.len(), 0);
    caches.truncate(3);
    Ok(Simulated { counts: events.into_iter().zip(totals).collect(), caches, name })
}

fn after(line: &[u8], name: &str) -> Option<String> {
    Some(String::from_utf8_lossy(line.strip_prefix(name.as_bytes())?).into_owned())
}

/// Adds one line of counts to `totals`.
fn add(totals: &mut Vec<u64>, line: &str) -> Result<(), OutputError> {
    for (index, word) in line.split_whitespace().enumerate() {
        let count: u64 = word.parse().map_err(|_| OutputError::NotACount(word.chars().take(40).collect()))?;
        match totals.get_mut(index) {
            Some(total) => *total = total.saturating_add(count),
            None => totals.push(count),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WHOLE: &str = "# callgrind format\nversion: 1\ndesc: I1 cache: 32768 B, 64 B, 8-way associative\n\
        desc: Trigger: Program termination\n\npositions: line\n\
        events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim\nsummary: 9 9\n\nfn=(1) main\n2 100 7\n\n\
        totals: 128349 27697 12390 1067 931 565 1053 738 536 25862 3067 280 146\n";

    #[test]
    fn the_totals_are_read_by_the_names_of_their_events() {
        let simulated = parse(WHOLE.as_bytes()).unwrap();
        assert_eq!(simulated.instructions(), Some(128_349));
        let branches = [Simulated::BRANCHES, Simulated::MISPREDICTIONS];
        assert_eq!(branches.map(|names| simulated.sum(names)), [Some(26_142), Some(3_213)]);
        let last_level = [Simulated::LAST_LEVEL_REFERENCES, Simulated::LAST_LEVEL_MISSES];
        assert_eq!(last_level.map(|names| simulated.sum(names)), [Some(2_563), Some(2_327)]);
        assert_eq!(simulated.caches(), ["I1 cache: 32768 B, 64 B, 8-way associative"]);
        assert_eq!(simulated.plus(&simulated).sum(Simulated::DATA_READS), Some(55_394));
    }

    #[test]
    fn what_one_program_did_more_is_told_without_the_caches() {
        let simulated = parse(WHOLE.as_bytes()).unwrap();
        let more = simulated.plus(&simulated).minus(&simulated);
        assert_eq!((more.instructions(), more.sum(Simulated::LAST_LEVEL_MISSES)), (Some(128_349), Some(2_327)));
        let more = more.without_caches();
        assert_eq!((more.instructions(), more.sum(Simulated::BRANCHES)), (Some(128_349), Some(26_142)));
        let of_caches = [Simulated::LAST_LEVEL_MISSES, Simulated::L1_READ_MISSES];
        assert_eq!((of_caches.map(|names| more.sum(names)), more.caches().len()), ([None; 2], 0));
    }

    #[test]
    fn what_was_not_simulated_is_absent_and_not_zero() {
        let simulated = parse(b"events: Ir\ntotals: 5\n").unwrap();
        assert_eq!((simulated.instructions(), simulated.sum(Simulated::BRANCHES)), (Some(5), None));
        assert_eq!(parse(WHOLE.as_bytes()).unwrap().plus(&simulated).sum(Simulated::BRANCHES), None);
    }

    #[test]
    fn a_file_that_was_cut_off_is_refused() {
        let cut = &WHOLE[..WHOLE.find("totals").unwrap()];
        assert_eq!(parse(cut.as_bytes()), Err(OutputError::NoTotals));
        assert_eq!(parse(b""), Err(OutputError::NoEvents));
        assert_eq!(parse(b"events: Ir\ntotals: -5\n"), Err(OutputError::NotACount("-5".into())));
        let many = OutputError::TooManyCounts { counts: 2, events: 1 };
        assert_eq!(parse(b"events: Ir\ntotals: 5 6\n"), Err(many));
    }

    proptest! {
        #[test]
        fn hostile_output_never_panics(
            words in proptest::collection::vec("(events:|totals:|desc:|Ir|Bc|[0-9]{1,22}| |\n|\\PC)", 0..60),
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let _ = parse(words.concat().as_bytes());
            let _ = parse(&bytes);
        }
    }
}
