//! Where one path to rows takes over from another, by the times and by the planner: whether the planner changes too
//! early or too late, and the sentences about it.

use measure::quantity::{counted, rounded, three_digits};
use measure::schema::calibrate::findings as row;
use measure::{Finding, Unit};

use super::crossing::{Crossing, EVEN_IN_WORDS, Line, at, is_even};

/// The planner is about right within this many times the rows from which on the other path is faster: the numbers that
/// were tried lie further apart than that.
const NEAR: f64 = 1.5;

/// A path that takes no more than this many times as long as the fastest is no harm, as of a query by a set.
const HARM: f64 = 1.25;

measure::words! {
    /// What the planner changes at.
    pub(super) enum Switch ("switch") {
        /// Another path than the index scan is taken.
        FromIndex = "from-index",
        /// The full scan is taken.
        ToFullScan = "to-full-scan",
    }
}

impl Switch {
    /// Both.
    pub(super) const BOTH: [Switch; 2] = [Switch::FromIndex, Switch::ToFullScan];
}

/// Numbers of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tried {
    /// The least that was tried.
    pub(super) least: f64,
    /// The most.
    pub(super) most: f64,
    /// The rows of the table.
    pub(super) total: f64,
}

/// From where on the planner takes the other path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Planned {
    /// From this number of rows on.
    From(u64),
    /// At every number that was tried.
    Always,
    /// At none of them.
    Never,
}

measure::words! {
    /// How the planner's choice fits the times.
    pub(super) enum Verdict ("verdict") {
        /// It changes before the other path is faster.
        TooEarly = "too early",
        /// It changes about where the other path is.
        AboutRight = "about right",
        /// It changes behind that.
        TooLate = "too late",
    }
}

/// The planner's path for a number of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Taken {
    pub(super) rows: f64,
    pub(super) millis: f64,
    /// Whether it is a path after the switch.
    pub(super) is_after: bool,
}

/// What the planner does by a set of constants.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct By {
    pub(super) set: &'static str,
    pub(super) planned: Planned,
    /// Its paths, which need not be the fastest before the switch or after it.
    pub(super) taken: Vec<Taken>,
}

/// A switch by the times and by sets of constants.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Turn {
    pub(super) switch: Switch,
    /// The fastest path without the one that is in question, and with it.
    pub(super) before: Vec<(f64, f64)>,
    pub(super) after: Vec<(f64, f64)>,
    /// How the line after the switch lies to the one before.
    pub(super) timed: Crossing,
    /// What the planner does by each set of constants.
    pub(super) planned: Vec<By>,
}

impl Turn {
    /// How a set's choice fits the times, and how many times as long as the fastest path the planner's takes at most
    /// where it does not fit; `None` where the times do not tell.
    pub(super) fn verdict(&self, by: &By, tried: Tried) -> Option<(Verdict, f64)> {
        let (first, last) = match self.timed {
            Crossing::From(at) => (at, at),
            Crossing::Several { first, last, ends_faster: true } => (first, last),
            Crossing::Never => (tried.most, f64::INFINITY),
            Crossing::Always => (0.0, tried.least),
            _ => return None,
        };
        let rows = by.planned.rows(tried);
        // Where it changes beyond what was tried, and where it pays may be there too.
        if by.planned == Planned::Never && last * NEAR >= tried.most && self.timed != Crossing::Never {
            return None;
        }
        let (verdict, times) = match () {
            () if rows < first / NEAR => (Verdict::TooEarly, self.times(by, true, (rows, first))),
            () if rows > last * NEAR => (Verdict::TooLate, self.times(by, false, (last, rows))),
            () => (Verdict::AboutRight, 1.0),
        };
        Some(if times < HARM { (Verdict::AboutRight, 1.0) } else { (verdict, times) })
    }

    /// How many times as long as a path on one side of the switch a path on the other takes at most between two numbers
    /// of rows: one after it where the planner changes too early. The planner's path there takes at least as long as
    /// the fastest of that side. Where two times count as equal, it is 1.
    fn times(&self, by: &By, is_after: bool, (low, high): (f64, f64)) -> f64 {
        let (wrong, right) = if is_after { (&self.after, &self.before) } else { (&self.before, &self.after) };
        let between = self.before.iter().map(|(rows, _)| *rows).filter(|rows| (low..=high).contains(rows));
        let taken = by.taken.iter().filter(|one| one.is_after == is_after && (low..=high).contains(&one.rows));
        let of_taken = taken.map(|one| (one.rows, Some(one.millis)));
        let all = [low, high].into_iter().chain(between).map(|rows| (rows, at(wrong, rows))).chain(of_taken);
        let times = all.filter_map(|(rows, millis)| Some((millis?, at(right, rows)?)));
        times.filter(|(wrong, right)| !is_even(*wrong, *right)).map(|(wrong, right)| wrong / right).fold(1.0, f64::max)
    }

    /// The number of rows that was tried at which the planner's path loses most against the fastest one on the other
    /// side of the switch, and how many times as long it takes there; `None` where it loses at none. A change that is
    /// near enough can lie on the other side of such a number, and the planner's path can be slow before it changes.
    fn slowest(&self, by: &By) -> Option<(f64, f64)> {
        let times = |one: &Taken| {
            let (before, after) = timed_at(&self.before, one.rows).zip(timed_at(&self.after, one.rows))?;
            let fastest = before.min(after);
            let is_other = one.is_after != (after < before) && !is_even(one.millis, fastest);
            is_other.then_some((one.rows, one.millis / fastest))
        };
        let slow = by.taken.iter().filter_map(times).filter(|(_, times)| times.is_finite() && *times >= HARM);
        slow.max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// That the planner changes where the times cross, or near to it, and what it loses all the same.
    fn about_right(&self, by: &By, tried: Tried) -> String {
        let slowest = self.slowest(by).map(|(rows, times)| {
            let (rows, times) = (in_words(rows, tried), three_digits(times));
            format!(", but at {rows} its path takes {times} times as long as the fastest")
        });
        format!("about right{}", slowest.unwrap_or_default())
    }

    /// The sentence.
    fn sentence(&self, tried: Tried) -> String {
        let clause = |(at, by): (usize, &By)| {
            let who = if at == 0 { "the planner" } else { "it" };
            let set =
                if by.set == "now" { "the server's own constants".into() } else { format!("the set `{}`", by.set) };
            let judged = self.verdict(by, tried).map_or(String::new(), |(verdict, times)| match verdict {
                Verdict::AboutRight => format!(", {}", self.about_right(by, tried)),
                Verdict::TooEarly | Verdict::TooLate => {
                    let times = three_digits(times);
                    format!(", {} (up to {times} times as long as the fastest path)", verdict.name())
                }
            });
            format!("; by {set} {who} {}{judged}", by.planned.words(self.switch, tried))
        };
        let clauses: String = self.planned.iter().enumerate().map(clause).collect();
        format!("{}{clauses}.", self.timed_in_words(tried))
    }

    fn timed_in_words(&self, tried: Tried) -> String {
        let rows = |rows: f64| in_words(rows, tried);
        let [least, most] = [tried.least, tried.most].map(rows);
        let is_full = self.switch == Switch::ToFullScan;
        let name = if is_full { "A full scan" } else { "An index scan" };
        match self.timed {
            Crossing::From(at) if is_full => format!("{name} is the fastest path from {} on", rows(at)),
            Crossing::From(at) => format!("{name} is the fastest path up to {}", rows(at)),
            Crossing::UpTo(at) if is_full => format!("{name} is the fastest path up to {}, and not beyond", rows(at)),
            Crossing::UpTo(at) => format!("{name} is the fastest path from {} on, and not before", rows(at)),
            Crossing::Even => format!("{name} and the fastest other path take equally long from {least} to {most}"),
            Crossing::Always if is_full => format!("{name} is the fastest path from {least} to {most}"),
            Crossing::Never if !is_full => format!("{name} is the fastest path from {least} to {most}"),
            Crossing::Always | Crossing::Never => format!("{name} is nowhere the fastest path from {least} to {most}"),
            Crossing::Several { first, last, ends_faster } => {
                let beyond = if ends_faster == is_full { "it is the fastest" } else { "it is not the fastest" };
                let (first, last) = (rows(first), rows(last));
                format!("{name} and the fastest other path take turns from {first} to {last}, and beyond {beyond}")
            }
        }
    }
}

impl Planned {
    /// The number of rows that it stands for: the least or the most that was tried where the planner changes at none.
    fn rows(self, tried: Tried) -> f64 {
        match self {
            Planned::From(rows) => rows as f64,
            Planned::Always => tried.least,
            Planned::Never => tried.most,
        }
    }

    fn words(self, switch: Switch, tried: Tried) -> String {
        let rows = in_words(self.rows(tried), tried);
        match (switch, self) {
            (Switch::ToFullScan, Planned::From(_) | Planned::Always) => format!("takes it from {rows} on"),
            (Switch::ToFullScan, Planned::Never) => format!("does not take it up to {rows}"),
            (Switch::FromIndex, Planned::From(_)) => format!("leaves it at {rows}"),
            (Switch::FromIndex, Planned::Always) => format!("takes another path at {rows} already"),
            (Switch::FromIndex, Planned::Never) => format!("keeps it up to {rows}"),
        }
    }
}

/// The milliseconds of a path for a number of rows that it was timed for.
fn timed_at(line: &Line, rows: f64) -> Option<f64> {
    line.iter().find(|(at, _)| *at == rows).map(|(_, millis)| *millis)
}

/// Three digits of a number of rows, which is whole.
fn whole(rows: f64) -> f64 {
    rounded(rows.round())
}

/// A number of rows and its part of the table.
fn in_words(rows: f64, tried: Tried) -> String {
    let rows = whole(rows);
    format!("{} ({} %)", counted(rows as u64, "row", "rows"), three_digits(rows / tried.total * 100.0))
}

/// The finding about rows in an order, by where its paths take over; `None` where no two paths can be compared.
pub(super) fn finding(order: &str, turns: &[Turn], tried: Tried) -> Option<Finding> {
    let whose = if order == "scattered" { "Scattered rows" } else { "Rows in the order of the index" };
    let sentences: Vec<String> = turns.iter().rev().map(|turn| turn.sentence(tried)).collect();
    if sentences.is_empty() {
        return None;
    }
    let message = format!("{whose}, cached by the server. {} {EVEN_IN_WORDS}", sentences.join(" "));
    let mut finding = row::ANSWER_CROSSOVER.named(order, message);
    for turn in turns {
        let what = if turn.switch == Switch::FromIndex { "index" } else { "full_scan" };
        let of = |who: &str| format!("{what}_{who}");
        if let Some(at) = turn.timed.begins() {
            finding = finding.with(&of("timed"), whole(at), Unit::Count);
        }
        for by in &turn.planned {
            if let Planned::From(rows) = by.planned {
                finding = finding.with(&of(by.set), whole(rows as f64), Unit::Count);
            }
        }
    }
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIED: Tried = Tried { least: 10.0, most: 50_000.0, total: 100_000.0 };

    fn turn(timed: Crossing) -> Turn {
        // A row takes 10 µs by the path before the switch, and a full scan 20 ms.
        let (before, after) = (vec![(10.0, 0.1), (50_000.0, 500.0)], vec![(10.0, 20.0), (50_000.0, 20.0)]);
        Turn { switch: Switch::ToFullScan, before, after, timed, planned: Vec::new() }
    }

    /// A planner that takes the fastest path before the switch, and the fastest after it.
    fn by(turn: &Turn, set: &'static str, planned: Planned) -> By {
        let is_after = |rows: f64| planned != Planned::Never && rows >= planned.rows(TRIED);
        let taken = |(before, after): (&(f64, f64), &(f64, f64))| {
            let is_after = is_after(before.0);
            Taken { rows: before.0, millis: if is_after { after.1 } else { before.1 }, is_after }
        };
        By { set, planned, taken: turn.before.iter().zip(&turn.after).map(taken).collect() }
    }

    fn verdict(turn: &Turn, planned: Planned) -> Option<(Verdict, f64)> {
        turn.verdict(&by(turn, "now", planned), TRIED)
    }

    #[test]
    fn a_planner_that_changes_before_the_other_path_is_faster_changes_too_early() {
        let of = |timed, planned| verdict(&turn(timed), planned).map(|(verdict, _)| verdict.name());
        let at = Crossing::From(2000.0);
        assert_eq!(of(at, Planned::From(200)), Some("too early"));
        assert_eq!(of(at, Planned::From(1500)), Some("about right"));
        assert_eq!(of(at, Planned::From(20_000)), Some("too late"));
        assert_eq!(of(at, Planned::Always), Some("too early"));
        assert_eq!(of(at, Planned::Never), Some("too late"));
        assert_eq!(of(Crossing::From(40_000.0), Planned::Never), None, "it may change a little beyond");
        assert_eq!(of(Crossing::Never, Planned::Never), Some("about right"));
        assert_eq!(of(Crossing::Never, Planned::From(900)), Some("too early"));
        assert_eq!(of(Crossing::Always, Planned::Always), Some("about right"));
        let mut always = turn(Crossing::Always);
        always.before = vec![(10.0, 40.0), (50_000.0, 500.0)];
        assert_eq!(verdict(&always, Planned::From(900)).map(|(verdict, _)| verdict), Some(Verdict::TooLate));
        assert_eq!(of(Crossing::Even, Planned::From(900)), None, "nothing is lost by either");
        let several = Crossing::Several { first: 1000.0, last: 4000.0, ends_faster: true };
        assert_eq!([900, 5000].map(|rows| of(several, Planned::From(rows))), [Some("about right"); 2]);
    }

    #[test]
    fn a_change_that_costs_nothing_is_about_right_wherever_it_is() {
        let mut turn = turn(Crossing::From(30_000.0));
        turn.before = vec![(10.0, 20.5), (1000.0, 17.1), (50_000.0, 30.0)];
        turn.after = vec![(10.0, 20.0), (1000.0, 20.0), (50_000.0, 20.0)];
        assert_eq!(verdict(&turn, Planned::From(100)), Some((Verdict::AboutRight, 1.0)));
        turn.after[1].1 = 40.0;
        let (verdict, times) = verdict(&turn, Planned::From(100)).unwrap();
        assert_eq!(
            (verdict, three_digits(times).as_str()),
            (Verdict::TooEarly, "2.34"),
            "the most between both places"
        );
    }

    #[test]
    fn a_choice_that_loses_no_more_than_what_counts_as_equal_is_about_right_however_many_times_that_is() {
        let judged = |times: f64| {
            let scaled = |line: [(f64, f64); 3]| line.map(|(rows, millis)| (rows, millis * times)).to_vec();
            let mut turn = turn(Crossing::From(30_000.0));
            turn.before = scaled([(10.0, 0.02), (1000.0, 0.04), (50_000.0, 0.3)]);
            turn.after = scaled([(10.0, 0.06), (1000.0, 0.08), (50_000.0, 0.1)]);
            verdict(&turn, Planned::From(100)).map(|(verdict, _)| verdict)
        };
        assert_eq!(judged(1.0), Some(Verdict::AboutRight), "0.04 ms less than twice as long");
        assert_eq!(judged(2.0), Some(Verdict::TooEarly));
    }

    #[test]
    fn what_a_wrong_choice_costs_is_the_most_between_the_rows_where_it_pays_and_where_the_planner_changes() {
        let turn = turn(Crossing::From(2000.0));
        let planned = vec![by(&turn, "now", Planned::From(200)), by(&turn, "cached", Planned::Never)];
        let said = Turn { planned, ..turn }.sentence(TRIED);
        for part in [
            "the planner takes it from 200 rows (0.200 %) on, too early (up to 10.0 times as long as the fastest path)",
            "by the set `cached` it does not take it up to 50\u{202f}000 rows (50.0 %), too late (up to 25.0 times",
        ] {
            assert!(said.contains(part), "no {part}: {said}");
        }
    }

    #[test]
    fn a_change_near_the_last_number_of_rows_is_not_said_to_lose_nothing_where_its_path_is_slower_there() {
        // A full scan is nowhere the fastest, and takes twice as long at the most rows.
        let said = |planned, most: f64| {
            let before = vec![(10.0, 0.1), (20_000.0, 4.0), (50_000.0, 10.0)];
            let after = vec![(10.0, most), (20_000.0, most), (50_000.0, most)];
            let turn = Turn { before, after, ..turn(Crossing::Never) };
            Turn { planned: vec![by(&turn, "now", planned)], ..turn }.sentence(TRIED)
        };
        let near = said(Planned::From(40_000), 20.0);
        let end = "from 40\u{202f}000 rows (40.0 %) on, about right, but at 50\u{202f}000 rows (50.0 %) its path takes \
                   2.00 times as long as the fastest.";
        assert!(near.ends_with(end), "{near}");
        let never = said(Planned::Never, 20.0);
        assert!(never.ends_with("does not take it up to 50\u{202f}000 rows (50.0 %), about right."), "{never}");
        let even = said(Planned::From(40_000), 11.0);
        assert!(even.ends_with(" on, about right."), "within what medians tell apart: {even}");
    }

    #[test]
    fn a_full_scan_that_is_nowhere_the_fastest_by_more_than_noise_is_said_to_be_so_by_that_measure() {
        // In a table of the same times it is the fastest at the most rows.
        let turn = Turn { before: vec![(10.0, 0.1), (50_000.0, 19.3)], ..turn(Crossing::Never) };
        let turn = Turn { after: vec![(10.0, 20.0), (50_000.0, 18.8)], ..turn };
        let said = finding("clustered", &[turn], TRIED).unwrap().message;
        assert!(said.contains("A full scan is nowhere the fastest path from 10 rows"), "{said}");
        assert!(said.ends_with(". Times within 15 % or 0.05 ms count as equal."), "{said}");
        assert!(is_even(19.3, 18.8) && is_even(1.0, 1.149) && !is_even(1.0, 1.151), "as it says");
        assert!(is_even(0.01, 0.059) && !is_even(0.01, 0.061), "as it says");
    }

    #[test]
    fn two_paths_that_do_not_differ_are_not_compared_with_nothing() {
        let said = turn(Crossing::Even).sentence(TRIED);
        assert!(said.starts_with("A full scan and the fastest other path take equally long from 10 rows"), "{said}");
    }

    #[test]
    fn a_number_of_rows_has_three_digits_and_is_whole() {
        assert_eq!([3.4, 41_234.0, 999.6, 0.2].map(whole), [3.0, 41_200.0, 1000.0, 0.0]);
    }
}
